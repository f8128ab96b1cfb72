//! Optimism over constant weights of a linear kernel: one plausible f, chosen with the controls.

#![expect(clippy::print_stdout, reason = "figures of what was tried")]

use ocorl::explore::{Exploration, WeightedModel};
use ocorl::learn::{Episode, LearnError, Settings, Time, Trial};
use ocorl::linalg::{Dims, Linearization, Points};
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Posterior, Query, StatisticalModel, WeightScratch};
use ocorl::plan::{Guess, Ilqr, Problem, uniform_grid};
use ocorl::random::Stream;
use ocorl::simulate::Outcome;
use ocorl::system::{Benchmark, Dynamics, KnownSystem};
use std::sync::Arc;

const KERNELS: [&str; 3] = ["linear", "linear + constant", "constant + linear + linear * linear"];

fn find(name: &str) -> KnownSystem {
    Benchmark::find(name).expect("a benchmark")
}

/// A model of the pendulum with an angle, a few measurements and this kernel.
fn model(kernel: &str, beta: f64) -> (KnownSystem, Arc<dyn StatisticalModel>) {
    let b = find("pendulum");
    let mut settings = Settings::for_system(&b).model;
    (settings.kernel, settings.beta) = (kernel.parse().expect("a kernel"), beta);
    let mut model = GaussianProcess::for_task(&b.task, settings.build()).expect("sound settings");
    let (mut rng, mut f, mut data) = (Stream::root(4).rng(), b.dynamics(), Measurements::new(b.dims()));
    for i in 0..12 {
        let z = [rng.uniform(-3.0, 3.0), rng.uniform(-2.0, 2.0), rng.uniform(-2.0, 2.0)];
        let mut derivative = [0.0; 2];
        f.derivative(Points::single(&z), &mut derivative);
        for d in &mut derivative {
            *d += 0.1 * rng.normal();
        }
        data.push(f64::from(i), &z[..2], &z[2..], &derivative, &[0.1; 2]).expect("finite");
    }
    model.update(&data).expect("sound data");
    model.train(Stream::root(0)).expect("trained");
    (b, Arc::new(model))
}

#[test]
fn features_have_the_length_of_the_standard_deviation() {
    for kernel in KERNELS {
        let (_, model) = model(kernel, 1.0);
        let space = model.weight_space().expect("a linear kernel");
        let (mut rng, mut at, mut scratch) =
            (Stream::root(2).rng(), Posterior::default(), WeightScratch::default());
        let mut psi = vec![0.0; space.len()];
        for _ in 0..50 {
            let z: Vec<f64> = (0..3).map(|_| 2.0 * rng.normal()).collect();
            space.features(&z, &mut psi, &mut scratch);
            model.posterior(Points::single(&z), Query::MeanStd, &mut at);
            let mut rest = psi.as_slice();
            for (count, std) in space.counts().into_iter().zip(at.std.value.at(0)) {
                let (own, others) = rest.split_at(count);
                let length = own.iter().map(|p| p * p).sum::<f64>().sqrt();
                assert!((length - std).abs() < 1e-6 * std, "{kernel}: {length} and {std}");
                rest = others;
            }
        }
    }
    let (_, smooth) = model("rbf + linear", 1.0);
    assert!(smooth.weight_space().is_none());
}

