//! Studies that earlier versions wrote, kept in `tests/studies`: every later version opens them, finds what is in them, and goes on.
//!
//! The databases are never written again. Before a release, the studies of that version are added beside them.

use ocorl::learn::Time;
use ocorl::random::Stream;
use ocorl_study::measured::Measured;
use ocorl_study::store::Access;
use ocorl_study::study::{Applied, Row, Study, Telling};
use ocorl_study::sweep::Reading;
use std::fs;
use std::path::Path;

/// What is in a study: name, checksum of the last event, number of events, episodes, measurements used, and the lowest cost.
const STUDIES: [(&str, &str, &str, u64, usize, usize, f64); 5] = [
    // Imports, complete, failed, discarded and corrected episodes, a pending plan, text in Unicode.
    (
        "0.2.0",
        "derivatives",
        "75b0b73820742705619729f354229ff0fc9ab94ab0e16d5c9b6d8ce0eb5969b1",
        24,
        5,
        18,
        2.8240,
    ),
    ("0.2.0", "states", "6b5f171dba7454f2b1d4966d9db9cc8b1c434514f3a4458b983ccb6cd0a05084", 8, 2, 8, 43.3935),
    (
        "0.2.0",
        "discrete",
        "163edba230246fb68e8ad21f4fe22cea3c49ebb98170582e95f2d25cdfb6acf1",
        7,
        2,
        6,
        34.8284,
    ),
    // A system from a file, rate limits, measurement times that are chosen during the run.
    (
        "0.2.0",
        "own-system",
        "b020db4609d614c5f60602b011a809d74b7fa880a0a9a33f86c0c769c8ebdf08",
        8,
        2,
        7,
        2.6704,
    ),
    // What `ocorl run` stores.
    ("0.2.0", "run", "a6c07b8f082caa34aa8b94f559a0a7a016700925e2799f629b552c9d150d48e8", 13, 4, 16, 2.9397),
];

/// A copy of the database as a study or sweep.
fn copied(version: &str, name: &str, to: &Path, file: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/studies/{version}/{name}.db"));
    fs::copy(from, to.join(file)).unwrap();
}

#[test]
fn studies_of_earlier_versions_are_opened_and_continued() {
    for (version, name, checksum, events, episodes, measurements, least) in STUDIES {
        let folder = tempfile::tempdir().unwrap();
        copied(version, name, folder.path(), "study.db");
        let study = Study::open(folder.path(), Access::Read)
            .unwrap_or_else(|error| panic!("a study of version {version}, {name}: {error} {error:?}"));
        assert_eq!(study.store().head(), (events, checksum), "{version}, {name}");
        let overview = study.overview();
        assert_eq!((overview.episodes, overview.measurements), (episodes, measurements), "{version}, {name}");
        assert!((overview.best_cost.unwrap() - least).abs() < 1e-4, "{version}, {name}: {overview:?}");
        assert_eq!(study.moments().unwrap().episodes.len(), study.history().episodes.len());
        drop(study);
        // It goes on: the pending plan is the recorded one, or a new one is made from the recorded data.
        let mut study = Study::open(folder.path(), Access::Write).unwrap().until(episodes + 1);
        let recorded = study.history().pending().map(|pending| pending.plan.clone());
        let plan = study.ask(&mut ()).unwrap().unwrap();
        assert!(recorded.is_none_or(|recorded| recorded == plan), "{version}, {name}: another plan");
        study.tell(None, made_up(&study, &plan.rollouts[0].measure_at), "test", Telling::Whole).unwrap();
        study.note("continued").unwrap();
        drop(study);
        let study = Study::open(folder.path(), Access::Read).unwrap();
        assert_eq!((study.overview().episodes, study.history().notes.len()), (episodes + 1, 1));
        if name == "derivatives" {
            let history = study.history();
            assert_eq!(history.episodes[2].reason.as_deref(), Some("cable ★ loose"));
            assert_eq!(history.imports.len(), 2);
            assert_eq!(history.episodes[4].closed.as_ref().unwrap().cost, Some(3.25));
        }
    }
}

/// Measurements at the requested times, or at some times if those are chosen during the run.
fn made_up(study: &Study, times: &[f64]) -> Measured {
    let task = &study.system().task;
    let times = if times.is_empty() { &[0.25 * task.horizon, 0.5 * task.horizon][..] } else { times };
    let interval = (study.created().settings.time == Time::Discrete).then_some(1.0);
    let mut rng = Stream::root(1).rng();
    let mut rows = Vec::new();
    for t in times {
        let x: Vec<f64> = task.initial_state.iter().map(|x| x + 0.1 * rng.normal()).collect();
        let x_dot = Some(x.iter().map(|_| rng.normal()).collect());
        rows.push(Row { start: 0, t: *t, x, u: task.safe_control.clone(), x_dot, asked_t: None, interval });
    }
    let controls = vec![Applied { start: 0, t: 0.0, u: task.safe_control.clone() }];
    Measured { rows, controls, ..Measured::default() }
}

#[test]
fn sweeps_of_earlier_versions_are_read() {
    let folder = tempfile::tempdir().unwrap();
    copied("0.2.0", "sweep", folder.path(), "sweep.db");
    let read = Reading::open(folder.path()).unwrap();
    let costs: Vec<Option<f64>> = read
        .cells
        .iter()
        .map(|(_, result)| result.as_ref().and_then(ocorl_study::cell::CellResult::final_cost))
        .collect();
    assert_eq!(costs.len(), 2);
    assert!(
        costs.iter().flatten().all(|cost| (cost - 44.33).abs() < 0.5) && costs.iter().all(Option::is_some)
    );
}
