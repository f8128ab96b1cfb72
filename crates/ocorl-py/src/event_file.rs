//! The Python class `EventFile`: scalars for TensorBoard.

use crate::errors::{Answer, Failure, guard};
use crate::work::lock;
use ocorl_study::event_file::EventFile as Written;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;

/// An event file open for writing.
#[pyclass(frozen, module = "ocorl._ocorl")]
pub(crate) struct EventFile {
    inner: Mutex<Written>,
    path: PathBuf,
}

#[pymethods]
impl EventFile {
    /// Creates a new file in a folder, which is created if it does not exist.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        guard(py, "EventFile", || {
            let made = py.detach(|| Written::create(&folder));
            let written = made.map_err(|error| Failure::disk(&folder, &error))?;
            Ok(EventFile { path: written.path().into(), inner: Mutex::new(written) })
        })
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, "EventFile.path", || Ok(self.path.display().to_string()))
    }

    /// Writes the scalars of one step, each with its name; values that are not finite are left out.
    fn write(&self, py: Python<'_>, step: usize, numbers: Vec<(String, f64)>) -> PyResult<()> {
        guard(py, "EventFile.write", || {
            let named: Vec<(&str, f64)> =
                numbers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            let written = py.detach(|| lock(&self.inner).write(step, &named));
            let answer: Answer<()> = written.map_err(|error| Failure::disk(&self.path, &error).into());
            answer
        })
    }
}
