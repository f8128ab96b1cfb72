//! Reads the cost of a system file: weights around a target, or expressions.

use super::file::Names;
use super::reader::{Entry, Section};
use crate::user_error::UserError;
use ocorl::system::{Cost, QuadraticCost};
use ocorl_expression::{ExpressionCost, Formulas};
use std::fmt::Write;
use std::sync::Arc;

/// Keys of the section [cost].
pub(super) const KEYS: [&str; 5] = ["state", "input", "target", "terminal", "running"];

/// Reads the section [cost].
pub(super) fn read(section: &Section<'_>, names: &Names) -> Result<Arc<dyn Cost>, UserError> {
    let weights = |key: &str, of: &[&str]| -> Result<Option<Vec<f64>>, UserError> {
        let Some(entry) = section.get(key) else { return Ok(None) };
        Ok(Some(entry.by_name(of)?.into_iter().map(|weight| weight.unwrap_or(0.0)).collect()))
    };
    let (states, inputs) = (names.states(), names.inputs());
    let all: Vec<&str> = states.iter().chain(&inputs).copied().collect();
    let (state, input) = (weights("state", &states)?, weights("input", &inputs)?);
    let target = weights("target", &all)?;
    let running = section.get("running");
    if let (Some(running), true) = (running, state.is_some() || input.is_some()) {
        return Err(running
            .error("the running cost is given twice: by 'running' and by weights")
            .hint("either running = \"an expression\", or state = { ... } and input = { ... }"));
    }
    if running.is_none() && state.is_none() && input.is_none() && section.get("terminal").is_none() {
        return Err(section
            .error("[cost] is empty")
            .hint(format!("as in: state = {{ {} = 1.0 }}, or: running = \"{}^2\"", states[0], states[0])));
    }
    let terminal_text = section.get("terminal").filter(|entry| entry.is_text());
    let terminal = if terminal_text.is_some() { None } else { weights("terminal", &states)? };
    if let (Some(entry), true) = (section.get("target"), running.is_some() && terminal.is_none()) {
        return Err(entry
            .error("'target' goes with weights; nothing here has any")
            .hint("write the target into the expression"));
    }
    let target = target.unwrap_or_else(|| vec![0.0; all.len()]);
    let (state, input) =
        (state.unwrap_or_else(|| vec![0.0; states.len()]), input.unwrap_or_else(|| vec![0.0; inputs.len()]));
    if running.is_none() && terminal_text.is_none() {
        let (state_target, control_target) = target.split_at(states.len());
        let cost =
            QuadraticCost::new(&state, &input).state_target(state_target).control_target(control_target);
        return Ok(Arc::new(cost.terminal_weights(terminal.unwrap_or_else(|| vec![0.0; states.len()]))));
    }
    let weighted = [state, input].concat();
    let running_tape =
        tape(section, running, &names.cost_formulas(section)?, &all, &weighted, &target, names)?;
    let terminal_weights = terminal.unwrap_or_else(|| vec![0.0; states.len()]);
    let formulas = names.terminal_formulas();
    let terminal_tape = tape(section, terminal_text, &formulas, &states, &terminal_weights, &target, names)?;
    Ok(Arc::new(ExpressionCost::new(running_tape, Some(terminal_tape), states.len())))
}

/// Compiles an expression, or the quadratic expression that weights stand for.
fn tape(
    section: &Section<'_>,
    entry: Option<&Entry<'_>>,
    formulas: &Formulas,
    names: &[&str],
    weights: &[f64],
    target: &[f64],
    all: &Names,
) -> Result<ocorl_expression::Tape, UserError> {
    let broken = |error: ocorl_expression::ExpressionError| {
        let cause = error.to_string();
        entry
            .map_or_else(
                || section.error("this cost cannot be computed"),
                |entry| entry.error("this cost cannot be computed"),
            )
            .detail("cause", cause)
    };
    let expression = if let Some(entry) = entry {
        entry.parsed(formulas, Formulas::parse)?
    } else {
        let mut text = String::from("0");
        for ((name, weight), target) in names.iter().zip(weights).zip(target) {
            if *weight != 0.0 {
                let _ = write!(text, " + ({weight:?})*({name} - ({target:?}))^2");
            }
        }
        formulas.parse(&text).map_err(broken)?
    };
    formulas.tape(&[expression], all.values()).map_err(broken)
}
