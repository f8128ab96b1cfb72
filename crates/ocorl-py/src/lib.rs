//! The compiled part of the Python package `ocorl`. It converts types and contains no algorithms.
//!
//! | file | holds |
//! |---|---|
//! | `errors` | exceptions, and the wrapper of every exported function |
//! | `work` | long computations on threads: the interpreter is released, Ctrl-C is handled |
//! | `arrays`, `values` | conversion of NumPy arrays, JSON and TOML |
//! | `function` | Python functions as dynamics and as control laws |
//! | `system` | `System` |
//! | `run` | `run` |
//! | `study` | `Study` |
//! | `plant` | a Python object as a plant of the episode loop |
//! | `plan` | `Plan`, `Controller`, `plan` |
//! | `optimal` | `optimal` |
//! | `program` | the command `ocorl` |
//! | `model` | `Model`, `Draw`, `choose_times` |
//! | `sweep` | `Grid`, `Sweep`, `run_cell`, `studies` |
//! | `event_file` | `EventFile` |
//! | `figures` | `draw`, `exhibits`, `report` |
//!
//! The other part, in `python/ocorl`, contains the public names with their documentation.

mod arrays;
mod errors;
mod event_file;
mod figures;
mod function;
mod model;
mod optimal;
mod plan;
mod plant;
mod program;
mod run;
mod study;
mod sweep;
mod system;
mod values;
mod work;

use pyo3::prelude::*;

/// Adds all classes and functions to the module.
#[pymodule]
fn _ocorl(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ocorl_study::threads::limit_threads();
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
    module.add_function(wrap_pyfunction!(program::program, module)?)?;
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
