//! How the Gaussian process grows with its data: one table, times in ms of CPU for all four outputs of the cart pole.
//!
//! `cargo bench -p ocorl --bench growth`; results are kept in `docs/performance.md`.

use cpu_time::ProcessTime;
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Posterior, Query, Settings, StatisticalModel};
use ocorl::random::Stream;
use ocorl::system::Benchmark;
use std::io::Write;

const SIZES: [usize; 7] = [100, 200, 500, 1000, 2000, 3500, 5000];

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| n | model | condition | train | mean + Jacobian, 100 points | all, 100 points | all, 1 point | append 10 |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for n in SIZES {
        // Exact whatever the size; and, past the default limit, what takes over.
        let exact = Settings { exact_limit: usize::MAX, ..Settings::default() };
        writeln!(out, "{}", row("exact", n, exact, n <= 2000))?;
        if n > Settings::default().exact_limit {
            writeln!(out, "{}", row("inducing", n, Settings::default(), true))?;
        }
    }
    Ok(())
}

/// Random points of the cart pole with measured derivatives, noise 0.01.
fn data(n: usize) -> Measurements {
    let b = Benchmark::find("cart-pole").expect("a benchmark's name");
    let (mut f, mut rng, mut data) = (b.dynamics(), Stream::root(9).rng(), Measurements::new(b.dims()));
    for i in 0..n {
        let z = [3.1, 3.0, 2.0, 3.0, 4.0].map(|range| rng.uniform(-range, range));
        let mut y = [0.0; 4];
        f.derivative(Points::single(&z), &mut y);
        let y = y.map(|y| y + 0.01 * rng.normal());
        data.push(i as f64, &z[..4], &z[4..], &y, &[0.01; 4]).expect("finite numbers");
    }
    data
}

fn time<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = ProcessTime::now();
    let result = work();
    (result, start.elapsed().as_secs_f64() * 1e3)
}

fn least(times: usize, mut work: impl FnMut()) -> f64 {
    (0..times).map(|_| time(&mut work).1).fold(f64::INFINITY, f64::min)
}

fn row(name: &str, n: usize, settings: Settings, trained: bool) -> String {
    let b = Benchmark::find("cart-pole").expect("a benchmark's name");
    let all = data(n + 10 + 100);
    let mut model = GaussianProcess::for_task(&b.task, settings).expect("sound settings");
    let (result, condition) = time(|| model.update(&all.slice(0..n)));
    result.expect("sound data");
    let train = if trained {
        let (result, train) = time(|| model.train(Stream::root(0)));
        result.expect("sound data");
        format!("{train:.0}")
    } else {
        "–".into()
    };
    let points = all.slice(n + 10..n + 110);
    let mut posterior = Posterior::default();
    let mut ask = |query, count: usize| {
        let z = Points::new(&points.points().as_slice()[..5 * count], 5);
        least(5, || model.posterior(z, query, &mut posterior))
    };
    let (mean, many, one) = (ask(Query::MeanJacobian, 100), ask(Query::All, 100), ask(Query::All, 1));
    let (result, append) = time(|| model.update(&all.slice(n..n + 10)));
    result.expect("sound data");
    format!("| {n} | {name} | {condition:.1} | {train} | {mean:.2} | {many:.1} | {one:.3} | {append:.1} |")
}
