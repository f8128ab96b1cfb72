//! The contract of statistical models: a second kind of model keeps it, Gaussian processes of every form keep
//! it, and whoever breaks it is told how.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::check::{self, Violation};
use ocorl::linalg::{Blocks, Cholesky, Dims, Linearization, Points};
use ocorl::measurements::{MeasurementError, Measurements};
use ocorl::model::confidence::{HeldOutPrediction, calibrated_scale};
use ocorl::model::kernels::{
    Constant, Kernel, Linear, Matern32, Matern52, Periodic, Product, Rbf, Reference, Scale, Sum,
};
use ocorl::model::{
    GaussianProcess, Lengthscales, Mean, ModelError, Noise, Physics, Posterior, Query, Settings,
    StatisticalModel, TrainingReport,
};
use ocorl::random::{Rng, Stream};
use ocorl::simulate::{Experiment, Law, Simulator};
use ocorl::system::{Benchmark, Dynamics, KnownSystem};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const PENDULUM: Dims = Dims { state: 2, control: 1 };
const MEMBERS: usize = 5;
const HIDDEN: usize = 40;

/// One network with a hidden layer: f_j(z) = Σ_h V_jh tanh(w_h·z + b_h) + c_j.
#[derive(Clone)]
struct Member {
    dims: Dims,
    /// (w_h, b_h), one row after the other: random, never changed.
    hidden: Vec<f64>,
    /// (V_j, c_j) before any data.
    prior: Vec<f64>,
    /// (V_j, c_j), learned.
    output: Vec<f64>,
}

impl Member {
    fn new(dims: Dims, rng: &mut Rng) -> Self {
        let n = dims.point();
        let hidden = (0..HIDDEN * (n + 1)).map(|_| 0.3 * rng.normal()).collect();
        let prior: Vec<f64> = (0..dims.state * (HIDDEN + 1)).map(|_| 0.3 * rng.normal()).collect();
        Member { dims, hidden, output: prior.clone(), prior }
    }

    /// tanh of the hidden units, and a one.
    fn features(&self, z: &[f64]) -> Vec<f64> {
        let rows = self.hidden.chunks_exact(z.len() + 1);
        let unit = |row: &[f64]| row.iter().zip(z).map(|(w, z)| w * z).sum::<f64>() + row[z.len()];
        rows.map(|row| unit(row).tanh()).chain([1.0]).collect()
    }

    /// Ridge regression towards the prior: (ΦᵀΦ + λI)(v − v₀) = Φᵀ(y − Φ v₀).
    fn fit(&mut self, data: &Measurements) {
        const RIDGE: f64 = 1e-3;
        let width = HIDDEN + 1;
        let phi: Vec<Vec<f64>> = (0..data.len()).map(|i| self.features(data.points().at(i))).collect();
        let mut matrix = vec![0.0; width * width];
        for (e, entry) in matrix.iter_mut().enumerate() {
            let (a, b) = (e % width, e / width);
            *entry = phi.iter().map(|p| p[a] * p[b]).sum::<f64>() + if a == b { RIDGE } else { 0.0 };
        }
        let factor = Cholesky::new(&matrix, width).unwrap();
        for (j, prior) in self.prior.chunks_exact(width).enumerate() {
            let mut change = vec![0.0; width];
            for (i, p) in phi.iter().enumerate() {
                let known: f64 = p.iter().zip(prior).map(|(p, v)| p * v).sum();
                let rest = data.derivatives().at(i)[j] - known;
                change.iter_mut().zip(p).for_each(|(c, p)| *c += p * rest);
            }
            factor.solve_lower(&mut change, 1);
            factor.solve_transposed(&mut change, 1);
            let learned = prior.iter().zip(change).map(|(v, c)| v + c);
            self.output.splice(j * width..(j + 1) * width, learned);
        }
    }
}

