//! The answer of `ocorl optimal`: a text table, or JSON documents.

use super::Solved;
use crate::table::{Align, Table};
use crate::terminal::{self, json};
use ocorl::baseline::{BaselineSettings, Baselines, Continuous, Tracker};
use ocorl::plan::{Effort, same_basin};
use ocorl_study::run::numbers::{cost, percent_more};
use serde::Serialize;

/// The solution of a system, in the units of the paper's Table 1.
#[derive(Serialize)]
struct Document<'a> {
    system: &'a str,
    open_loop: f64,
    tracked: f64,
    zoh_reference: Option<f64>,
    zoh: f64,
    paper_continuous: Option<f64>,
    paper_zoh: Option<f64>,
    title: &'a str,
    plan_cost: f64,
    table_scale: f64,
    horizon: f64,
    intervals: usize,
    holds: usize,
    tracker: &'static str,
    iterations: usize,
    plan_outcome: &'static str,
    gradient_norm: f64,
    seconds: f64,
    /// Whether an independent program confirmed the optimum.
    confirmed: bool,
    searches: usize,
    basins: usize,
    /// What each search found on the coarse grid.
    found: Vec<Found>,
}

/// One search of the portfolio.
#[derive(Serialize)]
struct Found {
    search: &'static str,
    cost: Option<f64>,
}

impl Solved {
    /// How sure it is that the plan is optimal; empty for a confirmed optimum.
    pub(super) fn search(&self) -> Option<String> {
        let plan = &self.result.as_ref().ok()?.continuous.plan;
        let costs: Vec<f64> = plan.attempts.iter().filter_map(|attempt| attempt.cost).collect();
        if costs.is_empty() {
            return Some(String::new());
        }
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let agree = costs.iter().filter(|cost| same_basin(**cost, least)).count();
        let effort = Effort::of(&plan.attempts);
        Some(format!(
            "{}: best known of {effort}; {agree} of the searches found it{}\n",
            self.benchmark.name,
            if agree > 1 { "" } else { ": try --effort 3" },
        ))
    }

    /// A warning if the plan cannot be optimal.
    pub(super) fn warning(&self) -> Option<String> {
        let Baselines { continuous: Continuous { plan, tracked, .. }, held, .. } =
            self.result.as_ref().ok()?;
        let (name, units, taken) = (&self.benchmark.name, self.benchmark.table_units(), tracked.cost());
        let [promised, found] = [plan.cost, taken].map(|c| cost(units.cost(c)));
        if (taken - plan.cost).abs() > 0.01 * plan.cost.abs() {
            return Some(format!(
                "warning: {name}: planned {promised}, tracked {found}; the grid is too coarse, try more --intervals\n"
            ));
        }
        (held.cost < 0.999 * taken).then(|| {
            format!("warning: {name}: the zero-order hold costs less than the plan, so the plan is a poor local optimum; try --effort 3, or another --seed\n")
        })
    }

    /// The paper's two values, if the solved problem is the paper's.
    fn paper(&self) -> (Option<f64>, Option<f64>) {
        let published = self.benchmark.published().filter(|_| !self.changed);
        let holds = self.benchmark.paper().map(|paper| paper.measurements - 1);
        let same_holds = |found: &Baselines| Some(found.held.plan.controls.len()) == holds;
        let held = published.filter(|_| self.result.as_ref().is_ok_and(same_holds));
        (published.map(|p| p.continuous), held.map(|p| p.held))
    }
}

/// The solutions as JSON: one array, an object for each solved system.
pub(super) fn documents(solved: &[Solved], settings: &BaselineSettings) -> String {
    let each = solved.iter().filter_map(|s| {
        let (b, found) = (&s.benchmark, s.result.as_ref().ok()?);
        let (units, plan) = (b.table_units(), &found.continuous.plan);
        let (paper_continuous, paper_zoh) = s.paper();
        Some(Document {
            system: &b.name,
            open_loop: units.cost(found.continuous.open_loop.cost()),
            tracked: units.cost(found.continuous.tracked.cost()),
            zoh_reference: found.held_reference.as_ref().map(|held| units.cost(held.cost)),
            zoh: units.cost(found.held.cost),
            paper_continuous,
            paper_zoh,
            title: &b.title,
            plan_cost: units.cost(plan.cost),
            table_scale: units.scale(),
            horizon: b.task.horizon,
            intervals: plan.controls.len(),
            holds: found.held.plan.controls.len(),
            tracker: match settings.tracker {
                Tracker::Mpc => "mpc",
                Tracker::Feedback => "feedback",
                Tracker::Replan => "replan",
            },
            iterations: plan.trace.len(),
            plan_outcome: plan.outcome.name(),
            gradient_norm: plan.gradient_norm,
            seconds: s.seconds,
            confirmed: plan.attempts.is_empty(),
            searches: Effort::of(&plan.attempts).searches.max(1),
            basins: Effort::of(&plan.attempts).basins.max(1),
            found: plan
                .attempts
                .iter()
                .map(|attempt| Found {
                    search: attempt.kind,
                    cost: attempt.cost.map(|cost| units.cost(cost)),
                })
                .collect(),
        })
    });
    json(&each.collect::<Vec<_>>())
}

/// The solutions as text: the first columns of Table 1, ours beside the paper's.
pub(super) fn table(solved: &[Solved], settings: &BaselineSettings) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([Left, Right, Right, Right, Right, Right, Right, Right, Right]);
    table.group(1, "continuous-time control");
    table.group(5, "zero-order hold");
    table.row(["", "open loop", "tracked", "paper", "diff", "as paper", "paper", "diff", "optimal"]);
    for s in solved {
        let title = &*s.benchmark.title;
        let Ok(found) = &s.result else {
            table.row([title, "failed", "-", "-", "-", "-", "-", "-", "-"]);
            continue;
        };
        let units = s.benchmark.table_units();
        let ours = [
            Some(found.continuous.open_loop.cost()),
            Some(found.continuous.tracked.cost()),
            found.held_reference.as_ref().map(|held| held.cost),
            Some(found.held.cost),
        ]
        .map(|cost| cost.map(|cost| units.cost(cost)));
        let beside = |ours: Option<f64>, paper: Option<f64>| match ours.zip(paper) {
            Some((ours, paper)) => (format!("{paper:.2}"), percent_more(ours, paper)),
            None => ("-".into(), "-".into()),
        };
        let (continuous, held) = s.paper();
        let (continuous, held) = (beside(ours[1], continuous), beside(ours[2], held));
        let [open_loop, tracked, reference, best] = ours.map(|ours| ours.map_or("-".into(), cost));
        table.row([
            title,
            &open_loop,
            &tracked,
            &continuous.0,
            &continuous.1,
            &reference,
            &held.0,
            &held.1,
            &best,
        ]);
    }
    let width = terminal::width();
    table.text(width) + "\n" + &legend(settings).text(width)
}

fn legend(settings: &BaselineSettings) -> Table {
    let follower = match settings.tracker {
        Tracker::Mpc => "by MPC",
        Tracker::Feedback => "with its own gains",
        Tracker::Replan => "by replanning",
    };
    let mut table = Table::new([Align::Left, Align::Left]);
    table.row([
        "open loop, tracked",
        &format!("the optimal plan's cost on the true system: open loop, and tracked {follower}"),
    ]);
    table.row(["as paper, optimal", "zero-order hold: computed as in the authors' program, and the optimum"]);
    table.row([
        "paper, diff",
        "Table 1 (known model) in its units, and how much more ours is; - if not comparable",
    ]);
    table
}
