//! The report of a sweep: final costs beside the optimum and the paper, every cell, failures, timings, provenance.

use super::sweep_figures::figures;
use super::{Block, Cell, Comparison, Document, Emphasis, Number, Section, Table, progress, table1};
use super::{amount, cost, percent, plus_minus};
use crate::plots::naming::{Naming, title};
use ocorl::learn::Strategy;
use ocorl::system::Benchmark;
use ocorl_study::cell::CellResult;
use ocorl_study::estimate::duration;
use ocorl_study::known::Known;
use ocorl_study::results::{Group, Results};
use ocorl_study::statistics::{mean, median, sample_std};
use ocorl_study::studies::{self, STUDIES};
use ocorl_study::sweep::{Reading, Studied};
use ocorl_study::table1::Table1;
use std::collections::BTreeSet;

/// Largest number of rows of a table; `results.csv` has all.
const MOST_ROWS: usize = 2_000;
/// Largest number of characters of a failure reason.
const MOST_LETTERS: usize = 600;

/// The report of a sweep. `name` is the name of its folder.
pub fn sweep(reading: &Reading, name: &str) -> Document {
    let studied = reading.studied();
    let results = &studied.results;
    let paper = table1::of(results);
    let mut sections = vec![summary(reading, &studied, paper.as_ref())];
    sections.extend(paper.as_ref().map(table1::section));
    if !results.cells.is_empty() {
        sections.push(comparison(&studied));
        sections.extend(figures(results));
        sections.push(cells(&studied));
        sections.push(failures(results));
    }
    sections.extend(timings(&studied));
    sections.push(about(reading, name));
    let title = called(reading, name);
    Document { subtitle: subtitle(reading, results), title, sections }
}

/// Title of the sweep: the grid's own, or that of a built-in grid with the same name.
fn called(reading: &Reading, name: &str) -> String {
    if !reading.title.is_empty() {
        return reading.title.clone();
    }
    let shipped =
        STUDIES.iter().find(|(known, _)| *known == name).and_then(|(known, _)| studies::grid(known).ok());
    let ours = shipped.filter(|grid| {
        let ids: BTreeSet<String> = grid.cells().iter().map(ocorl_study::cell::Cell::id).collect();
        reading.cells.iter().all(|(cell, _)| ids.contains(&cell.id()))
    });
    ours.map_or_else(|| format!("Sweep {name}"), |grid| grid.title)
}

fn subtitle(reading: &Reading, results: &Results) -> String {
    let systems = results.systems();
    let which = match systems.as_slice() {
        [] => "no cell has finished yet".into(),
        [one] => title(one),
        many => count(many.len(), "system"),
    };
    let variants: BTreeSet<String> = variants(results).into_iter().collect();
    let seeds = results.groups().iter().map(|g| g.cells.len()).max().unwrap_or(0);
    let mut parts = vec![which, count(variants.len(), "variant"), count(seeds, "seed")];
    if let Some(about) = &reading.about {
        parts.push(format!("ocorl {}, {}", about.version, about.date));
    }
    parts.join(" · ")
}

