//! Defects that were found by use, each with the test that failed before it was corrected. The list is in
//! docs/design-notes/hardening.md.

use super::{begin, episode, measure, small, system};
use ocorl::plant::RolloutResult;
use ocorl::simulate::Outcome;
use ocorl::system::Benchmark;
use ocorl_study::measured::{Columns, Measured};
use ocorl_study::price::Prices;
use ocorl_study::simulated::{Simulated, run_again};
use ocorl_study::store::{Access, Store, StoreError};
use ocorl_study::study::{
    Applied, Closed, CostFrom, End, Event, FORM, Row, Status, Study, StudyError, Telling,
};
use ocorl_study::system::System;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The refusal of a request, and that it changed nothing.
fn refused<T>(study: &mut Study, act: impl FnOnce(&mut Study) -> Result<T, StudyError>) -> String {
    let before = study.store().head().1.to_owned();
    let Err(error) = act(study) else { panic!("it was accepted") };
    assert_eq!(study.store().head().1, before, "a refused request changed the study");
    let StudyError::Refused(error) = error else { panic!("{error}") };
    assert!(error.to_string().contains("nothing was stored"), "{error}");
    match &error.hint {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn settings_that_are_not_finite_or_out_of_range_never_reach_the_disk() {
    let (folder, system) = (tempfile::tempdir().unwrap(), system());
    let lab = folder.path().join("lab");
    for path in ["beta", "delta", "norm", "level", "ensemble.rate", "ensemble.prior", "ensemble.held_out"] {
        for value in ["nan", "inf", "-inf", "-0.5"] {
            let path = format!("model.{path}");
            let mut config = system.config("default").unwrap();
            if config.set(&path, value).is_err() {
                continue;
            }
            let made = Study::create(&lab, &system, config.settings, 0, Prices::default());
            let error = made.err().unwrap_or_else(|| panic!("{path} = {value}")).to_string();
            assert!(error.contains(&path) && error.contains("it must"), "{error}");
            assert!(!lab.exists(), "{path} = {value}");
        }
    }
}

#[test]
fn a_billion_restarts_are_refused_instead_of_exhausting_the_memory() {
    let (folder, system) = (tempfile::tempdir().unwrap(), system());
    let mut config = system.config("default").unwrap();
    config.set("model.restarts", "1000000000").unwrap();
    let made = Study::create(folder.path(), &system, config.settings, 0, Prices::default());
    let error = made.err().unwrap().to_string();
    assert_eq!(error, "model.restarts is 1000000000; it must be at most 10000");
}

#[test]
fn times_that_would_never_end_are_refused_in_a_short_message() {
    let (folder, system) = (tempfile::tempdir().unwrap(), system());
    for (path, value) in [("track.period", "1e-12"), ("plan.hold", "1e-308"), ("select.spacing", "1e308")] {
        let mut config = system.config("default").unwrap();
        config.set(path, value).unwrap();
        let made = Study::create(folder.path(), &system, config.settings, 0, Prices::default());
        assert!(made.err().unwrap().to_string().starts_with(&format!("{path} is {value}; it must")));
    }
    let text = named(&["x", "v"], "u") + "[hardware]\nperiod = 1e-12\n";
    let error = System::parse(&text, "a.toml").err().unwrap().to_string();
    assert!(error.contains("'period' is 1e-12: the horizon 2 would have more than 1e9 periods"), "{error}");
    let error = system.config("default").unwrap().set("select.lipschitz", "1e308").unwrap_err().to_string();
    assert!(error.contains("'select.lipschitz' cannot be 1000") && error.len() < 300, "{error}");
}

#[test]
fn an_event_that_would_read_back_otherwise_is_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    drop(begin(folder.path()));
    let mut store = Store::open(folder.path(), FORM, Access::Write, |_| Ok(())).unwrap();
    let head = store.head().1.to_owned();
    let closed = |cost: Option<f64>| {
        Event::Closed(Closed {
            episode: 0,
            status: Status::Complete,
            outcome: "completed".into(),
            cost,
            cost_from: CostFrom::Reported,
            measured: 0,
            asked: 0,
        })
    };
    let row = |t: f64| Row { start: 0, t, x: vec![], u: vec![], x_dot: None, asked_t: None, interval: None };
    let imported =
        |t: f64| Event::Imported(ocorl_study::study::Imported { rows: vec![row(t)], source: "test".into() });
    // The first would be read as no cost at all, the others not at all.
    let bad = [
        closed(Some(f64::NAN)),
        closed(Some(f64::INFINITY)),
        imported(f64::NAN),
        imported(f64::NEG_INFINITY),
    ];
    for event in bad {
        let error = store.append(&[Event::Note("good".into()), event], |_, _| Ok(())).unwrap_err();
        assert!(matches!(error, StoreError::NotReadBack { .. }), "{error}");
        assert_eq!(store.head().1, head);
    }
    // The store goes on as if nothing had happened.
    store.append(&[Event::Note("good".into())], |_, _| Ok(())).unwrap();
    drop(store);
    assert_eq!(Study::open(folder.path(), Access::Read).unwrap().history().notes, ["good"]);
}

/// Reads a study as `status`, `check` and the dashboard do, while another thread records. Returns the numbers of reads and writes.
fn read_beside_a_writer(reads: usize, writes: usize) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    begin(path).ask(&mut ()).unwrap();
    let (done, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let horizon = system().task.horizon;
            let mut study = Some(Study::open(path, Access::Write).unwrap());
            for i in 0..writes {
                // Every other one by a process of its own, which removes the log when it ends.
                if i % 2 == 0 {
                    study = None;
                }
                let study = study.get_or_insert_with(|| Study::open(path, Access::Write).unwrap());
                let t = horizon * i as f64 / writes as f64;
                let row = Row {
                    start: 0,
                    t,
                    x: vec![0.5, 0.1],
                    u: vec![0.0],
                    x_dot: Some(vec![0.1, 0.2]),
                    asked_t: None,
                    interval: None,
                };
                let measured = Measured { rows: vec![row], ..Measured::default() };
                study.tell(None, measured, "writer", Telling::More).unwrap();
                told.store(i + 1, Ordering::SeqCst);
                // The readers keep up, so that all of them see a writer at work.
                while done.load(Ordering::SeqCst) * writes < i * reads {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                while done.fetch_add(1, Ordering::SeqCst) < reads {
                    let least = told.load(Ordering::SeqCst);
                    let study = Study::open(path, Access::Read).unwrap_or_else(|error| panic!("{error:?}"));
                    assert!(
                        study.history().episodes[0].rows.len() >= least,
                        "a recorded measurement is not there"
                    );
                    assert_eq!(study.stale_tables().unwrap(), [""; 0]);
                    assert_eq!(study.moments().unwrap().episodes.len(), study.history().episodes.len());
                    assert!(study.store().interruption().is_none(), "{:?}", study.store().interruption());
                }
            });
        }
    });
    (done.into_inner().min(reads), told.into_inner())
}

