//! A hundred thousand steps with clocks that jump, stand still, run backwards or are not numbers, with states that are not numbers, lines that cannot
//! be read and solvers that fail: in Rust and in exported C.
//!
//! At every step the control is finite, within its limits and within its rate limit by the rule that `docs/controller.md` declares, and a step that
//! reports the safe level comes as near to the safe control as the rate allows.

use crate::control::export::{compile, parse_hex};
use crate::control::faults::{Fault, elapsed, faulty, quietly};
use crate::support;
use ocorl::random::{Rng, Stream};
use ocorl::simulate::Trajectory;
use ocorl::system::{Backup, Bounds};
use ocorl::track::FallbackLevel;
use ocorl_study::control::{Controller, Session};
use ocorl_study::plan_file::{BrakeTable, Limits, PlanFile, StateLimits};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Steps of each of the two tests.
const STEPS: usize = 100_000;

/// Steps of a run.
const RUN: usize = 200;

/// A clock with faults: stretches in which it goes wrong in one way, among healthy ones.
struct Clock {
    time: f64,
    fault: usize,
}

impl Clock {
    /// A new run begins, somewhere in the plan.
    fn restart(rng: &mut Rng, plan: &PlanFile) -> Self {
        Clock { time: plan.horizon * rng.uniform(-0.02, 0.9), fault: 0 }
    }

    fn tick(&mut self, rng: &mut Rng, plan: &PlanFile) -> f64 {
        let period = plan.period;
        if rng.below(12) == 0 {
            self.fault = if rng.below(2) == 0 { 0 } else { rng.below(9) };
        }
        match self.fault {
            // Stands still.
            1 => return self.time,
            // Runs backwards.
            2 => self.time -= period * rng.unit(),
            // Is not a number.
            3 => return [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][rng.below(3)],
            // One stamp far ahead.
            4 => {
                self.fault = 0;
                self.time += period;
                return self.time + [1.0, 1e3, 1e300][rng.below(3)] * rng.unit();
            }
            // Restarts.
            5 => (self.time, self.fault) = (0.0, 0),
            // Jumps ahead and stays there.
            6 => (self.time, self.fault) = (self.time + 10.0 * period * rng.unit(), 0),
            // Is fast, or hardly moves.
            7 => self.time += period * 1e-3,
            8 => self.time += period * 4.0 * rng.unit(),
            _ => self.time += period * rng.uniform(0.8, 1.2),
        }
        self.time
    }
}

/// Near the plan, wrapped, far away, not a number. Where the states are limited they are seldom far away, since that ends the pursuit.
fn random_state(rng: &mut Rng, plan: &PlanFile, time: f64, lost: &mut bool) -> Vec<f64> {
    let rollout = &plan.rollouts[0];
    let near = rollout.times.partition_point(|node| *node <= time).min(rollout.controls.len());
    let limited = plan.state_limits.is_some() && rng.below(40) > 0;
    let scale = if limited { 0.01 } else { [0.01, 0.01, 0.01, 0.3, 10.0, 1e300][rng.below(6)] };
    let mut x: Vec<f64> = rollout.states[near].iter().map(|x| x + scale * rng.normal()).collect();
    // A whole turn leaves the limits.
    for a in plan.angle_indices().into_iter().filter(|_| plan.state_limits.is_none()) {
        x[a] += (rng.below(5) as f64 - 2.0) * std::f64::consts::TAU;
    }
    *lost = if *lost { rng.below(3) > 0 } else { rng.below(15) == 0 };
    if *lost {
        let at = rng.below(x.len());
        x[at] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][rng.below(3)];
    }
    x
}

/// What must hold at each step of a run.
struct Rule {
    lower: Vec<f64>,
    upper: Vec<f64>,
    safe: Vec<f64>,
    rates: Vec<f64>,
    period: f64,
    stamp: Option<f64>,
    last: Vec<f64>,
    /// Limits of the states; whether a backup controller replaces the safe control; whether a state of this run was outside.
    states: Bounds,
    backup: bool,
    outside: bool,
    /// Steps after a state was outside.
    forbidden: usize,
    /// Steps with the safe level, and of those the ones at the safe control.
    safe_steps: usize,
    at_safe: usize,
}

impl Rule {
    fn new(plan: &PlanFile) -> Self {
        let (bounds, safe) = (plan.limits.bounds(), plan.safe_control.clone());
        let limit = plan.limits.rate_limit(plan.period);
        let rates = limit.map_or_else(|| vec![f64::INFINITY; safe.len()], |limit| limit.max_rate);
        let (last, period) = (safe.clone(), plan.period);
        Rule {
            lower: bounds.lower,
            upper: bounds.upper,
            safe,
            rates,
            period,
            stamp: None,
            last,
            states: plan.state_bounds(),
            backup: plan.backup.is_some(),
            outside: false,
            forbidden: 0,
            safe_steps: 0,
            at_safe: 0,
        }
    }

