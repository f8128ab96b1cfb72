//! Actuators that act late: a delay between the command and its effect, and a first-order lag.
//!
//! ```text
//! v(t) = w(t)              without a lag,      w(t) = u(t − δ)
//! τ dv/dt = w(t) − v(t)    with lag τ
//! ```
//!
//! The plant receives v, the record holds the command u. Before t = 0 the command is the safe control.

use ocorl::simulate::{Policy, PolicyError};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of steps of the command's record in the shortest delay or lag.
const STEPS: f64 = 50.0;

/// Largest number of steps of the record in a run.
const MOST_STEPS: f64 = 20_000.0;

/// The commands of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandLog {
    times: Vec<f64>,
    commands: Vec<Vec<f64>>,
}

impl CommandLog {
    fn push(&mut self, time: f64, command: &[f64]) {
        self.times.push(time);
        self.commands.push(command.to_vec());
    }

    /// Control `c` of the command at `time`, linear between the recorded ones. `before` is returned for negative times.
    fn at(&self, time: f64, c: usize, before: f64) -> f64 {
        let next = self.times.partition_point(|&t| t <= time);
        let Some(last) = next.checked_sub(1) else { return before };
        let from = self.commands[last][c];
        let Some(to) = self.commands.get(next) else { return from };
        from + (time - self.times[last]) / (self.times[next] - self.times[last]) * (to[c] - from)
    }

    /// The command at `time`.
    pub(super) fn command(&self, time: f64) -> Vec<f64> {
        let controls = self.commands.first().map_or(0, Vec::len);
        (0..controls).map(|c| self.at(time, c, self.commands[0][c])).collect()
    }
}

/// A policy whose commands reach the plant late.
pub(super) struct Late {
    policy: Box<dyn Policy + Send>,
    /// Delay and lag of each control.
    each: Vec<(f64, f64)>,
    safe: Vec<f64>,
    step: f64,
    log: Arc<Mutex<CommandLog>>,
    /// Time until which the policy holds.
    until: f64,
    /// Time of the present step, and v there.
    from: f64,
    filtered: Vec<f64>,
}

impl Late {
    /// Returns the policy and the record of its commands.
    pub(super) fn new(
        policy: Box<dyn Policy + Send>,
        late: Vec<(f64, f64)>,
        safe: Vec<f64>,
        horizon: f64,
    ) -> (Self, Arc<Mutex<CommandLog>>) {
        let sizes = late.iter().flat_map(|(delay, lag)| [*delay, *lag]).filter(|size| *size > 0.0);
        let step = (sizes.fold(horizon, f64::min) / STEPS).max(horizon / MOST_STEPS);
        let log = Arc::<Mutex<CommandLog>>::default();
        let filtered = safe.clone();
        let late = Late {
            policy,
            each: late,
            safe,
            step,
            log: log.clone(),
            until: f64::NEG_INFINITY,
            from: 0.0,
            filtered,
        };
        (late, log)
    }

    /// v of a control at a time of the present step.
    fn applied(&self, c: usize, time: f64, present: f64) -> f64 {
        let (delay, lag) = self.each[c];
        let delayed = |t: f64| {
            let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.at(t - delay, c, self.safe[c])
        };
        if lag == 0.0 {
            return if delay == 0.0 { present } else { delayed(time) };
        }
        let towards = delayed(self.from);
        towards + (self.filtered[c] - towards) * (-(time - self.from) / lag).exp()
    }
}

impl Policy for Late {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let rounding = 1e-9 * self.step;
        if time >= self.until - rounding {
            self.until = self.policy.prepare(time, state)?;
        }
        self.filtered = (0..self.safe.len()).map(|c| self.applied(c, time, self.filtered[c])).collect();
        self.from = time;
        let mut command = self.safe.clone();
        self.policy.control(time, state, &mut command);
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(time, &command);
        Ok(self.until.min(time + self.step))
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        self.policy.control(time, state, out);
        for (c, out) in out.iter_mut().enumerate() {
            *out = self.applied(c, time, *out);
        }
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        self.policy.level_counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocorl::simulate::Law;

    /// What the plant receives of the command sin(t) at the end of a run.
    fn received(late: (f64, f64), horizon: f64) -> (f64, f64) {
        let command = Law(|t: f64, _: &[f64], u: &mut [f64]| u[0] = t.sin());
        let (mut late, log) = Late::new(Box::new(command), vec![late], vec![0.0], horizon);
        let (mut time, mut u) = (0.0, [0.0]);
        while time < horizon {
            time = late.prepare(time, &[]).unwrap().min(horizon);
        }
        late.control(time, &[], &mut u);
        let log = log.lock().unwrap();
        (u[0], log.command(1.3)[0])
    }

    #[test]
    fn the_plant_receives_the_command_late_and_the_record_holds_the_command() {
        let (applied, command) = received((0.2, 0.0), 2.0);
        assert!((applied - 1.8_f64.sin()).abs() < 1e-5, "{applied}");
        assert!((command - 1.3_f64.sin()).abs() < 1e-5, "{command}");
        // τ dv/dt = sin(t − δ) − v from v(δ) = 0, with s = t − δ: v = (sin s − τ cos s + τ exp(−s/τ))/(1 + τ²).
        let (delay, lag, s): (f64, f64, f64) = (0.2, 0.3, 1.8);
        let exact = (s.sin() - lag * s.cos() + lag * (-s / lag).exp()) / (1.0 + lag * lag);
        let (applied, _) = received((delay, lag), 2.0);
        assert!((applied - exact).abs() < 3e-3, "{applied} instead of {exact}");
        // Before the first command arrives, the plant receives the safe control.
        assert_eq!(received((3.0, 0.0), 2.0).0, 0.0);
    }
}