#[test]
fn readers_beside_a_writer_find_a_healthy_study() {
    let reads: usize = std::env::var("OCORL_READS").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    let (read, told) = read_beside_a_writer(reads, reads / 10);
    println!("{read} reads beside {told} tells: no false alarm");
}

#[test]
fn logs_that_begin_at_the_same_time_are_imported_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let log = |x: f64| {
        let row = |t: f64| Row {
            start: 0,
            t,
            x: vec![x, t],
            u: vec![0.0],
            x_dot: Some(vec![t, 0.1]),
            asked_t: None,
            interval: None,
        };
        Measured { rows: (0..4).map(|i| row(f64::from(i))).collect(), ..Measured::default() }
    };
    // One of them is bad: none is stored, and the message says which.
    let mut bad = log(0.3);
    bad.rows[2].x[0] = f64::NAN;
    let files = |second: Measured| vec![("old1.csv".to_owned(), log(0.1)), ("old2.csv".to_owned(), second)];
    let said = refused(&mut study, |study| study.import_all(files(bad.clone())));
    assert!(said.contains("measurement 3 of 4 refused") && said.contains("old2.csv"), "{said}");
    assert_eq!(study.import_all(files(log(0.2))).unwrap(), 8);
    // The same rows again, under whatever name, are not new.
    assert_eq!(study.import_all(files(log(0.2))).unwrap(), 0);
    assert_eq!(study.import(log(0.2), "copy.csv").unwrap(), 0);
    // A changed log of the same name is refused, with advice that can be followed.
    let said = refused(&mut study, |study| study.import(log(0.7), "old1.csv"));
    assert!(said.contains("'old1.csv' was imported before") && said.contains("another name"), "{said}");
    assert_eq!(study.import(log(0.7), "old3.csv").unwrap(), 4);
    assert!(study.stale_tables().unwrap().is_empty());
    drop(study);
    // The number of the log is a part of the key in the tables.
    let study = Study::open(folder.path(), Access::Read).unwrap();
    assert_eq!(study.history().measurements(), 12);
    let sql =
        "SELECT count(DISTINCT start), count(DISTINCT start || ' ' || t) FROM data WHERE episode IS NULL";
    let counts: (i64, i64) =
        study.store().connection().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(counts, (3, 12));
}

