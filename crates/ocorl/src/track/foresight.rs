//! Foresight: whether the backup controller can still keep the limits of the states after the next control.
//!
//! At each period the plan's control is applied for one period on several plausible functions, and the backup controller, or the safe
//! control, from then on. If this crosses a limit on one of them, on which the backup controller would keep the limits if it took over now,
//! it must take over now. Where the backup controller cannot keep the limits in either case, the plan is followed: it was made within the
//! limits, and the backup controller would not help.

use super::guard::FallbackSettings;
use super::monitor::{Crossing, Monitor};
use crate::linalg::Points;
use crate::system::{Backup, Bounds, Dynamics, RateLimit};

/// Part of the width of the limits by which a predicted state must stay inside; as in the controller's soft limits.
const MARGIN: f64 = 0.0025;

/// Number of integration steps in the period of the plan's controls.
pub(super) const STEPS: usize = 4;

/// Number of times in each of these steps at which the plan's control is evaluated: it may change within a step.
const SAMPLES: usize = 5;

/// Largest number of integration steps of the backup controller, each with one control.
const BACKUP_STEPS: f64 = 24.0;

/// Plausible functions on which the backup controller is tried.
pub struct Foresight {
    functions: Vec<Box<dyn Dynamics>>,
    limits: Monitor,
    control_bounds: Bounds,
    rate_limit: Option<RateLimit>,
    safe_control: Vec<f64>,
    backup: Option<Backup>,
    period: f64,
    /// Time for which the plant holds a control; zero if the control can change at any time.
    hold: f64,
    /// Time over which the backup controller is followed.
    ahead: f64,
}

impl Foresight {
    /// Creates the check of a controller with the given `period`. The backup controller is followed over `ahead`.
    pub fn new(
        functions: Vec<Box<dyn Dynamics>>,
        settings: &FallbackSettings,
        period: f64,
        ahead: f64,
    ) -> Self {
        let mut bounds = settings.state_bounds.clone();
        for (lower, upper) in bounds.lower.iter_mut().zip(&mut bounds.upper) {
            let width = *upper - *lower;
            let by = if width.is_finite() { MARGIN * width } else { 0.0 };
            (*lower, *upper) = (*lower + by, *upper - by);
        }
        Foresight {
            functions,
            limits: Monitor::new(bounds),
            control_bounds: settings.bounds.clone(),
            rate_limit: settings.rate_limit.clone(),
            safe_control: settings.safe_control.clone(),
            backup: settings.backup.clone(),
            period,
            hold: 0.0,
            ahead,
        }
    }

    /// Sets the time for which the plant holds a control.
    #[must_use]
    pub fn holding(mut self, hold: f64) -> Self {
        self.hold = hold;
        self
    }

    /// Returns the times whose controls of the plan act in the period that begins at `time`, in equal parts of it.
    pub(super) fn times(&self, time: f64) -> impl Iterator<Item = f64> {
        let (part, hold) = (self.period / (STEPS * SAMPLES) as f64, self.hold);
        (0..STEPS * SAMPLES).map(move |i| {
            let after = part * (i as f64 + 0.5);
            time + if hold > 0.0 { (after / hold).floor() * hold } else { after }
        })
    }

    /// Returns the limit that would be crossed because the backup controller takes over one period later than at `time`, after the controls
    /// of a plan acted for that period. `controls` has one for each of these times, `applied` is the control that acted before.
    pub fn crossing(
        &mut self,
        time: f64,
        state: &[f64],
        applied: &[f64],
        controls: &[f64],
    ) -> Option<Crossing> {
        let means: Vec<f64> =
            controls.chunks_exact(SAMPLES * applied.len()).flat_map(|c| mean(c, applied.len())).collect();
        let controls = means.as_slice();
        (0..self.functions.len()).find_map(|f| {
            let later = self.run(f, time, state, applied, Some(controls))?;
            self.run(f, time, state, applied, None).is_none().then_some(later)
        })
    }

    /// Follows the backup controller from `state` on function number `f`, in the first period the controls `first` if they are given, and
    /// returns the first crossing.
    fn run(
        &mut self,
        f: usize,
        time: f64,
        state: &[f64],
        applied: &[f64],
        first: Option<&[f64]>,
    ) -> Option<Crossing> {
        let nx = state.len();
        let mut point = [state, applied].concat();
        let mut passed = 0.0;
        while passed < self.ahead {
            let planned = first.filter(|_| passed == 0.0);
            let step = if planned.is_some() {
                self.period
            } else {
                self.period.max(self.ahead / BACKUP_STEPS).min(self.ahead - passed)
            };
            self.act(planned, step, &mut point);
            match planned {
                None => self.integrate(f, step, &mut point),
                Some(controls) => {
                    let dim = applied.len();
                    for i in 0..STEPS {
                        if i > 0 && self.rate_limit.is_none() {
                            point[nx..].copy_from_slice(&controls[i * dim..][..dim]);
                            self.control_bounds.clamp(&mut point[nx..]);
                        }
                        self.integrate(f, step / STEPS as f64, &mut point);
                    }
                }
            }
            passed += step;
            if let Some(crossing) = self.limits.outside(time + passed, &point[..nx]) {
                return Some(crossing);
            }
        }
        None
    }

