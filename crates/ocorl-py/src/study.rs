//! The Python class `Study`: a persistent learner with the ask/tell interface.

use crate::arrays::{matrix, vector};
use crate::errors::{Answer, Failure, Trouble, guard};
use crate::model::Learned;
use crate::plan::Plan;
use crate::plant::{MeasurementArrays, Message, PythonPlant};
use crate::system::System;
use crate::values::{config, maybe_whole, python, whole};
use crate::work::{self, How, JobContext, lock};
use numpy::PyArray1;
use ocorl::event::{Event, Observer, Watch};
use ocorl::linalg::Dims;
use ocorl::system::{KnownSystem, TableUnits, Task};
use ocorl_study::live;
use ocorl_study::measured::Measured;
use ocorl_study::price::Prices;
use ocorl_study::run::events;
use ocorl_study::store::Access;
use ocorl_study::study::{
    Closed, End, EpisodeHistory, Row, Study as Kept, StudyError, StudyJournal, Telling,
};
use ocorl_study::study_loop::StudyLoop;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A study on disk. Calls are served in order; an interrupted call returns at once, and the operation it started is finished in the
/// background.
#[pyclass(frozen, subclass, module = "ocorl._ocorl")]
pub(crate) struct Study {
    inner: Arc<Mutex<Option<Kept>>>,
    folder: PathBuf,
    /// Process that opened the study: its database connection must not be used in another process.
    process: u32,
    /// Whether the study is open read-only.
    looks: bool,
}

impl Study {
    /// Runs a short operation on the study on another thread.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        place: &'static str,
        act: impl FnOnce(&mut Kept) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.observed(py, How::light(place), |_, ()| Ok(()), move |study, _| act(study))
    }

    /// Checks that the study is open for writing.
    fn writable(&self) -> Answer<()> {
        if !self.looks {
            return Ok(());
        }
        let failure = Failure::new("StudyError", "the study was opened read-only");
        Err(failure.hint("open it for writing: ocorl.Study.open(folder)").into())
    }

    /// Runs an operation that may cause learning on another thread.
    fn learning<T: Send + 'static>(
        &self,
        py: Python<'_>,
        place: &'static str,
        act: impl FnOnce(&mut Kept) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.observed(py, How::at(place), |_, ()| Ok(()), move |study, _| act(study))
    }

    /// Runs an operation that may cause learning; `hear` receives the messages of `act`.
    fn observed<T: Send + 'static, M: Send + 'static>(
        &self,
        py: Python<'_>,
        how: How,
        hear: impl FnMut(Python<'_>, M) -> PyResult<()>,
        act: impl FnOnce(&mut Kept, &JobContext<M>) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        if self.process != std::process::id() {
            return Err(Failure::new("StudyError", "this study was opened by another process")
                .hint("after a fork, open it again: ocorl.Study.open(folder)")
                .into());
        }
        let inner = self.inner.clone();
        let how = How { folder: Some(self.folder.clone()), ..how };
        let job = move |context: &JobContext<M>| {
            let mut study = lock(&inner);
            // A caller that was cancelled while it waited is not served.
            if context.is_cancelled() {
                return Err(Trouble::from(Failure::new("StudyError", "cancelled")));
            }
            let closed = || Failure::new("StudyError", "the study is closed").hint("open it again");
            act(study.as_mut().ok_or_else(closed)?, context)
        };
        work::run(py, how, job, hear)
    }
}