#[test]
fn applied_controls_are_checked_like_measurements() {
    let (folder, mut system) = (tempfile::tempdir().unwrap(), system());
    (system.task.control_bounds.lower[0], system.task.control_bounds.upper[0]) = (-2.0, 2.0);
    let mut study = Study::create(folder.path(), &system, small(&system), 7, Prices::default()).unwrap();
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let with = |t: f64, u: Vec<f64>, start: usize| {
        let mut measured = measure(&plan);
        for row in &mut measured.rows {
            row.u[0] = row.u[0].clamp(-2.0, 2.0);
        }
        measured.controls = vec![Applied { start: 0, t: 0.0, u: vec![0.0] }, Applied { start, t, u }];
        measured
    };
    let horizon = plan.horizon;
    for (t, u, start, cause) in [
        (-1.0, vec![0.0], 0, "lies outside the episode"),
        (99_999.0, vec![0.0], 0, "lies outside the episode"),
        (1.0, vec![5000.0], 0, "'force' = 5000 lies outside its limits [-2, 2]"),
        (1.0, vec![1e308], 0, "lies outside its limits"),
        (1.0, vec![f64::NAN], 0, "u[0] ('force') is NaN"),
        (f64::INFINITY, vec![0.0], 0, "its time is inf"),
        (1.0, vec![0.0, 0.0], 0, "'u' has 2 entries, the system has 1"),
        (1.0, vec![0.0], 3, "initial state 3"),
    ] {
        let said = refused(&mut study, |study| study.tell(None, with(t, u, start), "test", Telling::Whole));
        assert!(said.contains("applied control 2 of 2 refused") && said.contains(cause), "{said}");
    }
    study.tell(None, with(horizon * (1.0 + 1e-12), vec![2.0], 0), "test", Telling::More).unwrap();
    // Another control at the same time is a contradiction.
    let said =
        refused(&mut study, |study| study.tell(None, with(horizon, vec![1.0], 0), "test", Telling::More));
    assert!(said.contains("was recorded before with other values"), "{said}");
}

#[test]
fn the_file_of_an_earlier_episode_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let old = Measured { episode: None, ..measure(&plan) };
    study.tell(None, old.clone(), "measured.csv", Telling::Whole).unwrap();
    study.ask(&mut ()).unwrap().unwrap();
    for how in [Telling::Whole, Telling::More] {
        let said = refused(&mut study, |study| study.tell(None, old.clone(), "measured.csv", how));
        assert!(
            said.contains("these are the measurements of episode 0") && said.contains("episode 1"),
            "{said}"
        );
    }
    // In another order, and a part of it.
    let mut part = old.clone();
    part.rows.reverse();
    part.rows.truncate(2);
    assert!(
        refused(&mut study, |study| study.tell(None, part, "m.csv", Telling::Whole)).contains("episode 0")
    );
    // The rig went on writing to the file: most of its rows are still old ones.
    let mut grown = old.clone();
    grown.rows[0].x[0] += 0.25;
    let said = refused(&mut study, |study| study.tell(None, grown, "m.csv", Telling::Whole));
    assert!(said.contains("4 of 5 rows were recorded for it before"), "{said}");
    // The statement that it is meant is enough.
    let receipt = study.tell(Some(1), old, "measured.csv", Telling::Whole).unwrap();
    assert_eq!((receipt.episode, receipt.stored), (1, 5));
}

