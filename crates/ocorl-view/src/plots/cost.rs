//! Cost by episode, beside what is possible.

use super::curves::episodes;
use crate::words::capital;
use crate::{Axis, Figure, Mark, Marker, Panel};

/// What is drawn; costs in one unit.
pub struct Costs<'a> {
    /// Of the figure.
    pub title: &'a str,
    /// Name of the series.
    pub strategy: &'a str,
    /// Their numbers.
    pub episodes: &'a [f64],
    /// What each cost.
    pub costs: &'a [f64],
    /// What each was to cost, if that is to be seen.
    pub planned: Option<&'a [f64]>,
    /// Best continuous-time control.
    pub best: Option<f64>,
    /// Best zero-order hold.
    pub held: Option<f64>,
    /// What the paper got at its end.
    pub paper: Option<f64>,
}

/// Colours of the series.
const COST: usize = 0;
const PAPER: usize = 1;
const PLANNED: usize = 2;

/// Cost by episode on a logarithmic axis; beside it the cost above the best control, if that is known.
pub fn cost_curves(shown: &Costs<'_>) -> Figure {
    let panel = |title: &str, offset: f64| {
        let rules = [
            (shown.held, "best hold", Mark::muted as fn(Mark) -> Mark, Mark::dotted as fn(Mark) -> Mark),
            (shown.best, "best continuous", Mark::muted, Mark::dashed),
            (shown.paper, "paper, at its end", |mark| mark.series(PAPER), Mark::dashed),
        ];
        // What is not above the offset has no place on a logarithmic axis.
        let shown_rules = rules.into_iter().filter_map(|(at, label, color, dash)| {
            let at = at.filter(|at| *at > offset)?;
            Some(dash(color(Mark::horizontal(at - offset))).label(label))
        });
        let values: Vec<f64> = shown.costs.iter().map(|cost| cost - offset).collect();
        let panel = shown_rules
            .fold(Panel::new(title, episodes(), Axis::default().log()), Panel::mark)
            .mark(Mark::line(shown.episodes, &*values).series(COST).label(shown.strategy))
            .mark(Mark::points(shown.episodes, values, Marker::Circle).series(COST).label(shown.strategy));
        match shown.planned.filter(|_| offset == 0.0) {
            Some(planned) => panel.mark(
                Mark::points(shown.episodes, planned, Marker::Ring).series(PLANNED).label("as planned"),
            ),
            None => panel,
        }
    };
    let last = shown.costs.iter().rev().find(|cost| cost.is_finite());
    let words = [("at the end", last.copied()), ("best continuous", shown.best), ("best hold", shown.held)];
    let words = words.into_iter().filter_map(|(what, cost)| Some(format!("{what} {:.4}", cost?)));
    let subtitle = words.collect::<Vec<_>>().join(", ");
    let figure = Figure::new(shown.title).subtitle(capital(&subtitle)).panel(panel("Cost", 0.0));
    match shown.best {
        Some(best) => figure.panel(panel("Cost above the best continuous control", best)).columns(2),
        None => figure,
    }
}
