//! The work, on threads of its own: whoever waits can watch the clock, and leave at any moment.

use crate::errors::Failure;
use ocorl::event::{Event, Watch};
use ocorl::learn::{Episode, Settings, Trial};
use ocorl::model::Note;
use ocorl::system::{Benchmark, Task};
use ocorl_study::known::Known;
use ocorl_study::simulated::Simulated;
use ocorl_study::study::Study;
use ocorl_study::trace::keep_known;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What is told on the way.
pub(super) enum Message {
    /// An episode, and what is being done for it.
    Phase(usize, &'static str),
    Warning(String),
    Known(Known),
    Episode(Box<Episode>),
    Ended(Result<(), Failure>),
}

/// One run to be made.
pub(super) struct Job {
    pub(super) benchmark: Benchmark,
    pub(super) settings: Settings,
    pub(super) seed: u64,
    pub(super) cancel: Arc<AtomicBool>,
    pub(super) pool: rayon::ThreadPool,
}

impl Job {
    /// Begins; the last message is [`Message::Ended`]. Every episode is kept in `study`, if there is one.
    pub(super) fn start(self, study: Option<Study>) -> Receiver<Message> {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let ended = self.pool.install(|| self.learn(study, &sender));
            tell(&sender, Message::Ended(ended));
        });
        receiver
    }

    fn learn(&self, study: Option<Study>, to: &Sender<Message>) -> Result<(), Failure> {
        let known = Known::of(&self.benchmark, &self.settings)?;
        tell(to, Message::Known(known));
        let optimum = known.continuous / self.benchmark.table_scale();
        let mut observer = Watch(|event: &Event<'_>| report(&self.benchmark.task, event, to));
        let mut next: Box<dyn FnMut() -> Result<Option<Episode>, Failure>> = if let Some(study) = study {
            // Pictures can do without it.
            let _ = keep_known(study.store().folder(), &known);
            let mut kept = Simulated::new(study, optimum)?.cancelled_by(self.cancel.clone());
            Box::new(move || Ok(kept.next_episode(&mut observer)?))
        } else {
            let trial = Trial::new(&self.benchmark, self.settings.clone(), self.seed, optimum)?;
            let mut trial = trial.cancelled_by(self.cancel.clone());
            Box::new(move || Ok(trial.next_episode(&mut observer)))
        };
        while let Some(episode) = next()? {
            tell(to, Message::Episode(Box::new(episode)));
            if self.cancel.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }
}

/// Who has left hears nothing.
fn tell(to: &Sender<Message>, message: Message) {
    let _ = to.send(message);
}

/// An event in words.
fn report(task: &Task, event: &Event<'_>, to: &Sender<Message>) {
    let warn = |text: String| tell(to, Message::Warning(text));
    match event {
        Event::EpisodeBegan { episode: 0, .. } => tell(to, Message::Phase(0, "running")),
        Event::EpisodeBegan { episode, .. } => tell(to, Message::Phase(*episode, "planning")),
        Event::Proposed { episode } => tell(to, Message::Phase(*episode, "running")),
        Event::Executed { episode, .. } => tell(to, Message::Phase(*episode, "learning")),
        Event::NotPlanned { episode, reason, instead, .. } => {
            warn(format!("episode {episode}: not planned, {instead} is used instead: {reason}"));
        }
        Event::Refused { episode, reason, .. } => {
            warn(format!("episode {episode}: a measurement was refused: {reason}"));
        }
        Event::NotUpdated { episode, reason } => {
            warn(format!("episode {episode}: the model stays as it was: {reason}"));
        }
        Event::Trained { notes, .. } => notes.iter().for_each(|note| warn(named(task, note))),
        _ => {}
    }
}

/// A note with the names of states and inputs.
fn named(task: &Task, note: &Note) -> String {
    let name = |i: usize| task.states.iter().chain(&task.controls).nth(i).map_or("", |q| q.name.as_str());
    let text = note.to_string();
    match note {
        Note::FlatInput { coordinate } => {
            text.replace(&format!("coordinate {}", coordinate.index), name(coordinate.index))
        }
        Note::FlatOutput { output } => {
            text.replace(&format!("derivative {output}"), &format!("the derivative of {}", name(*output)))
        }
        Note::Jitter { output, .. } => {
            text.replace(&format!("output {output}"), &format!("the derivative of {}", name(*output)))
        }
        _ => text,
    }
}
