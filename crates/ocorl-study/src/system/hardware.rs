//! Reads the hardware section of a system file.

use super::Hardware;
use super::file::{Names, positive};
use super::reader::Section;
use crate::user_error::UserError;
use ocorl::learn::Settings;
use ocorl::system::{Backup, Bounds, RateLimit, Task};
use ocorl_expression::Formulas;

/// Checks that the limits of every input are finite, as hardware requires.
pub(super) fn finite_limits(
    system: &Section<'_>,
    names: &Names,
    bounds: &Bounds,
    only_hardware: bool,
) -> Result<(), UserError> {
    let infinite = |i: &usize| !(bounds.lower[*i].is_finite() && bounds.upper[*i].is_finite());
    let Some(i) = (0..names.inputs.len()).find(infinite) else { return Ok(()) };
    let entry = system.need("inputs", "inputs = { valve = [0.0, 1.0] }")?;
    let why =
        if only_hardware { "without [equations] it is hardware" } else { "there is a section [hardware]" };
    Err(entry
        .error(format!("the limits of '{}' must be finite", names.inputs[i]))
        .detail("cause", why)
        .hint("the controller keeps hardware within its limits, so every input needs finite limits"))
}

/// Reads the safe control.
pub(super) fn safe_input(
    hardware: Option<&Section<'_>>,
    names: &Names,
    bounds: &Bounds,
) -> Result<Vec<f64>, UserError> {
    let mut safe = vec![0.0; names.inputs.len()];
    bounds.clamp(&mut safe);
    let Some(entry) = hardware.and_then(|section| section.get("safe_input")) else { return Ok(safe) };
    for (i, value) in entry.by_name(&names.inputs())?.into_iter().enumerate() {
        let Some(value) = value else { continue };
        let (low, high) = (bounds.lower[i], bounds.upper[i]);
        if !(low..=high).contains(&value) {
            let what = format!(
                "the safe input '{}' = {value} lies outside its limits [{low}, {high}]",
                names.inputs[i]
            );
            return Err(entry.error(what));
        }
        safe[i] = value;
    }
    Ok(safe)
}

/// Reads the backup controller: for each input a law that is linear in the states, such as `u = "-2*(x - 1) - v"`; an input that is not named
/// has its safe value.
pub(super) fn backup(
    hardware: Option<&Section<'_>>,
    names: &Names,
    task: &Task,
) -> Result<Option<Backup>, UserError> {
    let Some(entry) = hardware.and_then(|section| section.get("backup")) else { return Ok(None) };
    let section = entry.section()?.only(&names.inputs(), &[])?;
    let why = "a backup controller does not depend on it";
    let formulas = Formulas::new(names.of_states().forbid(&names.inputs, why).forbid(["t"], why));
    let (state, nx) = (task.initial_state.clone(), task.states.len());
    let (mut control, mut gains) = (task.safe_control.clone(), vec![vec![0.0; nx]; names.inputs.len()]);
    for (i, input) in names.inputs.iter().enumerate() {
        let Some(entry) = section.get(input) else { continue };
        let tape = entry
            .parsed(&formulas, |formulas, text| formulas.tape(&[formulas.parse(text)?], names.values()))?;
        let at = |x: &[f64]| tape.evaluate(0.0, x)[0];
        let shifted = |j: usize, by: f64| {
            let mut x = state.clone();
            x[j] += by;
            at(&x)
        };
        control[i] = at(&state);
        for (j, gain) in gains[i].iter_mut().enumerate() {
            *gain = 0.5 * (shifted(j, 1.0) - shifted(j, -1.0));
        }
        // A law that is not linear differs from its linear part at one of these points.
        let linear = [-3.7, 0.31, 1.9].into_iter().all(|by| {
            let x: Vec<f64> =
                state.iter().enumerate().map(|(j, x)| x + by * (1.0 + 0.3 * j as f64)).collect();
            let moved = x.iter().zip(&state).zip(&gains[i]).map(|((x, own), gain)| gain * (x - own));
            let (expected, scale) = (control[i] + moved.sum::<f64>(), 1.0 + at(&x).abs());
            (at(&x) - expected).abs() <= 1e-9 * scale
        });
        if !linear {
            return Err(entry
                .error(format!("the backup law of '{input}' is not linear in the states"))
                .hint("as in: backup = { u = \"-2*(x - 1) - v\" }, or a number for a constant input"));
        }
    }
    Ok(Some(Backup { state, control, gains }))
}

/// Largest number of control periods in an episode.
const MOST_PERIODS: f64 = 1e9;

/// Reads the control period, if it is given.
pub(super) fn period(hardware: Option<&Section<'_>>, horizon: f64) -> Result<Option<f64>, UserError> {
    let Some(entry) = hardware.and_then(|section| section.get("period")) else { return Ok(None) };
    let period = positive(entry)?;
    if horizon / period > MOST_PERIODS {
        let what = format!("'period' is {period:?}: the horizon {horizon} would have more than 1e9 periods");
        return Err(entry.error(what));
    }
    Ok(Some(period))
}

/// Reads period and rate limits.
pub(super) fn settings(
    hardware: Option<&Section<'_>>,
    names: &Names,
    period: Option<f64>,
    usual: &Settings,
) -> Result<Hardware, UserError> {
    let get = |key: &str| hardware.and_then(|section| section.get(key));
    let period = period.unwrap_or(usual.track.period);
    let Some(entry) = get("max_rate") else { return Ok(Hardware { period, max_rate: None }) };
    let rates = entry.by_name(&names.inputs())?;
    if let Some(rate) = rates.iter().flatten().find(|rate| !(**rate > 0.0)) {
        return Err(entry.error(format!("a rate is {rate}; it must be positive")));
    }
    let max_rate = rates.into_iter().map(|rate| rate.unwrap_or(f64::INFINITY)).collect();
    Ok(Hardware { period, max_rate: Some(max_rate) })
}

impl Hardware {
    /// Rate limit of the controls; `None` if no input has one.
    pub(super) fn rate_limit(&self) -> Option<RateLimit> {
        let max_rate = self.max_rate.clone().filter(|rates| rates.iter().any(|rate| rate.is_finite()))?;
        Some(RateLimit { max_rate, period: self.period })
    }
}