#[pymethods]
impl Study {
    /// Opens or creates a study; `mode` is `create`, `open`, `look` (read-only) or `continue` (open or create).
    #[new]
    #[pyo3(signature = (mode, folder, system=None, *, seed=0, settings="default", set=None, prices=(0.0, 0.0, None),
                        episodes=None))]
    fn new(
        py: Python<'_>,
        mode: &str,
        folder: PathBuf,
        system: Option<&Bound<'_, System>>,
        #[pyo3(from_py_with = whole)] seed: u64,
        settings: &str,
        set: Option<Bound<'_, PyDict>>,
        prices: (f64, f64, Option<f64>),
        #[pyo3(from_py_with = maybe_whole)] episodes: Option<usize>,
    ) -> PyResult<Self> {
        guard(py, "Study", || {
            let (measurement, episode, budget) = prices;
            let prices = Prices { measurement, episode, budget };
            let system = system.map(|system| system.get().source.inner.clone());
            let set = set.unwrap_or_else(|| PyDict::new(py));
            let config = system.as_ref().map(|system| config(system, settings, &set)).transpose()?;
            let (mode, at, looks) = (mode.to_owned(), folder.clone(), mode == "look");
            work::settle(py, &folder)?;
            let how = How { folder: Some(folder.clone()), ..How::at("Study") };
            let study = work::quietly(py, how, move |_| {
                let study = match (mode.as_str(), system, config) {
                    ("create", Some(system), Some(config)) => {
                        Kept::create(&at, &system, config.settings, seed, prices)?
                    }
                    ("continue", Some(system), Some(config)) => {
                        Kept::open_or_create(&at, &system, &config.settings, seed, prices)?
                    }
                    ("open" | "continue", None, _) => Kept::open(&at, Access::Write)?,
                    ("look", ..) => Kept::open(&at, Access::Read)?,
                    _ => return Err(Failure::invalid("a new study needs a system").into()),
                };
                Ok(match episodes {
                    Some(episodes) => study.until(episodes),
                    None => study,
                })
            })?;
            let process = std::process::id();
            Ok(Study { inner: Arc::new(Mutex::new(Some(study))), folder, process, looks })
        })
    }

    /// The plan of the pending episode, byte for byte, or of a new one; `None` when the study is finished. `hear(kind, contents)` receives
    /// events and warnings.
    #[pyo3(signature = (hear=None))]
    fn ask(&self, py: Python<'_>, hear: Option<Py<PyAny>>) -> PyResult<Option<Plan>> {
        guard(py, "Study.ask", || {
            self.writable()?;
            let hear = |py: Python<'_>, (kind, contents): (&'static str, Json)| match &hear {
                Some(hear) => hear.call1(py, (kind, python(py, &contents)?)).map(|_| ()),
                None => Ok(()),
            };
            let plan = self.observed(py, How::at("Study.ask"), hear, |study, context| {
                let task = study.system().task.clone();
                let mut observer = Watch(|event: &Event<'_>| {
                    messages(&task, event, TableUnits::default()).for_each(|message| context.tell(message));
                });
                Ok(live::ask(study, &mut observer)?)
            })?;
            Ok(plan.map(Plan::new))
        })
    }

    /// Plans the next episode, executes it and records its measurements; returns a receipt, or `None` when the study is finished. Each
    /// rollout is executed by `execute(plan, rollout)`, which returns (t, x, u, x_dot, cost, outcome); `hear(kind, contents)` receives events,
    /// with costs in the units of the paper's table, and warnings.
    fn run_episode<'py>(
        &self,
        py: Python<'py>,
        execute: &Bound<'py, PyAny>,
        hear: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        guard(py, "Study.run_episode", || {
            self.writable()?;
            let hear = |py: Python<'_>, message: Message| match message {
                Message::Event(kind, contents) => hear.call1((kind, python(py, &contents)?)).map(|_| ()),
                Message::Run(request) => request.serve(execute).map_err(|trouble| trouble.raise(py)),
            };
            let done = self.observed(py, How::at("Study.run_episode"), hear, move |study, context| {
                let task = study.system().task.clone();
                let truth = study.system().truth.as_ref();
                let units = truth.map_or_else(TableUnits::default, KnownSystem::table_units);
                let mut observer = Watch(|event: &Event<'_>| {
                    messages(&task, event, units)
                        .for_each(|(kind, contents)| context.tell(Message::Event(kind, contents)));
                });
                match next_episode(study, context, &mut observer) {
                    // The plant returned invalid measurements; the request itself is valid.
                    Err(StudyError::Refused(error)) => Ok(Err(error)),
                    done => Ok(Ok(done?)),
                }
            })?;
            let done = match done {
                Ok(done) => done,
                Err(error) => return Err(Failure::refused_plant(py, error).into()),
            };
            Ok(done.map(|done| python(py, &done)).transpose()?)
        })
    }

    /// Records measurements; when this returns, they are on disk. `how` is `whole`, `more` or `correct`.
    #[pyo3(signature = (episode, t, x, u, x_dot=None, *, start=0, cost=None, outcome=None, how="whole",
                        source="python"))]
    fn tell<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = maybe_whole)] episode: Option<usize>,
        t: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        x_dot: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = whole)] start: usize,
        cost: Option<f64>,
        outcome: Option<String>,
        how: &str,
        source: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.tell", || {
            self.writable()?;
            let arrays = MeasurementArrays { t, x, u, x_dot, start };
            let measured = arrays.measured(self.dims(py, "Study.tell")?)?;
            let ends = if cost.is_some() || outcome.is_some() {
                if let Some(cost) = cost.filter(|cost| !cost.is_finite()) {
                    return Err(Failure::invalid(format!("the cost is {cost}; it must be finite"))
                        .detail("note", "nothing was stored")
                        .into());
                }
                vec![End { start, cost, outcome }]
            } else {
                Vec::new()
            };
            let how = telling(how)?;
            let source = source.to_owned();
            let measured = Measured { ends, ..measured };
            let receipt =
                self.learning(py, "Study.tell", move |study| record(study, episode, measured, &source, how))?;
            Ok(python(py, &receipt)?)
        })
    }

    /// Records measurements from a file: JSON if its name ends in `.json`, CSV otherwise.
    #[pyo3(signature = (path, episode=None, *, how="whole"))]
    fn tell_file<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        #[pyo3(from_py_with = maybe_whole)] episode: Option<usize>,
        how: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.tell_file", || {
            self.writable()?;
            let how = telling(how)?;
            let receipt = self.learning(py, "Study.tell_file", move |study| {
                let measured = Measured::load(&path, &study.columns())?;
                record(study, episode, measured, &path.display().to_string(), how)
            })?;
            Ok(python(py, &receipt)?)
        })
    }

    /// Learns from measurements that were not taken in an episode of this study; returns the number of new ones.
    fn import_(
        &self,
        py: Python<'_>,
        t: &Bound<'_, PyAny>,
        x: &Bound<'_, PyAny>,
        u: &Bound<'_, PyAny>,
        x_dot: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        guard(py, "Study.import_", || {
            self.writable()?;
            let arrays = MeasurementArrays { t, x, u, x_dot: Some(x_dot), start: 0 };
            let measured = arrays.measured(self.dims(py, "Study.import_")?)?;
            self.learning(py, "Study.import_", move |study| {
                // Arrays have no name, so every call is a log of its own.
                let source = format!("python {}", study.history().imports.len());
                Ok(study.import(measured, &source)?)
            })
        })
    }

    /// Imports measurements from a file.
    fn import_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<usize> {
        guard(py, "Study.import_file", || {
            self.writable()?;
            self.learning(py, "Study.import_file", move |study| {
                let measured = Measured::load(&path, &study.columns())?;
                Ok(study.import(measured, &path.display().to_string())?)
            })
        })
    }

    /// Marks the pending episode as failed; measurements taken until then are used.
    #[pyo3(signature = (reason="failed"))]
    fn fail<'py>(&self, py: Python<'py>, reason: &str) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.fail", || {
            self.writable()?;
            let reason = reason.to_owned();
            let closed =
                self.learning(py, "Study.fail", move |study| Ok(json!(study.fail(None, &reason)?)))?;
            Ok(python(py, &closed)?)
        })
    }

    /// Excludes an episode from learning.
    #[pyo3(signature = (episode, reason="discarded"))]
    fn discard<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = whole)] episode: usize,
        reason: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.discard", || {
            self.writable()?;
            let reason = reason.to_owned();
            let closed =
                self.learning(py, "Study.discard", move |study| Ok(json!(study.discard(episode, &reason)?)))?;
            Ok(python(py, &closed)?)
        })
    }

    /// Records a note.
    fn note(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        guard(py, "Study.note", || {
            self.writable()?;
            let text = text.to_owned();
            self.with(py, "Study.note", move |study| Ok(study.note(&text)?))
        })
    }

    /// Status of the study: overview, notes, value of the next episode.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.status", || {
            let status = self.learning(py, "Study.status", |study| {
                let worth = study.worth()?;
                let (overview, notes) = (study.overview(), &study.history().notes);
                let mut document = json!(overview);
                document["worth"] = json!(worth);
                document["notes"] = json!(notes);
                Ok(document)
            })?;
            Ok(python(py, &status)?)
        })
    }

    /// The model that the study has learned: a dictionary with its data, settings and the trained model.
    fn learned<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(py, "Study.learned", || {
            let learned = self.learning(py, "Study.learned", |study| {
                let prior = study.system().prior_mean();
                Learned::of(study.learner()?, prior)
            })?;
            learned.python(py)
        })
    }

    /// Verifies the whole study.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.check", || {
            let folder = self.folder.clone();
            let found = self.with(py, "Study.check", move |_| {
                let study = Kept::open(&folder, Access::Read)?;
                let stale = study.stale_tables()?;
                if !stale.is_empty() {
                    let (at, tables) = (folder.display(), stale.join(", "));
                    let message = format!("tables of '{at}' are not what its events say: {tables}");
                    return Err(Failure::new("DamagedError", message)
                        .detail("note", "the events are intact; nothing is lost")
                        .hint(format!("rebuild the tables: ocorl study check {at} --rebuild"))
                        .into());
                }
                let (records, checksum) = study.store().head();
                let measurements = study.history().measurements();
                Ok(json!({ "records": records, "checksum": checksum, "measurements": measurements }))
            })?;
            Ok(python(py, &found)?)
        })
    }

    /// Number of events, and the checksum of the last.
    #[getter]
    fn head(&self, py: Python<'_>) -> PyResult<(u64, String)> {
        guard(py, "Study.head", || {
            self.with(py, "Study.head", |study| {
                let (records, checksum) = study.store().head();
                Ok((records, checksum.to_owned()))
            })
        })
    }

    /// Whether no further episode will be planned.
    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        guard(py, "Study.done", || self.with(py, "Study.done", |study| Ok(study.over().is_some())))
    }

    /// The plan of the pending episode.
    #[getter]
    fn pending(&self, py: Python<'_>) -> PyResult<Option<Plan>> {
        guard(py, "Study.pending", || {
            let pending = self.with(py, "Study.pending", |study| {
                Ok(study.history().pending().map(|pending| pending.plan.clone()))
            })?;
            Ok(pending.map(Plan::new))
        })
    }

    /// The plan of an episode.
    fn plan(&self, py: Python<'_>, #[pyo3(from_py_with = whole)] episode: usize) -> PyResult<Plan> {
        guard(py, "Study.plan", || {
            let plan = self.with(py, "Study.plan", move |study| {
                let none = || Failure::invalid(format!("there is no episode {episode}"));
                Ok(study.history().episodes.get(episode).ok_or_else(none)?.plan.clone())
            })?;
            Ok(Plan::new(plan))
        })
    }

    /// Summary of every episode.
    #[getter]
    fn episodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.episodes", || {
            let each = self.with(py, "Study.episodes", |study| {
                Ok(Json::Array(study.history().episodes.iter().map(described).collect()))
            })?;
            Ok(python(py, &each)?)
        })
    }

    /// All measurements: episode, start, t, x, u, x_dot (`None` where it was not measured), asked_t, used.
    fn measurements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(py, "Study.measurements", || {
            let (rows, dims) = self.with(py, "Study.measurements", |study| {
                let each = study.history().episodes.iter();
                let rows: Vec<(usize, bool, Row)> = each
                    .flat_map(|e| e.rows.iter().map(|row| (e.episode, e.is_used(), row.clone())))
                    .collect();
                Ok((rows, study.system().task.dims()))
            })?;
            let dict = PyDict::new(py);
            let whole = |of: fn(&(usize, bool, Row)) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
            let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
            let episodes = rows.iter().map(|(episode, ..)| count(*episode));
            dict.set_item("episode", PyArray1::from_iter(py, episodes))?;
            dict.set_item("start", PyArray1::from_iter(py, rows.iter().map(|(.., row)| count(row.start))))?;
            dict.set_item("used", PyArray1::from_iter(py, rows.iter().map(|(_, used, _)| *used)))?;
            dict.set_item("t", vector(py, &whole(|(.., row)| row.t)))?;
            dict.set_item("asked_t", vector(py, &whole(|(.., row)| row.asked_t.unwrap_or(f64::NAN))))?;
            let all = |of: &dyn Fn(&Row) -> Vec<f64>| {
                rows.iter().flat_map(|(.., row)| of(row)).collect::<Vec<f64>>()
            };
            dict.set_item("x", matrix(py, &all(&|row| row.x.clone()), dims.state)?)?;
            dict.set_item("u", matrix(py, &all(&|row| row.u.clone()), dims.control)?)?;
            let none = vec![f64::NAN; dims.state];
            let derivatives = all(&|row| row.x_dot.clone().unwrap_or_else(|| none.clone()));
            dict.set_item("x_dot", matrix(py, &derivatives, dims.state)?)?;
            Ok(dict)
        })
    }

    /// Creation data: version, system, file, settings, seed, prices; names of states and controls.
    #[getter]
    fn created<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.created", || {
            let created = self.with(py, "Study.created", |study| {
                let mut document = json!(study.created());
                let columns = study.columns();
                (document["states"], document["controls"]) = (json!(columns.states), json!(columns.controls));
                document["horizon"] = json!(study.system().task.horizon);
                Ok(document)
            })?;
            Ok(python(py, &created)?)
        })
    }

    #[getter]
    fn folder(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "Study.folder", || Ok(self.folder.display().to_string()))
    }

    /// Closes the study and releases its folder. Closing twice has no further effect.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guard(py, "Study.close", || {
            if self.process != std::process::id() {
                return Ok(());
            }
            work::close(py, "Study.close", &self.folder, &self.inner)
        })
    }
}

