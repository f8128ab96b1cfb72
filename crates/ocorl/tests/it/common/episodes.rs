//! Episodes of the paper's systems as a learner sees them, and how a model trained on some of them does on the rest.
//!
//! Episode 0 has the system's own exploratory control; every later one has smooth random controls on top of it: for each control, a sum
//! of three sines. All start at the task's initial state, are measured M times each, as in the paper, and stay within the
//! state limits.

use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::confidence::{HeldOutPrediction, calibration_curve};
use ocorl::model::{Confidence, GaussianProcess, Posterior, Query, Settings, StatisticalModel};
use ocorl::random::{Rng, Stream};
use ocorl::simulate::{Experiment, Law, Run, Simulator};
use ocorl::system::{Dynamics, KnownSystem};

/// Sines in a random control.
const SINES: usize = 3;

/// How far a control is moved, in its own unit: about as far as the system's task needs it.
fn control_size(name: &str) -> &'static [f64] {
    match name {
        "cancer-treatment" => &[0.15],
        "glucose-in-blood" => &[0.1],
        "bicycle" => &[1.0, 1.0],
        "quadrotor-2d" => &[0.05, 0.05],
        "mountain-car" => &[0.3],
        "quadrotor-3d" => &[0.02, 1.0, 1.0, 1.0],
        _ => &[1.0],
    }
}

/// Σ a sin(ω t + φ) for each control: half a period to four periods an episode.
struct Sines(Vec<[(f64, f64, f64); SINES]>);

impl Sines {
    fn draw(b: &KnownSystem, rng: &mut Rng) -> Self {
        let turn = std::f64::consts::TAU;
        let one = |size: f64, rng: &mut Rng| {
            let frequency = rng.uniform(0.5, 4.0) * turn / b.task.horizon;
            (size * rng.uniform(-1.0, 1.0), frequency, rng.uniform(0.0, turn))
        };
        Sines(control_size(&b.name).iter().map(|&size| std::array::from_fn(|_| one(size, rng))).collect())
    }

    fn add(&self, time: f64, share: f64, control: &mut [f64]) {
        for (u, sines) in control.iter_mut().zip(&self.0) {
            *u += share * sines.iter().map(|(a, w, p)| a * (w * time + p).sin()).sum::<f64>();
        }
    }
}

/// What the sines of the later episodes are added to: the first control. The 3D quadrotor, which falls over without feedback, has hover with
/// an attitude hold instead: the reference's first control rolls with vertical speed and loses hold off its own path.
fn base_control(b: &KnownSystem, episode: usize, time: f64, state: &[f64], out: &mut [f64]) {
    if b.name == "quadrotor-3d" && episode > 0 {
        out.copy_from_slice(&b.task.safe_control);
        for axis in 0..3 {
            out[1 + axis] -= 5.0 * (state[6 + axis] + state[9 + axis]);
        }
    } else {
        (b.first_control)(time, state, out);
    }
}

/// The measurements of the episodes with these numbers, M of each after the other, at times that are random within M equal parts.
fn record(b: &KnownSystem, episodes: std::ops::Range<usize>, stream: Stream) -> Measurements {
    let (mut f, mut data) = (b.dynamics(), Measurements::new(b.dims()));
    for episode in episodes {
        let mut rng = stream.child("episode").index(episode).rng();
        let sines = Sines::draw(b, &mut rng);
        let control = |share: f64, time: f64, state: &[f64], out: &mut [f64]| {
            base_control(b, episode, time, state, out);
            sines.add(time, share, out);
            b.task.control_bounds.clamp(out);
        };
        let (run, share) = run(b, f.as_mut(), if episode == 0 { 0.0 } else { 1.0 }, &control);
        let (mut x, mut u) = (b.task.initial_state.clone(), b.task.safe_control.clone());
        let (count, mut y) = (b.paper().expect("a benchmark").measurements, x.clone());
        for i in 0..count {
            let time = (i as f64 + rng.unit()) * b.task.horizon / count as f64;
            run.state_at(time, &mut x);
            control(share, time, &x, &mut u);
            f.derivative(Points::single(&[&x[..], &u].concat()), &mut y);
            y.iter_mut().zip(&b.task.noise_std).for_each(|(y, std)| *y += std * rng.normal());
            data.push(time, &x, &u, &y, &b.task.noise_std).expect("finite numbers");
        }
    }
    data
}