/// A count with its noun: "1 seed", "2 seeds".
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Names of the variants, in their order.
fn variants(results: &Results) -> Vec<String> {
    let naming = Naming::new(results);
    let mut names = Vec::new();
    for group in results.groups() {
        let name = naming.of(&group);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn summary(reading: &Reading, studied: &Studied, paper: Option<&Table1>) -> Section {
    let results = &studied.results;
    let mut numbers = Vec::new();
    numbers.extend(match results.systems().len() {
        0 => None,
        1 => least(results),
        _ => nearest(results),
    });
    if let Some(table) = paper {
        let (reached, all) = table.reached();
        numbers.push(Number {
            what: "Cells of Table 1 that reach the paper's cost".into(),
            value: format!("{reached} of {all}"),
            note: "mean final cost not above the paper's".into(),
            ..Number::default()
        });
    }
    numbers.extend(pace(results));
    numbers.push(ended(reading, results));
    let cpu: f64 = times(studied, &results.cells.iter().collect::<Vec<_>>()).iter().sum();
    if cpu > 0.0 {
        let note = format!("{} per cell", seconds(cpu / results.cells.len().max(1) as f64));
        numbers.push(Number { what: "CPU time".into(), value: duration(cpu), note, ..Number::default() });
    }
    let about = "Final cost is the cost of the last episode, integrated exactly on the true system. The optimum and \
                 the optimal zero-order hold are computed with known dynamics; the learner never sees these.";
    Section::new("summary", "Summary").about(about).block(Block::Numbers { numbers })
}

/// Headline number for one system: the variant with the lowest mean final cost.
fn least(results: &Results) -> Option<Number> {
    let groups = results.groups();
    let means = groups.iter().map(|group| mean(&group.final_costs()));
    let best =
        groups.iter().zip(means).filter(|(_, mean)| mean.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1));
    let (group, value) = best?;
    let costs = group.final_costs();
    let mut compare = Vec::new();
    let mut add = |with: &str, text: String, than: f64| {
        compare.push(Comparison {
            with: with.into(),
            value: text,
            percent: Some(100.0 * (value / than - 1.0)),
        });
    };
    if let Some(known) = group.known() {
        add("optimum (known dynamics)", cost(known.continuous), known.continuous);
        add("optimal zero-order hold", cost(known.held), known.held);
    }
    if let Some(cell) = published(group) {
        add("paper", format!("{:.2} ± {:.2}", cell.mean, cell.std), cell.mean);
    }
    Some(Number {
        what: "Lowest mean final cost".into(),
        value: cost(value),
        spread: if costs.len() > 1 { format!("± {}", amount(sample_std(&costs))) } else { String::new() },
        note: format!("{}, {}", Naming::new(results).of(group), count(costs.len(), "seed")),
        compare,
    })
}

/// Headline number for several systems: the variant with the lowest median distance from the optimum.
fn nearest(results: &Results) -> Option<Number> {
    let (naming, groups, systems) = (Naming::new(results), results.groups(), results.systems());
    let of = |name: &str, value: &dyn Fn(&Group<'_>) -> Option<f64>| -> Vec<f64> {
        groups.iter().filter(|g| naming.of(g) == name).filter_map(value).filter(|v| v.is_finite()).collect()
    };
    let gap = |group: &Group<'_>| Some(mean(&group.gaps()));
    let candidates = variants(results).into_iter().map(|name| {
        let gaps = of(&name, &gap);
        (name, gaps)
    });
    let complete = candidates.filter(|(_, gaps)| gaps.len() == systems.len());
    let (name, gaps) = complete.min_by(|a, b| median(&a.1).total_cmp(&median(&b.1)))?;
    let held = of(&name, &|g| g.known().map(|known| known.percent_above(known.held)));
    let printed = of(&name, &|g| Some(g.known()?.percent_above(published(g)?.mean)));
    let mut compare = vec![Comparison {
        with: "optimal zero-order hold".into(),
        value: percent(median(&held)),
        percent: None,
    }];
    if printed.len() == systems.len() {
        compare.push(Comparison { with: "paper".into(), value: percent(median(&printed)), percent: None });
    }
    let worst = gaps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    compare.push(Comparison { with: "worst system".into(), value: percent(worst), percent: None });
    Some(Number {
        what: "Above the optimum (known dynamics)".into(),
        value: percent(median(&gaps)),
        note: format!("{name}; median of {} systems", systems.len()),
        compare,
        ..Number::default()
    })
}

/// Headline number: how many cells stay within 1 % of the optimum, and from which episode on.
fn pace(results: &Results) -> Option<Number> {
    let good: Vec<&CellResult> =
        results.cells.iter().filter(|c| c.failure.is_none() && c.known.is_some()).collect();
    let near: Vec<f64> = good.iter().filter_map(|c| c.stays_within(0.01)).map(|n| n as f64).collect();
    (!good.is_empty()).then(|| Number {
        what: "Cells that stay within 1 % of the optimum".into(),
        value: format!("{} of {}", near.len(), good.len()),
        note: if near.is_empty() {
            "none does".into()
        } else {
            format!("from episode {:.0} on (median of these)", median(&near))
        },
        ..Number::default()
    })
}

fn ended(reading: &Reading, results: &Results) -> Number {
    let failed = results.cells.iter().filter(|cell| cell.failure.is_some()).count();
    let early = results.cells.iter().filter(|cell| cell.diverged()).count();
    let state = if reading.running { "; running" } else { "" };
    Number {
        what: "Finished cells".into(),
        value: format!("{} of {}", results.cells.len(), reading.cells.len()),
        note: format!("{failed} failed, {early} with an aborted last episode{state}"),
        ..Number::default()
    }
}

/// Value that the paper's table prints for this strategy, if the cell is one of its cells.
fn published(group: &Group<'_>) -> Option<ocorl::system::Cell> {
    if group.cell.settings != "default" || group.cell.set.keys().any(|path| path != "strategy") {
        return None;
    }
    let row = Benchmark::find(&group.cell.system).ok()?.published()?;
    let name = group.setting("strategy")?;
    let strategy = Strategy::ALL.into_iter().find(|strategy| strategy.name() == name)?;
    ocorl_study::table1::published(row, strategy)
}

/// Each variant of each system beside the optimum.
fn comparison(studied: &Studied) -> Section {
    let results = &studied.results;
    let (naming, groups) = (Naming::new(results), results.groups());
    let mut table = Table::new(&[
        "System",
        "Variant",
        "#Seeds",
        "#Final cost, mean ± std",
        "#Above optimum",
        "#Worst seed",
        "#Within 1 % from",
        "#Cumulative regret",
        "#Aborted, failed",
    ]);
    table.long = groups.len() > 40;
    for group in groups.iter().take(MOST_ROWS) {
        let (costs, gaps) = (group.final_costs(), group.gaps());
        let rivals = groups.iter().filter(|other| other.cell.system == group.cell.system);
        let best = rivals.map(|g| mean(&g.final_costs())).fold(f64::NAN, f64::min);
        let emphasis = if mean(&costs) <= best { Emphasis::Best } else { Emphasis::Plain };
        let worst = gaps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        table.row([
            title(&group.cell.system).into(),
            naming.of(group).into(),
            costs.len().to_string().into(),
            Cell::new(plus_minus(mean(&costs), sample_std(&costs)), emphasis),
            percent(mean(&gaps)).into(),
            percent(worst).into(),
            near(group).into(),
            amount(mean(&regrets(group))).into(),
            trouble(group),
        ]);
    }
    table.note = "The lowest mean of each system is bold. “Aborted, failed”: number of cells whose last episode was aborted, number of cells without a result. Regret is counted from episode 1 on; episode 0 is exploratory. “Within 1 %”: median first \
                  episode from which all are that close to the optimum, over the seeds that get there."
        .into();
    let about = "Cells that differ only in their seed share a row.";
    let section = Section::new("comparison", "Variants compared")
        .about(about)
        .block(Block::Table(baselines(results)))
        .block(Block::Table(table));
    progress::table(results, MOST_ROWS).into_iter().map(Block::Table).fold(section, Section::block)
}

/// Costs with known dynamics, computed and as the paper prints them.
fn baselines(results: &Results) -> Table {
    let mut table = Table::new(&[
        "System",
        "#Optimum (known dynamics)",
        "#Paper",
        "#Optimal zero-order hold",
        "#Above optimum",
        "#Zero-order hold as in the authors' program",
        "#Paper",
    ]);
    for system in results.systems().into_iter().take(MOST_ROWS) {
        let Some(known) = known(results, system) else { continue };
        let paper = Benchmark::find(system).ok().and_then(|b| b.published());
        let printed = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.2}"));
        table.row([
            title(system).into(),
            cost(known.continuous).into(),
            Cell::new(printed(paper.map(|p| p.continuous)), Emphasis::Quiet),
            cost(known.held).into(),
            percent(known.percent_above(known.held)).into(),
            known.held_as_printed.map_or("–".into(), cost).into(),
            Cell::new(printed(paper.map(|p| p.held)), Emphasis::Quiet),
        ]);
    }
    table.long = table.rows.len() > 40;
    table.note = "Computed with known dynamics. No learned policy can cost less than the optimum.".into();
    table
}

