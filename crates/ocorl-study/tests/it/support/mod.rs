//! Plans and models to try a controller with. Used by tests and by benches, also of other crates.

#![allow(dead_code, clippy::unwrap_used, reason = "each user needs a part; helpers of tests")]

use ocorl::explore::MeanModel;
use ocorl::learn::Settings as LearnSettings;
use ocorl::linalg::{Blocks, Points};
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Settings, StatisticalModel};
use ocorl::plan::{Ilqr, Problem, Start, Transcription, uniform_grid};
use ocorl::random::Stream;
use ocorl::system::{Benchmark, Dynamics};
use ocorl::track::{MpcSettings, MpcSolver, Reference, Solver};
use ocorl_study::control::{ITERATIONS, Maker};
use ocorl_study::plan_file::{FORMAT, Limits, Named, PlanFile, RolloutTable, VERSION};
use std::sync::Arc;

/// The best plan on the true equations, as a file.
pub(crate) fn plan_file(name: &str, intervals: usize) -> PlanFile {
    let b = Benchmark::find(name).unwrap();
    let times = uniform_grid(b.task.horizon, intervals);
    let problem = Problem::of(&b.task, &times);
    let start = Start::constant(&b.task.safe_control, intervals);
    let plan = Ilqr::default().plan(b.dynamics().as_mut(), &problem, start.guess()).unwrap();
    let r = Reference::new(plan, b.dynamics().as_mut(), &b.task.angles);
    let (nx, rows) = (b.dims().state, |b: &Blocks| b.iter().map(<[f64]>::to_vec).collect::<Vec<_>>());
    let named = |q: &[ocorl::system::Quantity]| q.iter().map(Named::from).collect();
    let rollout = RolloutTable {
        start: 0,
        initial_state: b.task.initial_state.clone(),
        times: r.plan.times.clone(),
        states: rows(&r.plan.states),
        slopes: r.slopes.iter().map(|s| [s[..nx].to_vec(), s[nx..].to_vec()]).collect(),
        controls: rows(&r.plan.controls),
        gains: r.plan.gains.iter().map(|k| k.chunks(nx).map(<[f64]>::to_vec).collect()).collect(),
        tube: None,
        brake: None,
        measure_at: (1..=10).map(|i| 0.0987 * f64::from(i) * b.task.horizon).collect(),
        rule: None,
        planned_cost: Some(r.plan.cost),
        mean_cost: None,
    };
    PlanFile {
        format: FORMAT.into(),
        version: VERSION,
        study: "test".into(),
        system: name.into(),
        episode: 1,
        states: named(&b.task.states),
        controls: named(&b.task.controls),
        angles: b.task.angles.iter().map(|&a| b.task.states[a].name.clone()).collect(),
        horizon: b.task.horizon,
        valid_for: b.task.horizon,
        period: 0.02,
        limits: Limits::new(&b.task.control_bounds, None),
        state_limits: None,
        safe_control: b.task.safe_control.clone(),
        backup: None,
        rollouts: vec![rollout],
        learner: None,
    }
}

/// A trained Gaussian process with `count` points around the plan of `file`.
pub(crate) fn model(file: &PlanFile, count: usize) -> Arc<dyn StatisticalModel> {
    let b = Benchmark::find(&file.system).unwrap();
    let (mut f, mut data) = (b.dynamics(), Measurements::new(b.dims()));
    let (nx, nz) = (b.dims().state, b.dims().point());
    let mut rng = Stream::root(5).child("data").rng();
    let rollout = &file.rollouts[0];
    for i in 0..count {
        let k = i * rollout.controls.len() / count;
        let mut z: Vec<f64> = rollout.states[k].iter().chain(&rollout.controls[k]).copied().collect();
        for z in &mut z {
            *z += 0.2 * rng.normal();
        }
        let mut y = vec![0.0; nx];
        f.derivative(Points::new(&z, nz), &mut y);
        data.push(rollout.times[k], &z[..nx], &z[nx..], &y, &b.task.noise_std).unwrap();
    }
    let mut gp = GaussianProcess::for_task(&b.task, Settings::default()).unwrap();
    gp.update(&data).unwrap();
    gp.train(Stream::root(5)).unwrap();
    Arc::new(gp)
}

/// MPC settings as `ocorl control` has them, on the plan's own period.
pub(crate) fn mpc_settings(file: &PlanFile) -> MpcSettings {
    let b = Benchmark::find(&file.system).unwrap();
    let track = LearnSettings::for_system(&b).track;
    let mut settings = MpcSettings::new(b.dims(), track.horizon);
    settings.period = file.period;
    settings.nodes = (track.nodes > 0).then_some(track.nodes);
    settings.transcription = Transcription::single(track.integrator.into());
    settings.ilqr.max_iterations = track.max_iterations.min(ITERATIONS);
    settings
}

/// Solvers of the learner's kind on the mean of `model`.
pub(crate) fn solvers(file: &PlanFile, model: &Arc<dyn StatisticalModel>) -> Maker {
    let (settings, bounds, model) = (mpc_settings(file), file.limits.bounds(), model.clone());
    Arc::new(move || -> Box<dyn Solver> {
        let dynamics = Box::new(MeanModel::new(model.clone()));
        Box::new(MpcSolver::new(dynamics, settings.clone(), bounds.clone()))
    })
}

/// The true system for one period under a held control, by the classical Runge-Kutta method.
pub(crate) fn advance(f: &mut dyn Dynamics, period: f64, state: &mut [f64], control: &[f64]) {
    let nz = state.len() + control.len();
    let mut slope = |x: &[f64]| {
        let (z, mut y) = ([x, control].concat(), vec![0.0; x.len()]);
        f.derivative(Points::new(&z, nz), &mut y);
        y
    };
    let moved = |k: &[f64], h: f64| -> Vec<f64> { state.iter().zip(k).map(|(x, k)| x + h * k).collect() };
    let a = slope(state);
    let b = slope(&moved(&a, 0.5 * period));
    let c = slope(&moved(&b, 0.5 * period));
    let d = slope(&moved(&c, period));
    for i in 0..state.len() {
        state[i] += period / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
    }
}
