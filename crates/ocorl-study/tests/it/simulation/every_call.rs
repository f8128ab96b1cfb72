//! Every single I/O call of a study fails once, in every way, and nothing that was acknowledged is lost.

use super::{Faults, bury, measured, scratch, system, tiny, with_faults};
use ocorl_study::price::Prices;
use ocorl_study::store::{Access, StoreError};
use ocorl_study::study::{Study, StudyError, Telling};
use ocorl_study::system::System;
use std::fs;
use std::path::Path;

/// How a call fails: the mode of the layer, and whether the power fails too.
const WAYS: [(&str, bool); 7] = [
    ("eio", false),
    ("full", false),
    ("short", false),
    ("crash", false),
    ("torn", false),
    ("crash", true),
    ("torn", true),
];

/// One command of an operator, as a process of its own.
#[derive(Clone, Copy, Debug)]
enum Step {
    New,
    Ask,
    Tell,
    Half,
    Again,
    Fail,
    Correct(usize),
    Discard(usize),
    Import,
    Note,
}

use Step::{Again, Ask, Correct, Discard, Fail, Half, Import, New, Note, Tell};

/// The shortest study.
const ONE_EPISODE: [Step; 3] = [New, Ask, Tell];

/// Five episodes with everything that can be recorded.
const FIVE_EPISODES: [Step; 18] = [
    New,
    Import,
    Ask,
    Tell,
    Ask,
    Half,
    Tell,
    Ask,
    Half,
    Fail,
    Note,
    Ask,
    Tell,
    Correct(3),
    Discard(1),
    Ask,
    Tell,
    Again,
];

fn perform(step: Step, folder: &Path, system: &System) -> Result<(), StudyError> {
    if matches!(step, New) {
        return Study::create(folder, system, tiny(system), 5, Prices::default()).map(|_| ());
    }
    let mut study = Study::open(folder, Access::Write)?;
    let last = study.history().episodes.last().map(|episode| episode.plan.clone());
    let rows = |version: usize, which: &[usize]| {
        measured(system, last.as_ref().expect("an episode"), 5, version, which)
    };
    match step {
        New => {}
        Ask => drop(study.ask(&mut ())?),
        Tell => drop(study.tell(None, rows(0, &[0, 1, 2]), "rig", Telling::Whole)?),
        // No episode is pending any more, so it is told with its number.
        Again => drop(study.tell(Some(4), rows(0, &[0, 1, 2]), "rig", Telling::Whole)?),
        Half => drop(study.tell(None, rows(0, &[0]), "rig", Telling::More)?),
        Fail => drop(study.fail(None, "the cable broke")?),
        Correct(episode) => {
            let plan = study.history().episodes[episode].plan.clone();
            let measured = measured(system, &plan, 5, 1, &[0, 1, 2]);
            drop(study.tell(Some(episode), measured, "rig", Telling::Correct)?);
        }
        Discard(episode) => drop(study.discard(episode, "the wrong gain")?),
        Import => {
            let log = |version: usize| {
                let mut log = ocorl_study::measured::Measured::default();
                for i in 0..3 {
                    let mut rng = ocorl::random::Stream::root(9).index(version).index(i).rng();
                    let (x, u) = (vec![rng.normal(), rng.normal()], vec![0.0]);
                    let x_dot = Some(vec![x[1], (1.0 - x[0] * x[0]) * x[1] - x[0]]);
                    let t = 0.1 * i as f64;
                    log.rows.push(ocorl_study::study::Row {
                        start: 0,
                        t,
                        x,
                        u,
                        x_dot,
                        asked_t: None,
                        interval: None,
                    });
                }
                (format!("{version}.csv"), log)
            };
            study.import_all(vec![log(0), log(1)])?;
        }
        Note => study.note("windy")?,
    }
    Ok(())
}

/// Number and checksum of the last event.
type Head = (u64, String);