    fn restart(&mut self) {
        (self.stamp, self.outside) = (None, false);
        self.last.copy_from_slice(&self.safe);
    }

    /// The controller is told the state `x`.
    fn see(&mut self, x: &[f64]) {
        let out = |i: usize| x[i] < self.states.lower[i] - 1e-6 || x[i] > self.states.upper[i] + 1e-6;
        self.outside |= x.iter().all(|x| x.is_finite()) && (0..x.len()).any(out);
    }

    /// A step with time stamp `time` gave `u`, and said that it is safe, or not.
    fn check(&mut self, time: f64, u: &[f64], is_safe: bool, case: &dyn Fn() -> String) {
        assert!(is_safe || !self.outside, "a healthy level after a state outside the limits: {}", case());
        self.forbidden += usize::from(self.outside);
        let elapsed = elapsed(self.period, self.stamp, time);
        for (j, &u) in u.iter().enumerate() {
            assert!(u.is_finite() && u >= self.lower[j] && u <= self.upper[j], "{u}: {}", case());
            let (room, rounding) = (self.rates[j] * elapsed, 1e-14 * (1.0 + u.abs() + self.last[j].abs()));
            let moved = (u - self.last[j]).abs();
            assert!(moved <= room + rounding, "{u} after {} in {elapsed}: {}", self.last[j], case());
            let left = ((self.last[j] - self.safe[j]).abs() - room).max(0.0);
            let off = (u - self.safe[j]).abs();
            assert!(
                !is_safe || self.backup || off <= left + rounding,
                "{u} after {}: {}",
                self.last[j],
                case()
            );
        }
        self.safe_steps += usize::from(is_safe);
        self.at_safe += usize::from(is_safe && u == self.safe);
        self.last.copy_from_slice(u);
        if time.is_finite() {
            self.stamp = Some(time);
        }
    }
}

/// A quadrotor: two controls, of which one has a rate limit that matters; and a pendulum without one.
fn plans() -> [PlanFile; 3] {
    let mut quadrotor = support::plan_file("quadrotor-2d", 60);
    let safe = quadrotor.safe_control.clone();
    let end = |off: f64| safe.iter().map(|u| Some(u + off)).collect();
    quadrotor.limits = Limits { lower: end(-4.0), upper: end(4.0), max_rate: Some(vec![Some(2.5), None]) };
    let mut pendulum = support::plan_file("pendulum", 60);
    let limits = |max_rate| Limits { lower: vec![Some(-2.0)], upper: vec![Some(3.0)], max_rate };
    pendulum.limits = limits(Some(vec![Some(4.0)]));
    let unlimited = PlanFile { limits: limits(None), ..pendulum.clone() };
    [quadrotor, pendulum, unlimited]
}

/// A pendulum with limits of its states and a tube, with and without a backup controller, and an excitation that stops short of the limits.
fn limited_plans() -> [PlanFile; 3] {
    let [_, pendulum, _] = plans();
    let rollout = &pendulum.rollouts[0];
    let ends =
        |i: usize| rollout.states.iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x[i]), h.max(x[i])));
    let both: Vec<(f64, f64)> = (0..2).map(ends).collect();
    let limits = Bounds {
        lower: both.iter().map(|(low, _)| low - 0.2).collect(),
        upper: both.iter().map(|(_, high)| high + 0.3).collect(),
    };
    let mut limited = PlanFile { state_limits: StateLimits::new(&limits), ..pendulum };
    let nodes = 0..limited.rollouts[0].times.len();
    limited.rollouts[0].tube = Some(nodes.map(|k| vec![1.5 + 1e-2 * k as f64, 8.0]).collect());
    let backup = Backup { state: vec![0.1, 0.0], control: vec![0.3], gains: vec![vec![-7.0, -1.5]] };
    let with_backup = PlanFile { backup: Some(backup), ..limited.clone() };
    let mut excited = limited.clone();
    excited.rollouts[0].tube = None;
    excited.rollouts[0].brake = Some(BrakeTable { ahead: 0.05, margin: 0.02 });
    [limited, with_backup, excited]
}

