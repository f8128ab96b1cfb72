//! The files of a run: every number in plain files, and two plots. Costs are in the units of Table 1.
//!
//! | file | content |
//! |---|---|
//! | `run.json` | the document that `--json` prints |
//! | `costs.csv`, `theory.csv` | one row per episode |
//! | `trajectories.csv` | executed trajectories, 201 samples of each run |
//! | `plans.csv` | plans at their nodes; a control holds until the next node |
//! | `measurements.csv` | measurements (in discrete time mean derivatives over the intervals that begin at t), and when their time was chosen: `ahead` with the plan, `online` during the run, `afterwards` (oracle), or not at all (`excitation`) |
//! | `report.html`, `report.json` | the report, and the numbers behind its figures |
//! | `cost.svg`, `phase.svg` | cost and regret by episode; some episodes in the plane of two states |

use super::answer::Learned;
use super::progress::Screen;
use crate::errors::Failure;
use crate::terminal::json;
use ocorl::learn::{DiscreteTheory, Record, Strategy, Theory, Time};
use ocorl::system::Quantity;
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use ocorl_view::plots::{Run, run_cost, run_phase};
use ocorl_view::report;
use ocorl_view::{svg, write_atomically};
use std::path::Path;

/// Every fifth sample of a run is stored: 201 of 1001.
const STRIDE: usize = 5;

/// Writes all files, each atomically.
pub(super) fn save(folder: &Path, learned: &mut Learned<'_>, screen: &Screen) -> Result<(), Failure> {
    let shown = Run {
        benchmark: learned.benchmark,
        settings: learned.settings,
        known: learned.known.as_ref(),
        paper: learned.report.paper(),
        episodes: &learned.episodes,
    };
    let keep = |name: &str, contents: String| {
        let path = folder.join(name);
        write_atomically(&path, contents.as_bytes()).map_err(|error| Failure::file(&path, &error))
    };
    for (name, contents) in [
        ("costs.csv", costs(learned)),
        ("theory.csv", theory(learned)),
        ("trajectories.csv", trajectories(learned)),
        ("plans.csv", plans(learned)),
        ("measurements.csv", measurements(learned)),
        ("cost.svg", svg(&run_cost(&shown))),
        ("phase.svg", svg(&run_phase(&shown))),
    ] {
        keep(name, contents)?;
    }
    let page = folder.join("report.html");
    report::study(folder, &mut |_| {})?.write(&page).map_err(|error| Failure::file(&page, &error))?;
    // A reader leaves an empty SQLite log behind; opening for writing removes it. If another process writes, the log belongs to
    // it.
    drop(Study::open(folder, Access::Write));
    // Last, because it holds the time that all of this has taken.
    learned.took(screen.seconds());
    keep("run.json", json(&learned.document(None)))
}

/// A CSV table that grows by rows.
struct Csv(String);

impl Csv {
    fn new(columns: &[String]) -> Self {
        Csv(columns.join(",") + "\n")
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0 += &cells.into_iter().collect::<Vec<_>>().join(",");
        self.0.push('\n');
    }
}

/// A number that reads back as the same bits; empty if it is missing.
fn number(value: impl Into<Option<f64>>) -> String {
    value.into().filter(|v| v.is_finite()).map_or(String::new(), |value| format!("{value:?}"))
}

fn names<'a>(quantities: &'a [Quantity], suffix: &'a str) -> impl Iterator<Item = String> + 'a {
    quantities.iter().map(move |q| format!("{}{suffix}", q.name))
}

fn columns(first: &[&str], learned: &Learned<'_>, last: impl IntoIterator<Item = String>) -> Vec<String> {
    let task = &learned.benchmark.task;
    let first = first.iter().map(|name| (*name).to_owned());
    first.chain(names(&task.states, "")).chain(names(&task.controls, "")).chain(last).collect()
}

