//! Rounds of an operator, a second operator and a reader at a rig where everything fails: drawn from a seed, replayed from a seed.

use super::model::Account;
use super::{Faults, Fired, bury, last, measured, row, scratch, system, tiny, with_faults};
use ocorl::random::{Rng, Stream};
use ocorl_study::measured::Measured;
use ocorl_study::plan_file::PlanFile;
use ocorl_study::price::Prices;
use ocorl_study::store::{Access, DiskFault, StoreError};
use ocorl_study::study::{Row, Status, Study, StudyError, Telling};
use ocorl_study::system::System;
use std::path::PathBuf;

/// Number of rounds of one seed, on one study.
const ROUNDS: usize = 80;

/// Seeds beyond those of a normal test run that have found something.
const FOUND: [u64; 3] = [56, 477, 792];

/// What happens in a round.
#[derive(Clone, Debug)]
enum Act {
    Ask,
    /// The rows with these indices, of this version of the run; as a whole, as a part, or with the number of the episode.
    Tell {
        episode: usize,
        stated: bool,
        rows: Vec<usize>,
        version: usize,
        how: Telling,
    },
    /// A file with something impossible in it.
    Bad(usize),
    Fail,
    Discard(usize),
    Import(Vec<usize>),
    Note(usize),
    /// A reader opens the study and keeps it open for some rounds.
    Read,
    SecondWriter,
    /// The writer ends its session.
    Close,
    /// The wall clock jumps.
    Clock(i64),
    /// A call fails soon.
    Arm(&'static str, usize),
    /// The process dies; with the power.
    Die(bool),
}

/// A simulated laboratory.
struct Laboratory<'a> {
    faults: &'a Faults,
    system: System,
    seed: u64,
    folder: PathBuf,
    writer: Option<Study>,
    reader: Option<(Study, Account)>,
    account: Account,
    /// What the acts that failed since the last record may have done.
    uncertain: Vec<Uncertain>,
    armed: Option<&'static str>,
    rng: Rng,
    trace: Vec<String>,
}

/// What an act that failed may have done. It may show only when the study is opened again: as long as nothing else is recorded, a transaction
/// whose last call failed can be on disk, and the next process that reads the log from its beginning finds it.
enum Uncertain {
    /// The study is as in this account.
    Perhaps(Account),
    /// The study has a new plan.
    NewPlan,
}

/// How an act ended.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Done,
    /// Refused as a mistake of the user.
    Refused,
    /// The disk, or a process that died.
    Failed(String),
}

fn answer<T>(result: Result<T, StudyError>) -> Answer {
    match result {
        Ok(_) => Answer::Done,
        Err(StudyError::Refused(error)) => {
            assert!(!error.message.is_empty());
            Answer::Refused
        }
        Err(StudyError::Store(error)) => Answer::Failed(match &error {
            StoreError::Damaged { record, .. } => format!("damaged: {record}"),
            StoreError::Disk { fault, cause, .. } => format!("disk: {fault:?}, {cause}"),
            StoreError::Poisoned(_) => "poisoned".into(),
            other => other.to_string(),
        }),
        Err(other) => Answer::Failed(other.to_string()),
    }
}

/// The log with this number, to be imported.
fn log(seed: u64, number: usize) -> Vec<Row> {
    (0..2)
        .map(|i| {
            let mut rng = Stream::root(seed).child("log").index(number).index(i).rng();
            let (x, u) = (vec![rng.normal(), rng.normal()], vec![0.0]);
            let x_dot = Some(vec![x[1], (1.0 - x[0] * x[0]) * x[1] - x[0]]);
            Row { start: 0, t: 0.5 * i as f64, x, u, x_dot, asked_t: None, interval: None }
        })
        .collect()
}

