//! The view of a study agrees with the study itself.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use ocorl::learn::{Settings, Strategy, Time};
use ocorl_study::episode_model::Stage;
use ocorl_study::live;
use ocorl_study::price::Prices;
use ocorl_study::rig::{self, Faults};
use ocorl_study::simulated::{Simulated, retrace};
use ocorl_study::study::{Study, Telling};
use ocorl_study::system::System;
use ocorl_study::trace::{self, Trace};
use ocorl_view::panels::{Exhibit, StudyView, compare};
use ocorl_view::{Figure, Shape, svg};
use std::path::Path;

/// A system with settings that learn quickly.
fn small(name: &str) -> (System, Settings) {
    let system = System::find(name).unwrap();
    let mut settings = Settings { episodes: 4, measurements: 5, ..system.settings.clone() };
    settings.plan.intervals = 40;
    settings.plan.random_starts = 1;
    settings.model.restarts = 1;
    (system, settings)
}

fn simulated(folder: &Path, name: &str) {
    let (system, settings) = small(name);
    let study = Study::create(folder, &system, settings, 7, Prices::default()).unwrap();
    let mut simulated = Simulated::new(study, 1.0).unwrap();
    while simulated.next_episode(&mut ()).unwrap().is_some() {}
}

/// A study as on hardware: each plan is run elsewhere and its measurements are recorded; the last plan is pending.
fn recorded_study(folder: &Path, name: &str) {
    let (system, settings) = small(name);
    let mut study = Study::create(folder, &system, settings, 7, Prices::default()).unwrap();
    for _ in 0..2 {
        let plan = study.ask(&mut ()).unwrap().unwrap();
        let measured = rig::run(&system, &plan, &Faults::default(), 7).unwrap();
        study.tell(None, measured, "rig", Telling::Whole).unwrap();
    }
    study.note("<b>cold</b> day").unwrap();
    live::ask(&mut study, &mut ()).unwrap().unwrap();
}

fn ids(exhibits: &[Exhibit]) -> Vec<&str> {
    exhibits.iter().map(|exhibit| exhibit.id).collect()
}

/// The points of all marks with this label.
fn points(figure: &Figure, panel: usize, label: &str) -> Vec<(f64, f64)> {
    let marks = figure.panels[panel].marks.iter().filter(|mark| mark.label.as_deref() == Some(label));
    let each = marks.flat_map(|mark| match &mark.shape {
        Shape::Points { x, y, .. } | Shape::Line { x, y } => {
            x.iter().copied().zip(y.iter().copied()).collect()
        }
        _ => Vec::new(),
    });
    each.collect()
}

#[test]
fn a_study_in_discrete_time_is_shown_without_a_model_of_derivatives() {
    let folder = tempfile::tempdir().unwrap();
    let (system, mut settings) = small("van-der-pol");
    (settings.time, settings.strategy, settings.episodes) = (Time::Discrete, Strategy::Equidistant, 2);
    let study = Study::create(folder.path(), &system, settings, 7, Prices::default()).unwrap();
    let mut simulated = Simulated::new(study, 1.0).unwrap();
    while simulated.next_episode(&mut ()).unwrap().is_some() {}
    drop(simulated);
    let view = StudyView::open(folder.path()).unwrap();
    let episode = view.episode(1).unwrap();
    assert_eq!(ids(&episode.exhibits)[..2], ["phase", "states"]);
    assert!(!ids(&episode.exhibits).contains(&"slices"));
}

#[test]
fn a_run_shows_what_its_events_say() {
    let folder = tempfile::tempdir().unwrap();
    simulated(folder.path(), "pendulum");
    let view = StudyView::open(folder.path()).unwrap();
    let (summary, overall) = (view.summary(), view.overall());
    assert_eq!(ids(&overall), ["strip", "cost", "regret", "times", "timeline", "information"]);
    assert_eq!((summary.episodes, summary.of, summary.measurements, summary.pending), (4, 4, 20, None));
    assert!(!summary.hardware && summary.verdict.text.ends_with('.'), "{:?}", summary.verdict);
    let changed: Vec<&str> =
        summary.configuration.iter().filter(|s| s.changed).map(|s| s.key.as_str()).collect();
    assert!(changed.contains(&"episodes") && changed.contains(&"plan.intervals"), "{changed:?}");
    assert!(!changed.contains(&"strategy"));
    // Until the optimum is computed, the paper's numbers are used.
    assert_eq!(view.baselines().continuous, Some(20.16));
    let history = &view.study().history().episodes;
    let raster = points(&overall[3].figure, 0, "measured");
    let expected: Vec<(f64, f64)> =
        history.iter().flat_map(|e| e.rows.iter().map(|row| (row.t, e.episode as f64))).collect();
    assert_eq!(raster, expected);
    let costs: Vec<f64> = history.iter().map(|e| e.closed.as_ref().unwrap().cost.unwrap()).collect();
    let shown: Vec<f64> = points(&overall[1].figure, 0, "max determinant").iter().map(|p| p.1).collect();
    assert_eq!(shown[..4], costs);
    assert_eq!(summary.numbers[0].value, costs[3]);
    let sum: f64 = costs[1..].iter().map(|cost| cost - 20.16).sum();
    let regret = points(&overall[2].figure, 0, "sum of cost above the optimum");
    assert!((regret[2].1 - sum).abs() < 1e-9);
    assert!(summary.rows.iter().all(|row| row.planning_seconds.is_some() && row.told_at.is_some()));
}

