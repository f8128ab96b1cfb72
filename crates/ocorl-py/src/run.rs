//! The Python function `run`: learns a system whose equations are available for simulation.

mod episodes;

use crate::errors::{Answer, Failure, guard};
use crate::function::Called;
use crate::model::{Learned, measurements};
use crate::system::{Source, System};
use crate::values::{config, document, maybe_whole, python, whole};
use crate::work::{self, How, JobContext};
use ocorl::event::{Event, Watch};
use ocorl::learn::{Episode, Settings, Trial};
use ocorl::measurements::Measurements;
use ocorl::system::KnownSystem;
use ocorl_study::config::Config;
use ocorl_study::known::Known;
use ocorl_study::price::Prices;
use ocorl_study::run::events;
use ocorl_study::run::text_report::{TextReport, header};
use ocorl_study::run::{Run, printed};
use ocorl_study::study::Study;
use ocorl_study::trace::keep_known;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

/// Progress messages of a run.
pub(crate) enum Message {
    /// Text output: a piece of the table.
    Text(String),
    /// A warning for the user.
    Warning(String),
    /// An event as a document.
    Event(Json),
    /// The record of a completed episode; the job waits for the answer whether to stop.
    Episode(Json, Sender<bool>),
}

impl Message {
    /// Kind and contents of the message, for the `hear` callback of [`run`].
    fn python<'py>(&self, py: Python<'py>) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
        Ok(match self {
            Message::Text(text) => ("text", text.into_pyobject(py)?.into_any()),
            Message::Warning(text) => ("warning", text.into_pyobject(py)?.into_any()),
            Message::Event(event) | Message::Episode(event, _) => ("event", python(py, event)?),
        })
    }
}

/// Parameters of a run.
struct Job {
    source: Source,
    config: Config,
    named: String,
    seed: u64,
    out: Option<PathBuf>,
    /// Measurements of other origin, from which to learn before the first episode.
    known: Option<Measurements>,
}

/// Results of a run.
struct Done {
    benchmark: KnownSystem,
    settings: Settings,
    known: Option<Known>,
    episodes: Vec<Episode>,
    seconds: f64,
    source: Source,
    learned: Option<Learned>,
}

/// Learns a system; `hear(kind, contents)` receives every message, with the kinds `text`, `warning` and `event`. If it returns a
/// true value for the record of an episode, the run ends.
#[pyfunction]
#[pyo3(signature = (system, *, seed, settings, set, out, threads, hear, data=None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    system: &Bound<'py, System>,
    #[pyo3(from_py_with = whole)] seed: u64,
    settings: &str,
    set: &Bound<'py, PyDict>,
    out: Option<PathBuf>,
    #[pyo3(from_py_with = maybe_whole)] threads: Option<usize>,
    hear: &Bound<'py, PyAny>,
    data: Option<[Bound<'py, PyAny>; 4]>,
) -> PyResult<Bound<'py, PyDict>> {
    guard(py, "run", || {
        let known = data.map(|[x, u, x_dot, noise]| measurements(&x, &u, &x_dot, &noise)).transpose()?;
        let source = system.get().source.clone();
        let config = config(&source.inner, settings, set)?;
        if let Some(out) = &out {
            writable(out)?;
            work::settle(py, out)?;
        }
        let how = How { threads, folder: out.clone(), ..How::at("run") };
        let job = Job { source, config, named: settings.into(), seed, out: out.clone(), known };
        let done = work::run(
            py,
            how,
            move |context| job.learn(context),
            |py, message: Message| {
                let answer = hear.call1(message.python(py)?)?;
                if let Message::Episode(_, stop) = message {
                    // The job may have been cancelled meanwhile.
                    let _ = stop.send(answer.is_truthy()?);
                }
                Ok(())
            },
        )?;
        answer(py, &done, seed, out.as_deref())
    })
}

/// Creates the folder if it does not exist and checks that it is writable.
fn writable(folder: &Path) -> Answer<()> {
    Ok(std::fs::create_dir_all(folder)
        .map_err(|error| Failure::disk(folder, &error).detail("note", "nothing was computed"))?)
}