/// What is found in a study by a reader and by the next writer. `None`: there is no study.
fn found(folder: &Path, what: &str) -> Option<Head> {
    let see = |access: Access| match Study::open(folder, access) {
        Ok(study) => {
            assert_eq!(study.stale_tables().expect("tables"), [""; 0], "{what}");
            if let Some(interruption) = study.store().interruption() {
                assert_eq!(interruption.lost(), 0, "{what}: {interruption}");
            }
            let (seq, checksum) = study.store().head();
            Some((seq, checksum.to_owned()))
        }
        Err(StudyError::Store(StoreError::Missing { .. })) => None,
        Err(error) => panic!("{what}: {error} {error:?}"),
    };
    let read = see(Access::Read);
    assert_eq!(see(Access::Write), read, "{what}: reader and writer disagree");
    read
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("a file").path()) {
        fs::copy(&entry, to.join(entry.file_name().expect("a name"))).expect("a copy");
    }
}

/// Lets every `stride`-th call of every step fail in every way. Returns the numbers of faults and of calls.
fn fail_each(faults: &Faults, steps: &[Step], stride: usize) -> (u64, u64) {
    let (root, system) = (scratch(), system());
    let (kept, folder) = (root.path().join("kept"), root.path().join("lab"));
    fs::create_dir_all(&kept).expect("a folder");
    let (mut before, mut count, mut all) = (None, 0_u64, 0_u64);
    for (number, step) in steps.iter().enumerate() {
        // Undisturbed: what must come out.
        let reference = root.path().join("reference");
        copy(&kept, &reference);
        perform(*step, &reference, &system)
            .unwrap_or_else(|error| panic!("step {number}, {step:?}: {error}"));
        let after = found(&reference, "undisturbed");
        for (mode, power) in WAYS {
            for call in (1 + number % stride..).step_by(stride) {
                let what = format!(
                    "step {number}, {step:?}: {mode} at call {call}{}",
                    if power { ", power cut" } else { "" }
                );
                copy(&kept, &folder);
                faults.watch(&folder);
                // All that is there is on disk.
                for entry in
                    fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path())
                {
                    fs::File::open(entry).and_then(|file| file.sync_all()).expect("synchronised");
                }
                faults.arm(mode, call);
                let result = perform(*step, &folder, &system);
                let fired = faults.calm();
                if !fired.fired {
                    assert!(result.is_ok(), "{what}: it failed without a fault: {:?}", result.err());
                    all += if (mode, power) == WAYS[0] { fired.calls } else { 0 };
                    break;
                }
                count += 1;
                if mode == "crash" || mode == "torn" {
                    if power {
                        faults.cut_power((call + 1000 * number) as u64);
                    }
                    bury(&folder);
                } else if let Err(error) = &result {
                    let damaged = matches!(error, StudyError::Store(StoreError::Damaged { .. }));
                    assert!(!damaged, "{what}: a healthy study is called damaged: {error:?}");
                }
                let now = found(&folder, &what);
                let done = now == after;
                assert!(done || (now == before && result.is_err()), "{what}: {result:?}: {now:?}");
                // Repeated, it gives what it would have given.
                if !done || matches!(step, Again) {
                    perform(*step, &folder, &system)
                        .unwrap_or_else(|error| panic!("{what}, repeated: {error}"));
                    assert_eq!(found(&folder, &what), after, "{what}, repeated");
                }
            }
        }
        copy(&reference, &kept);
        before = after;
    }
    (count, all)
}

#[test]
fn a_call_that_fails_loses_nothing() {
    with_faults("simulation::every_call::a_call_that_fails_loses_nothing", |faults| {
        let (count, calls) = fail_each(faults, &ONE_EPISODE, 5);
        println!("simulation: {count} faults at every fifth of {calls} I/O calls of one episode");
        assert!(calls > 60 && count > calls, "{count} faults at {calls} calls");
    });
}

#[test]
#[ignore = "cargo xtask soak io"]
fn every_call_of_five_episodes_fails_once_in_every_way() {
    let name = "simulation::every_call::every_call_of_five_episodes_fails_once_in_every_way";
    with_faults(name, |faults| {
        let (count, calls) = fail_each(faults, &FIVE_EPISODES, 1);
        println!("simulation: {count} faults at every one of {calls} I/O calls of five episodes, in 7 ways");
        assert!(count >= 5 * calls, "{count} faults at {calls} calls");
    });
}
