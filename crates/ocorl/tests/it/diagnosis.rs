//! Bad data: named, set aside or corrected; clean data: nothing is changed.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::diagnosis::{Cause, Column, Treatment, estimate_noise};
use ocorl::explore::excitation;
use ocorl::learn::{Diagnosis, Learner, Settings};
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{self, GaussianProcess, StatisticalModel};
use ocorl::plant::{Plant, Reading, Rollout, RolloutResult, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::system::{Benchmark, Bounds, Dims, Dynamics, FirstControl, KnownSystem, Task};
use std::sync::Arc;

/// What a disturbance does with the readings of an episode.
type Disturb<'a> = &'a dyn Fn(usize, &mut Vec<Reading>);

/// Dynamics whose control acts with a gain.
struct Gain(Box<dyn Dynamics>, f64);

impl Dynamics for Gain {
    fn dims(&self) -> Dims {
        self.0.dims()
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let mut points = z.as_slice().to_vec();
        for point in points.chunks_exact_mut(z.dim()) {
            point[2] *= self.1;
        }
        self.0.derivative(Points::new(&points, z.dim()), out);
    }

    fn linearize(&mut self, _z: Points<'_>, _out: &mut ocorl::linalg::Linearization) {
        unreachable!("a plant is only simulated")
    }
}

struct Lab<'a> {
    system: KnownSystem,
    learner: Learner,
    disturb: Disturb<'a>,
    gain: fn(usize) -> f64,
    noise: f64,
}

impl<'a> Lab<'a> {
    fn new(robust: bool, disturb: Disturb<'a>) -> Self {
        let task = Benchmark::find("pendulum").unwrap().task;
        let limited = Task { control_bounds: Bounds::symmetric([4.0]), ..task };
        Lab::excited(robust, disturb, excitation(&limited))
    }

    fn excited(robust: bool, disturb: Disturb<'a>, first: FirstControl) -> Self {
        let mut system = Benchmark::find("pendulum").unwrap();
        system.task.control_bounds = Bounds::symmetric([4.0]);
        let mut settings = Settings::for_system(&system);
        settings.model.robust = robust;
        settings.plan.intervals = 60;
        settings.plan.random_starts = 1;
        settings.track.period = 0.1;
        let task = system.task.clone();
        let learner = Learner::new(task, first, settings, Stream::root(3)).unwrap();
        Lab { system, learner, disturb, gain: |_| 1.0, noise: 1.0 }
    }

    /// Runs one episode and returns its cost.
    fn episode(&mut self) -> f64 {
        let number = self.learner.episode();
        let mut task = self.system.task.clone();
        task.noise_std.iter_mut().for_each(|s| *s *= self.noise);
        let dynamics = Box::new(Gain(self.system.dynamics(), (self.gain)(number)));
        let mut plant = SimulatedPlant::new(task, dynamics, Stream::root(3));
        let mut proposal = self.learner.propose(&mut ());
        let run = |rollout: &mut Rollout| plant.run(rollout);
        let mut results: Vec<RolloutResult> = proposal.rollouts.iter_mut().map(run).collect();
        (self.disturb)(number, &mut results[0].readings);
        self.learner.observe(&results, &mut ());
        results[0].cost
    }

    fn episodes(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.episode()).collect()
    }

    fn diagnosis(&self) -> &Diagnosis {
        self.learner.diagnosis()
    }
}

/// Multiplies the derivatives of one row.
fn spike(episode: usize) -> impl Fn(usize, &mut Vec<Reading>) {
    move |n, readings| {
        if n == episode {
            readings[4].derivative.iter_mut().flatten().for_each(|d| *d *= 1000.0);
        }
    }
}

#[test]
fn clean_data_give_the_same_plans_bit_for_bit() {
    let none = |_: usize, _: &mut Vec<Reading>| ();
    let (mut robust, mut plain) = (Lab::new(true, &none), Lab::new(false, &none));
    let costs = |lab: &mut Lab<'_>| lab.episodes(4).iter().map(|c| c.to_bits()).collect::<Vec<_>>();
    assert_eq!(costs(&mut robust), costs(&mut plain));
    assert!(robust.diagnosis().is_clean(), "{:?}", robust.diagnosis());
}

#[test]
fn an_episode_far_from_the_data_is_ignorance_not_a_wrong_unit() {
    // The excitation hardly moves the pendulum: the derivatives of the next episodes are ten times larger.
    let none = |_: usize, _: &mut Vec<Reading>| ();
    let mut lab = Lab::excited(true, &none, Arc::new(|t, _: &[f64], u: &mut [f64]| u[0] = 0.01 * t.sin()));
    for _ in 0..4 {
        lab.episode();
        assert!(lab.diagnosis().is_clean(), "{:?}", lab.diagnosis());
    }
}

#[test]
fn one_wrong_row_is_set_aside_in_the_first_episode_and_in_a_later_one() {
    for wrong in [0, 1] {
        let disturb = spike(wrong);
        let mut lab = Lab::new(true, &disturb);
        let costs = lab.episodes(4);
        let [verdict] = lab.diagnosis().set_aside[..] else { panic!("{:?}", lab.diagnosis()) };
        assert_eq!((verdict.episode, verdict.weight), (wrong, 0.0));
        assert!(verdict.deviation > 100.0, "{verdict:?}");
        assert!(costs[3] < 22.0, "{costs:?}");
        assert_eq!(lab.learner.data().len(), 39);
    }
}

