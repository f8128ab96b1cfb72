//! Progress events of a run as warnings for users and as JSON documents for programs.

use ocorl::event::Event;
use ocorl::model::Note;
use ocorl::system::{TableUnits, Task};
use serde_json::{Value as Json, json};

/// An event as a JSON document with costs in the given units; `None` for event kinds without a document.
pub fn document(event: &Event<'_>, units: TableUnits) -> Option<Json> {
    Some(match event {
        Event::EpisodeBegan { episode, measurements } => {
            json!({ "event": "episode_began", "episode": episode, "measurements": measurements })
        }
        Event::Planned { episode, start, planned_cost, mean_cost, outcome, iterations } => json!({
            "event": "planned",
            "episode": episode,
            "start": start,
            "planned_cost": units.cost(*planned_cost),
            "mean_cost": units.cost(*mean_cost),
            "outcome": outcome.name(),
            "iterations": iterations,
        }),
        Event::SetBack { episode, start, failures, reached } => json!({
            "event": "set_back", "episode": episode, "start": start, "failures": failures, "reached": reached,
        }),
        Event::Cautious { episode, start, rounds, expected, allowed, outside } => json!({
            "event": "cautious", "episode": episode, "start": start, "rounds": rounds,
            "expected": units.cost(*expected), "allowed": allowed.map(|allowed| units.cost(allowed)), "outside": outside,
        }),
        Event::NotPlanned { episode, start, reason, instead } => json!({
            "event": "not_planned", "episode": episode, "start": start, "reason": reason, "instead": instead,
        }),
        Event::Proposed { episode } => json!({ "event": "proposed", "episode": episode }),
        Event::Executed { episode, start, cost, outcome, measurement_times, synchronizations } => json!({
            "event": "executed",
            "episode": episode,
            "start": start,
            "cost": units.cost(*cost),
            "outcome": outcome.to_string(),
            "measurement_times": measurement_times,
            "synchronizations": synchronizations,
        }),
        Event::Refused { episode, start, reason } => {
            json!({ "event": "refused", "episode": episode, "start": start, "reason": reason })
        }
        Event::Thinned { episode, kept, of } => {
            json!({ "event": "thinned", "episode": episode, "kept": kept, "of": of })
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

/// Warnings about an event, as text.
pub fn warnings(task: &Task, event: &Event<'_>) -> Vec<String> {
    match event {
        Event::SetBack { episode, failures, reached, .. } if *failures > 1 => vec![format!(
            "episode {episode}: the last {failures} runs ended early, the last at t = {reached:.4}; \
             this one stays nearer to what was measured"
        )],
        Event::Cautious { episode, rounds, expected, allowed, outside, .. } => {
            cautious(*episode, *rounds, *expected, *allowed, *outside)
        }
        Event::NotPlanned { episode, reason, instead, .. } => {
            vec![format!("episode {episode}: not planned, {instead} is used instead: {reason}")]
        }
        Event::Refused { episode, reason, .. } => {
            vec![format!("episode {episode}: a measurement was refused: {reason}")]
        }
        Event::Thinned { episode, kept, of } => vec![format!(
            "episode {episode}: {of} measurements are more than the model keeps; it learns from {kept} that are far \
             from each other (model.exact_limit)"
        )],
        Event::NotUpdated { episode, reason } => {
            vec![format!("episode {episode}: the model stays as it was: {reason}")]
        }
        Event::Trained { notes, .. } => notes.iter().map(|note| named(task, note)).collect(),
        _ => Vec::new(),
    }
}

/// Warnings about a plan that is executed although caution objects to it.
fn cautious(episode: usize, rounds: usize, expected: f64, allowed: Option<f64>, outside: f64) -> Vec<String> {
    let mut warnings = Vec::new();
    if outside > 0.0 {
        warnings.push(format!(
            "episode {episode}: the tube of the plan leaves the limits of the states by {outside:.3e}; \
             the run is stopped where a state leaves them"
        ));
    }
    if let Some(allowed) = allowed.filter(|allowed| expected > *allowed) {
        warnings.push(format!(
            "episode {episode}: the plan is expected to cost {:.4} times what is allowed; \
             {rounds} more careful plans are not expected to cost less",
            expected / allowed
        ));
    }
    warnings
}

/// Text of a note with the names of states and inputs.
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
