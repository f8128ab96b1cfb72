//! Plots of a whole study: cost, regret, measurement times, computing time, information.

use super::{Exhibit, StudyView};
use crate::plots::{Costs, cost_curves, time_axis};
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl_study::study::{CostFrom, Status};
use ocorl_study::trace::Trace;

/// Costs nearer to the optimum than this, in percent, are drawn there: a logarithmic axis has no zero.
const LEAST: f64 = 1e-3;

impl StudyView {
    /// Plots of the whole study; a plot without data is omitted.
    pub fn overall(&self) -> Vec<Exhibit> {
        let all = [
            self.strip(),
            self.cost(),
            self.regret(),
            self.times_raster(),
            self.timeline(),
            self.information(),
        ];
        all.into_iter().flatten().collect()
    }

    fn title(&self, what: &str) -> String {
        format!("{}: {what}", self.name())
    }

    /// Cost above the optimum (or the cost, if the optimum is not known) of every episode, with signs for what happened.
    pub fn strip(&self) -> Option<Exhibit> {
        let best = self.baselines.continuous.filter(|best| *best > 0.0);
        let value = |cost: f64| best.map_or(cost, |best| (100.0 * (cost / best - 1.0)).max(LEAST));
        let (mut line, mut signs) = ((Vec::new(), Vec::new()), [const { (Vec::new(), Vec::new()) }; 4]);
        for (episode, (number, cost, _)) in self.study.history().episodes.iter().zip(self.costs()) {
            let Some(closed) = &episode.closed else { continue };
            let outside = closed.outcome.contains("limit") || closed.outcome.contains("left");
            let kind = match (closed.status, closed.cost_from) {
                (Status::Failed, _) if outside => 3,
                (Status::Failed, _) => 2,
                (_, CostFrom::Estimated) => 1,
                _ => 0,
            };
            // An episode without a cost keeps its sign, at the height of the episode before it.
            let height = if cost.is_finite() { value(cost) } else { line.1.last().copied().unwrap_or(100.0) };
            line.0.push(number as f64);
            line.1.push(if cost.is_finite() { height } else { f64::NAN });
            signs[kind].0.push(number as f64);
            signs[kind].1.push(height);
        }
        if line.0.is_empty() {
            return None;
        }
        let axis = match best {
            Some(_) => Axis::new("above", "%").log(),
            None => Axis::new("cost", "").log(),
        };
        let last = self.study.history().episodes.len().saturating_sub(1) as f64;
        let across = Axis::new("episode", "").whole().shows("episode").range(-0.3, last + 0.3);
        let mut panel = Panel::new("", across, axis).mark(Mark::line(line.0, line.1).series(0).unlisted());
        let cost = if best.is_some() { "cost above the optimum" } else { "cost" };
        let names = [cost, "estimated cost", "aborted", "aborted at a limit"];
        let markers = [Marker::Circle, Marker::Ring, Marker::Cross, Marker::Triangle];
        for (((x, y), name), (i, marker)) in signs.into_iter().zip(names).zip(markers.into_iter().enumerate())
        {
            if !x.is_empty() {
                panel = panel.mark(Mark::points(x, y, marker).series(usize::from(i >= 2)).label(name));
            }
        }
        if best.is_some() {
            panel = panel.mark(Mark::horizontal(1.0).muted().dotted().label("1 %"));
        }
        let title = self.title("cost above the optimum by episode");
        let figure = Figure::new(title).height(72.0).panel(panel);
        let about = "Cost of each episode above the optimum, on a logarithmic scale. Select an episode here.";
        Some(Exhibit::new("strip", "Episodes", about, figure))
    }

    fn cost(&self) -> Option<Exhibit> {
        let costs = self.costs();
        if costs.iter().all(|(_, cost, planned)| cost.is_nan() && planned.is_nan()) {
            return None;
        }
        let strategy = self.study.created().settings.strategy.name().replace('-', " ");
        let figure = cost_curves(&Costs {
            title: &self.title("cost by episode"),
            strategy: &strategy,
            episodes: &costs.iter().map(|(n, ..)| *n as f64).collect::<Vec<_>>(),
            costs: &costs.iter().map(|(_, cost, _)| *cost).collect::<Vec<_>>(),
            planned: Some(&costs.iter().map(|(.., planned)| *planned).collect::<Vec<_>>()),
            best: self.baselines.continuous,
            held: self.baselines.held,
            paper: self.baselines.paper.map(|(mean, _)| mean),
        });
        let about = "Cost and planned cost of each episode, beside the optimum with known dynamics.";
        Some(Exhibit::new("cost", "Cost by episode", about, figure))
    }

