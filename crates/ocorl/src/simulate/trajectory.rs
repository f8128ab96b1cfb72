//! A run as plain numbers.

use crate::linalg::Blocks;
use crate::system::Dims;

/// x(t), u(t) and ∫ c dt at ascending times. Where the control jumps a time may be there twice: with the control before the jump, then with
/// the control after it.
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
    /// Nothing yet, of a system with these dimensions.
    pub fn empty(dims: Dims) -> Self {
        Trajectory {
            times: Vec::new(),
            states: Blocks::zeros(dims.state, 0),
            controls: Blocks::zeros(dims.control, 0),
            costs: Vec::new(),
        }
    }

    /// Appends one time.
    pub fn push(&mut self, time: f64, state: &[f64], control: &[f64], cost: f64) {
        self.times.push(time);
        self.states.push(state);
        self.controls.push(control);
        self.costs.push(cost);
    }

    /// z = (x, u) at every time, one after the other.
    pub fn points(&self) -> Vec<f64> {
        let both = self.states.iter().zip(self.controls.iter());
        both.flat_map(|(x, u)| x.iter().chain(u)).copied().collect()
    }
}