/// One of the limited plans with random limits, tube, backup controller and look-ahead, with or without a rate limit.
fn random_plan(rng: &mut Rng) -> PlanFile {
    let [limited, ..] = limited_plans();
    let bounds = limited.state_bounds();
    let off = |end: f64, rng: &mut Rng| end + 0.3 * rng.normal();
    let lower: Vec<f64> = bounds.lower.iter().map(|end| off(*end, rng)).collect();
    let upper = bounds.upper.iter().zip(&lower).map(|(end, low)| off(*end, rng).max(low + 0.1)).collect();
    let mut plan = PlanFile { state_limits: StateLimits::new(&Bounds { lower, upper }), ..limited };
    plan.limits.max_rate = (rng.below(2) == 0).then(|| vec![Some(rng.uniform(0.1, 20.0))]);
    plan.backup = (rng.below(2) == 0).then(|| Backup {
        state: vec![rng.normal(), rng.normal()],
        control: vec![rng.normal()],
        gains: vec![vec![10.0 * rng.normal(), 10.0 * rng.normal()]],
    });
    let width = [rng.uniform(0.01, 3.0), rng.uniform(0.1, 10.0)];
    plan.rollouts[0].tube = (rng.below(2) == 0).then(|| vec![width.to_vec(); plan.rollouts[0].times.len()]);
    if plan.rollouts[0].tube.is_none() {
        plan.rollouts[0].brake =
            Some(BrakeTable { ahead: rng.uniform(0.01, 1.0), margin: rng.uniform(0.0, 0.3) });
    }
    plan
}

#[test]
fn steps_of_random_plans() {
    random_plans(4, 1_000);
}

#[test]
#[ignore = "slow: a million steps in Rust, and as many in C"]
fn a_million_steps_of_random_plans() {
    random_plans(50, 20_000);
}

/// Each of `count` random plans for this number of steps, in Rust and in C.
#[expect(clippy::print_stdout, reason = "its figures are wanted")]
fn random_plans(count: usize, each: usize) {
    let mut forbidden = [0; 2];
    for number in 0..count {
        let plan = random_plan(&mut Stream::root(19).child("plans").index(number).rng());
        quietly(|| forbidden[0] += steps(&plan, each, 20 + number).rule.forbidden);
        forbidden[1] += compare(&plan, each, 20 + number).rule.forbidden;
    }
    println!("{} steps each; after a state outside the limits: {forbidden:?}", count * each);
    assert!(forbidden.iter().all(|steps| *steps > count * each / 10), "{forbidden:?}");
}

#[test]
fn a_hundred_thousand_steps_in_rust() {
    let [_, pendulum, unlimited] = plans();
    quietly(|| {
        for (number, plan) in [pendulum, unlimited].iter().enumerate() {
            steps(plan, STEPS / 2, number).check(plan, STEPS / 2);
        }
    });
}

#[test]
fn a_hundred_thousand_steps_within_state_limits_in_rust() {
    within_limits_in_rust(STEPS);
}

#[test]
#[ignore = "slow: a million steps"]
fn a_million_steps_within_state_limits() {
    within_limits_in_rust(10 * STEPS);
    within_limits_in_c(10 * STEPS);
}

fn within_limits_in_rust(count: usize) {
    quietly(|| {
        for (number, plan) in limited_plans().iter().enumerate() {
            steps(plan, count / 3, 10 + number).check(plan, count / 3);
        }
    });
}

/// What happened in many steps.
struct Tally {
    rule: Rule,
    /// Number of steps at each level; in C those that followed the plan, and the others.
    levels: Vec<usize>,
}

impl Tally {
    /// Checks that every level occurred, and that states were outside the limits.
    fn check(&self, plan: &PlanFile, count: usize) {
        let Tally { rule, levels } = self;
        if let [followed, _] = levels[..] {
            assert!((count / 20..count * 9 / 10).contains(&followed), "{followed} of {count}");
        }
        let least = levels.iter().sum::<usize>() / 100;
        assert!(levels.iter().all(|count| *count > least), "{levels:?}");
        assert!(rule.backup || rule.at_safe > rule.safe_steps / 4, "{} of {}", rule.at_safe, rule.safe_steps);
        assert!(plan.state_limits.is_none() || rule.forbidden > count / 10, "{} of {count}", rule.forbidden);
    }
}

