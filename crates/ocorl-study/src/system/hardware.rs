//! Reads the hardware section of a system file.

use super::Hardware;
use super::file::{Names, positive};
use super::reader::Section;
use crate::user_error::UserError;
use ocorl::learn::Settings;
use ocorl::system::{Bounds, RateLimit};

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
        .hint("hardware is never driven beyond its limits, so it must have them"))
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

/// Reads period and rate limits.
pub(super) fn settings(
    hardware: Option<&Section<'_>>,
    names: &Names,
    usual: &Settings,
) -> Result<Hardware, UserError> {
    let get = |key: &str| hardware.and_then(|section| section.get(key));
    let period = get("period").map(positive).transpose()?.unwrap_or(usual.track.period);
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
