//! The view of one episode: plan, executed trajectory, measurements, and the model before the episode.

use super::{Exhibit, StudyView};
use crate::plots::naming::symbol;
use crate::plots::{coverage, information_panel, model_slices, profiles_range, time_axis, uncertainty_panel};
use crate::report::brief;
use crate::scene::{Shown, Stage, scene, views};
use crate::{Axis, Figure, Mark, Marker, Panel, Theme};
use ocorl::simulate::Trajectory;
use ocorl::system::{Quantity, Task};
use ocorl_study::episode_model::{EpisodeModel, Prediction};
use ocorl_study::field::Field;
use ocorl_study::plan_file::RolloutTable;
use ocorl_study::study::{EpisodeHistory, Row};
use ocorl_study::trace::{Health, maybe_path};
use serde::Serialize;

/// Series colours.
const EXECUTED: usize = 0;
const PLANNED: usize = 1;
const OPTIMAL: usize = 2;
const MEASURED: usize = 3;
/// A limit is drawn only if it is no farther from the data than this multiple of their range.
const FAR: f64 = 1.5;
/// Largest number of earlier trajectories that are drawn behind an episode.
const TRAILS: usize = 8;
/// Size of the stage in SVG units.
const STAGE: (f64, f64) = (460.0, 400.0);

