//! Screening of the data that a learner receives: bad rows are set aside, wrong columns corrected, and data from before a change of the
//! plant converted or aged. The hypotheses and their comparison are in [`diagnosis`](crate::diagnosis).
//!
//! After each episode:
//!
//! 1. Rows of a stuck column are set aside.
//! 2. If the episode as a whole contradicts the model, a factor on one column is searched for. A column that was recorded wrongly is
//!    corrected. If the gain of a control changed by a factor k, so that f(x, u) became f(x, k u), the controls of all earlier rows are
//!    divided by k: they then describe the present plant.
//! 3. The model is trained on all rows. If no factor explained the contradiction, earlier rows whose noise is raised by the contradiction
//!    compete with it (the plant changed).
//! 4. Outliers are set aside. Rows that were set aside earlier return when the model predicts them.
//! 5. While leave-one-out residuals permit it, the noise is estimated: after each episode of a small data set, of a larger one when the
//!    number of rows has grown by a quarter. A noise of more than three times the declared one replaces it, and rows in heavy tails
//!    count less.
//!
//! Without suspects the model is the one of step 3, bit for bit.

use crate::diagnosis::{
    self, Cause, Column, ColumnFactor, Contradiction, EpisodeData, Finding, NoiseEstimate, Treatment, Verdict,
};
use crate::linalg::{Blocks, Dims};
use crate::measurements::Measurements;
use crate::model::{GaussianProcess, ModelError, Posterior, Query, StatisticalModel, TrainingReport};
use crate::plan::Plan;
use crate::plant::Reading;
use crate::random::Stream;
use crate::system::Task;
use serde::{Deserialize, Serialize};

/// What is known about the quality of the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Diagnosis {
    /// Findings about the last episode.
    pub findings: Vec<Finding>,
    /// Rows that are not used, of all episodes.
    pub set_aside: Vec<Verdict>,
    /// Rows that count less than declared because their noise has heavy tails, of all episodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reduced: Vec<Verdict>,
    /// Factor on the declared noise of each output; empty if the declared noise is used.
    pub noise_factor: Vec<f64>,
}

impl Diagnosis {
    /// True if nothing is wrong.
    pub fn is_clean(&self) -> bool {
        *self == Diagnosis::default()
    }
}

/// Where the rows of the data come from: episode (`None`: imported), initial state and number of rows, in their order.
type Origin = (Option<usize>, usize, usize);

/// The screening of a learner; part of its checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Screening {
    /// Diagnosis after the last episode.
    #[serde(skip_serializing_if = "Diagnosis::is_clean")]
    pub(super) diagnosis: Diagnosis,
    origins: Vec<Origin>,
    /// The rows set aside, in the order of the diagnosis.
    #[serde(skip_serializing_if = "Option::is_none")]
    aside: Option<Measurements>,
    /// Factor on the declared noise of each entry, for each row of the data; `None` if the declared noise is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    inflation: Option<Blocks>,
    /// Number of rows at the last estimate of the noise.
    checked: usize,
}

/// A row that the user wants to be used: episode, initial state and time.
pub type TrustedRow = (usize, usize, f64);

/// The contradiction of an episode that no factor on a column explains.
pub(super) struct Unexplained {
    start: usize,
    contradiction: Contradiction,
}

/// An episode's rows from one initial state.
pub(super) struct Received<'a> {
    pub(super) episode: usize,
    pub(super) start: usize,
    /// Readings with a derivative.
    pub(super) readings: Vec<Reading>,
    /// The commanded control of each reading; empty if it is unknown.
    pub(super) commanded: Vec<Vec<f64>>,
    pub(super) noise_std: &'a [f64],
    /// The rows that the user wants to be used.
    pub(super) trusted: &'a [TrustedRow],
}

/// The outcome of the examination of an episode's rows before the model learns from them.
#[derive(Default)]
pub(super) struct Examined {
    /// The rows to learn from.
    pub(super) readings: Vec<Reading>,
    /// A control whose gain changed, and the factor: earlier rows must be converted.
    pub(super) gain: Option<(usize, f64)>,
    /// A contradiction without explanation.
    pub(super) unexplained: Option<Unexplained>,
}

