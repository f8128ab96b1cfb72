//! A study: a persistent learner with the ask/tell interface. Ask for the next episode, execute it, record the measurements; each step may
//! happen in another process and at another time.
//!
//! ```no_run
//! use ocorl_study::study::{Study, Telling};
//! use ocorl_study::{measured::Measured, price::Prices, system::System};
//! use std::path::Path;
//!
//! let system = System::find("pendulum")?;
//! let mut study = Study::create(Path::new("lab"), &system, system.settings.clone(), 0, Prices::default())?;
//! while let Some(plan) = study.ask(&mut ())? {            // the same plan again after a crash
//!     std::fs::write("plan.json", plan.text()?)?;         // … run it …
//!     let measured = Measured::load(Path::new("measured.csv"), &study.columns())?;
//!     study.tell(None, measured, "measured.csv", Telling::Whole)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `event` | the events and their JSON form |
//! | `findings` | the diagnosis of the data in words, with what cures it |
//! | `history` | the state folded from the events |
//! | `tables` | that state as tables of the database |
//! | `asking` | a proposal as `plan.json` |
//! | `telling` | validation of measurements before they are recorded |
//! | `checking` | consistency checks and recovery of a damaged study |
//! | `learning` | restores the learner |
//! | `journal` | the study as the journal of an episode loop |
//! | `status` | overview, and the value of the next episode |

mod asking;
mod checking;
mod event;
mod findings;
mod history;
mod journal;
mod learning;
mod status;
mod tables;
mod telling;

pub use checking::{FAR, Strange};
pub use event::{
    Applied, Closed, CostFrom, Created, End, Event, Imported, Marked, Proposed, Row, Selected, Status, Told,
};
pub use findings::{Cure, Notice};
pub use history::{EpisodeHistory, History};
pub use journal::{PendingPlan, StudyJournal};
pub use learning::{executed_of, learner_of};
pub use status::{Moments, NextWorth, Overview, Verdict};
pub use tables::FORM;
pub use telling::Punctuality;

use crate::measured::{Columns, Measured};
use crate::plan_file::{Learning, PlanFile};
use crate::price::Prices;
use crate::store::{Access, Record, Store, StoreError};
use crate::system::System;
use crate::user_error::{Hint, UserError};
use ocorl::event::Observer;
use ocorl::learn::{LearnError, Learner, Proposal, Settings, Time};
use ocorl::model::ModelError;
use ocorl::system::KnownSystem;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest number of measurements whose diagnosis is made when they are recorded; with more it is made when the next episode is planned.
const DIAGNOSED: usize = 1000;

/// Time between two attempts to open a study in which another process writes.
const PAUSE: Duration = Duration::from_millis(20);

/// Reason why a study rejects a request. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// Error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The request or the measurements are invalid.
    #[error(transparent)]
    Refused(#[from] UserError),
    /// Error of the learner.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Error of the model on imported data.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Effect of recording measurements on the episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// The episode is closed.
    Whole,
    /// The episode stays open: more measurements will follow.
    More,
    /// The measurements replace those recorded for the episode before.
    Correct,
}

/// Result of recording measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Number of the episode.
    pub episode: usize,
    /// Number of new measurements.
    pub stored: usize,
    /// Number of measurements that were recorded before.
    pub known: usize,
    /// Comparison with the requested measurement times.
    pub against: Punctuality,
    /// The closing event, if the episode is closed.
    pub closed: Option<Closed>,
    /// Warnings about unusual data.
    pub notes: Vec<String>,
}

/// What recording measurements would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsal {
    /// What recording them would answer.
    pub receipt: Receipt,
    /// The new measurements, ordered by initial state and time.
    pub rows: Vec<Row>,
    /// Residual of each under the model that planned the episode, in standard deviations of model and noise; `None` if unknown.
    pub residuals: Vec<Option<f64>>,
}

/// A study on disk.
pub struct Study {
    store: Store,
    history: History,
    system: System,
    /// The learner; `None` until it is first needed.
    learner: Option<Learner>,
    /// Total number of episodes.
    episodes: usize,
    /// Completed episodes whose learning is deferred until it can be observed.
    deferred: Option<Vec<usize>>,
}

