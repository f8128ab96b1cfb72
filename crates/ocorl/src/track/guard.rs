//! The fallback guard: every control passes it before the plant, and leaves it finite, within its rate limit and within its bounds.
//!
//! Rate limits use the guard's own clock, which is derived from the time stamps of the steps:
//!
//! | time stamp of a step | elapsed time |
//! |---|---|
//! | later than that of the previous step | the difference, at most [`MAX_PERIODS`] control periods |
//! | not later, or not finite | one control period |
//! | first of the run | one control period, from the safe control |
//!
//! The elapsed time is thus positive at every step for any clock of the plant, so a control that moves to the safe control reaches it. A
//! single stamp far ahead does not allow a jump, because the plant was not observed in the meantime.

use crate::system::{Backup, Bounds, RateLimit, Task};

/// Source of a control, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FallbackLevel {
    /// A new, verified solution.
    Fresh,
    /// The previous verified solution at the present time, with its gains.
    Shifted,
    /// The plan with its gains.
    Planned,
    /// The backup controller, or the declared safe control.
    Safe,
}

impl FallbackLevel {
    /// Returns the name used in messages, logs and tables.
    pub fn name(self) -> &'static str {
        match self {
            FallbackLevel::Fresh => "fresh",
            FallbackLevel::Shifted => "shifted",
            FallbackLevel::Planned => "planned",
            FallbackLevel::Safe => "safe",
        }
    }
}

/// Limits of the controls, and the numbers of failures that a controller tolerates.
#[derive(Clone, Debug, PartialEq)]
pub struct FallbackSettings {
    /// Lower and upper limit of each control.
    pub bounds: Bounds,
    /// Control that is applied when no better one is available; clamped to the limits.
    pub safe_control: Vec<f64>,
    /// Limit on the rate of the controls; `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// Number of failed solves in sequence after which the controller stays at the safe level.
    pub max_fallbacks: usize,
    /// Number of samples in sequence without a usable state that are bridged by the previous solution or the plan in open loop; after
    /// them the control moves to the safe one.
    pub max_dropouts: usize,
    /// Limits of the states; a measured state outside them ends the pursuit of the plan.
    pub state_bounds: Bounds,
    /// Controller at the safe level while the state is known; `None` for the constant safe control.
    pub backup: Option<Backup>,
}

/// Default of [`FallbackSettings::max_fallbacks`].
pub const MAX_FALLBACKS: usize = 10;

/// Default of [`FallbackSettings::max_dropouts`].
pub const MAX_DROPOUTS: usize = 3;

/// Maximum elapsed time between two steps, in control periods, for any difference of their time stamps.
pub const MAX_PERIODS: f64 = 3.0;

impl FallbackSettings {
    /// Returns the limits and the safe control of a task, with the default numbers of failed solves and dropouts.
    pub fn of(task: &Task) -> Self {
        FallbackSettings {
            bounds: task.control_bounds.clone(),
            safe_control: task.safe_control.clone(),
            rate_limit: task.rate_limit.clone(),
            max_fallbacks: MAX_FALLBACKS,
            max_dropouts: MAX_DROPOUTS,
            state_bounds: task.state_bounds.clone(),
            backup: task.backup.clone(),
        }
    }
}

/// Makes each control finite and enforces its rate limit and its bounds.
#[derive(Clone, Debug)]
pub struct FallbackGuard {
    bounds: Bounds,
    safe_control: Vec<f64>,
    rate_limit: Option<RateLimit>,
    /// Last finite time stamp; NaN if there was none.
    stamp: f64,
    /// Last output of the guard; initially the safe control.
    applied: Vec<f64>,
}

impl FallbackGuard {
    /// Creates the guard of a new run, with the safe control applied.
    pub fn new(settings: &FallbackSettings) -> Self {
        let FallbackSettings { bounds, safe_control, rate_limit, .. } = settings.clone();
        let finite = safe_control.iter().map(|u| if u.is_finite() { *u } else { 0.0 });
        let mut safe_control: Vec<f64> = finite.collect();
        bounds.clamp(&mut safe_control);
        let applied = safe_control.clone();
        FallbackGuard { bounds, safe_control, rate_limit, stamp: f64::NAN, applied }
    }

    /// Starts another run, with the safe control applied.
    pub fn reset(&mut self) {
        self.stamp = f64::NAN;
        self.applied.copy_from_slice(&self.safe_control);
    }

    /// Returns the declared safe control, clamped to the limits.
    pub fn safe_control(&self) -> &[f64] {
        &self.safe_control
    }

    /// Returns the last output of the guard; initially the safe control.
    pub fn applied(&self) -> &[f64] {
        &self.applied
    }

    /// Returns the rate limit; `None` if there is none.
    pub fn rate_limit(&self) -> Option<&RateLimit> {
        self.rate_limit.as_ref()
    }

