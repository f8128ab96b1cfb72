//! Whatever a solver does, the control is finite, within limits and within the rate limit.

use crate::support;
use ocorl::linalg::Blocks;
use ocorl::random::{Rng, Stream};
use ocorl::simulate::Trajectory;
use ocorl::track::{FallbackLevel, MAX_PERIODS, Reference, SolveError, SolveRequest, Solver};
use ocorl_study::control::{Clock, Controller, Settings, Simulated, Virtual, reference};
use ocorl_study::plan_file::{Limits, PlanFile};
use std::time::Duration;

/// What can go wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    None,
    Error,
    NotANumber,
    Infinite,
    Huge,
    WrongSize,
    Empty,
    TimesReversed,
    Stale,
    Panic,
    /// Takes so many budgets.
    Slow(u32),
}

const FAULTS: [Fault; 12] = [
    Fault::None,
    Fault::Error,
    Fault::NotANumber,
    Fault::Infinite,
    Fault::Huge,
    Fault::WrongSize,
    Fault::Empty,
    Fault::TimesReversed,
    Fault::Stale,
    Fault::Panic,
    Fault::Slow(2),
    Fault::Slow(40),
];

/// A solver of two intervals that fails as it is told.
pub(crate) struct Faulty<F> {
    pub(crate) fault: F,
    pub(crate) clock: Virtual,
    pub(crate) budget: Duration,
}

impl<F: FnMut(f64, Option<&Trajectory>) -> Fault> Solver for Faulty<F> {
    fn solve(
        &mut self,
        _: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        let SolveRequest { time, state, previous, .. } = *request;
        let fault = (self.fault)(time, previous);
        let nx = state.len();
        out.times = vec![time, time + 0.05, time + 0.1];
        out.states = Blocks::from_vec(state.repeat(3), nx);
        out.controls = Blocks::from_vec(vec![0.1, -0.1], 1);
        out.gains = Blocks::from_vec(vec![0.5; 2 * nx], nx);
        match fault {
            Fault::None => {}
            Fault::Error => return Err(SolveError("injected".into())),
            Fault::NotANumber => out.controls.as_mut_slice()[0] = f64::NAN,
            Fault::Infinite => out.states.as_mut_slice()[2] = f64::INFINITY,
            Fault::Huge => out.controls.as_mut_slice().fill(1e300),
            Fault::WrongSize => out.controls = Blocks::from_vec(vec![0.0; 4], 2),
            Fault::Empty => *out = Trajectory::default(),
            Fault::TimesReversed => out.times.reverse(),
            Fault::Stale => out.times = vec![time - 1.0, time - 0.9, time - 0.8],
            Fault::Panic => panic!("injected"),
            Fault::Slow(budgets) => self.clock.work(self.budget * budgets),
        }
        Ok(())
    }
}

/// A controller with a solver that fails as `fault` says, in virtual time.
pub(crate) fn faulty<F>(plan: &PlanFile, max_fallbacks: usize, fault: F) -> (Controller, Virtual)
where
    F: FnMut(f64, Option<&Trajectory>) -> Fault + Send + 'static,
{
    let clock = Virtual::default();
    let settings = Settings { max_fallbacks, ..Settings::of(plan) };
    let solver = Faulty { fault, clock: clock.clone(), budget: settings.budget };
    let timed = Simulated::new(reference(plan, 0).unwrap(), solver, clock.clone());
    let controller = Controller::new(plan, 0).unwrap().with_solver(Box::new(timed)).with_settings(settings);
    (controller, clock)
}

/// Mostly sensible, sometimes a spike or not a number.
fn random_state(rng: &mut Rng) -> [f64; 2] {
    let spike = match rng.below(20) {
        0 => f64::NAN,
        1 => 1e6,
        2 => f64::NEG_INFINITY,
        3 => 1e308,
        _ => 0.0,
    };
    [rng.normal() + spike, rng.normal()]
}

/// Mostly one period later, sometimes anything.
fn random_time(rng: &mut Rng, time: f64, period: f64) -> f64 {
    match rng.below(50) {
        0 => time - period * rng.unit(),
        1 if rng.below(4) == 0 => f64::NAN,
        2 => time,
        3 => time + 5.0 * period * rng.unit(),
        _ => time + period,
    }
}

/// Silent panics, for those that are meant.
pub(crate) fn quietly<T>(run: impl FnOnce() -> T) -> T {
    std::panic::set_hook(Box::new(|info| {
        let word = info.payload().downcast_ref::<&str>().copied();
        if word != Some("injected") {
            eprintln!("{info}");
        }
    }));
    run()
}

