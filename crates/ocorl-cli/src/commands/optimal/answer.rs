//! What `ocorl optimal` answers: a table for people, documents for programs.

use super::Solved;
use crate::table::{Align, Table};
use crate::terminal::json;
use ocorl::baseline::{BaselineSettings, Baselines, Continuous, Tracker};
use ocorl::plan::Outcome;
use ocorl_study::run::numbers::{cost, percent_more};
use serde::Serialize;

/// What was found, in the units of the paper's Table 1.
#[derive(Serialize)]
struct Document<'a> {
    system: &'a str,
    open_loop: f64,
    tracked: f64,
    zoh_reference: f64,
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
}

impl Solved {
    /// A word of caution where the plan cannot be the best.
    pub(super) fn warning(&self) -> Option<String> {
        let Baselines { continuous: Continuous { plan, tracked, .. }, held, .. } =
            self.result.as_ref().ok()?;
        let (name, scale, taken) = (&self.benchmark.name, self.benchmark.table_scale(), tracked.cost());
        let [promised, found] = [plan.cost, taken].map(|c| cost(scale * c));
        if (taken - plan.cost).abs() > 0.01 * plan.cost.abs() {
            return Some(format!(
                "warning: {name}: planned {promised}, tracked {found}; the grid is too coarse, try more --intervals\n"
            ));
        }
        (held.cost < 0.999 * taken).then(|| {
            format!("warning: {name}: held inputs cost less than the plan, so it is a local optimum; try --stages 5, or another --seed\n")
        })
    }

    /// The paper's two numbers for the very problem that was solved.
    fn paper(&self) -> (Option<f64>, Option<f64>) {
        let published = self.benchmark.published.filter(|_| !self.changed);
        let same_holds =
            |found: &Baselines| found.held.plan.controls.len() == self.benchmark.settings.measurements - 1;
        let held = published.filter(|_| self.result.as_ref().is_ok_and(same_holds));
        (published.map(|p| p.continuous), held.map(|p| p.held))
    }
}

/// For programs: one array, an object for each system that was solved.
pub(super) fn documents(solved: &[Solved], settings: &BaselineSettings) -> String {
    let each = solved.iter().filter_map(|s| {
        let (b, found) = (&s.benchmark, s.result.as_ref().ok()?);
        let (scale, plan) = (b.table_scale(), &found.continuous.plan);
        let (paper_continuous, paper_zoh) = s.paper();
        Some(Document {
            system: &b.name,
            open_loop: scale * found.continuous.open_loop.cost(),
            tracked: scale * found.continuous.tracked.cost(),
            zoh_reference: scale * found.held_reference.cost,
            zoh: scale * found.held.cost,
            paper_continuous,
            paper_zoh,
            title: &b.title,
            plan_cost: scale * plan.cost,
            table_scale: scale,
            horizon: b.task.horizon,
            intervals: plan.controls.len(),
            holds: found.held.plan.controls.len(),
            tracker: match settings.tracker {
                Tracker::Mpc => "mpc",
                Tracker::Feedback => "feedback",
                Tracker::Replan => "replan",
            },
            iterations: plan.trace.len(),
            plan_outcome: match plan.outcome {
                Outcome::Converged => "converged",
                Outcome::Stalled => "stalled",
                Outcome::IterationLimit => "iteration-limit",
            },
            gradient_norm: plan.gradient_norm,
            seconds: s.seconds,
        })
    });
    json(&each.collect::<Vec<_>>())
}

/// For people: the first columns of Table 1, ours beside the paper's.
pub(super) fn table(solved: &[Solved], settings: &BaselineSettings) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([Left, Right, Right, Right, Right, Right, Right, Right, Right]);
    table.group(1, "continuous-time control");
    table.group(5, "zero-order hold");
    table.row(["", "open loop", "tracked", "paper", "diff", "as paper", "paper", "diff", "best"]);
    for s in solved {
        let title = &*s.benchmark.title;
        let Ok(found) = &s.result else {
            table.row([title, "failed", "-", "-", "-", "-", "-", "-", "-"]);
            continue;
        };
        let scale = s.benchmark.table_scale();
        let ours = [
            found.continuous.open_loop.cost(),
            found.continuous.tracked.cost(),
            found.held_reference.cost,
            found.held.cost,
        ]
        .map(|cost| scale * cost);
        let beside = |ours: f64, paper: Option<f64>| match paper {
            Some(paper) => (format!("{paper:.2}"), percent_more(ours, paper)),
            None => ("-".into(), "-".into()),
        };
        let (continuous, held) = s.paper();
        let (continuous, held) = (beside(ours[1], continuous), beside(ours[2], held));
        let [open_loop, tracked, reference, best] = ours.map(cost);
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
    table.text() + "\n" + &legend(settings)
}

fn legend(settings: &BaselineSettings) -> String {
    let follower = match settings.tracker {
        Tracker::Mpc => "by MPC",
        Tracker::Feedback => "with its own gains",
        Tracker::Replan => "by planning anew",
    };
    format!(
        "\
open loop, tracked  the best plan's cost on the true system: as planned, and followed {follower}
as paper, best      inputs held: computed as the authors' program does, and the best found
paper, diff         Table 1 (known model) in its units, and how much more ours is; - if not comparable
"
    )
}
