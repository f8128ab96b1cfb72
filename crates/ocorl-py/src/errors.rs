//! What is raised: every error as one of the classes in `ocorl._errors`, every panic as `InternalError`.

use ocorl::baseline::BaselineError;
use ocorl::learn::LearnError;
use ocorl::measurements::MeasurementError;
use ocorl::model::ModelError;
use ocorl::plan::PlanError;
use ocorl_study::mistake::Mistake;
use ocorl_study::store::StoreError;
use ocorl_study::study::StudyError;
use ocorl_study::sweep::SweepError;
use pyo3::prelude::*;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Why something was not done.
pub(crate) enum Trouble {
    /// An error of ours.
    Failure(Box<Failure>),
    /// An exception as it is: the user's own, or a signal's.
    Raised(PyErr),
}

/// What a function of ours that may fail comes to.
pub(crate) type Answer<T> = Result<T, Trouble>;

/// An error of ours: class, what, labelled lines, what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    class: &'static str,
    message: String,
    details: Vec<(String, String)>,
    hint: Option<String>,
}

impl Failure {
    /// An error of this class.
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Failure { class, message: message.into(), details: Vec::new(), hint: None }
    }

    /// What somebody asked for cannot be done.
    pub(crate) fn mistake(message: impl Into<String>) -> Self {
        Failure::new("MistakeError", message)
    }

    /// A plant did not do what a plant does.
    pub(crate) fn plant(message: impl Into<String>) -> Self {
        Failure::new("PlantError", message)
    }

    /// A file or folder that cannot be written.
    pub(crate) fn disk(path: &Path, error: &io::Error) -> Self {
        Failure::new("DiskError", format!("cannot write '{}'", path.display()))
            .detail("cause", error.to_string())
    }

    /// A labelled line.
    pub(crate) fn detail(mut self, label: &str, text: impl Into<String>) -> Self {
        self.details.push((label.into(), text.into()));
        self
    }

    /// What to do now.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// As an exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let Failure { class, message, details, hint } = self;
        let made = || py.import("ocorl._errors")?.getattr(class)?.call1((message.as_str(), details, hint));
        made().map_or_else(|error| error, PyErr::from_value)
    }
}

impl Trouble {
    /// As an exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Trouble::Failure(failure) => failure.raise(py),
            Trouble::Raised(error) => error,
        }
    }
}

