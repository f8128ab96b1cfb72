//! The noise that the data support, compared with the declared one: a factor for each output, and heavy tails.
//!
//! The noise of entry (i, j) is normal with variance φ_j² s_ij² + ρ_ij, where s is declared, φ_j ≥ 1 is a factor for an output, and ρ_ij > 0
//! for a few entries only (heavy tails). φ is the one of greatest marginal likelihood; entries get their ρ from the leave-one-out residuals,
//! and both are estimated in turn with the hyper-parameters (relevance pursuit [Ame24]). Several starts of φ are necessary: a model that
//! was trained with too little noise explains noise by short lengthscales.

use super::robust::median;
use crate::measurements::Measurements;
use crate::model::{GaussianProcess, ModelError, Noise, StatisticalModel, TrainingReport};
use crate::random::Stream;

/// A smaller factor on the declared standard deviation does not replace it.
const CONTRADICTED: f64 = 3.0;
/// Advantage over the declared noise, in nats, that replaces it, and the additional one for each entry of heavy tails.
const MARGIN: (f64, f64) = (6.0, 6.0);
/// Additional advantage for each output whose noise differs from the declared one.
const OUTPUT: f64 = 4.0;
/// Leave-one-out residual, in standard deviations, above which an entry belongs to heavy tails.
const TAIL: f64 = 4.5;
/// Largest share of entries that belong to heavy tails, in per cent.
const LARGEST_SHARE: usize = 35;
/// Smallest number of rows from which noise is estimated.
const LEAST_ROWS: usize = 8;
/// Factors from which the search for the noise starts; its prior allows about one decade around each.
const STARTS: [f64; 3] = [1.0, 10.0, 100.0];
/// Number of further rounds from the best of these.
const ROUNDS: usize = 3;

/// An estimate of the noise that contradicts the declared one.
pub struct NoiseEstimate {
    /// The model, trained with the estimated noise.
    pub model: GaussianProcess,
    /// The report of its training.
    pub report: TrainingReport,
    /// Factor on the standard deviation of each output; 1 for the declared noise.
    pub factor: Vec<f64>,
    /// Entries of heavy tails: row, output, and the factor on the standard deviation of the output's noise.
    pub tails: Vec<(usize, usize, f64)>,
    /// Advantage over the declared noise for each output, in nats.
    pub nats: Vec<f64>,
}

/// The noise of one output.
#[derive(Clone, Debug)]
struct OutputNoise {
    factor: f64,
    /// ρ of each row.
    additional: Vec<f64>,
    /// Evidence less the margins of the heavy tails.
    score: f64,
}

impl OutputNoise {
    fn tails(&self) -> usize {
        self.additional.iter().filter(|rho| **rho > 0.0).count()
    }

    fn is_declared(&self) -> bool {
        self.factor == 1.0 && self.tails() == 0
    }
}

/// True if leave-one-out residuals permit a noise that contradicts the declared one. The residual of a row contains its noise, so its median
/// is at least that of the noise. Costs the inverse of a factor for each output.
pub fn noise_is_doubtful(model: &GaussianProcess) -> bool {
    let doubtful = |j: usize| {
        let left_out = model.leave_one_out(j);
        if left_out.iter().any(|h| h.noise_std == 0.0) {
            return false;
        }
        let each = left_out.iter().map(|h| (h.measured - h.mean).abs() / h.noise_std);
        let tail = left_out.iter().any(|h| (h.measured - h.mean).abs() > TAIL * h.std.hypot(h.noise_std));
        // Half of the values of a standard normal variable are below 0.67.
        tail || median(each) > 0.5 * CONTRADICTED
    };
    (0..model.data().dims().state).any(doubtful)
}