const NAMED: &str = "[system]\nstates = [STATES]\ninputs = { INPUT = [-1, 1] }\nx0 = [ZEROS]\nhorizon = 2\n[cost]\nstate = { FIRST = 1 }\n";

fn named(states: &[&str], input: &str) -> String {
    let quoted: Vec<String> = states.iter().map(|s| format!("\"{s}\"")).collect();
    NAMED
        .replace("STATES", &quoted.join(", "))
        .replace("ZEROS", &vec!["0"; states.len()].join(", "))
        .replace("INPUT", input)
        .replace("FIRST", states[0])
}

#[test]
fn names_that_would_share_a_column_are_refused() {
    assert!(System::parse(&named(&["x", "v"], "u"), "a.toml").is_ok());
    for (states, input, column) in [
        (&["x", "x_dot"][..], "u", "x_dot"),
        (&["x"], "x_dot", "x_dot"),
        (&["used", "v"], "u", "used"),
        (&["x", "v"], "start", "start"),
        (&["x", "episode"], "u", "episode"),
        (&["interval"], "u", "interval"),
        (&["asked_t"], "u", "asked_t"),
    ] {
        let text = named(states, input);
        let error = System::parse(&text, "a.toml").err().unwrap_or_else(|| panic!("{states:?}")).to_string();
        let said = format!("two columns of measurements would be called '{column}'");
        assert!(error.contains(&said) && error.contains("a.toml, line "), "{error}");
        // A study of such a system that exists can still be opened.
        let system = System::restore("a", Some(&text)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let made = Study::create(folder.path(), &system, small(&system), 0, Prices::default());
        assert!(made.err().unwrap().to_string().contains(&said));
    }
    for benchmark in Benchmark::all() {
        assert_eq!(Columns::of(&benchmark.task).clash(), None, "{}", benchmark.name);
    }
}

#[test]
fn a_reported_cost_that_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let with = |cost: f64| {
        let ends = vec![End { start: 0, cost: Some(cost), outcome: None }];
        Measured { ends, ..measure(&plan) }
    };
    for cost in [-1e308, -1e20, f64::NAN, f64::NEG_INFINITY] {
        let said = refused(&mut study, |study| study.tell(None, with(cost), "test", Telling::Whole));
        assert!(said.contains("the reported cost"), "{said}");
    }
    // Odd, but possible: it is kept, and said.
    let receipt = study.tell(None, with(-3.0), "test", Telling::Whole).unwrap();
    assert!(receipt.notes.iter().any(|note| note.contains("is negative")), "{:?}", receipt.notes);
    assert_eq!(study.overview().best_cost, Some(-3.0));
}

#[test]
fn an_outcome_names_the_state_that_left_its_limits() {
    let system = system();
    let result = RolloutResult::measured(Vec::new(), Outcome::LimitHit { state: 1, time: 0.5 }, 1.0);
    let measured = Measured::of(&system.task.states, [(0, &result)]);
    assert_eq!(measured.ends[0].outcome.as_deref(), Some("'velocity' left its limits at t = 0.5000"));
}

fn columns() -> Columns {
    Columns { states: vec!["x".into(), "v".into()], controls: vec!["u".into()] }
}

fn parse(text: &str) -> Result<Measured, String> {
    Measured::parse(text, "m.csv", &columns()).map_err(|error| {
        let hint = error.hint.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{error}; hint: {hint}")
    })
}

#[test]
fn decimal_commas_are_found_in_every_row() {
    for (text, x) in [
        ("t;x;v;u\ns;m;m/s;N\n0,5;1,5;2;3\n", 1.5),
        ("t;x;v;u\n0;1;2;3\n1;1,5;2;3\n", 1.5),
        ("t;x;v;u\n0;1;2;3\n1;-,5e-1;2;3\n", -0.05),
        ("t\tx\tv\tu\tremark\n0\t1\t2\t3\tv1.2\n1\t1,5\t2\t3\t0.7\n", 1.5),
        ("# cost: 2,5\nt;x;v;u\n0;1;2;3\n1;1,5;2;3\n", 1.5),
    ] {
        let read = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(read.rows.last().unwrap().x, [x, 2.0], "{text}");
        assert!(read.notes.iter().any(|note| note.contains("decimal comma")), "{:?}", read.notes);
        if text.starts_with('#') {
            assert_eq!(read.ends[0].cost, Some(2.5));
        }
    }
    // With both, a comma may separate thousands: 1,234 is not guessed at.
    let error = parse("t;x;v;u\n0.5;1;2;3\n1;1,234;2;3\n").unwrap_err();
    assert!(error.contains("'1,234' has a decimal comma, '0.5' a decimal point"), "{error}");
}