#[test]
fn a_wrong_sign_of_the_control_is_corrected_from_the_first_episode_on() {
    let disturb = |_: usize, readings: &mut Vec<Reading>| {
        for r in &mut *readings {
            r.control[0] *= -1.0;
        }
    };
    let mut lab = Lab::new(true, &disturb);
    for _ in 0..3 {
        lab.episode();
        let finding = lab.diagnosis().findings[0];
        assert_eq!(finding.cause, Cause::Scaled { column: Column::Control(0), factor: -1.0 });
        assert_eq!(finding.treatment, Treatment::Corrected);
    }
    assert!(lab.episode() < 22.0);
}

#[test]
fn a_changed_gain_is_estimated_and_earlier_rows_are_converted() {
    let none = |_: usize, _: &mut Vec<Reading>| ();
    let mut lab = Lab::new(true, &none);
    lab.gain = |n| if n < 4 { 1.0 } else { 0.7 };
    lab.episodes(5);
    let gain = lab.diagnosis().findings.iter().find_map(|f| match f.cause {
        Cause::GainChanged { control: 0, factor } => Some(factor),
        _ => None,
    });
    assert!((gain.unwrap() - 0.7).abs() < 0.02, "{:?}", lab.diagnosis());
    lab.episode();
    assert!(lab.diagnosis().findings.is_empty(), "resolved: {:?}", lab.diagnosis());
}

#[test]
fn flipped_and_stuck_columns_are_named() {
    let flipped = |n: usize, readings: &mut Vec<Reading>| {
        if n == 3 {
            readings.iter_mut().flat_map(|r| r.derivative.iter_mut().flatten()).for_each(|d| *d *= -1.0);
        }
    };
    let mut lab = Lab::new(true, &flipped);
    lab.episodes(4);
    let cause = lab.diagnosis().findings[0].cause;
    assert_eq!(cause, Cause::Scaled { column: Column::Derivatives, factor: -1.0 });

    let stuck = |n: usize, readings: &mut Vec<Reading>| {
        if n == 2 {
            let held = readings[0].derivative.as_ref().unwrap()[1];
            for r in &mut *readings {
                r.derivative.as_mut().unwrap()[1] = held;
            }
        }
    };
    let mut lab = Lab::new(true, &stuck);
    lab.episodes(3);
    let finding = lab.diagnosis().findings[0];
    assert_eq!(finding.cause, Cause::Stuck { column: Column::Derivative(1) });
    assert_eq!((finding.treatment, finding.rows), (Treatment::SetAside, 10));
    assert_eq!(lab.learner.data().len(), 20);
}

#[test]
fn noise_far_above_the_declared_one_is_estimated() {
    let none = |_: usize, _: &mut Vec<Reading>| ();
    let mut lab = Lab::new(true, &none);
    lab.noise = 10.0;
    lab.episodes(2);
    let factors = &lab.diagnosis().noise_factor;
    assert!(factors.len() == 2 && factors.iter().any(|f| (5.0..20.0).contains(f)), "{factors:?}");
    lab.episodes(3);
    let factors = &lab.diagnosis().noise_factor;
    assert!(factors.iter().all(|f| (6.0..15.0).contains(f)), "{factors:?}");
}

/// Data of ẋ = 2 sin x + u with a factor on the declared noise of 0.01.
fn noisy(factor: f64) -> Measurements {
    let mut data = Measurements::new(Dims { state: 1, control: 1 });
    let mut rng = Stream::root(5).rng();
    for i in 0..40 {
        let (x, u) = (6.0 * rng.unit() - 3.0, 2.0 * rng.unit() - 1.0);
        let y = 2.0 * x.sin() + u + 0.01 * factor * rng.normal();
        data.push(f64::from(u32::try_from(i).unwrap()), &[x], &[u], &[y], &[0.01]).unwrap();
    }
    data
}

#[test]
fn the_noise_of_a_known_function_is_estimated() {
    let estimate = |data: &Measurements| {
        let mut model = GaussianProcess::new(data.dims(), &[], model::Settings::default()).unwrap();
        model.update(data).unwrap();
        model.train(Stream::root(1)).unwrap();
        estimate_noise(&model, data, Stream::root(2)).unwrap()
    };
    assert!(estimate(&noisy(1.0)).is_none(), "the declared noise is right");
    let raised = estimate(&noisy(8.0)).unwrap();
    // The standard deviation of 40 samples is known to 11 %; the function takes a few of them.
    assert!((5.5..10.5).contains(&raised.factor[0]) && raised.tails.is_empty(), "{:?}", raised.factor);
}

#[test]
fn heavy_tails_of_the_noise_hardly_disturb_learning() {
    let disturb = |n: usize, readings: &mut Vec<Reading>| {
        let mut rng = Stream::root(8).index(n).rng();
        for value in readings.iter_mut().flat_map(|r| r.derivative.iter_mut().flatten()) {
            let (hit, a, b) = (rng.unit() < 0.2, rng.normal(), rng.normal());
            *value += if hit { 0.03 * a / b } else { 0.0 };
        }
    };
    let mut lab = Lab::new(true, &disturb);
    let costs = lab.episodes(5);
    assert!(costs[3..].iter().all(|cost| *cost < 20.6), "{costs:?}");
    let diagnosis = lab.diagnosis();
    assert!(diagnosis.reduced.iter().all(|v| 0.0 < v.weight && v.weight < 0.1), "{diagnosis:?}");
    assert!(!diagnosis.reduced.is_empty() || !diagnosis.set_aside.is_empty(), "{diagnosis:?}");
}

#[test]
fn trusted_rows_are_never_set_aside() {
    let disturb = spike(1);
    let mut lab = Lab::new(true, &disturb);
    lab.episode();
    let time = lab.learner.propose(&mut ()).rollouts[0].schedule.known()[4];
    lab.learner.trust(vec![(1, 0, time)]);
    lab.episode();
    assert!(lab.diagnosis().set_aside.is_empty());
    assert_eq!(lab.learner.data().len(), 20);
}