    fn regret(&self) -> Option<Exhibit> {
        let best = self.baselines.continuous?;
        let mut sum = 0.0;
        let (mut x, mut y) = (Vec::new(), Vec::new());
        // Counted from the first planned episode on, as in the paper.
        let planned = self.costs().into_iter().filter(|(episode, cost, _)| *episode > 0 && cost.is_finite());
        for (episode, cost, _) in planned {
            sum += cost - best;
            x.push(episode as f64);
            y.push(sum);
        }
        if x.is_empty() {
            return None;
        }
        let panel = Panel::new(
            "",
            episodes(),
            Axis::new("cumulative regret", "").range(0.0_f64.min(sum), f64::INFINITY),
        )
        .mark(Mark::line(&*x, &*y).label("sum of cost above the optimum"))
        .mark(Mark::points(x, y, Marker::Circle).label("sum of cost above the optimum"));
        let about = "Cumulative regret: sum over the planned episodes of their cost above the optimum.";
        let figure = Figure::new(self.title("cumulative regret")).panel(panel);
        Some(Exhibit::new("regret", "Cumulative regret", about, figure))
    }

    fn times_raster(&self) -> Option<Exhibit> {
        let (mut t, mut n, mut asked_t, mut asked_n) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for episode in &self.study.history().episodes {
            t.extend(episode.rows.iter().map(|row| row.t));
            n.resize(t.len(), episode.episode as f64);
            if episode.closed.is_none() {
                asked_t.extend(
                    episode.plan.rollouts.iter().flat_map(|rollout| rollout.measure_at.iter().copied()),
                );
                asked_n.resize(asked_t.len(), episode.episode as f64);
            }
        }
        if t.is_empty() && asked_t.is_empty() {
            return None;
        }
        let axis = time_axis(&self.study.system().task);
        let panel = Panel::new("", axis, Axis::new("episode", "").whole().shows("episode"))
            .mark(Mark::points(t, n, Marker::Bar).label("measured"));
        let asked = (!asked_t.is_empty())
            .then(|| Mark::points(asked_t, asked_n, Marker::Ring).series(1).label("requested"));
        let panel = asked.into_iter().fold(panel, Panel::mark);
        let about = "Measurement times of each episode; adaptive strategies move them.";
        let figure = Figure::new(self.title("measurement times")).panel(panel);
        Some(Exhibit::new("times", "Measurement times", about, figure))
    }

    fn timeline(&self) -> Option<Exhibit> {
        let part = |of: fn(&Trace) -> Option<f64>, name: &str, series: usize, marker: Marker| {
            let (x, y): (Vec<f64>, Vec<f64>) =
                self.traces.iter().filter_map(|(n, trace)| Some((*n as f64, of(trace)?))).unzip();
            let line = Mark::line(&*x, &*y).series(series).label(name);
            (!x.is_empty()).then(|| [line, Mark::points(x, y, marker).series(series).label(name)])
        };
        let parts = [
            part(|t| t.planning_seconds, "planning", 0, Marker::Circle),
            part(|t| t.running_seconds, "running", 1, Marker::Triangle),
            part(|t| t.learning_seconds, "learning", 2, Marker::Square),
        ];
        let marks: Vec<Mark> = parts.into_iter().flatten().flatten().collect();
        if marks.is_empty() {
            return None;
        }
        let panel = Panel::new("", episodes(), Axis::new("wall-clock time", "s").log());
        let figure = Figure::new(self.title("time spent")).panel(marks.into_iter().fold(panel, Panel::mark));
        let about = "Wall-clock time of planning, running and learning, by episode.";
        Some(Exhibit::new("timeline", "Time spent", about, figure))
    }

    fn information(&self) -> Option<Exhibit> {
        let series = |of: fn(&Trace) -> Option<f64>| -> (Vec<f64>, Vec<f64>) {
            self.traces.iter().filter_map(|(n, t)| Some((*n as f64, of(t)?))).unzip()
        };
        let (x, gain) = series(|t| t.information_gain);
        let (ux, uncertainty) = series(|t| t.uncertainty);
        if x.is_empty() && ux.is_empty() {
            return None;
        }
        let curve = |title: &str, axis: Axis, x: Vec<f64>, y: Vec<f64>, label: &str, series: usize| {
            Panel::new(title, episodes(), axis)
                .mark(Mark::line(&*x, &*y).series(series).label(label))
                .mark(Mark::points(x, y, Marker::Circle).series(series).label(label))
        };
        let figure = Figure::new(self.title("information gain and model uncertainty"))
            .columns(2)
            .panel(curve("Information gain", Axis::new("nats", ""), x, gain, "information gain", 0))
            .panel(curve(
                "Model uncertainty along the trajectory",
                Axis::new("σ relative to f", "").log(),
                ux,
                uncertainty,
                "uncertainty",
                1,
            ));
        let about = "Information gain of the measurements of each episode, and model uncertainty along its trajectory.";
        Some(Exhibit::new("information", "Information", about, figure))
    }
}

fn episodes() -> Axis {
    Axis::new("episode", "").whole().shows("episode")
}
