//! Averages of f along the trajectory between measured states, and the alternation of trajectory estimation and model training.
//!
//! ```text
//! (x(tᵢ₊₁) − x(tᵢ))/Δᵢ = Σ_q b_q f(z_q) + (εᵢ₊₁ − εᵢ)/Δᵢ
//! ```
//!
//! The nodes z_q lie on the estimated trajectory, b_q are quadrature weights. Neighbouring increments share one ε; the covariance
//! of their noise is −σ²/(Δᵢ Δᵢ₊₁). Because the trajectory between two states is estimated, further noise is added: the Jacobian of
//! the model times the standard deviation of the trajectory estimate.

use super::outputs::add_outputs;
use super::path::{Field, Path, Step, curve};
use super::record::Record;
use super::{Method, StateSettings, derivatives};
use crate::linalg::small::axpy;
use crate::linalg::{Dims, Points};
use crate::measurements::{Average, MeasurementError, Measurements};
use crate::model::{ModelError, Posterior, Query, StatisticalModel, TrainingReport};
use crate::plant::RolloutResult;
use crate::random::Stream;
use crate::system::Task;

/// All measured states of a study, and the estimated trajectories between them.
#[derive(Clone, Debug)]
pub struct StateDataset {
    settings: StateSettings,
    noise_std: Vec<f64>,
    angles: Vec<usize>,
    horizon: f64,
    dims: Dims,
    records: Vec<Record>,
    paths: Vec<Path>,
    /// Directly measured derivatives, used together with the increments.
    points: Measurements,
    /// Number of records that the model has been trained with.
    known: usize,
    /// For each state the factor by which the model's σ underestimated its errors on new runs.
    variance_inflation: Vec<f64>,
}

/// Standard deviation of a state that is not measured; large, but its square is a number.
const UNMEASURED: f64 = 1e8;

/// Refinement steps for the trajectory of a new run.
const FIRST_STEPS: usize = 6;

/// Smallest number of alternations after the first run, whose trajectory was estimated without a model.
const FIRST_ROUNDS: usize = 4;

/// Refinement stops when the trajectory changes by less than this fraction of the states' range.
const PATH_TOLERANCE: f64 = 1e-4;

/// Upper limit of the inflation factor of σ.
const MAX_INFLATION: f64 = 10.0;

impl StateDataset {
    /// Creates an empty data set.
    pub fn new(task: &Task, settings: StateSettings) -> Self {
        let dims = task.dims();
        StateDataset {
            noise_std: settings.noise_std(dims.state).into_iter().map(|std| std.min(UNMEASURED)).collect(),
            settings,
            angles: task.angles.clone(),
            horizon: task.horizon,
            dims,
            records: Vec::new(),
            paths: Vec::new(),
            points: Measurements::new(dims),
            known: 0,
            variance_inflation: vec![1.0; dims.state],
        }
    }

    /// Adds the measured states of a run from `initial_state`. Returns derivatives if the method estimates them directly, otherwise
    /// no data.
    pub fn take(
        &mut self,
        initial_state: &[f64],
        executed: &RolloutResult,
    ) -> Result<Measurements, MeasurementError> {
        let none = Measurements::new(self.dims);
        let velocities = &self.settings.velocities;
        let hidden: Vec<usize> = velocities.iter().map(|pair| pair[0]).collect();
        let Some(mut record) = Record::of(initial_state, executed, &hidden) else { return Ok(none) };
        if self.settings.wrapped {
            record.unwrap_angles(&self.angles);
        }
        // The first estimate of a velocity is that of the curve through its positions.
        for &[velocity, position] in velocities {
            if let Some(curve) = curve(&record, position, self.noise_std[position]) {
                record.fill(velocity, |time| curve.at(time).derivative);
            }
        }
        if self.settings.method != Method::Increments {
            return derivatives(&record, &self.noise_std, self.settings.method, self.dims);
        }
        let mut path = Path::through(&record, &self.noise_std, &self.angles, self.horizon);
        for &[velocity, position] in velocities {
            if let Some(curve) = curve(&record, position, self.noise_std[position]) {
                path.fill(&record, velocity, |time| curve.at(time).derivative);
            }
        }
        self.paths.push(path);
        self.records.push(record);
        Ok(none)
    }

    /// True if there are records that the model has not been trained with.
    pub fn has_new_records(&self) -> bool {
        self.known < self.records.len()
    }

