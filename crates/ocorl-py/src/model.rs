//! The Python classes `Model` and `Draw`, and measurement strategies as functions.

use crate::arrays::{Shape, list, matrices, matrix, rows, vector};
use crate::errors::{Answer, Failure, guard};
use crate::values::whole;
use crate::work::{self, How, lock};
use numpy::{PyArray1, PyArray2, PyArray3};
use ocorl::learn::{Learner, ModelKind, ModelSettings, Strategy};
use ocorl::linalg::{Blocks, Dims, Points};
use ocorl::measurements::{MeasurementError, Measurements};
use ocorl::model::{GaussianProcess, Mean, Posterior, Query, StatisticalModel};
use ocorl::random::Stream;
use ocorl::select::{
    FirstPick, equidistant, greedy_max_determinant, greedy_max_distance, greedy_max_variance,
};
use ocorl::states::{Controls, Method, Record, derivatives};
use ocorl::system::Dynamics;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// Number of points evaluated between two checks for Ctrl-C.
const CHUNK: usize = 4096;

/// A fitted Gaussian process model; immutable.
#[pyclass(frozen, module = "ocorl._ocorl")]
pub(crate) struct Model {
    inner: Arc<GaussianProcess>,
    /// Termination status of the training of each output; empty for a restored model.
    statuses: Vec<String>,
}

/// The model of a learner, with the data that it was conditioned on.
pub(crate) struct Learned {
    settings: ModelSettings,
    angles: Vec<usize>,
    model: GaussianProcess,
}

impl Learned {
    /// Copies the model of a learner; `prior` is its prior mean.
    pub(crate) fn of(learner: &Learner, prior: Mean) -> Answer<Self> {
        let (settings, task) = (learner.settings(), learner.task());
        let (dims, angles) = (settings.model_dims(task), task.angles.clone());
        let none = |what: &str| Failure::invalid(format!("there is no model to take out: {what}"));
        if settings.model.kind != ModelKind::Gp {
            return Err(none("it is an ensemble")
                .hint("choose a Gaussian process: model.kind = \"gp\"")
                .into());
        }
        let Some(checkpoint) = learner.model().checkpoint() else {
            return Err(none("nothing has been learned yet").into());
        };
        let own = ocorl::model::Settings { mean: prior, ..settings.model.build() };
        let mut model = GaussianProcess::new(dims, &angles, own)?;
        StatisticalModel::restore(&mut model, learner.data(), &checkpoint)?;
        Ok(Learned { settings: settings.model.clone(), angles, model })
    }

    /// The data as arrays, the settings as JSON, and the model.
    pub(crate) fn python<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        let (dict, data) = (PyDict::new(py), self.model.data());
        let dims = data.dims();
        let part = |from: usize, to: usize| {
            (0..data.len()).flat_map(|i| data.points().at(i)[from..to].to_vec()).collect::<Vec<f64>>()
        };
        dict.set_item("x", matrix(py, &part(0, dims.state), dims.state)?)?;
        dict.set_item("u", matrix(py, &part(dims.state, dims.point()), dims.control)?)?;
        dict.set_item("x_dot", matrix(py, data.derivatives().as_slice(), dims.state)?)?;
        dict.set_item("noise", matrix(py, data.noise_std().as_slice(), dims.state)?)?;
        dict.set_item("angles", self.angles.clone())?;
        let json = |error: serde_json::Error| crate::errors::internal("Learned.python", &error.to_string());
        let settings = serde_json::to_value(&self.settings).map_err(json)?;
        dict.set_item("settings", crate::values::python(py, &settings)?)?;
        dict.set_item("model", Model { inner: Arc::new(self.model.clone()), statuses: Vec::new() })?;
        Ok(dict)
    }
}

