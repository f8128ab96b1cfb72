//! Exceptions: every error is raised as one of the classes in `ocorl._errors`, every panic as `InternalError`.

use ocorl::baseline::BaselineError;
use ocorl::learn::LearnError;
use ocorl::measurements::MeasurementError;
use ocorl::model::ModelError;
use ocorl::plan::PlanError;
use ocorl_study::store::StoreError;
use ocorl_study::study::StudyError;
use ocorl_study::sweep::SweepError;
use ocorl_study::user_error::{Catalogue, Hint, UserError};
use pyo3::prelude::*;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Reason why a call failed.
pub(crate) enum Trouble {
    /// An error of this package.
    Failure(Box<Failure>),
    /// An existing exception, raised by the user's code or by a signal, which is passed on unchanged.
    Raised(PyErr),
}

/// Result of an internal function that may fail.
pub(crate) type Answer<T> = Result<T, Trouble>;

/// An error of this package: exception class, message, labelled detail lines and hint.
#[derive(Debug)]
pub(crate) struct Failure {
    class: &'static str,
    message: String,
    details: Vec<(String, String)>,
    hint: Option<String>,
}

impl Failure {
    /// An error that is raised as the given class.
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Failure { class, message: message.into(), details: Vec::new(), hint: None }
    }

    /// An error in an argument or a request of the user.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Failure::new("UserError", message)
    }

    /// An error caused by a plant that violates the plant interface.
    pub(crate) fn plant(message: impl Into<String>) -> Self {
        Failure::new("PlantError", message)
    }

    /// An error caused by a plant whose measurements cannot be recorded; the reason becomes the cause of the exception.
    pub(crate) fn refused_plant(py: Python<'_>, error: UserError) -> PyErr {
        let cause = Trouble::from(error);
        let Trouble::Failure(why) = &cause else { return cause.raise(py) };
        let message = format!("what plant.run returned cannot be recorded: {}", why.message);
        let error =
            Failure { details: why.details.clone(), hint: why.hint.clone(), ..Failure::plant(message) };
        let error = error.raise(py);
        error.set_cause(py, Some(cause.raise(py)));
        error
    }

    /// An error about a file or folder that cannot be written.
    pub(crate) fn disk(path: &Path, error: &io::Error) -> Self {
        Failure::new("DiskError", format!("cannot write '{}'", path.display()))
            .detail("cause", error.to_string())
    }

    /// Adds a labelled detail line.
    pub(crate) fn detail(mut self, label: &str, text: impl Into<String>) -> Self {
        self.details.push((label.into(), text.into()));
        self
    }

    /// Adds a hint on what to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Converts the error to an exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let Failure { class, message, details, hint } = self;
        let made = || py.import("ocorl._errors")?.getattr(class)?.call1((message.as_str(), details, hint));
        made().map_or_else(|error| error, PyErr::from_value)
    }
}