#[test]
fn a_number_that_may_be_cut_off_at_the_end_of_a_file_is_refused() {
    let whole = "t,x,v,u\n0,1,2,3\n1,1,2,0.125\n";
    assert_eq!(parse(whole).unwrap().rows.len(), 2);
    for cut in 1..6 {
        let error = parse(&whole[..whole.len() - cut]).unwrap_err();
        assert!(error.contains("row 2 refused") && error.contains("line 3, column 4"), "{cut}: {error}");
        assert!(error.contains("may be cut off") && error.contains("line break"), "{cut}: {error}");
    }
    // Where no number can be cut, nothing is said.
    for text in ["t,x,v,u,remark\n0,1,2,3,fine", "t,x,v,u\n0,1,2,3\n# the end", "t,x,v,u\n0,1,2,3\n1,,,"] {
        assert_eq!(parse(text).unwrap().rows.len(), 1, "{text}");
    }
}

#[test]
fn a_name_that_is_there_twice_is_refused() {
    for text in [
        r#"{"measurements": [{"t": 0, "x": {"x": 1, "v": 2, "x": 3}, "u": [0]}]}"#,
        r#"{"measurements": [{"t": 0, "x": [1, 2], "u": {"u": 1, "u": 1}}]}"#,
    ] {
        let error = Measured::parse(text, "m.json", &columns()).unwrap_err().to_string();
        assert!(error.contains("is there twice") && error.contains("line 1, column"), "{error}");
    }
    let text = r#"{"measurements": [{"t": 0, "t": 1, "x": [1, 2], "u": [0]}]}"#;
    let error = Measured::parse(text, "m.json", &columns()).unwrap_err();
    assert!(error.to_string().contains("duplicate field") && error.hint.is_none(), "{error}");
}

#[test]
fn a_file_without_measurements_is_refused_in_plain_words() {
    let error = Measured::parse("[]", "m.json", &columns()).unwrap_err().to_string();
    assert!(error.contains("expected an object with 'measurements'"), "{error}");
    // What a spreadsheet writes above the header.
    let error = parse("sep=;\nt;x;v;u\n0;1;2;3\n").unwrap_err();
    assert!(
        error.contains("the column 't' is missing") && error.contains("a file needs t, x, v, u"),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    study.ask(&mut ()).unwrap();
    let said = refused(&mut study, |study| study.tell(None, Measured::default(), "m.json", Telling::More));
    assert!(said.contains("there is no measurement in it"), "{said}");
}

#[test]
fn a_writer_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let study = begin(folder.path());
    let at_once = Study::open_within(folder.path(), Duration::ZERO);
    assert!(matches!(at_once, Err(StudyError::Store(StoreError::InUse { .. }))));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Study::open_within(folder.path(), Duration::from_secs(20)).map(|_| ()));
        std::thread::sleep(Duration::from_millis(100));
        drop(study);
        waiting.join().unwrap().unwrap();
    });
}

/// Copies a study as a kill leaves it, with the log that `change` makes of the present one. Returns what is found there.
fn killed(from: &Path, to: &Path, writer: Option<u64>, change: impl FnOnce(&mut Vec<u8>)) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::copy(from.join("study.db"), to.join("study.db")).unwrap();
    let mut log = std::fs::read(from.join("study.db-wal")).unwrap();
    change(&mut log);
    std::fs::write(to.join("study.db-wal"), log).unwrap();
    if let Some(acknowledged) = writer {
        // No process has this number.
        let host = gethostname();
        let signature = format!(
            "{{\"pid\": 4194999, \"host\": \"{host}\", \"since\": \"2026-11-16T14:02:11Z\", \"acknowledged\": {acknowledged}}}\n"
        );
        std::fs::write(to.join("study.lock"), signature).unwrap();
    }
}