impl Dynamics for Member {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.dims.state).enumerate() {
            let phi = self.features(z.at(i));
            for (out, v) in out.iter_mut().zip(self.output.chunks_exact(HIDDEN + 1)) {
                *out = v.iter().zip(&phi).map(|(v, p)| v * p).sum();
            }
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let n = z.dim();
        out.resize(self.dims.state, n, z.len());
        self.derivative(z, out.value.as_mut_slice());
        for i in 0..z.len() {
            let phi = self.features(z.at(i));
            for (e, slope) in out.jacobian.at_mut(i).iter_mut().enumerate() {
                let (v, d) = (&self.output[e / n * (HIDDEN + 1)..], e % n);
                *slope =
                    (0..HIDDEN).map(|h| v[h] * (1.0 - phi[h] * phi[h]) * self.hidden[h * (n + 1) + d]).sum();
            }
        }
    }
}

/// Networks that differ in their hidden layer and in their sample of the data; μ and σ are mean and standard
/// deviation over them.
#[derive(Clone)]
struct Ensemble {
    data: Measurements,
    members: Vec<Member>,
    stream: Stream,
    confidence_scale: Vec<f64>,
}

impl Ensemble {
    fn new(dims: Dims, stream: Stream) -> Self {
        let member = |m| Member::new(dims, &mut stream.child("member").index(m).rng());
        let members = (0..MEMBERS).map(member).collect();
        Ensemble { data: Measurements::new(dims), members, stream, confidence_scale: vec![1.0; dims.state] }
    }

    /// Each member learns a bootstrap sample of four measurements out of five; the fifth is held out to
    /// calibrate β.
    fn fit(&mut self) {
        let (held, seen): (Vec<usize>, Vec<usize>) = (0..self.data.len()).partition(|i| i % 5 == 0);
        for (m, member) in self.members.iter_mut().enumerate() {
            let mut rng = self.stream.child("bootstrap").index(m).rng();
            member.fit(&self.data.select((0..seen.len()).map(|_| seen[rng.below(seen.len())])));
        }
        let (held, mut at) = (self.data.select(held), Posterior::default());
        self.posterior(held.points(), Query::MeanStd, &mut at);
        let judged = |i: usize, j: usize| HeldOutPrediction {
            measured: held.derivatives().at(i)[j],
            mean: at.mean.value.at(i)[j],
            std: at.std.value.at(i)[j],
            noise_std: held.noise_std().at(i)[j],
        };
        self.confidence_scale = (0..self.dims().state)
            .map(|j| calibrated_scale(&(0..held.len()).map(|i| judged(i, j)).collect::<Vec<_>>(), 0.9))
            .collect();
    }

    fn each(&self, z: Points<'_>) -> Vec<Linearization> {
        let linearize = |member: &Member| {
            let mut out = Linearization::default();
            member.clone().linearize(z, &mut out);
            out
        };
        self.members.iter().map(linearize).collect()
    }
}

impl StatisticalModel for Ensemble {
    fn dims(&self) -> Dims {
        self.data.dims()
    }

