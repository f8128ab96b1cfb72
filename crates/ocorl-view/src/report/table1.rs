//! The paper's Table 1 beside the results of a sweep, as a section of a report.

use super::{Block, Cell, Emphasis, Section, Table};
use ocorl_study::known::Known;
use ocorl_study::results::Results;
use ocorl_study::table1::{Learned, Row, STRATEGIES, Table1};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The table, if the sweep can be compared with it: the paper's strategies on its systems, all other settings equal for every
/// cell.
pub(super) fn of(results: &Results) -> Option<Table1> {
    let others = |cell: &ocorl_study::cell::Cell| {
        let fixed = cell.set.iter().filter(|(path, _)| *path != "strategy");
        fixed.map(|(path, value)| format!("{path} {value}")).collect::<Vec<_>>()
    };
    let settings: BTreeSet<(&str, Vec<String>)> =
        results.cells.iter().map(|c| (c.cell.settings.as_str(), others(&c.cell))).collect();
    let table = Table1::new(results);
    let any = table.rows.iter().flat_map(|row| &row.learned).any(|l| !l.costs.is_empty() || l.failed > 0);
    (any && settings.len() == 1 && settings.iter().all(|(name, _)| *name == "default")).then_some(table)
}

/// The paper's values beside ours; the lowest of each row is bold, and a sign tells whether the paper's value is reached.
pub(super) fn section(table: &Table1) -> Section {
    let mut shown = Table::new(&["System", "#paper", "#ours", "#paper", "#ours"]);
    shown.groups =
        vec![(1, String::new()), (2, "Optimum (known dynamics)".into()), (2, "Zero-order hold".into())];
    for strategy in STRATEGIES {
        let mut name = strategy.name().replace('-', " ");
        name[..1].make_ascii_uppercase();
        shown.groups.push((2, name));
        shown.columns.extend(Table::new(&["#paper", "#ours"]).columns);
    }
    for row in &table.rows {
        let known = |of: fn(&Known) -> Option<f64>| {
            row.known.as_ref().and_then(of).map_or("–".into(), |cost| format!("{cost:.3}"))
        };
        let mut cells: Vec<Cell> = vec![
            row.title.as_ref().into(),
            quiet(format!("{:.2}", row.paper.continuous)),
            known(|k| Some(k.continuous)).into(),
            quiet(format!("{:.2}", row.paper.held)),
            known(|k| k.held_as_printed).into(),
        ];
        for learned in &row.learned {
            cells.extend(strategy_cells(row, learned));
        }
        shown.row(cells);
    }
    let (reached, all) = table.reached();
    shown.note = format!(
        "Final cost, mean ± sample standard deviation over the seeds; the lowest of each row is bold, for the paper and for this sweep. ✓ not above \
         the paper's value, or within 0.3 % of the optimum where the paper's cost with known dynamics is below that optimum: {reached} of {all} learned cells; \
         ✗ above it."
    );
    Section::new("table1", "Table 1 of the paper beside this sweep").block(Block::Table(shown))
}

/// The paper's value; our value, and whether it reaches the paper's.
fn strategy_cells(row: &Row, learned: &Learned) -> [Cell; 2] {
    let least = |means: &mut dyn Iterator<Item = f64>| means.fold(f64::NAN, f64::min);
    let (printed, ours) = (
        least(&mut row.learned.iter().map(|l| l.paper.mean)),
        least(&mut row.learned.iter().map(Learned::mean)),
    );
    let best = |is_best: bool, otherwise: Emphasis| if is_best { Emphasis::Best } else { otherwise };
    let paper = format!("{:.2} ± {:.2}", learned.paper.mean, learned.paper.std);
    let mut ours_text = match learned.costs.len() {
        0 => "–".to_owned(),
        _ => format!("{:.3} ± {:.3}", learned.mean(), learned.std()),
    };
    for (count, what) in [(learned.diverged, "aborted"), (learned.failed, "failed")] {
        if count > 0 {
            let _ = write!(ours_text, " ({count} {what})");
        }
    }
    let (sign, emphasis) = match row.reaches_paper(learned) {
        Some(true) => (" ✓", Emphasis::Plain),
        Some(false) => (" ✗", Emphasis::Bad),
        None => ("", Emphasis::Quiet),
    };
    [
        Cell::new(paper, best(learned.paper.mean <= printed, Emphasis::Quiet)),
        Cell::new(ours_text + sign, best(learned.mean() <= ours && emphasis != Emphasis::Bad, emphasis)),
    ]
}

fn quiet(text: impl Into<String>) -> Cell {
    Cell::new(text, Emphasis::Quiet)
}
