//! The view of one episode: plan, executed trajectory, measurements, and the model before the episode.

use super::{Exhibit, StudyView};
use crate::plots::{calibration, slices, time_axis, uncertainty};
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::linalg::Points;
use ocorl::model::{Posterior, Query, StatisticalModel};
use ocorl::random::Stream;
use ocorl::simulate::Trajectory;
use ocorl::system::{Quantity, Task};
use ocorl_study::plan_file::LegTable;
use ocorl_study::run_snapshot::{Prediction, RunSnapshot, predicted, uncertainty as uncertainty_at};
use ocorl_study::study::{EpisodeHistory, Row};
use ocorl_study::trace::{Health, maybe_path};
use serde::Serialize;

/// Series colours.
const EXECUTED: usize = 0;
const PLANNED: usize = 1;
const MEASURED: usize = 3;
/// A limit is drawn only if it is no farther from the data than this multiple of their range.
const FAR: f64 = 1.5;
/// Calibration uses earlier models only while they have at most this many data; rebuilding larger ones would take too long.
const MOST_DATA: usize = 200;

/// Plots, table and trajectory of one episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeView {
    /// Number of the episode; 0 is the exploratory one.
    pub episode: usize,
    /// Whether the episode has been planned but not recorded.
    pub running: bool,
    /// Cost of the episode, in the units of the paper's table; `None` until it is known.
    pub cost: Option<f64>,
    /// Plots of the episode.
    pub exhibits: Vec<Exhibit>,
    /// Measurements of the episode as a table.
    pub measurements: MeasurementTable,
    /// The trajectory that was seen; else the measured points; else the plan.
    #[serde(serialize_with = "maybe_path::serialize")]
    pub motion: Option<Trajectory>,
}

/// The measurements of an episode as a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasurementTable {
    /// Column names.
    pub columns: Vec<String>,
    /// One row per measurement, as long as `columns`; `None` for a missing value.
    pub rows: Vec<Vec<Option<f64>>>,
}

impl StudyView {
    /// The view of an episode; `None` if it does not exist.
    pub fn episode(&self, number: usize) -> Option<EpisodeView> {
        let episode = self.study.history().episodes.get(number)?;
        let run = self.run_snapshot(number);
        let model = run.as_ref().and_then(|p| p.snapshots.get(number)?.before.clone());
        // In discrete time the model is not of f, and these plots are.
        let model = model.filter(|model| model.dims() == self.task().dims());
        let mut exhibits = Vec::new();
        let planned = episode.plan.legs.iter().any(|leg| leg.planned_cost.is_some());
        if planned || !episode.rows.is_empty() || self.path(number, 0).is_some() {
            exhibits.push(self.states(episode, model.as_deref()));
            exhibits.push(self.phase(episode, model.as_deref()));
        }
        if let Some(run) = run.as_ref().filter(|_| model.is_some()) {
            exhibits.push(Exhibit::new(
                "uncertainty",
                "Uncertainty and chosen times",
                "Model uncertainty along the predicted trajectory, and the measurement times chosen from it.",
                uncertainty(run, &[number]),
            ));
            exhibits.push(Exhibit::new(
                "slices",
                "Model slices",
                "The model of each derivative along lines through a measured point: mean, confidence band and nearby measurements.",
                slices(run, number),
            ));
            exhibits.push(Exhibit::new(
                "calibration",
                "Calibration",
                "Nominal and observed coverage of new measurements, by models that had not seen them.",
                calibration(std::slice::from_ref(run), 1),
            ));
        }
        let trace = self.traces.get(&number);
        exhibits.extend(trace.and_then(|trace| trace.control.as_ref()).map(|health| self.controller(health)));
        let units = self.baselines.units;
        Some(EpisodeView {
            episode: number,
            running: episode.closed.is_none(),
            cost: episode.closed.as_ref().and_then(|closed| closed.cost).map(|cost| units.cost(cost)),
            exhibits,
            measurements: self.measurements(episode, model.as_deref()),
            motion: self.motion(episode),
        })
    }

    /// The study with the model before episode `number`, and with the models before earlier episodes while they are small.
    fn run_snapshot(&self, number: usize) -> Option<RunSnapshot> {
        let mut data: usize = self.study.history().imports.iter().map(|(_, import)| import.rows.len()).sum();
        let mut looked = Vec::new();
        for episode in self.study.history().episodes.iter().take(number) {
            if data <= MOST_DATA {
                looked.push(episode.episode);
            }
            data += if episode.is_used() { episode.rows.len() } else { 0 };
        }
        looked.push(number);
        RunSnapshot::of_study(&self.study, &self.traces, &looked).ok().flatten()
    }