    fn update(&mut self, new: &Measurements) -> Result<(), ModelError> {
        self.data.append(new)?;
        self.fit();
        Ok(())
    }

    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError> {
        if self.data.is_empty() {
            return Err(ModelError::NoData);
        }
        let data = self.data.clone();
        *self = Ensemble::new(data.dims(), stream);
        self.update(&data)?;
        Ok(TrainingReport::default())
    }

    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior) {
        let (each, count, n) = (self.each(z), MEMBERS as f64, z.dim());
        out.resize(self.dims(), z.len(), query);
        let average = |of: &dyn Fn(&Linearization) -> f64| each.iter().map(of).sum::<f64>() / count;
        let (mean, std) = (&mut out.mean, &mut out.std);
        for e in 0..mean.value.as_slice().len() {
            let mu = average(&|f| f.value.as_slice()[e]);
            mean.value.as_mut_slice()[e] = mu;
            let sigma = average(&|f| (f.value.as_slice()[e] - mu).powi(2)).sqrt();
            if query.std() {
                std.value.as_mut_slice()[e] = sigma;
            }
            for d in (e * n..(e + 1) * n).filter(|_| query.jacobian()) {
                let slope = average(&|f| f.jacobian.as_slice()[d]);
                mean.jacobian.as_mut_slice()[d] = slope;
                if query.std() {
                    // σ² = ⟨(f − μ)²⟩, so σ ∂σ = ⟨(f − μ) ∂f⟩.
                    let product = average(&|f| (f.value.as_slice()[e] - mu) * f.jacobian.as_slice()[d]);
                    std.jacobian.as_mut_slice()[d] = if sigma > 0.0 { product / sigma } else { 0.0 };
                }
            }
        }
    }

    fn covariance(&self, z: Points<'_>, out: &mut Blocks) {
        let (each, outputs, count) = (self.each(z), self.dims().state, MEMBERS as f64);
        out.resize(z.len() * z.len(), outputs);
        for j in 0..outputs {
            let f = |m: usize, i: usize| each[m].value.at(i)[j];
            let centred = |m: usize, i: usize| f(m, i) - (0..MEMBERS).map(|m| f(m, i)).sum::<f64>() / count;
            for (e, out) in out.at_mut(j).iter_mut().enumerate() {
                let (a, b) = (e % z.len(), e / z.len());
                *out = (0..MEMBERS).map(|m| centred(m, a) * centred(m, b)).sum::<f64>() / count;
            }
        }
    }

    fn confidence_scale(&self) -> &[f64] {
        &self.confidence_scale
    }

    fn fork(&self) -> Box<dyn StatisticalModel> {
        Box::new(self.clone())
    }

    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics> {
        Box::new(self.members[rng.below(MEMBERS)].clone())
    }
}

/// Noisy derivatives of `benchmark` at random points with coordinates within ±`reach`.
fn scattered(benchmark: &KnownSystem, reach: &[f64], count: usize, stream: Stream) -> Measurements {
    let (dims, mut f, mut rng) = (benchmark.dims(), benchmark.dynamics(), stream.rng());
    let mut data = Measurements::new(dims);
    let (mut derivative, noise) = (vec![0.0; dims.state], &benchmark.task.noise_std);
    for i in 0..count {
        let z: Vec<f64> = reach.iter().map(|r| rng.uniform(-r, *r)).collect();
        f.derivative(Points::single(&z), &mut derivative);
        derivative.iter_mut().zip(noise).for_each(|(d, s)| *d += s * rng.normal());
        let (state, control) = z.split_at(dims.state);
        data.push(i as f64, state, control, &derivative, noise).unwrap();
    }
    data
}

fn pendulum_data(count: usize, seed: u64) -> Measurements {
    scattered(&Benchmark::find("pendulum").unwrap(), &[3.1, 2.0, 2.0], count, Stream::root(seed))
}

/// Noisy derivatives along one run of a benchmark under slow sines.
fn along_a_run(name: &str, count: usize) -> (KnownSystem, Measurements) {
    let benchmark = Benchmark::find(name).unwrap();
    let (task, dims) = (&benchmark.task, benchmark.dims());
    let law = |t: f64, _: &[f64], u: &mut [f64]| {
        for (k, u) in u.iter_mut().enumerate() {
            *u = (1.3 * t + k as f64).sin() + 0.5 * (3.1 * t).cos();
        }
        task.control_bounds.clamp(u);
    };
    let mut f = benchmark.dynamics();
    let run = Simulator::default().run(f.as_mut(), &mut Law(law), &Experiment::of(task));
    let (mut data, mut rng) = (Measurements::new(dims), Stream::root(8).child(name).rng());
    for i in 0..count {
        let time = run.end() * i as f64 / (count - 1) as f64;
        let (mut x, mut u) = (vec![0.0; dims.state], vec![0.0; dims.control]);
        run.state_at(time, &mut x);
        law(time, &x, &mut u);
        let mut derivative = vec![0.0; dims.state];
        f.derivative(Points::single(&[&x[..], &u[..]].concat()), &mut derivative);
        derivative.iter_mut().zip(&task.noise_std).for_each(|(d, s)| *d += s * rng.normal());
        data.push(time, &x, &u, &derivative, &task.noise_std).unwrap();
    }
    (benchmark, data)
}

