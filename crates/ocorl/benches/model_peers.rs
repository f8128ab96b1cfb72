//! The Gaussian process on the numbers of `studies/peers/gp.py`, in the form in which its peers print them: one JSON line each.
//!
//! Four outputs, 100 points, CPU time of the process (start it with one thread): mean and standard deviation, with both Jacobians,
//! mean with Jacobian, appending ten points, training from the common start.
//!
//! `cargo bench -p ocorl --bench model_peers [TASK]`, or `python3 studies/peers/gp.py` beside the peers.

#[path = "../tests/it/common/cart_pole_data.rs"]
mod cart_pole_data;

use cart_pole_data::{DIMS, measurements, rows, spreads, test_points};
use cpu_time::ProcessTime;
use ocorl::linalg::Points;
use ocorl::model::{
    GaussianProcess, Hyperparameters, Noise, Posterior, Query, Settings, StatisticalModel, TrainingSettings,
};
use ocorl::random::Stream;
use std::io::Write;

fn main() -> std::io::Result<()> {
    let only = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let wanted = |task: &str| only.as_deref().is_none_or(|only| only == task);
    let mut out = std::io::stdout().lock();
    for (task, query, sizes) in [
        ("mean_std", Query::MeanStd, &[200, 500, 1000, 2000][..]),
        ("all", Query::All, &[200, 500, 1000, 2000]),
        ("mean_jacobian", Query::MeanJacobian, &[500, 1000]),
    ] {
        for &n in sizes.iter().filter(|_| wanted(task)) {
            writeln!(out, "{}", predict(task, query, n))?;
        }
    }
    if wanted("append") {
        writeln!(out, "{}", append(1000))?;
    }
    for n in [100, 200, 500, 1000].into_iter().filter(|_| wanted("train")) {
        writeln!(out, "{}", train(n))?;
    }
    Ok(())
}

/// CPU times in ms of `work`, sorted: at least five, and for about half a second. Neither `set_up` nor dropping what comes of it is
/// timed.
fn times<T>(mut set_up: impl FnMut() -> T, mut work: impl FnMut(&mut T)) -> Vec<f64> {
    work(&mut set_up());
    let (mut times, mut total) = (Vec::new(), 0.0);
    while times.len() < 5 || (total < 500.0 && times.len() < 1000) {
        let mut input = set_up();
        let start = ProcessTime::now();
        work(&mut input);
        let time = start.elapsed().as_secs_f64() * 1e3;
        times.push(time);
        total += time;
    }
    times.sort_by(f64::total_cmp);
    times
}

fn line(task: &str, n: usize, times: &[f64], extra: &str) -> String {
    format!(
        "{{\"peer\":\"ocorl\",\"task\":\"{task}\",\"n\":{n},\"cpu_ms_median\":{:.5},\"cpu_ms_min\":{:.5},\"reps\":{}{extra}}}",
        times[times.len() / 2],
        times[0],
        times.len()
    )
}

/// Lengthscale 1.5 + 0.2 j, variance 1, noise variance 1e-4, in standardised units.
fn fixed(n: usize) -> GaussianProcess {
    let spread = spreads(n);
    let mut model = GaussianProcess::new(DIMS, &[], Settings::default()).expect("sound settings");
    model.update(&measurements(n, |_, j| 0.01 * spread[j])).expect("sound data");
    let hyper = |j: usize| {
        let mut kernel = vec![(1.5 + 0.2 * j as f64).ln(); 6];
        kernel[0] = 0.0;
        Hyperparameters { kernel, noise: 0.0 }
    };
    model.set_hyperparameters(&(0..4).map(hyper).collect::<Vec<_>>()).expect("sound parameters");
    model
}

