//! The Python function `optimal`: the optimal control of a system with known equations.

use crate::arrays::{blocks, vector};
use crate::errors::{Failure, guard};
use crate::function::Called;
use crate::system::System;
use crate::values::{maybe_whole, whole};
use crate::work::{self, How};
use ocorl::baseline::{self, BaselineSettings};
use ocorl::plan::Effort;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Reference costs with known dynamics, in the units of the paper's table.
#[pyfunction]
#[pyo3(signature = (system, *, intervals=400, holds=None, seed=0, stages=1, effort=1, threads=None))]
pub(crate) fn optimal<'py>(
    py: Python<'py>,
    system: &Bound<'py, System>,
    #[pyo3(from_py_with = whole)] intervals: usize,
    #[pyo3(from_py_with = maybe_whole)] holds: Option<usize>,
    #[pyo3(from_py_with = whole)] seed: u64,
    #[pyo3(from_py_with = whole)] stages: usize,
    #[pyo3(from_py_with = whole)] effort: usize,
    #[pyo3(from_py_with = maybe_whole)] threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    guard(py, "optimal", || {
        let source = system.get().source.clone();
        if !source.has_equations() {
            return Err(source.without_equations());
        }
        let counts = [
            ("intervals", Some(intervals), 10_000),
            ("holds", holds, 1_000),
            ("stages", Some(stages), 100),
            ("effort", Some(effort).filter(|effort| *effort > 0), 100),
        ];
        for (what, value, most) in counts {
            if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
                let message = format!("'{what}' must be between 1 and {most}, not {value}");
                return Err(Failure::invalid(message).into());
            }
        }
        let how = How { threads, ..How::at("optimal") };
        let (benchmark, found) = work::quietly(py, how, move |context| {
            let (system, called) = source.whole(&context.cancel);
            let Some(benchmark) = system.truth else { return Err(source.without_equations()) };
            let settings =
                BaselineSettings { intervals, holds, seed, stages, effort, ..BaselineSettings::default() };
            let found = baseline::all(&benchmark, &settings);
            // An exception of the user's function takes precedence.
            called.as_ref().map_or(Ok(()), Called::trouble)?;
            Ok((benchmark, found?))
        })?;
        let (dict, units) = (PyDict::new(py), benchmark.table_units());
        let best = &found.continuous.best().samples;
        dict.set_item("system", &*benchmark.name)?;
        dict.set_item("cost", units.cost(found.continuous.best().cost()))?;
        dict.set_item("tracked", units.cost(found.continuous.tracked.cost()))?;
        dict.set_item("held", units.cost(found.held.cost))?;
        let effort = Effort::of(&found.continuous.plan.attempts);
        dict.set_item("confirmed", effort.searches == 0)?;
        dict.set_item("searches", effort.searches.max(1))?;
        dict.set_item("basins", effort.basins.max(1))?;
        dict.set_item("holds", found.held.plan.controls.len())?;
        dict.set_item("t", vector(py, &best.times))?;
        dict.set_item("x", blocks(py, &best.states)?)?;
        dict.set_item("u", blocks(py, &best.controls)?)?;
        Ok(dict)
    })
}