fn ensemble(count: usize) -> Ensemble {
    let mut model = Ensemble::new(PENDULUM, Stream::root(1));
    model.update(&pendulum_data(count, 2)).unwrap();
    model
}

fn assert_keeps_contract(what: &str, model: &dyn StatisticalModel, typical: Points<'_>) {
    let mut rng = Stream::root(3).child(what).rng();
    check::statistical_model(model, typical, &mut rng).unwrap_or_else(|e| panic!("{what}: {e}"));
}

#[test]
fn an_ensemble_of_networks_keeps_the_contract() {
    let typical = pendulum_data(20, 5);
    assert_keeps_contract("untrained", &Ensemble::new(PENDULUM, Stream::root(1)), typical.points());
    let mut model = ensemble(100);
    assert_keeps_contract("updated", &model, model.data.points());
    model.train(Stream::root(4)).unwrap();
    assert_keeps_contract("trained", &model, model.data.points());
    let foreign = Measurements::new(Dims { state: 1, control: 1 });
    let error = model.update(&foreign).unwrap_err();
    assert!(matches!(error, ModelError::Measurement(MeasurementError::OtherSystem { .. })), "{error}");
}

#[test]
fn covariances_a_column_at_a_time_are_those_of_the_whole() {
    let (model, points, mut whole) = (ensemble(60), pendulum_data(12, 3), Blocks::default());
    model.covariance(points.points(), &mut whole);
    let mut joint = model.covariance_columns(points.points());
    let mut column = vec![0.0; 12];
    assert_eq!((joint.outputs(), joint.len()), (2, 12));
    for j in 0..2 {
        for i in 0..12 {
            joint.column(j, i, &mut column);
            assert_eq!(column, whole.at(j)[12 * i..12 * (i + 1)]);
            assert_eq!(joint.variance(j)[i], column[i]);
        }
    }
}

#[test]
fn an_ensemble_of_networks_learns_the_pendulum() {
    let (test, mut at) = (pendulum_data(500, 6), Posterior::default());
    let rmse = |model: &Ensemble, at: &mut Posterior| {
        model.posterior(test.points(), Query::MeanStd, at);
        let square = |j: usize| {
            let error = |i: usize| at.mean.value.at(i)[j] - test.derivatives().at(i)[j];
            ((0..test.len()).map(|i| error(i).powi(2)).sum::<f64>() / test.len() as f64).sqrt()
        };
        [square(0), square(1)]
    };
    // The spreads are 2/√3 for ω and √(1.962²/2 + 4/3) = 1.8 for ω̇.
    let before = rmse(&Ensemble::new(PENDULUM, Stream::root(1)), &mut at);
    let model = ensemble(100);
    let after = rmse(&model, &mut at);
    assert!(before[0] > 0.5 && before[1] > 0.5, "{before:?}");
    assert!(after[0] < 0.1 && after[1] < 0.18, "{after:?}");
    // Bands of β σ hold most of what they promise on points that nobody has seen.
    for (j, beta) in model.confidence_scale().iter().enumerate() {
        let error = |i: usize| (at.mean.value.at(i)[j] - test.derivatives().at(i)[j]).abs();
        let inside = (0..test.len()).filter(|&i| error(i) <= 1.645 * beta * at.std.value.at(i)[j] + 0.02);
        assert!(inside.count() > test.len() * 8 / 10, "output {j}, β = {beta}");
    }
}