/// Steps of a controller with a solver, in lines: states, lines that cannot be read, silence.
fn steps(plan: &PlanFile, count: usize, number: usize) -> Tally {
    const FAULTS: [Fault; 6] =
        [Fault::Error, Fault::NotANumber, Fault::Huge, Fault::Stale, Fault::Panic, Fault::Slow(3)];
    let stream = Stream::root(17).child("fuzz").index(number);
    let mut rule = Rule::new(plan);
    let mut levels = vec![0; 4];
    for run in 0..count / RUN {
        let mut rng = stream.child("steps").index(run).rng();
        let (mut faults, mut sick) = (stream.child("solver").index(run).rng(), false);
        let fault = move |_: f64, _: Option<&Trajectory>| {
            sick = if faults.below(15) == 0 { !sick } else { sick };
            if sick { FAULTS[faults.below(FAULTS.len())] } else { Fault::None }
        };
        let (controller, wall) = faulty(plan, 10 + 1000 * (run % 2), fault);
        let watchdog = Duration::from_secs_f64(3.0 * plan.period);
        let mut session = Session::new(plan, 0, controller, wall.clone(), watchdog).unwrap();
        let (mut clock, mut lost, mut out) = (Clock::restart(&mut rng, plan), false, String::new());
        rule.restart();
        for step in 0..RUN {
            out.clear();
            let time = clock.tick(&mut rng, plan);
            let x = random_state(&mut rng, plan, time, &mut lost);
            let kind = rng.below(40);
            if kind == 0 {
                wall.advance(4 * watchdog);
                session.idle(&mut out);
            } else if kind == 1 || !time.is_finite() {
                session.line(b"{ nonsense", &mut out);
            } else {
                rule.see(&x);
                let x: Vec<String> =
                    x.iter().map(|x| if x.is_finite() { format!("{x:?}") } else { "null".into() }).collect();
                session.line(format!(r#"{{"t": {time:?}, "x": [{}]}}"#, x.join(",")).as_bytes(), &mut out);
            }
            if !out.is_empty() {
                let event = session.event();
                let case = || format!("run {run}, step {step}: {out}");
                let is_safe = event.status.level == FallbackLevel::Safe;
                rule.check(event.time, session.control(), is_safe, &case);
            }
            wall.advance(Duration::from_secs_f64(plan.period * rng.uniform(0.5, 1.5)));
        }
        let counts = session.controller().counts().levels;
        levels.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    Tally { rule, levels }
}

#[test]
fn a_hundred_thousand_steps_within_state_limits_in_c_are_those_of_the_follower() {
    within_limits_in_c(STEPS);
}

fn within_limits_in_c(count: usize) {
    for (number, plan) in limited_plans().iter().enumerate() {
        compare(plan, count / 3, 10 + number).check(plan, count / 3);
    }
}

#[test]
fn a_hundred_thousand_steps_in_c_are_those_of_the_follower() {
    for (number, plan) in plans().iter().enumerate() {
        compare(plan, STEPS / 3 + 1, number).check(plan, STEPS / 3 + 1);
    }
}

/// Runs `count` steps of the exported C, checks them, and compares each with the controller's, to the last bit.
fn compare(plan: &PlanFile, count: usize, number: usize) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(plan, DRIVER, folder.path());
    let mut rng = Stream::root(18).child("fuzz").index(number).rng();
    let (mut clock, mut lost) = (Clock { time: 0.0, fault: 0 }, false);
    let (mut cases, mut input) = (Vec::new(), String::new());
    for i in 0..count {
        if i.is_multiple_of(RUN) {
            clock = Clock::restart(&mut rng, plan);
        }
        let time = clock.tick(&mut rng, plan);
        let x = random_state(&mut rng, plan, time, &mut lost);
        for v in std::iter::once(&time).chain(&x) {
            let _ = write!(input, "{:x} ", v.to_bits());
        }
        input.push('\n');
        cases.push((time, x));
    }
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), count);
    let mut controller = Controller::new(plan, 0).unwrap();
    let (mut rule, mut ours) = (Rule::new(plan), plan.safe_control.clone());
    let mut followed = 0;
    for (i, (line, (time, x))) in text.lines().zip(&cases).enumerate() {
        if i.is_multiple_of(RUN) {
            controller.reset();
            rule.restart();
        }
        let words: Vec<&str> = line.split(' ').collect();
        let theirs: Vec<f64> = words[..ours.len()].iter().map(|word| parse_hex(word)).collect();
        let is_safe = words[ours.len()] == "0";
        rule.see(x);
        let status = controller.step(*time, x, &mut ours);
        let case = || format!("{} step {i}, t = {time}, x = {x:?}: {line} {status:?}", plan.system);
        rule.check(*time, &theirs, is_safe, &case);
        assert_eq!(ours, theirs, "{}", case());
        assert_eq!(is_safe, status.level == FallbackLevel::Safe, "{}", case());
        followed += usize::from(!is_safe);
    }
    Tally { rule, levels: vec![followed, count - followed] }
}

/// Reads t and x as hexadecimal bits, writes the control of each step and whether the plan was followed.
const DRIVER: &str = r#"
#include "ocorl_controller.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
static int number(double *v)
{
    uint64_t bits;
    if (scanf("%" SCNx64, &bits) != 1) return 0;
    memcpy(v, &bits, sizeof bits);
    return 1;
}
int main(void)
{
    double t, x[OCORL_STATES], u[OCORL_CONTROLS];
    ocorl_controller c;
    int i, followed, n;
    for (n = 0; number(&t); n++) {
        if (n % 200 == 0) ocorl_init(&c);
        for (i = 0; i < OCORL_STATES; i++) if (!number(&x[i])) return 1;
        followed = ocorl_step(&c, t, x, u);
        for (i = 0; i < OCORL_CONTROLS; i++) printf("%a ", u[i]);
        printf("%d\n", followed);
    }
    return 0;
}
"#;
