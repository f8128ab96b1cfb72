//! Why it measured there: model uncertainty along the predicted trajectory, the chosen times, and what each measurement taught.

use super::phase::time_axis;
use crate::{Axis, Figure, Mark, Marker, Panel};
use ocorl::system::Task;
use ocorl_study::episode_model::{EpisodeModel, Profile};
use ocorl_study::run_snapshot::RunSnapshot;

/// ‖σ‖ over time along the trajectory of the optimistic plan before and after each of `episodes`, with the measurement times. A
/// receding-horizon strategy plans each interval from the measured state, and chooses the time of the largest ‖σ‖ in it.
pub fn uncertainty(run: &RunSnapshot, episodes: &[usize]) -> Figure {
    let b = &run.subject;
    let name = run.settings.strategy.name().replace('-', " ");
    let chosen = run.snapshots.iter().filter(|s| episodes.contains(&s.episode.record.episode));
    let chosen: Vec<_> = chosen.collect();
    let range = profiles_range(chosen.iter().map(|s| &s.model));
    let mut figure = Figure::new(format!("{}: it measures where the model is least certain", b.title))
        .subtitle(format!(
            "{name}, seed {}; pins: ‖σ‖ at a measured point, before → after learning from it",
            run.seed
        ))
        .columns(1);
    for snapshot in chosen {
        let title = format!("Episode {}", snapshot.episode.record.episode);
        figure = figure.panel(uncertainty_panel(&title, &b.task, &snapshot.model, range));
    }
    figure
}

/// The range of ‖σ‖ over several episodes, for one scale.
pub(crate) fn profiles_range<'a>(models: impl Iterator<Item = &'a EpisodeModel>) -> Option<(f64, f64)> {
    let profiles = models.flat_map(|model| model.planned.iter().chain(&model.executed));
    let sigma = profiles.flat_map(|p| p.before.iter().chain(&p.after)).copied();
    let (low, high) =
        sigma.filter(|s| *s > 0.0).fold((f64::INFINITY, 0.0_f64), |(low, high), s| (low.min(s), high.max(s)));
    (low < high).then_some((low, high))
}

/// ‖σ‖ along the plan of the first rollout, with its measurements as pins from before to after.
pub(crate) fn uncertainty_panel(
    title: &str,
    task: &Task,
    model: &EpisodeModel,
    range: Option<(f64, f64)>,
) -> Panel {
    let axis = Axis::new("uncertainty ‖σ‖", "").log();
    let axis = range.map_or(axis.clone(), |(low, high)| axis.range(0.7 * low, 1.4 * high));
    let mut panel = Panel::new(title, time_axis(task), axis);
    let none = Profile::default();
    let profile = model.planned.first().unwrap_or(&none);
    let Profile { times, before, after, restarts, .. } = profile;
    for begin in restarts {
        panel = panel.mark(Mark::vertical(*begin).muted().dotted().label("state measured"));
    }
    if after.len() == times.len() {
        panel = panel.mark(Mark::line(&**times, &**after).series(2).label("after learning"));
    }
    if before.len() == times.len() {
        // One line for each interval that was predicted from a measured state.
        let points: Vec<(f64, f64)> = times.iter().copied().zip(before.iter().copied()).collect();
        for part in points.chunk_by(|_, next| !restarts.contains(&next.0)) {
            let (x, y): (Vec<f64>, Vec<f64>) = part.iter().copied().unzip();
            panel = panel.mark(Mark::line(x, y).series(0).label("predicted (optimistic plan)"));
        }
    }
    let mine = || model.measured.iter().filter(|row| row.start == 0);
    let (t, pairs): (Vec<f64>, Vec<(f64, f64)>) =
        mine().filter_map(|row| Some((row.t, (row.sigma.1?, row.sigma.0)))).unzip();
    let (low, high): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    // Each time is drawn at the uncertainty for which it was chosen.
    let chosen: (Vec<f64>, Vec<f64>) =
        mine().map(|row| (row.t, predicted_at(profile, row.t).unwrap_or(row.sigma.0))).unzip();
    panel
        .mark(Mark::interval_y(t, low, high).series(3).label("before → after"))
        .mark(Mark::points(chosen.0, chosen.1, Marker::Cross).series(3).label("measured"))
}

/// The predicted uncertainty at a time: at the candidate with that time, else interpolated between candidates.
fn predicted_at(Profile { times, before, .. }: &Profile, t: f64) -> Option<f64> {
    if before.is_empty() || before.len() != times.len() {
        return None;
    }
    // The time of a run may differ from the chosen time by rounding.
    if let Some(i) = times.iter().position(|s| (s - t).abs() <= 1e-9 * (1.0 + t.abs())) {
        return Some(before[i]);
    }
    let next = times.partition_point(|s| *s <= t);
    Some(match (next.checked_sub(1), before.get(next)) {
        (Some(k), Some(after)) => before[k] + (after - before[k]) * (t - times[k]) / (times[next] - times[k]),
        (Some(k), None) => before[k],
        (None, _) => before[0],
    })
}

/// Information that one measurement would give at each candidate time, with the chosen times.
pub(crate) fn information_panel(task: &Task, model: &EpisodeModel, chosen: &[f64]) -> Option<Panel> {
    let Profile { times, information, .. } = model.planned.first()?;
    if information.is_empty() || information.len() != times.len() {
        return None;
    }
    let near = |t: &f64| {
        let next = times.partition_point(|time| time < t).min(times.len() - 1);
        information[next]
    };
    let heights: Vec<f64> = chosen.iter().map(near).collect();
    Some(
        Panel::new(
            "Information of a measurement at each time",
            time_axis(task),
            Axis::new("", "nats").range(0.0, f64::INFINITY),
        )
        .mark(Mark::band(&**times, vec![0.0; times.len()], &**information).series(0).unlisted())
        .mark(Mark::line(&**times, &**information).series(0).label("candidates"))
        .mark(Mark::points(chosen, heights, Marker::Cross).series(3).label("chosen")),
    )
}
