//! Whoever comes back finds everything as it was, and goes on as if nothing had happened.

use super::{begin, episode, measure, small, system};
use ocorl::learn::{MeasurementKind, Strategy};
use ocorl_study::measured::Measured;
use ocorl_study::price::Prices;
use ocorl_study::simulated::Simulated;
use ocorl_study::store::Access;
use ocorl_study::study::{Study, Telling};

#[test]
fn a_study_in_many_sittings_is_the_study_in_one() {
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut whole = begin(one.path());
    for _ in 0..4 {
        episode(&mut whole);
    }
    drop(begin(many.path()));
    for _ in 0..4 {
        let again = || Study::open(many.path(), Access::Write).unwrap();
        let plan = again().ask(&mut ()).unwrap().unwrap();
        assert_eq!(
            again().ask(&mut ()).unwrap().unwrap().text().unwrap(),
            plan.text().unwrap(),
            "the pending plan stays what it is"
        );
        again().tell(None, measure(&plan), "rig", Telling::Whole).unwrap();
    }
    let again = Study::open(many.path(), Access::Read).unwrap();
    assert_eq!(again.store().head(), whole.store().head());
    assert!(whole.ask(&mut ()).unwrap().is_none());
}

#[test]
fn a_run_is_the_study_of_a_laboratory_without_faults() {
    let (run, rig) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (system, settings) = (system(), small(&system()));
    let open = || Study::open_or_create(run.path(), &system, &settings, 7, Prices::default()).unwrap();
    // Stopped and begun again after each episode: what is over is run once more, and must be the same.
    let mut costs = Vec::new();
    for sitting in 0..4 {
        let mut simulated = Simulated::new(open(), 0.0).unwrap();
        let records: Vec<f64> =
            (0..=sitting).map(|_| simulated.next_episode(&mut ()).unwrap().unwrap().record.cost).collect();
        assert_eq!(records[..costs.len()], costs[..]);
        costs = records;
    }
    let mut by_files = begin(rig.path());
    for _ in 0..4 {
        episode(&mut by_files);
    }
    let told: Vec<f64> =
        by_files.history().episodes.iter().map(|e| e.closed.as_ref().unwrap().cost.unwrap()).collect();
    assert_eq!(told, costs);
    // A longer run goes on where the shorter one ended.
    let longer = ocorl::learn::Settings { episodes: 5, ..settings.clone() };
    let study = Study::open_or_create(run.path(), &system, &longer, 7, Prices::default()).unwrap();
    let mut simulated = Simulated::new(study, 0.0).unwrap();
    let mut count = 0;
    while simulated.next_episode(&mut ()).unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 5);
    let other = ocorl::learn::Settings { measurements: 6, ..settings };
    drop(simulated);
    assert!(Study::open_or_create(run.path(), &system, &other, 7, Prices::default()).is_err());
}

#[test]
fn states_alone_are_learned_from_through_files_too() {
    let (run, rig) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut settings = small(&system());
    (settings.episodes, settings.measurements) = (3, 8);
    (settings.measured, settings.strategy) = (MeasurementKind::States, Strategy::Equidistant);
    let study = Study::create(run.path(), &system(), settings.clone(), 7, Prices::default()).unwrap();
    let mut simulated = Simulated::new(study, 0.0).unwrap();
    let mut costs = Vec::new();
    while let Some(episode) = simulated.next_episode(&mut ()).unwrap() {
        costs.push(episode.record.cost);
    }
    drop(Study::create(rig.path(), &system(), settings, 7, Prices::default()).unwrap());
    for _ in 0..3 {
        // Written and read back as CSV, each in a sitting of its own.
        let mut study = Study::open(rig.path(), Access::Write).unwrap();
        let plan = study.ask(&mut ()).unwrap().unwrap();
        let text = measure(&plan).csv(&study.columns());
        assert!(!text.contains("_dot"), "{text}");
        let told = Measured::parse(&text, "measured.csv", &study.columns()).unwrap();
        study.tell(None, told, "measured.csv", Telling::Whole).unwrap();
    }
    let study = Study::open(rig.path(), Access::Read).unwrap();
    let told: Vec<f64> =
        study.history().episodes.iter().map(|e| e.closed.as_ref().unwrap().cost.unwrap()).collect();
    assert_eq!(told, costs);
}

#[test]
fn salvage_saves_what_is_good_and_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (lab, rescued) = (folder.path().join("lab"), folder.path().join("rescued"));
    let mut study = begin(&lab);
    episode(&mut study);
    episode(&mut study);
    drop(study);
    let plain = rusqlite::Connection::open(lab.join("study.db")).unwrap();
    plain
        .execute_batch(
            "DROP TRIGGER events_are_never_changed; UPDATE events SET payload = '{}' WHERE seq = 6",
        )
        .unwrap();
    drop(plain);
    assert!(Study::open(&lab, Access::Write).is_err());
    let before = std::fs::read(lab.join("study.db")).unwrap();
    assert_eq!(Study::salvage(&lab, &rescued).unwrap(), 5);
    assert_eq!(std::fs::read(lab.join("study.db")).unwrap(), before);
    let mut again = Study::open(&rescued, Access::Write).unwrap();
    assert_eq!(again.history().measurements(), 5);
    assert!(again.stale_tables().unwrap().is_empty());
    // The second episode is pending again.
    let plan = again.ask(&mut ()).unwrap().unwrap();
    again.tell(None, measure(&plan), "rig", Telling::Whole).unwrap();
}

#[test]
fn tables_follow_from_the_events_and_can_be_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    episode(&mut study);
    assert!(study.stale_tables().unwrap().is_empty());
    study.store().connection().execute_batch("UPDATE measurements SET t = 0; DELETE FROM episodes").unwrap();
    assert_eq!(study.stale_tables().unwrap(), ["episodes", "measurements"]);
    study.rebuild().unwrap();
    assert!(study.stale_tables().unwrap().is_empty());
    let sql = "SELECT count(*), max(position_dot) FROM data WHERE used = 1";
    let (count, largest): (i64, f64) =
        study.store().connection().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert!(count == 5 && largest.is_finite());
}

#[test]
fn an_ensemble_goes_on_in_many_sittings_as_in_one() {
    let settings = || {
        let mut settings = small(&system());
        settings.episodes = 3;
        settings.model.kind = ocorl::learn::ModelKind::Ensemble;
        settings.model.ensemble.steps = 200;
        settings
    };
    let create = |folder: &std::path::Path| {
        Study::create(folder, &system(), settings(), 7, Prices::default()).unwrap()
    };
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut whole = create(one.path());
    for _ in 0..3 {
        episode(&mut whole);
    }
    drop(create(many.path()));
    for number in 0..3 {
        let again = || Study::open(many.path(), Access::Write).unwrap();
        let plan = again().ask(&mut ()).unwrap().unwrap();
        // What was written down with a plan is the stream of the training, and no network.
        let model = plan.learner.as_ref().unwrap().memory.model.as_ref();
        assert_eq!(model.is_some(), number > 0);
        assert!(model.is_none_or(|m| m.ensemble.is_some() && m.hyperparameters.is_empty()));
        assert_eq!(again().ask(&mut ()).unwrap().unwrap().text().unwrap(), plan.text().unwrap());
        again().tell(None, measure(&plan), "rig", Telling::Whole).unwrap();
    }
    let again = Study::open(many.path(), Access::Read).unwrap();
    assert_eq!(again.store().head(), whole.store().head());
}