impl Study {
    /// Creates a study in `folder`.
    pub fn create(
        folder: &Path,
        system: &System,
        settings: Settings,
        seed: u64,
        prices: Prices,
    ) -> Result<Self, StudyError> {
        if let Some(cause) = prices.error() {
            return Err(UserError::new(cause).into());
        }
        if let Some(clash) = Columns::of(&system.task).clash() {
            return Err(clash.error().into());
        }
        let created = Created {
            version: env!("CARGO_PKG_VERSION").into(),
            system: system.name.clone(),
            file: system.file.clone(),
            settings,
            seed,
            prices,
        };
        // Validates that learning can start with these settings.
        learning::new_learner(system, &created)?;
        let event = Event::Created(Box::new(created));
        let view = tables::named_view(&system.task);
        let store = Store::create_with(folder, FORM, std::slice::from_ref(&event), |transaction, _| {
            transaction.execute_batch(&view)
        })?;
        let mut history = History::default();
        history.take(event).map_err(UserError::new)?;
        Ok(Study::of(store, history, system.clone()))
    }

    /// Opens the study in `folder`, for reading or for continuing it.
    pub fn open(folder: &Path, access: Access) -> Result<Self, StudyError> {
        let mut history = History::default();
        let take =
            |record: Record| Event::read(&record.kind, &record.payload).and_then(|event| history.take(event));
        let store = Store::open(folder, FORM, access, take)?;
        let Some(created) = &history.created else {
            // A process died between creating the file and writing the first event.
            return Err(StoreError::Missing { what: FORM.name, folder: folder.into() }.into());
        };
        let system = System::restore(&created.system, created.file.as_deref())?;
        Ok(Study::of(store, history, system))
    }

    /// Opens the study for continuing it; waits up to `patience` while another process writes.
    pub fn open_within(folder: &Path, patience: Duration) -> Result<Self, StudyError> {
        let begin = Instant::now();
        loop {
            match Study::open(folder, Access::Write) {
                Err(StudyError::Store(StoreError::InUse { .. })) if begin.elapsed() < patience => {
                    std::thread::sleep(PAUSE.min(patience.saturating_sub(begin.elapsed())));
                }
                opened => return opened,
            }
        }
    }

    fn of(store: Store, history: History, system: System) -> Self {
        let episodes = history.created.as_ref().map_or(0, |created| created.settings.episodes);
        Study { store, history, system, learner: None, episodes, deferred: None }
    }

    /// Sets the total number of episodes, instead of the number in the settings.
    #[must_use]
    pub fn until(mut self, episodes: usize) -> Self {
        self.episodes = episodes;
        self
    }

    /// Adds the true dynamics of an externally simulated plant, for evaluation only. Nothing is learned from them.
    #[must_use]
    pub fn with_truth(mut self, truth: Option<KnownSystem>) -> Self {
        self.system.truth = truth;
        self
    }

    /// Opens the study in `folder` for continuing it, or creates it. An existing study must have the same system, settings and seed; the
    /// number of episodes may differ.
    pub fn open_or_create(
        folder: &Path,
        system: &System,
        settings: &Settings,
        seed: u64,
        prices: Prices,
    ) -> Result<Self, StudyError> {
        match Study::open(folder, Access::Write) {
            Err(StudyError::Store(StoreError::Missing { .. })) => {
                Study::create(folder, system, settings.clone(), seed, prices)
            }
            Ok(study) => {
                let created = study.created();
                let as_long = Settings { episodes: settings.episodes, ..created.settings.clone() };
                let same = created.system == system.name
                    && created.file == system.file
                    && as_long == *settings
                    && created.seed == seed;
                if same {
                    return Ok(study.until(settings.episodes));
                }
                let name = folder.display();
                Err(UserError::new(format!(
                    "'{name}' holds a study of another system, other settings or another seed"
                ))
                .detail("there", format!("{}, seed {}", created.system, created.seed))
                .hint("give another folder")
                .into())
            }
            other => other,
        }
    }

    /// Total number of episodes.
    pub fn episodes(&self) -> usize {
        self.episodes
    }

    /// The state folded from all events.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The creation event.
    pub fn created(&self) -> &Created {
        self.history.created.as_deref().expect("a study has begun")
    }

    /// The system of the study.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The store, for queries.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Column names of measurement files.
    pub fn columns(&self) -> Columns {
        Columns::of(&self.system.task)
    }

