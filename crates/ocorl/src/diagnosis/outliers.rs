//! Outliers: single rows that a model of the other rows cannot explain.
//!
//! A few suspects S are found first, by their leave-one-out residuals and by their distance from the bulk of the data, which a gross error
//! cannot hide in the training of a model. Two hypotheses about the rows y_S of the suspects are then compared:
//!
//! ```text
//! ignorance:   ln p(y) of a model trained on all rows
//! outliers:    ln p(y without y_S) of a model trained without them + Σ_{i ∈ S} (ln ε + Σ_j ln max(p(y_ij | others), p_C(y_ij)))
//! ```
//!
//! ε is the prior probability of an outlier, and p_C a Cauchy density with the median and the robust spread of the output: an outlier may
//! be anywhere. This is the relevance pursuit of [Ame24] with the noise of an outlier integrated out. Suspects that the model of the
//! other rows predicts are taken back first, so a chain of surprising but consistent rows is kept.

use super::robust::{location_scale, median};
use crate::linalg::Points;
use crate::measurements::Measurements;
use crate::model::{GaussianProcess, ModelError, Posterior, Query, StatisticalModel};
use crate::random::Stream;
use std::f64::consts::{PI, TAU};

/// Leave-one-out residual, in standard deviations of all residuals, above which a row is a suspect.
const SUSPECT: f64 = 6.0;
/// Distance from the bulk of an output, relative to that of the inputs, above which a row is a suspect.
const FAR: f64 = 30.0;
/// Distance of an input from its bulk above which a row is a suspect.
const FAR_INPUT: f64 = 100.0;
/// Residual below which a suspect is taken back.
const EXPLAINED: f64 = 5.0;
/// Prior probability of an outlier.
const RARE: f64 = 0.01;
/// Advantage over ignorance, in nats, that sets rows aside, and the additional one for each row. Models of clean data gain up to 11 nats
/// without a row or two, because their hyper-parameters are not exact.
const MARGIN: (f64, f64) = (10.0, 6.0);
/// Larger shares of suspects are not outliers but something else.
const LARGEST_SHARE: f64 = 0.35;
/// Smallest number of rows from which anything is set aside.
const LEAST_ROWS: usize = 6;
/// Rounds of training without the suspects.
const ROUNDS: usize = 3;

/// The result of a screening that set rows aside.
pub struct Screening {
    /// The model, trained without the outliers.
    pub model: GaussianProcess,
    /// Indices of the rows that it has learned from.
    pub kept: Vec<usize>,
    /// The outliers: index of the row, output that deviates most, and its deviation in standard deviations.
    pub outliers: Vec<(usize, usize, f64)>,
    /// Advantage over a model of all rows, in nats.
    pub nats: f64,
}

/// The suspects among `data`, ascending; `model` has been trained on these rows.
pub(super) fn suspects(model: &GaussianProcess, data: &Measurements) -> Vec<usize> {
    let n = data.len();
    let mut suspect = vec![false; n];
    let spreads = Spreads::of(data);
    for j in 0..data.dims().state {
        let left_out = model.leave_one_out(j);
        if left_out.len() == n {
            let residuals: Vec<f64> =
                left_out.iter().map(|h| (h.measured - h.mean).abs() / h.std.hypot(h.noise_std)).collect();
            let scale = (1.4826 * median(residuals.iter().copied())).max(1.0);
            for (suspect, r) in suspect.iter_mut().zip(&residuals) {
                *suspect |= *r > SUSPECT * scale;
            }
        }
    }
    for (i, suspect) in suspect.iter_mut().enumerate() {
        let input = spreads.input(data.points().at(i));
        let output = (0..data.dims().state).map(|j| spreads.output(j, data, i)).fold(0.0, f64::max);
        *suspect |= input > FAR_INPUT || output > FAR * input.max(1.0);
    }
    (0..n).filter(|&i| suspect[i]).collect()
}

/// Median and robust spread of each column of the data.
struct Spreads {
    inputs: Vec<(f64, f64)>,
    outputs: Vec<(f64, f64)>,
}

impl Spreads {
    fn of(data: &Measurements) -> Self {
        let column = |of: &dyn Fn(usize) -> f64| (0..data.len()).map(of).collect::<Vec<f64>>();
        let inputs = (0..data.dims().point()).map(|c| location_scale(&column(&|i| data.points().at(i)[c])));
        let output = |j: usize| {
            let (center, scale) = location_scale(&column(&|i| data.derivatives().at(i)[j]));
            let noise = median(data.noise_std().iter().map(|s| s[j]));
            (center, scale.max(3.0 * noise).max(f64::MIN_POSITIVE))
        };
        Spreads { inputs: inputs.collect(), outputs: (0..data.dims().state).map(output).collect() }
    }

    /// Distance of a point from the bulk of the inputs: that of its most unusual coordinate. Coordinates without spread do not count.
    fn input(&self, point: &[f64]) -> f64 {
        let each = point.iter().zip(&self.inputs).filter(|(_, (_, scale))| *scale > 0.0);
        each.map(|(z, (center, scale))| (z - center).abs() / scale).fold(0.0, f64::max)
    }

    /// Distance of a measured derivative from the bulk of its output.
    fn output(&self, j: usize, data: &Measurements, i: usize) -> f64 {
        let (center, scale) = self.outputs[j];
        (data.derivatives().at(i)[j] - center).abs() / scale
    }

