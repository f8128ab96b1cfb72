//! The learned vector field of a system with two states, on a grid around its data.

use crate::episode_model::{briefly, uncertainty};
use ocorl::linalg::{Blocks, Points};
use ocorl::model::{Posterior, Query, StatisticalModel};
use ocorl::system::{KnownSystem, Task};
use serde::{Deserialize, Serialize};

/// Number of grid points along each axis.
const POINTS: usize = 17;
/// Margin around the data, as a share of their range.
const MARGIN: f64 = 0.25;

/// The mean model μ(x, u) at the safe control over the plane of both states, row by row: `rates[j * x.len() + i]` is at `x[i]`, `y[j]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Field {
    /// Values of the first state.
    pub x: Vec<f64>,
    /// Values of the second state.
    pub y: Vec<f64>,
    /// Learned derivative of both states.
    pub rates: Vec<[f64; 2]>,
    /// True derivative; empty if unknown.
    pub truth: Vec<[f64; 2]>,
    /// Model uncertainty ‖σ‖.
    pub sigma: Vec<f64>,
}

impl Field {
    /// Evaluates a model around measured states; `None` unless the system has two states and there are measurements.
    pub fn new(
        task: &Task,
        truth: Option<&KnownSystem>,
        model: &dyn StatisticalModel,
        states: &[&[f64]],
    ) -> Option<Self> {
        if task.states.len() != 2 || states.is_empty() {
            return None;
        }
        let axis = |i: usize| {
            let values = states.iter().map(|state| state[i]);
            let (low, high) =
                values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            let margin = MARGIN * (high - low).max(1e-9);
            let at = |k: usize| low - margin + (high - low + 2.0 * margin) * k as f64 / (POINTS - 1) as f64;
            briefly((0..POINTS).map(at))
        };
        let (x, y) = (axis(0), axis(1));
        let point = |(x, y): (&f64, &f64)| [[*x, *y].as_slice(), &task.safe_control].concat();
        let points: Vec<f64> = y.iter().flat_map(|y| x.iter().map(move |x| (x, y))).flat_map(point).collect();
        let points = Points::new(&points, task.dims().point());
        let mut posterior = Posterior::default();
        model.posterior(points, Query::Mean, &mut posterior);
        let pairs = |blocks: &Blocks| -> Vec<[f64; 2]> {
            blocks.iter().map(|f| [f[0], f[1]].map(|rate| briefly([rate])[0])).collect()
        };
        let truth = truth.map_or(Vec::new(), |known| {
            let mut found = Blocks::zeros(2, points.len());
            known.dynamics().derivative(points, found.as_mut_slice());
            pairs(&found)
        });
        let (rates, sigma) = (pairs(&posterior.mean.value), uncertainty(model, points));
        Some(Field { x, y, rates, truth, sigma })
    }

    /// Error ‖μ − f‖ of the mean at every point; empty if the true derivative is unknown.
    pub fn errors(&self) -> Vec<f64> {
        let pairs = self.rates.iter().zip(&self.truth);
        pairs.map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl::learn::{Settings, Trial};
    use ocorl::system::Benchmark;

    #[test]
    fn the_field_is_right_where_it_was_measured() {
        let pendulum = Benchmark::find("pendulum").unwrap();
        let settings = Settings { episodes: 2, ..Settings::for_system(&pendulum) };
        let mut trial = Trial::new(&pendulum, settings, 0, 0.0).unwrap();
        while trial.next_episode(&mut ()).is_some() {}
        let points = trial.learner().data().points();
        let states: Vec<&[f64]> = points.iter().map(|point| &point[..2]).collect();
        let model = trial.learner().model().as_ref();
        let field = Field::new(&pendulum.task, Some(&pendulum), model, &states).unwrap();
        assert_eq!((field.rates.len(), field.sigma.len()), (POINTS * POINTS, POINTS * POINTS));
        let errors = field.errors();
        let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
        let most = errors.iter().copied().fold(0.0, f64::max);
        assert!(least < 0.05 && most > least, "errors from {least} to {most}");
    }
}