    /// The plan of the pending episode, byte for byte, or of a new one. `None` when the study is finished.
    pub fn ask(&mut self, observer: &mut dyn Observer) -> Result<Option<Arc<PlanFile>>, StudyError> {
        if let Some(pending) = self.history.pending() {
            return Ok(Some(pending.plan.clone()));
        }
        if self.over().is_some() {
            return Ok(None);
        }
        self.learner_observed(observer)?;
        self.diagnose()?;
        // The diagnosis may have changed the data, and with them the learner.
        self.learner_observed(observer)?;
        let created = self.created().clone();
        let name = self.name();
        let learner = self.learner.as_mut().expect("the learner was just made");
        let mut proposal = learner.propose(observer);
        let learning = learner.checkpoint().map(|memory| Learning {
            file: created.file.clone(),
            settings: created.settings.clone(),
            seed: created.seed,
            memory,
        });
        let plan = asking::plan_file(&self.system, &created.settings, &name, &mut proposal, learning);
        let event = Event::Proposed(Box::new(Proposed { episode: proposal.episode, plan }));
        self.keep(&[event])?;
        Ok(self.history.pending().map(|pending| pending.plan.clone()))
    }

    /// The pending episode as a proposal, to be executed in this process; planned first if there is none.
    pub fn proposal(&mut self, observer: &mut dyn Observer) -> Result<Option<Proposal>, StudyError> {
        if self.ask(observer)?.is_none() {
            return Ok(None);
        }
        Ok(Some(self.learner()?.proposal()))
    }

    /// Records measurements. When this returns, they are on disk.
    pub fn tell(
        &mut self,
        episode: Option<usize>,
        measured: Measured,
        source: &str,
        how: Telling,
    ) -> Result<Receipt, StudyError> {
        let (receipt, events) = self.telling(episode, measured, source, how)?;
        if events.is_empty() {
            return Ok(receipt);
        }
        self.keep(&events)?;
        if receipt.closed.is_some() && self.history.measurements() <= DIAGNOSED {
            // The measurements are on disk. A diagnosis that fails now is made again with the next proposal.
            let _ = self.diagnose();
        }
        Ok(receipt)
    }

    /// What recording these measurements would answer, and their residuals under the model that planned the episode. Stores nothing.
    pub fn rehearse(&self, measured: Measured) -> Result<Rehearsal, StudyError> {
        let (receipt, events) = self.telling(None, measured, "", Telling::Whole)?;
        let rows = events
            .into_iter()
            .find_map(|event| if let Event::Told(told) = event { Some(told.rows) } else { None });
        let rows = rows.unwrap_or_default();
        let residuals = self.residuals(receipt.episode, &rows)?.unwrap_or_else(|| vec![None; rows.len()]);
        Ok(Rehearsal { receipt, rows, residuals })
    }

    /// What recording measurements would answer, and the events that it would store.
    fn telling(
        &self,
        episode: Option<usize>,
        measured: Measured,
        source: &str,
        how: Telling,
    ) -> Result<(Receipt, Vec<Event>), StudyError> {
        let Measured { mut rows, controls, mut ends, episode: stated, mut notes } = measured;
        telling::without_unmeasured(&self.created().settings.states, &mut rows);
        let is_stated = episode.or(stated).is_some();
        let episode = self.told_episode(episode.or(stated), how)?;
        let known = self.history.episodes[episode].clone();
        let (mut rows, moved) = telling::checked(&self.system.task, known.plan.rollouts.len(), rows)?;
        notes.extend(moved);
        let (beyond, aborted) = telling::beyond_limits(&self.system.task, &rows, &ends);
        notes.extend(beyond);
        ends.retain(|end| aborted.iter().all(|new| new.start != end.start));
        ends.extend(aborted);
        self.fit(&rows)?;
        if !is_stated {
            self.is_of_another(episode, &rows)?;
        }
        let (mut controls, moved) =
            telling::checked_controls(&self.system.task, known.plan.rollouts.len(), controls)?;
        notes.extend(moved);
        if let Some(end) = ends.iter().find(|end| end.start >= known.plan.rollouts.len()) {
            return Err(refused(format!(
                "the end of a run from initial state {}, which the plan has not",
                end.start
            )));
        }
        for end in &ends {
            if self.created().settings.states.velocities.is_empty() {
                notes.extend(telling::checked_cost(&self.system.task, &known.plan, &rows, end)?);
            }
        }
        telling::match_asked(&known.plan, &mut rows);
        let (new, again) =
            if how == Telling::Correct { (rows, 0) } else { telling::new_rows(known.rows.iter(), rows)? };
        if known.closed.is_some() && how != Telling::Correct {
            return Ok((told_again(&known, &new, again, &ends, notes)?, Vec::new()));
        }
        if how != Telling::Correct {
            controls = telling::new_controls(known.told.iter().flat_map(|told| &told.controls), controls)?;
        }
        let says_nothing = new.is_empty() && again == 0 && controls.is_empty() && ends.is_empty();
        if how == Telling::More && says_nothing {
            return Err(refused("there is no measurement in it".into()));
        }
        if how == Telling::More && new.is_empty() && controls.is_empty() && known.has_said(&ends) {
            let against = telling::match_asked(&known.plan, &mut known.rows.clone());
            return Ok((
                Receipt { episode, stored: 0, known: again, against, closed: None, notes },
                Vec::new(),
            ));
        }
        let told = Told { episode, rows: new, controls, ends, source: source.into(), notes: notes.clone() };
        let mut after = known.clone();
        let stored = told.rows.len();
        if how == Telling::Correct {
            after.replace(told.clone());
        } else {
            after.add(told.clone());
        }
        if after.rows.is_empty() {
            return Err(UserError::new("there is no measurement in it")
                .detail("note", "nothing was stored")
                .hint(Hint::MarkFailed { study: self.folder() })
                .into());
        }
        // Measurement times are matched over all data of the episode, so that two partial recordings count as one.
        let against = telling::match_asked(&known.plan, &mut after.rows);
        let closed = (how != Telling::More || known.closed.is_some()).then(|| {
            let status = if against.missed > 0 { Status::Partial } else { Status::Complete };
            self.closing(&after, status)
        });
        let event = if how == Telling::Correct { Event::Corrected(told) } else { Event::Told(told) };
        let events: Vec<Event> = std::iter::once(event).chain(closed.clone().map(Event::Closed)).collect();
        Ok((Receipt { episode, stored, known: again, against, closed, notes }, events))
    }

