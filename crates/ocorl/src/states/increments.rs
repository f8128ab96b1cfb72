//! Averages of f along the way between measured states, and the way and the model found in turn.
//!
//! ```text
//! (x(tᵢ₊₁) − x(tᵢ))/Δᵢ = Σ_q b_q f(z_q) + (εᵢ₊₁ − εᵢ)/Δᵢ
//! ```
//!
//! with the nodes z_q on the way. Neighbours share an ε: their noise has the covariance −σ²/(Δᵢ Δᵢ₊₁). Because the way is not known between
//! two states, f has a little more noise there: its slope times how far the way may be off, as the model sees it.

use super::path::{Field, Path, Step};
use super::record::Record;
use super::{Method, StateSettings, derivatives};
use crate::linalg::small::axpy;
use crate::linalg::{Dims, Points};
use crate::measurements::{Average, MeasurementError, Measurements};
use crate::model::{ModelError, Posterior, Query, StatisticalModel, TrainingReport};
use crate::plant::Executed;
use crate::random::Stream;
use crate::system::Task;

/// All that was measured of states, and where the system is thought to have been in between.
#[derive(Clone, Debug)]
pub struct Memory {
    settings: StateSettings,
    noise_std: Vec<f64>,
    angles: Vec<usize>,
    horizon: f64,
    dims: Dims,
    records: Vec<Record>,
    paths: Vec<Path>,
    /// Derivatives that were measured beside them.
    points: Measurements,
    /// Records that the model has seen.
    known: usize,
    /// By which factor σ was too small for runs that the model had not seen, for each state.
    caution: Vec<f64>,
}

/// Steps towards the way of a run that was not seen before.
const FIRST_STEPS: usize = 6;

/// Rounds after the first measurements of all: their way is known from nothing but the times.
const FIRST_ROUNDS: usize = 4;

/// A change of the way by less than this part of the states' range is none.
const SAME_WAY: f64 = 1e-4;

/// σ is never thought to be too small by more than this factor.
const MOST_CAUTION: f64 = 10.0;

impl Memory {
    /// Empty.
    pub fn new(task: &Task, settings: StateSettings) -> Self {
        let dims = task.dims();
        Memory {
            noise_std: settings.noise_std(dims.state),
            settings,
            angles: task.angles.clone(),
            horizon: task.horizon,
            dims,
            records: Vec::new(),
            paths: Vec::new(),
            points: Measurements::new(dims),
            known: 0,
            caution: vec![1.0; dims.state],
        }
    }

    /// Takes in what a run from `initial_state` told of states; returns derivatives, where the method makes them.
    pub fn take(
        &mut self,
        initial_state: &[f64],
        executed: &Executed,
    ) -> Result<Measurements, MeasurementError> {
        let none = Measurements::new(self.dims);
        let Some(mut record) = Record::of(initial_state, executed) else { return Ok(none) };
        if self.settings.wrapped {
            record.unwrap_angles(&self.angles);
        }
        if self.settings.method != Method::Increments {
            return derivatives(&record, &self.noise_std, self.settings.method, self.dims);
        }
        self.paths.push(Path::through(&record, &self.noise_std, &self.angles, self.horizon));
        self.records.push(record);
        Ok(none)
    }

    /// True if there are runs that the model has not seen.
    pub fn has_news(&self) -> bool {
        self.known < self.records.len()
    }

    /// True if anything is to be learned from increments.
    pub fn is_used(&self) -> bool {
        !self.records.is_empty()
    }

    /// Conditions `model` on all increments and on all derivatives that were measured, `points` being new ones; trains it. Returns what it is
    /// conditioned on.
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
            let mut step = Step { change: f64::INFINITY, surprise: vec![0.0; self.dims.state] };
            for _ in 0..FIRST_STEPS {
                step = self.refine(model, new.clone());
                if step.change < SAME_WAY {
                    break;
                }
            }
            for (caution, surprise) in self.caution.iter_mut().zip(&step.surprise) {
                let square = 0.5 * (*caution * *caution + surprise);
                *caution = square.clamp(1.0, MOST_CAUTION * MOST_CAUTION).sqrt();
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
            if change < SAME_WAY {
                break;
            }
        }
        Ok((data, report))
    }

    /// One step of the paths `which` towards the model's: the largest change, the mean surprise.
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
        let mut whole = Step { change: 0.0, surprise: vec![0.0; nx] };
        for (path, record) in paths.iter_mut().zip(&self.records[which]) {
            let (std, caution) = (spread.std.value.as_slice(), &self.caution[..]);
            let field = Field { mean: &slopes.mean, std, first, caution };
            first += path.len();
            if let Some(step) = path.refine(record, &self.noise_std, field) {
                whole.change = whole.change.max(step.change);
                axpy(1.0 / count, &step.surprise, &mut whole.surprise);
            }
        }
        whole
    }

    /// Derivatives, then increments; all of those, if none could be trusted.
    fn data(&self) -> Result<Measurements, MeasurementError> {
        let some = self.paths.iter().flat_map(|path| &path.intervals).any(|interval| interval.trusted);
        let mut data = self.points.clone();
        for (record, path) in self.records.iter().zip(&self.paths) {
            add_increments(record, path, &self.noise_std, !some, &mut data)?;
        }
        Ok(data)
    }
}

/// The increments of one run that can be trusted, or all.
fn add_increments(
    record: &Record,
    path: &Path,
    noise_std: &[f64],
    all: bool,
    data: &mut Measurements,
) -> Result<(), MeasurementError> {
    let (nx, mut nodes) = (noise_std.len(), Vec::new());
    // Standard deviations and width of the interval before.
    let mut before: Option<(Vec<f64>, f64)> = None;
    for (i, interval) in path.intervals.iter().enumerate() {
        if !interval.trusted && !all {
            before = None;
            continue;
        }
        nodes.clear();
        interval.add_points(nx, &mut nodes);
        let width = interval.width;
        let (from, to) = (record.states.at(i), record.states.at(i + 1));
        let rate: Vec<f64> = from.iter().zip(to).map(|(a, b)| (b - a) / width).collect();
        // x(0) is known.
        let ends = if i == 0 { 1.0 } else { 2.0 };
        let std: Vec<f64> = (0..nx)
            .map(|j| (ends * (noise_std[j] / width).powi(2) + interval.doubt[j].powi(2)).sqrt())
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
