//! The noise, compared with the declared one.

use crate::model::{GaussianProcess, ModelError, Noise, StatisticalModel};
use crate::random::Stream;

/// A smaller factor on the declared standard deviation is not reported.
const CONTRADICTED: f64 = 3.0;
/// Advantage over the declared noise, in nats, that reports another.
const MARGIN: f64 = 10.0;
/// Smallest number of rows from which noise is estimated.
const LEAST_ROWS: usize = 8;

/// An estimate of the noise that contradicts the declared one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseEstimate {
    /// Index of the output.
    pub output: usize,
    /// Factor on the standard deviation.
    pub factor: f64,
    /// Advantage over the present noise, in nats.
    pub nats: f64,
}

/// Factors from which the search for the noise starts; its prior allows about one decade around each.
const STARTS: [f64; 3] = [1.0, 10.0, 100.0];

/// Estimates the noise of each output by training copies of `model` with a free factor on the variances, and reports outputs whose factor is
/// above 3 and supported by the evidence. Costs three trainings. Empty for models that learn the noise anyway.
pub fn estimate_noise(model: &GaussianProcess, stream: Stream) -> Vec<NoiseEstimate> {
    let outputs = model.data().dims().state;
    if model.data().len() < LEAST_ROWS || model.settings().noise != Noise::Stated {
        return Vec::new();
    }
    let Some(stated) = model.log_evidence() else { return Vec::new() };
    let mut best: Vec<Option<NoiseEstimate>> = vec![None; outputs];
    for (i, start) in STARTS.into_iter().enumerate() {
        let mut free = model.with_learned_noise();
        let raised = model.data().with_noise(|_, _, s| s * start).map_err(ModelError::from);
        let trained = raised.and_then(|data| free.replace(&data)).and_then(|()| free.train(stream.index(i)));
        let (Ok(_), Some(learned)) = (trained, free.log_evidence()) else { continue };
        for (output, best) in best.iter_mut().enumerate() {
            let nats = learned[output] - stated[output];
            if nats > best.map_or(MARGIN, |best| best.nats) {
                *best = Some(NoiseEstimate { output, factor: start * free.noise_factor(output), nats });
            }
        }
    }
    best.into_iter().flatten().filter(|estimate| estimate.factor > CONTRADICTED).collect()
}
