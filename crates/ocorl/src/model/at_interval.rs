//! A transition model evaluated at one fixed hold interval.
//!
//! In discrete time the model describes the mean derivative over a zero-order hold of length τ, with τ as its last input:
//!
//! ```text
//! g(x, u, τ) = (h(x, u, τ) − x)/τ,   h(x, u, τ): the state after u was held for τ from x
//! ```
//!
//! At a fixed τ, g is a function of (x, u) like any vector field, and x⁺ = x + τ g(x, u, τ) is one step of Euler's method.

use super::covariance_columns::CovarianceColumns;
use super::notes::Note;
use super::training::TrainingReport;
use super::weight_space::WeightSpace;
use super::{ModelError, Posterior, Query, StatisticalModel};
use crate::linalg::{Blocks, Dims, Linearization, Points};
use crate::measurements::{MeasurementError, Measurements};
use crate::random::{Rng, Stream};
use crate::system::Dynamics;
use std::sync::Arc;

/// The function z ↦ g(z, τ) of a model whose last control is the interval τ.
///
/// ```text
/// μ(x, u) = μ(x, u, τ),   σ(x, u) = σ(x, u, τ),   Jacobians without their column ∂/∂τ
/// ```
#[derive(Clone)]
pub struct AtInterval {
    model: Arc<dyn StatisticalModel>,
    interval: f64,
}

impl AtInterval {
    /// Fixes the last control of `model` at `interval`. Panics if the model has no control.
    pub fn new(model: Arc<dyn StatisticalModel>, interval: f64) -> Self {
        assert!(model.dims().control > 0, "the last control of the model is the interval; it has none");
        AtInterval { model, interval }
    }

    /// The interval τ.
    pub fn interval(&self) -> f64 {
        self.interval
    }

    /// Applies `change` to a copy of the inner model and keeps the copy.
    fn changed<T>(
        &mut self,
        change: impl FnOnce(&mut dyn StatisticalModel) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let mut model = self.model.fork();
        let answer = change(model.as_mut());
        self.model = model.into();
        answer
    }

    /// Appends τ to every point z, in buffer supplied by the caller.
    fn extended(&self, z: Points<'_>, mut buffer: Vec<f64>) -> Vec<f64> {
        extend(z, self.interval, &mut buffer);
        buffer
    }

    /// Appends τ to the controls of all measurements.
    fn extended_data(&self, data: &Measurements) -> Result<Measurements, ModelError> {
        if data.dims() != self.dims() {
            return Err(MeasurementError::OtherSystem { found: data.dims(), expected: self.dims() }.into());
        }
        Ok(data.mapped(self.model.dims(), |z| z.iter().copied().chain([self.interval]).collect()))
    }

    fn inner(&self) -> usize {
        self.model.dims().point()
    }
}

/// Appends the interval τ to every point z.
fn extend(z: Points<'_>, interval: f64, out: &mut Vec<f64>) {
    out.clear();
    for i in 0..z.len() {
        out.extend_from_slice(z.at(i));
        out.push(interval);
    }
}

/// Removes the column ∂/∂τ, the last of every `inputs` entries, from each Jacobian.
fn drop_last(inputs: usize, jacobian: &mut Blocks) {
    let (rows, count) = (jacobian.size() / inputs, jacobian.len());
    for row in 0..rows * count {
        let from = row * inputs;
        jacobian.as_mut_slice().copy_within(from..from + inputs - 1, row * (inputs - 1));
    }
    // This only shortens the buffer; the entries moved to the front are kept.
    jacobian.resize(rows * (inputs - 1), count);
}

impl StatisticalModel for AtInterval {
    fn dims(&self) -> Dims {
        let Dims { state, control } = self.model.dims();
        Dims { state, control: control - 1 }
    }

    /// Adds measurements of g at this interval.
    fn update(&mut self, new: &Measurements) -> Result<(), ModelError> {
        let extended = self.extended_data(new)?;
        self.changed(|model| model.update(&extended))
    }

    fn replace(&mut self, all: &Measurements) -> Result<(), ModelError> {
        let extended = self.extended_data(all)?;
        self.changed(|model| model.replace(&extended))
    }

    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError> {
        self.changed(|model| model.train(stream))
    }

    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior) {
        let points = self.extended(z, out.scratch.take(0));
        self.model.posterior(Points::new(&points, self.inner()), query, out);
        out.scratch.give(points);
        drop_last(self.inner(), &mut out.mean.jacobian);
        drop_last(self.inner(), &mut out.std.jacobian);
    }

    fn covariance(&self, z: Points<'_>, out: &mut Blocks) {
        self.model.covariance(Points::new(&self.extended(z, Vec::new()), self.inner()), out);
    }

    fn covariance_columns(&self, z: Points<'_>) -> Box<dyn CovarianceColumns + '_> {
        self.model.covariance_columns(Points::new(&self.extended(z, Vec::new()), self.inner()))
    }

    fn confidence_scale(&self) -> &[f64] {
        self.model.confidence_scale()
    }

    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics> {
        Box::new(Drawn { inner: self.model.sample(rng), interval: self.interval, points: Vec::new() })
    }

    fn weight_space(&self) -> Option<WeightSpace> {
        Some(self.model.weight_space()?.with_last_control(self.interval))
    }

    fn information_gain(&self) -> Vec<f64> {
        self.model.information_gain()
    }

    fn prior(&self) -> Option<Box<dyn StatisticalModel>> {
        let model = self.model.prior()?.into();
        Some(Box::new(AtInterval { model, interval: self.interval }))
    }

    fn compressed(&self) -> Option<Box<dyn StatisticalModel>> {
        let model = self.model.compressed()?.into();
        Some(Box::new(AtInterval { model, interval: self.interval }))
    }

    fn fork(&self) -> Box<dyn StatisticalModel> {
        Box::new(self.clone())
    }

    /// Omits the remark that τ is constant, which holds by construction.
    fn notes(&self) -> Vec<Note> {
        let last = self.inner() - 1;
        let mut notes = self.model.notes();
        notes.retain(|note| !matches!(note, Note::FlatInput { coordinate } if coordinate.index == last));
        notes
    }
}

/// A function sampled from the model, at the fixed interval.
struct Drawn {
    inner: Box<dyn Dynamics>,
    interval: f64,
    points: Vec<f64>,
}

impl Dynamics for Drawn {
    fn dims(&self) -> Dims {
        let Dims { state, control } = self.inner.dims();
        Dims { state, control: control - 1 }
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        extend(z, self.interval, &mut self.points);
        self.inner.derivative(Points::new(&self.points, z.dim() + 1), out);
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        extend(z, self.interval, &mut self.points);
        self.inner.linearize(Points::new(&self.points, z.dim() + 1), out);
        drop_last(z.dim() + 1, &mut out.jacobian);
    }
}