#[test]
fn gaussian_processes_of_every_mean_keep_the_contract() {
    let (pendulum, data) = (Benchmark::find("pendulum").unwrap(), pendulum_data(30, 7));
    let mut light = pendulum.clone();
    light.set_parameter("gravity", 7.0).unwrap();
    let physics = Mean::Physics(Physics::new(move || light.dynamics()));
    for (name, mean) in [("zero", Mean::Zero), ("linear", Mean::Linear), ("physics", physics)] {
        let settings = Settings { mean, features: 256, ..Settings::default() };
        let mut model = GaussianProcess::for_task(&pendulum.task, settings).unwrap();
        assert_keeps_contract(&format!("{name} mean, no data"), &model, data.points());
        model.update(&data.slice(0..1)).unwrap();
        assert_keeps_contract(&format!("{name} mean, one measurement"), &model, data.points());
        model.update(&data.slice(1..30)).unwrap();
        assert_keeps_contract(&format!("{name} mean, few data"), &model, data.points());
        model.train(Stream::root(0)).unwrap();
        assert_keeps_contract(&format!("{name} mean, trained"), &model, data.points());
    }
}

#[test]
fn gaussian_processes_of_every_kernel_keep_the_contract() {
    let data = pendulum_data(40, 8);
    let sum = |a: Box<dyn Kernel>, b: Box<dyn Kernel>| Box::new(Sum(a, b));
    let kernels: [Box<dyn Kernel>; 9] = [
        Box::new(Rbf),
        Box::new(Reference),
        Box::new(Matern32),
        Box::new(Matern52),
        Box::new(Linear),
        Box::new(Periodic),
        sum(Box::new(Constant), Box::new(Linear)),
        sum(Box::new(Scale(Box::new(Rbf))), Box::new(Linear)),
        Box::new(Product(Box::new(Matern52), sum(Box::new(Constant), Box::new(Linear)))),
    ];
    for kernel in kernels {
        let name = format!("{kernel:?}");
        let settings = Settings { kernel: Arc::from(kernel), features: 256, ..Settings::default() };
        for angles in [&[][..], &[0]] {
            let mut model = GaussianProcess::new(PENDULUM, angles, settings.clone()).unwrap();
            assert_keeps_contract(&format!("{name}, no data"), &model, data.points());
            model.update(&data).unwrap();
            assert_keeps_contract(&format!("{name}, angles {angles:?}"), &model, data.points());
        }
    }
}

#[test]
fn gaussian_processes_of_benchmark_systems_keep_the_contract() {
    // Fewer features make draws no less exact on average, only faster.
    let settings = || Settings { features: 256, ..Settings::default() };
    let forms = [
        ("exact", settings()),
        ("inducing", Settings { exact_limit: 40, inducing_points: 30, ..settings() }),
        ("shared", Settings { lengthscales: Lengthscales::Shared, noise: Noise::Learned, ..settings() }),
        ("reference", Settings { features: 256, ..Settings::reference() }),
    ];
    for name in ["glucose-in-blood", "cart-pole", "quadrotor-2d"] {
        let (benchmark, data) = along_a_run(name, 60);
        for (form, settings) in &forms {
            let mut model = GaussianProcess::for_task(&benchmark.task, settings.clone()).unwrap();
            model.update(&data).unwrap();
            model.train(Stream::root(1)).unwrap();
            assert_keeps_contract(&format!("{name}, {form}"), &model, data.points());
        }
    }
}

/// One broken promise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    BetaMissing,
    BetaNan,
    MeanInfinite,
    StdNegative,
    MeanSlope,
    StdSlope,
    MeanAlone,
    StdLeftOver,
    Batch,
    Counts,
    Scratch,
    CovarianceSize,
    CovarianceAsymmetric,
    CovarianceDiagonal,
    CovarianceIndefinite,
    DrawsSame,
    DrawsOwnRandomness,
    DrawsWide,
    DrawsNarrow,
    DrawsShifted,
    DrawSlope,
    DrawCounts,
    DrawBatch,
}

