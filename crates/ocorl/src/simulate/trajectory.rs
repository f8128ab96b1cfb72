//! A run as plain numbers.

use super::Run;
use crate::linalg::Blocks;

/// x(t), u(t) and ∫ c dt at some times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Times.
    pub times: Vec<f64>,
    /// x
    pub states: Blocks,
    /// u
    pub controls: Blocks,
    /// Cost so far.
    pub costs: Vec<f64>,
}

impl Trajectory {
    /// `count` equally spaced moments of a run, from its beginning to its end. Controls are those of the integration step a moment
    /// lies in, costs lie on straight lines between steps.
    pub fn of(run: &Run, count: usize) -> Self {
        let (nx, nu) = (run.states.size(), run.controls.size());
        let mut out = Trajectory {
            times: Vec::with_capacity(count),
            states: Blocks::zeros(nx, count),
            controls: Blocks::zeros(nu, count),
            costs: Vec::with_capacity(count),
        };
        let (begin, last) = (run.times[0], run.times.len() - 1);
        for i in 0..count {
            let time = begin + (run.end() - begin) * i as f64 / (count - 1).max(1) as f64;
            let k = run.times.partition_point(|&t| t <= time).clamp(1, last.max(1)) - 1;
            let next = (k + 1).min(last);
            let width = run.times[next] - run.times[k];
            let w = if width > 0.0 { ((time - run.times[k]) / width).clamp(0.0, 1.0) } else { 0.0 };
            out.times.push(time);
            run.state_at(time, out.states.at_mut(i));
            out.controls.at_mut(i).copy_from_slice(run.controls.at(k));
            out.costs.push(run.costs[k] + w * (run.costs[next] - run.costs[k]));
        }
        out
    }

    /// z = (x, u) at every time, one after the other.
    pub fn points(&self) -> Vec<f64> {
        let both = self.states.iter().zip(self.controls.iter());
        both.flat_map(|(x, u)| x.iter().chain(u)).copied().collect()
    }
}
