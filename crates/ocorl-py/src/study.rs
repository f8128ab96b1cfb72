//! `Study`: ask, run, tell; for days, across crashes.

use crate::arrays::{Shape, list, matrix, rows, vector};
use crate::errors::{Answer, Failure, Trouble, guard};
use crate::plan::Plan;
use crate::system::System;
use crate::values::{config, maybe_whole, python, whole};
use crate::work::{self, Desk, How, lock};
use numpy::PyArray1;
use ocorl::event::{Event, Watch};
use ocorl::linalg::Dims;
use ocorl_study::live;
use ocorl_study::measured::Measured;
use ocorl_study::price::Prices;
use ocorl_study::run::events;
use ocorl_study::store::Access;
use ocorl_study::study::{Closed, End, EpisodeHistory, Row, Study as Kept, Telling};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A study on disk. Whoever calls first is served first; who is interrupted leaves at once, and what was begun is finished behind the scenes.
#[pyclass(frozen, subclass, module = "ocorl._ocorl")]
pub(crate) struct Study {
    inner: Arc<Mutex<Option<Kept>>>,
    folder: PathBuf,
    /// The process that opened it: no other may use its connection.
    process: u32,
    /// Opened to look only.
    looks: bool,
}

impl Study {
    /// Looks something up or writes something down, on another thread.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        place: &'static str,
        act: impl FnOnce(&mut Kept) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.heard(py, How::light(place), |_, ()| Ok(()), move |study, _| act(study))
    }

    /// It may be changed.
    fn writable(&self) -> Answer<()> {
        if !self.looks {
            return Ok(());
        }
        let failure = Failure::new("StudyError", "the study was opened to look only");
        Err(failure.hint("open it to go on: ocorl.Study.open(folder)").into())
    }

    /// Acts on the study, and learns from that, on another thread.
    fn learning<T: Send + 'static>(
        &self,
        py: Python<'_>,
        place: &'static str,
        act: impl FnOnce(&mut Kept) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        self.heard(py, How::at(place), |_, ()| Ok(()), move |study, _| act(study))
    }

    /// The same; `hear` is told what `act` tells.
    fn heard<T: Send + 'static, M: Send + 'static>(
        &self,
        py: Python<'_>,
        how: How,
        hear: impl FnMut(Python<'_>, M) -> PyResult<()>,
        act: impl FnOnce(&mut Kept, &Desk<M>) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        if self.process != std::process::id() {
            return Err(Failure::new("StudyError", "this study was opened by another process")
                .hint("after a fork, open it again: ocorl.Study.open(folder)")
                .into());
        }
        let inner = self.inner.clone();
        let how = How { folder: Some(self.folder.clone()), ..how };
        let job = move |desk: &Desk<M>| {
            let mut study = lock(&inner);
            // Who has left while waiting for others is not served.
            if desk.is_cancelled() {
                return Err(Trouble::from(Failure::new("StudyError", "cancelled")));
            }
            let closed = || Failure::new("StudyError", "the study is closed").hint("open it again");
            act(study.as_mut().ok_or_else(closed)?, desk)
        };
        work::run(py, how, job, hear)
    }
}

/// Rows of measurements as they come from Python.
struct Told<'a, 'py> {
    t: &'a Bound<'py, PyAny>,
    x: &'a Bound<'py, PyAny>,
    u: &'a Bound<'py, PyAny>,
    x_dot: Option<&'a Bound<'py, PyAny>>,
    start: usize,
}

impl Told<'_, '_> {
    fn rows(&self, dims: Dims) -> Answer<Vec<Row>> {
        let times = list(self.t, "t", None)?;
        let shape = |what, columns| Shape { what, columns };
        let x = rows(self.x, shape("x", dims.state))?;
        let u = rows(self.u, shape("u", dims.control))?;
        let x_dot = self.x_dot.map(|d| rows(d, shape("x_dot", dims.state))).transpose()?;
        let count = times.len();
        for (what, found) in [
            ("x", x.len() / dims.state),
            ("u", u.len() / dims.control),
            ("x_dot", x_dot.as_ref().map_or(count, |d| d.len() / dims.state)),
        ] {
            if found != count {
                return Err(Failure::mistake(format!("'t' has {count} entries, '{what}' has {found} rows"))
                    .detail("note", "nothing was stored")
                    .into());
            }
        }
        let row = |all: &[f64], i: usize, size: usize| all[i * size..(i + 1) * size].to_vec();
        let each = |i: usize| Row {
            start: self.start,
            t: times[i],
            x: row(&x, i, dims.state),
            u: row(&u, i, dims.control),
            x_dot: x_dot.as_ref().map(|d| row(d, i, dims.state)),
            asked_t: None,
            interval: None,
        };
        Ok((0..count).map(each).collect())
    }
}

#[pymethods]
impl Study {
    /// `mode` is `create`, `open`, `look` (read only) or `continue` (open or create).
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
                    _ => return Err(Failure::mistake("a study to be begun needs a system").into()),
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