/// An ensemble with a fault.
struct Broken {
    inner: Ensemble,
    fault: Fault,
    calls: AtomicUsize,
}

impl Broken {
    fn calls(&self) -> usize {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

impl StatisticalModel for Broken {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }

    fn update(&mut self, new: &Measurements) -> Result<(), ModelError> {
        self.inner.update(new)
    }

    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError> {
        self.inner.train(stream)
    }

    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior) {
        self.inner.posterior(z, query, out);
        let add = |blocks: &mut Blocks, e: usize, change: f64| {
            blocks.as_mut_slice().get_mut(e).into_iter().for_each(|v| *v += change);
        };
        match self.fault {
            Fault::MeanInfinite => add(&mut out.mean.value, 7, f64::INFINITY),
            Fault::StdNegative => add(&mut out.std.value, 7, -100.0),
            Fault::MeanSlope => add(&mut out.mean.jacobian, 11, 1e-4),
            Fault::StdSlope => out.std.jacobian.as_mut_slice().iter_mut().for_each(|v| *v *= 1.001),
            Fault::MeanAlone if query == Query::Mean => add(&mut out.mean.value, 7, 1e-6),
            Fault::StdLeftOver if query == Query::MeanJacobian => {
                out.std.value.resize(self.dims().state, z.len());
            }
            Fault::Batch => add(&mut out.mean.value, 0, 1e-9 * z.len() as f64),
            Fault::Counts => {
                let factor = 1.0 + f64::EPSILON * f64::from(u8::from(self.calls() == 0));
                out.mean.value.as_mut_slice().iter_mut().for_each(|v| *v *= factor);
            }
            Fault::Scratch => {
                let scratch = out.scratch.take(1);
                add(&mut out.mean.value, 0, scratch[0]);
                out.scratch.give(scratch);
            }
            _ => {}
        }
    }

    fn covariance(&self, z: Points<'_>, out: &mut Blocks) {
        self.inner.covariance(z, out);
        let n = z.len();
        if n < 2 {
            return;
        }
        let block = out.at_mut(1);
        match self.fault {
            Fault::CovarianceSize => out.grow(),
            Fault::CovarianceAsymmetric => block[1] += 1e-6,
            Fault::CovarianceDiagonal => block[n + 1] += 1e-6,
            Fault::CovarianceIndefinite => {
                let product = 1.1 * (block[0] * block[n + 1]).sqrt();
                (block[1], block[n]) = (product, product);
            }
            _ => {}
        }
    }

    fn confidence_scale(&self) -> &[f64] {
        match self.fault {
            Fault::BetaMissing => &[1.0],
            Fault::BetaNan => &[1.0, f64::NAN],
            _ => self.inner.confidence_scale(),
        }
    }

    fn fork(&self) -> Box<dyn StatisticalModel> {
        self.inner.fork()
    }

    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics> {
        let chosen = match self.fault {
            Fault::DrawsSame => 0,
            Fault::DrawsOwnRandomness => self.calls() % MEMBERS,
            _ => rng.below(MEMBERS),
        };
        // a f + b μ + c (f₀ − f₁)
        let (a, b, c) = match self.fault {
            Fault::DrawsWide => (2.0, -1.0, 0.0),
            Fault::DrawsNarrow => (0.5, 0.5, 0.0),
            Fault::DrawsShifted => (1.0, 0.0, 1.0),
            _ => (1.0, 0.0, 0.0),
        };
        let weight = |m: usize| {
            let own = if m == chosen { a } else { 0.0 };
            own + b / MEMBERS as f64 + [c, -c].get(m).unwrap_or(&0.0)
        };
        let terms = self.inner.members.iter().enumerate().map(|(m, f)| (weight(m), f.clone())).collect();
        Box::new(BrokenDraw { terms, fault: self.fault, calls: 0.0 })
    }
}

/// A weighted sum of networks with a fault.
struct BrokenDraw {
    terms: Vec<(f64, Member)>,
    fault: Fault,
    calls: f64,
}