#[test]
fn a_weighted_model_has_the_jacobian_it_says() {
    for kernel in KERNELS {
        let (_, model) = model(kernel, 2.0);
        let space = Arc::new(model.weight_space().expect("a linear kernel"));
        let mut f = WeightedModel::new(model, space.clone());
        let (nz, mut rng) = (3 + space.len(), Stream::root(6).rng());
        assert_eq!(f.dims(), Dims { state: 2, control: 1 + space.len() });
        for _ in 0..10 {
            let z: Vec<f64> = (0..nz).map(|_| rng.normal()).collect();
            let mut linear = Linearization::default();
            f.linearize(Points::single(&z), &mut linear);
            for i in 0..nz {
                let mut value = |h: f64| {
                    let (mut z, mut out) = (z.clone(), [0.0; 2]);
                    z[i] += h;
                    f.derivative(Points::single(&z), &mut out);
                    out
                };
                let (up, down) = (value(1e-5), value(-1e-5));
                for j in 0..2 {
                    let (slope, found) = ((up[j] - down[j]) / 2e-5, linear.jacobian.at(0)[j * nz + i]);
                    assert!(
                        (slope - found).abs() < 1e-7 * slope.abs().max(1.0),
                        "{kernel}: {slope}, {found}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_gradient_by_weights_is_the_sum_over_the_intervals() {
    let (b, model) = model("linear + constant", 1.5);
    let imagined = Exploration::WeightSpace.planning_problem(&model, &b.task, 0.0, Stream::root(0));
    let count = imagined.hallucinated_controls();
    let times = uniform_grid(2.0, 20);
    let problem = Problem {
        cost: imagined.cost.as_ref(),
        control_bounds: &imagined.bounds,
        ..Problem::of(&b.task, &times)
    };
    let (mut rng, mut ilqr, mut f) = (Stream::root(7).rng(), Ilqr::default(), imagined.dynamics());
    let w: Vec<f64> = (0..count).map(|_| 0.2 * rng.normal()).collect();
    let mut at = |w: &[f64]| {
        let controls: Vec<f64> =
            (0..20).flat_map(|k| std::iter::once(0.1 * f64::from(k)).chain(w.iter().copied())).collect();
        let guess = Guess { controls: &controls, states: None };
        let (cost, each) = ilqr.gradient(f.as_mut(), &problem, guess).expect("a trajectory");
        let sum: Vec<f64> = (0..count).map(|i| each.iter().map(|g| g[1 + i]).sum()).collect();
        (cost, sum)
    };
    let (_, gradient) = at(&w);
    for i in 0..count {
        let mut cost = |h: f64| {
            let mut moved = w.clone();
            moved[i] += h;
            at(&moved).0
        };
        let (slope, found) = ((cost(1e-5) - cost(-1e-5)) / 2e-5, gradient[i]);
        assert!((slope - found).abs() < 1e-6 * slope.abs().max(1.0), "{i}: {slope} and {found}");
    }
}

fn settings(b: &KnownSystem, explore: Exploration, episodes: usize) -> Settings {
    let mut settings = Settings { explore, episodes, ..Settings::for_system(b) };
    settings.model.kernel = "linear + constant".parse().expect("a kernel");
    settings.plan.intervals = 50;
    settings
}

fn learn(b: &KnownSystem, settings: Settings, seed: u64) -> (Trial, Vec<Episode>) {
    let mut trial = Trial::new(b, settings, seed, 0.0).expect("sound settings");
    let episodes = std::iter::from_fn(|| trial.next_episode(&mut ())).collect();
    (trial, episodes)
}

/// Glucose in blood with few and noisy measurements: a linear system of which much is unknown.
fn uncertain() -> KnownSystem {
    let mut b = find("glucose-in-blood");
    b.task.noise_std = b.task.noise_std.iter().map(|s| 20.0 * s).collect();
    b
}

#[test]
fn one_plausible_function_is_between_the_mean_and_free_optimism() {
    let b = uncertain();
    let (mut below_mean, mut above_free) = (0, 0);
    for seed in 0..5 {
        // Episode 1 is planned on the same data in both: those of episode 0.
        let planned = |explore: Exploration| {
            let mut settings = settings(&b, explore, 2);
            settings.model.beta = 2.0;
            let (trial, episodes) = learn(&b, settings, seed);
            let record = &episodes[1].record;
            (trial, record.planned_cost.expect("a plan"), record.mean_cost.expect("a plan"))
        };
        let (trial, constant, mean) = planned(Exploration::WeightSpace);
        let (_, free, again) = planned(Exploration::Optimistic);
        println!("seed {seed}: mean {mean:.5}, constant weights {constant:.5}, free η {free:.5}");
        assert_eq!(mean, again);
        assert!(constant <= mean * (1.0 + 1e-9), "seed {seed}: {constant} and {mean}");
        assert!(constant >= free - 1e-4 * free.abs(), "seed {seed}: {constant} and {free}");
        below_mean += usize::from(constant < mean * (1.0 - 1e-3));
        above_free += usize::from(constant > free * (1.0 + 1e-3));
        // Weights are plausible, and the same at all times.
        let memory = trial.learner().checkpoint().expect("a Gaussian process remembers");
        let controls = &memory.plans[0].as_ref().expect("a plan").controls;
        let counts = trial.learner().model().weight_space().expect("a linear kernel").counts();
        let w = &controls.at(0)[1..];
        assert_eq!(w.len(), counts.iter().sum::<usize>());
        assert!(controls.iter().all(|u| &u[1..] == w));
        let mut rest = w;
        for count in counts {
            let (own, others) = rest.split_at(count);
            let length = own.iter().map(|w| w * w).sum::<f64>().sqrt();
            assert!(length <= 1.0 + 1e-12, "{length}");
            rest = others;
        }
        assert!(w.iter().any(|w| w.abs() > 0.1), "seed {seed}: {w:?}");
    }
    assert!(below_mean == 5 && above_free == 5, "{below_mean}, {above_free}");
}

#[test]
fn it_learns_a_linear_quadratic_task() {
    let b = find("glucose-in-blood");
    for seed in 0..3 {
        let (_, episodes) = learn(&b, settings(&b, Exploration::WeightSpace, 4), seed);
        let costs: Vec<f64> = episodes.iter().map(|e| e.record.cost).collect();
        println!("seed {seed}: {costs:.5?}");
        // 1.524120 by a Riccati equation.
        assert!(costs[3] < 1.524_120 * 1.01, "seed {seed}: {costs:?}");
    }
    // The pendulum is linear in sine and cosine of its angle.
    let b = find("pendulum");
    let mut settings = settings(&b, Exploration::WeightSpace, 3);
    settings.excitation.scale = 100.0;
    settings.plan.intervals = 100;
    let (_, episodes) = learn(&b, settings, 0);
    let costs: Vec<f64> = episodes.iter().map(|e| e.record.cost).collect();
    println!("pendulum: {costs:.4?}");
    assert!(costs[2] < 20.3, "{costs:?}");
}

#[test]
fn discrete_time_has_weights_too() {
    let b = find("glucose-in-blood");
    let mut settings = settings(&b, Exploration::WeightSpace, 4);
    (settings.time, settings.strategy) = (Time::Discrete, ocorl::learn::Strategy::Equidistant);
    let (_, episodes) = learn(&b, settings, 0);
    let costs: Vec<f64> = episodes.iter().map(|e| e.record.cost).collect();
    println!("{costs:.5?}");
    assert!(episodes.iter().all(|e| e.record.outcome == Outcome::Completed));
    assert!(costs[3] < 1.65, "{costs:?}");
}

#[test]
fn equal_seeds_give_equal_plans_at_any_number_of_threads() {
    let b = uncertain();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let (_, episodes) = learn(&b, settings(&b, Exploration::WeightSpace, 3), 1);
            format!("{:?}", episodes.iter().map(|e| &e.record).collect::<Vec<_>>())
        })
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn kernels_of_infinitely_many_features_are_refused() {
    let b = find("pendulum");
    for kernel in ["rbf", "rbf + linear", "linear * periodic", "reference"] {
        let mut settings = settings(&b, Exploration::WeightSpace, 2);
        settings.model.kernel = kernel.parse().expect("a kernel");
        match Trial::new(&b, settings, 0, 0.0).err() {
            Some(LearnError::Settings(error)) => {
                let text = error.to_string();
                assert!(
                    text.starts_with("explore is weight-space; it needs a model of finitely many"),
                    "{text}"
                );
            }
            other => panic!("{kernel}: {other:?}"),
        }
    }
}
