//! Sampled control: a policy that is evaluated at sampling times and holds its control in between.

use super::dithered::Periods;
use super::guard::{FallbackGuard, FallbackSettings};
use crate::simulate::{Policy, PolicyError};
use crate::system::RateLimit;

/// A policy that is evaluated at the sampling times; its control is held until the next one, and the last control until the end:
///
/// ```text
/// u(t) = π(t_k, x(t_k)) for t_k ≤ t < t_{k+1}
/// ```
///
/// With [`Feedback`](super::Feedback) at the nodes of its plan the control is u_k + K_k (x(t_k) − x_k), for which the gains of a
/// discrete-time plan are designed. With a [`FallbackGuard`] each control passes it, as on hardware; [`rate_limited`] creates such a
/// policy.
#[derive(Clone, Debug)]
pub struct Sampled<P> {
    inner: P,
    /// Sampling times t_k.
    samples: Periods,
    /// Number of the current hold.
    hold: Option<usize>,
    until: f64,
    held: Vec<f64>,
    guard: Option<FallbackGuard>,
}

impl<P: Policy> Sampled<P> {
    /// Samples `inner`, which has `controls` controls, at `times`, in increasing order. If the run begins before the first of them, it is
    /// sampled once at the beginning.
    pub fn new(inner: P, times: &[f64], controls: usize) -> Self {
        Sampled::at(inner, Periods::At(times.to_vec()), controls)
    }

    /// Samples `inner`, which has `controls` controls, at the given periods or times.
    pub fn at(inner: P, samples: Periods, controls: usize) -> Self {
        let until = f64::NEG_INFINITY;
        Sampled { inner, samples, hold: None, until, held: vec![0.0; controls], guard: None }
    }

    /// Adds a guard that every control passes.
    #[must_use]
    pub fn guarded(mut self, guard: FallbackGuard) -> Self {
        self.held.copy_from_slice(guard.safe_control());
        self.guard = Some(guard);
        self
    }

    /// Returns the number of the hold at `time`, and its end time.
    fn hold_at(&self, time: f64) -> (usize, f64) {
        match &self.samples {
            Periods::At(times) => {
                let next = times.partition_point(|&t| t <= time);
                (next, times.get(next).copied().unwrap_or(f64::INFINITY))
            }
            // Rounding of accumulated times must not skip a sample.
            Periods::Every(length) if time >= self.until - 1e-9 * length => {
                (self.hold.map_or(0, |hold| hold + 1), time + length)
            }
            Periods::Every(_) => (self.hold.unwrap_or(0), self.until),
        }
    }
}

impl<P: Policy> Policy for Sampled<P> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let (hold, until) = self.hold_at(time);
        // An evaluation within a hold, for a measurement, does not end it.
        if self.hold != Some(hold) {
            self.inner.prepare(time, state)?;
            self.inner.control(time, state, &mut self.held);
            if let Some(guard) = &mut self.guard {
                guard.guard(time, &mut self.held);
            }
            (self.hold, self.until) = (Some(hold), until);
        }
        Ok(until)
    }

    fn control(&mut self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.held);
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        self.inner.level_counts()
    }

    fn requested(&mut self, time: f64, state: &[f64], out: &mut [f64]) -> Result<(), PolicyError> {
        if self.guard.is_some() {
            return self.inner.requested(time, state, out);
        }
        self.prepare(time, state)?;
        self.control(time, state, out);
        Ok(())
    }
}

/// Returns `policy` as a controller with a rate limit applies it: sampled every control period, each control passed through the guard and
/// held. In discrete time it is sampled at `times` instead, and the limit applies between them. Without a rate limit it is `policy` itself.
pub fn rate_limited<'a>(
    policy: Box<dyn Policy + Send + 'a>,
    settings: &FallbackSettings,
    times: Option<&[f64]>,
) -> Box<dyn Policy + Send + 'a> {
    let Some(limit) = &settings.rate_limit else { return policy };
    let samples = times.map_or(Periods::Every(limit.period), |times| Periods::At(times.to_vec()));
    let longest = times.unwrap_or(&[]).windows(2).map(|t| t[1] - t[0]).fold(0.0, f64::max);
    let period = if longest > 0.0 { longest } else { limit.period };
    let rate_limit = Some(RateLimit { period, ..limit.clone() });
    let guard = FallbackGuard::new(&FallbackSettings { rate_limit, ..settings.clone() });
    Box::new(Sampled::at(policy, samples, settings.safe_control.len()).guarded(guard))
}

/// Returns `policy` as a plant applies it that holds each control for `period`: sampled, passed through the guard, and held.
pub fn held<'a>(
    policy: Box<dyn Policy + Send + 'a>,
    settings: &FallbackSettings,
    period: f64,
) -> Box<dyn Policy + Send + 'a> {
    let guard = FallbackGuard::new(settings);
    Box::new(Sampled::at(policy, Periods::Every(period), settings.safe_control.len()).guarded(guard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Law;
    use crate::system::Bounds;

    #[test]
    fn a_hold_ends_at_the_next_sample_and_nowhere_else() {
        let law = Law(|t: f64, x: &[f64], u: &mut [f64]| u[0] = 10.0 * t + x[0]);
        let mut policy = Sampled::new(law, &[0.0, 1.0, 2.0], 1);
        let mut at = |time: f64, x: f64| {
            let until = policy.prepare(time, &[x]).unwrap();
            let mut u = [0.0];
            policy.control(time + 0.3, &[99.0], &mut u);
            (until, u[0])
        };
        assert_eq!(at(0.0, 0.5), (1.0, 0.5));
        // An evaluation between two samples.
        assert_eq!(at(0.4, 0.7), (1.0, 0.5));
        assert_eq!(at(1.0, 0.25), (2.0, 10.25));
        assert_eq!(at(2.0, 0.0), (f64::INFINITY, 20.0));
        assert_eq!(at(2.5, 1.0), (f64::INFINITY, 20.0));
    }

    #[test]
    fn a_rate_limit_samples_every_period_and_slews_from_the_safe_control() {
        let settings = FallbackSettings {
            bounds: Bounds::symmetric([10.0]),
            safe_control: vec![1.0],
            rate_limit: Some(RateLimit { max_rate: vec![2.0], period: 0.5 }),
            max_fallbacks: 0,
            max_dropouts: 0,
            state_bounds: Bounds::none(1),
            backup: None,
        };
        let law = || Box::new(Law(|_: f64, x: &[f64], u: &mut [f64]| u[0] = x[0]));
        let mut policy = rate_limited(law(), &settings, None);
        let mut u = [0.0];
        policy.requested(0.0, &[4.0], &mut u).unwrap();
        assert_eq!(u, [4.0], "what the law asks for");
        let mut at = |time: f64, x: f64| {
            let until = policy.prepare(time, &[x]).unwrap();
            policy.control(time, &[x], &mut u);
            (until, u[0])
        };
        assert_eq!(at(0.0, 4.0), (0.5, 2.0));
        assert_eq!(at(0.2, 9.0), (0.5, 2.0), "looked at in between");
        assert_eq!(at(0.5, 4.0), (1.0, 3.0));
        assert_eq!(at(1.0, 2.5), (1.5, 2.5));
        let mut held = rate_limited(law(), &settings, Some(&[0.0, 2.0, 3.0]));
        held.prepare(0.0, &[-9.0]).unwrap();
        held.prepare(2.0, &[9.0]).unwrap();
        held.control(2.5, &[0.0], &mut u);
        assert_eq!(u, [1.0], "2 per unit of time over a hold of 2, from −3");
    }
}
