//! What a file says about hardware.

use super::Hardware;
use super::file::{Names, positive};
use super::reader::Section;
use crate::mistake::Mistake;
use ocorl::learn::Settings;
use ocorl::system::Bounds;

/// Hardware is driven within limits: those of every input must be finite.
pub(super) fn finite_limits(
    system: &Section<'_>,
    names: &Names,
    bounds: &Bounds,
    only_hardware: bool,
) -> Result<(), Mistake> {
    let infinite = |i: &usize| !(bounds.lower[*i].is_finite() && bounds.upper[*i].is_finite());
    let Some(i) = (0..names.inputs.len()).find(infinite) else { return Ok(()) };
    let entry = system.need("inputs", "inputs = { valve = [0.0, 1.0] }")?;
    let why =
        if only_hardware { "without [equations] it is hardware" } else { "there is a section [hardware]" };
    Err(entry
        .mistake(format!("the limits of '{}' must be finite", names.inputs[i]))
        .detail("cause", why)
        .hint("hardware is never driven beyond its limits, so it must have them"))
}

/// The control to apply when there is nothing better.
pub(super) fn safe_input(
    hardware: Option<&Section<'_>>,
    names: &Names,
    bounds: &Bounds,
) -> Result<Vec<f64>, Mistake> {
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
            return Err(entry.mistake(what));
        }
        safe[i] = value;
    }
    Ok(safe)
}

/// How the hardware is controlled.
pub(super) fn settings(
    hardware: Option<&Section<'_>>,
    names: &Names,
    usual: &Settings,
) -> Result<Hardware, Mistake> {
    let get = |key: &str| hardware.and_then(|section| section.get(key));
    let period = get("period").map(positive).transpose()?.unwrap_or(usual.track.period);
    let Some(entry) = get("max_rate") else { return Ok(Hardware { period, max_rate: None }) };
    let rates = entry.by_name(&names.inputs())?;
    if let Some(rate) = rates.iter().flatten().find(|rate| !(**rate > 0.0)) {
        return Err(entry.mistake(format!("a rate is {rate}; it must be positive")));
    }
    let max_rate = rates.into_iter().map(|rate| rate.unwrap_or(f64::INFINITY)).collect();
    Ok(Hardware { period, max_rate: Some(max_rate) })
}
