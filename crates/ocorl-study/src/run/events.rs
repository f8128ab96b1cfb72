//! What happens on the way: for people, and as documents for programs.

use ocorl::event::Event;
use ocorl::model::Note;
use ocorl::plan::Outcome as Search;
use ocorl::system::Task;
use serde_json::{Value as Json, json};

/// An event as a document, its costs times `scale`; none of one that this program does not know.
pub fn document(event: &Event<'_>, scale: f64) -> Option<Json> {
    Some(match event {
        Event::EpisodeBegan { episode, measurements } => {
            json!({ "event": "episode_began", "episode": episode, "measurements": measurements })
        }
        Event::Planned { episode, start, planned_cost, mean_cost, outcome, iterations } => json!({
            "event": "planned",
            "episode": episode,
            "start": start,
            "planned_cost": scale * planned_cost,
            "mean_cost": scale * mean_cost,
            "outcome": match outcome {
                Search::Converged => "converged",
                Search::Stalled => "stalled",
                Search::IterationLimit => "iteration-limit",
            },
            "iterations": iterations,
        }),
        Event::SetBack { episode, start, failures, reached } => json!({
            "event": "set_back", "episode": episode, "start": start, "failures": failures, "reached": reached,
        }),
        Event::NotPlanned { episode, start, reason, instead } => json!({
            "event": "not_planned", "episode": episode, "start": start, "reason": reason, "instead": instead,
        }),
        Event::Proposed { episode } => json!({ "event": "proposed", "episode": episode }),
        Event::Executed { episode, start, cost, outcome, measurement_times, synchronizations } => json!({
            "event": "executed",
            "episode": episode,
            "start": start,
            "cost": scale * cost,
            "outcome": outcome.to_string(),
            "measurement_times": measurement_times,
            "synchronizations": synchronizations,
        }),
        Event::Refused { episode, start, reason } => {
            json!({ "event": "refused", "episode": episode, "start": start, "reason": reason })
        }
        Event::Updated { episode, measurements } => {
            json!({ "event": "updated", "episode": episode, "measurements": measurements })
        }
        Event::NotUpdated { episode, reason } => {
            json!({ "event": "not_updated", "episode": episode, "reason": reason })
        }
        Event::Trained { episode, report, confidence_scale, notes } => json!({
            "event": "trained",
            "episode": episode,
            "evaluations": report.fits.iter().map(|fit| fit.evaluations).sum::<usize>(),
            "log_likelihood": report.fits.iter().map(|fit| fit.log_likelihood).collect::<Vec<_>>(),
            "confidence_scale": confidence_scale,
            "notes": notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        _ => return None,
    })
}

/// What is unusual about an event, in words.
pub fn warnings(task: &Task, event: &Event<'_>) -> Vec<String> {
    match event {
        Event::SetBack { episode, failures, reached, .. } if *failures > 1 => vec![format!(
            "episode {episode}: the last {failures} runs ended early, the last at t = {reached:.4}; \
             this one stays nearer to what was measured"
        )],
        Event::NotPlanned { episode, reason, instead, .. } => {
            vec![format!("episode {episode}: not planned, {instead} is used instead: {reason}")]
        }
        Event::Refused { episode, reason, .. } => {
            vec![format!("episode {episode}: a measurement was refused: {reason}")]
        }
        Event::NotUpdated { episode, reason } => {
            vec![format!("episode {episode}: the model stays as it was: {reason}")]
        }
        Event::Trained { notes, .. } => notes.iter().map(|note| named(task, note)).collect(),
        _ => Vec::new(),
    }
}

/// A note with the names of states and inputs.
fn named(task: &Task, note: &Note) -> String {
    let name = |i: usize| task.states.iter().chain(&task.controls).nth(i).map_or("", |q| q.name.as_str());
    let text = note.to_string();
    match note {
        Note::FlatInput { coordinate } => {
            text.replace(&format!("coordinate {}", coordinate.index), name(coordinate.index))
        }
        Note::FlatOutput { output } => {
            text.replace(&format!("derivative {output}"), &format!("the derivative of {}", name(*output)))
        }
        Note::Jitter { output, .. } => {
            text.replace(&format!("output {output}"), &format!("the derivative of {}", name(*output)))
        }
        _ => text,
    }
}
