//! A study: a learner with a memory that survives anything. Ask for the next episode, run it, tell what was measured; today, tomorrow, from
//! another process.
//!
//! ```no_run
//! use ocorl_study::study::{Study, Telling};
//! use ocorl_study::{measured::Measured, price::Prices, system::System};
//! use std::path::Path;
//!
//! let system = System::find("pendulum")?;
//! let mut study = Study::create(Path::new("lab"), &system, system.settings.clone(), 0, Prices::default())?;
//! while let Some(plan) = study.ask(&mut ())? {            // the same plan again after a crash
//!     std::fs::write("plan.json", plan.text())?;          // … run it …
//!     let measured = Measured::load(Path::new("measured.csv"), &study.columns())?;
//!     study.tell(None, measured, "measured.csv", Telling::Whole)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `event` | what can happen, as it is written down |
//! | `history` | what follows from that |
//! | `tables` | the same as tables of the database |
//! | `asking` | a proposal as a file |
//! | `telling` | what is told, looked at before it is kept |
//! | `checking` | tables against events, measurements against the model, what can be saved of a damaged study |
//! | `learning` | the learner made again |
//! | `status` | what a study knows, and what to do next |

mod asking;
mod checking;
mod event;
mod history;
mod learning;
mod status;
mod tables;
mod telling;

pub use checking::Strange;
pub use event::{
    Applied, Closed, CostFrom, Created, End, Event, Imported, Marked, Proposed, Row, Status, Told,
};
pub use history::{EpisodeHistory, History};
pub use learning::{executed_of, learner_of, legs};
pub use status::{Moments, NextWorth, Overview, Verdict};
pub use tables::FORM;
pub use telling::Against;

use crate::measured::{Columns, Measured};
use crate::mistake::Mistake;
use crate::plan_file::{Learning, PlanFile};
use crate::price::Prices;
use crate::store::{Access, Record, Store, StoreError};
use crate::system::System;
use ocorl::event::Observer;
use ocorl::learn::{LearnError, Learner, Proposal, Settings, Time};
use ocorl::model::ModelError;
use ocorl::system::Benchmark;
use std::path::Path;
use std::sync::Arc;

/// Why a study does not do what it is asked. Nothing was changed, unless it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was asked or told.
    #[error(transparent)]
    Refused(#[from] Mistake),
    /// The learner.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The model, from data that were imported.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// What a `tell` does beside keeping the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// The episode is over.
    Whole,
    /// More will come.
    More,
    /// What was told of the episode before is replaced.
    Correct,
}

/// What became of a `tell`.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Of which episode.
    pub episode: usize,
    /// Measurements that are new.
    pub stored: usize,
    /// Measurements that were told before.
    pub known: usize,
    /// What became of what was asked.
    pub against: Against,
    /// The end of the episode, if it is over.
    pub closed: Option<Closed>,
    /// What was unusual.
    pub notes: Vec<String>,
}

/// A study on disk.
pub struct Study {
    store: Store,
    history: History,
    system: System,
    /// What has been learned; none until somebody needs it.
    learner: Option<Learner>,
    /// Episodes there will be.
    episodes: usize,
    /// Episodes that are over and not learned from yet, because somebody wants to watch that.
    deferred: Option<Vec<usize>>,
}

impl Study {
    /// Begins a study in `folder`.
    pub fn create(
        folder: &Path,
        system: &System,
        settings: Settings,
        seed: u64,
        prices: Prices,
    ) -> Result<Self, StudyError> {
        if let Some(cause) = prices.mistake() {
            return Err(Mistake::new(cause).into());
        }
        let created = Created {
            version: env!("CARGO_PKG_VERSION").into(),
            system: system.name.clone(),
            file: system.file.clone(),
            settings,
            seed,
            prices,
        };
        // Finds out whether learning can begin at all.
        learning::new_learner(system, &created)?;
        let event = Event::Created(Box::new(created));
        let view = tables::named_view(&system.task);
        let store = Store::create_with(folder, FORM, &[event.written()], |transaction, _| {
            transaction.execute_batch(&view)
        })?;
        let mut history = History::default();
        history.take(event).map_err(Mistake::new)?;
        Ok(Study::of(store, history, system.clone()))
    }