fn gethostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

#[test]
fn a_log_that_was_cut_off_or_changed_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live");
    let mut study = begin(&live);
    episode(&mut study);
    study.note("a").unwrap();
    study.note("b").unwrap();
    let head = study.store().head().0;
    let frame = 4096 + 24;
    let mut number = 0;
    let mut at = |writer: Option<u64>, change: &dyn Fn(&mut Vec<u8>)| {
        number += 1;
        let to = folder.path().join(number.to_string());
        killed(&live, &to, writer, change);
        let seen = |access: Access| {
            let study = Study::open(&to, access).unwrap();
            (study.store().head().0, study.store().interruption().map(ToString::to_string))
        };
        // A reader and the next writer say the same; then all is said.
        let read = seen(Access::Read);
        assert_eq!(seen(Access::Write), read);
        assert_eq!(seen(Access::Read).1, None);
        read
    };
    // Killed, and nothing is missing: nothing to say.
    assert_eq!(at(Some(head), &|_| ()), (head, None));
    assert_eq!(at(None, &|_| ()), (head, None));
    // Cut between two transactions: only the acknowledgement tells.
    let (last, said) = at(Some(head), &|log| log.truncate(log.len() - 2 * frame));
    let said = said.expect("two records are gone");
    assert!(last < head && said.contains("process 4194999"), "{last} of {head}: {said}");
    assert!(said.contains(&format!("ends at record {last}, {} later records", head - last)), "{said}");
    // Cut within a page, and changed within a page, with and without the writer's name.
    for writer in [Some(head), None] {
        let (last, said) = at(writer, &|log| log.truncate(log.len() - 100));
        let said = said.expect("the last transaction is torn");
        assert!(
            last < head && said.contains(&format!("{} bytes of its write-ahead log", frame - 100)),
            "{said}"
        );
        let (last, said) = at(writer, &|log| {
            let middle = log.len() - frame / 2;
            log[middle] ^= 1;
        });
        let said = said.expect("the last transaction is changed");
        assert!(last < head && said.contains("are cut off or changed"), "{said}");
    }
    // Nothing was in the database itself: without the log, all of it is gone, and that is not "there is no study".
    let to = folder.path().join("empty");
    killed(&live, &to, Some(head), |log| log.fill(0));
    for access in [Access::Read, Access::Write, Access::Write, Access::Read] {
        let error = Study::open(&to, access).err().unwrap();
        let StudyError::Store(StoreError::Damaged { record, .. }) = &error else { panic!("{error}") };
        assert!(record.contains(&format!("{head} later records were on disk")), "{record}");
    }
}

#[test]
fn a_truncated_database_gives_back_its_first_records() {
    let folder = tempfile::tempdir().unwrap();
    let (lab, cut) = (folder.path().join("lab"), folder.path().join("cut"));
    let mut study = begin(&lab);
    for i in 0..300 {
        study.note(&format!("note {i} {}", "x".repeat(500))).unwrap();
    }
    let head = study.store().head().0;
    drop(study);
    let whole = std::fs::read(lab.join("study.db")).unwrap();
    std::fs::create_dir(&cut).unwrap();
    let mut most = 0;
    for (i, share) in [0.3, 0.6, 0.893, 0.99].into_iter().enumerate() {
        let bytes = &whole[..(whole.len() as f64 * share) as usize];
        std::fs::write(cut.join("study.db"), bytes).unwrap();
        let error = Study::open(&cut, Access::Read).err().expect("it is damaged");
        let StudyError::Store(StoreError::Damaged { good, .. }) = error else { panic!("{error}") };
        let out = folder.path().join(format!("rescued {i}"));
        let saved = Study::salvage(&cut, &out).unwrap();
        assert!(saved > most && saved < head, "{saved} of {head} records at {share}");
        assert_eq!(good, saved, "what can be saved is said");
        assert_eq!(std::fs::read(cut.join("study.db")).unwrap(), bytes, "salvage changed the file");
        let study = Study::open(&out, Access::Read).unwrap();
        assert_eq!(study.history().notes.len() as u64, saved - 1);
        most = saved;
    }
    assert!(most > head * 9 / 10, "{most} of {head}");
    // Where nothing is intact, no empty study is made.
    std::fs::write(cut.join("study.db"), &whole[..5000]).unwrap();
    let out = folder.path().join("nothing");
    let error = Study::salvage(&cut, &out).unwrap_err().to_string();
    assert!(error.starts_with("no record of the study in") && !out.exists(), "{error}");
}