/// A forked process must not use the parent's connection and leaves it open.
impl Drop for Study {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.inner.clone());
        }
    }
}

impl Study {
    fn dims(&self, py: Python<'_>, place: &'static str) -> Answer<Dims> {
        self.with(py, place, |study| Ok(study.system().task.dims()))
    }
}

/// Converts an event for the `hear` callback: warnings first.
fn messages(task: &Task, event: &Event<'_>, units: TableUnits) -> impl Iterator<Item = (&'static str, Json)> {
    let warnings = events::warnings(task, event).into_iter().map(|text| ("warning", json!(text)));
    warnings.chain(events::document(event, units).map(|document| ("event", document)))
}

/// Executes the next episode of a study on the plant of the waiting caller.
fn next_episode(
    study: &mut Kept,
    context: &JobContext<Message>,
    observer: &mut dyn Observer,
) -> Result<Option<Json>, StudyError> {
    let folder = study.store().folder().to_path_buf();
    let journal = StudyJournal::recording(&mut *study, "python");
    let plant = PythonPlant { caller: context, plan: journal.pending_plan() };
    let Some((run, trace)) = StudyLoop::new(journal, plant).next_episode(observer)? else { return Ok(None) };
    if let Some(trace) = trace {
        // The trace is optional: figures only show less without it.
        let _ = trace.write(&folder);
    }
    let episode = run.proposal.episode;
    let strange = study.strange(episode)?;
    let mut done = described(&study.history().episodes[episode]);
    done["warning"] = json!(strange.and_then(|strange| strange.warning()));
    Ok(Some(done))
}