    fn task(&self) -> &Task {
        &self.study.system().task
    }

    /// The trajectory of a run, if it was seen.
    fn path(&self, episode: usize, start: usize) -> Option<&Trajectory> {
        self.traces.get(&episode)?.paths.get(start).filter(|path| !path.is_empty())
    }

    fn states(&self, episode: &EpisodeHistory, model: Option<&dyn StatisticalModel>) -> Exhibit {
        let task = self.task();
        let expected = self.expected(episode, model);
        let (nx, nu) = (task.states.len(), task.controls.len());
        let title = format!("{}: episode {} over time", self.name(), episode.episode);
        let mut figure = Figure::new(title).columns(if nx + nu > 4 { 3 } else { 2 });
        for (i, quantity) in task.states.iter().enumerate() {
            let mut panel = self.over_time(episode, quantity, |x, _| x[i], |leg| step_states(leg, i));
            let bands: Vec<Mark> = expected.iter().map(|range| band(range, i)).collect();
            panel = within(panel, &bands);
            // Drawn behind everything else.
            panel.marks.splice(0..0, bands);
            figure = figure.panel(limits(panel, task.state_bounds.lower[i], task.state_bounds.upper[i]));
        }
        for (j, quantity) in task.controls.iter().enumerate() {
            let panel = self.over_time(episode, quantity, |_, u| u[j], |leg| step_controls(leg, j));
            figure = figure.panel(limits(panel, task.control_bounds.lower[j], task.control_bounds.upper[j]));
        }
        let about = "Each state and control: the plan, the range in which the model predicts the plan to lead, the executed trajectory, and the measurements.";
        Exhibit::new("states", "States and controls over time", about, figure)
    }

    /// Range in which the model predicts the planned controls to lead, for each initial state.
    fn expected(&self, episode: &EpisodeHistory, model: Option<&dyn StatisticalModel>) -> Vec<Prediction> {
        let Some(model) = model else { return Vec::new() };
        let stream = Stream::root(self.study.created().seed).child("prediction").index(episode.episode);
        let intentions = episode.plan.legs.iter().filter_map(LegTable::intention);
        intentions.filter_map(|intention| predicted(model, self.task(), &intention, stream)).collect()
    }

    /// One quantity over time, for all runs of the episode.
    fn over_time(
        &self,
        episode: &EpisodeHistory,
        quantity: &Quantity,
        value: impl Fn(&[f64], &[f64]) -> f64,
        planned: impl Fn(&LegTable) -> Mark,
    ) -> Panel {
        let axis = Axis::new(&quantity.name, &quantity.unit);
        let mut panel = Panel::new(&quantity.name, time_axis(self.task()), axis);
        for leg in episode.plan.legs.iter().filter(|leg| leg.planned_cost.is_some()) {
            panel = panel.mark(planned(leg).series(PLANNED).dashed().label("planned"));
        }
        for leg in &episode.plan.legs {
            if let Some(path) = self.path(episode.episode, leg.start) {
                let y: Vec<f64> =
                    path.states.iter().zip(path.controls.iter()).map(|(x, u)| value(x, u)).collect();
                panel = panel.mark(Mark::line(&*path.times, y).series(EXECUTED).label("executed"));
            }
        }
        let (t, y): (Vec<f64>, Vec<f64>) = episode.rows.iter().map(|r| (r.t, value(&r.x, &r.u))).unzip();
        panel.mark(Mark::points(t, y, Marker::Cross).series(MEASURED).label("measured"))
    }