#[test]
fn a_replay_that_takes_too_long_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulated = Simulated::new(begin(folder.path()), 0.0).unwrap();
    simulated.next_episode(&mut ()).unwrap().unwrap();
    drop(simulated);
    let study = Study::open(folder.path(), Access::Read).unwrap();
    assert_eq!(run_again(&study, 0, Duration::ZERO).unwrap(), None);
    assert!(run_again(&study, 0, Duration::from_secs(60)).unwrap().is_some());
}

#[cfg(unix)]
#[test]
fn a_database_that_is_reached_by_a_link_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (lab, link) = (folder.path().join("lab"), folder.path().join("link"));
    let mut study = begin(&lab);
    std::fs::create_dir(&link).unwrap();
    std::os::unix::fs::symlink(lab.join("study.db"), link.join("study.db")).unwrap();
    let second = Study::open(&link, Access::Write).err().unwrap();
    assert!(matches!(second, StudyError::Store(StoreError::InUse { .. })), "{second}");
    assert_eq!(Store::writer(&link, FORM).map(|writer| writer.pid), Some(std::process::id()));
    study.note("by the folder").unwrap();
    drop(study);
    Study::open(&link, Access::Write).unwrap().note("by the link").unwrap();
    assert_eq!(Study::open(&lab, Access::Read).unwrap().history().notes, ["by the folder", "by the link"]);
    // A link to nowhere is no missing study: nothing may be created through it.
    let lost = folder.path().join("lost");
    std::fs::create_dir(&lost).unwrap();
    std::os::unix::fs::symlink(folder.path().join("nowhere.db"), lost.join("study.db")).unwrap();
    let error = Study::open(&lost, Access::Read).err().unwrap();
    assert!(matches!(error, StudyError::Store(StoreError::Disk { .. })), "{error}");
}

#[test]
fn a_folder_in_the_place_of_the_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("study.db")).unwrap();
    for access in [Access::Read, Access::Write] {
        let error = Study::open(folder.path(), access).err().unwrap().to_string();
        assert!(error.contains("it is a folder, not a file"), "{error}");
    }
}

#[test]
fn records_in_a_log_that_cannot_be_used_are_not_left_out_silently() {
    let folder = tempfile::tempdir().unwrap();
    let (live, copy) = (folder.path().join("live"), folder.path().join("copy"));
    let mut study = begin(&live);
    study.note("in the log").unwrap();
    killed(&live, &copy, None, |_| ());
    // Its index cannot be created: either SQLite does without it, or that is said.
    std::fs::create_dir(copy.join("study.db-shm")).unwrap();
    match Study::open(&copy, Access::Read) {
        Ok(study) => assert_eq!(study.history().notes, ["in the log"]),
        Err(error) => {
            assert!(error.to_string().contains("records in its write-ahead log"), "{error}");
        }
    }
    // A log that is empty is not missed.
    drop(study);
    let closed = folder.path().join("closed");
    std::fs::create_dir_all(closed.join("study.db-shm")).unwrap();
    std::fs::copy(live.join("study.db"), closed.join("study.db")).unwrap();
    std::fs::write(closed.join("study.db-wal"), "").unwrap();
    assert_eq!(Study::open(&closed, Access::Read).unwrap().history().notes, ["in the log"]);
}

#[test]
fn lines_may_end_with_carriage_returns() {
    let whole = "# cost: 2.5\nt,x,v,u\n0,1,2,3\n1,1,2,0.125\n";
    for text in [whole.to_owned(), whole.replace('\n', "\r\n"), whole.replace('\n', "\r")] {
        let read = parse(&text).unwrap();
        assert_eq!((read.rows.len(), read.ends[0].cost), (2, Some(2.5)), "{text:?}");
    }
}
