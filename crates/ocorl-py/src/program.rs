//! The program `ocorl`, for the command that the package installs.

use crate::errors::guard;
use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program with its arguments, the first of which is its name, and returns its exit code. Signals must have their default actions:
/// the program handles Ctrl-C itself.
#[pyfunction]
pub(crate) fn program(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    guard(py, "program", || Ok(py.detach(|| ocorl_cli::run(arguments))))
}