    fn phase(&self, episode: &EpisodeHistory, model: Option<&dyn StatisticalModel>) -> Exhibit {
        let task = self.task();
        let sigma = |path: &Trajectory| {
            let (model, dim) = (model?, task.dims().point());
            (model.dims() == task.dims()).then(|| uncertainty_at(model, Points::new(&path.points(), dim)))
        };
        // Asked for once, not for every pair of states.
        let legs = episode.plan.legs.iter().filter_map(|leg| self.path(episode.episode, leg.start));
        let paths: Vec<(&Trajectory, Option<Vec<f64>>)> = legs.map(|path| (path, sigma(path))).collect();
        let pairs = pairs(task.states.len());
        let title = format!("{}: phase portrait of episode {}", self.name(), episode.episode);
        let mut figure = Figure::new(title).columns(pairs.len().clamp(1, 3));
        for (a, b) in pairs {
            let axis = |i: usize| Axis::new(&task.states[i].name, &task.states[i].unit);
            let (x_axis, title) = match a {
                Some(a) => (axis(a), format!("{} over {}", task.states[b].name, task.states[a].name)),
                None => (time_axis(task), task.states[b].name.clone()),
            };
            let place = |t: f64, x: &[f64]| (a.map_or(t, |a| x[a]), x[b]);
            let mut panel = Panel::new(title, x_axis, axis(b));
            for leg in episode.plan.legs.iter().filter(|leg| leg.planned_cost.is_some()) {
                let (x, y): (Vec<f64>, Vec<f64>) =
                    leg.times.iter().zip(&leg.states).map(|(t, x)| place(*t, x)).unzip();
                panel = panel.mark(Mark::line(x, y).series(PLANNED).dashed().label("planned"));
            }
            for (path, sigma) in &paths {
                let (x, y): (Vec<f64>, Vec<f64>) =
                    path.times.iter().zip(path.states.iter()).map(|(t, x)| place(*t, x)).unzip();
                panel = panel.mark(match sigma {
                    Some(sigma) => Mark::colored_line(x, y, &**sigma).label("executed"),
                    None => Mark::line(x, y).series(EXECUTED).label("executed"),
                });
            }
            if model.is_some() {
                panel = panel.color(Axis::new("‖σ‖ before the episode", ""));
            }
            let starts: (Vec<f64>, Vec<f64>) =
                episode.plan.legs.iter().map(|leg| place(0.0, &leg.initial_state)).unzip();
            let (x, y): (Vec<f64>, Vec<f64>) = episode.rows.iter().map(|r| place(r.t, &r.x)).unzip();
            figure = figure.panel(
                panel
                    .mark(Mark::points(starts.0, starts.1, Marker::Ring).muted().label("start"))
                    .mark(Mark::points(x, y, Marker::Cross).series(MEASURED).label("measured")),
            );
        }
        let about = "Executed trajectory, coloured by the model uncertainty before the episode, beside the plan and the measurements.";
        Exhibit::new("phase", "Phase run", about, figure)
    }

    fn controller(&self, health: &Health) -> Exhibit {
        let edges: Vec<f64> = (0..=health.solve_times.len()).map(Health::edge).collect();
        let counts: Vec<f64> = health.solve_times.iter().map(|count| *count as f64).collect();
        let solved: f64 = counts.iter().sum();
        let mut figure = Figure::new(format!("{}: controller performance", self.name())).columns(2);
        if solved > 0.0 {
            let panel = Panel::new(
                "Solve time",
                Axis::new("solve time", "ms").log(),
                Axis::new("solutions", "").whole().range(0.0, f64::INFINITY),
            );
            let period = Mark::vertical(1e3 * health.period).series(PLANNED).dashed().label("period");
            figure = figure.panel(panel.mark(Mark::step(edges, counts).label("solutions")).mark(period));
        }
        let names = ["fresh", "previous, shifted", "plan", "safe"];
        let all = health.updates().max(1) as f64;
        let (rows, shares): (Vec<f64>, Vec<f64>) = health
            .level_counts
            .iter()
            .enumerate()
            .map(|(i, count)| (i as f64, 100.0 * *count as f64 / all))
            .unzip();
        let bars = Mark::interval_x(&*rows, vec![0.0; 4], &*shares).label("share of updates");
        let saturation = health.saturated.map_or(String::new(), |share| {
            format!("A control was at a limit {:.1} % of the time", 100.0 * share)
        });
        figure = figure.subtitle(saturation).panel(
            Panel::new(
                "Fallback level of each update",
                Axis::new("share of updates", "%").range(0.0, 100.0),
                Axis::categories(names),
            )
            .mark(bars)
            .mark(Mark::points(shares, rows, Marker::Square).label("share of updates")),
        );
        let about =
            "Solve times against the control period, and how often the controller used each fallback level.";
        Exhibit::new("controller", "Controller", about, figure)
    }

    fn measurements(
        &self,
        episode: &EpisodeHistory,
        model: Option<&dyn StatisticalModel>,
    ) -> MeasurementTable {
        let task = self.task();
        let derivatives = episode.rows.iter().any(|row| row.x_dot.is_some());
        let names = |quantities: &[Quantity], suffix: &str| -> Vec<String> {
            quantities.iter().map(|q| format!("{}{suffix}", q.name)).collect()
        };
        let mut columns: Vec<String> = ["start", "t", "asked_t"].map(str::to_owned).to_vec();
        columns.extend(names(&task.states, ""));
        columns.extend(names(&task.controls, ""));
        if derivatives {
            columns.extend(names(&task.states, "_dot"));
        }
        columns.push("residual [σ]".into());
        let row = |row: &Row| {
            let mut cells = vec![Some(row.start as f64), Some(row.t), row.asked_t];
            cells.extend(row.x.iter().chain(&row.u).map(|v| Some(*v)));
            if derivatives {
                let none = vec![None; task.states.len()];
                cells.extend(
                    row.x_dot.as_ref().map_or(none, |x_dot| x_dot.iter().map(|v| Some(*v)).collect()),
                );
            }
            cells.push(model.and_then(|model| residual(model, task, row)));
            cells
        };
        MeasurementTable { columns, rows: episode.rows.iter().map(row).collect() }
    }