impl Screening {
    /// True if deserialised contents are consistent.
    pub(super) fn is_sound(&self, dims: Dims) -> bool {
        let rows = self.aside.as_ref().map_or(0, Measurements::len);
        let factors = &self.diagnosis.noise_factor;
        rows == self.diagnosis.set_aside.len()
            && self.aside.as_ref().is_none_or(|aside| aside.is_sound() && aside.dims() == dims)
            && (factors.is_empty() || factors.len() == dims.state)
            && factors.iter().all(|f| *f >= 1.0 && f.is_finite())
            && self.inflation.as_ref().is_none_or(|each| {
                each.size() == dims.state && each.as_slice().iter().all(|f| *f >= 1.0 && f.is_finite())
            })
    }

    /// The factor on the declared noise of an output.
    fn factor(&self, output: usize) -> f64 {
        self.diagnosis.noise_factor.get(output).copied().unwrap_or(1.0)
    }

    /// The factor on the declared noise of an entry of the data.
    fn inflation(&self, row: usize, output: usize) -> f64 {
        self.inflation.as_ref().filter(|each| row < each.len()).map_or(1.0, |each| each.at(row)[output])
    }

    /// The declared noise, raised to the estimated one.
    pub(super) fn noise_std(&self, declared: &[f64]) -> Vec<f64> {
        declared.iter().enumerate().map(|(j, s)| s * self.factor(j)).collect()
    }

    /// Begins a new episode: its findings replace the last ones.
    pub(super) fn begin(&mut self) {
        self.diagnosis.findings.clear();
    }

    /// Records that `count` rows were appended to the data: those of an episode have the noise of [`noise_std`](Self::noise_std), imported
    /// ones the declared noise.
    pub(super) fn appended(&mut self, episode: Option<usize>, start: usize, count: usize) {
        self.record(episode, start, count);
        if let Some(mut each) = self.inflation.take() {
            let factor = |j: usize| if episode.is_some() { self.factor(j) } else { 1.0 };
            let row: Vec<f64> = (0..each.size()).map(factor).collect();
            (0..count).for_each(|_| each.push(&row));
            self.inflation = Some(each);
        }
    }

    /// Adds `count` rows to the origins.
    fn record(&mut self, episode: Option<usize>, start: usize, count: usize) {
        match self.origins.last_mut() {
            Some(last) if (last.0, last.1) == (episode, start) => last.2 += count,
            _ if count > 0 => self.origins.push((episode, start, count)),
            _ => {}
        }
    }

    /// The origin of each of `count` rows; unknown where none was recorded.
    fn origin_of_each(&self, count: usize) -> Vec<(Option<usize>, usize)> {
        let mut each: Vec<_> =
            self.origins.iter().flat_map(|&(e, s, n)| std::iter::repeat_n((e, s), n)).collect();
        each.resize(count, (None, 0));
        each
    }

    /// Records that of `count` rows those with the indices `kept` remain.
    pub(super) fn keep(&mut self, count: usize, kept: &[usize]) {
        let each = self.origin_of_each(count);
        self.origins.clear();
        for &i in kept {
            self.record(each[i].0, each[i].1, 1);
        }
        if let Some(each) = &self.inflation {
            let mut rest = Blocks::zeros(each.size(), kept.len());
            for (to, &from) in kept.iter().enumerate() {
                for (j, factor) in rest.at_mut(to).iter_mut().enumerate() {
                    *factor = self.inflation(from, j);
                }
            }
            self.inflation = Some(rest);
        }
    }

    /// Sets a row aside; its noise is that of its outputs, without heavy tails.
    fn put_aside(&mut self, dims: Dims, row: &Measurements, verdict: Verdict) -> Result<(), ModelError> {
        let aside = self.aside.get_or_insert_with(|| Measurements::new(dims));
        aside.append(row)?;
        self.diagnosis.set_aside.push(verdict);
        Ok(())
    }

