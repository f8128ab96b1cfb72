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
    /// The steps of a run.
    pub fn of(run: &Run) -> Self {
        Trajectory {
            times: run.times.clone(),
            states: run.states.clone(),
            controls: run.controls.clone(),
            costs: run.costs.clone(),
        }
    }

    /// z = (x, u) at every time, one after the other.
    pub fn points(&self) -> Vec<f64> {
        let both = self.states.iter().zip(self.controls.iter());
        both.flat_map(|(x, u)| x.iter().chain(u)).copied().collect()
    }
}
