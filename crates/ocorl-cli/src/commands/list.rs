//! `ocorl list`: the systems and their tasks.

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::table::{Align, Table, wrap};
use crate::terminal::{self, Answer, hanging, json};
use ocorl::learn::Settings;
use ocorl::system::{Benchmark, Bounds, KnownSystem, Parameter, Quantity, Text};
use serde::Serialize;
use std::fmt::Write;

/// Largest number of characters per line.
const WIDTH: usize = 100;

/// Arguments of `ocorl list`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl list                    all systems with their states, inputs and units
  ocorl list pendulum           one in detail: initial state, limits, parameters
  ocorl list --json             for programs")]
pub(crate) struct Arguments {
    /// Systems to show in detail: initial state, limits, parameters
    #[arg(value_name = "SYSTEM")]
    systems: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let find = |name: &String| super::known_system(name);
    let chosen: Vec<KnownSystem> = arguments.systems.iter().map(find).collect::<Result<_, _>>()?;
    if global.json {
        let all = if chosen.is_empty() { Benchmark::all() } else { chosen };
        return Ok(json(&all.iter().map(Document::of).collect::<Vec<_>>()).into());
    }
    if chosen.is_empty() {
        return Ok(
            overview(&Benchmark::all(), terminal::width().map_or(WIDTH, |width| width.min(WIDTH))).into()
        );
    }
    Ok(chosen.iter().map(details).collect::<Vec<_>>().join("\n").into())
}

/// Two or three lines per system.
fn overview(all: &[KnownSystem], width: usize) -> String {
    let widest = all.iter().map(|b| b.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for b in all {
        let mark = if b.published().is_some() { '*' } else { ' ' };
        let line = format!("{mark} {:<widest$}  {}: {}", b.name, b.title, b.summary);
        let _ = writeln!(text, "{}", hanging(&line, widest + 4, width));
        let Settings { episodes: n, measurements: m, .. } = Settings::for_system(b);
        let horizon = with_unit(b.task.horizon, b.time_unit());
        let settings = format!("    T {horizon:<6} N {n}  M {m}   ");
        let (states, inputs) = (grouped(&b.task.states), grouped(&b.task.controls));
        let line = format!("{settings}states {}; inputs {}\n", states.join(", "), inputs.join(", "));
        if line.chars().count() <= width + 1 {
            text += &line;
        } else {
            text += &listing(&format!("{settings}states "), &states, width);
            text += &listing(&format!("{:1$}inputs ", "", settings.len()), &inputs, width);
        }
    }
    text.push('\n');
    let legend =
        "* in the paper's Table 1. T: horizon, N: episodes, M: measurements per episode, as in the paper.";
    text += &hanging(legend, 2, width);
    text + "\n  Details of one system: ocorl list pendulum\n"
}

/// A heading and its items, in lines that fit.
fn listing(heading: &str, items: &[String], width: usize) -> String {
    let lines = wrap(items, width.saturating_sub(heading.chars().count()));
    if lines.iter().any(|line| heading.chars().count() + line.chars().count() > width) {
        return hanging(&(heading.to_owned() + &items.join(", ")), heading.len(), width) + "\n";
    }
    let indent = format!("\n{}", " ".repeat(heading.len()));
    format!("{heading}{}\n", lines.join(&indent))
}

/// Names with units; neighbours with equal units share them.
fn grouped(quantities: &[Quantity]) -> Vec<String> {
    let same = |a: &Quantity, b: &Quantity| a.unit == b.unit;
    let named = |group: &[Quantity]| {
        let names: Vec<&str> = group.iter().map(|q| q.name.as_str()).collect();
        match group[0].unit.as_str() {
            "" => names.join(", "),
            unit => format!("{} [{unit}]", names.join(" ")),
        }
    };
    quantities.chunk_by(same).map(named).collect()
}

/// Everything about a system that options can change.
fn details(b: &KnownSystem) -> String {
    let t = &b.task;
    let mut text = format!("{} ({})\n{}\n\n", b.title, b.name, b.summary);
    let mut table =
        Table::new([Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["", "name", "unit", "value", "lower limit", "upper limit"]);
    for (kind, quantities, values, bounds) in [
        ("start of state", &t.states, &t.initial_state, &t.state_bounds),
        ("safe input", &t.controls, &t.safe_control, &t.control_bounds),
    ] {
        for (i, q) in quantities.iter().enumerate() {
            let kind = if i == 0 { kind } else { "" };
            let limits = [limit(bounds.lower[i]), limit(bounds.upper[i])];
            table.row([kind, &q.name, &q.unit, &short(values[i]), &limits[0], &limits[1]]);
        }
    }
    for (i, p) in b.parameters.iter().enumerate() {
        table.row([if i == 0 { "parameter" } else { "" }, &p.name, &p.unit, &short(p.value), "", ""]);
    }
    table.row(["horizon", "T", b.time_unit(), &short(t.horizon), "", ""]);
    let width = terminal::width();
    text += &table.text(width);
    let mut options = format!("--start {}=VALUE, --limit {}=LOW:HIGH", t.states[0].name, t.controls[0].name);
    if let Some(parameter) = b.parameters.first() {
        let _ = write!(options, ", --set {}=VALUE", parameter.name);
    }
    options += ", --horizon T";
    let change = format!("ocorl optimal changes them: {options}");
    text + "\n" + &width.map_or_else(|| change.clone(), |width| hanging(&change, 2, width)) + "\n"
}

fn limit(value: f64) -> String {
    if value.is_finite() { short(value) } else { "none".into() }
}

/// The value with as few digits as give it to a relative accuracy of 1e-6.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// A number with its unit, if it has one.
pub(super) fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { short(value) } else { format!("{} {unit}", short(value)) }
}

/// A system as JSON.
#[derive(Serialize)]
struct Document {
    system: Text,
    title: Text,
    summary: Text,
    aliases: &'static [&'static str],
    in_paper: bool,
    horizon: f64,
    time_unit: &'static str,
    episodes: usize,
    measurements: usize,
    tracking_horizon: f64,
    table_scale: f64,
    states: Vec<Entry>,
    inputs: Vec<Entry>,
    parameters: Vec<Entry>,
}

