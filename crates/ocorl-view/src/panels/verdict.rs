//! The result of a study in one sentence, and what needs attention.

use super::StudyView;
use crate::report::{brief, cost};
use ocorl_study::study::{CostFrom, Cure, Status};
use serde::Serialize;

/// Cost above the optimum, in percent, up to which a result counts as good, and as fair.
const GOOD: f64 = 2.0;
const FAIR: f64 = 50.0;
/// A measurement farther than this from its prediction, in standard deviations, deserves a look.
const STRANGE: f64 = 8.0;

/// The result of a study in one sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// How good it is.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
}

/// How good a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// The last cost is near the optimum.
    Good,
    /// It is better than at first, and not near the optimum; or the optimum is not known.
    Fair,
    /// It is far from the optimum, or the last episode was aborted.
    Bad,
    /// Nothing has been learned yet.
    Open,
}

/// Something that needs attention, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// What happened.
    pub text: String,
    /// Episode concerned, if it is one.
    pub episode: Option<usize>,
    /// What to do.
    pub action: String,
    /// Row of the episode, from 1, that was set aside and can be included again.
    pub row: Option<usize>,
}

impl StudyView {
    /// The result of the study in one sentence: whether it learned, how fast, how well.
    pub fn verdict(&self) -> Verdict {
        let verdict = |tone, text: String| Verdict { tone, text };
        let episodes = &self.study.history().episodes;
        let closed: Vec<_> = episodes
            .iter()
            .zip(self.costs())
            .filter(|(episode, _)| {
                episode.closed.as_ref().is_some_and(|closed| closed.status != Status::Discarded)
            })
            .collect();
        let Some((last, (number, final_cost, _))) = closed.last() else {
            return verdict(Tone::Open, "Nothing measured yet.".into());
        };
        let status = last.closed.as_ref().map_or("", |closed| closed.status.name());
        if status == "failed" {
            let why = last.closed.as_ref().map_or(String::new(), |closed| closed.outcome.clone());
            let why = last.reason.clone().unwrap_or(why);
            return verdict(Tone::Bad, format!("Episode {number}, the last one, was aborted: {why}."));
        }
        let about = match last.closed.as_ref().map(|closed| closed.cost_from) {
            Some(CostFrom::Estimated) => "≈ ",
            _ => "",
        };
        let measured = |until: usize| -> usize {
            episodes
                .iter()
                .take(until)
                .filter(|episode| episode.is_used())
                .map(|episode| episode.rows.len())
                .sum()
        };
        let first = closed.first().map_or(f64::NAN, |(_, (_, cost, _))| *cost);
        if !final_cost.is_finite() {
            return verdict(Tone::Open, format!("Episode {number} has no cost yet."));
        }
        if *number == 0 {
            let text = format!("Only the exploratory episode was run; it cost {about}{}.", cost(*final_cost));
            return verdict(Tone::Open, text);
        }
        let Some(best) = self.baselines.continuous.filter(|best| *best > 0.0) else {
            let tone = if *final_cost < first { Tone::Fair } else { Tone::Bad };
            let change = match final_cost.total_cmp(&first) {
                std::cmp::Ordering::Less => {
                    format!("The cost fell from {} to {about}{}", cost(first), cost(*final_cost))
                }
                _ => format!(
                    "The cost did not fall: {} at first, {about}{} now",
                    cost(first),
                    cost(*final_cost)
                ),
            };
            let text = format!(
                "{change} in {number} planned episodes ({} measurements); the optimum is not known.",
                measured(usize::MAX)
            );
            return verdict(tone, text);
        };
        let percent = |cost: f64| 100.0 * (cost / best - 1.0);
        let above = percent(*final_cost);
        let (tone, limit) = match above {
            above if above <= GOOD => (Tone::Good, GOOD),
            above if above <= FAIR => (Tone::Fair, FAIR),
            _ => (Tone::Bad, f64::INFINITY),
        };
        let difference = if above.abs() < 5e-4 {
            "equal to the optimum".into()
        } else if above < 0.0 {
            format!("{} % below the best known control", brief(-above, 2))
        } else if above < 200.0 {
            format!("{} % above the optimum", brief(above, 2))
        } else {
            format!("{} times the optimum", brief(final_cost / best, 2))
        };
        let end = format!("final cost {about}{}, {difference}", cost(*final_cost));
        if tone == Tone::Bad {
            return verdict(
                tone,
                format!(
                    "Not learned after {number} planned episodes ({} measurements): {end}.",
                    measured(usize::MAX)
                ),
            );
        }
        // The first episode from which all are within the limit.
        let late =
            closed.iter().rposition(|(_, (_, cost, _))| percent(*cost).is_nan() || percent(*cost) > limit);
        let since = closed.get(late.map_or(0, |i| i + 1)).map_or(*number, |(_, (number, ..))| *number);
        let plural = if since == 1 { "" } else { "s" };
        let how = if tone == Tone::Good { "Learned" } else { "Partly learned" };
        verdict(
            tone,
            format!("{how} after {since} planned episode{plural} ({} measurements); {end}.", measured(since)),
        )
    }

    /// What needs attention, each with an action: aborted episodes, notes about files, what the diagnosis found, strange measurements.
    pub fn warnings(&self) -> Vec<Warning> {
        let Some(last) = self.study.history().episodes.last() else { return Vec::new() };
        let (number, mut all) = (last.episode, Vec::new());
        let mut warn = |text: String, action: &str| {
            all.push(Warning { text, episode: Some(number), action: action.into(), row: None });
        };
        if let Some(closed) = last.closed.as_ref().filter(|closed| closed.status == Status::Failed) {
            warn(
                format!("episode {number} was aborted: {}", closed.outcome),
                "Look at the states over time. If the data are wrong, discard the episode.",
            );
        }
        for note in last.told.iter().flat_map(|told| &told.notes) {
            warn(
                format!("episode {number}: {note}"),
                "Check the file; if the data are wrong, discard the episode.",
            );
        }
        let notices = self.study.notices();
        let task = &self.study.system().task;
        let model = self.traces.get(&number).and_then(|trace| trace.model.as_ref());
        let residuals = model.into_iter().flat_map(|model| &model.measured);
        let far =
            residuals.filter_map(|row| row.residual(&task.noise_std)).filter(|far| *far > STRANGE).count();
        // A count of far measurements is of interest only if nothing explains them.
        if far > 0 && self.study.system().truth.is_none() && notices.is_empty() {
            warn(
                format!(
                    "{far} measurements of episode {number} are more than {STRANGE} σ from the prediction"
                ),
                "See the residuals in the tab Data: are units and signs right? If not, discard the episode.",
            );
        }
        all.extend(notices.into_iter().map(|notice| {
            let (episode, row, action) = match notice.cure {
                Cure::Include { episode, row } => {
                    (Some(episode), Some(row), "If the row is right, include it again.".to_owned())
                }
                Cure::Correct { episode } => {
                    (Some(episode), None, "The data are corrected for learning. Repair the source.".to_owned())
                }
                Cure::Discard { episode } => (
                    Some(episode),
                    None,
                    "Repair the sensor or the actuator; if its other rows are wrong too, discard the episode.".to_owned(),
                ),
                Cure::DeclareNoise { state, std } => {
                    (None, None, format!("Declare the noise of {state}: {} per unit of time.", brief(std, 3)))
                }
                _ => (None, None, "Check the plant; learning continues.".to_owned()),
            };
            Warning { text: notice.text, episode, action, row }
        }));
        all
    }
}
