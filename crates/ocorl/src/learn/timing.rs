//! Creation of the measurement schedule of an episode, according to the settings.

use super::setback::{self, Setback};
use super::settings::{Hallucinate, Settings, Strategy};
use super::spacing::Spacing;
use crate::explore::{MeanModel, PlanningProblem};
use crate::measurements::Measurements;
use crate::model::{Posterior, StatisticalModel};
use crate::plan::{Plan, uniform_grid};
use crate::plant::MeasurementKind;
use crate::select::{
    Candidates, FirstPick, Hallucination, Oracle, RecedingHorizon, Schedule, Steps, Times,
    UncertaintyTrigger, equidistant, equidistant_as_reference, greedy_max_determinant, greedy_max_distance,
};
use crate::simulate::{Experiment, Policy, Simulator};
use crate::system::Task;
use crate::track::Reference;
use std::sync::Arc;

/// Inputs from which a schedule is created.
pub(super) struct Timing<'a> {
    pub(super) task: &'a Task,
    pub(super) settings: &'a Settings,
    pub(super) episode: usize,
    pub(super) model: &'a Arc<dyn StatisticalModel>,
    pub(super) data: &'a Measurements,
    pub(super) initial_state: &'a [f64],
    /// Early termination of the last run; half of the measurements are then before the time that it reached.
    pub(super) set_back: Option<Setback>,
}

