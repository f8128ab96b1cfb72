//! Choosing 10 of 1000 candidates along a trajectory of the pendulum, by a model of 200 measurements; covariances included.
//!
//! CPU times, in ms; start it with one thread:
//!
//! `RAYON_NUM_THREADS=1 taskset -c 0 cargo bench -p ocorl --bench select`

use cpu_time::ProcessTime;
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Settings, StatisticalModel};
use ocorl::random::Stream;
use ocorl::select::{FirstPick, greedy_max_determinant, greedy_max_distance};
use ocorl::simulate::{Experiment, Law, Simulator};
use ocorl::system::{Benchmark, KnownSystem};
use std::hint::black_box;
use std::io::Write;

const MEASUREMENTS: usize = 200;
const CANDIDATES: usize = 1000;
const COUNT: usize = 10;
const REPETITIONS: usize = 200;

fn main() -> std::io::Result<()> {
    let (model, z) = set_up();
    let z = Points::new(&z, 3);
    // What both criteria begin with: all variances, and the halves of the columns.
    let variances = times(|| _ = black_box(model.covariance_columns(z).variance(0)[0]));
    let determinant = times(|| {
        let picks = greedy_max_determinant(&mut *model.covariance_columns(z), &[1e-4; 2], COUNT);
        assert_eq!(black_box(picks).len(), COUNT);
    });
    let distance = times(|| {
        let picks = greedy_max_distance(
            &mut *model.covariance_columns(z),
            &[1.0; 2],
            FirstPick::LargestVariance,
            COUNT,
        );
        assert_eq!(black_box(picks).len(), COUNT);
    });
    let mut out = std::io::stdout().lock();
    writeln!(out, "| | least | median |")?;
    writeln!(out, "|---|---|---|")?;
    for (name, times) in
        [("variances alone", variances), ("max determinant", determinant), ("max kernel distance", distance)]
    {
        writeln!(out, "| {name} | {:.2} | {:.2} |", times[0], times[times.len() / 2])?;
    }
    Ok(())
}

/// States and controls of the pendulum under a torque of two sines, at equidistant times.
fn trajectory(b: &KnownSystem, phase: f64, count: usize) -> Vec<f64> {
    let torque = |t: f64| 1.5 * (1.3 * t + phase).sin() + (2.9 * t + 2.0 * phase).sin();
    let mut law = Law(|t: f64, _: &[f64], u: &mut [f64]| u[0] = torque(t));
    let experiment = Experiment { state_bounds: None, ..Experiment::of(&b.task) };
    let run = Simulator::new(1e-8).run(b.dynamics().as_mut(), &mut law, &experiment);
    let mut x = b.task.initial_state.clone();
    let mut point = |i: usize| {
        let time = 0.99 * b.task.horizon * i as f64 / (count - 1) as f64;
        run.state_at(time, &mut x);
        [x[0], x[1], torque(time)]
    };
    (0..count).flat_map(&mut point).collect()
}

/// A trained model of twenty episodes of ten measurements each, and the candidates of the next.
fn set_up() -> (GaussianProcess, Vec<f64>) {
    let b = Benchmark::find("pendulum").expect("a benchmark's name");
    let (mut f, mut rng, mut data) = (b.dynamics(), Stream::root(3).rng(), Measurements::new(b.dims()));
    for episode in 0..MEASUREMENTS / COUNT {
        for z in trajectory(&b, episode as f64, COUNT).chunks_exact(3) {
            let mut y = [0.0; 2];
            // Away from the common initial state, where all episodes would have the same point.
            let z = [z[0] + 0.1 * rng.normal(), z[1] + 0.1 * rng.normal(), z[2]];
            f.derivative(Points::single(&z), &mut y);
            let y = y.map(|y| y + 0.01 * rng.normal());
            data.push(0.0, &z[..2], &z[2..], &y, &[0.01; 2]).expect("finite numbers");
        }
    }
    let mut model = GaussianProcess::for_task(&b.task, Settings::default()).expect("sound settings");
    model.update(&data).expect("sound data");
    model.train(Stream::root(0)).expect("sound data");
    (model, trajectory(&b, 0.5, CANDIDATES))
}

/// CPU times in ms, sorted.
fn times(mut work: impl FnMut()) -> Vec<f64> {
    work();
    let one = |work: &mut dyn FnMut()| {
        let start = ProcessTime::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..REPETITIONS).map(|_| one(&mut work)).collect();
    times.sort_by(f64::total_cmp);
    times
}