/// The rows of x, u and x_dot with the standard deviation of each entry of x_dot.
pub(crate) fn measurements(
    x: &Bound<'_, PyAny>,
    u: &Bound<'_, PyAny>,
    x_dot: &Bound<'_, PyAny>,
    noise: &Bound<'_, PyAny>,
) -> Answer<Measurements> {
    let dims = Dims { state: columns(x, "x")?, control: columns(u, "u")? };
    if dims.state == 0 {
        return Err(Failure::invalid("'x' has no columns").into());
    }
    let shape = |what, columns| Shape { what, columns };
    let x = rows(x, shape("x", dims.state))?;
    let u = if dims.control > 0 { rows(u, shape("u", dims.control))? } else { Vec::new() };
    let x_dot = rows(x_dot, shape("x_dot", dims.state))?;
    let noise = rows(noise, shape("noise", dims.state))?;
    let count = x.len() / dims.state;
    for (what, found) in [
        ("u", u.len().checked_div(dims.control).unwrap_or(count)),
        ("x_dot", x_dot.len() / dims.state),
        ("noise", noise.len() / dims.state),
    ] {
        if found != count {
            return Err(Failure::invalid(format!("'x' has {count} rows, '{what}' has {found}")).into());
        }
    }
    let row = |all: &[f64], i: usize, size: usize| all[i * size..(i + 1) * size].to_vec();
    let mut data = Measurements::new(dims);
    for i in 0..count {
        let (x, u) = (row(&x, i, dims.state), row(&u, i, dims.control));
        let (y, noise) = (row(&x_dot, i, dims.state), row(&noise, i, dims.state));
        // The rows have numbers instead of times.
        let by_row = |error: MeasurementError| {
            Failure::invalid(error.to_string().replace(&format!(" at t = {i}; "), "; "))
        };
        data.push(i as f64, &x, &u, &y, &noise).map_err(by_row)?;
    }
    Ok(data)
}

/// Parses the settings of a model.
fn model_settings(settings: &str) -> Answer<ModelSettings> {
    let strange = |error: serde_json::Error| {
        Failure::invalid("these are no settings of a model").detail("cause", error.to_string())
    };
    Ok(serde_json::from_str(settings).map_err(strange)?)
}

impl Model {
    /// The model for planning.
    pub(crate) fn shared(&self) -> Arc<dyn StatisticalModel> {
        self.inner.clone()
    }

    fn dims(&self) -> Dims {
        self.inner.dims()
    }

    fn points(&self, z: &Bound<'_, PyAny>) -> Answer<Vec<f64>> {
        let z = rows(z, Shape { what: "z", columns: self.dims().point() })?;
        match z.iter().position(|v| !v.is_finite()) {
            None => Ok(z),
            Some(i) => Err(Failure::invalid(format!(
                "'z' has the value {} in row {}, column {}; it must be finite",
                z[i],
                i / self.dims().point(),
                i % self.dims().point()
            ))
            .into()),
        }
    }
}

type Matrix<'py> = Bound<'py, PyArray2<f64>>;

