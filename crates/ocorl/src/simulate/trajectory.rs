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

    /// The same with `jumps`, each of them twice, at their times: a sample at the time of a jump has the control after it.
    #[must_use]
    pub fn with_jumps(&self, jumps: &Trajectory) -> Trajectory {
        let mut out = Trajectory {
            times: Vec::new(),
            states: Blocks::zeros(self.states.size(), 0),
            controls: Blocks::zeros(self.controls.size(), 0),
            costs: Vec::new(),
        };
        let mut take = |from: &Trajectory, i: usize| {
            out.push(from.times[i], from.states.at(i), from.controls.at(i), from.costs[i]);
        };
        let mut next = 0;
        for (i, &time) in self.times.iter().enumerate() {
            while let Some(&jump) = jumps.times.get(next).filter(|jump| **jump <= time) {
                take(jumps, next);
                if jump < time {
                    take(jumps, next + 1);
                }
                next += 2;
            }
            take(self, i);
        }
        out
    }

    /// z = (x, u) at every time, one after the other.
    pub fn points(&self) -> Vec<f64> {
        let both = self.states.iter().zip(self.controls.iter());
        both.flat_map(|(x, u)| x.iter().chain(u)).copied().collect()
    }
}