/// Plots, table and trajectory of one episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeView {
    /// Number of the episode; 0 is the exploratory one.
    pub episode: usize,
    /// Whether the episode has been planned but not recorded.
    pub running: bool,
    /// Cost of the episode, in the units of the paper's table; `None` until it is known.
    pub cost: Option<f64>,
    /// Why plots of the model are missing, and what to do; `None` if none is missing.
    pub missing: Option<String>,
    /// The system to scale, moving; `None` if it has no drawing or no trajectory.
    pub stage: Option<Stage>,
    /// Plots of the episode.
    pub exhibits: Vec<Exhibit>,
    /// Measurements of the episode as a table.
    pub measurements: MeasurementTable,
    /// The trajectory that was seen; else the plan; else the measured points.
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
        let stored = self.traces.get(&number).and_then(|trace| trace.model.as_ref());
        let none = EpisodeModel::default();
        let model = stored.unwrap_or(&none);
        let mut exhibits = Vec::new();
        let planned = episode.plan.rollouts.iter().any(|rollout| rollout.planned_cost.is_some());
        if planned || !episode.rows.is_empty() || self.path(number, 0).is_some() {
            exhibits.push(self.phase(episode, model));
            exhibits.extend(self.why(episode, model));
            exhibits.push(self.states(episode, model));
        }
        if !model.slices.is_empty() {
            exhibits.push(Exhibit::new(
                "slices",
                "Model slices",
                "The model of each derivative along lines through a measured point, before the episode: those along which the derivatives change most come first.",
                model_slices(&self.name(), self.task(), model),
            ));
        }
        exhibits.extend(model.field.as_ref().map(|field| self.field(field)));
        if !model.measured.is_empty() {
            let before = self.traces.range(..=number).filter_map(|(_, trace)| trace.model.as_ref());
            let figure = coverage(&self.name(), self.task(), before);
            let about = "Nominal and observed coverage of the measurements until this episode, by models that had not seen them.";
            exhibits.push(Exhibit::new("calibration", "Calibration", about, figure));
        }
        let trace = self.traces.get(&number);
        exhibits.extend(trace.and_then(|trace| trace.control.as_ref()).map(|health| self.controller(health)));
        let units = self.baselines.units;
        let wants_model = episode.plan.learner.is_some() && planned && stored.is_none();
        Some(EpisodeView {
            episode: number,
            running: episode.closed.is_none(),
            cost: episode.closed.as_ref().and_then(|closed| closed.cost).map(|cost| units.cost(cost)),
            missing: wants_model.then(|| "the model around this episode is not stored".into()),
            stage: self.stage(episode, model),
            exhibits,
            measurements: self.measurements(episode, model),
            motion: self.motion(episode),
        })
    }

    /// Measured rollouts of earlier episodes from the same initial state, the latest last.
    fn earlier(&self, number: usize) -> Vec<&Trajectory> {
        let first = number.saturating_sub(TRAILS);
        (first..number).filter_map(|earlier| self.path(earlier, 0)).collect()
    }

    fn stage(&self, episode: &EpisodeHistory, model: &EpisodeModel) -> Option<Stage> {
        let created = self.study.created();
        let scene = scene(&created.system).filter(|_| created.file.is_none())?;
        let motion = self.motion(episode)?;
        let rollout = episode.plan.rollouts.first();
        let plan = rollout.filter(|rollout| rollout.planned_cost.is_some()).map(RolloutTable::trajectory);
        let pending = self.path(episode.episode, 0).is_none() && episode.rows.is_empty();
        let shown = Shown {
            executed: self.path(episode.episode, 0).or(Some(&motion).filter(|_| plan.is_none() && !pending)),
            planned: plan.as_ref(),
            optimal: self.optimum.first(),
            draws: model.predicted.first().map_or(Vec::new(), |prediction| prediction.draws.clone()),
            earlier: self.earlier(episode.episode),
            measured: episode.rows.iter().filter(|row| row.start == 0).map(|row| row.x.as_slice()).collect(),
        };
        let name = format!("{}: episode {}, drawn to scale", self.name(), episode.episode);
        Some(scene.stage(&shown, &Theme::PAGE, STAGE, &name))
    }

    /// The system of an episode at even intervals of its trajectory; `None` if it has no drawing or no trajectory.
    pub fn strobe(&self, number: usize, theme: &Theme, size: (f64, f64)) -> Option<String> {
        let created = self.study.created();
        let scene = scene(&created.system).filter(|_| created.file.is_none())?;
        let motion = self.motion(self.study.history().episodes.get(number)?)?;
        Some(scene.strobe(&motion, theme, size, &format!("Episode {number}")))
    }

    /// Why it measured there: model uncertainty along the plan, the information of each candidate time, the chosen times.
    fn why(&self, episode: &EpisodeHistory, model: &EpisodeModel) -> Option<Exhibit> {
        let profile = model.planned.first().filter(|profile| !profile.times.is_empty())?;
        let range = self.sigma_range();
        let task = self.task();
        let title = "Uncertainty along the plan";
        let figure = Figure::new(format!("{}: why episode {} measured there", self.name(), episode.episode));
        let mut figure = figure.columns(2).height(112.0).panel(uncertainty_panel(title, task, model, range));
        let chosen: Vec<f64> =
            match episode.rows.iter().filter(|row| row.start == 0).map(|row| row.t).collect() {
                rows if episode.closed.is_some() || !Vec::is_empty(&rows) => rows,
                _ => episode.plan.rollouts.first().map_or(Vec::new(), |rollout| rollout.measure_at.clone()),
            };
        if let Some(panel) = information_panel(task, model, &chosen) {
            figure = figure.panel(panel);
        }
        let first = profile.before.iter().copied().fold(0.0, f64::max);
        let last = profile.after.iter().copied().fold(0.0, f64::max);
        let about = if last > 0.0 && first > 0.0 {
            let fall = match first / last {
                ratio if ratio >= 10.0 => format!("fell {ratio:.0}-fold"),
                ratio if ratio >= 1.05 => format!("fell {ratio:.1}-fold"),
                _ => "hardly fell".into(),
            };
            let left = brief(last, 2);
            format!("It measured where the plan was least certain: ‖σ‖ along it {fall}, to {left}.")
        } else {
            "Uncertainty along the plan before the episode, and the times chosen from it.".into()
        };
        Some(Exhibit::new("uncertainty", "Why there?", &about, figure))
    }

    /// Range of ‖σ‖ over the whole study, so that its fall is visible from one episode to the next.
    fn sigma_range(&self) -> Option<(f64, f64)> {
        profiles_range(self.traces.values().filter_map(|trace| trace.model.as_ref()))
    }

    fn task(&self) -> &Task {
        &self.study.system().task
    }

    /// The trajectory of a run, if it was seen.
    fn path(&self, episode: usize, start: usize) -> Option<&Trajectory> {
        self.traces.get(&episode)?.paths.get(start).filter(|path| !path.is_empty())
    }

    fn states(&self, episode: &EpisodeHistory, model: &EpisodeModel) -> Exhibit {
        let task = self.task();
        let expected = || model.predicted.iter().filter(|prediction| !prediction.draws.is_empty());
        let (nx, nu) = (task.states.len(), task.controls.len());
        let title = format!("{}: episode {} over time", self.name(), episode.episode);
        let mut figure = Figure::new(title).columns(if matches!(nx + nu, 2 | 4) { 2 } else { 3 });
        for (i, quantity) in task.states.iter().enumerate() {
            let mut panel = self.over_time(episode, quantity, |x, _| x[i], |rollout| step_states(rollout, i));
            panel.y = panel.y.shows(format!("x{i}"));
            let bands: Vec<Mark> = expected().map(|range| band(range, i)).collect();
            panel = within(panel, &bands);
            // Drawn behind everything else.
            panel.marks.splice(0..0, bands);
            figure = figure.panel(limits(panel, task.state_bounds.lower[i], task.state_bounds.upper[i]));
        }
        for (j, quantity) in task.controls.iter().enumerate() {
            let mut panel =
                self.over_time(episode, quantity, |_, u| u[j], |rollout| step_controls(rollout, j));
            panel.y = panel.y.shows(format!("u{j}"));
            figure = figure.panel(limits(panel, task.control_bounds.lower[j], task.control_bounds.upper[j]));
        }
        let about = "Each state and control: the plan, the range in which the model predicts the plan to lead, the executed trajectory, and the measurements.";
        Exhibit::new("states", "States and controls over time", about, figure)
    }

    /// One quantity over time, for all runs of the episode.
    fn over_time(
        &self,
        episode: &EpisodeHistory,
        quantity: &Quantity,
        value: impl Fn(&[f64], &[f64]) -> f64,
        planned: impl Fn(&RolloutTable) -> Mark,
    ) -> Panel {
        let axis = Axis::new(symbol(&quantity.name), &quantity.unit);
        let mut panel = Panel::new(symbol(&quantity.name), time_axis(self.task()), axis);
        for path in self.optimum.iter().take(episode.plan.rollouts.len()) {
            let y: Vec<f64> =
                path.states.iter().zip(path.controls.iter()).map(|(x, u)| value(x, u)).collect();
            panel = panel.mark(Mark::line(&*path.times, y).series(OPTIMAL).dotted().label("optimum"));
        }
        for rollout in episode.plan.rollouts.iter().filter(|rollout| rollout.planned_cost.is_some()) {
            panel = panel.mark(planned(rollout).series(PLANNED).dashed().label("planned"));
        }
        for rollout in &episode.plan.rollouts {
            if let Some(path) = self.path(episode.episode, rollout.start) {
                let y: Vec<f64> =
                    path.states.iter().zip(path.controls.iter()).map(|(x, u)| value(x, u)).collect();
                panel = panel.mark(Mark::line(&*path.times, y).series(EXECUTED).label("executed"));
            }
        }
        let (t, y): (Vec<f64>, Vec<f64>) = episode.rows.iter().map(|r| (r.t, value(&r.x, &r.u))).unzip();
        panel.mark(Mark::points(t, y, Marker::Cross).series(MEASURED).label("measured"))
    }

    fn phase(&self, episode: &EpisodeHistory, model: &EpisodeModel) -> Exhibit {
        let task = self.task();
        let title = format!("{}: phase portrait of episode {}", self.name(), episode.episode);
        let mut figure = Figure::new(title).columns(2).height(300.0);
        for (a, b) in views(task) {
            figure = figure.panel(self.plane(episode, model, a, b));
        }
        let about = "Colour: model uncertainty ‖σ‖ before the episode, one scale for all episodes.";
        Exhibit::new("phase", "State space", about, figure)
    }

    /// The trajectories of an episode in the plane of two states.
    fn plane(&self, episode: &EpisodeHistory, model: &EpisodeModel, a: Option<usize>, b: usize) -> Panel {
        let place = |t: f64, x: &[f64]| (a.map_or(t, |a| x[a]), x[b]);
        let line = |path: &Trajectory| in_plane(path, a, b);
        let mut panel = self.empty_plane(a, b);
        let mut focus: Vec<Mark> = self.optimum.iter().map(line).collect();
        let earlier = self.earlier(episode.episode);
        for (i, path) in earlier.iter().enumerate() {
            let pale = 0.75 - 0.35 * (i + 1) as f64 / earlier.len() as f64;
            panel = panel.mark(line(path).muted().tinted(pale).label("earlier episodes"));
        }
        for path in &self.optimum {
            panel = panel.mark(line(path).series(OPTIMAL).dotted().label("optimum"));
        }
        for rollout in episode.plan.rollouts.iter().filter(|rollout| rollout.planned_cost.is_some()) {
            let (x, y): (Vec<f64>, Vec<f64>) =
                rollout.times.iter().zip(&rollout.states).map(|(t, x)| place(*t, x)).unzip();
            focus.push(Mark::line(&*x, &*y));
            panel = panel.mark(Mark::line(x, y).series(PLANNED).dashed().label("planned"));
        }
        for (i, rollout) in episode.plan.rollouts.iter().enumerate() {
            let Some(path) = self.path(episode.episode, rollout.start) else { continue };
            focus.push(line(path));
            let sigma =
                model.executed.get(i).map(|profile| &profile.before).filter(|s| s.len() == path.len());
            let mark = match (sigma, line(path)) {
                (Some(sigma), Mark { shape: crate::Shape::Line { x, y }, .. }) => {
                    let range = self.sigma_range();
                    let color = Axis::new("‖σ‖ before the episode", "").log();
                    panel = panel.color(range.map_or(color.clone(), |(low, high)| color.range(low, high)));
                    Mark::colored_line(x, y, &**sigma).label("executed")
                }
                (_, line) => line.series(EXECUTED).label("executed"),
            };
            panel = panel.mark(mark);
        }
        let starts: (Vec<f64>, Vec<f64>) =
            episode.plan.rollouts.iter().map(|rollout| place(0.0, &rollout.initial_state)).unzip();
        let past = self.study.history().episodes.iter().take_while(|other| other.episode < episode.episode);
        let (old_x, old_y): (Vec<f64>, Vec<f64>) =
            past.flat_map(|other| &other.rows).map(|r| place(r.t, &r.x)).unzip();
        let (x, y): (Vec<f64>, Vec<f64>) = episode.rows.iter().map(|r| place(r.t, &r.x)).unzip();
        focus.push(Mark::points(&*x, &*y, Marker::Cross));
        focused(panel, &focus)
            .mark(Mark::points(old_x, old_y, Marker::Dot).muted().label("measured before"))
            .mark(Mark::points(starts.0, starts.1, Marker::Ring).muted().label("start").unlisted())
            .mark(Mark::points(x, y, Marker::Cross).series(MEASURED).label("measured"))
    }

    /// The learned vector field, and its error if the truth is known, each on one scale for the whole study.
    fn field(&self, field: &Field) -> Exhibit {
        let task = self.task();
        let middle = |values: &[f64]| -> Vec<f64> {
            let step = (values[values.len() - 1] - values[0]) / (values.len() - 1) as f64;
            (0..=values.len()).map(|i| values[0] + (i as f64 - 0.5) * step).collect()
        };
        let points = || field.y.iter().flat_map(|y| field.x.iter().map(move |x| (*x, *y)));
        let arrows = |rates: &[[f64; 2]]| {
            let (x, y): (Vec<f64>, Vec<f64>) = points().unzip();
            let [dx, dy] = [0, 1].map(|i| rates.iter().map(|rate| rate[i]).collect::<Vec<f64>>());
            Mark::arrows(x, y, dx, dy)
        };
        let fields = || self.traces.values().filter_map(|trace| trace.model.as_ref()?.field.as_ref());
        let panel = |title: &str, name: &str, shade: fn(&Field) -> Vec<f64>| {
            let (low, high) = ends(fields().flat_map(shade).filter(|value| *value > 0.0));
            let color = Axis::new(name, "").log();
            Panel { title: title.into(), ..self.empty_plane(Some(0), 1) }
                .color(if low < high { color.range(low, high) } else { color })
                .mark(Mark::heat(middle(&field.x), middle(&field.y), shade(field)))
                .mark(arrows(&field.rates).series(6).label("learned μ"))
        };
        let title = format!("{}: the learned vector field", self.name());
        let mut figure = Figure::new(title).columns(2).height(300.0);
        figure = figure.panel(panel("Model uncertainty", "‖σ‖", |field: &Field| field.sigma.clone()));
        if !field.truth.is_empty() {
            let error = panel("Error of the learned field", "‖μ − f‖", Field::errors);
            figure = figure.panel(error.mark(arrows(&field.truth).series(1).label("true f")));
        }
        let control: Vec<String> = task.safe_control.iter().map(|u| brief(*u, 3)).collect();
        let about = format!(
            "The model before the episode, at control {}; colours on one scale for the whole study.",
            control.join(", ")
        );
        Exhibit::new("field", "Learned vector field", &about, figure)
    }

    /// The plane in which trajectories are naturally seen, with the optimum and no episode.
    pub(super) fn first_plane(&self) -> Panel {
        let (a, b) = views(self.task())[0];
        let optimum = self.optimum.iter().map(|path| self.in_first_plane(path));
        let optimum = optimum.map(|line| line.muted().dashed().label("optimum"));
        optimum.fold(Panel { title: self.name(), ..self.empty_plane(a, b) }, Panel::mark)
    }

    /// A trajectory in that plane.
    pub(super) fn in_first_plane(&self, path: &Trajectory) -> Mark {
        let (a, b) = views(self.task())[0];
        in_plane(path, a, b)
    }

    /// The last executed trajectory that was stored.
    pub(super) fn last_path(&self) -> Option<&Trajectory> {
        (0..self.study.history().episodes.len()).rev().find_map(|episode| self.path(episode, 0))
    }

    fn empty_plane(&self, a: Option<usize>, b: usize) -> Panel {
        let states = &self.task().states;
        let name = |i: usize| symbol(&states[i].name);
        let axis = |i: usize| Axis::new(name(i), &states[i].unit).shows(format!("x{i}"));
        match a {
            Some(a) => Panel::new(format!("{} over {}", name(b), name(a)), axis(a), axis(b)),
            None => Panel::new(name(b), time_axis(self.task()), axis(b)),
        }
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

    fn measurements(&self, episode: &EpisodeHistory, model: &EpisodeModel) -> MeasurementTable {
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
        columns.extend(["residual [σ]", "‖σ‖ before", "‖σ‖ after", "weight"].map(str::to_owned));
        // The stored predictions are in the order of the measurements, if these are used.
        let foretold =
            |i: usize| model.measured.get(i).filter(|_| model.measured.len() == episode.rows.len());
        let row = |(i, row): (usize, &Row)| {
            let mut cells = vec![Some(row.start as f64), Some(row.t), row.asked_t];
            cells.extend(row.x.iter().chain(&row.u).map(|v| Some(*v)));
            if derivatives {
                let none = vec![None; task.states.len()];
                cells.extend(
                    row.x_dot.as_ref().map_or(none, |x_dot| x_dot.iter().map(|v| Some(*v)).collect()),
                );
            }
            cells.push(foretold(i).and_then(|foretold| foretold.residual(&task.noise_std)));
            cells.push(foretold(i).map(|foretold| foretold.sigma.0));
            cells.push(foretold(i).and_then(|foretold| foretold.sigma.1));
            cells.push(Some(self.study.weight(episode.episode, row.start, row.t)));
            cells
        };
        MeasurementTable { columns, rows: episode.rows.iter().enumerate().map(row).collect() }
    }

    fn motion(&self, episode: &EpisodeHistory) -> Option<Trajectory> {
        if let Some(path) = self.path(episode.episode, 0) {
            return Some(path.clone());
        }
        let mut path = Trajectory::empty(self.task().dims());
        if let Some(rollout) = episode.plan.rollouts.first().filter(|rollout| rollout.planned_cost.is_some())
        {
            let last = rollout.controls.len() - 1;
            let nodes = rollout.times.iter().zip(&rollout.states).enumerate();
            nodes.for_each(|(i, (t, x))| path.push(*t, x, &rollout.controls[i.min(last)]));
            return Some(path);
        }
        let mine: Vec<&Row> = episode.rows.iter().filter(|row| row.start == 0).collect();
        for row in &mine {
            path.push(row.t, &row.x, &row.u);
        }
        (mine.len() > 1).then_some(path)
    }
}