    /// Steps 1 and 2: examines an episode's rows. `model` has learned from the `earlier` rows; `None` before the first training.
    pub(super) fn examine(
        &mut self,
        model: Option<&dyn StatisticalModel>,
        received: Received<'_>,
        earlier: &Measurements,
        stream: Stream,
    ) -> Result<Examined, ModelError> {
        let dims = earlier.dims();
        let Received { episode, start, mut readings, mut commanded, noise_std, trusted } = received;
        let is_trusted =
            |r: &Reading| trusted.iter().any(|&(e, s, t)| (e, s) == (episode, start) && t == r.time);
        let finding = |cause, rows, nats, treatment| Finding { episode, start, cause, rows, nats, treatment };
        let data = |readings: &[Reading], commanded: &[Vec<f64>], act: &mut dyn FnMut(EpisodeData<'_>)| {
            let readings: Vec<&Reading> = readings.iter().collect();
            act(EpisodeData { readings: &readings, commanded, noise_std });
        };
        let mut stuck = Vec::new();
        data(&readings, &commanded, &mut |data| {
            let far = model.map(|model| diagnosis::contradiction(model, data).far);
            stuck = diagnosis::stuck(data, far.as_deref());
        });
        let mut bad = vec![None; readings.len()];
        for (column, rows) in stuck {
            let rows: Vec<usize> = rows.into_iter().filter(|&i| !is_trusted(&readings[i])).collect();
            let cause = Cause::Stuck { column };
            if !rows.is_empty() {
                self.diagnosis.findings.push(finding(cause, rows.len(), 0.0, Treatment::SetAside));
            }
            for i in rows {
                bad[i] = Some(column);
            }
        }
        for (i, reading) in readings.iter().enumerate() {
            let Some(Column::State(output) | Column::Derivative(output)) = bad[i] else { continue };
            let mut row = Measurements::new(dims);
            let derivative = reading.derivative.as_deref().unwrap_or_default();
            row.push(reading.time, &reading.state, &reading.inputs(), derivative, noise_std)?;
            let verdict = Verdict { episode, start, time: reading.time, output, deviation: 0.0, weight: 0.0 };
            self.put_aside(dims, &row, verdict)?;
        }
        let mut good = bad.iter().map(Option::is_none);
        readings.retain(|_| good.next() == Some(true));
        let mut good = bad.iter().map(Option::is_none);
        commanded.retain(|_| good.next() == Some(true));

        let mut examined = Examined::default();
        let (mut factors, mut contradiction) = (Vec::new(), None);
        let rows = readings.len();
        data(&readings, &commanded, &mut |data| match model {
            Some(model) if rows > 0 => {
                contradiction = Some(diagnosis::contradiction(model, data)).filter(|c| c.is_systematic(rows));
                factors.extend(diagnosis::column_factor(model, data));
            }
            _ => {
                let controls = data.commanded.first().map_or(0, Vec::len);
                let each = (0..controls).filter_map(|c| Some((c, diagnosis::commanded_factor(data, c)?)));
                factors.extend(each.map(|(control, factor)| ColumnFactor::Recorded {
                    column: Column::Control(control),
                    factor,
                    nats: 0.0,
                }));
            }
        });
        if let (Some(model), Some(factor)) = (model, factors.first_mut())
            && !is_supported(model, earlier, &readings, noise_std, factor, stream)?
        {
            factors.clear();
        }
        for factor in &factors {
            let found = match *factor {
                ColumnFactor::Recorded { column, factor, nats } => {
                    for reading in &mut readings {
                        diagnosis::divide(reading, column, factor);
                    }
                    finding(Cause::Scaled { column, factor }, rows, nats, Treatment::Corrected)
                }
                ColumnFactor::Gain { control, factor, nats } => {
                    // Without any effect of the control, earlier rows cannot be converted.
                    let convertible = factor.abs() > NO_EFFECT;
                    examined.gain = convertible.then_some((control, factor));
                    let treatment = if convertible { Treatment::Converted } else { Treatment::None };
                    finding(Cause::GainChanged { control, factor }, rows, nats, treatment)
                }
            };
            self.diagnosis.findings.push(found);
        }
        if factors.is_empty() || examined.gain.is_none() && has_gain(&factors) {
            examined.unexplained = contradiction.map(|contradiction| Unexplained { start, contradiction });
        }
        examined.readings = readings;
        Ok(examined)
    }

