//! The work, on threads of its own: whoever waits can watch the clock, and leave at any moment.

use crate::errors::Failure;
use ocorl::baseline::{self, BaselineSettings};
use ocorl::event::{Event, Watch};
use ocorl::learn::{Episode, Settings, Trial};
use ocorl::model::Note;
use ocorl::system::{Benchmark, Task};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What is told on the way.
pub(super) enum Message {
    /// An episode, and what is being done for it.
    Phase(usize, &'static str),
    Warning(String),
    Optimum(Optimum),
    Episode(Box<Episode>),
    Ended(Result<(), Failure>),
}

/// What is possible with the true model, mean over the initial states.
#[derive(Clone, Copy)]
pub(super) struct Optimum {
    /// In continuous time.
    pub(super) continuous: f64,
    /// With held inputs.
    pub(super) held: f64,
    /// How many holds those are.
    pub(super) holds: usize,
}

impl Optimum {
    fn of(b: &Benchmark, settings: &Settings) -> Result<Self, Failure> {
        let starts = match settings.initial_states.as_slice() {
            [] => std::slice::from_ref(&b.task.initial_state),
            given => given,
        };
        let mut mean = Optimum { continuous: 0.0, held: 0.0, holds: 0 };
        for start in starts {
            let mut b = b.clone();
            b.task.initial_state.clone_from(start);
            let found = baseline::all(&b, &BaselineSettings::default())?;
            mean.continuous += found.continuous.open_loop.cost() / starts.len() as f64;
            mean.held += found.held.cost / starts.len() as f64;
            mean.holds = found.held.plan.controls.len();
        }
        Ok(mean)
    }

    /// In the units of the table.
    pub(super) fn scaled(self, scale: f64) -> Self {
        Optimum { continuous: scale * self.continuous, held: scale * self.held, ..self }
    }
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
    /// Begins; the last message is [`Message::Ended`].
    pub(super) fn start(self) -> Receiver<Message> {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let ended = self.pool.install(|| self.learn(&sender));
            tell(&sender, Message::Ended(ended));
        });
        receiver
    }

    fn learn(&self, to: &Sender<Message>) -> Result<(), Failure> {
        let optimum = Optimum::of(&self.benchmark, &self.settings)?;
        tell(to, Message::Optimum(optimum));
        let trial = Trial::new(&self.benchmark, self.settings.clone(), self.seed, optimum.continuous)?;
        let mut trial = trial.cancelled_by(self.cancel.clone());
        let mut observer = Watch(|event: &Event<'_>| report(&self.benchmark.task, event, to));
        while let Some(episode) = trial.next_episode(&mut observer) {
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

/// The wish to stop. The first signal is taken as one; the second ends the program as it does everywhere.
pub(super) struct Signals {
    pub(super) cancel: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
}

impl Signals {
    pub(super) fn catch() -> Result<Self, Failure> {
        let (cancel, number) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let catch = |signal: i32| {
            // In this order: the second signal finds the flag that the first has set.
            flag::register_conditional_shutdown(signal, 128 + signal, cancel.clone())?;
            flag::register_usize(signal, number.clone(), usize::try_from(signal).unwrap_or(0))?;
            flag::register(signal, cancel.clone())
        };
        for signal in [SIGINT, SIGTERM] {
            catch(signal).map_err(|error| Failure::badly(format!("cannot listen for Ctrl-C: {error}")))?;
        }
        Ok(Signals { cancel, number })
    }

    /// The signal that came, if one did.
    pub(super) fn caught(&self) -> Option<usize> {
        self.cancel.load(Ordering::Relaxed).then(|| self.number.load(Ordering::Relaxed))
    }
}
