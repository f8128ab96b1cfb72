//! Learning progress of every variant: aborted and expensive episodes, regret, the last episodes.

use super::{Cell, Emphasis, Table, amount, cost, percent};
use crate::plots::naming::{Naming, title};
use ocorl_study::progress::Progress;
use ocorl_study::results::Results;

/// The table of learning progress, if any variant has a planned episode.
pub(super) fn table(results: &Results, most_rows: usize) -> Option<Table> {
    let naming = Naming::new(results);
    let mut table = Table::new(&[
        "System",
        "Variant",
        "#Aborted episodes",
        "#Worst episode",
        "#× optimum",
        "#Cumulative regret",
        "#× optimum",
        "#Last episode",
        "#Last five",
    ]);
    for group in results.groups().iter().take(most_rows) {
        let Some(progress) = Progress::of(group) else { continue };
        let optimum = group.known().map_or(f64::NAN, |known| known.continuous);
        let above = |cost: f64| percent(100.0 * (cost / optimum - 1.0));
        let aborted = format!("{} of {}", progress.aborted, progress.episodes);
        table.row([
            title(&group.cell.system).into(),
            naming.of(group).into(),
            Cell::new(aborted, if progress.aborted > 0 { Emphasis::Bad } else { Emphasis::Quiet }),
            cost(progress.worst_cost).into(),
            amount(progress.worst_cost / optimum).into(),
            amount(progress.cumulative_regret).into(),
            amount(progress.cumulative_regret / optimum).into(),
            above(progress.last_cost).into(),
            above(progress.last_five_cost).into(),
        ]);
    }
    table.long = table.rows.len() > 40;
    table.note = "Learning progress from episode 1 on. Aborted: a state left its limits or diverged. Worst episode: over all seeds. Regret and the \
                  gaps to the optimum of the last episode and of the last five are medians."
        .into();
    (!table.rows.is_empty()).then_some(table)
}