impl Laboratory<'_> {
    /// Draws what happens next.
    fn draw(&mut self) -> Act {
        let rng = &mut self.rng;
        let count = self.account.episodes.len();
        let any = if count > 0 { rng.below(count) } else { 0 };
        let pending = self.account.pending();
        let at = pending.unwrap_or(any);
        let told = |episode, stated, rows, how| Act::Tell { episode, stated, rows, version: 0, how };
        match rng.below(100) {
            0..=13 => Act::Ask,
            14..=25 => told(at, false, vec![0, 1, 2], Telling::Whole),
            26..=33 => told(at, rng.below(2) == 0, vec![rng.below(3)], Telling::More),
            34..=36 => told(at, false, vec![1, 2], Telling::Whole),
            // The file of another episode, with and without its number.
            37..=42 => told(any, rng.below(2) == 0, vec![0, 1, 2], Telling::Whole),
            // Another run of the same episode: other values at the same times.
            43..=46 => {
                let how = [Telling::Whole, Telling::More, Telling::Correct][rng.below(3)];
                Act::Tell { episode: any, stated: true, rows: vec![0, 2], version: 1 + rng.below(2), how }
            }
            47..=50 => Act::Bad(rng.below(6)),
            51..=53 => Act::Fail,
            54..=55 => Act::Discard(rng.below(count + 1)),
            56..=59 => Act::Import((0..=rng.below(2)).map(|_| rng.below(6)).collect()),
            60..=64 => Act::Note(rng.below(1000)),
            65..=71 => Act::Read,
            72..=75 => Act::SecondWriter,
            76..=81 => Act::Close,
            82..=83 => Act::Clock([-3, -1, 0, 1, 100][rng.below(5)] * 31_557_600),
            84..=94 => Act::Arm(["eio", "full", "short", "crash", "torn"][rng.below(5)], 1 + rng.below(60)),
            _ => Act::Die(rng.below(2) == 0),
        }
    }

    /// What must come of an act on the study: the account after it, or a refusal. `None`: nobody can say (a new plan).
    fn expected(&self, act: &Act) -> Option<Result<Account, ()>> {
        let mut after = self.account.clone();
        let pending = after.pending();
        Some(match act {
            Act::Ask if pending.is_none() && after.episodes.len() < tiny(&self.system).episodes => {
                return None;
            }
            Act::Tell { episode, stated, rows, version, how } => {
                // A file without a number is of the pending episode.
                let Some(target) = (if *stated { Some(*episode) } else { pending }) else {
                    return Some(Err(()));
                };
                if target >= after.episodes.len() {
                    return Some(Err(()));
                }
                if after.tell(target, *stated, (*episode, *version), rows, *how) {
                    Ok(after)
                } else {
                    Err(())
                }
            }
            Act::Bad(_) => Err(()),
            Act::Fail => match pending {
                None => Err(()),
                Some(at) => {
                    after.episodes[at].status = Some(Status::Failed);
                    after.episodes[at].reason = Some("a fault".into());
                    Ok(after)
                }
            },
            Act::Discard(at) => match after.episodes.get_mut(*at) {
                None => Err(()),
                Some(known) => {
                    if known.status != Some(Status::Discarded) {
                        known.status = Some(Status::Discarded);
                        known.reason = Some("not wanted".into());
                    }
                    Ok(after)
                }
            },
            Act::Import(numbers) => {
                for number in numbers {
                    if !after.imports.contains(number) {
                        after.imports.push(*number);
                    }
                }
                Ok(after)
            }
            Act::Note(number) => {
                after.notes.push(format!("note {number}"));
                Ok(after)
            }
            _ => Ok(after),
        })
    }

    /// Acts on the study of the open writer.
    fn act(&mut self, act: &Act) -> Answer {
        let study = self.writer.as_mut().expect("a writer");
        let (system, seed) = (&self.system, self.seed);
        match act {
            Act::Ask => {
                let pending = self.account.pending();
                let result = study.ask(&mut ());
                if let (Ok(Some(plan)), Some(at)) = (&result, pending) {
                    assert!(*plan == self.account.episodes[at].plan, "another plan for the pending episode");
                }
                answer(result)
            }
            Act::Tell { episode, stated, rows, version, how } => {
                let Some(known) = self.account.episodes.get(*episode) else {
                    return answer(study.tell(stated.then_some(*episode), Measured::default(), "rig", *how));
                };
                let file = measured(system, &known.plan, seed, *version, rows);
                answer(study.tell(stated.then_some(*episode), file, "rig", *how))
            }
            Act::Bad(kind) => {
                let (count, open) = (self.account.episodes.len(), self.account.pending());
                let Some(known) = self.account.episodes.get(open.unwrap_or(0)) else {
                    return answer(study.tell(Some(count), Measured::default(), "rig", Telling::Whole));
                };
                let mut bad = measured(system, &known.plan, seed, 3, &[0, 1]);
                match kind {
                    0 => bad.rows[1].x[0] = f64::NAN,
                    1 => bad.rows[0].t = -1.0,
                    2 => bad.rows[1].u.push(0.0),
                    3 => bad.rows[0].x_dot = Some(vec![f64::INFINITY, 0.0]),
                    4 => bad.ends[0].cost = Some(-1e308),
                    _ => bad.rows[1].start = 7,
                }
                answer(study.tell(open.or(Some(0)), bad, "rig", Telling::More))
            }
            Act::Fail => answer(study.fail(None, "a fault")),
            Act::Discard(at) => answer(study.discard(*at, "not wanted")),
            Act::Import(numbers) => {
                let one =
                    |n: &usize| (format!("{n}.csv"), Measured { rows: log(seed, *n), ..Measured::default() });
                answer(study.import_all(numbers.iter().map(one).collect()))
            }
            Act::Note(number) => answer(study.note(&format!("note {number}"))),
            other => unreachable!("{other:?} is no act on the study"),
        }
    }

    fn fail(&self, what: &str) -> ! {
        panic!(
            "seed {}, round {}: {what}\n{}replay: OCORL_SEED={} cargo xtask soak simulation",
            self.seed,
            self.trace.len(),
            last(&self.trace, 25),
            self.seed
        );
    }

    fn difference(&self, account: &Account, study: &Study) -> Option<String> {
        let rows = |plan: &PlanFile, i: usize, version: usize| row(&self.system, plan, self.seed, version, i);
        account.differs(study.history(), rows, |number| log(self.seed, number))
    }

    /// Ends the fault that is armed. A process in which a file system died is dead; its files are what they are.
    fn calm(&mut self, power: bool) -> Fired {
        let crashed = matches!(self.armed.take(), Some("crash" | "torn"));
        let fired = self.faults.calm();
        if crashed && fired.fired {
            self.reader = None;
            if power {
                self.faults.cut_power(self.rng.below(1 << 30) as u64);
            }
            bury(&self.folder);
        }
        fired
    }

    /// Drops the writer, with the fault still in force: what it would still write is not written.
    fn drop_writer(&mut self, power: bool) -> Fired {
        self.writer = None;
        if matches!(self.armed, Some("crash" | "torn")) {
            self.reader = None;
        }
        self.calm(power)
    }

    /// Compares a study that was just opened with the account, and settles what an act that failed has done. Returns the difference.
    fn settle(&mut self, study: &Study) -> Option<String> {
        let difference = self.difference(&self.account, study)?;
        let possible = self.uncertain.drain(..).map(|uncertain| match uncertain {
            Uncertain::Perhaps(account) => account,
            Uncertain::NewPlan => self.account.planned(study.history()),
        });
        let possible: Vec<Account> = possible.collect();
        match possible.into_iter().find(|account| self.difference(account, study).is_none()) {
            Some(account) => {
                self.account = account;
                None
            }
            None => Some(difference),
        }
    }

    /// Opens the study for writing. A reader in another process would not share SQLite's state with the writer; here it does, and may keep the
    /// index of the log, which could not be opened for writing because of a fault, in a read-only state.
    fn opened(&mut self) -> Result<Study, StudyError> {
        match Study::open(&self.folder, Access::Write) {
            Err(StudyError::Store(StoreError::Disk { fault: DiskFault::Permission, .. }))
                if self.reader.take().is_some() =>
            {
                Study::open(&self.folder, Access::Write)
            }
            opened => opened,
        }
    }

    /// Opens the writer, which must succeed without a fault, and compares the study with the account.
    fn open(&mut self) {
        let study = match self.writer.take().map_or_else(|| self.opened(), Ok) {
            Ok(study) => study,
            Err(error) => self.fail(&format!("it does not open: {error:?}")),
        };
        if let Some(interruption) = study.store().interruption().filter(|found| found.lost() > 0) {
            self.fail(&format!("records are missing: {interruption}"));
        }
        match study.stale_tables() {
            Ok(stale) if stale.is_empty() => {}
            other => self.fail(&format!("its tables disagree with its events: {other:?}")),
        }
        if let Some(difference) = self.settle(&study) {
            self.fail(&difference);
        }
        self.writer = Some(study);
    }

    /// One round.
    fn round(&mut self) {
        let act = self.draw();
        let said = match &act {
            Act::Clock(seconds) => {
                self.faults.move_clock(*seconds);
                String::new()
            }
            Act::Arm(mode, call) => {
                if self.armed.is_none() {
                    self.faults.arm(mode, *call);
                    self.armed = Some(mode);
                }
                String::new()
            }
            Act::Close => format!("{:?}", self.drop_writer(false)),
            Act::Die(power) => {
                if self.armed.is_none() {
                    self.faults.arm("crash", 1);
                    self.armed = Some("crash");
                }
                format!("{:?}", self.drop_writer(*power))
            }
            Act::Read => self.read(),
            Act::SecondWriter => {
                let held = self.writer.is_some();
                match self.opened() {
                    Err(StudyError::Store(StoreError::InUse { .. })) if held => {}
                    Err(_) if self.armed.is_some() => {}
                    Ok(_) if !held => {}
                    other => self.fail(&format!("a second writer, held {held}: {:?}", other.map(|_| ()))),
                }
                String::new()
            }
            act => self.change(act),
        };
        self.trace.push(format!("{act:?} {said}"));
    }

    /// The session begins with what is armed. If that makes it fail, what happened is returned.
    fn begin(&mut self) -> Result<(), String> {
        if self.writer.is_some() {
            return Ok(());
        }
        match self.opened() {
            Ok(study) => {
                if let Some(difference) = self.settle(&study) {
                    self.fail(&difference);
                }
                self.writer = Some(study);
                Ok(())
            }
            Err(error) if self.armed.is_some() => {
                let said = answer::<()>(Err(error));
                let fired = self.drop_writer(false);
                let damaged = matches!(&said, Answer::Failed(cause) if cause.starts_with("damaged"));
                if !fired.fired || damaged {
                    self.fail(&format!("it does not open: {said:?}"));
                }
                self.open();
                Err(format!("not opened, {said:?} {fired:?}"))
            }
            Err(error) => self.fail(&format!("it does not open: {error:?}")),
        }
    }

    /// An act on the study, with what must come of it.
    fn change(&mut self, act: &Act) -> String {
        if let Err(happened) = self.begin() {
            return happened;
        }
        let head = |study: &Option<Study>| study.as_ref().map(|study| study.store().head().0);
        let (expected, before) = (self.expected(act), head(&self.writer));
        let answer = self.act(act);
        match (&answer, expected) {
            (Answer::Done, Some(Ok(after))) => self.account = after,
            (Answer::Done, None) => {
                let study = self.writer.as_ref().expect("a writer");
                self.account = self.account.planned(study.history());
            }
            (Answer::Refused, Some(Err(()))) => {}
            (Answer::Failed(cause), expected) if self.armed.is_some() && !cause.starts_with("damaged") => {
                let power = self.rng.below(2) == 0;
                let fired = self.drop_writer(power);
                if !fired.fired {
                    self.fail(&format!("{act:?} failed without a fault: {answer:?}"));
                }
                self.uncertain.extend(match expected {
                    None => Some(Uncertain::NewPlan),
                    Some(after) => after.ok().map(Uncertain::Perhaps),
                });
                self.open();
                return format!("{answer:?} {fired:?}");
            }
            (answer, expected) => {
                self.fail(&format!("{act:?}: {answer:?}, expected {:?}", expected.map(|e| e.is_ok())))
            }
        }
        if head(&self.writer) != before {
            self.uncertain.clear();
        }
        // In memory it is what it must be; on disk it is compared when it is opened again, and by readers.
        let study = self.writer.as_ref().expect("a writer");
        if let Some(difference) = self.difference(&self.account, study) {
            self.fail(&format!("{act:?}: {difference}"));
        }
        format!("{answer:?}")
    }

    /// A reader sees what was acknowledged, now and later.
    fn read(&mut self) -> String {
        if let Some((study, account)) = self.reader.take() {
            if let Some(difference) = self.difference(&account, &study) {
                self.fail(&format!("a reader's study changed: {difference}"));
            }
            return "a reader ends".into();
        }
        match Study::open(&self.folder, Access::Read) {
            Ok(study) => {
                if let Some(difference) = self.settle(&study) {
                    self.fail(&format!("a reader sees {difference}"));
                }
                self.reader = Some((study, self.account.clone()));
                "a reader begins".into()
            }
            Err(error) if self.armed.is_some() => {
                let said = answer::<()>(Err(error));
                if matches!(&said, Answer::Failed(cause) if cause.starts_with("damaged")) {
                    self.fail(&format!("a reader calls it damaged: {said:?}"));
                }
                format!("{said:?}")
            }
            Err(error) => self.fail(&format!("a reader: {error:?}")),
        }
    }
}

