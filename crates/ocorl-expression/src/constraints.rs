//! Constraints given as comparisons of expressions, with exact Jacobians.

use super::tape::{Scratch, Tape};
use ocorl::linalg::{Linearization, Points};
use ocorl::system::{Constraint, Constraints, Dims};
use std::sync::{Mutex, PoisonError};

/// Constraints left ≤ right or left ≥ right. The tape has the left and the right side of each comparison as outputs, one after the other.
#[derive(Debug)]
pub struct ExpressionConstraints {
    tape: Tape,
    states: usize,
    list: Vec<Constraint>,
    /// For each comparison: 1 for left ≤ right, −1 for left ≥ right, so that g = sign (left − right).
    signs: Vec<f64>,
    pool: Mutex<Vec<Scratch<f64>>>,
}

impl ExpressionConstraints {
    /// Creates constraints from a tape of states and controls; `less` says for each comparison whether left ≤ right is required. Panics
    /// unless the tape has two outputs for each constraint.
    pub fn new(tape: Tape, states: usize, list: Vec<Constraint>, less: &[bool]) -> Self {
        let (outputs, count) = (tape.outputs(), list.len());
        assert!(outputs == 2 * count && less.len() == count, "{outputs} outputs for {count} constraints");
        let signs = less.iter().map(|less| if *less { 1.0 } else { -1.0 }).collect();
        ExpressionConstraints { tape, states, list, signs, pool: Mutex::new(Vec::new()) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Scratch<f64>) -> T) -> T {
        let lock = || self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let free = lock().pop();
        let mut scratch = free.unwrap_or_else(|| self.tape.scratch());
        let result = act(&mut scratch);
        lock().push(scratch);
        result
    }

    fn write(&self, scratch: &Scratch<f64>, out: &mut [f64]) {
        for (j, (out, sign)) in out.iter_mut().zip(&self.signs).enumerate() {
            *out = sign * (self.tape.output(scratch, 2 * j) - self.tape.output(scratch, 2 * j + 1));
        }
    }
}

impl Constraints for ExpressionConstraints {
    fn dims(&self) -> Dims {
        Dims { state: self.states, control: self.tape.inputs() - self.states }
    }

    fn list(&self) -> &[Constraint] {
        &self.list
    }

    fn values(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        self.with(|scratch| {
            for (i, out) in out.chunks_exact_mut(self.list.len()).enumerate() {
                let point = z.at(i);
                self.tape.values(scratch, times[i], |j| point[j]);
                self.write(scratch, out);
            }
        });
    }

    fn linearize(&self, times: &[f64], z: Points<'_>, out: &mut Linearization) {
        let dim = z.dim();
        out.resize(self.list.len(), dim, z.len());
        self.with(|scratch| {
            for (i, &time) in times.iter().enumerate().take(z.len()) {
                let (point, jacobian) = (z.at(i), out.jacobian.at_mut(i));
                self.tape.values_and_slopes(scratch, time, |j| point[j]);
                self.write(scratch, out.value.at_mut(i));
                jacobian.fill(0.0);
                for r in 0..dim {
                    self.tape.derivatives(scratch, r, |output, slope| {
                        let (j, side) = (output / 2, if output % 2 == 0 { 1.0 } else { -1.0 });
                        jacobian[j * dim + r] += side * self.signs[j] * slope;
                    });
                }
            }
        });
    }
}