impl Timing<'_> {
    /// Creates the schedule of an episode that follows `plan` (hallucinated controls included), made for the problem `exploration`;
    /// `policy` creates the policy that will follow it.
    pub(super) fn schedule(
        &self,
        plan: Reference,
        exploration: &PlanningProblem,
        policy: impl Fn() -> Box<dyn Policy + Send>,
    ) -> Box<dyn Schedule> {
        let (horizon, count) = (self.task.horizon, self.count());
        let select = &self.settings.select;
        let controls = self.task.controls.len();
        if self.states() && self.settings.strategy == Strategy::Equidistant {
            return self.at(along(&plan.plan, controls, self.settings.states.motion, count));
        }
        let intervals =
            if self.settings.strategy == Strategy::RecedingHorizon { self.intervals(&plan.plan) } else { 0 };
        let hallucination =
            Hallucination::new(plan, exploration.dynamics(), exploration.bounds.clone(), controls);
        let candidates = || match (select.hallucinate, self.steps()) {
            (Hallucinate::Plan, None) => hallucination.whole(select.candidates),
            (Hallucinate::Plan, Some(steps)) => hallucination.at(steps.middles(select.candidates)),
            (Hallucinate::Mean, _) => self.on_the_mean(policy().as_mut()),
        };
        match self.settings.strategy {
            Strategy::EquidistantGrowing if self.states() => {
                self.at(spread(horizon, Vec::new(), self.episode.max(1)))
            }
            Strategy::Equidistant if select.as_reference => self.at(equidistant_as_reference(horizon, count)),
            Strategy::Equidistant => self.at(equidistant(horizon, count)),
            Strategy::EquidistantGrowing => self.at(equidistant(horizon, self.episode.max(1))),
            Strategy::MaxDeterminant | Strategy::MaxKernelDistance => {
                let mut candidates = candidates();
                if select.as_reference {
                    candidates = truncated(&candidates, 0.99 * horizon);
                }
                self.at(self.greedy(&candidates))
            }
            Strategy::RecedingHorizon => {
                Box::new(RecedingHorizon::new(hallucination, self.model.clone(), horizon, intervals))
            }
            Strategy::UncertaintyTrigger if self.set_back.is_some() => self.at(equidistant(horizon, count)),
            Strategy::Oracle => Box::new(Oracle::new(self.model.clone(), &self.task.noise_std, count)),
            Strategy::UncertaintyTrigger => {
                let noise = &self.task.noise_std;
                Box::new(UncertaintyTrigger::new(self.model.clone(), noise, &candidates(), count))
            }
        }
    }

    /// Returns whether states are measured.
    fn states(&self) -> bool {
        self.settings.measured == MeasurementKind::States
    }

    /// Returns the number of measurements that the strategy places: all, except those reserved after an early termination.
    fn count(&self) -> usize {
        let all = self.settings.measurements;
        let fixed = !matches!(self.settings.strategy, Strategy::Oracle | Strategy::RecedingHorizon);
        all - if fixed { setback::early(self.set_back, all) } else { 0 }
    }

    /// Creates a schedule of fixed times; with `as_reference` it includes the initial time.
    fn at(&self, mut times: Vec<f64>) -> Box<dyn Schedule> {
        times.extend(setback::early_times(self.set_back, self.settings.measurements));
        if self.settings.select.as_reference {
            times.push(0.0);
        }
        if let Some(steps) = self.steps() {
            times = steps.snap(&times);
        }
        Box::new(Times::new(times))
    }

    /// Returns the steps of a sampled plant.
    fn steps(&self) -> Option<Steps> {
        Steps::new(self.task.horizon, self.settings.select.spacing)
    }

    /// Chooses the times of the greedy strategies.
    fn greedy(&self, candidates: &Candidates) -> Vec<f64> {
        let select = &self.settings.select;
        let mut joint = self.model.covariance_columns(candidates.points());
        // A pair of states determines the mean derivative between them. Over a long interval it is not informative, so half of the states
        // keep the intervals short.
        let all = self.count();
        let count = if self.states() { all / 2 } else { all };
        let chosen = if self.settings.strategy == Strategy::MaxDeterminant {
            let square = |s: &f64| if select.noise { s * s } else { 0.0 };
            let noise: Vec<f64> = self.task.noise_std.iter().map(square).collect();
            greedy_max_determinant(joint.as_mut(), &noise, count)
        } else {
            let first = if select.as_reference { FirstPick::AsReference } else { FirstPick::LargestVariance };
            greedy_max_distance(joint.as_mut(), &self.scales(), first, count)
        };
        let mut times: Vec<f64> = chosen.iter().map(|&i| candidates.times[i]).collect();
        if self.states() {
            return spread(self.task.horizon, times, all);
        }
        // The candidates are exhausted: the remaining times are equidistant.
        times.extend(equidistant(self.task.horizon, count - times.len().min(count)));
        times
    }

    /// Returns the units in which distances of outputs are measured: their noise, or with `as_reference` their spread in the data.
    fn scales(&self) -> Vec<f64> {
        let derivatives = self.data.derivatives();
        let n = derivatives.len().max(1) as f64;
        (0..self.task.states.len())
            .map(|j| {
                let noise = self.task.noise_std[j];
                if !self.settings.select.as_reference && noise > 0.0 {
                    return noise;
                }
                let mean = derivatives.iter().map(|d| d[j]).sum::<f64>() / n;
                let spread = derivatives.iter().map(|d| (d[j] - mean) * (d[j] - mean)).sum::<f64>() / n;
                spread.sqrt() + 1e-6
            })
            .collect()
    }

    /// Returns the number of intervals of the receding-horizon strategy: mₙ = ⌈T/Δₙ⌉, within the limits of the settings.
    fn intervals(&self, plan: &Plan) -> usize {
        let select = &self.settings.select;
        let spacing = Spacing::of(self.model.as_ref(), self.task, select, plan, &mut Posterior::default());
        spacing.count.min(self.settings.most_measurements())
    }

    /// Simulates the policy on the mean model, as the authors' program does for its prediction.
    fn on_the_mean(&self, policy: &mut dyn Policy) -> Candidates {
        let experiment = Experiment {
            initial_state: self.initial_state,
            cost: None,
            sample_times: &uniform_grid(self.task.horizon, self.settings.select.candidates - 1),
            ..Experiment::of(self.task)
        };
        let mut mean = MeanModel::new(self.model.clone());
        let run = Simulator::new(1e-4).run(&mut mean, policy, &experiment);
        let points = run.samples.points();
        Candidates::new(run.samples.times, points, self.task.dims().point())
    }
}

