//! `ocorl run`: learns to control a system, and prints its cost beside the optimum and the paper's result.

mod answer;
mod files;
mod learning;
mod live;
mod log;
mod options;
mod progress;

use crate::GlobalArgs;
use crate::checks::{threads, writable_folder};
use crate::choices::config;
use crate::errors::Failure;
use crate::signals::Signals;
use crate::terminal::{Answer, json, prose};
use answer::Learned;
use learning::{Job, Message};
use log::Log;
use ocorl::learn::{Episode, Trial};
use ocorl::system::KnownSystem;
use ocorl_study::config::Config;
use ocorl_study::price::Prices;
use ocorl_study::run::printed;
use ocorl_study::run::text_report::{TextReport, header};
use ocorl_study::study::{Study, StudyError};
use ocorl_study::system::System;
use ocorl_study::trace::keep_known;
use ocorl_view::natural_views;
pub(crate) use options::Arguments;
use progress::Screen;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Interval at which the clock on the screen is updated and signals are checked.
const TICK: Duration = Duration::from_millis(100);

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let mut screen = Screen::new(global, arguments.picture());
    let system = System::find(&arguments.system)?;
    let config = config(&arguments.choices, &system)?;
    let b = super::truth(system.clone())?;
    if arguments.print_config {
        let comment = format!("How `ocorl run {}` learns; a file for --settings.", config.system());
        let text = if global.json { json(&config.settings) } else { config.text(&comment)? };
        return Ok(text.into());
    }
    // Checks the settings; nothing is computed yet.
    Trial::new(&b, config.settings.clone(), arguments.seed, 0.0)?;
    let pool = threads("--threads", arguments.threads)?;
    let kept = options::folder(arguments, &b, &config.settings)
        .map(|folder| keep(&folder, arguments, &system, &config));
    let (folder, study) = kept.transpose()?.unzip();
    let signals = Signals::catch()?;
    screen.begins(&b, &config.settings, arguments.seed);
    let report = TextReport::new(&b, &config.settings, arguments.seed);
    screen.out(&prose(report.opening(&arguments.choices.settings)));

    let (settings, seed, cancel) = (config.settings.clone(), arguments.seed, signals.cancel.clone());
    let job = Job { benchmark: b.clone(), settings, seed, cancel, pool };
    let log = arguments.log.zip(folder.as_deref()).map(|(_, folder)| Log::begin(folder, &mut screen));
    let mut learned = follow(&job.start(study), &b, &config, arguments.seed, &mut screen, log, &signals)?;
    if let Some(folder) = &folder {
        // Reference costs for the page and the report, which work without them too.
        if let Some(known) = learned.known {
            let _ = keep_known(folder, &known.printed(b.table_units()));
        }
    }
    let failure = learned.failure(signals.caught());
    let saved = folder.as_deref().map(|folder| {
        screen.step("writing report");
        let written = files::save(folder, &mut learned, &screen).map(|()| folder);
        screen.clear();
        written
    });
    if saved.is_none() {
        learned.took(screen.seconds());
    }
    conclude(&learned, failure, saved.transpose(), global)
}

/// The trajectory of an episode in the plane in which it is naturally seen.
fn portrait(b: &KnownSystem, episode: &Episode) -> Vec<(f64, f64)> {
    let Some((run, (across, up))) = episode.executed.first().zip(natural_views(&b.task).first().copied())
    else {
        return Vec::new();
    };
    let path = &run.trajectory;
    let place = |(t, x): (&f64, &[f64])| (across.map_or(*t, |i| x[i]), x[up]);
    path.times.iter().zip(path.states.iter()).map(place).collect()
}

/// The study that stores the run, and its folder. A run that was interrupted is continued. Without `--out`, the results of another
/// run are kept, and the folder gets a number.
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

/// Shows the messages of the job until it ends or a signal asks to stop.
fn follow<'a>(
    messages: &Receiver<Message>,
    b: &'a KnownSystem,
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
                screen.known(known.map(|known| known.printed(b.table_units())));
                screen.row(&header());
                learned = Some(Learned::new(b, &config.settings, seed, known));
            }
            Ok(Message::Episode(episode)) => {
                if let Some(learned) = &mut learned {
                    screen.learned(&printed(&episode.record, b.table_units()), portrait(b, &episode));
                    if let Some(log) = &mut log {
                        log.episode(&episode.record, b.table_units(), screen);
                    }
                    screen.row(&learned.add(*episode));
                }
            }
            Ok(Message::Ended(ended)) => {
                ended?;
                break;
            }
            Err(RecvTimeoutError::Timeout) => screen.tick(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::badly("the run ended without a result"));
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

/// The closing lines, or the JSON document, after success and after failure. `saved` is the folder of the files.
fn conclude(
    learned: &Learned<'_>,
    failure: Option<Failure>,
    saved: Result<Option<&Path>, Failure>,
    global: GlobalArgs,
) -> Result<Answer, Failure> {
    let (failure, folder) = match saved {
        Ok(folder) => (failure, folder.map(|folder| folder.display().to_string())),
        Err(unsaved) => (Some(unsaved), None),
    };
    let text = if global.json { json(&learned.document(failure.as_ref())) } else { prose(learned.closing()) };
    let Some(mut failure) = failure else {
        let remark =
            folder.filter(|_| !global.quiet).map_or(String::new(), |folder| format!("saved {folder}\n"));
        return Ok(Answer { text, remark });
    };
    if let Some(folder) = folder {
        failure = failure.detail("saved", folder);
    }
    failure.output = Some(text);
    Err(failure)
}
