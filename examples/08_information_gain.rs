//! Maximum information gain γₙ of n measurements for four kernels, compared with the growth rates of the theory.
//!
//! γₙ is computed greedily on points of the executed trajectories, summed over the outputs, in nats. The greedy rule reaches at least
//! 1 − 1/e of the maximum. The hyper-parameters of each kernel are fitted to the measurements of the run. `docs/theory.md` has the table.
//!
//! `cargo run --release -p ocorl --example 08_information_gain`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::learn::{Settings, Trial};
use ocorl::linalg::Points;
use ocorl::model::kernels::{Constant, Kernel, Linear, Matern32, Matern52, Rbf, Scale, Sum};
use ocorl::model::{self, GaussianProcess, StatisticalModel};
use ocorl::random::Stream;
use ocorl::system::Benchmark;
use ocorl::theory::greedy_maximum_information_gain;
use std::sync::Arc;

/// Numbers of measurements.
const COUNTS: [usize; 6] = [10, 20, 50, 100, 150, 200];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["pendulum", "glucose-in-blood"] {
        let b = Benchmark::find(name)?;
        let mut settings = Settings::for_system(&b);
        settings.excitation.scale = if name == "pendulum" { 100.0 } else { 1.0 };
        let mut trial = Trial::new(&b, settings, 0, 0.0)?;
        let mut executed = Vec::new();
        while let Some(episode) = trial.next_episode(&mut ()) {
            // 21 points of each episode: 420 candidates in all.
            let points = episode.executed[0].trajectory.points();
            executed.extend(points.chunks_exact(b.task.dims().point()).step_by(50).flatten().copied());
        }
        let data = trial.learner().data();
        println!(
            "\n{}: {} measurements, {} candidates",
            b.title,
            data.len(),
            executed.len() / b.task.dims().point()
        );
        println!("| kernel | {} |", COUNTS.map(|n| format!("γ_{n}")).join(" | "));
        println!("|---|{}", "---:|".repeat(COUNTS.len()));
        for (kernel, form) in kernels() {
            let settings = model::Settings { kernel: form, ..model::Settings::default() };
            let mut model = GaussianProcess::for_task(&b.task, settings)?;
            model.update(data)?;
            model.train(Stream::root(0))?;
            let prior = model.prior().ok_or("a Gaussian process knows its prior")?;
            let noise: Vec<f64> = b.task.noise_std.iter().map(|s| s * s).collect();
            let gains = COUNTS.map(|n| {
                let mut joint = prior.covariance_columns(Points::new(&executed, b.task.dims().point()));
                greedy_maximum_information_gain(joint.as_mut(), &noise, n).iter().sum::<f64>()
            });
            println!("| {kernel} | {} |", gains.map(|gain| format!("{gain:.1}")).join(" | "));
        }
    }
    let rate = |name: &str, of: &dyn Fn(f64) -> f64| {
        let first = of(COUNTS[0] as f64);
        println!("| {name} | {} |", COUNTS.map(|n| format!("{:.2}", of(n as f64) / first)).join(" | "));
    };
    // d is the number of coordinates that the kernel sees: sine and cosine of the angle, velocity and torque of the pendulum.
    println!("\nRates of the theory, as multiples of their value at n = 10, for d = 4");
    rate("linear, d ln n", &|n| n.ln());
    rate("RBF, (ln n)^(d + 1)", &|n| n.ln().powi(5));
    for (name, nu) in [("Matérn 5/2", 2.5), ("Matérn 3/2", 1.5)] {
        let (d, total) = (4.0, 2.0 * nu + 4.0);
        let of = move |n: f64| n.powf(d / total) * n.ln().powf(2.0 * nu / total);
        rate(&format!("{name}, n^(d/(2ν + d)) (ln n)^(2ν/(2ν + d))"), &of);
    }
    Ok(())
}

/// The kernels of the table; all but the linear one are scaled by a signal variance.
fn kernels() -> [(&'static str, Arc<dyn Kernel>); 4] {
    [
        ("linear", Arc::new(Sum(Box::new(Linear), Box::new(Constant)))),
        ("RBF", Arc::new(Scale(Box::new(Rbf)))),
        ("Matérn 5/2", Arc::new(Scale(Box::new(Matern52)))),
        ("Matérn 3/2", Arc::new(Scale(Box::new(Matern32)))),
    ]
}