    /// Logarithm of the Cauchy density of an outlier.
    fn log_outlier(&self, j: usize, data: &Measurements, i: usize) -> f64 {
        let distance = self.output(j, data, i);
        -(PI * self.outputs[j].1).ln() - (distance * distance).ln_1p()
    }
}

/// How a model predicts a row that it has not learned from.
struct Prediction {
    /// Output that deviates most, and its deviation in standard deviations.
    worst: (usize, f64),
    /// ln ε + Σ ln max(p, p_C)
    log_outlier: f64,
}

/// Predicts rows of `data`.
fn predict(
    model: &GaussianProcess,
    data: &Measurements,
    rows: &[usize],
    spreads: &Spreads,
) -> Vec<Prediction> {
    let (mut posterior, dims) = (Posterior::default(), data.dims());
    let one = |&i: &usize| {
        model.posterior(Points::new(data.points().at(i), dims.point()), Query::MeanStd, &mut posterior);
        let (mean, std) = (posterior.mean.value.at(0), posterior.std.value.at(0));
        let (mut worst, mut log_outlier) = ((0, 0.0), RARE.ln());
        for j in 0..dims.state {
            let beta = model.confidence_scale()[j].max(1.0);
            let spread = (beta * std[j]).hypot(data.noise_std().at(i)[j]).max(f64::MIN_POSITIVE);
            let r = (data.derivatives().at(i)[j] - mean[j]).abs() / spread;
            if r > worst.1 {
                worst = (j, r);
            }
            let inside = -0.5 * (r * r + TAU.ln()) - spread.ln();
            log_outlier += inside.max(spreads.log_outlier(j, data, i));
        }
        Prediction { worst, log_outlier }
    };
    rows.iter().map(one).collect()
}

/// A copy of `model` trained on some rows.
fn trained_on(
    model: &GaussianProcess,
    data: &Measurements,
    rows: &[usize],
    stream: Stream,
) -> Result<GaussianProcess, ModelError> {
    let mut copy = model.clone();
    copy.replace(&data.select(rows.iter().copied()))?;
    copy.train(stream)?;
    Ok(copy)
}

/// Finds the outliers among `data`, which is pointwise. `model` has been trained on these rows; `known` are suspects from elsewhere (rows
/// that were set aside before); rows in `trusted` are never suspects. `None` if there is no outlier. Without suspects the cost is that of
/// the leave-one-out residuals, O(n³) for each output; with suspects a few trainings.
pub fn screen(
    model: &GaussianProcess,
    data: &Measurements,
    known: &[usize],
    trusted: &[usize],
    stream: Stream,
) -> Option<Screening> {
    let (n, spreads) = (data.len(), Spreads::of(data));
    let count = |list: &[usize]| list.len() as f64 <= LARGEST_SHARE * n as f64;
    let merge = |list: Vec<usize>| {
        let mut all: Vec<usize> =
            list.into_iter().chain(known.iter().copied()).filter(|i| !trusted.contains(i)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    if n < LEAST_ROWS || !data.is_pointwise() {
        return None;
    }
    let mut suspects = merge(suspects(model, data));
    if suspects.is_empty() || !count(&suspects) {
        return None;
    }
    let whole: f64 = model.log_evidence()?.iter().sum();
    let without = |rows: &[usize]| (0..n).filter(|i| rows.binary_search(i).is_err()).collect::<Vec<usize>>();
    for round in 0..ROUNDS {
        let kept = without(&suspects);
        let part = trained_on(model, data, &kept, stream.index(round)).ok()?;
        let predictions = predict(&part, data, &suspects, &spreads);
        let gross: Vec<usize> = suspects
            .iter()
            .zip(&predictions)
            .filter(|(i, p)| p.worst.1 > EXPLAINED || spreads.input(data.points().at(**i)) > FAR_INPUT)
            .map(|(i, _)| *i)
            .collect();
        if gross.len() < suspects.len() && round + 1 < ROUNDS {
            suspects = gross;
            if suspects.is_empty() {
                return None;
            }
            continue;
        }
        let outside: f64 = predictions.iter().map(|p| p.log_outlier).sum();
        let nats = part.log_evidence()?.iter().sum::<f64>() + outside - whole;
        if nats > MARGIN.0 + MARGIN.1 * suspects.len() as f64 {
            // Smaller outliers may have been hidden by these.
            let hidden = self::suspects(&part, part.data());
            if !hidden.is_empty() && round + 1 < ROUNDS {
                let more = merge(hidden.iter().map(|&h| kept[h]).chain(suspects.iter().copied()).collect());
                if count(&more) && more.len() > suspects.len() {
                    suspects = more;
                    continue;
                }
            }
            let outliers =
                suspects.iter().zip(&predictions).map(|(&i, p)| (i, p.worst.0, p.worst.1)).collect();
            return Some(Screening { model: part, kept, outliers, nats });
        }
        // All of them together are no outliers: keep the half that deviates most.
        let mut order: Vec<usize> = (0..suspects.len()).collect();
        order.sort_by(|&a, &b| predictions[b].worst.1.total_cmp(&predictions[a].worst.1));
        order.truncate(suspects.len() / 2);
        if order.is_empty() {
            return None;
        }
        suspects = order.into_iter().map(|k| suspects[k]).collect();
        suspects.sort_unstable();
    }
    None
}
