//! What is told: every number looked at, all or nothing, twice is harmless.

use super::{begin, episode, measure, small, system};
use ocorl_study::measured::Measured;
use ocorl_study::price::Prices;
use ocorl_study::rig::{self, Faults};
use ocorl_study::store::Access;
use ocorl_study::study::{CostFrom, FAR, Row, Status, Study, StudyError, Telling, Verdict};

/// The refusal of a `tell`, and that nothing was changed by it.
fn refusal(study: &mut Study, measured: Measured, how: Telling) -> String {
    let before = study.store().head().1.to_owned();
    let error = study.tell(None, measured, "test", how).expect_err("it was kept");
    assert_eq!(study.store().head().1, before, "a refused tell changed the study");
    let StudyError::Refused(mistake) = error else { panic!("{error}") };
    assert!(mistake.details.iter().any(|(label, _)| *label == "note"), "{mistake}");
    mistake.message
}

#[test]
fn bad_numbers_are_refused_by_name_and_nothing_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let good = measure(&plan);
    let spoilt = |change: &dyn Fn(&mut Row)| {
        let mut measured = good.clone();
        change(&mut measured.rows[3]);
        measured
    };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        type Change = fn(&mut Row, f64);
        let changes: [(Change, &str); 4] = [
            (|row, bad| row.x[1] = bad, "x[1] ('velocity')"),
            (|row, bad| row.u[0] = bad, "u[0] ('force')"),
            (|row, bad| row.x_dot.as_mut().unwrap()[0] = bad, "x_dot[0] ('position')"),
            (|row, bad| row.t = bad, "its time"),
        ];
        for (change, named) in changes {
            let message = refusal(&mut study, spoilt(&|row| change(row, bad)), Telling::Whole);
            assert!(message.contains("measurement 4 of 5 refused") && message.contains(named), "{message}");
        }
    }
    let horizon = plan.horizon;
    for (change, named) in [
        (&(|row: &mut Row| row.t = -1.0) as &dyn Fn(&mut Row), "outside the episode"),
        (&|row: &mut Row| row.t = horizon + 10.0, "outside the episode"),
        (&|row: &mut Row| row.x.push(0.0), "'x' has 3 entries, the system has 2"),
        (&|row: &mut Row| row.u.clear(), "'u' has 0 entries"),
        (&|row: &mut Row| row.start = 1, "initial state 1"),
    ] {
        let message = refusal(&mut study, spoilt(change), Telling::Whole);
        assert!(message.contains(named), "{message}");
    }
    assert!(refusal(&mut study, Measured::default(), Telling::Whole).contains("no measurement"));
    // Just past the end by rounding is moved, and said.
    let receipt =
        study.tell(None, spoilt(&|row| row.t = horizon * (1.0 + 1e-12)), "test", Telling::Whole).unwrap();
    assert!(receipt.notes.iter().any(|note| note.contains("counts as")), "{:?}", receipt.notes);
}

#[test]
fn states_outside_declared_limits_are_kept_and_end_the_run() {
    let (folder, mut system) = (tempfile::tempdir().unwrap(), system());
    let settings = small(&system);
    system.task.state_bounds.upper[0] = 3.0;
    let mut study = Study::create(folder.path(), &system, settings, 7, Prices::default()).unwrap();
    let plan = study.ask(&mut ()).unwrap().unwrap();
    assert_eq!(plan.state_limits.as_ref().unwrap().upper[0], Some(3.0));
    let mut measured = measure(&plan);
    measured.ends.clear();
    measured.rows[0].x[0] = 3.5;
    let count = measured.rows.len();
    let receipt = study.tell(None, measured, "test", Telling::Whole).unwrap();
    assert_eq!(receipt.stored, count, "the data of a run that hit a limit are kept");
    let named =
        |text: &str| text.contains("'position' = 3.5 lies outside its limits [") && text.contains(", 3]");
    assert!(receipt.notes.iter().any(|note| named(note) && note.contains("kept")), "{:?}", receipt.notes);
    // The learner is told that the run ended early.
    assert!(named(&receipt.closed.unwrap().outcome));
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let setbacks = &plan.learner.as_ref().unwrap().memory.setbacks;
    assert_eq!(setbacks[0].map(|set_back| set_back.failures), Some(1));
}