/// Estimates the noise of each output. `declared` are the data with the declared noise; `model` has been trained on these rows, with any
/// noise. `None` if the declared noise explains the data, and for models that learn the noise anyway. Costs eight trainings.
pub fn estimate_noise(
    model: &GaussianProcess,
    declared: &Measurements,
    stream: Stream,
) -> Result<Option<NoiseEstimate>, ModelError> {
    let outputs = declared.dims().state;
    if declared.len() < LEAST_ROWS || !declared.is_pointwise() || model.settings().noise != Noise::Stated {
        return Ok(None);
    }
    let mut plain = model.clone();
    if model.data() != declared {
        plain.replace(declared)?;
        plain.train(stream.child("declared"))?;
    }
    let Some(stated) = plain.log_evidence() else { return Ok(None) };
    let fresh = |factor: f64| {
        let additional = vec![0.0; declared.len()];
        vec![OutputNoise { factor, additional, score: f64::NEG_INFINITY }; outputs]
    };
    let (mut best, mut next) = (fresh(1.0), fresh(1.0));
    for (i, start) in STARTS.into_iter().enumerate() {
        let Some((found, proposed)) = round(&plain, declared, &fresh(start), stream.index(i)) else {
            continue;
        };
        for (j, found) in found.into_iter().enumerate() {
            if found.score > best[j].score {
                (best[j], next[j]) = (found, proposed[j].clone());
            }
        }
    }
    for i in 0..ROUNDS {
        let Some((found, proposed)) = round(&plain, declared, &next, stream.child("next").index(i)) else {
            break;
        };
        for (best, found) in best.iter_mut().zip(found) {
            if found.score > best.score {
                *best = found;
            }
        }
        next = proposed;
    }
    for noise in &mut best {
        // A factor within the tolerance is not a contradiction.
        if noise.factor <= CONTRADICTED {
            noise.factor = 1.0;
        }
    }
    // The declared noise competes for each output with hyper-parameters that were trained with the noise as it would be used.
    for attempt in 0..2 {
        if best.iter().all(OutputNoise::is_declared) {
            return Ok(None);
        }
        let mut trained = plain.clone();
        trained.replace(&with_noise(declared, &best)?)?;
        let report = trained.train(stream.child("train").index(attempt))?;
        let Some(evidence) = trained.log_evidence() else { return Ok(None) };
        let nats: Vec<f64> = evidence.iter().zip(&stated).map(|(now, then)| now - then).collect();
        let gain = |j: usize| nats[j] - MARGIN.1 * best[j].tails() as f64 - OUTPUT;
        let changed = || (0..outputs).filter(|&j| !best[j].is_declared());
        let mut refused: Vec<usize> = changed().filter(|&j| gain(j) < 0.0).collect();
        if refused.is_empty() && changed().map(gain).sum::<f64>() <= MARGIN.0 {
            refused = changed().collect();
        }
        if refused.is_empty() {
            let entries = |j: usize| {
                let noise = &best[j];
                let each = noise.additional.iter().enumerate().filter(|(_, rho)| **rho > 0.0);
                each.map(move |(i, rho)| {
                    let std = noise.factor * declared.noise_std().at(i)[j];
                    (i, j, (1.0 + rho / (std * std)).sqrt())
                })
            };
            let tails = (0..outputs).flat_map(entries).collect();
            let factor = best.iter().map(|noise| noise.factor).collect();
            return Ok(Some(NoiseEstimate { model: trained, report, factor, tails, nats }));
        }
        for j in refused {
            best[j] = fresh(1.0).swap_remove(j);
        }
    }
    Ok(None)
}

/// The data with another noise.
fn with_noise(declared: &Measurements, noise: &[OutputNoise]) -> Result<Measurements, ModelError> {
    let std = |i: usize, j: usize, s: f64| (noise[j].factor * s).hypot(noise[j].additional[i].sqrt());
    Ok(declared.with_noise(std)?)
}

/// One round: trains hyper-parameters and factors with the heavy tails of `noise`. Returns the noise with the trained factors and its
/// score, and a proposal for the heavy tails from the leave-one-out residuals. `None` if training fails.
fn round(
    model: &GaussianProcess,
    declared: &Measurements,
    noise: &[OutputNoise],
    stream: Stream,
) -> Option<(Vec<OutputNoise>, Vec<OutputNoise>)> {
    let n = declared.len();
    let mut free = model.with_learned_noise();
    free.replace(&with_noise(declared, noise).ok()?).ok()?;
    free.train(stream).ok()?;
    let evidence = free.log_evidence()?;
    let (mut found, mut proposed) = (noise.to_vec(), noise.to_vec());
    for j in 0..noise.len() {
        let learned = free.noise_factor(j);
        let factor = (noise[j].factor * learned).max(1.0);
        found[j].factor = factor;
        found[j].additional.iter_mut().for_each(|rho| *rho *= learned * learned);
        found[j].score = evidence[j] - MARGIN.1 * found[j].tails() as f64;
        let left_out = free.leave_one_out(j);
        if left_out.len() != n {
            continue;
        }
        proposed[j].factor = factor;
        let mut tails: Vec<(f64, usize, f64)> = Vec::new();
        for (i, h) in left_out.iter().enumerate() {
            let known = h.std.hypot(factor * declared.noise_std().at(i)[j]);
            let error = (h.measured - h.mean).abs();
            if error > TAIL * known && h.noise_std > 0.0 {
                tails.push((error / known, i, error * error - known * known));
            }
        }
        tails.sort_by(|a, b| b.0.total_cmp(&a.0));
        tails.truncate(LARGEST_SHARE * n / 100);
        proposed[j].additional.fill(0.0);
        for (_, i, rho) in tails {
            proposed[j].additional[i] = rho;
        }
    }
    Some((found, proposed))
}