    /// Steps 3 to 5, after `model` was trained on `data`, whose last `new` rows are those of `episode`. Replaces both where the data are
    /// better explained without some rows, or with another noise. Returns the report of the last training, if there was another.
    pub(super) fn refine(
        &mut self,
        model: &mut Box<dyn StatisticalModel>,
        data: &mut Measurements,
        episode: &Refined<'_>,
    ) -> Result<Option<TrainingReport>, ModelError> {
        let &Refined { episode, new, unexplained, trusted, stream } = episode;
        let Some(mut gp) = model.as_gaussian_process().cloned() else { return Ok(None) };
        let mut report = None;
        if let Some(Unexplained { start, contradiction }) = unexplained {
            let old = data.len().saturating_sub(new);
            let aged =
                data.with_noise(|i, j, s| if i < old { s.hypot(contradiction.excess[j]) } else { s })?;
            let mut other = gp.clone();
            other.replace(&aged)?;
            let training = other.train(stream.child("aged"))?;
            let nats = evidence(&other) - evidence(&gp);
            if nats > CHANGED {
                let (cause, rows, treatment) =
                    (Cause::PlantChanged, contradiction.far.len(), Treatment::Aged);
                self.diagnosis.findings.push(Finding {
                    episode,
                    start: *start,
                    cause,
                    rows,
                    nats,
                    treatment,
                });
                (*data, gp, report) = (aged, other, Some(training));
            }
        }
        self.remove_outliers(&mut gp, data, episode, trusted, stream)?;
        let grown = data.len() < SMALL || 4 * data.len() >= 5 * self.checked;
        if grown || unexplained.is_some() {
            self.checked = data.len();
            report = self.weigh(&mut gp, data, episode, stream)?.or(report);
        }
        report = self.take_back(&mut gp, data, stream)?.or(report);
        *model = Box::new(gp);
        Ok(report)
    }

    fn remove_outliers(
        &mut self,
        gp: &mut GaussianProcess,
        data: &mut Measurements,
        episode: usize,
        trusted: &[TrustedRow],
        stream: Stream,
    ) -> Result<(), ModelError> {
        let origins = self.origin_of_each(data.len());
        let is_trusted = |&i: &usize| {
            let (e, s) = origins[i];
            trusted.iter().any(|&(te, ts, t)| (Some(te), ts, t) == (e, s, data.times()[i]))
        };
        let trusted: Vec<usize> = (0..data.len()).filter(is_trusted).collect();
        let Some(found) = diagnosis::screen(gp, data, &[], &trusted, stream.child("screen")) else {
            return Ok(());
        };
        let mut rows = 0;
        for &(i, output, deviation) in &found.outliers {
            // Rows of imported logs have no number of an episode; they are reported with that of the next one.
            let (of, start) = (origins[i].0.unwrap_or(episode), origins[i].1);
            rows += usize::from(of == episode);
            let verdict =
                Verdict { episode: of, start, time: data.times()[i], output, deviation, weight: 0.0 };
            let row = data.select([i]).with_noise(|_, j, s| s * self.factor(j) / self.inflation(i, j))?;
            self.put_aside(data.dims(), &row, verdict)?;
        }
        let cause = Cause::Outliers;
        let start = found.outliers.first().map_or(0, |o| origins[o.0].1);
        let rows = rows.max(1);
        let finding =
            Finding { episode, start, cause, rows, nats: found.nats, treatment: Treatment::SetAside };
        self.diagnosis.findings.push(finding);
        self.keep(data.len(), &found.kept);
        *data = found.model.data().clone();
        *gp = found.model;
        Ok(())
    }

    /// Estimates the noise anew, from the declared one, and gives each entry of `data` the noise that the data support.
    fn weigh(
        &mut self,
        gp: &mut GaussianProcess,
        data: &mut Measurements,
        episode: usize,
        stream: Stream,
    ) -> Result<Option<TrainingReport>, ModelError> {
        if self.inflation.is_none() && !diagnosis::noise_is_doubtful(gp) {
            return Ok(None);
        }
        let outputs = data.dims().state;
        let declared = data.with_noise(|i, j, s| s / self.inflation(i, j))?;
        let found = diagnosis::estimate_noise(gp, &declared, stream.child("noise"))?;
        let before: Vec<f64> = (0..outputs).map(|j| self.factor(j)).collect();
        let factor = found.as_ref().map_or(vec![1.0; outputs], |found| found.factor.clone());
        if let Some(aside) = &mut self.aside {
            *aside = aside.with_noise(|_, j, s| s * factor[j] / before[j])?;
        }
        let had = self.inflation.take().is_some();
        self.diagnosis.reduced.clear();
        self.diagnosis.noise_factor.clear();
        let Some(found) = found else {
            if !had {
                return Ok(None);
            }
            *data = declared;
            gp.replace(data)?;
            return gp.train(stream.child("declared")).map(Some);
        };
        self.report_noise(&found, &before, data, episode);
        let mut inflation = Blocks::zeros(outputs, data.len());
        (0..data.len()).for_each(|i| inflation.at_mut(i).copy_from_slice(&factor));
        for &(i, j, tail) in &found.tails {
            inflation.at_mut(i)[j] *= tail;
        }
        self.inflation = Some(inflation);
        if factor.iter().any(|f| *f > 1.0) {
            self.diagnosis.noise_factor = factor;
        }
        (*data, *gp) = (found.model.data().clone(), found.model);
        Ok(Some(found.report))
    }