impl From<PyErr> for Trouble {
    fn from(error: PyErr) -> Self {
        Trouble::Raised(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Failure(Box::new(failure))
    }
}

impl From<Mistake> for Trouble {
    fn from(mistake: Mistake) -> Self {
        let Mistake { message, details, hint } = mistake;
        let details = details.into_iter().map(|(label, text)| (label.to_owned(), text)).collect();
        Failure { details, hint: hint.map(|hint| in_python(&hint)), ..Failure::mistake(message) }.into()
    }
}

/// What hints say of the program, and what does the same here. The longer ones first.
const WORDS: [(&str, &str); 12] = [
    ("`ocorl study ask` writes", "plan.text holds"),
    ("ocorl study ask, ocorl rig, ocorl study tell", "study.ask(), study.tell(...)"),
    ("ocorl study tell --correct", "study.tell(..., correct=True)"),
    ("ocorl study import", "study.import_(path) with"),
    ("ocorl study discard", "study.discard(episode)"),
    ("ocorl study fail", "study.fail(reason) in"),
    ("ocorl study ask", "study.ask() in"),
    ("--settings takes", "settings= takes"),
    ("with --out", "as out="),
    ("ocorl sweep --help", "ocorl.sweep"),
    ("ocorl new NAME", "ocorl.System(f, states=..., inputs=..., ...)"),
    ("ocorl list", "ocorl.systems()"),
];

/// A hint in the words of this package.
fn in_python(hint: &str) -> String {
    if let Some(system) = hint.strip_suffix(" --print-config").and_then(|h| h.rsplit_once("ocorl run ")) {
        return format!("{}print(ocorl.System('{}').settings())", system.0, system.1);
    }
    WORDS.iter().fold(hint.to_owned(), |hint, (program, here)| hint.replace(program, here))
}

/// Errors whose words say everything.
macro_rules! mistakes {
    ($($error:ty),*) => { $(
        impl From<$error> for Trouble {
            fn from(error: $error) -> Self {
                Failure::mistake(error.to_string()).into()
            }
        }
    )* };
}

mistakes!(LearnError, ModelError, MeasurementError);

impl From<PlanError> for Trouble {
    fn from(error: PlanError) -> Self {
        // Nothing was said wrongly: there is no answer.
        let class =
            if matches!(error, PlanError::NoFinitePlan { .. }) { "OcorlError" } else { "MistakeError" };
        Failure::new(class, error.to_string()).into()
    }
}

impl From<BaselineError> for Trouble {
    fn from(error: BaselineError) -> Self {
        let said = matches!(error, BaselineError::Benchmark(_) | BaselineError::Setting { .. });
        Failure::new(if said { "MistakeError" } else { "OcorlError" }, error.to_string()).into()
    }
}

impl From<StudyError> for Trouble {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Store(error) => error.into(),
            StudyError::Refused(mistake) => mistake.into(),
            StudyError::Learn(error) => error.into(),
            other => Failure::new("StudyError", other.to_string()).into(),
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let unchanged = "nothing was changed on disk";
        match error {
            StoreError::Missing { .. } => {
                Failure::mistake(message).hint("begin one: ocorl.Study.create(folder, system=...)")
            }
            StoreError::Exists { .. } => Failure::mistake(message)
                .detail("note", unchanged)
                .hint("go on with it: ocorl.Study.open(folder)"),
            StoreError::Damaged { what, file, record, good } => {
                let folder = file.parent().unwrap_or(&file).display().to_string();
                Failure::new("DamagedError", message)
                    .detail("file", file.display().to_string())
                    .detail("record", record)
                    .detail("good", if good > 0 { format!("records 1-{good}") } else { "none".into() })
                    .detail("note", unchanged)
                    .hint(format!(
                        "save what is good: ocorl {what} check {folder} --salvage {folder}-rescued"
                    ))
            }
            StoreError::Newer { .. } => Failure::new("DamagedError", message)
                .detail("note", unchanged)
                .hint("open it with the version that made it, or a later one"),
            StoreError::InUse { .. } => Failure::new("BusyError", message)
                .detail("note", unchanged)
                .hint("close it there, or look only: ocorl.Study.open(folder, read_only=True)"),
            StoreError::Disk { .. } => Failure::new("DiskError", message)
                .detail("note", "what was kept before is safe")
                .hint("make room or get permission, then say it again: nothing was half-written"),
            StoreError::Poisoned(_) => Failure::new("DiskError", message).hint("open the study again"),
            _ => Failure::new("StudyError", message),
        }
        .into()
    }
}

impl From<SweepError> for Trouble {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Store(error) => error.into(),
            SweepError::File { path, source } => Failure::disk(&path, &source).into(),
            SweepError::OtherVersion { .. } => Failure::new("DamagedError", error.to_string())
                .hint("results of two versions are not mixed: give another folder")
                .into(),
            other => Failure::new("StudyError", other.to_string()).into(),
        }
    }
}

/// Something that cannot be, but was.
pub(crate) fn internal(place: &str, cause: &str) -> Failure {
    Failure::new("InternalError", format!("'{place}' failed inside: {cause}"))
        .detail("version", env!("CARGO_PKG_VERSION"))
        .hint("this is a mistake of ours: please report it with these lines; studies on disk are safe")
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    let word = panic.downcast_ref::<&str>().copied();
    word.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

/// What every exported function goes through: errors are raised, panics become `InternalError`. `place` is its name in Python.
pub(crate) fn guard<T>(py: Python<'_>, place: &'static str, act: impl FnOnce() -> Answer<T>) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        failpoint(place);
        act()
    }));
    match done {
        Ok(answer) => answer.map_err(|trouble| trouble.raise(py)),
        Err(panic) => Err(internal(place, said(panic.as_ref())).raise(py)),
    }
}

#[cfg(feature = "failpoints")]
static ARMED: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);

/// Panics if a test has asked for it here.
#[cfg(feature = "failpoints")]
fn failpoint(place: &str) {
    let mut armed = ARMED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if armed.as_deref() == Some(place) {
        *armed = None;
        drop(armed);
        panic!("injected");
    }
}

#[cfg(not(feature = "failpoints"))]
fn failpoint(_place: &str) {}

/// The same for what is done on another thread.
pub(crate) fn failpoint_at_work(place: &str) {
    if cfg!(feature = "failpoints") {
        failpoint(&format!("{place} at work"));
    }
}

/// The next call of `place` panics; none: no call does.
#[cfg(feature = "failpoints")]
#[pyfunction]
#[pyo3(name = "_arm", signature = (place=None))]
pub(crate) fn arm(place: Option<String>) {
    *ARMED.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = place;
}