/// A trajectory in the plane of two states; `None` is time.
fn in_plane(path: &Trajectory, a: Option<usize>, b: usize) -> Mark {
    let place = |(t, x): (&f64, &[f64])| (a.map_or(*t, |a| x[a]), x[b]);
    let (x, y): (Vec<f64>, Vec<f64>) = path.times.iter().zip(path.states.iter()).map(place).unzip();
    Mark::line(x, y)
}

/// The band in which a state is predicted.
fn band(prediction: &Prediction, state: usize) -> Mark {
    let (low, high) = prediction.band(state);
    Mark::band(&*prediction.times, low, high).series(PLANNED).label("predicted")
}

fn step_states(rollout: &RolloutTable, i: usize) -> Mark {
    Mark::line(&*rollout.times, rollout.states.iter().map(|x| x[i]).collect::<Vec<_>>())
}

fn step_controls(rollout: &RolloutTable, j: usize) -> Mark {
    Mark::step(&*rollout.times, rollout.controls.iter().map(|u| u[j]).collect::<Vec<_>>())
}

/// Least and greatest value.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), value| (l.min(value), m.max(value)))
}

/// Least and greatest y value of some marks.
fn spread(marks: &[Mark]) -> (f64, f64) {
    ends(marks.iter().flat_map(Mark::rows).filter_map(|row| row.y))
}

/// Shows what these marks show: earlier episodes, which may have gone far away, do not squeeze them.
fn focused(mut panel: Panel, marks: &[Mark]) -> Panel {
    let x = ends(marks.iter().flat_map(Mark::rows).filter_map(|row| row.x));
    for (axis, (low, high)) in [(&mut panel.x, x), (&mut panel.y, spread(marks))] {
        if low < high {
            let room = if axis.shows == "t" { 0.0 } else { 0.06 * (high - low) };
            axis.range = Some((low - room, high + room));
        }
    }
    panel
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
