//! What a measurement is worth, against draws of f and against the model that really has been told.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::explore::Exploration;
use ocorl::learn::{Learner, PlannedRollout, Settings};
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{Posterior, Query};
use ocorl::plant::{Plant, RolloutResult, SimulatedPlant};
use ocorl::random::Stream;
use ocorl::simulate::{Experiment, Simulator};
use ocorl::system::{Benchmark, KnownSystem};
use ocorl::theory::worth;
use ocorl::track::{FallbackSettings, Feedback, Reference};

/// A learner after two episodes, and its third plan.
fn learned(b: &KnownSystem) -> (Learner, PlannedRollout) {
    let mut settings = Settings { explore: Exploration::Mean, ..Settings::for_system(b) };
    settings.excitation.scale = 100.0;
    let mut learner =
        Learner::new(b.task.clone(), b.first_control.clone(), settings, Stream::root(2)).unwrap();
    let mut plant = SimulatedPlant::new(b.task.clone(), b.dynamics(), Stream::root(2));
    for _ in 0..2 {
        let mut proposal = learner.propose(&mut ());
        let executed: Vec<RolloutResult> =
            proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        learner.observe(&executed, &mut ());
    }
    let plan = learner.propose(&mut ()).plans.remove(0).unwrap();
    (learner, plan)
}

#[test]
fn the_planned_cost_is_as_uncertain_as_draws_of_f_make_it() {
    let b = Benchmark::find("pendulum").unwrap();
    let (learner, intention) = learned(&b);
    let predicted = worth(learner.model().as_ref(), &b.task, &intention.plan, &[]).unwrap();
    assert_eq!((predicted.after, predicted.after_best), (predicted.before, predicted.before));
    let reference = Reference::with_slopes(intention.plan.clone(), &b.task.angles);
    let costs: Vec<f64> = (0..60)
        .map(|i| {
            let mut f = learner.model().sample(&mut Stream::root(9).index(i).rng());
            let mut policy = Feedback::new(reference.clone(), &FallbackSettings::of(&b.task));
            Simulator::new(1e-5).run(f.as_mut(), &mut policy, &Experiment::of(&b.task)).cost()
        })
        .collect();
    let n = costs.len() as f64;
    let mean = costs.iter().sum::<f64>() / n;
    let std = (costs.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / (n - 1.0)).sqrt();
    // 60 draws tell a standard deviation to 9 %; the rest is what the first order leaves out.
    assert!((predicted.before / std - 1.0).abs() < 0.3, "predicted {}, drawn {std}", predicted.before);
}

#[test]
fn what_is_left_after_measuring_is_what_the_model_says_that_has_measured() {
    let b = Benchmark::find("pendulum").unwrap();
    let (learner, intention) = learned(&b);
    let (model, plan) = (learner.model(), &intention.plan);
    let at = |t: f64| [plan.states.at(plan.interval(t)), plan.controls.at(plan.interval(t))].concat();
    let points: Vec<Vec<f64>> = [0.7, 2.1, 2.9, 4.4, 7.0].map(at).to_vec();
    let predicted = worth(model.as_ref(), &b.task, plan, &points).unwrap();
    // Told exactly what it expects, the model knows more and believes the same.
    let told = |points: &[Vec<f64>]| {
        let (mut data, mut posterior) = (Measurements::new(b.dims()), Posterior::default());
        for z in points {
            model.posterior(Points::single(z), Query::Mean, &mut posterior);
            data.push(0.0, &z[..2], &z[2..], posterior.mean.value.at(0), &b.task.noise_std).unwrap();
        }
        let mut wiser = model.fork();
        wiser.update(&data).unwrap();
        worth(wiser.as_ref(), &b.task, plan, &[]).unwrap().before
    };
    assert!((told(&points) / predicted.after - 1.0).abs() < 1e-3, "{predicted:?} {}", told(&points));
    let best = points.iter().map(|z| told(std::slice::from_ref(z))).fold(f64::INFINITY, f64::min);
    assert!((best / predicted.after_best - 1.0).abs() < 1e-3, "{predicted:?} {best}");
    assert!(predicted.after < predicted.after_best && predicted.after_best < predicted.before);
}
