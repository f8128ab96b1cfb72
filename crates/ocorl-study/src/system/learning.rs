//! Reads the learning section of a system file: settings, noise, exploratory control.

use super::file::{BELONG, Names};
use super::reader::{Section, Source};
use crate::config::{Config, offset};
use crate::user_error::{Place, UserError, nearest};
use ocorl::explore::MultiSine;
use ocorl::learn::FirstControl;
use ocorl::system::Task;
use ocorl_expression::Formulas;
use std::sync::Arc;
use toml::{Table, Value};

/// Noise of a measured derivative, for each state.
pub(super) fn noise(learning: Option<&Section<'_>>, names: &Names) -> Result<Vec<f64>, UserError> {
    let usual = 0.01;
    let Some(entry) = learning.and_then(|section| section.get("noise")) else {
        return Ok(vec![usual; names.states.len()]);
    };
    let noise = match entry.number() {
        Ok(_) => vec![entry.finite()?; names.states.len()],
        Err(_) => entry.by_name(&names.states())?.into_iter().map(|n| n.unwrap_or(usual)).collect(),
    };
    match noise.iter().find(|n| !(**n > 0.0)) {
        Some(n) => Err(entry.error(format!("the noise is {n}; it must be positive"))),
        None => Ok(noise),
    }
}

/// The control of the exploratory episode 0.
pub(super) fn first_control(
    section: Option<&Section<'_>>,
    names: &Names,
    task: &Task,
) -> Result<FirstControl, UserError> {
    let formulas =
        Formulas::new(names.of_states().time().forbid(&names.inputs, "it says what the inputs are"));
    let section = section.map(|section| section.clone().only(&names.inputs(), &BELONG)).transpose()?;
    let mut laws = Vec::new();
    for (i, input) in names.inputs.iter().enumerate() {
        laws.push(match section.as_ref().and_then(|section| section.get(input)) {
            Some(entry) => {
                let law = entry.parsed(&formulas, |formulas, text| {
                    formulas.tape(&[formulas.parse(text)?], names.values())
                })?;
                Ok(law)
            }
            None => Err(MultiSine::new(i, task.safe_control[i], &task.control_bounds, task.horizon)),
        });
    }
    Ok(Arc::new(move |t, x, u| {
        for (law, u) in laws.iter().zip(u) {
            *u = match law {
                Ok(tape) => tape.evaluate(t, x)[0],
                Err(sines) => sines.at(t),
            };
        }
    }))
}

/// Applies the settings of [learning].
pub(super) fn config(
    source: Source<'_>,
    learning: Option<&Section<'_>>,
    mut config: Config,
) -> Result<Config, UserError> {
    let Some(section) = learning else { return Ok(config) };
    let broken = |error: toml::de::Error| section.error(error.message().to_owned());
    let mut document: Table = source.text.parse().map_err(broken)?;
    let Some(Value::Table(mut table)) = document.remove("learning") else { return Ok(config) };
    let own = ["noise", "optimism"];
    for entry in section.entries().iter().filter(|entry| !own.contains(&entry.name)) {
        if let (false, Some(meant)) = (config.knows(entry.name), nearest(entry.name, own.into_iter())) {
            let error = entry.error(format!("no setting '{}'", entry.name));
            return Err(error.hint(format!("did you mean '{meant}'?")));
        }
    }
    table.remove("noise");
    if let Some(entry) = section.get("optimism") {
        if let Some(other) = section.get("explore") {
            return Err(other.error("'explore' and 'optimism' say the same thing; one is enough"));
        }
        table.remove("optimism");
        table.insert("explore".into(), if entry.flag()? { "optimistic" } else { "mean" }.into());
    }
    let place = |path: &str| -> Option<Place> {
        let at = offset(source.text, &format!("learning.{path}")).or_else(|| offset(source.text, "learning"));
        Some(source.place(at.unwrap_or(0)))
    };
    config.take_table(table, &place)?;
    Ok(config)
}