impl Trouble {
    /// Converts the error to an exception.
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

impl From<UserError> for Trouble {
    fn from(error: UserError) -> Self {
        let UserError { message, details, hint } = error;
        let details = details.into_iter().map(|(label, text)| (label.to_owned(), text)).collect();
        Failure { details, hint: hint.as_ref().map(in_python), ..Failure::invalid(message) }.into()
    }
}

/// The text of a hint in terms of the Python API.
fn in_python(hint: &Hint) -> String {
    match hint {
        Hint::ChooseName { meant, from } => {
            let list = match from {
                Catalogue::Studies => "ocorl.sweep".into(),
                Catalogue::Settings { system } => format!("print(ocorl.System('{system}').settings())"),
                _ => String::from("ocorl.systems()"),
            };
            match meant {
                Some(meant) => format!("did you mean '{meant}'? see: {list}"),
                None => format!("see: {list}"),
            }
        }
        Hint::OnlyPaperSystems => format!("{hint}; see: ocorl.systems()"),
        Hint::ChooseSettings => "settings= takes default, reference or a TOML file".into(),
        Hint::NewSystemFile { expected: true } => {
            "a file that describes a system; or without one: ocorl.System(f, states=..., inputs=..., ...)"
                .into()
        }
        Hint::NewSystemFile { .. } => "without a file: ocorl.System(f, states=..., inputs=..., ...)".into(),
        Hint::GridExample => format!("{hint}; see: ocorl.sweep"),
        Hint::AskForPlan => "a plan is what plan.text holds".into(),
        Hint::RunByHand => "continue with: study.ask(), study.tell(...)".into(),
        Hint::ChooseAnotherFolder => "continue where it was created, or give another folder as out=".into(),
        Hint::Correct => "to replace the recorded measurements: study.tell(..., correct=True)".into(),
        Hint::MarkFailed { .. } => "an episode that gave nothing: study.fail(reason)".into(),
        Hint::AskOrImport { .. } => {
            "ask for one: study.ask(); or import measurements: study.import_(path)".into()
        }
        Hint::Discard => "to exclude one from learning: study.discard(episode)".into(),
        _ => hint.to_string(),
    }
}

/// Conversions of errors whose message is sufficient.
macro_rules! plain_errors {
    ($($error:ty),*) => { $(
        impl From<$error> for Trouble {
            fn from(error: $error) -> Self {
                Failure::invalid(error.to_string()).into()
            }
        }
    )* };
}

plain_errors!(LearnError, ModelError, MeasurementError);

impl From<PlanError> for Trouble {
    fn from(error: PlanError) -> Self {
        // The input is valid, but the computation has no result.
        let class = if matches!(error, PlanError::NoFinitePlan { .. }) { "OcorlError" } else { "UserError" };
        Failure::new(class, error.to_string()).into()
    }
}

impl From<BaselineError> for Trouble {
    fn from(error: BaselineError) -> Self {
        let invalid = matches!(error, BaselineError::System(_) | BaselineError::Setting { .. });
        Failure::new(if invalid { "UserError" } else { "OcorlError" }, error.to_string()).into()
    }
}

impl From<StudyError> for Trouble {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Store(error) => error.into(),
            StudyError::Refused(error) => error.into(),
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
                Failure::invalid(message).hint("create one: ocorl.Study.create(folder, system=...)")
            }
            StoreError::Exists { .. } => Failure::invalid(message)
                .detail("note", unchanged)
                .hint("continue it: ocorl.Study.open(folder)"),
            StoreError::Damaged { what, file, record, good } => {
                let folder = file.parent().unwrap_or(&file).display().to_string();
                Failure::new("DamagedError", message)
                    .detail("file", file.display().to_string())
                    .detail("record", record)
                    .detail("good", if good > 0 { format!("records 1-{good}") } else { "none".into() })
                    .detail("note", unchanged)
                    .hint(format!(
                        "recover the valid part: ocorl {what} check {folder} --salvage {folder}-rescued"
                    ))
            }
            StoreError::Newer { .. } => Failure::new("DamagedError", message)
                .detail("note", unchanged)
                .hint("open it with the version that made it, or a later one"),
            StoreError::InUse { .. } => Failure::new("BusyError", message)
                .detail("note", unchanged)
                .hint("close it there, or open it read-only: ocorl.Study.open(folder, read_only=True)"),
            StoreError::Disk { fault, .. } => Failure::new("DiskError", message)
                .detail("note", "earlier records are safe")
                .hint(fault.advice()),
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

/// An error for an internal inconsistency.
pub(crate) fn internal(place: &str, cause: &str) -> Failure {
    Failure::new("InternalError", format!("'{place}' failed inside: {cause}"))
        .detail("version", env!("CARGO_PKG_VERSION"))
        .hint("this is a bug in ocorl: please report it with these lines; studies on disk are safe")
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let word = panic.downcast_ref::<&str>().copied();
    word.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

/// Wrapper of every exported function: raises errors as exceptions and converts panics to `InternalError`. `place` is the function's name
/// in Python.
pub(crate) fn guard<T>(py: Python<'_>, place: &'static str, act: impl FnOnce() -> Answer<T>) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        failpoint(place);
        act()
    }));
    match done {
        Ok(answer) => answer.map_err(|trouble| trouble.raise(py)),
        Err(panic) => Err(internal(place, panic_message(panic.as_ref())).raise(py)),
    }
}

#[cfg(feature = "failpoints")]
static ARMED: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);

/// Panics if a test has requested a panic at this place.
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

/// Panics on a worker thread if a test has requested a panic at this place.
pub(crate) fn failpoint_at_work(place: &str) {
    if cfg!(feature = "failpoints") {
        failpoint(&format!("{place} at work"));
    }
}

/// Requests that the next call of `place` panics; with `None`, removes the request.
#[cfg(feature = "failpoints")]
#[pyfunction]
#[pyo3(name = "_arm", signature = (place=None))]
pub(crate) fn arm(place: Option<String>) {
    *ARMED.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = place;
}
