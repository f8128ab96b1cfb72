//! Data as the Gaussian process needs them: distinct inputs, standardised outputs.
//!
//! Measurements at exactly the same input are one: with noise variances σᵢ² and P = Σ 1/σᵢ²,
//!
//! ```text
//! Π N(yᵢ | f, σᵢ²) = N(ȳ | f, 1/P) · C,   ȳ = Σ yᵢ/(σᵢ² P),
//! ln C = −½ (m − 1) ln 2π − ½ (Σ ln σᵢ² + ln P) − ½ Σ (yᵢ − ȳ)²/σᵢ²
//! ```
//!
//! which is exact, and the reason why ten thousand copies of a point cost no more than one.

use std::collections::HashMap;

/// The targets of one output at the distinct inputs, in standardised units.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    /// ȳ at each distinct input.
    pub(super) y: Vec<f64>,
    /// Noise variance 1/P at each distinct input, before the learned factor.
    pub(super) noise: Vec<f64>,
    /// Covariances (row, column, value) of the noise off the diagonal, before the learned factor: row > column, in order of columns.
    pub(super) links: Vec<(usize, usize, f64)>,
    /// Σ (m − 1) over groups: how many measurements were merged away.
    pub(super) merged: f64,
    /// Σ ½ (Σ ln σᵢ² + ln P) over groups of more than one.
    log_terms: f64,
    /// Σ (yᵢ − ȳ)²/σᵢ² over groups.
    spread: f64,
}

/// Variances below this are zero for all purposes; it keeps weights of exact copies without noise finite.
const LEAST_VARIANCE: f64 = 1e-30;

/// A measurement with a noise variance above this says nothing; it keeps precisions from vanishing.
const LARGEST_VARIANCE: f64 = 1e100;

impl Targets {
    /// Merges `(group, y, variance)` of each measurement into `groups` groups.
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

    /// The same with correlated noise: (row, column, correlation) of groups that were not merged.
    #[must_use]
    pub(super) fn linked(mut self, links: impl Iterator<Item = (usize, usize, f64)>) -> Self {
        let noise = &self.noise;
        let covariance = |(i, j, r): (usize, usize, f64)| (i, j, r * (noise[i] * noise[j]).sqrt());
        self.links = links.map(covariance).filter(|(_, _, value)| *value != 0.0).collect();
        self
    }

    /// ln C with the noise as it is stated.
    pub(super) fn log_constant(&self) -> f64 {
        -0.5 * self.merged * std::f64::consts::TAU.ln() - self.log_terms - 0.5 * self.spread
    }

    /// What a factor on all noise variances adds to ln C, and its derivative with respect to ln of the factor. Apart from
    /// [`log_constant`](Self::log_constant), which may be so large that nothing else could be seen beside it.
    pub(super) fn log_change(&self, log_factor: f64) -> (f64, f64) {
        let value = -0.5 * (self.merged * log_factor + self.spread * (-log_factor).exp_m1());
        (value, 0.5 * (self.spread * (-log_factor).exp() - self.merged))
    }

    /// The targets at some of the inputs, for a first look at a part of the data.
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

/// Numbers the distinct inputs in order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Distinct {
    seen: HashMap<Vec<u64>, usize>,
}

impl Distinct {
    /// The group of an input; the second is true if it is new.
    pub(super) fn group(&mut self, point: &[f64]) -> (usize, bool) {
        // Zero has two signs and is one place.
        let key = point.iter().map(|v| (v + 0.0).to_bits()).collect();
        let next = self.seen.len();
        let group = *self.seen.entry(key).or_insert(next);
        (group, group == next)
    }

    /// A group of its own that no input can be found in again.
    pub(super) fn next(&mut self) -> usize {
        let next = self.seen.len();
        // No input has this key: it begins with a number that is none.
        self.seen.insert(vec![f64::NAN.to_bits(), next as u64], next);
        next
    }

    /// Forgets the groups from number `count` on.
    pub(super) fn truncate(&mut self, count: usize) {
        self.seen.retain(|_, group| *group < count);
    }
}