    /// The episode that a recording request refers to.
    fn told_episode(&self, episode: Option<usize>, how: Telling) -> Result<usize, StudyError> {
        let pending = self.history.pending().map(|p| p.episode);
        let Some(episode) = episode.or(pending) else {
            return Err(UserError::new("no episode is pending")
                .detail("note", "nothing was stored")
                .hint(Hint::AskOrImport { study: self.folder() })
                .into());
        };
        let Some(known) = self.history.episodes.get(episode) else {
            let last = self.history.episodes.len();
            return Err(refused(format!("there is no episode {episode}; {last} were asked for")));
        };
        let discarded = known.closed.as_ref().is_some_and(|c| c.status == Status::Discarded);
        if discarded && how != Telling::Correct {
            return Err(refused(format!("episode {episode} was discarded")));
        }
        Ok(episode)
    }

    /// Rejects measurements that do not state their episode and of which at least half are, bit for bit, those of another one: an old file
    /// recorded again, perhaps with the rows that were missing then.
    fn is_of_another(&self, episode: usize, rows: &[Row]) -> Result<(), StudyError> {
        let others = self.history.episodes.iter().filter(|known| known.episode != episode);
        let found = others.map(|known| (telling::count_known(&known.rows, rows), known.episode));
        let Some((count, other)) = found.max().filter(|(count, _)| *count > 0 && 2 * count >= rows.len())
        else {
            return Ok(());
        };
        let of = rows.len();
        Err(UserError::new(format!("these are the measurements of episode {other}"))
            .detail(
                "cause",
                format!(
                    "{count} of {of} rows were recorded for it before, and the file does not state that it is of episode {episode}"
                ),
            )
            .detail("note", "nothing was stored")
            .hint(Hint::StateEpisode { episode })
            .into())
    }

    /// Checks that measurements contain what the model learns from.
    fn fit(&self, rows: &[Row]) -> Result<(), StudyError> {
        // In discrete time the model cannot learn from states alone.
        let needed = self.created().settings.time == Time::Discrete;
        Study::has_derivatives(if needed { rows } else { &[] })
    }

    /// Checks that every measurement has a derivative.
    fn has_derivatives(rows: &[Row]) -> Result<(), StudyError> {
        match rows.iter().find(|row| row.x_dot.is_none()) {
            Some(row) => Err(UserError::new(format!("the measurement at t = {} has no derivative", row.t))
                .detail("note", "nothing was stored")
                .hint("give the columns that end in _dot")
                .into()),
            None => Ok(()),
        }
    }

