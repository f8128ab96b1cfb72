//! `ocorl run`: learn to control a system from few measurements, beside what is possible and what the paper got.

mod answer;
mod files;
mod learning;
mod live;
mod log;
mod options;
mod progress;

use crate::Manners;
use crate::checks::{threads, writable_folder};
use crate::choices::config;
use crate::errors::Failure;
use crate::signals::Signals;
use crate::terminal::{Answer, json};
use answer::Learned;
use learning::{Job, Message};
use log::Log;
use ocorl::learn::Trial;
use ocorl::system::Benchmark;
use ocorl_study::config::Config;
use ocorl_study::price::Prices;
use ocorl_study::run::words::{Words, header};
use ocorl_study::study::{Study, StudyError};
use ocorl_study::system::System;
use ocorl_study::trace::keep_known;
pub(crate) use options::Arguments;
use progress::Screen;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often the clock on the screen moves, and how soon a signal is noticed.
const TICK: Duration = Duration::from_millis(100);

pub(super) fn run(arguments: &Arguments, manners: Manners) -> Result<Answer, Failure> {
    let mut screen = Screen::new(manners, arguments.picture());
    let system = System::find(&arguments.system)?;
    let config = config(&arguments.choices, &system)?;
    let b = super::truth(system.clone())?;
    if arguments.print_config {
        let text = if manners.json { json(&config.settings) } else { config.text() };
        return Ok(text.into());
    }
    // Finds out whether learning can begin at all; nothing is computed yet.
    Trial::new(&b, config.settings.clone(), arguments.seed, 0.0)?;
    let pool = threads("--threads", arguments.threads)?;
    let kept = options::folder(arguments, &b, &config.settings)
        .map(|folder| keep(&folder, arguments, &system, &config));
    let (folder, study) = kept.transpose()?.unzip();
    let signals = Signals::catch()?;
    screen.begins(&b, &config.settings, arguments.seed);
    screen.out(&Words::new(&b, &config.settings, arguments.seed).opening(&arguments.choices.settings));

    let (settings, seed, cancel) = (config.settings.clone(), arguments.seed, signals.cancel.clone());
    let job = Job { benchmark: b.clone(), settings, seed, cancel, pool };
    let log = arguments.log.zip(folder.as_deref()).map(|(_, folder)| Log::begin(folder, &mut screen));
    let learned = follow(&job.start(study), &b, &config, arguments.seed, &mut screen, log, &signals)?;
    if let Some(folder) = &folder {
        // What the page and the report compare with; they can do without it.
        let _ = keep_known(folder, &learned.known);
    }
    let failure = learned.failure(signals.caught());
    let saved = folder.as_deref().map(|folder| files::save(folder, &learned).map(|()| folder));
    conclude(&learned, failure, saved.transpose(), manners)
}

/// The study that keeps the run, and its folder: one that was begun goes on. If nobody said where, what is there of another run is left
/// alone, and the folder gets a number.
fn keep(
    folder: &Path,
    arguments: &Arguments,
    system: &System,
    config: &Config,
) -> Result<(PathBuf, Study), Failure> {
    let mut number = 1;
    let mut at = folder.to_path_buf();
    loop {
        writable_folder(&at)?;
        match Study::open_or_create(&at, system, &config.settings, arguments.seed, Prices::default()) {
            Err(StudyError::Refused(_)) if arguments.is_free() && number < 1000 => {
                number += 1;
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                at = folder.with_file_name(format!("{name}-{number}"));
            }
            opened => return Ok((at, opened?)),
        }
    }
}

/// Shows what the job tells until it ends or somebody asks to stop.
fn follow<'a>(
    messages: &Receiver<Message>,
    b: &'a Benchmark,
    config: &'a Config,
    seed: u64,
    screen: &mut Screen,
    mut log: Option<Log>,
    signals: &Signals,
) -> Result<Learned<'a>, Failure> {
    let mut learned = None;
    while signals.caught().is_none() {
        match messages.recv_timeout(TICK) {
            Ok(Message::Phase(episode, phase)) => screen.phase(episode, phase),
            Ok(Message::Warning(text)) => screen.warn(&text),
            Ok(Message::Known(known)) => {
                screen.known(&known);
                screen.out(&header());
                learned = Some(Learned::new(b, &config.settings, seed, known));
            }
            Ok(Message::Episode(episode)) => {
                if let Some(learned) = &mut learned {
                    screen.learned(&episode.record);
                    if let Some(log) = &mut log {
                        log.episode(&episode.record, screen);
                    }
                    screen.out(&learned.add(*episode));
                }
            }
            Ok(Message::Ended(ended)) => {
                ended?;
                break;
            }
            Err(RecvTimeoutError::Timeout) => screen.tick(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::badly("the run ended without an answer"));
            }
        }
    }
    screen.clear();
    match (learned, signals.caught()) {
        (Some(learned), _) if !learned.episodes.is_empty() => Ok(learned.timed(screen.seconds())),
        (_, Some(signal)) => {
            Err(Failure::interrupted(signal, "interrupted before the first episode was complete"))
        }
        _ => Err(Failure::badly("no episode was completed")),
    }
}

/// The closing words, or the document, in the good case and in the bad. `saved` is where the files are.
fn conclude(
    learned: &Learned<'_>,
    failure: Option<Failure>,
    saved: Result<Option<&Path>, Failure>,
    manners: Manners,
) -> Result<Answer, Failure> {
    let (failure, folder) = match saved {
        Ok(folder) => (failure, folder.map(|folder| folder.display().to_string())),
        Err(unsaved) => (Some(unsaved), None),
    };
    let text = if manners.json { json(&learned.document(failure.as_ref())) } else { learned.closing() };
    let Some(mut failure) = failure else {
        let remark =
            folder.filter(|_| !manners.quiet).map_or(String::new(), |folder| format!("saved {folder}\n"));
        return Ok(Answer { text, remark });
    };
    if let Some(folder) = folder {
        failure = failure.detail("saved", folder);
    }
    failure.output = Some(text);
    Err(failure)
}