    /// The next plan: the pending one, to the byte, or a new one; none when the study is over. `hear(kind, contents)` is told of events and
    /// warnings.
    #[pyo3(signature = (hear=None))]
    fn ask(&self, py: Python<'_>, hear: Option<Py<PyAny>>) -> PyResult<Option<Plan>> {
        guard(py, "Study.ask", || {
            self.writable()?;
            let hear = |py: Python<'_>, (kind, contents): (&'static str, Json)| match &hear {
                Some(hear) => hear.call1(py, (kind, python(py, &contents)?)).map(|_| ()),
                None => Ok(()),
            };
            let plan = self.heard(py, How::at("Study.ask"), hear, |study, desk| {
                let task = study.system().task.clone();
                let mut observer = Watch(|event: &Event<'_>| {
                    for text in events::warnings(&task, event) {
                        desk.tell(("warning", json!(text)));
                    }
                    if let Some(document) = events::document(event, 1.0) {
                        desk.tell(("event", document));
                    }
                });
                Ok(live::ask(study, &mut observer)?)
            })?;
            Ok(plan.map(Plan::new))
        })
    }

    /// Keeps what was measured; when this returns, it is on disk. `how` is `whole`, `more` or `correct`.
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
            let rows = Told { t, x, u, x_dot, start }.rows(self.dims(py, "Study.tell")?)?;
            let ends = if cost.is_some() || outcome.is_some() {
                if let Some(cost) = cost.filter(|cost| !cost.is_finite()) {
                    return Err(Failure::mistake(format!("the cost is {cost}; it must be finite"))
                        .detail("note", "nothing was stored")
                        .into());
                }
                vec![End { start, cost, outcome }]
            } else {
                Vec::new()
            };
            let how = telling(how)?;
            let source = source.to_owned();
            let measured = Measured { rows, ends, ..Measured::default() };
            let told =
                self.learning(py, "Study.tell", move |study| told(study, episode, measured, &source, how))?;
            Ok(python(py, &told)?)
        })
    }

    /// The same from a file: CSV, or JSON if it is called so.
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
            let told = self.learning(py, "Study.tell_file", move |study| {
                let measured = Measured::load(&path, &study.columns())?;
                told(study, episode, measured, &path.display().to_string(), how)
            })?;
            Ok(python(py, &told)?)
        })
    }

    /// Learns from measurements that no episode of this study gave; returns how many were new.
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
            let told = Told { t, x, u, x_dot: Some(x_dot), start: 0 };
            let rows = told.rows(self.dims(py, "Study.import_")?)?;
            self.learning(py, "Study.import_", move |study| {
                Ok(study.import(Measured { rows, ..Measured::default() }, "python")?)
            })
        })
    }

    /// The same from a file.
    fn import_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<usize> {
        guard(py, "Study.import_file", || {
            self.writable()?;
            self.learning(py, "Study.import_file", move |study| {
                let measured = Measured::load(&path, &study.columns())?;
                Ok(study.import(measured, &path.display().to_string())?)
            })
        })
    }

    /// The pending episode failed; what was measured until then counts.
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

    /// An episode is not to be learned from.
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

    /// Writes something down.
    fn note(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        guard(py, "Study.note", || {
            self.writable()?;
            let text = text.to_owned();
            self.with(py, "Study.note", move |study| Ok(study.note(&text)?))
        })
    }

    /// In a few numbers: overview, notes, what the next episode is worth.
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

    /// Looks at every byte of it.
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
                        .detail("note", "the events are whole; nothing is lost")
                        .hint(format!("make the tables anew: ocorl study check {at} --rebuild"))
                        .into());
                }
                let (records, checksum) = study.store().head();
                let measurements = study.history().measurements();
                Ok(json!({ "records": records, "checksum": checksum, "measurements": measurements }))
            })?;
            Ok(python(py, &found)?)
        })
    }

    /// How many events there are, and the checksum of the last.
    #[getter]
    fn head(&self, py: Python<'_>) -> PyResult<(u64, String)> {
        guard(py, "Study.head", || {
            self.with(py, "Study.head", |study| {
                let (records, checksum) = study.store().head();
                Ok((records, checksum.to_owned()))
            })
        })
    }

    /// Whether nothing more is asked for.
    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        guard(py, "Study.done", || self.with(py, "Study.done", |study| Ok(study.over().is_some())))
    }

    /// The plan that was asked for and is not over.
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
                let none = || Failure::mistake(format!("there is no episode {episode}"));
                Ok(study.history().episodes.get(episode).ok_or_else(none)?.plan.clone())
            })?;
            Ok(Plan::new(plan))
        })
    }

    /// Every episode in a few numbers.
    #[getter]
    fn episodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(py, "Study.episodes", || {
            let each = self.with(py, "Study.episodes", |study| {
                Ok(Json::Array(study.history().episodes.iter().map(described).collect()))
            })?;
            Ok(python(py, &each)?)
        })
    }

    /// Everything that was measured: episode, start, t, x, u, x_dot (none where it was not), asked_t, used.
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

    /// How it began: version, system, file, settings, seed, prices; names of states and controls.
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

    /// Lets go of the folder. Closing twice is harmless.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guard(py, "Study.close", || {
            if self.process != std::process::id() {
                return Ok(());
            }
            work::close(py, "Study.close", &self.folder, &self.inner)
        })
    }
}

/// A process that was forked has no right to the parent's connection, and leaves it alone.
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

fn telling(how: &str) -> Answer<Telling> {
    match how {
        "whole" => Ok(Telling::Whole),
        "more" => Ok(Telling::More),
        "correct" => Ok(Telling::Correct),
        other => Err(Failure::mistake(format!("nothing can be told '{other}'")).into()),
    }
}

/// Tells, and says what became of it.
fn told(
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

/// An episode in a few numbers.
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
        "measure_at": plan.legs.iter().map(|leg| &leg.measure_at).collect::<Vec<_>>(),
        "reason": episode.reason,
    })
}
