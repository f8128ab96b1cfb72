//! The compiled half of the Python package `ocorl`: converts types, decides nothing.
//!
//! | file | holds |
//! |---|---|
//! | `errors` | what is raised, and the guard that every exported function goes through |
//! | `work` | long work on threads: the interpreter stays free, Ctrl-C is noticed |
//! | `arrays`, `values` | NumPy arrays; JSON and TOML as Python has them |
//! | `function` | Python functions as dynamics and as laws |
//! | `system` | `System` |
//! | `run` | `run` |
//! | `study` | `Study` |
//! | `plan` | `Plan`, `Controller`, `plan` |
//! | `optimal` | `optimal` |
//! | `model` | `Model`, `Draw`, `choose_times` |
//! | `sweep` | `Grid`, `Sweep`, `run_cell`, `studies` |
//! | `event_file` | `EventFile` |
//! | `figures` | `draw`, `exhibits`, `report` |
//!
//! The other half, in `python/ocorl`, has the names that people use, with their documentation.

mod arrays;
mod errors;
mod event_file;
mod figures;
mod function;
mod model;
mod optimal;
mod plan;
mod run;
mod study;
mod sweep;
mod system;
mod values;
mod work;

use pyo3::prelude::*;

/// Fills the module.
#[pymodule]
fn _ocorl(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<system::System>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<plan::Controller>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<model::Draw>()?;
    module.add_class::<event_file::EventFile>()?;
    module.add_class::<sweep::Grid>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_function(wrap_pyfunction!(system::systems, module)?)?;
    module.add_function(wrap_pyfunction!(system::strategies, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(optimal::optimal, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(model::choose_times, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::run_cell, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::studies, module)?)?;
    module.add_function(wrap_pyfunction!(figures::draw, module)?)?;
    module.add_function(wrap_pyfunction!(figures::exhibits, module)?)?;
    module.add_function(wrap_pyfunction!(figures::report, module)?)?;
    let rest = wrap_pyfunction!(function::rest, module)?;
    module.py().import("atexit")?.call_method1("register", (&rest,))?;
    module.add_function(rest)?;
    #[cfg(feature = "failpoints")]
    module.add_function(wrap_pyfunction!(errors::arm, module)?)?;
    Ok(())
}
