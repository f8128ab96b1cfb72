//! Bad data in a study: named in `status` until resolved, weighted in the tables, excluded and included by the user.

use super::{begin, measure};
use ocorl_study::measured::Measured;
use ocorl_study::plan_file::PlanFile;
use ocorl_study::rig::{ActuatorFault, ColumnFault, ColumnFaultKind, Faults};
use ocorl_study::store::Access;
use ocorl_study::study::{Cure, Study, Telling};

/// Measurements of a plan with one row a thousand times too large.
fn spiked(plan: &PlanFile) -> Measured {
    let mut measured = measure(plan);
    measured.rows[2].x_dot.as_mut().unwrap().iter_mut().for_each(|d| *d *= 1000.0);
    measured
}

fn tell(study: &mut Study, measure: impl Fn(&PlanFile) -> Measured) {
    let plan = study.ask(&mut ()).unwrap().unwrap();
    study.tell(None, measure(&plan), "rig", Telling::Whole).unwrap();
}

fn column(study: &Study, name: &str, episode: i64) -> Vec<f64> {
    let sql = format!("SELECT CAST({name} AS REAL) FROM measurements WHERE episode = ?1 ORDER BY t");
    let mut statement = study.store().connection().prepare(&sql).unwrap();
    statement.query_map([episode], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_bad_row_is_named_with_its_weight_until_it_is_included() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    tell(&mut study, measure);
    assert!(study.notices().is_empty(), "{:?}", study.notices());
    tell(&mut study, spiked);
    let notices = study.notices();
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    assert!(notice.text.starts_with("episode 1, row 3") && notice.text.contains("weight 0.00"), "{notice:?}");
    assert_eq!(notice.cure, Cure::Include { episode: 1, row: 3 });
    assert_eq!(column(&study, "weight", 1), [1.0, 1.0, 0.0, 1.0, 1.0]);
    assert!(study.stale_tables().unwrap().is_empty());
    drop(study);

    // Another process hears the same, and plans the same as one that has learned everything again.
    let mut study = Study::open(folder.path(), Access::Write).unwrap();
    assert_eq!(study.notices(), notices);
    let plan = study.ask(&mut ()).unwrap().unwrap();
    assert_eq!(plan.learner.as_ref().unwrap().memory.data.len(), 9);
    assert_eq!(study.learned_anew(&mut ()).unwrap().diagnosis(), &study.history().diagnosis);

    study.tell(None, measure(&plan), "rig", Telling::Whole).unwrap();
    study.select(1, &[3], "it is right", true).unwrap();
    study.ask(&mut ()).unwrap();
    assert!(study.notices().iter().all(|n| !n.text.contains("row 3")), "{:?}", study.notices());
    assert_eq!(study.learner().unwrap().data().len(), 15);
}

#[test]
fn excluded_rows_are_not_learned_from_and_can_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    tell(&mut study, measure);
    tell(&mut study, measure);
    study.select(0, &[1, 4], "magnet nearby", false).unwrap();
    assert_eq!(column(&study, "used", 0), [0.0, 1.0, 1.0, 0.0, 1.0]);
    assert_eq!(
        (study.history().measurements(), study.weight(0, 0, study.history().episodes[0].rows[0].t)),
        (8, 0.0)
    );
    assert_eq!(study.learner().unwrap().data().len(), 8);
    study.select(0, &[1, 4], "", true).unwrap();
    assert_eq!(study.learner().unwrap().data().len(), 10);
    assert!(study.stale_tables().unwrap().is_empty());

    let message =
        |study: &mut Study, episode, row| study.select(episode, &[row], "", false).unwrap_err().to_string();
    assert!(message(&mut study, 7, 1).contains("no episode 7"));
    assert!(message(&mut study, 0, 6).contains("rows 1 to 5, not 6"));
    study.ask(&mut ()).unwrap();
    assert!(message(&mut study, 2, 1).contains("pending"));
}

#[test]
fn the_simulated_rig_has_faulty_sensors_and_actuators() {
    let folder = tempfile::tempdir().unwrap();
    let plan = begin(folder.path()).ask(&mut ()).unwrap().unwrap();
    let run = |faults: Faults| ocorl_study::rig::run(&super::system(), &plan, &faults, 7);
    let column = |column: &str, kind| Faults {
        columns: vec![ColumnFault { column: column.into(), kind }],
        ..Faults::default()
    };
    let clean = run(Faults::default()).unwrap();
    let flipped = run(column("force", ColumnFaultKind::Scale(-1.0))).unwrap();
    let stuck = run(column("velocity_dot", ColumnFaultKind::Stuck(0.0))).unwrap();
    let coarse = run(column("position", ColumnFaultKind::Quantised(0.5))).unwrap();
    for (i, row) in clean.rows.iter().enumerate() {
        assert_eq!(flipped.rows[i].u[0], -row.u[0]);
        assert_eq!(stuck.rows[i].x_dot.as_ref().unwrap()[1], clean.rows[0].x_dot.as_ref().unwrap()[1]);
        assert_eq!(coarse.rows[i].x[0] % 0.5, 0.0);
    }
    let weak = ActuatorFault { gain: 0.5, ..ActuatorFault::none("force") };
    let weak = run(Faults { actuators: vec![weak], ..Faults::default() }).unwrap();
    assert!(weak.rows[4].x != clean.rows[4].x, "a weaker actuator moves the system less");
    let error = run(column("speed", ColumnFaultKind::Scale(2.0))).unwrap_err();
    assert!(
        error.message.contains("no column is called 'speed'; there are position, velocity, force"),
        "{error}"
    );
}