    /// Adds what was found about the noise to the diagnosis.
    fn report_noise(&mut self, found: &NoiseEstimate, before: &[f64], data: &Measurements, episode: usize) {
        let origins = self.origin_of_each(data.len());
        let rows = data.len();
        let finding =
            |cause, rows, nats, treatment| Finding { episode, start: 0, cause, rows, nats, treatment };
        for (output, &factor) in found.factor.iter().enumerate() {
            let nats = found.nats[output];
            if factor > 1.0 && (before[output] == 1.0 || (factor / before[output]).ln().abs() > CHANGED_NOISE)
            {
                let cause = Cause::Noise { output, factor };
                self.diagnosis.findings.push(finding(cause, rows, nats, Treatment::NoiseRaised));
            }
            let tails = found.tails.iter().filter(|tail| tail.1 == output);
            let now = tails.clone().filter(|tail| origins[tail.0].0.is_none_or(|e| e == episode)).count();
            if now > 0 {
                let cause = Cause::HeavyTails { output };
                self.diagnosis.findings.push(finding(cause, tails.count(), nats, Treatment::Reduced));
            }
        }
        for &(i, output, tail) in &found.tails {
            let (of, start, time) = (origins[i].0.unwrap_or(episode), origins[i].1, data.times()[i]);
            let weight = 1.0 / (tail * tail);
            let same = |v: &&mut Verdict| (v.episode, v.start, v.time) == (of, start, time);
            match self.diagnosis.reduced.iter_mut().find(same) {
                Some(verdict) if verdict.weight <= weight => {}
                Some(verdict) => (verdict.output, verdict.deviation, verdict.weight) = (output, tail, weight),
                None => {
                    let verdict = Verdict { episode: of, start, time, output, deviation: tail, weight };
                    self.diagnosis.reduced.push(verdict);
                }
            }
        }
    }

    /// Takes back rows that the model predicts now.
    fn take_back(
        &mut self,
        gp: &mut GaussianProcess,
        data: &mut Measurements,
        stream: Stream,
    ) -> Result<Option<TrainingReport>, ModelError> {
        let Some(aside) = &self.aside else { return Ok(None) };
        let mut posterior = Posterior::default();
        gp.posterior(aside.points(), Query::MeanStd, &mut posterior);
        let predicted = |i: usize| {
            let verdict = &self.diagnosis.set_aside[i];
            verdict.deviation > 0.0
                && (0..aside.dims().state).all(|j| {
                    let error = aside.derivatives().at(i)[j] - posterior.mean.value.at(i)[j];
                    error.abs() < PREDICTED * posterior.std.value.at(i)[j].hypot(aside.noise_std().at(i)[j])
                })
        };
        let (back, stay): (Vec<usize>, Vec<usize>) = (0..aside.len()).partition(|&i| predicted(i));
        if back.is_empty() {
            return Ok(None);
        }
        data.append(&aside.select(back.iter().copied()))?;
        let rest = aside.select(stay.iter().copied());
        let verdicts = std::mem::take(&mut self.diagnosis.set_aside);
        for &i in &back {
            self.appended(Some(verdicts[i].episode), verdicts[i].start, 1);
        }
        self.diagnosis.set_aside = stay.iter().map(|&i| verdicts[i]).collect();
        self.aside = (!rest.is_empty()).then_some(rest);
        gp.replace(data)?;
        gp.train(stream.child("back")).map(Some)
    }
}

/// An episode whose rows the model has learned from.
pub(super) struct Refined<'a> {
    pub(super) episode: usize,
    /// Number of its rows, the last of the data.
    pub(super) new: usize,
    pub(super) unexplained: Option<&'a Unexplained>,
    pub(super) trusted: &'a [TrustedRow],
    pub(super) stream: Stream,
}

/// Advantage of aged data over equal ones, in nats, that reports a change of the plant.
const CHANGED: f64 = 10.0;