impl Dynamics for BrokenDraw {
    fn dims(&self) -> Dims {
        PENDULUM
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let mut linear = Linearization::default();
        self.linearize(z, &mut linear);
        out.copy_from_slice(linear.value.as_slice());
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        out.resize(2, 3, z.len());
        out.value.as_mut_slice().fill(0.0);
        out.jacobian.as_mut_slice().fill(0.0);
        for (weight, member) in &mut self.terms {
            let mut own = Linearization::default();
            member.linearize(z, &mut own);
            for (out, own) in [(&mut out.value, &own.value), (&mut out.jacobian, &own.jacobian)] {
                out.as_mut_slice().iter_mut().zip(own.as_slice()).for_each(|(o, v)| *o += *weight * v);
            }
        }
        self.calls += 1.0;
        let (value, slope) = match self.fault {
            Fault::DrawCounts => (1e-9 * self.calls, 0.0),
            Fault::DrawBatch => (1e-9 * z.len() as f64, 0.0),
            Fault::DrawSlope => (0.0, 1e-4),
            _ => (0.0, 0.0),
        };
        out.value.as_mut_slice().iter_mut().for_each(|v| *v += value);
        out.jacobian.as_mut_slice().iter_mut().for_each(|v| *v += slope);
    }
}

#[test]
fn whoever_breaks_the_contract_is_told_how() {
    let told = |fault| {
        let broken = Broken { inner: ensemble(60), fault, calls: AtomicUsize::new(0) };
        let typical = broken.inner.data.clone();
        check::statistical_model(&broken, typical.points(), &mut Stream::root(9).rng())
    };
    assert_eq!(told(Fault::None), Ok(()));
    for (fault, start, end) in [
        (Fault::BetaMissing, "β has 1 entries; it must have 2", ""),
        (Fault::BetaNan, "β[1]", "is NaN; it must be zero or positive, and finite"),
        (Fault::MeanInfinite, "μ[1]", "is inf; it must be finite"),
        (Fault::StdNegative, "σ[1]", "it must be zero or positive"),
        (Fault::MeanSlope, "∂μ/∂z[1, 2]", ""),
        (Fault::StdSlope, "∂σ/∂z[", ""),
        (Fault::MeanAlone, "μ[1]", "with Query::All"),
        (Fault::StdLeftOver, "σ has 100 entries; it must have 0", ""),
        (Fault::Batch, "μ[0]", "in a batch"),
        (Fault::Counts, "μ[0]", "the first time"),
        (Fault::Scratch, "μ[0]", "is NaN; it must be finite"),
        (Fault::CovarianceSize, "the covariance has 7500 entries; it must have 5000", ""),
        (Fault::CovarianceAsymmetric, "the covariance[1]", "the other way round"),
        (Fault::CovarianceDiagonal, "the covariance[1]", "as σ²"),
        (Fault::CovarianceIndefinite, "the covariance matrix of output 1 is not positive semidefinite", ""),
        (Fault::DrawsSame, "64 draws with different random states are the same function", ""),
        (Fault::DrawsOwnRandomness, "a draw[0]", "when drawn from the same random state"),
        (Fault::DrawsWide, "over 64 draws", "it must lie between 0.4 and 3"),
        (Fault::DrawsNarrow, "over 64 draws", "it must lie between 0.4 and 3"),
        (Fault::DrawsShifted, "over 64 draws", "it must lie between -0.625 and 0.625"),
        (Fault::DrawSlope, "∂f/∂z of a draw[0, 0]", ""),
        (Fault::DrawCounts, "a draw[0]", "the first time"),
        (Fault::DrawBatch, "a draw[0]", "in a batch"),
    ] {
        let violation: Violation = told(fault).expect_err(&format!("{fault:?} is not seen"));
        let text = violation.to_string();
        assert!(text.starts_with(start) && text.ends_with(end), "{fault:?}: {text}");
    }
}
