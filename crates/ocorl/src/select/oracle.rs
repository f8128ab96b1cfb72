//! Measurements where uncertainty was largest, chosen when the run is over: possible in simulation only.

use super::{Residual, Schedule, greatest};
use crate::linalg::Points;
use crate::model::{Joint, StatisticalModel};
use crate::simulate::Trajectory;
use std::sync::Arc;

/// One after the other, the candidates with the largest Σⱼ σⱼ² given the measurements already chosen; the first is
/// argmaxₜ ‖σ(z(t))‖².
pub fn greedy_max_variance(joint: &mut dyn Joint, noise_variance: &[f64], count: usize) -> Vec<usize> {
    let mut residuals: Vec<Residual> =
        noise_variance.iter().enumerate().map(|(j, v)| Residual::new(joint, j, *v)).collect();
    let (mut chosen, mut taken) = (Vec::new(), vec![false; joint.len()]);
    while chosen.len() < count {
        let score = |i: usize| residuals.iter().map(|r| r.left[i]).sum::<f64>();
        let Some(best) = greatest((0..joint.len()).map(score), &taken) else { break };
        chosen.push(best);
        taken[best] = true;
        for residual in &mut residuals {
            residual.measure(joint, best);
        }
    }
    chosen
}

/// `count` measurements where the executed trajectory was least known.
pub struct Oracle {
    model: Arc<dyn StatisticalModel>,
    noise_variance: Vec<f64>,
    count: usize,
}

impl Oracle {
    /// By what `model` knows.
    pub fn new(model: Arc<dyn StatisticalModel>, noise_std: &[f64], count: usize) -> Self {
        Oracle { model, noise_variance: noise_std.iter().map(|s| s * s).collect(), count }
    }
}

impl Schedule for Oracle {
    fn next(&mut self, _time: f64, _state: &[f64], _control: &[f64]) -> Option<super::Request> {
        None
    }

    fn afterwards(&mut self, executed: &Trajectory) -> Vec<usize> {
        let points = executed.points();
        if points.is_empty() {
            return Vec::new();
        }
        let mut joint = self.model.joint(Points::new(&points, self.model.dims().point()));
        let mut chosen = greedy_max_variance(joint.as_mut(), &self.noise_variance, self.count);
        chosen.sort_unstable();
        chosen
    }
}