fn predict(task: &str, query: Query, n: usize) -> String {
    let (model, points, mut posterior) = (fixed(n), test_points(100), Posterior::default());
    let times = times(|| (), |()| model.posterior(Points::new(&points, 5), query, &mut posterior));
    // Sums in standardised units, as the peers have them: d(y/s_y)/d(z/s_z).
    let (outputs, inputs) = (spreads(n), input_spreads(n));
    let means = output_means(n);
    let values = |blocks: &ocorl::linalg::Blocks, shift: bool| -> f64 {
        blocks
            .iter()
            .flat_map(|b| b.iter().enumerate())
            .map(|(j, v)| (v - f64::from(shift) * means[j]) / outputs[j])
            .sum()
    };
    let slopes = |blocks: &ocorl::linalg::Blocks| -> f64 {
        blocks
            .iter()
            .flat_map(|b| b.iter().enumerate())
            .map(|(e, v)| v / outputs[e / 5] * inputs[e % 5])
            .sum()
    };
    let mut sums = vec![values(&posterior.mean.value, true)];
    if query.std() {
        sums.push(values(&posterior.std.value, false));
    }
    if query.jacobian() {
        sums.push(slopes(&posterior.mean.jacobian));
    }
    if query == Query::All {
        sums.push(slopes(&posterior.std.jacobian));
    }
    line(task, n, &times, &format!(",\"checksum\":{sums:?}"))
}

fn input_spreads(n: usize) -> [f64; 5] {
    let rows = &rows()[..n];
    std::array::from_fn(|d| {
        let mean = rows.iter().map(|(z, _)| z[d]).sum::<f64>() / n as f64;
        (rows.iter().map(|(z, _)| (z[d] - mean).powi(2)).sum::<f64>() / n as f64).sqrt()
    })
}

fn output_means(n: usize) -> [f64; 4] {
    let rows = &rows()[..n];
    std::array::from_fn(|j| rows.iter().map(|(_, y)| y[j]).sum::<f64>() / n as f64)
}

/// Ten points more, beside conditioning on all of them anew with the same hyper-parameters: the mean of ten times in a row around `n`,
/// as a study grows, making room included.
fn append(n: usize) -> String {
    const TIMES: usize = 10;
    let (first, spread) = (n - 5 * TIMES, spreads(n));
    let data = measurements(n + 5 * TIMES, |_, j| 0.01 * spread[j]);
    let parts: Vec<_> = (0..TIMES).map(|i| data.slice(first + 10 * i..first + 10 * (i + 1))).collect();
    let model = fixed(first);
    let mut grow = times(
        || model.clone(),
        |model| parts.iter().for_each(|part| model.update(part).expect("sound data")),
    );
    for time in &mut grow {
        *time /= TIMES as f64;
    }
    let mut whole = fixed(n);
    let hyper: Vec<_> = (0..4).map(|j| whole.hyperparameters(j).clone()).collect();
    let anew = times(|| (), |()| whole.set_hyperparameters(&hyper).expect("sound parameters"));
    let extra = format!(
        ",\"refit_ms_median\":{:.5},\"refit_ms_min\":{:.5},\"share\":{:.5}",
        anew[anew.len() / 2],
        anew[0],
        grow[grow.len() / 2] / anew[anew.len() / 2]
    );
    line("append", n, &grow, &extra)
}

/// From lengthscales and variance of 1 and a noise variance of 0.01, without priors or restarts, to the end.
fn train(n: usize) -> String {
    let spread = spreads(n);
    let training =
        TrainingSettings { restarts: 0, priors: false, gain_tolerance: 1e-5, ..TrainingSettings::default() };
    let settings = Settings { noise: Noise::Learned, training, ..Settings::default() };
    let mut model = GaussianProcess::new(DIMS, &[], settings).expect("sound settings");
    model.update(&measurements(n, |_, j| 0.1 * spread[j])).expect("sound data");
    let (mut nll, mut evaluations) = (Vec::new(), Vec::new());
    let times = times(
        || model.clone(),
        |model| {
            let report = model.train(Stream::root(0)).expect("sound data");
            nll = report.fits.iter().map(|fit| -fit.log_likelihood / n as f64).collect();
            evaluations = report.fits.iter().map(|fit| fit.evaluations).collect();
        },
    );
    line("train", n, &times, &format!(",\"nll\":{nll:?},\"evals\":{evaluations:?}"))
}