    /// Sets the control of `point` for the next `step`: the first of `planned`, or that of the backup controller, within the limits.
    fn act(&self, planned: Option<&[f64]>, step: f64, point: &mut [f64]) {
        let (x, u) = point.split_at_mut(point.len() - self.safe_control.len());
        let before = u.to_vec();
        match (planned, &self.backup) {
            (Some(planned), _) => u.copy_from_slice(&planned[..before.len()]),
            (None, Some(backup)) => backup.control(x, u),
            (None, None) => u.copy_from_slice(&self.safe_control),
        }
        self.control_bounds.clamp(u);
        if let Some(limit) = &self.rate_limit {
            for ((u, before), rate) in u.iter_mut().zip(&before).zip(&limit.max_rate) {
                let room = rate * step;
                *u = u.max(before - room).min(before + room);
            }
        }
    }

    /// Integrates function number `f` over `step` by Heun's method.
    fn integrate(&mut self, f: usize, step: f64, point: &mut [f64]) {
        let nx = point.len() - self.safe_control.len();
        let (mut from, mut to) = (vec![0.0; nx], vec![0.0; nx]);
        let dynamics = self.functions[f].as_mut();
        dynamics.derivative(Points::single(point), &mut from);
        for (x, slope) in point.iter_mut().zip(&from) {
            *x += step * slope;
        }
        dynamics.derivative(Points::single(point), &mut to);
        for ((x, from), to) in point.iter_mut().zip(&from).zip(&to) {
            *x += 0.5 * step * (to - from);
        }
    }
}

/// Returns the mean of several controls of this dimension.
fn mean(controls: &[f64], dim: usize) -> impl Iterator<Item = f64> {
    let count = (controls.len() / dim) as f64;
    (0..dim).map(move |j| controls.iter().skip(j).step_by(dim).sum::<f64>() / count)
}

#[cfg(test)]
mod tests {
    use super::super::guard::{MAX_DROPOUTS, MAX_FALLBACKS};
    use super::*;
    use crate::system::{Dims, NumericJacobian};

    /// A cart x'' = u, |u| ≤ 1, on a track that ends at 1, with a backup controller that brakes.
    fn check(backup: Option<Backup>, state: [f64; 2], control: f64) -> Option<Crossing> {
        foresight(backup).crossing(0.0, &state, &[0.0], &[control; STEPS * SAMPLES])
    }

    fn foresight(backup: Option<Backup>) -> Foresight {
        let cart =
            NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], u: &[f64], out: &mut [f64]| {
                out.copy_from_slice(&[x[1], u[0]]);
            });
        let settings = FallbackSettings {
            bounds: Bounds::symmetric([1.0]),
            safe_control: vec![0.0],
            rate_limit: None,
            max_fallbacks: MAX_FALLBACKS,
            max_dropouts: MAX_DROPOUTS,
            state_bounds: Bounds { lower: vec![-1.0, f64::NEG_INFINITY], upper: vec![1.0, f64::INFINITY] },
            backup,
        };
        Foresight::new(vec![Box::new(cart)], &settings, 0.1, 3.0)
    }

    fn brake() -> Backup {
        Backup { state: vec![0.0; 2], control: vec![0.0], gains: vec![vec![0.0, -5.0]] }
    }

    #[test]
    fn the_backup_controller_takes_over_at_the_last_moment() {
        // It needs v²/2 to brake: at v = 1 it stops within about 0.52.
        assert_eq!(check(Some(brake()), [0.2, 1.0], 1.0), None);
        let crossing = check(Some(brake()), [0.4, 1.0], 1.0).expect("it must take over");
        assert_eq!((crossing.state, crossing.bound > 0.99), (0, true));
        // Braking by the plan is as good.
        assert_eq!(check(Some(brake()), [0.4, 1.0], -1.0), None);
        // It would not help any more.
        assert_eq!(check(Some(brake()), [0.9, 1.0], 1.0), None);
    }

    #[test]
    fn a_plan_whose_control_ends_within_the_period_is_followed() {
        // At rest, 0.01 before the narrowed limit: a push for a quarter of the period and the opposite one after it end at rest again.
        let mut foresight = foresight(Some(brake()));
        let [state, applied] = [[0.985, 0.0], [0.0, 0.0]];
        let mut crossing = |control: &dyn Fn(f64) -> f64| {
            let controls: Vec<f64> = foresight.times(0.0).map(control).collect();
            foresight.crossing(0.0, &state, &applied[..1], &controls)
        };
        assert!(crossing(&|_| 1.0).is_some());
        assert_eq!(crossing(&|t| if t < 0.025 { 1.0 } else { -f64::from(t < 0.05) }), None);
        // Also where the control changes within an integration step.
        assert_eq!(crossing(&|t| if t < 0.015 { 1.0 } else { -f64::from(t < 0.03) }), None);
    }

    #[test]
    fn the_controls_of_a_plant_that_holds_them_are_those_of_its_samples() {
        let times: Vec<f64> = foresight(None).holding(0.04).times(2.0).collect();
        let expected = |i: usize| {
            2.0 + if i < 8 {
                0.0
            } else if i < 16 {
                0.04
            } else {
                0.08
            }
        };
        assert!((0..20).all(|i| (times[i] - expected(i)).abs() < 1e-12), "{times:?}");
    }

    #[test]
    fn a_safe_input_that_keeps_no_limit_never_takes_over() {
        assert_eq!(check(None, [0.4, 1.0], 1.0), None);
        // At rest it does.
        assert_eq!(check(None, [0.8, 0.0], 0.0), None);
        assert!(check(None, [0.8, 0.0], 1.0).is_some());
    }
}
