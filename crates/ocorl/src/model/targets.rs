//! Targets of the Gaussian process: standardised outputs at the distinct inputs of the data.
//!
//! Measurements at exactly the same input are merged. With noise variances σᵢ² and P = Σ 1/σᵢ²,
//!
//! ```text
//! Π N(yᵢ | f, σᵢ²) = N(ȳ | f, 1/P) · C,   ȳ = Σ yᵢ/(σᵢ² P),
//! ln C = −½ (m − 1) ln 2π − ½ (Σ ln σᵢ² + ln P) − ½ Σ (yᵢ − ȳ)²/σᵢ²
//! ```
//!
//! This is exact, and m copies of a point cost no more than one.

use std::collections::HashMap;

/// The targets of one output at the distinct inputs, in standardised units.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    /// Weighted average ȳ at each distinct input.
    pub(super) y: Vec<f64>,
    /// Noise variance 1/P at each distinct input, without the learned factor.
    pub(super) noise: Vec<f64>,
    /// Off-diagonal covariances (row, column, value) of the noise, without the learned factor: row > column, in the order of
    /// columns.
    pub(super) links: Vec<(usize, usize, f64)>,
    /// Σ (m − 1) over groups: the number of measurements removed by merging.
    pub(super) merged: f64,
    /// Σ ½ (Σ ln σᵢ² + ln P) over groups of more than one measurement.
    log_terms: f64,
    /// Σ (yᵢ − ȳ)²/σᵢ² over groups.
    spread: f64,
}

/// Smaller variances are raised to this value, which keeps the weights of noiseless copies finite.
const LEAST_VARIANCE: f64 = 1e-30;

/// Larger variances are lowered to this value, which keeps precisions above zero.
const LARGEST_VARIANCE: f64 = 1e100;

impl Targets {
    /// Merges the measurements, given as `(group, y, variance)`, into `groups` groups.
    pub(super) fn merge(groups: usize, data: impl Iterator<Item = (usize, f64, f64)> + Clone) -> Self {
        let (mut precision, mut y, mut count) = (vec![0.0; groups], vec![0.0; groups], vec![0_usize; groups]);
        let mut logs = vec![0.0; groups];
        for (group, value, variance) in data.clone() {
            let variance = variance.clamp(LEAST_VARIANCE, LARGEST_VARIANCE);
            precision[group] += 1.0 / variance;
            y[group] += value / variance;
            logs[group] += variance.ln();
            count[group] += 1;
        }
        for (y, precision) in y.iter_mut().zip(&precision) {
            *y /= precision;
        }
        let mut targets = Targets::default();
        for (group, value, variance) in data {
            targets.spread += (value - y[group]).powi(2) / variance.clamp(LEAST_VARIANCE, LARGEST_VARIANCE);
        }
        for group in 0..groups {
            if count[group] > 1 {
                targets.merged += (count[group] - 1) as f64;
                targets.log_terms += 0.5 * (logs[group] + precision[group].ln());
            }
        }
        targets.noise =
            precision.iter().map(|p| if *p >= 1.0 / LEAST_VARIANCE { 0.0 } else { 1.0 / p }).collect();
        targets.y = y;
        targets
    }

    /// Adds correlations (row, column, correlation) of the noise between groups of one measurement each.
    #[must_use]
    pub(super) fn linked(mut self, links: impl Iterator<Item = (usize, usize, f64)>) -> Self {
        let noise = &self.noise;
        let covariance = |(i, j, r): (usize, usize, f64)| (i, j, r * (noise[i] * noise[j]).sqrt());
        self.links = links.map(covariance).filter(|(_, _, value)| *value != 0.0).collect();
        self
    }

    /// ln C for the stated noise.
    pub(super) fn log_constant(&self) -> f64 {
        -0.5 * self.merged * std::f64::consts::TAU.ln() - self.log_terms - 0.5 * self.spread
    }

    /// The change of ln C when all noise variances are multiplied by a factor, and its derivative with respect to the logarithm of
    /// the factor. It is kept apart from [`log_constant`](Self::log_constant), whose magnitude may be so large that the change
    /// would be lost to rounding.
    pub(super) fn log_change(&self, log_factor: f64) -> (f64, f64) {
        let value = -0.5 * (self.merged * log_factor + self.spread * (-log_factor).exp_m1());
        (value, 0.5 * (self.spread * (-log_factor).exp() - self.merged))
    }

    /// The targets at some of the inputs, for training on a subset of the data.
    pub(super) fn select(&self, indices: &[usize]) -> Targets {
        let pick = |values: &[f64]| indices.iter().map(|&i| values[i]).collect();
        let mut links = Vec::new();
        if !self.links.is_empty() {
            let places: HashMap<usize, usize> =
                indices.iter().enumerate().map(|(to, &from)| (from, to)).collect();
            let moved = |&(i, j, value): &(usize, usize, f64)| {
                let (i, j) = (*places.get(&i)?, *places.get(&j)?);
                Some((i.max(j), i.min(j), value))
            };
            links.extend(self.links.iter().filter_map(moved));
            links.sort_by_key(|&(i, j, _)| (j, i));
        }
        Targets { y: pick(&self.y), noise: pick(&self.noise), links, ..Targets::default() }
    }
}

/// Assigns indices to the distinct inputs in the order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Distinct {
    seen: HashMap<Vec<u64>, usize>,
}

impl Distinct {
    /// The index of an input's group, and whether the input is new.
    pub(super) fn group(&mut self, point: &[f64]) -> (usize, bool) {
        // −0 and +0 are the same input.
        let key = point.iter().map(|v| (v + 0.0).to_bits()).collect();
        let next = self.seen.len();
        let group = *self.seen.entry(key).or_insert(next);
        (group, group == next)
    }

    /// Adds a group that no input belongs to.
    pub(super) fn next(&mut self) -> usize {
        let next = self.seen.len();
        // The key starts with NaN, so it equals the key of no input.
        self.seen.insert(vec![f64::NAN.to_bits(), next as u64], next);
        next
    }

    /// Removes the groups from index `count` on.
    pub(super) fn truncate(&mut self, count: usize) {
        self.seen.retain(|_, group| *group < count);
    }
}
