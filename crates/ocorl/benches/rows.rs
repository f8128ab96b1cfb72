//! Gaussian process and ensemble on the same rows, from a hundred to a hundred thousand: error and coverage at points that neither has
//! seen, CPU time and memory. One process for each line, so that memory is its own.
//!
//! `cargo bench -p ocorl --bench rows`, or with a model and a number of rows: `… --bench rows -- ensemble 10000`. Results are kept in
//! `docs/ensemble.md`.

use cpu_time::ProcessTime;
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{
    Ensemble, EnsembleSettings, GaussianProcess, Posterior, Query, Settings, StatisticalModel,
};
use ocorl::random::Stream;
use ocorl::system::Benchmark;
use std::io::Write;
use std::process::Command;

const MODELS: [&str; 3] = ["gp", "ensemble", "ensemble-long"];
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
const UNSEEN: usize = 2_000;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let given: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if let [model, rows] = given.as_slice() {
        let rows = rows.parse().expect("a number of rows");
        return writeln!(out, "{}", line(model, rows));
    }
    writeln!(
        out,
        "| rows | model | error, mean over outputs | worst output | coverage of 95 % bands | least covered output \
         | CPU s, training | CPU ms, 100 points with Jacobians | memory, MB |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    for rows in SIZES {
        for model in MODELS {
            let program = std::env::current_exe()?;
            let done = Command::new(program).args([model, &rows.to_string()]).output()?;
            out.write_all(&done.stdout)?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Derivatives of the planar quadrotor at random states and controls, with the noise of its task; and the true ones.
fn data(count: usize, stream: Stream) -> (Measurements, Vec<Vec<f64>>) {
    let b = Benchmark::find("quadrotor-2d").expect("a benchmark's name");
    let (dims, mut f, mut rng) = (b.dims(), b.dynamics(), stream.rng());
    let (mut data, mut truth) = (Measurements::new(dims), Vec::new());
    for i in 0..count {
        let state: Vec<f64> = (0..dims.state).map(|_| rng.uniform(-2.0, 2.0)).collect();
        let limits = &b.task.control_bounds;
        let control: Vec<f64> = (0..dims.control)
            .map(|d| rng.uniform(limits.lower[d].max(-5.0), limits.upper[d].min(5.0)))
            .collect();
        let mut y = vec![0.0; dims.state];
        f.derivative(Points::single(&[&state[..], &control].concat()), &mut y);
        truth.push(y.clone());
        y.iter_mut().zip(&b.task.noise_std).for_each(|(y, s)| *y += s * rng.normal());
        data.push(i as f64, &state, &control, &y, &b.task.noise_std).expect("finite numbers");
    }
    (data, truth)
}

fn line(name: &str, count: usize) -> String {
    let b = Benchmark::find("quadrotor-2d").expect("a benchmark's name");
    let networks = EnsembleSettings::default();
    let mut model: Box<dyn StatisticalModel> = match name {
        "gp" => Box::new(GaussianProcess::for_task(&b.task, Settings::default()).expect("sound settings")),
        "ensemble" => Box::new(Ensemble::for_task(&b.task, networks).expect("sound settings")),
        "ensemble-long" => {
            let networks = EnsembleSettings { hidden: 64, steps: 10 * networks.steps, ..networks };
            Box::new(Ensemble::for_task(&b.task, networks).expect("sound settings"))
        }
        other => panic!("no model {other}: one of {MODELS:?}"),
    };
    let (rows, _) = data(count, Stream::root(1));
    let (unseen, truth) = data(UNSEEN, Stream::root(2));
    let start = ProcessTime::now();
    model.update(&rows).expect("sound data");
    model.train(Stream::root(3)).expect("sound data");
    let training = start.elapsed().as_secs_f64();
    let (mut at, outputs) = (Posterior::default(), b.dims().state);
    model.posterior(unseen.points(), Query::MeanStd, &mut at);
    let (mut errors, mut covered) = (Vec::new(), Vec::new());
    for j in 0..outputs {
        let values = || truth.iter().map(|y| y[j]);
        let mean = values().sum::<f64>() / UNSEEN as f64;
        let spread = values().map(|y| (y - mean).powi(2)).sum::<f64>();
        let difference = |i: usize| truth[i][j] - at.mean.value.at(i)[j];
        errors.push(((0..UNSEEN).map(|i| difference(i).powi(2)).sum::<f64>() / spread).sqrt());
        let inside = (0..UNSEEN).filter(|&i| difference(i).abs() <= 1.96 * at.std.value.at(i)[j]);
        covered.push(inside.count() as f64 / UNSEEN as f64);
    }
    let z = Points::new(&unseen.points().as_slice()[..100 * b.dims().point()], b.dims().point());
    let mut asked = f64::INFINITY;
    for _ in 0..5 {
        let start = ProcessTime::now();
        model.posterior(z, Query::All, &mut at);
        asked = asked.min(1e3 * start.elapsed().as_secs_f64());
    }
    let average = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    format!(
        "| {count} | {name} | {:.5} | {:.5} | {:.3} | {:.3} | {training:.1} | {asked:.2} | {:.0} |",
        average(&errors),
        errors.iter().copied().fold(0.0, f64::max),
        average(&covered),
        covered.iter().copied().fold(1.0, f64::min),
        peak_memory(),
    )
}

/// The most memory this process has had, in MB; NaN where the system does not say.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kb| kb / 1024.0)
}