    /// The closing event of an episode.
    fn closing(&self, episode: &EpisodeHistory, status: Status) -> Closed {
        let (mut costs, mut from, mut outcomes) = (Vec::new(), CostFrom::Reported, Vec::new());
        for rollout in &episode.plan.rollouts {
            let end = episode.ends().rev().find(|end| end.start == rollout.start);
            let rows: Vec<&Row> = episode.rows.iter().filter(|row| row.start == rollout.start).collect();
            // Without all states the cost of a run is not known.
            let known = self.created().settings.states.velocities.is_empty();
            let rows = if known { rows } else { Vec::new() };
            let (cost, source) = telling::cost_of(&self.system.task, &rollout.initial_state, &rows, end);
            costs.push(cost);
            if source != CostFrom::Reported && from != CostFrom::Unknown {
                from = source;
            }
            outcomes.extend(end.and_then(|end| end.outcome.clone()));
        }
        let all: Option<Vec<f64>> = costs.into_iter().collect();
        let cost = all.map(|all| all.iter().sum::<f64>() / all.len() as f64);
        let outcome = match status {
            Status::Failed | Status::Discarded => episode.reason.clone().unwrap_or_default(),
            _ if outcomes.is_empty() => "not reported".into(),
            _ => outcomes.join("; "),
        };
        Closed {
            episode: episode.episode,
            status,
            outcome,
            cost,
            cost_from: from,
            measured: episode.rows.len(),
            asked: episode.plan.asked(),
        }
    }

    /// Marks the pending episode as failed; measurements taken until then are used.
    pub fn fail(&mut self, episode: Option<usize>, reason: &str) -> Result<Closed, StudyError> {
        let pending = self.history.pending().map(|p| p.episode);
        if let Some(pending) = pending.filter(|p| episode.is_none_or(|e| e == *p)) {
            return self.mark(pending, reason, Event::Failed, Status::Failed);
        }
        match episode {
            Some(episode) if episode < self.history.episodes.len() => {
                Err(UserError::new(format!("episode {episode} is over already")).hint(Hint::Discard).into())
            }
            Some(episode) => Err(refused(format!("there is no episode {episode}"))),
            None => Err(refused("no episode is pending".into())),
        }
    }

    /// Excludes an episode, completed or not, from learning.
    pub fn discard(&mut self, episode: usize, reason: &str) -> Result<Closed, StudyError> {
        match self.history.episodes.get(episode) {
            None => Err(refused(format!("there is no episode {episode}"))),
            Some(known) => match &known.closed {
                // Discarding twice has no further effect.
                Some(closed) if closed.status == Status::Discarded => Ok(closed.clone()),
                _ => self.mark(episode, reason, Event::Discarded, Status::Discarded),
            },
        }
    }

    /// Excludes rows of a completed episode from learning, or includes them again, whatever the model says about them. `numbers` count the
    /// rows of the episode from 1, in the order of their times. Returns the rows.
    pub fn select(
        &mut self,
        episode: usize,
        numbers: &[usize],
        reason: &str,
        include: bool,
    ) -> Result<Vec<(usize, f64)>, StudyError> {
        let Some(known) = self.history.episodes.get(episode) else {
            return Err(refused(format!("there is no episode {episode}")));
        };
        if !known.is_used() {
            let state = if known.closed.is_some() { "was discarded" } else { "is pending" };
            return Err(refused(format!("episode {episode} {state}: single rows cannot be selected")));
        }
        let count = known.rows.len();
        if let Some(wrong) = numbers.iter().find(|n| !(1..=count).contains(*n)) {
            return Err(refused(format!("episode {episode} has rows 1 to {count}, not {wrong}")));
        }
        let place = |n: &usize| (known.rows[n - 1].start, known.rows[n - 1].t);
        let rows: Vec<(usize, f64)> = numbers.iter().map(place).collect();
        let selected = Selected { episode, rows: rows.clone(), reason: reason.into() };
        self.keep(&[if include { Event::Included(selected) } else { Event::Excluded(selected) }])?;
        Ok(rows)
    }

    fn mark(
        &mut self,
        episode: usize,
        reason: &str,
        event: fn(Marked) -> Event,
        status: Status,
    ) -> Result<Closed, StudyError> {
        let mut after = self.history.episodes[episode].clone();
        after.reason = Some(reason.into());
        let closed = self.closing(&after, status);
        self.keep(&[event(Marked { episode, reason: reason.into() }), Event::Closed(closed.clone())])?;
        Ok(closed)
    }