impl Job {
    fn learn(self, context: &JobContext<Message>) -> Answer<Done> {
        let begin = Instant::now();
        let (system, called) = self.source.whole(&context.cancel);
        let Some(benchmark) = system.truth.clone() else { return Err(self.source.without_equations()) };
        let (settings, units) = (&self.config.settings, benchmark.table_units());
        // Validates that learning can start with these settings; nothing is computed yet.
        Trial::new(&benchmark, settings.clone(), self.seed, 0.0)?;
        let study = self
            .out
            .as_deref()
            .map(|folder| Study::open_or_create(folder, &system, settings, self.seed, Prices::default()));
        let study = study.transpose()?.map(|study| study.with_truth(system.truth.clone()));
        let text_report = TextReport::new(&benchmark, settings, self.seed);
        context.tell(Message::Text(text_report.opening(&self.named)));
        let known = if self.source.is_function() { None } else { Some(Known::of(&benchmark, settings)?) };
        let mut text_report = text_report.with_known(known);
        context.tell(Message::Event(
            json!({ "event": "known", "known": known.map(|known| known.printed(units)) }),
        ));
        context.tell(Message::Text(header()));
        let mut observer = Watch(|event: &Event<'_>| report(&benchmark, event, context));
        let mut run = Run::begin(&benchmark, settings, self.seed, known.as_ref(), study, &context.cancel)?;
        if let Some(known) = &self.known {
            run.import(known, &mut observer)?;
        }
        let mut episodes = Vec::new();
        while let Some(episode) = run.next_episode(&mut observer)? {
            if context.is_cancelled() {
                break;
            }
            let (answer, stop) = channel();
            let record = json!({ "event": "episode", "record": printed(&episode.record, units) });
            context.tell(Message::Text(text_report.row(&episode)));
            context.tell(Message::Episode(record, answer));
            episodes.push(episode);
            if stop.recv() == Ok(true) {
                break;
            }
        }
        called.as_ref().map_or(Ok(()), Called::trouble)?;
        let learned = run.learner().and_then(|learner| Learned::of(learner, system.prior_mean()).ok());
        drop(run);
        let known = text_report.correct(&mut episodes).or(known);
        if let Some((folder, known)) = self.out.as_deref().zip(known.as_ref()) {
            // Figures can do without the reference costs.
            let _ = keep_known(folder, &known.printed(units));
        }
        let seconds = begin.elapsed().as_secs_f64();
        context.tell(Message::Text(text_report.closing(&episodes, seconds)));
        let settings = settings.clone();
        Ok(Done { benchmark, settings, known, episodes, seconds, source: self.source.clone(), learned })
    }
}

/// Sends an event to the caller.
fn report(benchmark: &KnownSystem, event: &Event<'_>, context: &JobContext<Message>) {
    for text in events::warnings(&benchmark.task, event) {
        context.tell(Message::Warning(text));
    }
    if let Some(document) = events::document(event, benchmark.table_units()) {
        context.tell(Message::Event(document));
    }
}

/// The complete result of a run as a dictionary.
fn answer<'py>(py: Python<'py>, done: &Done, seed: u64, out: Option<&Path>) -> Answer<Bound<'py, PyDict>> {
    let Done { benchmark, settings, known, episodes, seconds, source, learned } = done;
    let names = |list: &[ocorl::system::Quantity]| list.iter().map(|q| q.name.clone()).collect::<Vec<_>>();
    let units = |list: &[ocorl::system::Quantity]| list.iter().map(|q| q.unit.clone()).collect::<Vec<_>>();
    let (task, table, dict) = (&benchmark.task, benchmark.table_units(), PyDict::new(py));
    dict.set_item("system", &*benchmark.name)?;
    dict.set_item("title", &*benchmark.title)?;
    dict.set_item("seed", seed)?;
    dict.set_item("states", names(&task.states))?;
    dict.set_item("controls", names(&task.controls))?;
    dict.set_item("state_units", units(&task.states))?;
    dict.set_item("control_units", units(&task.controls))?;
    dict.set_item("time_unit", task.time_unit())?;
    dict.set_item("horizon", task.horizon)?;
    dict.set_item("table_scale", table.scale())?;
    dict.set_item("settings", document(py, settings)?)?;
    dict.set_item("known", known.map(|known| document(py, &known.printed(table))).transpose()?)?;
    let paper = TextReport::new(benchmark, settings, seed).paper().map(|cell| (cell.mean, cell.std));
    dict.set_item("paper", paper)?;
    dict.set_item("folder", out.map(|out| out.display().to_string()))?;
    dict.set_item("seconds", seconds)?;
    dict.set_item("learned", learned.as_ref().map(|learned| learned.python(py)).transpose()?)?;
    let each = episodes.iter().map(|episode| episodes::python(py, &source.inner, settings, episode, table));
    let each: Answer<Vec<_>> = each.collect();
    dict.set_item("episodes", each?)?;
    Ok(dict)
}