fn costs(learned: &Learned<'_>) -> String {
    type Column = (&'static str, fn(&Record) -> String);
    let scalars: [Column; 13] = [
        ("episode", |r| r.episode.to_string()),
        ("cost", |r| number(r.cost)),
        ("regret", |r| number(r.regret)),
        ("cumulative_regret", |r| number(r.cumulative_regret)),
        ("planned_cost", |r| number(r.planned_cost)),
        ("mean_cost", |r| number(r.mean_cost)),
        ("measurements", |r| r.measurements.to_string()),
        ("measured", |r| r.measurement_times.len().to_string()),
        ("synchronized", |r| r.synchronizations.len().to_string()),
        ("information_gain", |r| number(r.information_gain)),
        ("total_information_gain", |r| number(r.total_information_gain)),
        ("uncertainty", |r| number(r.uncertainty)),
        ("coverage", |r| number(r.coverage)),
    ];
    let states = &learned.benchmark.task.states;
    let names = scalars.iter().map(|(name, _)| (*name).to_owned());
    let scales = states.iter().map(|q| format!("confidence_scale_{}", q.name));
    let mut csv = Csv::new(&names.chain(scales).chain(["outcome".into()]).collect::<Vec<_>>());
    for record in &learned.printed() {
        let cells = scalars.iter().map(|(_, cell)| cell(record));
        let scales = (0..states.len()).map(|i| number(record.confidence_scale.get(i).copied()));
        // Outcome texts have no quotes; a reason may have a comma.
        csv.row(
            cells.chain(scales).chain([format!("\"{}\"", record.outcome.to_string().replace('"', "\"\""))]),
        );
    }
    csv.0
}

/// One row per planned episode; in discrete time the quantities of the paper's appendix.
fn theory(learned: &Learned<'_>) -> String {
    let all = learned.printed();
    let records = || all.iter();
    if learned.settings.time == Time::Discrete {
        let rows = records().filter_map(|r| Some((r.episode, discrete(r.discrete_theory.as_ref()?))));
        return table(&discrete(&DiscreteTheory::default()), rows);
    }
    let rows = records().filter_map(|r| Some((r.episode, continuous(r.theory.as_ref()?))));
    table(&continuous(&Theory::default()), rows)
}

/// Rows of named cells; the header has the names of `first`.
fn table(
    first: &[(&str, String)],
    rows: impl Iterator<Item = (usize, Vec<(&'static str, String)>)>,
) -> String {
    let names = ["episode"].into_iter().chain(first.iter().map(|(name, _)| *name));
    let mut csv = Csv::new(&names.map(ToOwned::to_owned).collect::<Vec<_>>());
    for (episode, cells) in rows {
        csv.row([episode.to_string()].into_iter().chain(cells.into_iter().map(|(_, cell)| cell)));
    }
    csv.0
}

fn continuous(t: &Theory) -> Vec<(&'static str, String)> {
    vec![
        ("lipschitz_dynamics", number(t.lipschitz_dynamics)),
        ("lipschitz_policy", number(t.lipschitz_policy)),
        ("lipschitz_std", number(t.lipschitz_std)),
        ("lipschitz_cost", number(t.lipschitz_cost)),
        ("complexity", number(t.complexity)),
        ("total_complexity", number(t.total_complexity)),
        ("complexity_bound_of", t.complexity_bound_of.unwrap_or_default().to_owned()),
        ("complexity_bound", number(t.complexity_bound)),
        ("maximum_information_gain", number(t.maximum_information_gain)),
        ("log_information_bound", number(t.log_information_bound)),
        ("distance", number(t.distance)),
        ("log_distance_bound", number(t.log_distance_bound)),
        ("distance_margin", number(t.distance_margin)),
        ("interval_lipschitz_dynamics", number(t.interval_lipschitz_dynamics)),
        ("interval_lipschitz_policy", number(t.interval_lipschitz_policy)),
        ("interval_lipschitz_std", number(t.interval_lipschitz_std)),
        ("interval", number(t.interval)),
        ("growth", number(t.growth)),
        ("measurement_count", t.measurement_count.to_string()),
        ("log_regret_bound", number(t.log_regret_bound)),
        ("log_cumulative_regret_bound", number(t.log_cumulative_regret_bound)),
    ]
}

fn discrete(t: &DiscreteTheory) -> Vec<(&'static str, String)> {
    vec![
        ("steps", t.steps.to_string()),
        ("lipschitz_step", number(t.lipschitz_step)),
        ("lipschitz_policy", number(t.lipschitz_policy)),
        ("lipschitz_std", number(t.lipschitz_std)),
        ("lipschitz_cost", number(t.lipschitz_cost)),
        ("closed_loop_step", number(t.closed_loop_step)),
        ("closed_loop_std", number(t.closed_loop_std)),
        ("closed_loop_cost", number(t.closed_loop_cost)),
        ("complexity", number(t.complexity)),
        ("total_complexity", number(t.total_complexity)),
        ("distance", number(t.distance)),
        ("log_distance_bound", number(t.log_distance_bound)),
        ("log_sharp_distance_bound", number(t.log_sharp_distance_bound)),
        ("log_regret_bound", number(t.log_regret_bound)),
        ("log_cumulative_regret_bound", number(t.log_cumulative_regret_bound)),
    ]
}

fn trajectories(learned: &Learned<'_>) -> String {
    let units = learned.benchmark.table_units();
    let mut csv = Csv::new(&columns(&["episode", "start", "t"], learned, ["cost".into()]));
    for episode in &learned.episodes {
        for (start, rollout) in episode.executed.iter().enumerate() {
            let path = &rollout.trajectory;
            for i in (0..path.times.len()).step_by(STRIDE) {
                let point = path.states.at(i).iter().chain(path.controls.at(i));
                let values =
                    [path.times[i]].into_iter().chain(point.copied()).chain([units.cost(path.costs[i])]);
                csv.row(numbered(episode.record.episode, start).chain(values.map(number)));
            }
        }
    }
    csv.0
}

fn plans(learned: &Learned<'_>) -> String {
    let mut csv = Csv::new(&columns(&["episode", "start", "t"], learned, []));
    for episode in &learned.episodes {
        for (start, planned) in episode.plans.iter().enumerate() {
            let Some(plan) = planned.as_ref().map(|planned| &planned.plan) else { continue };
            for (i, time) in plan.times.iter().enumerate() {
                let state = plan.states.at(i).iter().map(|x| number(*x));
                let last = i == plan.controls.len();
                let held = |j: usize| number((!last).then(|| plan.controls.at(i)[j]));
                let controls = (0..plan.controls.size()).map(held);
                let first = numbered(episode.record.episode, start).chain([number(*time)]);
                csv.row(first.chain(state).chain(controls));
            }
        }
    }
    csv.0
}

fn measurements(learned: &Learned<'_>) -> String {
    let derivatives = names(&learned.benchmark.task.states, "_dot");
    let mut csv =
        Csv::new(&columns(&["episode", "start", "t"], learned, derivatives.chain(["chosen".into()])));
    let when = match learned.settings.strategy {
        Strategy::RecedingHorizon | Strategy::UncertaintyTrigger => "online",
        Strategy::Oracle => "afterwards",
        _ => "ahead",
    };
    for episode in &learned.episodes {
        for (start, (rollout, planned)) in episode.executed.iter().zip(&episode.plans).enumerate() {
            for reading in &rollout.readings {
                let chosen = if planned.is_none() { "excitation" } else { when };
                let point = reading.state.iter().chain(&reading.control).copied();
                // Without derivatives if only states were measured.
                let derivative: Vec<String> = match &reading.derivative {
                    Some(derivative) => derivative.iter().copied().map(number).collect(),
                    None => vec![String::new(); reading.state.len()],
                };
                let values = [reading.time].into_iter().chain(point).map(number).chain(derivative);
                csv.row(numbered(episode.record.episode, start).chain(values).chain([chosen.into()]));
            }
        }
    }
    csv.0
}

fn numbered(episode: usize, start: usize) -> impl Iterator<Item = String> {
    [episode.to_string(), start.to_string()].into_iter()
}
