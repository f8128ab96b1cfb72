//! Measurements where the uncertainty was largest, selected after the run: possible in simulation only.

use super::{Residual, Schedule, greatest};
use crate::linalg::Points;
use crate::model::{CovarianceColumns, StatisticalModel};
use crate::simulate::Trajectory;
use std::sync::Arc;

/// Selects, one after the other, the candidates with the largest Σⱼ σⱼ² given the measurements selected before; the first is
/// argmaxₜ ‖σ(z(t))‖². O(count · n P + count² P) for each output.
///
/// ```
/// # use ocorl::{model, select::*};
/// # use ocorl::prelude::*;
/// # let mut model = GaussianProcess::new(Dims { state: 1, control: 1 }, &[], model::Settings::default())?;
/// # let mut data = Measurements::new(model.dims());
/// # data.push(0.0, &[0.0], &[0.0], &[0.0], &[0.1])?;
/// # model.update(&data)?;
/// // `model` knows f at (0, 0).
/// let candidates = Points::from(&[[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [2.0, 0.0]]);
/// assert_eq!(greedy_max_variance(model.covariance_columns(candidates).as_mut(), &[0.01], 1), [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn greedy_max_variance(
    columns: &mut dyn CovarianceColumns,
    noise_variance: &[f64],
    count: usize,
) -> Vec<usize> {
    let mut residuals: Vec<Residual> =
        noise_variance.iter().enumerate().map(|(j, v)| Residual::new(columns, j, *v)).collect();
    let (mut chosen, mut taken) = (Vec::new(), vec![false; columns.len()]);
    while chosen.len() < count {
        let score = |i: usize| residuals.iter().map(|r| r.variance[i]).sum::<f64>();
        let Some(best) = greatest((0..columns.len()).map(score), &taken) else { break };
        chosen.push(best);
        taken[best] = true;
        for residual in &mut residuals {
            residual.measure(columns, best);
        }
    }
    chosen
}

/// A schedule of `count` measurements where ‖σ‖ was largest along the executed trajectory.
///
/// ```
/// use ocorl::prelude::*;
/// use ocorl::select::Oracle;
///
/// let task = Benchmark::find("pendulum")?.task;
/// let learner = Learner::builder(task).schedule(|plan| {
///     Box::new(Oracle::new(plan.model.clone(), &plan.task.noise_std, plan.measurements))
/// });
/// assert!(learner.build().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Oracle {
    model: Arc<dyn StatisticalModel>,
    noise_variance: Vec<f64>,
    count: usize,
}

impl Oracle {
    /// Uses the uncertainty of `model`; `noise_std` holds the noise standard deviation of each output.
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
        let mut columns = self.model.covariance_columns(Points::new(&points, self.model.dims().point()));
        let mut chosen = greedy_max_variance(columns.as_mut(), &self.noise_variance, self.count);
        chosen.sort_unstable();
        chosen
    }
}
