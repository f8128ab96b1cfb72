//! The paper's table beside ours, as a section of a report.

use super::{Block, Cell, Mood, Section, Table};
use ocorl_study::results::Results;
use ocorl_study::table1::{Learned, Row, STRATEGIES, Table1};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The table, if the sweep is one that can be compared with it: the paper's strategies on its systems, all else the same for every cell.
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

/// Paper and ours, the best of each row bold, whether the paper is reached.
pub(super) fn section(table: &Table1) -> Section {
    let mut shown = Table::new(&["System", "#paper", "#ours", "#paper", "#ours"]);
    shown.groups = vec![(1, String::new()), (2, "Best continuous".into()), (2, "Hold as printed".into())];
    for strategy in STRATEGIES {
        let mut name = strategy.name().replace('-', " ");
        name[..1].make_ascii_uppercase();
        shown.groups.push((2, name));
        shown.columns.extend(Table::new(&["#paper", "#ours"]).columns);
    }
    for row in &table.rows {
        let known = |of: fn(&ocorl_study::known::Known) -> f64| {
            row.known.as_ref().map_or("–".into(), |k| format!("{:.3}", of(k)))
        };
        let mut cells: Vec<Cell> = vec![
            row.title.as_ref().into(),
            quiet(format!("{:.2}", row.paper.continuous)),
            known(|k| k.continuous).into(),
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
        "Final cost, mean ± sample standard deviation over the seeds; the least of a row is bold, the paper's and ours. ✓ at most what \
         the paper prints, or within 0.3 % of the optimum where it prints even its cost with the known model below that: {reached} of {all} learned cells; \
         ✗ more."
    );
    Section::new("table1", "Table 1 of the paper, and ours").block(Block::Table(shown))
}

/// What the paper got; what we got, and whether that is enough.
fn strategy_cells(row: &Row, learned: &Learned) -> [Cell; 2] {
    let least = |means: &mut dyn Iterator<Item = f64>| means.fold(f64::NAN, f64::min);
    let (printed, ours) = (
        least(&mut row.learned.iter().map(|l| l.paper.mean)),
        least(&mut row.learned.iter().map(Learned::mean)),
    );
    let best = |is_best: bool, otherwise: Mood| if is_best { Mood::Best } else { otherwise };
    let paper = format!("{:.2} ± {:.2}", learned.paper.mean, learned.paper.std);
    let mut words = match learned.costs.len() {
        0 => "–".to_owned(),
        _ => format!("{:.3} ± {:.3}", learned.mean(), learned.std()),
    };
    for (count, what) in [(learned.diverged, "ended early"), (learned.failed, "failed")] {
        if count > 0 {
            let _ = write!(words, " ({count} {what})");
        }
    }
    let (sign, mood) = match row.reaches_paper(learned) {
        Some(true) => (" ✓", Mood::Plain),
        Some(false) => (" ✗", Mood::Bad),
        None => ("", Mood::Quiet),
    };
    [
        Cell::new(paper, best(learned.paper.mean <= printed, Mood::Quiet)),
        Cell::new(words + sign, best(learned.mean() <= ours && mood != Mood::Bad, mood)),
    ]
}

fn quiet(text: impl Into<String>) -> Cell {
    Cell::new(text, Mood::Quiet)
}
