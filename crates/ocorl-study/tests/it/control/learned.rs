//! What a controller takes from the learner in its plan: solvers on the model, the observer, the rule for measurement times.

use crate::support::advance;
use ocorl::learn::{MeasurementKind, Settings as LearnSettings, Strategy};
use ocorl::system::Benchmark;
use ocorl::track::FallbackLevel;
use ocorl_study::control::{self, Controller, Deadline, Effort, ITERATIONS, Session, Settings, Virtual};
use ocorl_study::plan_file::PlanFile;
use ocorl_study::price::Prices;
use ocorl_study::rig::{self, Faults};
use ocorl_study::study::{Study, Telling};
use ocorl_study::system::System;
use std::time::Duration;

/// The plans of episodes 0 and 1 of the pendulum.
fn plans(change: impl FnOnce(&mut LearnSettings)) -> [PlanFile; 2] {
    let folder = tempfile::tempdir().unwrap();
    let system = System::find("pendulum").unwrap();
    let mut settings = LearnSettings { episodes: 2, measurements: 20, ..system.settings.clone() };
    (settings.plan.intervals, settings.plan.random_starts, settings.model.restarts) = (50, 1, 1);
    change(&mut settings);
    let mut study = Study::create(folder.path(), &system, settings, 7, Prices::default()).unwrap();
    let first = study.ask(&mut ()).unwrap().unwrap();
    let measured = rig::run(&system, &first, &Faults::default(), 7).unwrap();
    study.tell(None, measured, "rig", Telling::Whole).unwrap();
    [first, study.ask(&mut ()).unwrap().unwrap()].map(|plan| (*plan).clone())
}

#[test]
fn a_plan_is_solved_again_with_the_model_of_its_learner() {
    let [first, mut planned] = plans(|_| ());
    assert!(control::solvers(&first, ITERATIONS).unwrap().is_none(), "nothing is known yet");
    let make = control::solvers(&planned, ITERATIONS).unwrap().unwrap();
    let deadline = Deadline::new(control::reference(&planned, 0).unwrap(), Effort::default(), make);
    let patient = Settings { budget: Duration::from_secs(60), ..Settings::of(&planned) };
    let mut controller =
        Controller::new(&planned, 0).unwrap().with_solver(Box::new(deadline)).with_settings(patient);
    assert!(controller.warm_up(Duration::from_secs(60)));
    let (x0, mut u) = (planned.rollouts[0].initial_state.clone(), [0.0]);
    let mut at = |theta: f64| {
        controller.reset();
        let x = [x0[0] + theta, x0[1]];
        let status = controller.step(0.0, &x, &mut u);
        assert_eq!(status.level, FallbackLevel::Fresh);
        // The solution begins at the measured state, and its first control is applied.
        let solution = controller.solution().unwrap();
        assert!(solution.states.at(0) == x && solution.controls.at(0) == u, "{solution:?}");
        u[0]
    };
    let (behind, on, ahead) = (at(-0.3), at(0.0), at(0.3));
    assert!(behind != on && on != ahead, "{behind} {on} {ahead}");
    planned.system = "pendulums".into();
    assert!(control::solvers(&planned, ITERATIONS).is_err());
}

#[test]
fn a_controller_that_sees_positions_estimates_the_velocities() {
    let [_, planned] = plans(|settings| {
        (settings.measured, settings.strategy) = (MeasurementKind::States, Strategy::Equidistant);
        settings.states.velocities = vec![[1, 0]];
    });
    let mut controller = Controller::new(&planned, 0).unwrap();
    let x0 = planned.rollouts[0].initial_state.clone();
    assert_eq!(controller.estimate(), Some(&x0[..]));
    let mut truth = Benchmark::find("pendulum").unwrap().dynamics();
    let (mut x, mut u, mut fastest, mut error) = (x0.clone(), [0.0], 0.0_f64, 0.0_f64);
    for k in 0..60 {
        let time = f64::from(k) * planned.period;
        // Every tenth sample is lost.
        let status = if k % 10 == 9 {
            controller.dropout(time, &mut u)
        } else {
            controller.step(time, &[x[0], f64::NAN], &mut u)
        };
        assert_eq!(status.level, FallbackLevel::Planned, "step {k}: {status:?}");
        fastest = fastest.max(x[1].abs());
        error = error.max((controller.estimate().unwrap()[1] - x[1]).abs());
        advance(truth.as_mut(), planned.period, &mut x, &u);
    }
    assert!(fastest > 0.1 && error < 0.2 * fastest, "wrong by {error} at speeds up to {fastest}");
    // A time before the last one gives no estimate, and the next run begins at the initial state.
    let backwards = controller.step(0.0, &[x[0], f64::NAN], &mut u);
    assert_ne!(backwards.reason, None);
    assert!(u[0].is_finite());
    controller.safe(60.0 * planned.period, &mut u);
    assert_eq!(controller.counts().levels.iter().sum::<usize>(), 62);
    controller.reset();
    assert_eq!(controller.estimate(), Some(&x0[..]));
}

#[test]
fn measurement_times_are_decided_from_the_states_of_the_run() {
    let [_, fixed] = plans(|_| ());
    assert!(control::online(&fixed, 0).unwrap().is_none());
    let [_, planned] = plans(|settings| settings.strategy = Strategy::RecedingHorizon);
    let most = planned.rollouts[0].rule.as_ref().unwrap().most;
    let schedule = control::online(&planned, 0).unwrap();
    assert!(schedule.is_some());
    let (controller, clock) = (Controller::new(&planned, 0).unwrap(), Virtual::default());
    let session = Session::new(&planned, 0, controller, clock.clone(), Duration::from_secs(1)).unwrap();
    let mut session = session.deciding(schedule);
    let mut measured = 0;
    for (t, x) in planned.rollouts[0].times.iter().zip(&planned.rollouts[0].states) {
        let mut answer = String::new();
        session.line(format!(r#"{{"t": {t}, "x": {x:?}}}"#).as_bytes(), &mut answer);
        measured += usize::from(answer.contains(r#""measure":true"#));
        assert_eq!(session.state(), x);
    }
    assert!((1..=most).contains(&measured), "{measured} of {most}");
    let mut last = String::new();
    assert!(session.stop(&mut last));
    assert!(last.contains("stopped"), "{last}");
}