/// Change of the logarithm of a factor on the noise that is reported again.
const CHANGED_NOISE: f64 = 0.7;

/// Number of rows below which the noise is checked after each episode.
const SMALL: usize = 60;

/// A control with a smaller gain has no effect.
const NO_EFFECT: f64 = 0.05;

/// Residual below which a row that was set aside returns.
const PREDICTED: f64 = 3.0;

fn evidence(gp: &GaussianProcess) -> f64 {
    gp.log_evidence().map_or(f64::NEG_INFINITY, |each| each.iter().sum())
}

fn has_gain(factors: &[ColumnFactor]) -> bool {
    factors.iter().any(|f| matches!(f, ColumnFactor::Gain { .. }))
}

/// The control of a plan with its gains, u_k + K_k (x − x̄(t)), within the limits. States are interpolated linearly between nodes.
pub(super) fn planned_control(plan: &Plan, task: &Task, reading: &Reading, out: &mut [f64]) {
    let (k, time) = (plan.interval(reading.time), reading.time);
    let (from, to) = (plan.times[k], plan.times[k + 1]);
    let w = ((time - from) / (to - from)).clamp(0.0, 1.0);
    let (control, gains) = (plan.controls.at(k), plan.gains.at(k));
    let states = task.states.len();
    out.copy_from_slice(&control[..out.len()]);
    for i in 0..states {
        let planned = plan.states.at(k)[i] + w * (plan.states.at(k + 1)[i] - plan.states.at(k)[i]);
        let mut off = reading.state[i] - planned;
        if task.angles.contains(&i) {
            off -= (off / std::f64::consts::TAU).round() * std::f64::consts::TAU;
        }
        for (c, out) in out.iter_mut().enumerate() {
            *out += gains.get(c * states + i).copied().unwrap_or(0.0) * off;
        }
    }
    task.control_bounds.clamp(out);
}

/// Whether a factor explains all rows better than ignorance of f: than a model that is trained on the earlier and the new rows as they are.
/// Both models are trained; the evidence of recorded derivatives y = k y′ is that of y′ less ln |k| for each. Sets the nats of the factor.
fn is_supported(
    model: &dyn StatisticalModel,
    earlier: &Measurements,
    readings: &[Reading],
    noise_std: &[f64],
    factor: &mut ColumnFactor,
    stream: Stream,
) -> Result<bool, ModelError> {
    let Some(gp) = model.as_gaussian_process() else { return Ok(false) };
    let trained = |earlier: &Measurements, readings: &[Reading], name: &str| {
        let mut all = earlier.clone();
        for r in readings {
            let derivative = r.derivative.as_deref().unwrap_or_default();
            all.push(r.time, &r.state, &r.inputs(), derivative, noise_std)?;
        }
        let mut copy = gp.clone();
        copy.replace(&all)?;
        copy.train(stream.child(name))?;
        Ok::<f64, ModelError>(evidence(&copy))
    };
    let ignorance = trained(earlier, readings, "as recorded")?;
    let (explained, nats) = match factor {
        ColumnFactor::Recorded { column, factor, nats } => {
            let mut corrected = readings.to_vec();
            for reading in &mut corrected {
                diagnosis::divide(reading, *column, *factor);
            }
            let scaled = match column {
                Column::Derivative(_) | Column::StateAndDerivative(_) => 1,
                Column::Derivatives => noise_std.len(),
                Column::State(_) | Column::Control(_) => 0,
            };
            let jacobian = (scaled * readings.len()) as f64 * factor.abs().ln();
            (trained(earlier, &corrected, "corrected")? - jacobian, nats)
        }
        ColumnFactor::Gain { control, factor, nats } => {
            // A control without effect cannot be converted; the rows then decide without the earlier ones.
            let k = if factor.abs() > NO_EFFECT { *factor } else { 1.0 };
            (trained(&converted(earlier, *control, k), readings, "converted")?, nats)
        }
    };
    *nats = explained - ignorance;
    Ok(*nats > CHANGED)
}

/// Rows whose control `control` is divided by `factor`.
pub(super) fn converted(data: &Measurements, control: usize, factor: f64) -> Measurements {
    let dims = data.dims();
    data.mapped(dims, |z| {
        let mut z = z.to_vec();
        z[dims.state + control] /= factor;
        z
    })
}