/// A state with its initial value, an input with its safe value, or a parameter. A missing limit is `null`.
#[derive(Serialize)]
struct Entry {
    name: String,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<[f64; 2]>,
}

impl Document {
    fn of(b: &KnownSystem) -> Self {
        let (t, settings) = (&b.task, Settings::for_system(b));
        let quantities = |quantities: &[Quantity], values: &[f64], bounds: &Bounds| {
            let entry = |(i, q): (usize, &Quantity)| Entry {
                name: q.name.clone(),
                unit: q.unit.clone(),
                value: values[i],
                limits: Some([bounds.lower[i], bounds.upper[i]]),
            };
            quantities.iter().enumerate().map(entry).collect()
        };
        let parameter = |p: &Parameter| Entry {
            name: p.name.to_string(),
            unit: p.unit.to_string(),
            value: p.value,
            limits: None,
        };
        Document {
            system: b.name.clone(),
            title: b.title.clone(),
            summary: b.summary.clone(),
            aliases: b.benchmark().map_or(&[], |entry| entry.aliases),
            in_paper: b.published().is_some(),
            horizon: t.horizon,
            time_unit: b.time_unit(),
            episodes: settings.episodes,
            measurements: settings.measurements,
            tracking_horizon: settings.track.horizon,
            table_scale: b.table_units().scale(),
            states: quantities(&t.states, &t.initial_state, &t.state_bounds),
            inputs: quantities(&t.controls, &t.safe_control, &t.control_bounds),
            parameters: b.parameters.iter().map(parameter).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_their_unit_and_the_order_stays() {
        let quantities =
            Quantity::list([("x", "m"), ("y", "m"), ("theta", "rad"), ("z", "m"), ("a", ""), ("b", "")]);
        assert_eq!(grouped(&quantities), ["x y [m]", "theta [rad]", "z [m]", "a, b"]);
    }

    #[test]
    fn values_are_short_and_true() {
        assert_eq!(short(std::f64::consts::PI), "3.14159");
        assert_eq!(short(10.0), "10");
        assert_eq!(short(2.5e-4), "2.5e-4");
        assert_eq!(short(0.0), "0");
    }
}
