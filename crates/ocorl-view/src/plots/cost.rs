//! Cost by episode, beside the optimum and the paper's result.

use super::curves::episodes;
use crate::text::capital;
use crate::{Axis, Figure, Mark, Marker, Panel};

/// Data of the plot; all costs in one unit.
pub struct Costs<'a> {
    /// Title of the figure.
    pub title: &'a str,
    /// Name of the series.
    pub strategy: &'a str,
    /// Episode numbers.
    pub episodes: &'a [f64],
    /// Cost of each episode.
    pub costs: &'a [f64],
    /// Planned cost of each episode, if it is to be drawn.
    pub planned: Option<&'a [f64]>,
    /// Optimal cost with known dynamics.
    pub best: Option<f64>,
    /// Cost of the optimal zero-order hold with known dynamics.
    pub held: Option<f64>,
    /// Final cost in the paper.
    pub paper: Option<f64>,
}

/// Series colours.
const COST: usize = 0;
const PAPER: usize = 1;
const PLANNED: usize = 2;

/// Cost by episode on a logarithmic axis; beside it the cost above the optimum, if the optimum is known.
pub fn cost_curves(shown: &Costs<'_>) -> Figure {
    let panel = |title: &str, offset: f64| {
        let rules = [
            (
                shown.held,
                "optimal zero-order hold",
                Mark::muted as fn(Mark) -> Mark,
                Mark::dotted as fn(Mark) -> Mark,
            ),
            (shown.best, "optimum (known dynamics)", Mark::muted, Mark::dashed),
            (shown.paper, "paper, final episode", |mark| mark.series(PAPER), Mark::dashed),
        ];
        // A cost that is not above the offset has no position on a logarithmic axis.
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
            Some(planned) => panel
                .mark(Mark::points(shown.episodes, planned, Marker::Ring).series(PLANNED).label("planned")),
            None => panel,
        }
    };
    let last = shown.costs.iter().rev().find(|cost| cost.is_finite());
    let parts =
        [("final cost", last.copied()), ("optimum", shown.best), ("optimal zero-order hold", shown.held)];
    let parts = parts.into_iter().filter_map(|(what, cost)| Some(format!("{what} {:.4}", cost?)));
    let subtitle = parts.collect::<Vec<_>>().join(", ");
    let figure = Figure::new(shown.title).subtitle(capital(&subtitle)).panel(panel("Cost", 0.0));
    match shown.best {
        Some(best) => figure.panel(panel("Cost above the optimum (known dynamics)", best)).columns(2),
        None => figure,
    }
}