/// Extends `times` to `count` times: equidistant if there are none, otherwise each placed so that the largest gap is minimal. The initial
/// time counts as known and the end of the horizon as measured last.
fn spread(horizon: f64, mut times: Vec<f64>, count: usize) -> Vec<f64> {
    times.retain(|&t| t > 0.0);
    if times.is_empty() {
        return (1..=count).map(|i| horizon * i as f64 / count as f64).collect();
    }
    times.sort_by(f64::total_cmp);
    // Each gap is divided into equal parts; the next time goes into the gap with the largest parts.
    let ends: Vec<f64> = [0.0].into_iter().chain(times.iter().copied()).chain([horizon]).collect();
    let mut parts = vec![1_usize; ends.len() - 1];
    for _ in times.len()..count {
        let size = |i: usize| (ends[i + 1] - ends[i]) / parts[i] as f64;
        let widest = (1..parts.len()).fold(0, |best, i| if size(i) > size(best) { i } else { best });
        parts[widest] += 1;
    }
    for (i, &parts) in parts.iter().enumerate() {
        let width = (ends[i + 1] - ends[i]) / parts as f64;
        times.extend((1..parts).map(|k| ends[i] + width * k as f64));
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Returns `count` times with equal increments along the plan. An increment combines elapsed time and, with weight `motion`, the change of
/// states and controls, each in units of its range. The last time is the end of the plan.
fn along(plan: &Plan, controls: usize, motion: f64, count: usize) -> Vec<f64> {
    let (n, nx) = (plan.controls.len(), plan.states.size());
    let horizon = plan.times[n];
    let value = |k: usize, j: usize| {
        if j < nx { plan.states.at(k)[j] } else { plan.controls.at(k.min(n - 1))[j - nx] }
    };
    let mut way = vec![0.0; n + 1];
    for j in 0..nx + controls {
        let each = (0..=n).map(|k| value(k, j));
        let (low, high) = each.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        for k in 0..n {
            way[k + 1] += (value(k + 1, j) - value(k, j)).abs() / (high - low).max(f64::MIN_POSITIVE);
        }
    }
    for k in 0..n {
        way[k + 1] += way[k];
    }
    let whole = way[n];
    // For a plan without motion the increments are those of time.
    let part = if whole > 0.0 && whole.is_finite() { motion } else { 0.0 };
    let gone = |k: usize| {
        (1.0 - part) * plan.times[k] / horizon + if part > 0.0 { part * way[k] / whole } else { 0.0 }
    };
    let time = |i: usize| {
        let wanted = i as f64 / count as f64;
        let next = (1..n).find(|&k| gone(k) >= wanted).unwrap_or(n);
        let (from, to) = (gone(next - 1), gone(next));
        let inside = if to > from { (wanted - from) / (to - from) } else { 1.0 };
        plan.times[next - 1] + inside * (plan.times[next] - plan.times[next - 1])
    };
    (1..=count)
        .map(|i| if i == count || part == 0.0 { horizon * i as f64 / count as f64 } else { time(i) })
        .collect()
}

/// Returns the candidates up to time `end`.
fn truncated(candidates: &Candidates, end: f64) -> Candidates {
    let count = candidates.times.partition_point(|&t| t <= end);
    let points = candidates.points();
    let kept = (0..count).flat_map(|i| points.at(i)).copied().collect();
    Candidates::new(candidates.times[..count].to_vec(), kept, points.dim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Blocks;
    use crate::simulate::Trajectory;

    /// x moves from 0 to 1 in the first of eight seconds and then rests; u rests.
    fn plan(moves: f64) -> Plan {
        let states = (0..=80).map(|k| moves * (f64::from(k) / 10.0).min(1.0)).collect();
        let trajectory = Trajectory {
            times: (0..=80).map(|k| f64::from(k) / 10.0).collect(),
            states: Blocks::from_vec(states, 1),
            controls: Blocks::zeros(1, 80),
            gains: Blocks::zeros(1, 80),
            ..Trajectory::default()
        };
        Plan::given(trajectory, 0.0)
    }

    #[test]
    fn states_are_measured_where_the_plan_moves() {
        let by_the_clock: Vec<f64> = (1..=10).map(|i| 0.8 * f64::from(i)).collect();
        for (got, clock) in along(&plan(1.0), 1, 0.0, 10).iter().zip(&by_the_clock) {
            assert!((got - clock).abs() < 1e-12);
        }
        // For a plan without motion the times depend on elapsed time only.
        assert_eq!(along(&plan(0.0), 1, 0.7, 10), along(&plan(0.0), 1, 0.0, 10));
        let times = along(&plan(1.0), 1, 0.7, 10);
        // 0.3/8 + 0.7 of the total increment occurs in the first second.
        assert_eq!(times.iter().filter(|t| **t <= 1.0).count(), 7);
        assert!(times.windows(2).all(|t| t[0] < t[1]) && times[9] == 8.0, "{times:?}");
        let first = 0.1 / (0.7 + 0.3 / 8.0);
        assert!((times[0] - first).abs() < 1e-9, "{times:?}");
    }
}