#[test]
fn an_episode_shows_plan_way_and_measurements() {
    let folder = tempfile::tempdir().unwrap();
    simulated(folder.path(), "pendulum");
    let view = StudyView::open(folder.path()).unwrap();
    let episode = view.episode(3).unwrap();
    let expected = ["phase", "uncertainty", "states", "slices", "field", "calibration", "controller"];
    assert_eq!(ids(&episode.exhibits), expected);
    let (phase, states) = (&episode.exhibits[0].figure, &episode.exhibits[2].figure);
    assert_eq!((states.panels.len(), phase.panels.len()), (3, 1));
    let rows = &view.study().history().episodes[3].rows;
    let measured: Vec<(f64, f64)> = rows.iter().map(|row| (row.x[0], row.x[1])).collect();
    assert_eq!(points(phase, 0, "measured"), measured);
    let path = Trace::read(folder.path(), 3).unwrap().paths.remove(0);
    assert_eq!(points(states, 0, "executed").len(), path.len());
    assert_eq!(episode.motion.as_ref().unwrap().states, path.states);
    // Measurements lie on the trajectory.
    let mut between = [0.0; 2];
    for row in rows {
        path.state(row.t, &mut between);
        assert!((between[0] - row.x[0]).abs() < 0.02, "{between:?} {}", row.x[0]);
    }
    let table = &episode.measurements;
    assert_eq!(table.columns.len(), 3 + 2 + 1 + 2 + 4);
    assert!(table.rows.iter().all(|row| row[11] == Some(1.0)), "every measurement counts in full");
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    let far: Vec<f64> = table.rows.iter().map(|row| row[8].unwrap()).collect();
    assert!(far.iter().all(|far| (0.0..50.0).contains(far)), "{far:?}");
    // Each measurement lowers the uncertainty where it was taken, and the page draws what was stored.
    assert!(table.rows.iter().all(|row| row[10].unwrap() < row[9].unwrap()), "{:?}", table.rows);
    let stage = episode.stage.as_ref().unwrap();
    assert_eq!(stage.moving.iter().map(|m| m.name).collect::<Vec<_>>(), ["planned", "executed"]);
    assert!(stage.svg.matches("class=\"measured\"").count() == rows.len() && episode.missing.is_none());
    // There is no model before the first episode.
    let first = view.episode(0).unwrap();
    assert_eq!(ids(&first.exhibits), ["phase", "states"]);
    assert!(first.measurements.rows.iter().all(|row| row[8].is_none()));
    assert_eq!(view.episode(4), None);
    for exhibit in episode.exhibits.iter().chain(&first.exhibits).chain(&view.overall()) {
        assert!(svg(&exhibit.figure).contains("</svg>"), "{}", exhibit.id);
    }
}

#[test]
fn missing_traces_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    simulated(folder.path(), "van-der-pol");
    let kept: Vec<Trace> = (0..4).map(|n| Trace::read(folder.path(), n).unwrap()).collect();
    std::fs::remove_dir_all(folder.path().join(trace::FOLDER)).unwrap();
    // Without the traces there are fewer plots, and no failure.
    let view = StudyView::open(folder.path()).unwrap();
    assert_eq!(ids(&view.overall()), ["strip", "cost", "times"]);
    assert!(view.episode(2).unwrap().missing.is_some());
    assert!(view.episode(2).unwrap().motion.is_some());
    let again = retrace(view.study(), 2, None).unwrap().unwrap();
    assert_eq!(again.model.as_ref().unwrap().slices, kept[2].model.as_ref().unwrap().slices);
    assert_eq!(again.model.as_ref().unwrap().measured, kept[2].model.as_ref().unwrap().measured);
    assert_eq!(again.paths, kept[2].paths);
    let control =
        |trace: &Trace| trace.control.as_ref().map(|health| (health.level_counts, health.saturated));
    assert_eq!(control(&again), control(&kept[2]));
    let mut messages = Vec::new();
    let whole =
        StudyView::open_whole(folder.path(), &mut |message| messages.push(message.to_owned())).unwrap();
    assert_eq!(messages.len(), 1 + 4, "{messages:?}");
    assert!(whole.baselines().computed && whole.baselines().continuous.is_some());
    assert!((0..4).all(|n| Trace::read(folder.path(), n).unwrap().paths == kept[n].paths));
    // The next reader finds the cached results.
    StudyView::open_whole(folder.path(), &mut |message| panic!("{message}")).unwrap();
}