/// Limits of a control, and of its rate.
const LIMITS: [(f64, f64, Option<f64>); 8] = [
    (-0.5, 0.5, None),
    (-0.5, 0.5, Some(3.0)),
    (0.0, 0.0, Some(1.0)),
    (0.2, 0.2, None),
    (-1e-300, 1e-300, Some(1e-300)),
    (f64::NEG_INFINITY, 0.4, Some(2.0)),
    (-0.3, f64::INFINITY, None),
    (f64::NEG_INFINITY, f64::INFINITY, Some(0.0)),
];

/// The time that counts as passed at a step, by the rule that is declared for rate limits.
pub(crate) fn elapsed(period: f64, stamp: Option<f64>, time: f64) -> f64 {
    match stamp {
        Some(stamp) if time.is_finite() && time > stamp => (time - stamp).min(MAX_PERIODS * period),
        _ => period,
    }
}

/// Runs `steps` steps, as many for each of the limits; returns how often each level was used.
fn inject(steps: usize, seed: u64) -> [usize; 4] {
    let plan = support::plan_file("pendulum", 50);
    let mut levels = [0; 4];
    for (number, (lower, upper, rate)) in LIMITS.into_iter().enumerate() {
        let mut plan = plan.clone();
        let end = |v: f64| v.is_finite().then_some(v);
        plan.limits = Limits {
            lower: vec![end(lower)],
            upper: vec![end(upper)],
            max_rate: rate.map(|r| vec![Some(r)]),
        };
        plan.safe_control = vec![0.0_f64.clamp(lower, upper)];
        let mut faults = Stream::root(seed).child("faults").index(number).rng();
        // Stretches of failures and of health.
        let mut sick = false;
        let fault = move |_: f64, _: Option<&Trajectory>| {
            sick = if faults.below(20) == 0 { !sick } else { sick };
            if sick || faults.below(4) == 0 { FAULTS[faults.below(FAULTS.len())] } else { Fault::None }
        };
        let (mut controller, clock) = faulty(&plan, usize::MAX, fault);
        let mut rng = Stream::root(seed).child("states").index(number).rng();
        let safe = plan.safe_control[0];
        let (mut time, mut stamp, mut last, mut u) = (0.0, None, safe, [0.0]);
        for step in 0..steps / LIMITS.len() {
            time = random_time(&mut rng, time, plan.period);
            let begin = clock.now();
            let status = controller.step(time, &random_state(&mut rng), &mut u);
            let took = clock.now().saturating_sub(begin);
            let case = format!("limits {number}, step {step}, t = {time}, {status:?}: {u:?} after {last:?}");
            assert!(took <= Settings::of(&plan).budget, "{case}: {took:?}");
            assert!(u[0].is_finite() && u[0] >= lower && u[0] <= upper, "{case}");
            let room = rate.map_or(f64::INFINITY, |rate| rate * elapsed(plan.period, stamp, time));
            let rounding = 1e-15 * last.abs().max(1.0);
            assert!((u[0] - last).abs() <= room + rounding, "{case}: {room}");
            if status.level == FallbackLevel::Safe {
                let left = ((last - safe).abs() - room).max(0.0);
                assert!((u[0] - safe).abs() <= left + rounding, "{case}: {left} may be left");
            }
            last = u[0];
            clock.advance(Duration::from_secs_f64(plan.period).saturating_sub(took));
            if time.is_finite() {
                stamp = Some(time);
            }
            if !time.is_finite() || time > plan.horizon + 0.5 {
                time = stamp.unwrap_or(0.0).max(0.0);
            }
            if time > plan.horizon + 0.2 {
                for (sum, count) in levels.iter_mut().zip(controller.counts().levels) {
                    *sum += count;
                }
                controller.reset();
                (time, stamp, last) = (-0.1, None, safe);
            }
        }
    }
    levels
}

#[test]
fn no_fault_of_a_solver_reaches_the_plant() {
    let levels = quietly(|| inject(10_000, 8));
    assert!(levels.iter().all(|r| *r > 200), "{levels:?}");
}

#[test]
#[ignore = "slow: a million steps"]
#[expect(clippy::print_stdout, reason = "its figures are wanted")]
fn no_fault_of_a_solver_reaches_the_plant_in_a_million_steps() {
    let levels = quietly(|| inject(1_000_000, 9));
    println!("fresh, shifted, planned, safe: {levels:?}");
}