    /// Returns whether `control` is within the bounds, up to `tolerance` relative to 1 + |bound|.
    pub(super) fn allows(&self, control: &[f64], tolerance: f64) -> bool {
        let ends = self.bounds.lower.iter().zip(&self.bounds.upper);
        control.iter().zip(ends).all(|(u, (lower, upper))| {
            *u >= lower - tolerance * (1.0 + lower.abs()) && *u <= upper + tolerance * (1.0 + upper.abs())
        })
    }

    /// Replaces non-finite entries by the safe control and clamps to the bounds, without a rate limit: for continuous-time policies in
    /// simulation.
    pub fn limit(&self, control: &mut [f64]) {
        for (u, safe) in control.iter_mut().zip(&self.safe_control) {
            if !u.is_finite() {
                *u = *safe;
            }
        }
        self.bounds.clamp(control);
    }

    /// Processes a control that is held from `time` on: replaces non-finite entries by the safe control, and enforces the rate limit and
    /// the bounds.
    pub fn guard(&mut self, time: f64, control: &mut [f64]) {
        self.limit(control);
        if let Some(limit) = &self.rate_limit {
            let elapsed = elapsed(limit.period, self.stamp, time);
            for (j, u) in control.iter_mut().enumerate() {
                let room = limit.max_rate[j] * elapsed;
                *u = u.max(self.applied[j] - room).min(self.applied[j] + room);
            }
            self.bounds.clamp(control);
        }
        if time.is_finite() {
            self.stamp = time;
        }
        self.applied.copy_from_slice(control);
    }
}

/// Returns the elapsed time of a step with time stamp `time` after one with `stamp` (NaN if there was none). Always positive.
fn elapsed(period: f64, stamp: f64, time: f64) -> f64 {
    let passed = time - stamp;
    // NaN in either stamp fails the comparison; an infinite time is not a time stamp.
    if passed > 0.0 && time.is_finite() { passed.min(MAX_PERIODS * period) } else { period }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(max_rate: Vec<f64>) -> FallbackGuard {
        FallbackGuard::new(&FallbackSettings {
            bounds: Bounds::symmetric(vec![5.0; max_rate.len()]),
            safe_control: vec![0.0; max_rate.len()],
            rate_limit: Some(RateLimit { max_rate, period: 0.1 }),
            max_fallbacks: MAX_FALLBACKS,
            max_dropouts: MAX_DROPOUTS,
            state_bounds: Bounds::none(1),
            backup: None,
        })
    }

    #[test]
    fn the_safe_control_is_reached_whatever_the_clock_does() {
        type Clock = (&'static str, fn(u32) -> f64);
        let clocks: [Clock; 6] = [
            ("stands still", |_| 1.0),
            ("runs backwards", |k| 1.0 - 0.1 * f64::from(k)),
            ("is not a number", |_| f64::NAN),
            ("is infinite", |_| f64::INFINITY),
            ("restarts", |k| 0.1 * f64::from(k)),
            ("jumps", |k| if k % 2 == 0 { 1e9 } else { -1e9 }),
        ];
        for (clock, time) in clocks {
            let mut guard = guard(vec![2.0, f64::INFINITY]);
            for k in 0..10 {
                guard.guard(0.1 * f64::from(k), &mut [1.0, 1.0]);
            }
            assert_eq!(guard.applied(), [1.0, 1.0]);
            // From 1 at 2 per second, in periods of 0.1 s.
            for k in 0..5 {
                let (before, mut u) = (guard.applied().to_vec(), [0.0, 0.0]);
                guard.guard(time(k), &mut u);
                assert!(u[0] <= before[0] - 0.2 + 1e-12 || u[0] == 0.0, "{clock} {k}: {before:?} {u:?}");
                assert!(u[0] >= before[0] - 0.6 - 1e-12, "{clock} {k}: {before:?} {u:?}");
                assert_eq!(u[1], 0.0, "{clock}: without a limit at once");
            }
            assert!(guard.applied()[0].abs() < 1e-12, "{clock}: {:?}", guard.applied());
        }
    }

    #[test]
    fn the_first_control_is_slewed_from_the_safe_one_and_a_stamp_far_ahead_allows_three_periods() {
        let mut guard = guard(vec![2.0]);
        let mut u = [1.0];
        guard.guard(7.0, &mut u);
        assert_eq!(u, [0.2]);
        u = [5.0];
        guard.guard(1e6, &mut u);
        assert!((u[0] - 0.8).abs() < 1e-12, "{u:?}");
        u = [5.0];
        guard.guard(1e6 + 0.05, &mut u);
        assert!((u[0] - 0.9).abs() < 1e-9, "{u:?}");
        guard.reset();
        assert_eq!(guard.applied(), [0.0]);
    }
}
