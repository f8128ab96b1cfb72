//! Learn the dynamics of a system from a few noisy derivatives, with confidence bands.
//!
//! `cargo run --release -p ocorl --example 06_model`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::confidence::calibrated_scale;
use ocorl::model::{
    Confidence, GaussianProcess, Part, Posterior, Query, Settings, StatisticalModel, calibration_curve,
};
use ocorl::random::{Rng, Stream};
use ocorl::simulate::{Experiment, Law, Simulator};
use ocorl::system::{Benchmark, KnownSystem, Task};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let pendulum = Benchmark::find("pendulum")?;
    let task = &pendulum.task;
    let mut noise = Stream::root(0).child("noise").rng();

    // Two gentle pushes of different rhythm from hanging (theta = pi); 20 derivatives measured along each.
    let mut data = explore(&pendulum, 0.3, 1.1, 20, &mut noise)?;
    data.append(&explore(&pendulum, 0.3, 2.6, 20, &mut noise)?)?;

    // A Gaussian process for each derivative. Angles, units and scales are its own business.
    let confidence = Confidence::InformationGain { delta: 0.05, norm: 1.0 };
    let mut model = GaussianProcess::for_task(task, Settings { confidence, ..Settings::default() })?;
    model.update(&data)?;
    let report = model.train(Stream::root(0))?;

    println!("{} measurements of the pendulum\n", data.len());
    print_lengthscales(&model, task);
    for (state, fit) in task.states.iter().zip(&report.fits) {
        println!("d{}/dt: {:?} after {} evaluations", state.name, fit.status, fit.evaluations);
    }
    model.notes().iter().for_each(|note| println!("note: {note}"));

    // What it says of the angular acceleration, where it has looked and where it has not.
    println!("\n{:>7}{:>7}{:>8}{:>10}{:>24}", "theta", "omega", "torque", "truth", "model, mean +- 1.96 std");
    let places = [[3.1, 0.1, 0.2], [2.8, -0.3, 0.0], [2.3, 0.5, -1.0], [1.5, 0.0, 0.0], [0.0, 0.0, 0.0]];
    for place in &places {
        let (truth, mean, std) = compare(&pendulum, &model, place);
        let [theta, omega, torque] = place;
        println!("{theta:>7.1}{omega:>7.1}{torque:>8.1}{truth:>10.3}{mean:>14.3} +-{:>7.3}", 1.96 * std);
    }

    // Is sigma honest? Each measurement against the model without it.
    println!("\nshare of measurements inside a band of the model that has not seen them");
    println!("{:>8}{:>12}{:>12}{:>16}", "band", "dtheta/dt", "domega/dt", "chance alone");
    let levels = [0.5, 0.8, 0.95];
    let curve = |output| calibration_curve(&model.leave_one_out(output), 1.0, &levels);
    for (a, b) in curve(0).iter().zip(curve(1)) {
        let [level, theta, omega, margin] = [a.level, a.observed, b.observed, a.margin].map(|v| 100.0 * v);
        println!("{level:>6.0} %{theta:>10.0} %{omega:>10.0} %{:>10}{margin:>4.0} %", "+-");
    }

    // More data, of ever harder pushes. The model takes them in without being trained anew. The theory's beta
    // grows with the information in the data and is far on the safe side; left-out measurements ask for less.
    println!("\n{:>12}{:>20}{:>24}{:>20}", "measurements", "information", "beta", "std at the top");
    println!("{:>12}{:>20}{:>24}", "", "(nats)", "theory   calibrated");
    let top = [0.0, 0.0, 0.0];
    let line = |model: &GaussianProcess| {
        let (gain, beta) = (model.information_gain()[1], model.confidence_scale()[1]);
        let (calibrated, std) =
            (calibrated_scale(&model.leave_one_out(1), 0.95), compare(&pendulum, model, &top).2);
        println!("{:>12}{gain:>20.1}{beta:>11.1}{calibrated:>13.1}{std:>20.3}", model.data().len());
    };
    line(&model);
    for torque in [0.6, 1.2, 2.4] {
        model.update(&explore(&pendulum, torque, 0.9, 20, &mut noise)?)?;
        line(&model);
    }
    let (truth, mean, std) = compare(&pendulum, &model, &top);
    println!("\nat the top, unpushed: {mean:.3} +- {:.3}, in truth {truth:.3}", 1.96 * std);
    Ok(())
}

/// `count` noisy derivatives along a run from hanging under the torque a sin(bt).
fn explore(
    pendulum: &KnownSystem,
    a: f64,
    b: f64,
    count: usize,
    noise: &mut Rng,
) -> Result<Measurements, Box<dyn Error>> {
    let push = |t: f64, _: &[f64], u: &mut [f64]| u[0] = a * (b * t).sin();
    let (task, mut f) = (&pendulum.task, pendulum.dynamics());
    let run = Simulator::default().run(f.as_mut(), &mut Law(push), &Experiment::of(task));
    let mut data = Measurements::new(task.dims());
    for i in 0..count {
        let time = run.end() * (i as f64 + 0.5) / count as f64;
        let (mut x, mut u, mut derivative) = ([0.0; 2], [0.0], [0.0; 2]);
        run.state_at(time, &mut x);
        push(time, &x, &mut u);
        f.derivative(Points::single(&[x[0], x[1], u[0]]), &mut derivative);
        derivative.iter_mut().zip(&task.noise_std).for_each(|(d, std)| *d += std * noise.normal());
        data.push(time, &x, &u, &derivative, &task.noise_std)?;
    }
    Ok(data)
}

/// The acceleration in truth, and mean and standard deviation of the model.
fn compare(pendulum: &KnownSystem, model: &GaussianProcess, place: &[f64; 3]) -> (f64, f64, f64) {
    let (mut truth, mut at) = ([0.0; 2], Posterior::default());
    pendulum.dynamics().derivative(Points::single(place), &mut truth);
    model.posterior(Points::single(place), Query::MeanStd, &mut at);
    (truth[1], at.mean.value.at(0)[1], at.std.value.at(0)[1])
}

/// How far one has to go along each coordinate, in units of its spread in the data, for each derivative to
/// change.
fn print_lengthscales(model: &GaussianProcess, task: &Task) {
    let names: Vec<&str> = task.states.iter().chain(&task.controls).map(|q| q.name.as_str()).collect();
    println!("{:<26}{:>12}{:>12}", "learned", "dtheta/dt", "domega/dt");
    for (p, (parameter, coordinate)) in model.parameters().into_iter().enumerate() {
        let of = coordinate.map_or(String::new(), |c| match c.part {
            Part::Whole => format!(" of {}", names[c.index]),
            Part::Sine => format!(" of sin({})", names[c.index]),
            Part::Cosine => format!(" of cos({})", names[c.index]),
        });
        let [a, b] = [0, 1].map(|output| model.hyperparameters(output).kernel[p].exp());
        println!("{:<26}{a:>12.1}{b:>12.1}", format!("{}{of}", parameter.name));
    }
    println!("(long: little influence, or a straight line)\n");
}