#[test]
fn a_study_of_hardware_shows_what_is_pending() {
    let folder = tempfile::tempdir().unwrap();
    recorded_study(folder.path(), "pendulum");
    let view = StudyView::open(folder.path()).unwrap();
    let summary = view.summary();
    let next = summary.next.clone().unwrap();
    assert_eq!((next.episode, next.measure_at[0].len()), (2, 5));
    // What is said depends on whether the last episode contradicts its plan.
    let worth = next.worth.expect("it was computed when the episode was planned");
    assert!(worth.contains("planned cost is known to") || worth.contains("was planned"), "{worth}");
    assert_eq!(summary.notes, ["<b>cold</b> day"]);
    assert_eq!(summary.rows[2].status, "pending");
    let overall = view.overall();
    let raster = overall.iter().find(|exhibit| exhibit.id == "times").unwrap();
    assert_eq!(points(&raster.figure, 0, "requested").len(), 5);
    assert!(next.checks.iter().any(|check| check.what.contains("change from the last plan")));
    let pending = view.episode(2).unwrap();
    assert!(pending.running && pending.cost.is_none() && pending.measurements.rows.is_empty());
    // The animation of a pending episode shows its plan.
    assert_eq!(pending.motion.unwrap().len(), 41);
    let over = view.episode(1).unwrap();
    // So does that of an episode of which single measurements are known: lines between them would look like a trajectory.
    assert_eq!(over.motion.unwrap().len(), 41);
    // No trajectory was stored, and none is invented.
    let states = over.exhibits.iter().find(|exhibit| exhibit.id == "states").unwrap();
    assert!(points(&states.figure, 0, "executed").is_empty());
    // The models around the episode were stored when the next one was planned.
    let stored = Trace::read(folder.path(), 1).unwrap();
    assert_eq!(
        stored.model.as_ref().map(|model| (model.stage, model.measured.len())),
        Some((Stage::Learned, 5))
    );
    assert_eq!(retrace(view.study(), 1, Some(&stored)).unwrap(), None);
    // Everything is valid JSON, and reading changed nothing.
    let json = serde_json::to_string(&(&summary, &view.overall(), view.episode(1))).unwrap();
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

#[test]
fn studies_are_compared_on_the_same_axes() {
    let folders: Vec<tempfile::TempDir> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    for (seed, folder) in folders.iter().enumerate() {
        let (system, settings) = small("van-der-pol");
        let mut study =
            Study::create(folder.path(), &system, settings, seed as u64, Prices::default()).unwrap();
        for _ in 0..2 {
            let plan = study.ask(&mut ()).unwrap().unwrap();
            let measured = rig::run(&system, &plan, &Faults::default(), seed as u64).unwrap();
            study.tell(None, measured, "rig", Telling::Whole).unwrap();
        }
    }
    let open = |count: usize| -> Vec<StudyView> {
        folders.iter().take(count).map(|folder| StudyView::open(folder.path()).unwrap()).collect()
    };
    let (two, three) = (open(2), open(3));
    let exhibits = compare(&two.iter().collect::<Vec<_>>());
    assert_eq!(ids(&exhibits), ["cost", "measurements"]);
    let last = |view: &StudyView| view.costs()[1].1;
    assert_eq!(
        points(&exhibits[0].figure, 0, "max determinant, optimistic, seed 1")[1],
        (1.0, last(&two[1]))
    );
    assert_eq!(
        points(&exhibits[1].figure, 0, "max determinant, optimistic, seed 1")[1],
        (5.0, last(&two[1]))
    );
    // Three studies that differ only in their seed are drawn as their median.
    let mut costs: Vec<f64> = three.iter().map(last).collect();
    costs.sort_by(f64::total_cmp);
    let middle = points(
        &compare(&three.iter().collect::<Vec<_>>())[0].figure,
        0,
        "max determinant, optimistic (3 seeds)",
    );
    assert_eq!(middle, [middle[0], (1.0, costs[1])]);
}