#[test]
fn twice_is_harmless_and_contradictions_are_conflicts() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let measured = measure(&plan);
    let first = study.tell(None, measured.clone(), "a", Telling::Whole).unwrap();
    assert_eq!((first.stored, first.known, first.against.on_time), (5, 0, 5));
    let head = study.store().head().1.to_owned();
    let again = study.tell(Some(0), measured.clone(), "b", Telling::Whole).unwrap();
    assert_eq!((again.stored, again.known), (0, 5));
    assert_eq!(study.store().head().1, head);
    let mut other = measured.clone();
    other.episode = Some(0);
    other.rows[2].x_dot.as_mut().unwrap()[0] += 1.0;
    assert!(refusal(&mut study, other.clone(), Telling::Whole).contains("recorded before with other values"));
    other.rows.remove(2);
    other.rows[0].t += 1e-3;
    assert!(refusal(&mut study, other.clone(), Telling::Whole).contains("is over"));
    // Replaced on purpose; both are in the history.
    study.tell(Some(0), other.clone(), "c", Telling::Correct).unwrap();
    assert_eq!(study.history().episodes[0].rows.len(), 4);
    let kinds: Vec<String> = kinds(&study);
    assert!(kinds.contains(&"told".into()) && kinds.contains(&"corrected".into()), "{kinds:?}");
    assert!(study.stale_tables().unwrap().is_empty());
    assert!(
        refusal(&mut study, Measured { episode: Some(9), ..measured.clone() }, Telling::Whole)
            .contains("no episode 9")
    );
    let none = Measured { episode: None, ..measured };
    assert!(refusal(&mut study, none, Telling::Whole).contains("no episode is pending"));
}

fn kinds(study: &Study) -> Vec<String> {
    let mut statement = study.store().connection().prepare("SELECT kind FROM events ORDER BY seq").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plan_after = |folder: &std::path::Path, reversed: bool| {
        let mut study = begin(folder);
        let plan = study.ask(&mut ()).unwrap().unwrap();
        let mut measured = measure(&plan);
        if reversed {
            measured.rows.reverse();
        }
        study.tell(None, measured, "rig", Telling::Whole).unwrap();
        (study.ask(&mut ()).unwrap().unwrap().text().unwrap(), study.store().head().1.to_owned())
    };
    assert_eq!(plan_after(one.path(), false), plan_after(two.path(), true));
}

#[test]
fn late_missed_and_extra_measurements_are_kept_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let mut measured = measure(&plan);
    let gap = plan.rollouts[0].measure_at[1] - plan.rollouts[0].measure_at[0];
    measured.rows.remove(4);
    measured.rows[0].t += 0.3 * gap;
    let mut extra = measured.rows[2].clone();
    extra.t += 0.5 * gap;
    measured.rows.push(extra);
    let receipt = study.tell(None, measured, "rig", Telling::Whole).unwrap();
    let against = receipt.against;
    assert_eq!((against.on_time, against.late, against.missed + against.extra), (3, 2, 0), "{against:?}");
    // The rows say which time they were asked for.
    let rows = &study.history().episodes[0].rows;
    assert!((rows[0].t - rows[0].asked_t.unwrap() - 0.3 * gap).abs() < 1e-12);
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let mut half = measure(&plan);
    half.rows.truncate(2);
    let receipt = study.tell(None, half, "rig", Telling::Whole).unwrap();
    assert_eq!((receipt.against.missed, receipt.closed.unwrap().status), (3, Status::Partial));
    assert!(study.ask(&mut ()).unwrap().is_some());
}