    /// Opens the study in `folder`, to look or to go on.
    pub fn open(folder: &Path, access: Access) -> Result<Self, StudyError> {
        let mut history = History::default();
        let take =
            |record: Record| Event::read(&record.kind, &record.payload).and_then(|event| history.take(event));
        let store = Store::open(folder, FORM, access, take)?;
        let Some(created) = &history.created else {
            // A process died between making the file and writing the first event.
            return Err(StoreError::Missing { what: FORM.name, folder: folder.into() }.into());
        };
        let system = System::restore(&created.system, created.file.as_deref())?;
        Ok(Study::of(store, history, system))
    }

    fn of(store: Store, history: History, system: System) -> Self {
        let episodes = history.created.as_ref().map_or(0, |created| created.settings.episodes);
        Study { store, history, system, learner: None, episodes, deferred: None }
    }

    /// Asks for this many episodes in all, instead of as many as it began with.
    #[must_use]
    pub fn until(mut self, episodes: usize) -> Self {
        self.episodes = episodes;
        self
    }

    /// With equations that no file of it tells: those of a plant that somebody else simulates. Nothing is learned from them.
    #[must_use]
    pub fn with_truth(mut self, truth: Option<Benchmark>) -> Self {
        self.system.truth = truth;
        self
    }

    /// Opens the study in `folder` to go on, or begins it. One that is there must be of the same system, settings and seed; the number of
    /// episodes may be another.
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
                Err(Mistake::new(format!(
                    "'{name}' holds a study of another system, other settings or another seed"
                ))
                .detail("there", format!("{}, seed {}", created.system, created.seed))
                .hint("give another folder")
                .into())
            }
            other => other,
        }
    }

    /// Episodes there will be.
    pub fn episodes(&self) -> usize {
        self.episodes
    }

    /// All events, folded.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// How it began.
    pub fn created(&self) -> &Created {
        self.history.created.as_deref().expect("a study has begun")
    }

    /// What is learned.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The store, for queries.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What SQLite says, as an error of the store.
    fn unreadable(&self, error: &rusqlite::Error) -> StudyError {
        StoreError::sqlite(FORM.name, self.store.file(), error, self.store.head().0).into()
    }

    /// The names in files of measurements.
    pub fn columns(&self) -> Columns {
        Columns::of(&self.system.task)
    }

    /// The next episode: the pending one, to the byte, or a new one. None when the study is over.
    pub fn ask(&mut self, observer: &mut dyn Observer) -> Result<Option<Arc<PlanFile>>, StudyError> {
        if let Some(pending) = self.history.pending() {
            return Ok(Some(pending.plan.clone()));
        }
        if self.over().is_some() {
            return Ok(None);
        }
        self.learner()?;
        let created = self.created().clone();
        let name = self.name();
        let learner = self.learner.as_mut().expect("the learner was just made");
        let mut proposal = learner.propose(observer);
        let small = learner.data().len() <= created.settings.model.exact_limit;
        let memory = learner.memory().filter(|_| small);
        let learning = memory.map(|memory| Learning {
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

    /// The pending episode, to be run here; asked for first if need be.
    pub fn proposal(&mut self, observer: &mut dyn Observer) -> Result<Option<Proposal>, StudyError> {
        if self.ask(observer)?.is_none() {
            return Ok(None);
        }
        Ok(Some(self.learner()?.proposal()))
    }

    /// Keeps what was measured. When this returns, it is on disk.
    pub fn tell(
        &mut self,
        episode: Option<usize>,
        measured: Measured,
        source: &str,
        how: Telling,
    ) -> Result<Receipt, StudyError> {
        let Measured { rows, controls, ends, episode: stated, mut notes } = measured;
        let episode = self.told_episode(episode.or(stated), how)?;
        let known = self.history.episodes[episode].clone();
        let (mut rows, moved) = telling::checked(&self.system.task, known.plan.legs.len(), rows)?;
        notes.extend(moved);
        self.fit(&rows)?;
        let mut controls = telling::checked_controls(&self.system.task, known.plan.legs.len(), controls)?;
        if let Some(end) = ends.iter().find(|end| end.start >= known.plan.legs.len()) {
            return Err(refused(format!(
                "the end of a run from initial state {}, which the plan has not",
                end.start
            )));
        }
        telling::match_asked(&known.plan, &mut rows);
        let (new, again) =
            if how == Telling::Correct { (rows, 0) } else { telling::new_rows(known.rows.iter(), rows)? };
        if known.closed.is_some() && how != Telling::Correct {
            return told_again(&known, &new, again, &ends, notes);
        }
        if how != Telling::Correct {
            controls.retain(|control| known.told.iter().all(|told| !told.controls.contains(control)));
        }
        if how == Telling::More && new.is_empty() && controls.is_empty() && known.has_said(&ends) {
            let against = telling::match_asked(&known.plan, &mut known.rows.clone());
            return Ok(Receipt { episode, stored: 0, known: again, against, closed: None, notes });
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
            return Err(Mistake::new("there is no measurement in it")
                .detail("note", "nothing was stored")
                .hint(format!("an episode that gave nothing: ocorl study fail {}", self.folder()))
                .into());
        }
        // Times are matched over all that is known of the episode, so that two halves count as one whole.
        let against = telling::match_asked(&known.plan, &mut after.rows);
        let closed = (how != Telling::More || known.closed.is_some()).then(|| {
            let status = if against.missed > 0 { Status::Partial } else { Status::Complete };
            self.closing(&after, status)
        });
        let event = if how == Telling::Correct { Event::Corrected(told) } else { Event::Told(told) };
        let events: Vec<Event> = std::iter::once(event).chain(closed.clone().map(Event::Closed)).collect();
        self.keep(&events)?;
        Ok(Receipt { episode, stored, known: again, against, closed, notes })
    }

    /// Which episode a `tell` is about.
    fn told_episode(&self, episode: Option<usize>, how: Telling) -> Result<usize, StudyError> {
        let pending = self.history.pending().map(|p| p.episode);
        let Some(episode) = episode.or(pending) else {
            return Err(Mistake::new("no episode is pending")
                .detail("note", "nothing was stored")
                .hint(format!(
                    "ask for one: ocorl study ask {0}; or for old logs: ocorl study import {0} FILE",
                    self.folder()
                ))
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

    /// Measurements must be of what is learned.
    fn fit(&self, rows: &[Row]) -> Result<(), StudyError> {
        // From states alone nothing is learned in discrete time.
        let needed = self.created().settings.time == Time::Discrete;
        Study::has_derivatives(if needed { rows } else { &[] })
    }

    /// Every measurement has a derivative.
    fn has_derivatives(rows: &[Row]) -> Result<(), StudyError> {
        match rows.iter().find(|row| row.x_dot.is_none()) {
            Some(row) => Err(Mistake::new(format!("the measurement at t = {} has no derivative", row.t))
                .detail("note", "nothing was stored")
                .hint("give the columns that end in _dot")
                .into()),
            None => Ok(()),
        }
    }

    /// The end of an episode.
    fn closing(&self, episode: &EpisodeHistory, status: Status) -> Closed {
        let (mut costs, mut from, mut outcomes) = (Vec::new(), CostFrom::Reported, Vec::new());
        for leg in &episode.plan.legs {
            let end = episode.ends().rev().find(|end| end.start == leg.start);
            let rows: Vec<&Row> = episode.rows.iter().filter(|row| row.start == leg.start).collect();
            let (cost, source) = telling::cost_of(&self.system.task, &leg.initial_state, &rows, end);
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

    /// The pending episode failed; what was measured until then counts.
    pub fn fail(&mut self, episode: Option<usize>, reason: &str) -> Result<Closed, StudyError> {
        let pending = self.history.pending().map(|p| p.episode);
        if let Some(pending) = pending.filter(|p| episode.is_none_or(|e| e == *p)) {
            return self.mark(pending, reason, Event::Failed, Status::Failed);
        }
        match episode {
            Some(episode) if episode < self.history.episodes.len() => {
                Err(Mistake::new(format!("episode {episode} is over already"))
                    .hint("one that is not to be learned from: ocorl study discard")
                    .into())
            }
            Some(episode) => Err(refused(format!("there is no episode {episode}"))),
            None => Err(refused("no episode is pending".into())),
        }
    }

    /// An episode, over or not, is not to be learned from.
    pub fn discard(&mut self, episode: usize, reason: &str) -> Result<Closed, StudyError> {
        match self.history.episodes.get(episode) {
            None => Err(refused(format!("there is no episode {episode}"))),
            Some(known) => match &known.closed {
                // Twice is harmless.
                Some(closed) if closed.status == Status::Discarded => Ok(closed.clone()),
                _ => self.mark(episode, reason, Event::Discarded, Status::Discarded),
            },
        }
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

    /// Learns from measurements that no episode of this study gave. Returns how many were new.
    pub fn import(&mut self, measured: Measured, source: &str) -> Result<usize, StudyError> {
        let task = self.system.task.clone();
        let mut rows = measured.rows;
        // Old logs have times of their own.
        let times: Vec<f64> = rows.iter().map(|row| row.t).collect();
        for row in &mut rows {
            (row.start, row.asked_t) = (0, None);
            if row.t.is_finite() {
                row.t = 0.0;
            }
        }
        for (i, row) in rows.iter_mut().enumerate() {
            telling::checked(&task, 1, vec![row.clone()]).map_err(|mistake| Mistake {
                message: mistake.message.replace("1 of 1", &format!("{} of {}", i + 1, times.len())),
                ..mistake
            })?;
            row.t = times[i];
        }
        Study::has_derivatives(&rows)?;
        let known = self.history.imports.iter().flat_map(|(_, imported)| &imported.rows);
        let (new, _) = telling::new_rows(known, rows)?;
        if new.is_empty() {
            return Ok(0);
        }
        let count = new.len();
        self.keep(&[Event::Imported(Imported { rows: new, source: source.into() })])?;
        Ok(count)
    }

    /// Writes something down.
    pub fn note(&mut self, text: &str) -> Result<(), StudyError> {
        self.keep(&[Event::Note(text.into())])
    }

    /// Writes events, then takes them in: memory never knows more than the disk.
    fn keep(&mut self, events: &[Event]) -> Result<(), StudyError> {
        let written: Vec<(&'static str, String)> = events.iter().map(Event::written).collect();
        self.store.append(&written, |transaction, first| {
            (first..).zip(events).try_for_each(|(seq, event)| tables::follow(transaction, seq, event))
        })?;
        for event in events {
            self.history.take(event.clone()).map_err(Mistake::new)?;
        }
        self.learn_from(events);
        Ok(())
    }

    /// A short name for messages.
    fn folder(&self) -> String {
        self.store.folder().display().to_string()
    }

    /// Name of the folder and the beginning of the first checksum: tells studies apart, and is the same wherever it is made.
    fn name(&self) -> String {
        let first =
            self.store
                .connection()
                .query_row("SELECT checksum FROM events WHERE seq = 1", [], |row| row.get::<_, String>(0));
        first.unwrap_or_default().chars().take(12).collect()
    }
}

/// The same once more is harmless; anything else comes too late.
fn told_again(
    known: &EpisodeHistory,
    new: &[Row],
    again: usize,
    ends: &[End],
    notes: Vec<String>,
) -> Result<Receipt, StudyError> {
    if !new.is_empty() || !known.has_said(ends) {
        return Err(Mistake::new(format!(
            "episode {} is over, and this is not what was told of it",
            known.episode
        ))
        .detail("note", "nothing was stored")
        .hint("to replace what was told: ocorl study tell --correct")
        .into());
    }
    let against = telling::match_asked(&known.plan, &mut known.rows.clone());
    let closed = known.closed.clone();
    Ok(Receipt { episode: known.episode, stored: 0, known: again, against, closed, notes })
}

fn refused(message: String) -> StudyError {
    Mistake::new(message).detail("note", "nothing was stored").into()
}