#[pymethods]
impl Model {
    /// Fits a model to rows of x, u and x_dot, with the noise standard deviation of each entry of x_dot, the indices of angles, and
    /// settings as JSON.
    #[new]
    fn new(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        u: &Bound<'_, PyAny>,
        x_dot: &Bound<'_, PyAny>,
        noise: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole)] angles: Vec<usize>,
        settings: &str,
        #[pyo3(from_py_with = whole)] seed: u64,
    ) -> PyResult<Self> {
        guard(py, "Model", || {
            let settings = model_settings(settings)?;
            let data = measurements(x, u, x_dot, noise)?;
            work::quietly(py, How::at("Model"), move |_| {
                let mut model = GaussianProcess::new(data.dims(), &angles, settings.build())?;
                model.update(&data)?;
                let report = model.train(Stream::root(seed).child("model"))?;
                let statuses = report.fits.iter().map(|fit| fit.status.to_string()).collect();
                Ok(Model { inner: Arc::new(model), statuses })
            })
        })
    }

    /// Restores a model from its data, settings and the parameters `state`, without training.
    #[staticmethod]
    fn restored(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        u: &Bound<'_, PyAny>,
        x_dot: &Bound<'_, PyAny>,
        noise: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole)] angles: Vec<usize>,
        settings: &str,
        state: &str,
    ) -> PyResult<Self> {
        guard(py, "Model.restored", || {
            let settings = model_settings(settings)?;
            let data = measurements(x, u, x_dot, noise)?;
            let checkpoint = serde_json::from_str(state).map_err(|error| {
                Failure::invalid("this is no state of a model").detail("cause", error.to_string())
            })?;
            work::quietly(py, How::at("Model.restored"), move |_| {
                let mut model = GaussianProcess::new(data.dims(), &angles, settings.build())?;
                StatisticalModel::restore(&mut model, &data, &checkpoint)?;
                Ok(Model { inner: Arc::new(model), statuses: Vec::new() })
            })
        })
    }

    /// The trained parameters as JSON; `None` if there are none.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Option<String>> {
        guard(py, "Model.state", || {
            let text = |checkpoint| {
                serde_json::to_string(&checkpoint)
                    .map_err(|error| crate::errors::internal("Model.state", &error.to_string()))
            };
            Ok(self.inner.checkpoint().map(text).transpose()?)
        })
    }

    /// The model conditioned on more measurements, with unchanged parameters.
    fn updated(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        u: &Bound<'_, PyAny>,
        x_dot: &Bound<'_, PyAny>,
        noise: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        guard(py, "Model.updated", || {
            let data = measurements(x, u, x_dot, noise)?;
            let mut model = (*self.inner).clone();
            let statuses = self.statuses.clone();
            work::quietly(py, How::at("Model.updated"), move |_| {
                model.update(&data)?;
                Ok(Model { inner: Arc::new(model), statuses })
            })
        })
    }

    /// Mean and standard deviation of each input coordinate of the kernel and of each output, in which the parameters are measured.
    #[getter]
    fn scales<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyArray1<f64>>; 4]> {
        guard(py, "Model.scales", || {
            let ((shift, scale), (means, spreads)) =
                (self.inner.input_scaling(), self.inner.output_scaling());
            Ok([shift, scale, means, spreads].map(|values| vector(py, values)))
        })
    }

    /// Posterior mean μ and standard deviation σ at the rows of z = (x, u); σ is `None` unless `std` is true.
    #[pyo3(signature = (z, std=false))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        z: &Bound<'py, PyAny>,
        std: bool,
    ) -> PyResult<(Matrix<'py>, Option<Matrix<'py>>)> {
        guard(py, "Model.predict", || {
            let (z, dims) = (self.points(z)?, self.dims());
            let query = if std { Query::MeanStd } else { Query::Mean };
            let (mut mean, mut spread) = (Vec::new(), Vec::new());
            for part in z.chunks(CHUNK * dims.point()) {
                let posterior = work::brief(py, || {
                    let mut posterior = Posterior::default();
                    self.inner.posterior(Points::new(part, dims.point()), query, &mut posterior);
                    posterior
                })?;
                mean.extend_from_slice(posterior.mean.value.as_slice());
                spread.extend_from_slice(posterior.std.value.as_slice());
                py.check_signals()?;
            }
            let spread = if std { Some(matrix(py, &spread, dims.state)?) } else { None };
            Ok((matrix(py, &mean, dims.state)?, spread))
        })
    }

    /// Posterior mean μ and its Jacobian ∂μ/∂z at the rows of z.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        z: &Bound<'py, PyAny>,
    ) -> PyResult<(Matrix<'py>, Bound<'py, PyArray3<f64>>)> {
        guard(py, "Model.jacobian", || {
            let (z, dims) = (self.points(z)?, self.dims());
            let posterior = work::brief(py, || {
                let mut posterior = Posterior::default();
                self.inner.posterior(Points::new(&z, dims.point()), Query::MeanJacobian, &mut posterior);
                posterior
            })?;
            let jacobian = matrices(py, posterior.mean.jacobian.as_slice(), dims.state, dims.point())?;
            Ok((matrix(py, posterior.mean.value.as_slice(), dims.state)?, jacobian))
        })
    }

    /// Posterior covariances between all rows of z, one matrix per output.
    fn covariance<'py>(&self, py: Python<'py>, z: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        guard(py, "Model.covariance", || {
            let (z, dims) = (self.points(z)?, self.dims());
            let count = z.len() / dims.point();
            let all = work::brief(py, || {
                let mut all = Blocks::default();
                self.inner.covariance(Points::new(&z, dims.point()), &mut all);
                all
            })?;
            Ok(matrices(py, all.as_slice(), count, count)?)
        })
    }

    /// A function drawn from the posterior, determined by the seed.
    fn draw(&self, py: Python<'_>, #[pyo3(from_py_with = whole)] seed: u64) -> PyResult<Draw> {
        guard(py, "Model.draw", || {
            let drawn = work::brief(py, || self.inner.sample(&mut Stream::root(seed).rng()))?;
            Ok(Draw { inner: Mutex::new(drawn), dims: self.dims() })
        })
    }

    /// Confidence scale β of each output.
    #[getter]
    fn confidence_scale<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Model.confidence_scale", || Ok(vector(py, self.inner.confidence_scale())))
    }

    /// Fitted hyperparameters of each output: lengthscales, variances, noise factor, likelihood.
    #[getter]
    fn learned<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(py, "Model.learned", || {
            let (dict, outputs) = (PyDict::new(py), self.dims().state);
            let parameters = self.inner.parameters();
            let of = |name: &str| {
                let mut all = Vec::new();
                for output in 0..outputs {
                    let values = &self.inner.hyperparameters(output).kernel;
                    let named = parameters.iter().zip(values).filter(|((p, _), _)| p.name == name);
                    all.extend(named.map(|(_, value)| value.exp()));
                }
                all
            };
            let mut names: Vec<&str> = parameters.iter().map(|(p, _)| p.name).collect();
            names.dedup();
            for name in names {
                let values = of(name);
                dict.set_item(name, matrix(py, &values, values.len() / outputs)?)?;
            }
            let noise: Vec<f64> =
                (0..outputs).map(|j| (0.5 * self.inner.hyperparameters(j).noise).exp()).collect();
            dict.set_item("noise_factor", vector(py, &noise))?;
            let likelihood = |output| self.inner.log_likelihood(output).map_or(f64::NAN, |(value, _)| value);
            dict.set_item("log_likelihood", (0..outputs).map(likelihood).collect::<Vec<_>>())?;
            dict.set_item("status", self.statuses.clone())?;
            Ok(dict)
        })
    }

    /// Jitter added to the diagonal of each covariance matrix, as a fraction of it.
    #[getter]
    fn jitter<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Model.jitter", || {
            let mut jitter = vec![0.0; self.dims().state];
            for note in self.inner.notes() {
                if let ocorl::model::Note::Jitter { output, relative } = note {
                    jitter[output] = relative;
                }
            }
            Ok(vector(py, &jitter))
        })
    }

    /// Information gain I(y; f) of each output, in nats.
    #[getter]
    fn information_gain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        guard(py, "Model.information_gain", || Ok(vector(py, &self.inner.information_gain())))
    }

    /// Warnings about the fit.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, "Model.notes", || Ok(self.inner.notes().iter().map(ToString::to_string).collect()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Model.__repr__", || {
            let dims = self.dims();
            let count = self.inner.data().len();
            Ok(format!("Model({} states, {} inputs, {count} measurements)", dims.state, dims.control))
        })
    }

    /// Estimated derivatives at the measured states of one run: t, x, u, x_dot and the standard deviation of each.
    #[staticmethod]
    fn derivatives<'py>(
        py: Python<'py>,
        t: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        noise: &Bound<'py, PyAny>,
        method: &str,
    ) -> PyResult<(Matrix<'py>, Matrix<'py>, Matrix<'py>, Matrix<'py>)> {
        guard(py, "Model.derivatives", || {
            let dims = Dims { state: columns(x, "x")?, control: columns(u, "u")? };
            let method = match method {
                "smoothing" => Method::Smoothing,
                "local-polynomial" => Method::LocalPolynomial,
                other => {
                    let message = format!("no method '{other}' (there are: smoothing, local-polynomial)");
                    return Err(Failure::invalid(message).into());
                }
            };
            let times = list(t, "t", None)?;
            let states = rows(x, Shape { what: "x", columns: dims.state })?;
            let noise = list(noise, "noise", Some(dims.state))?;
            let controls = if dims.control > 0 {
                rows(u, Shape { what: "u", columns: dims.control })?
            } else {
                Vec::new()
            };
            let record = record(&times, states, controls, dims)?;
            let data = work::quietly(py, How::at("Model.derivatives"), move |_| {
                Ok(derivatives(&record, &noise, method, dims)?)
            })?;
            let (mut x, mut u) = (Vec::new(), Vec::new());
            for i in 0..data.len() {
                let (state, control) = data.points().at(i).split_at(dims.state);
                x.extend_from_slice(state);
                u.extend_from_slice(control);
            }
            let control = if dims.control > 0 {
                matrix(py, &u, dims.control)?
            } else {
                PyArray2::zeros(py, [data.len(), 0], false)
            };
            let x_dot = matrix(py, data.derivatives().as_slice(), dims.state)?;
            Ok((
                matrix(py, &x, dims.state)?,
                control,
                x_dot,
                matrix(py, data.noise_std().as_slice(), dims.state)?,
            ))
        })
    }
}