    /// Learns from measurements that were not taken in an episode of this study. Returns the number of new ones.
    pub fn import(&mut self, measured: Measured, source: &str) -> Result<usize, StudyError> {
        self.import_all(vec![(source.into(), measured)])
    }

    /// Imports several logs, each with its source, in one transaction: all of them or none. Returns the number of new measurements.
    ///
    /// Each log has its own time axis, so equal times in two logs are two measurements. A row that was imported before, in whatever log,
    /// is not imported again.
    pub fn import_all(&mut self, logs: Vec<(String, Measured)>) -> Result<usize, StudyError> {
        let mut events = Vec::new();
        let mut known = telling::ImportedRows::default();
        for (_, imported) in &self.history.imports {
            known.add(&imported.source, &imported.rows);
        }
        let (mut count, mut run) = (0, self.history.imports.len());
        let several = logs.len() > 1;
        for (source, measured) in logs {
            let named = |error: StudyError| match error {
                StudyError::Refused(error) if several => {
                    StudyError::Refused(error.detail("file", source.clone()))
                }
                other => other,
            };
            let rows = self.checked_log(measured.rows, run).map_err(named)?;
            let new = known.new_rows(&source, rows).map_err(StudyError::from).map_err(named)?;
            if new.is_empty() {
                continue;
            }
            (count, run) = (count + new.len(), run + 1);
            events.push(Event::Imported(Imported { rows: new, source }));
        }
        if !events.is_empty() {
            self.keep(&events)?;
        }
        Ok(count)
    }

    /// Validates the rows of the log with number `run`. Its times may lie outside the episode.
    fn checked_log(&self, mut rows: Vec<Row>, run: usize) -> Result<Vec<Row>, StudyError> {
        let count = rows.len();
        for (i, row) in rows.iter_mut().enumerate() {
            (row.start, row.asked_t) = (0, None);
            let time = row.t;
            if time.is_finite() {
                row.t = 0.0;
            }
            telling::checked(&self.system.task, 1, vec![row.clone()]).map_err(|error| UserError {
                message: error.message.replace("1 of 1", &format!("{} of {count}", i + 1)),
                details: vec![("note", "nothing was stored".into())],
                hint: error.hint,
            })?;
            (row.t, row.start) = (time, run);
        }
        Study::has_derivatives(&rows)?;
        Ok(rows)
    }

    /// Records a note.
    pub fn note(&mut self, text: &str) -> Result<(), StudyError> {
        self.keep(&[Event::Note(text.into())])
    }

    /// Writes events to disk first, then applies them in memory, so that memory is never ahead of the disk.
    fn keep(&mut self, events: &[Event]) -> Result<(), StudyError> {
        // What the history would reject on the next reading must not reach the disk.
        events.iter().try_for_each(|event| self.history.accepts(event)).map_err(UserError::new)?;
        self.store.append(events, |transaction, first| {
            (first..).zip(events).try_for_each(|(seq, event)| tables::follow(transaction, seq, event))
        })?;
        for event in events {
            self.history.take(event.clone()).map_err(UserError::new)?;
        }
        self.learn_from(events);
        Ok(())
    }

    /// Folder of the study, for messages.
    fn folder(&self) -> String {
        self.store.folder().display().to_string()
    }

    /// Identifier of the study: name of the folder and the beginning of the first checksum.
    fn name(&self) -> String {
        let first =
            self.store
                .connection()
                .query_row("SELECT checksum FROM events WHERE seq = 1", [], |row| row.get::<_, String>(0));
        first.unwrap_or_default().chars().take(12).collect()
    }
}

/// Recording identical measurements again is accepted; other measurements for a closed episode are rejected.
fn told_again(
    known: &EpisodeHistory,
    new: &[Row],
    again: usize,
    ends: &[End],
    notes: Vec<String>,
) -> Result<Receipt, StudyError> {
    if !new.is_empty() || !known.has_said(ends) {
        return Err(UserError::new(format!(
            "episode {} is over, and this is not what was recorded for it",
            known.episode
        ))
        .detail("note", "nothing was stored")
        .hint(Hint::Correct)
        .into());
    }
    let against = telling::match_asked(&known.plan, &mut known.rows.clone());
    let closed = known.closed.clone();
    Ok(Receipt { episode: known.episode, stored: 0, known: again, against, closed, notes })
}

fn refused(message: String) -> StudyError {
    UserError::new(message).detail("note", "nothing was stored").into()
}