    /// True if there are records to learn from by increments.
    pub fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// Conditions `model` on all increments and all measured derivatives (`points` are new ones) and trains it. Returns the data
    /// that the model is conditioned on.
    pub fn learn(
        &mut self,
        model: &mut dyn StatisticalModel,
        points: &Measurements,
        stream: Stream,
    ) -> Result<(Measurements, TrainingReport), ModelError> {
        self.points.append(points)?;
        let first = self.known == 0;
        if !first {
            let new = self.known..self.records.len();
            let mut step =
                Step { change: f64::INFINITY, normalized_squared_error: vec![0.0; self.dims.state] };
            for _ in 0..FIRST_STEPS {
                step = self.refine(model, new.clone());
                if step.change < PATH_TOLERANCE {
                    break;
                }
            }
            for (variance_inflation, normalized_squared_error) in
                self.variance_inflation.iter_mut().zip(&step.normalized_squared_error)
            {
                let square = 0.5 * (*variance_inflation * *variance_inflation + normalized_squared_error);
                *variance_inflation = square.clamp(1.0, MAX_INFLATION * MAX_INFLATION).sqrt();
            }
        }
        self.known = self.records.len();
        let mut data = self.data()?;
        model.replace(&data)?;
        let mut report = model.train(stream)?;
        let rounds = if first { FIRST_ROUNDS.max(self.settings.rounds) } else { self.settings.rounds };
        for round in 0..rounds {
            let change = self.refine(model, 0..self.records.len()).change;
            data = self.data()?;
            model.replace(&data)?;
            if first || round + 1 == rounds {
                report = model.train(stream.child("round").index(round))?;
            }
            if change < PATH_TOLERANCE {
                break;
            }
        }
        Ok((data, report))
    }

    /// Takes one refinement step of the trajectories `which` with the model. Returns the largest change and the mean normalised
    /// error.
    fn refine(&mut self, model: &dyn StatisticalModel, which: std::ops::Range<usize>) -> Step {
        let (nx, paths) = (self.dims.state, &mut self.paths[which.clone()]);
        let mut points = Vec::new();
        for path in paths.iter() {
            path.add_points(nx, &mut points);
        }
        let z = Points::new(&points, self.dims.point());
        let (mut slopes, mut spread) = (Posterior::default(), Posterior::default());
        model.posterior(z, Query::MeanJacobian, &mut slopes);
        model.posterior(z, Query::MeanStd, &mut spread);
        let (count, mut first) = (paths.len().max(1) as f64, 0);
        let mut whole = Step { change: 0.0, normalized_squared_error: vec![0.0; nx] };
        for (path, record) in paths.iter_mut().zip(&self.records[which]) {
            let (std, variance_inflation) = (spread.std.value.as_slice(), &self.variance_inflation[..]);
            let field = Field { mean: &slopes.mean, std, first, variance_inflation };
            first += path.len();
            if let Some(step) = path.refine(record, &self.noise_std, field) {
                whole.change = whole.change.max(step.change);
                axpy(1.0 / count, &step.normalized_squared_error, &mut whole.normalized_squared_error);
            }
        }
        whole
    }

    /// The data set: measured derivatives, then the usable increments, or all increments if none is usable.
    fn data(&self) -> Result<Measurements, MeasurementError> {
        let some = self.paths.iter().flat_map(|path| &path.intervals).any(|interval| interval.usable);
        let mut data = self.points.clone();
        for (record, path) in self.records.iter().zip(&self.paths) {
            let velocities = &self.settings.velocities;
            if velocities.is_empty() {
                add_increments(record, path, &self.noise_std, !some, &mut data)?;
            } else {
                add_outputs(record, path, &self.noise_std, velocities, !some, &mut data)?;
            }
        }
        Ok(data)
    }
}

/// Adds the usable increments of one run to `data`, or all of them.
fn add_increments(
    record: &Record,
    path: &Path,
    noise_std: &[f64],
    all: bool,
    data: &mut Measurements,
) -> Result<(), MeasurementError> {
    let (nx, mut nodes) = (noise_std.len(), Vec::new());
    // Standard deviations and width of the preceding interval.
    let mut before: Option<(Vec<f64>, f64)> = None;
    for (i, interval) in path.intervals.iter().enumerate() {
        if !interval.usable && !all {
            before = None;
            continue;
        }
        nodes.clear();
        interval.add_points(nx, &mut nodes);
        let width = interval.width;
        let (from, to) = (record.states.at(i), record.states.at(i + 1));
        let rate: Vec<f64> = from.iter().zip(to).map(|(a, b)| (b - a) / width).collect();
        // The initial state x(0) is known exactly.
        let ends = if i == 0 { 1.0 } else { 2.0 };
        let std: Vec<f64> = (0..nx)
            .map(|j| (ends * (noise_std[j] / width).powi(2) + interval.path_std[j].powi(2)).sqrt())
            .collect();
        let correlation: Vec<f64> = before.as_ref().map_or(Vec::new(), |(last, last_width)| {
            let shared = |j: usize| -noise_std[j].powi(2) / (width * last_width);
            (0..nx).map(|j| if noise_std[j] > 0.0 { shared(j) / (std[j] * last[j]) } else { 0.0 }).collect()
        });
        let average = Average {
            nodes: Points::new(&nodes, nodes.len() / interval.rule.len()),
            weights: &interval.rule.weights,
            correlation: &correlation,
        };
        data.push_average(record.times[i + 1], average, &rate, &std)?;
        before = Some((std, width));
    }
    Ok(())
}