/// Number of columns of a matrix.
fn columns(value: &Bound<'_, PyAny>, what: &str) -> Answer<usize> {
    let shape: Vec<usize> = value
        .getattr("shape")
        .and_then(|shape| shape.extract())
        .map_err(|_| Failure::invalid(format!("'{what}' must be a two-dimensional array")))?;
    match shape.as_slice() {
        [_, columns] => Ok(*columns),
        other => {
            let found = crate::arrays::shape_text(other);
            Err(Failure::invalid(format!("'{what}' has the shape {found}, expected two dimensions")).into())
        }
    }
}

/// Recorded states of one run, relative to its first time.
fn record(times: &[f64], states: Vec<f64>, controls: Vec<f64>, dims: Dims) -> Answer<Record> {
    let count = times.len();
    for (what, found) in
        [("x", states.len() / dims.state), ("u", controls.len().checked_div(dims.control).unwrap_or(count))]
    {
        if found != count {
            return Err(
                Failure::invalid(format!("'t' has {count} entries, '{what}' has {found} rows")).into()
            );
        }
    }
    if count < 3 {
        let message = format!("derivatives need at least 3 states of a run, there are {count}");
        return Err(Failure::invalid(message).into());
    }
    if let Some(i) = (1..count).find(|&i| !(times[i] > times[i - 1] && times[i].is_finite())) {
        let message = format!("'t' must increase: t[{}] = {}, t[{i}] = {}", i - 1, times[i - 1], times[i]);
        return Err(Failure::invalid(message).into());
    }
    if let Some(bad) = states.iter().chain(&controls).chain(&times[..1]).find(|v| !v.is_finite()) {
        return Err(
            Failure::invalid(format!("a state, an input or a time is {bad}; it must be finite")).into()
        );
    }
    let from_zero: Vec<f64> = times.iter().map(|t| t - times[0]).collect();
    let states = Blocks::from_vec(states, dims.state);
    let controls = if dims.control > 0 {
        Controls::new(from_zero.clone(), Blocks::from_vec(controls, dims.control))
    } else {
        Controls::new(Vec::new(), Blocks::default())
    };
    Ok(Record { times: from_zero, states, controls })
}