/// All rounds of one seed; the trace of what happened.
fn rounds(faults: &Faults, seed: u64) -> Vec<String> {
    let root = scratch();
    let folder = root.path().join("lab");
    faults.watch(&folder);
    let mut laboratory = Laboratory {
        faults,
        system: system(),
        seed,
        folder,
        writer: None,
        reader: None,
        account: Account::default(),
        uncertain: Vec::new(),
        armed: None,
        rng: Stream::root(seed).child("simulation").rng(),
        trace: Vec::new(),
    };
    let settings = tiny(&laboratory.system);
    let made = Study::create(&laboratory.folder, &laboratory.system, settings, seed, Prices::default());
    laboratory.writer = Some(made.expect("a study"));
    for _ in 0..ROUNDS {
        laboratory.round();
    }
    // At the end, without faults, everything is there.
    laboratory.drop_writer(false);
    laboratory.open();
    laboratory.drop_writer(false);
    faults.move_clock(0);
    laboratory.trace
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn whatever_fails_the_study_holds_what_was_acknowledged() {
    with_faults("simulation::rounds::whatever_fails_the_study_holds_what_was_acknowledged", |faults| {
        let count = number("OCORL_ROUNDS").unwrap_or(2_400);
        let seeds = match number("OCORL_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..count.div_ceil(ROUNDS as u64),
        };
        let (mut failures, mut all) = (0, 0);
        let found = FOUND.into_iter().filter(|seed| !seeds.contains(seed) && seeds.start == 0);
        for seed in seeds.clone().chain(found) {
            let trace = rounds(faults, seed);
            if number("OCORL_SEED").is_some() {
                println!("{}", last(&trace, ROUNDS));
            }
            failures += trace.iter().filter(|line| line.contains("Failed(")).count();
            all += trace.len();
        }
        println!("simulation: {all} rounds of {} seeds, {failures} acts failed by a fault", all / ROUNDS);
        // The same seed gives the same rounds.
        assert_eq!(rounds(faults, seeds.start), rounds(faults, seeds.start));
    });
}
