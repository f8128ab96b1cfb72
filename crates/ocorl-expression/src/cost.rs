//! Costs given as expressions, with exact gradients and Hessians.

use super::tape::{Second, Tape};
use ocorl::linalg::{Points, Quadratization};
use ocorl::system::{Cost, Dims};
use std::sync::{Mutex, PoisonError};

/// Running cost c(t, x, u) and terminal cost c_T(t, x), each the only output of a tape.
#[derive(Debug)]
pub struct ExpressionCost {
    running: Part,
    terminal: Option<Part>,
    states: usize,
}

impl ExpressionCost {
    /// `running` has the states and the controls as inputs, `terminal` the states alone; without `terminal` the terminal cost is zero.
    pub fn new(running: Tape, terminal: Option<Tape>, states: usize) -> Self {
        assert!(running.outputs() == 1 && states <= running.inputs(), "a cost is one number of x and u");
        if let Some(terminal) = &terminal {
            assert!(
                terminal.outputs() == 1 && terminal.inputs() == states,
                "a terminal cost is one number of x"
            );
        }
        ExpressionCost { running: Part::new(running), terminal: terminal.map(Part::new), states }
    }
}

/// A tape with working memory for each thread that evaluates it concurrently.
#[derive(Debug)]
struct Part {
    tape: Tape,
    pool: Mutex<Vec<Second>>,
}

impl Part {
    fn new(tape: Tape) -> Self {
        Part { pool: Mutex::new(vec![tape.second()]), tape }
    }

    fn with<T>(&self, act: impl FnOnce(&Tape, &mut Second) -> T) -> T {
        let lock = || self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let free = lock().pop();
        let mut scratch = free.unwrap_or_else(|| self.tape.second());
        let result = act(&self.tape, &mut scratch);
        lock().push(scratch);
        result
    }
}

impl Cost for ExpressionCost {
    fn dims(&self) -> Dims {
        Dims { state: self.states, control: self.running.tape.inputs() - self.states }
    }

    fn running(&self, times: &[f64], z: Points<'_>, out: &mut [f64]) {
        self.running.with(|tape, scratch| {
            for i in 0..z.len() {
                out[i] = tape.value(scratch, times[i], z.at(i));
            }
        });
    }

    fn quadratize(&self, times: &[f64], z: Points<'_>, out: &mut Quadratization) {
        out.resize(z.dim(), z.len());
        self.running.with(|tape, scratch| {
            for i in 0..z.len() {
                let (gradient, hessian) = (out.gradient.at_mut(i), out.hessian.at_mut(i));
                out.value[i] = tape.quadratize(scratch, times[i], z.at(i), gradient, hessian);
            }
        });
    }

    fn terminal(&self, time: f64, state: &[f64]) -> f64 {
        let Some(terminal) = &self.terminal else { return 0.0 };
        terminal.with(|tape, scratch| tape.value(scratch, time, state))
    }

    fn quadratize_terminal(
        &self,
        time: f64,
        state: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        let Some(terminal) = &self.terminal else {
            gradient.fill(0.0);
            hessian.fill(0.0);
            return 0.0;
        };
        terminal.with(|tape, scratch| tape.quadratize(scratch, time, state, gradient, hessian))
    }
}
