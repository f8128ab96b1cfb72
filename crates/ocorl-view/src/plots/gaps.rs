//! Table 1 as a plot: final cost of each system above its optimum.

use super::naming::{Naming, title};
use super::strategies::seeds;
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::learn::Strategy;
use ocorl::system::Benchmark;
use ocorl_study::results::{Group, Results};
use ocorl_study::statistics::{mean, quantile};
use ocorl_study::table1::published;

const MARKERS: [Marker; 5] =
    [Marker::Circle, Marker::Square, Marker::Diamond, Marker::Triangle, Marker::Cross];

/// Final cost above the optimum with known dynamics, in percent: mean and range over the seeds, one row per system. Hollow marks
/// are the paper's values, the grey cross is the optimal zero-order hold. Costs that are not above the optimum have no position on
/// the logarithmic axis.
pub fn gaps(results: &Results) -> Figure {
    let (naming, systems) = (Naming::new(results), results.systems());
    let titles: Vec<String> = systems.iter().map(|system| title(system)).collect();
    let mut names: Vec<String> = Vec::new();
    for group in results.groups() {
        let name = naming.of(&group);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut panel = Panel::new(
        "",
        Axis::new("final cost above the optimum (known dynamics)", "%").log(),
        Axis::categories(titles),
    );
    let row = |system: &str| systems.iter().position(|s| *s == system).unwrap_or(0) as f64;
    // Variants of a system are drawn one below the other.
    let shift = |i: usize| 0.6 * ((i as f64 + 0.5) / names.len() as f64 - 0.5);
    for (i, name) in names.iter().enumerate() {
        let groups: Vec<Group<'_>> = results.groups().into_iter().filter(|g| naming.of(g) == *name).collect();
        let mut dots = Dots::default();
        let mut printed = (Vec::new(), Vec::new());
        for group in &groups {
            let y = row(&group.cell.system) + shift(i);
            dots.add(group, y);
            if let Some(percent) = paper(group) {
                printed.0.push(percent);
                printed.1.push(y);
            }
        }
        panel = dots.draw(panel, i, name);
        if !printed.0.is_empty() {
            let (x, y) = printed;
            panel = panel.mark(Mark::points(x, y, Marker::Ring).series(i).label(format!("{name}, paper")));
        }
    }
    let holds: Vec<(f64, f64)> = systems
        .iter()
        .filter_map(|system| {
            let known =
                results.groups().iter().filter(|g| g.cell.system == *system).find_map(Group::known)?;
            Some((known.percent_above(known.held), row(system)))
        })
        .collect();
    let (x, y): (Vec<f64>, Vec<f64>) = holds.into_iter().unzip();
    panel = panel.mark(Mark::points(x, y, Marker::Plus).muted().label("optimal zero-order hold"));
    Figure::new("Final cost of each system above its optimum")
        .subtitle(format!("Mean of {}, and range over the seeds; {}", seeds(results), counted(systems.len())))
        .panel(panel)
}

/// "1 system", "9 systems".
fn counted(systems: usize) -> String {
    if systems == 1 { "1 system".into() } else { format!("{systems} systems") }
}

/// Value that the paper prints for this strategy, as percent above the optimum.
fn paper(group: &Group<'_>) -> Option<f64> {
    let row = Benchmark::find(&group.cell.system).ok()?.published()?;
    if group.cell.settings != "default" || group.cell.set.len() != 1 {
        return None;
    }
    let name = group.setting("strategy")?;
    let strategy = Strategy::ALL.into_iter().find(|strategy| strategy.name() == name)?;
    Some(group.known()?.percent_above(published(row, strategy)?.mean))
}

/// The data points of one variant.
#[derive(Default)]
struct Dots {
    x: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    y: Vec<f64>,
}

impl Dots {
    fn add(&mut self, group: &Group<'_>, y: f64) {
        let gaps = group.gaps();
        if gaps.is_empty() {
            return;
        }
        self.x.push(mean(&gaps));
        self.low.push(quantile(&gaps, 0.0));
        self.high.push(quantile(&gaps, 1.0));
        self.y.push(y);
    }

    fn draw(self, panel: Panel, series: usize, name: &str) -> Panel {
        let Dots { x, low, high, y } = self;
        panel
            .mark(Mark::interval_x(&*y, low, high).series(series).label(name))
            .mark(Mark::points(x, y, MARKERS[series % MARKERS.len()]).series(series).label(name))
    }
}