fn known(results: &Results, system: &str) -> Option<Known> {
    results.cells.iter().filter(|cell| cell.cell.system == system).find_map(|cell| cell.known)
}

fn regrets(group: &Group<'_>) -> Vec<f64> {
    group.cells.iter().filter(|c| c.failure.is_none()).map(|c| c.cumulative_regret()).collect()
}

/// Median first episode from which all are within 1 % of the optimum, and how many seeds get there if not all do.
fn near(group: &Group<'_>) -> String {
    let episodes: Vec<f64> =
        group.cells.iter().filter_map(|c| c.stays_within(0.01)).map(|n| n as f64).collect();
    match episodes.len() {
        0 => "–".into(),
        n if n == group.cells.len() => format!("{:.0}", median(&episodes)),
        n => format!("{:.0} ({n} of {})", median(&episodes), group.cells.len()),
    }
}

fn trouble(group: &Group<'_>) -> Cell {
    let early = group.cells.iter().filter(|cell| cell.diverged()).count();
    let failed = group.cells.iter().filter(|cell| cell.failure.is_some()).count();
    match (early, failed) {
        (0, 0) => Cell::new("–", Emphasis::Quiet),
        (early, failed) => Cell::new(format!("{early}, {failed}"), Emphasis::Bad),
    }
}