#[test]
fn an_episode_can_be_told_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let whole = measure(&plan);
    let part = |range: std::ops::Range<usize>, end: bool| Measured {
        rows: whole.rows[range].to_vec(),
        ends: if end { whole.ends.clone() } else { Vec::new() },
        ..Measured::default()
    };
    let first = study.tell(None, part(0..2, false), "a", Telling::More).unwrap();
    assert!(first.closed.is_none());
    let head = study.store().head().1.to_owned();
    let again = study.tell(None, part(0..2, false), "a", Telling::More).unwrap();
    assert_eq!((again.stored, again.known, study.store().head().1), (0, 2, head.as_str()));
    drop(study);
    let mut study = Study::open(folder.path(), Access::Write).unwrap();
    assert_eq!(study.ask(&mut ()).unwrap().unwrap().text().unwrap(), plan.text().unwrap());
    let last = study.tell(None, part(1..5, true), "b", Telling::Whole).unwrap();
    assert_eq!((last.stored, last.known), (3, 1));
    let closed = last.closed.unwrap();
    assert_eq!((closed.status, closed.measured, closed.cost_from), (Status::Complete, 5, CostFrom::Reported));
    // As if told at once.
    let other = tempfile::tempdir().unwrap();
    let mut at_once = begin(other.path());
    let same = at_once.ask(&mut ()).unwrap().unwrap();
    at_once.tell(None, measure(&same), "rig", Telling::Whole).unwrap();
    let (a, b) = (study.ask(&mut ()).unwrap().unwrap(), at_once.ask(&mut ()).unwrap().unwrap());
    assert_eq!(a.text().unwrap(), b.text().unwrap());
}

#[test]
fn a_failed_episode_counts_and_a_discarded_one_does_not() {
    let next_plan = |change: &dyn Fn(&mut Study)| {
        let folder = tempfile::tempdir().unwrap();
        let mut study = begin(folder.path());
        episode(&mut study);
        change(&mut study);
        let plan = study.ask(&mut ()).unwrap().unwrap();
        let memory = plan.learner.as_ref().unwrap().memory.data.len();
        assert!(study.stale_tables().unwrap().is_empty());
        (memory, plan.text().unwrap().len())
    };
    let part = |study: &mut Study| {
        let plan = study.ask(&mut ()).unwrap().unwrap();
        let mut measured = measure(&plan);
        measured.rows.truncate(3);
        measured.ends.clear();
        study.tell(None, measured, "rig", Telling::More).unwrap();
    };
    let failed = next_plan(&|study| {
        part(study);
        let closed = study.fail(None, "the belt tore").unwrap();
        assert_eq!((closed.status, closed.measured), (Status::Failed, 3));
        assert_eq!(closed.cost_from, CostFrom::Estimated);
        assert!(study.fail(None, "again").is_err());
    });
    assert_eq!(failed.0, 8);
    let discarded = next_plan(&|study| {
        part(study);
        study.fail(None, "the belt tore").unwrap();
        study.discard(1, "the sensor was loose").unwrap();
        study.discard(1, "once more").unwrap();
        assert!(study.discard(5, "nothing").is_err());
    });
    assert_eq!(discarded.0, 5);
    let nothing = next_plan(&|study| {
        study.ask(&mut ()).unwrap();
        study.fail(None, "it never started").unwrap();
    });
    assert_eq!(nothing.0, 5);
    // The first episode, too: then nothing is known, and it is done again.
    let first = next_plan(&|study| {
        study.discard(0, "wrong wiring").unwrap();
    });
    assert_eq!(first.0, 0);
}