/// A run that keeps to the limits, and the share of the random part with which it does.
fn run(
    b: &KnownSystem,
    f: &mut dyn Dynamics,
    mut share: f64,
    control: &impl Fn(f64, f64, &[f64], &mut [f64]),
) -> (Run, f64) {
    loop {
        let mut law = Law(|time: f64, state: &[f64], out: &mut [f64]| control(share, time, state, out));
        let run = Simulator::new(1e-8).run(f, &mut law, &Experiment::of(&b.task));
        if run.is_completed() {
            return (run, share);
        }
        assert!(share > 1e-3, "{}: {}", b.name, run.outcome);
        share *= 0.5;
    }
}

/// What a model is trained on, and what it is then judged by.
pub(crate) struct Data {
    /// A random 70 % of the measurements of all episodes.
    pub(crate) train: Measurements,
    /// The other measurements of the same episodes.
    pub(crate) between: Measurements,
    /// As many other episodes.
    pub(crate) beyond: Measurements,
    /// For training.
    pub(crate) stream: Stream,
}

impl Data {
    /// The data of `episodes` episodes of a system.
    pub(crate) fn new(b: &KnownSystem, episodes: usize, seed: usize) -> Self {
        let stream = Stream::root(2026).child("calibration").child(&b.name).index(seed);
        let all = record(b, 0..episodes, stream);
        let mut rng = stream.child("split").rng();
        let mut order: Vec<usize> = (0..all.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i + 1));
        }
        let (train, between) = order.split_at(all.len() * 7 / 10);
        Data {
            train: all.select(train.iter().copied()),
            between: all.select(between.iter().copied()),
            beyond: record(b, episodes..2 * episodes, stream),
            stream: stream.child("training"),
        }
    }

    /// The default model with these data, not trained yet. Its β is calibrated; as β plays no part in training, its predictions are
    /// those of the default, whose β is one.
    pub(crate) fn model(&self, b: &KnownSystem) -> GaussianProcess {
        let confidence = Confidence::Calibrated { level: 0.95 };
        let mut model = GaussianProcess::for_task(&b.task, Settings { confidence, ..Settings::default() })
            .expect("sound settings");
        model.update(&self.train).expect("sound data");
        model
    }
}

/// Left-out measurements beside predictions, for each output.
pub(crate) type Outputs = Vec<Vec<HeldOutPrediction>>;

/// Measurements the model has not seen, beside its predictions.
pub(crate) fn judge(model: &GaussianProcess, data: &Measurements) -> Outputs {
    let mut posterior = Posterior::default();
    model.posterior(data.points(), Query::MeanStd, &mut posterior);
    let one = |i: usize, j: usize| HeldOutPrediction {
        measured: data.derivatives().at(i)[j],
        mean: posterior.mean.value.at(i)[j],
        std: posterior.std.value.at(i)[j],
        noise_std: data.noise_std().at(i)[j],
    };
    (0..data.dims().state).map(|j| (0..data.len()).map(|i| one(i, j)).collect()).collect()
}

/// The same predictions beside f itself, without noise: the harder question, as noise hides what σ gets wrong.
pub(crate) fn beside_truth(b: &KnownSystem, data: &Measurements, outputs: &Outputs) -> Outputs {
    let mut truth = vec![0.0; data.dims().state * data.len()];
    b.dynamics().derivative(data.points(), &mut truth);
    let exact = |(j, own): (usize, &Vec<HeldOutPrediction>)| -> Vec<HeldOutPrediction> {
        let values = truth[j..].iter().step_by(data.dims().state);
        own.iter()
            .zip(values)
            .map(|(judged, &f)| HeldOutPrediction { measured: f, noise_std: 0.0, ..*judged })
            .collect()
    };
    outputs.iter().enumerate().map(exact).collect()
}

/// All outputs in one, σ of each multiplied by its own β.
pub(crate) fn pool(outputs: &Outputs, beta: &[f64]) -> Vec<HeldOutPrediction> {
    let scaled = |(own, beta): (&Vec<HeldOutPrediction>, &f64)| -> Vec<HeldOutPrediction> {
        own.iter().map(|j| HeldOutPrediction { std: beta * j.std, ..*j }).collect()
    };
    outputs.iter().zip(beta).flat_map(scaled).collect()
}

/// The share of values within μ ± q √(σ² + noise²), q the normal quantile of the level.
pub(crate) fn coverage(judged: &[HeldOutPrediction], level: f64) -> f64 {
    calibration_curve(judged, 1.0, &[level])[0].observed
}
