//! Reads the learning section of a system file: settings, noise, exploratory control.

use super::file::{BELONG, Names};
use super::reader::{Entry, Section, Source};
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

/// Indices of the parameters of the prior that are estimated from the measurements: all parameters for `estimate = true`, or those of a list.
pub(super) fn estimated(
    learning: Option<&Section<'_>>,
    names: &Names,
    prior: bool,
) -> Result<Vec<usize>, UserError> {
    let Some(entry) = learning.and_then(|section| section.get("estimate")) else { return Ok(Vec::new()) };
    if !entry.is_list() {
        let all = 0..if entry.flag()? { names.parameters.len() } else { 0 };
        return if prior || all.is_empty() { Ok(all.collect()) } else { Err(without_prior(entry)) };
    }
    if !prior {
        return Err(without_prior(entry));
    }
    let known: Vec<&str> = names.parameters.iter().map(|(name, _)| name.as_str()).collect();
    let index = |(name, at): (&str, usize)| {
        known.iter().position(|k| *k == name).ok_or_else(|| {
            let error = entry.error_at(at, format!("'{name}' is no parameter"));
            error.hint(match nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => format!("there are: {}", known.join(", ")),
            })
        })
    };
    entry.texts()?.into_iter().map(index).collect()
}

fn index(index: usize) -> Value {
    Value::Integer(i64::try_from(index).unwrap_or(i64::MAX))
}

/// For `measured = [...]`, a list of the measured states: the others, each with the measured state whose velocity it is according to the
/// section [prior]. `None` if `measured` is not a list.
pub(super) fn outputs(
    learning: Option<&Section<'_>>,
    names: &Names,
    prior: Option<&Section<'_>>,
) -> Result<Option<Vec<[usize; 2]>>, UserError> {
    let Some(entry) = learning.and_then(|s| s.get("measured")).filter(|entry| entry.is_list()) else {
        return Ok(None);
    };
    let (states, mut measured) = (names.states(), Vec::new());
    for (name, at) in entry.texts()? {
        measured.push(states.iter().position(|s| *s == name).ok_or_else(|| {
            let error = entry.error_at(at, format!("'{name}' is no state"));
            error.hint(format!("there are: {}", states.join(", ")))
        })?);
    }
    let is_velocity = |p: usize, v: usize| {
        let row = prior.and_then(|section| section.get(states[p]));
        row.and_then(|row| row.text().ok()).is_some_and(|text| text.trim() == states[v])
    };
    let pair = |v: usize| {
        measured.iter().find(|&&p| is_velocity(p, v)).map(|&p| [v, p]).ok_or_else(|| {
            entry
                .error(format!(
                    "'{}' is not measured, and not known as the velocity of a measured state",
                    states[v]
                ))
                .hint(format!(
                    "say whose velocity it is, as in: [prior] {} = \"{}\"",
                    states[measured.first().copied().unwrap_or(0)],
                    states[v]
                ))
        })
    };
    let hidden = (0..states.len()).filter(|j| !measured.contains(j));
    hidden.map(pair).collect::<Result<Vec<_>, _>>().map(Some)
}

fn without_prior(entry: &Entry<'_>) -> UserError {
    entry
        .error("there are no equations whose parameters could be estimated")
        .hint("write what is known about the system in the section [prior], with the names of [parameters]")
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
    outputs: Option<Vec<[usize; 2]>>,
    mut config: Config,
) -> Result<Config, UserError> {
    let Some(section) = learning else { return Ok(config) };
    let broken = |error: toml::de::Error| section.error(error.message().to_owned());
    let mut document: Table = source.text.parse().map_err(broken)?;
    let Some(Value::Table(mut table)) = document.remove("learning") else { return Ok(config) };
    let own = ["noise", "optimism", "estimate"];
    for entry in section.entries().iter().filter(|entry| !own.contains(&entry.name)) {
        if let (false, Some(meant)) = (config.knows(entry.name), nearest(entry.name, own.into_iter())) {
            let error = entry.error(format!("no setting '{}'", entry.name));
            return Err(error.hint(format!("did you mean '{meant}'?")));
        }
    }
    table.remove("noise");
    table.remove("estimate");
    if let Some(entry) = section.get("optimism") {
        if let Some(other) = section.get("explore") {
            return Err(other.error("'explore' and 'optimism' say the same thing; one is enough"));
        }
        table.remove("optimism");
        table.insert("explore".into(), if entry.flag()? { "optimistic" } else { "mean" }.into());
    }
    if let Some(velocities) = outputs {
        table.insert("measured".into(), "states".into());
        let states = table.entry("states").or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(states) = states {
            let pair = |[v, p]: &[usize; 2]| -> Value { vec![index(*v), index(*p)].into() };
            states.insert("velocities".into(), velocities.iter().map(pair).collect::<Vec<_>>().into());
        }
    }
    let place = |path: &str| -> Option<Place> {
        let at = offset(source.text, &format!("learning.{path}")).or_else(|| offset(source.text, "learning"));
        Some(source.place(at.unwrap_or(0)))
    };
    config.take_table(table, &place)?;
    Ok(config)
}