    fn motion(&self, episode: &EpisodeHistory) -> Option<Trajectory> {
        if let Some(path) = self.path(episode.episode, 0) {
            return Some(path.clone());
        }
        let mut path = Trajectory::empty(self.task().dims());
        let mine: Vec<&Row> = episode.rows.iter().filter(|row| row.start == 0).collect();
        if mine.len() > 1 {
            for row in mine {
                path.push(row.t, &row.x, &row.u);
            }
            return Some(path);
        }
        let leg = episode.plan.legs.first().filter(|leg| leg.planned_cost.is_some())?;
        let last = leg.controls.len() - 1;
        let nodes = leg.times.iter().zip(&leg.states).enumerate();
        nodes.for_each(|(i, (t, x))| path.push(*t, x, &leg.controls[i.min(last)]));
        Some(path)
    }
}

/// Largest residual of a measurement over the outputs, in standard deviations of the prediction (model and noise).
fn residual(model: &dyn StatisticalModel, task: &Task, row: &Row) -> Option<f64> {
    let x_dot = row.x_dot.as_ref().filter(|_| row.interval.is_none())?;
    let point = [row.x.as_slice(), &row.u].concat();
    if model.dims().point() != point.len() {
        return None;
    }
    let mut posterior = Posterior::default();
    model.posterior(Points::single(&point), Query::MeanStd, &mut posterior);
    let (mean, std, beta) = (posterior.mean.value.at(0), posterior.std.value.at(0), model.confidence_scale());
    let far = |j: usize| (x_dot[j] - mean[j]).abs() / (beta[j] * std[j]).hypot(task.noise_std[j]);
    (0..x_dot.len()).map(far).reduce(f64::max).filter(|far| far.is_finite())
}

/// Pairs of states to draw against each other, as (x axis, y axis); `None` on the x axis is time.
fn pairs(states: usize) -> Vec<(Option<usize>, usize)> {
    match states {
        1 => vec![(None, 0)],
        2..=4 => (0..states).flat_map(|a| (a + 1..states).map(move |b| (Some(a), b))).collect(),
        // Positions come first, then their velocities, as in all benchmark systems.
        _ => (0..states / 2).map(|a| (Some(a), a + states / 2)).collect(),
    }
}

/// The band in which a state is predicted.
fn band(range: &Prediction, state: usize) -> Mark {
    let row = |rows: &[Vec<f64>]| rows.iter().map(|x| x[state]).collect::<Vec<f64>>();
    Mark::band(&*range.times, row(&range.low), row(&range.high)).series(PLANNED).label("predicted")
}

fn step_states(leg: &LegTable, i: usize) -> Mark {
    Mark::line(&*leg.times, leg.states.iter().map(|x| x[i]).collect::<Vec<_>>())
}

fn step_controls(leg: &LegTable, j: usize) -> Mark {
    Mark::step(&*leg.times, leg.controls.iter().map(|u| u[j]).collect::<Vec<_>>())
}

/// Least and greatest y value of some marks.
fn spread(marks: &[Mark]) -> (f64, f64) {
    let rows = marks.iter().flat_map(Mark::rows).filter_map(|row| row.y).filter(|y| y.is_finite());
    rows.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), y| (l.min(y), m.max(y)))
}

/// Limits the y range to plan, execution and measurements where the predicted band is much wider than these.
fn within(mut panel: Panel, bands: &[Mark]) -> Panel {
    let ((least, most), (low, high)) = (spread(&panel.marks), spread(bands));
    let room = FAR * (most - least);
    if room > 0.0 && (low < least - room || high > most + room) {
        panel.y = panel.y.range(least - 0.5 * room, most + 0.5 * room);
    }
    panel
}

/// Draws the limits, unless they are so far away that the curves would become flat.
fn limits(panel: Panel, lower: f64, upper: f64) -> Panel {
    let (least, most) = spread(&panel.marks);
    let room = FAR * (most - least);
    let near = |limit: &f64| limit.is_finite() && *limit >= least - room && *limit <= most + room;
    let rules: Vec<f64> = [lower, upper].into_iter().filter(near).collect();
    rules
        .into_iter()
        .fold(panel, |panel, limit| panel.mark(Mark::horizontal(limit).muted().dotted().label("limit")))
}
