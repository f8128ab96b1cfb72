//! Adapter that makes a Python object with a method `run` a plant of the episode loop.
//!
//! The loop runs on its own thread; the object is called on the thread that waits for it, so that hardware and environments are used from
//! one thread only and Ctrl-C is raised inside `run`. An exception ends the wait; the loop is then cancelled and the episode stays pending.

use crate::arrays::{Shape, list, rows};
use crate::errors::{Answer, Failure};
use crate::plan::Plan;
use crate::work::JobContext;
use ocorl::linalg::Dims;
use ocorl::plant::{Plant, Reading, Rollout, RolloutResult};
use ocorl::simulate::Outcome;
use ocorl_study::measured::Measured;
use ocorl_study::plan_file::PlanFile;
use ocorl_study::study::{Applied, PendingPlan, Row};
use pyo3::prelude::*;
use serde_json::Value as Json;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// Messages from the episode loop to the waiting thread.
pub(crate) enum Message {
    /// An event or a warning.
    Event(&'static str, Json),
    /// A rollout to be executed.
    Run(Request),
}

/// A rollout to be executed: its plan and index, and the channel for its result.
pub(crate) struct Request {
    plan: Arc<PlanFile>,
    start: usize,
    reply: Sender<RolloutResult>,
}

/// Return value of a Python plant: t, x, u, x_dot, cost, outcome.
type Parts<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Option<f64>,
    Option<String>,
);

impl Request {
    /// Executes the rollout on this thread: `execute(plan, start)` returns (t, x, u, x_dot, cost, outcome).
    pub(crate) fn serve(self, execute: &Bound<'_, PyAny>) -> Answer<()> {
        let Request { plan, start, reply } = self;
        let dims = Dims { state: plan.states.len(), control: plan.controls.len() };
        let data = execute.call1((Plan::new(plan), start))?;
        let (t, x, u, x_dot, cost, outcome): Parts<'_> = data.extract()?;
        let arrays = MeasurementArrays { t: &t, x: &x, u: &u, x_dot: x_dot.as_ref(), start };
        let Measured { rows, .. } = arrays.measured(dims)?;
        let outcome = match outcome.as_deref() {
            None => Outcome::NotReported,
            Some("completed") => Outcome::Completed,
            Some(what) => Outcome::Reported { what: what.into() },
        };
        let reading = |row: Row| Reading {
            time: row.t,
            state: row.x,
            control: row.u,
            derivative: row.x_dot,
            interval: None,
        };
        let readings = rows.into_iter().map(reading).collect();
        // The loop may have been cancelled; then the result is dropped.
        let _ = reply.send(RolloutResult::measured(readings, outcome, cost.unwrap_or(f64::NAN)));
        Ok(())
    }
}

/// The plant as the episode loop sees it.
pub(crate) struct PythonPlant<'a> {
    /// The thread that calls the Python object.
    pub(crate) caller: &'a JobContext<Message>,
    /// The plan of the episode in progress.
    pub(crate) plan: PendingPlan,
}

impl Plant for PythonPlant<'_> {
    fn run(&mut self, rollout: &mut Rollout) -> RolloutResult {
        let cancelled = || RolloutResult::measured(Vec::new(), Outcome::Cancelled { time: 0.0 }, f64::NAN);
        let Some(plan) = self.plan.get() else { return cancelled() };
        let (reply, result) = channel();
        self.caller.tell(Message::Run(Request { plan, start: rollout.start, reply }));
        result.recv().unwrap_or_else(|_| cancelled())
    }
}

/// Measurements as arrays from Python.
pub(crate) struct MeasurementArrays<'a, 'py> {
    pub(crate) t: &'a Bound<'py, PyAny>,
    pub(crate) x: &'a Bound<'py, PyAny>,
    pub(crate) u: &'a Bound<'py, PyAny>,
    pub(crate) x_dot: Option<&'a Bound<'py, PyAny>>,
    pub(crate) start: usize,
}

impl MeasurementArrays<'_, '_> {
    /// The measurements. A row whose states are all NaN gives an applied control. A row with a NaN among its derivatives has none; beside rows
    /// with derivatives it is left out, with a note.
    pub(crate) fn measured(&self, dims: Dims) -> Answer<Measured> {
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
                return Err(Failure::invalid(format!("'t' has {count} entries, '{what}' has {found} rows"))
                    .detail("note", "nothing was stored")
                    .into());
            }
        }
        let row = |all: &[f64], i: usize, size: usize| all[i * size..(i + 1) * size].to_vec();
        let missing = |values: &[f64]| values.iter().any(|v| v.is_nan());
        let derivatives = |i: usize| x_dot.as_ref().map(|d| row(d, i, dims.state)).filter(|d| !missing(d));
        let some = (0..count).any(|i| derivatives(i).is_some());
        let (mut measured, mut without) = (Measured::default(), Vec::new());
        for (i, &t) in times.iter().enumerate() {
            let (x, u, x_dot) = (row(&x, i, dims.state), row(&u, i, dims.control), derivatives(i));
            if x.iter().all(|x| x.is_nan()) && !missing(&u) {
                measured.controls.push(Applied { start: self.start, t, u });
            } else if some && x_dot.is_none() {
                without.push(i.to_string());
            } else {
                measured.rows.push(Row { start: self.start, t, x, u, x_dot, asked_t: None, interval: None });
            }
        }
        if !without.is_empty() {
            let rows = without.join(", ");
            measured
                .notes
                .push(format!("left out: row {rows} (from 0), without x_dot, beside rows that have it"));
        }
        Ok(measured)
    }
}