#[test]
fn old_logs_are_learned_from_before_the_first_episode() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut source = begin(other.path());
    let log = measure(&source.ask(&mut ()).unwrap().unwrap());
    let mut study = begin(folder.path());
    assert_eq!(study.import(log.clone(), "old.csv").unwrap(), 5);
    assert_eq!(study.import(log.clone(), "old.csv").unwrap(), 0);
    let plan = study.ask(&mut ()).unwrap().unwrap();
    assert!(plan.rollouts[0].planned_cost.is_some(), "with data there is something to plan with");
    drop(study);
    let mut again = Study::open(folder.path(), Access::Write).unwrap();
    let told = measure(&again.ask(&mut ()).unwrap().unwrap());
    again.tell(None, told, "rig", Telling::Whole).unwrap();
    assert_eq!(again.history().measurements(), 10);
    let live = again.ask(&mut ()).unwrap().unwrap().text().unwrap();
    // Everything once more from the events gives the same plan.
    let anew = again.learned_anew(&mut ()).unwrap();
    let memory = serde_json::to_string(&{
        anew.proposal();
        anew.checkpoint()
    });
    assert!(live.contains("\"learner\"") && memory.is_ok());
    let mut bad = log;
    bad.rows[1].x[0] = f64::NAN;
    assert!(again.import(bad, "bad.csv").unwrap_err().to_string().contains("measurement 2 of 5"));
}

#[test]
fn a_budget_ends_a_study_and_prices_decide_what_pays() {
    let (folder, system) = (tempfile::tempdir().unwrap(), system());
    let prices = Prices { measurement: 1.0, episode: 2.0, budget: Some(15.0) };
    let mut study = Study::create(folder.path(), &system, small(&system), 7, prices).unwrap();
    episode(&mut study);
    assert_eq!(study.spent(), 7.0);
    assert!(study.worth().unwrap().is_none_or(|worth| !worth.pays), "a price above all cost never pays");
    episode(&mut study);
    assert_eq!((study.spent(), study.over()), (14.0, Some(Verdict::BudgetUsed)));
    assert!(study.ask(&mut ()).unwrap().is_none());
    let bad = Prices { measurement: -1.0, ..Prices::default() };
    assert!(Study::create(&folder.path().join("b"), &system, small(&system), 0, bad).is_err());
}

#[test]
fn wrong_units_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    episode(&mut study);
    episode(&mut study);
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let mut measured = measure(&plan);
    for row in &mut measured.rows {
        for value in row.x_dot.iter_mut().flatten() {
            *value *= 1000.0;
        }
    }
    // A rehearsal says so before anything is stored.
    let head = study.store().head();
    let rehearsal = study.rehearse(measured.clone()).unwrap();
    assert_eq!(study.store().head(), head);
    let receipt = study.tell(None, measured, "rig", Telling::Whole).unwrap();
    assert_eq!((rehearsal.receipt, rehearsal.rows.len()), (receipt.clone(), 5));
    let strange = study.strange(receipt.episode).unwrap().unwrap();
    assert!(strange.far >= 4 && strange.of == 5, "{strange:?}");
    assert_eq!(rehearsal.residuals.iter().flatten().filter(|far| **far > FAR).count(), strange.far);
}

#[test]
fn a_laboratory_with_faults_is_learned_from_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let faults = [
        Faults { drop: 0.5, ..Faults::default() },
        Faults { late: 0.2, delay: 0.01, noise: 3.0, ..Faults::default() },
        Faults { stop_at: Some(2.0), ..Faults::default() },
    ];
    for fault in faults {
        let plan = study.ask(&mut ()).unwrap().unwrap();
        let measured = rig::run(&system(), &plan, &fault, 7).unwrap();
        if measured.rows.is_empty() {
            study.fail(None, "nothing came").unwrap();
        } else {
            study.tell(None, measured, "rig", Telling::Whole).unwrap();
        }
    }
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let spoilt = rig::run(&system(), &plan, &Faults { nan: 1.0, ..Faults::default() }, 7).unwrap();
    assert!(refusal(&mut study, spoilt, Telling::Whole).contains("is NaN"));
}