fn telling(how: &str) -> Answer<Telling> {
    match how {
        "whole" => Ok(Telling::Whole),
        "more" => Ok(Telling::More),
        "correct" => Ok(Telling::Correct),
        other => Err(Failure::invalid(format!("measurements cannot be recorded as '{other}'")).into()),
    }
}

/// Records measurements and returns the receipt.
fn record(
    study: &mut Kept,
    episode: Option<usize>,
    measured: Measured,
    source: &str,
    how: Telling,
) -> Answer<Json> {
    let receipt = study.tell(episode, measured, source, how)?;
    let strange = study.strange(receipt.episode)?;
    Ok(json!({
        "episode": receipt.episode,
        "stored": receipt.stored,
        "known": receipt.known,
        "on_time": receipt.against.on_time,
        "late": receipt.against.late,
        "missed": receipt.against.missed,
        "extra": receipt.against.extra,
        "closed": receipt.closed,
        "far_from_the_model": strange.as_ref().map(|strange| strange.far),
        "warning": strange.and_then(|strange| strange.warning()),
        "notes": receipt.notes,
    }))
}

/// Summary of an episode.
fn described(episode: &EpisodeHistory) -> Json {
    let plan = &episode.plan;
    let closed: Option<&Closed> = episode.closed.as_ref();
    json!({
        "episode": episode.episode,
        "status": closed.map_or("pending", |closed| closed.status.name()),
        "outcome": closed.map(|closed| &closed.outcome),
        "cost": closed.and_then(|closed| closed.cost),
        "cost_from": closed.map(|closed| closed.cost_from.name()),
        "planned_cost": plan.planned_cost(),
        "measured": episode.rows.len(),
        "asked": plan.asked(),
        "measure_at": plan.rollouts.iter().map(|rollout| &rollout.measure_at).collect::<Vec<_>>(),
        "reason": episode.reason,
    })
}