fn cells(studied: &Studied) -> Section {
    let results = &studied.results;
    let naming = Naming::new(results);
    let mut table = Table::new(&[
        "System",
        "Variant",
        "#Seed",
        "#Final cost",
        "#Above optimum",
        "#Within 1 % from",
        "#Episodes",
        "#Measurements",
        "Ended",
        "#CPU",
    ]);
    table.long = results.cells.len() > 40;
    for result in results.cells.iter().take(MOST_ROWS) {
        let alone = Group { cell: &result.cell, cells: vec![result] };
        let value = result.final_cost();
        let above =
            value.zip(result.known).map_or("–".into(), |(cost, known)| percent(known.percent_above(cost)));
        let end = match (&result.failure, result.last()) {
            (Some(_), _) => Cell::new("failed", Emphasis::Bad),
            (None, Some(last)) if !last.completed() => {
                Cell::new(short(&last.outcome.to_string()), Emphasis::Bad)
            }
            (None, Some(_)) => Cell::new("completed", Emphasis::Quiet),
            (None, None) => Cell::new("no episodes", Emphasis::Bad),
        };
        let time = studied.timings.get(&result.cell.id());
        table.row([
            title(&result.cell.system).into(),
            naming.of(&alone).into(),
            result.cell.seed.to_string().into(),
            value.map_or("–".into(), cost).into(),
            above.into(),
            result.stays_within(0.01).map_or("–".into(), |n| n.to_string()).into(),
            result.episodes.len().to_string().into(),
            result.episodes.iter().map(|row| row.measured).sum::<usize>().to_string().into(),
            end,
            time.map_or("–".into(), |time| seconds(time.cpu)).into(),
        ]);
    }
    let left = results.cells.len().saturating_sub(MOST_ROWS);
    table.note = match left {
        0 => "results.csv has these cells, episodes.csv all their episodes.".into(),
        n => format!("{n} more cells are in results.csv."),
    };
    Section::new("cells", "All cells").block(Block::Table(table))
}

fn failures(results: &Results) -> Section {
    let section = Section::new("failures", "Failures");
    let failed: Vec<&CellResult> = results.cells.iter().filter(|cell| cell.failure.is_some()).collect();
    if failed.is_empty() {
        return section.block(Block::text("No cell failed."));
    }
    let naming = Naming::new(results);
    let mut table = Table::new(&["System", "Variant", "#Seed", "#Episodes before", "Reason"]);
    table.long = failed.len() > 40;
    for result in failed.iter().take(MOST_ROWS) {
        let alone = Group { cell: &result.cell, cells: vec![result] };
        table.row([
            title(&result.cell.system).into(),
            naming.of(&alone).into(),
            result.cell.seed.to_string().into(),
            result.episodes.len().to_string().into(),
            Cell::new(short(result.failure.as_deref().unwrap_or_default()), Emphasis::Bad),
        ]);
    }
    table.note = "ocorl sweep GRID --again runs failed cells again.".into();
    let about = format!("{} of {} cells failed.", failed.len(), results.cells.len());
    section.about(about).block(Block::Table(table))
}

/// Cuts a text to a length that fits in a table cell.
fn short(text: &str) -> String {
    let kept: String = text.chars().take(MOST_LETTERS).collect();
    if kept.len() < text.len() { kept + "…" } else { kept }
}

/// CPU seconds of the cells, where they were recorded.
fn times(studied: &Studied, cells: &[&CellResult]) -> Vec<f64> {
    cells.iter().filter_map(|c| studied.timings.get(&c.cell.id())).map(|time| time.cpu).collect()
}

fn seconds(value: f64) -> String {
    if value < 100.0 { format!("{value:.1} s") } else { duration(value) }
}

/// CPU time of the cells by system and variant; `None` if it was not recorded.
fn timings(studied: &Studied) -> Option<Section> {
    let results = &studied.results;
    let naming = Naming::new(results);
    let mut table = Table::new(&["System", "Variant", "#Cells", "#Mean", "#Longest", "#Total"]);
    for group in results.groups().iter().take(MOST_ROWS) {
        let times = times(studied, &group.cells);
        if times.is_empty() {
            continue;
        }
        table.row([
            title(&group.cell.system).into(),
            naming.of(group).into(),
            times.len().to_string().into(),
            seconds(mean(&times)).into(),
            seconds(times.iter().copied().fold(0.0, f64::max)).into(),
            seconds(times.iter().sum()).into(),
        ]);
    }
    table.long = table.rows.len() > 40;
    let about = "CPU time. It is not part of the results, which are the same on every machine.";
    (!table.rows.is_empty())
        .then(|| Section::new("timings", "Timings").about(about).block(Block::Table(table)))
}

fn about(reading: &Reading, name: &str) -> Section {
    let mut facts = vec![("Folder".to_owned(), name.to_owned())];
    if let Some(about) = &reading.about {
        facts.extend([
            ("Version".into(), format!("ocorl {}", about.version)),
            ("Date".into(), about.date.clone()),
            ("Machine".into(), about.machine.clone()),
            ("CPU time".into(), duration(about.cpu_seconds)),
        ]);
    } else {
        let versions: BTreeSet<&str> =
            reading.cells.iter().filter_map(|(_, result)| Some(result.as_ref()?.version.as_str())).collect();
        facts.extend(versions.into_iter().map(|version| ("Version".into(), format!("ocorl {version}"))));
    }
    let section = Section::new("about", "Provenance").block(Block::Facts { facts });
    match &reading.about {
        Some(about) => section.block(Block::Code { text: about.command.clone() }),
        None => section,
    }
}