/// A function drawn from a model's posterior.
#[pyclass(frozen, module = "ocorl._ocorl")]
pub(crate) struct Draw {
    inner: Mutex<Box<dyn Dynamics>>,
    dims: Dims,
}

#[pymethods]
impl Draw {
    /// Values of f at the rows of z = (x, u).
    fn __call__<'py>(&self, py: Python<'py>, z: &Bound<'py, PyAny>) -> PyResult<Matrix<'py>> {
        guard(py, "Draw.__call__", || {
            let z = rows(z, Shape { what: "z", columns: self.dims.point() })?;
            let mut out = vec![0.0; z.len() / self.dims.point() * self.dims.state];
            let out = py.detach(|| {
                lock(&self.inner).derivative(Points::new(&z, self.dims.point()), &mut out);
                out
            });
            Ok(matrix(py, &out, self.dims.state)?)
        })
    }
}

/// Indices of `count` of the candidates (t, z) selected by a strategy, best first; `noise` is the standard deviation of a measurement of
/// each output.
#[pyfunction]
pub(crate) fn choose_times<'py>(
    py: Python<'py>,
    strategy: &str,
    model: &Bound<'py, Model>,
    t: &Bound<'py, PyAny>,
    z: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = whole)] count: usize,
    noise: &Bound<'py, PyAny>,
) -> PyResult<Vec<usize>> {
    guard(py, "choose_times", || {
        let (times, z, dims) = (list(t, "t", None)?, model.get().points(z)?, model.get().dims());
        let noise = list(noise, "noise", Some(dims.state))?;
        let candidates = z.len() / dims.point();
        if times.len() != candidates {
            let message = format!("'t' has {} entries, 'z' has {candidates} rows", times.len());
            return Err(Failure::invalid(message).into());
        }
        if count > candidates {
            let message = format!("{count} of {candidates} candidates cannot be chosen");
            return Err(Failure::invalid(message).hint("give more candidates, or ask for fewer").into());
        }
        if let Some(bad) = noise.iter().find(|s| !(**s >= 0.0 && s.is_finite())) {
            return Err(Failure::invalid(format!("the noise is {bad}; it must be zero or positive")).into());
        }
        let variances: Vec<f64> = noise.iter().map(|s| s * s).collect();
        let model = model.get().inner.clone();
        let Some(strategy) = Strategy::ALL.into_iter().find(|s| s.name() == strategy) else {
            let names = Strategy::ALL.map(Strategy::name).join(", ");
            return Err(Failure::invalid(format!("no strategy '{strategy}'"))
                .hint(format!("there are: {names}"))
                .into());
        };
        work::quietly(py, How::at("choose_times"), move |_| {
            let mut joint = model.covariance_columns(Points::new(&z, dims.point()));
            Ok(match strategy {
                Strategy::MaxDeterminant => greedy_max_determinant(joint.as_mut(), &variances, count),
                Strategy::MaxKernelDistance => {
                    let scales: Vec<f64> = noise.iter().map(|s| if *s > 0.0 { *s } else { 1.0 }).collect();
                    greedy_max_distance(joint.as_mut(), &scales, FirstPick::LargestVariance, count)
                }
                Strategy::Oracle => greedy_max_variance(joint.as_mut(), &variances, count),
                Strategy::Equidistant | Strategy::EquidistantGrowing => by_the_clock(&times, count),
                other => return Err(not_alone(other.name())),
            })
        })
    })
}

/// The candidates nearest to equidistant times, each used once.
fn by_the_clock(times: &[f64], count: usize) -> Vec<usize> {
    let low = times.iter().copied().fold(f64::INFINITY, f64::min);
    let high = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut free: Vec<usize> = (0..times.len()).collect();
    let mut chosen = Vec::new();
    for wanted in equidistant(high - low, count) {
        let distance = |i: &usize| (times[*i] - low - wanted).abs();
        let nearest = free.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some(nearest) = nearest {
            free.retain(|i| *i != nearest);
            chosen.push(nearest);
        }
    }
    chosen
}

/// Error for a strategy that cannot be applied to a model and candidates alone.
fn not_alone(name: &str) -> crate::errors::Trouble {
    Failure::invalid(format!("'{name}' cannot choose among candidates"))
        .hint("max-determinant, max-kernel-distance, oracle and equidistant can; the others decide during an episode")
        .into()
}
