//! Runs the learning loop in threads of its own, so that the main thread can update the screen and react to signals.

use crate::errors::Failure;
use ocorl::event::{Event, Watch};
use ocorl::learn::{Episode, Settings};
use ocorl::system::{KnownSystem, Task};
use ocorl_study::known::Known;
use ocorl_study::run::Run;
use ocorl_study::run::events::warnings;
use ocorl_study::study::Study;
use ocorl_study::trace::keep_optimum;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A message from the learning threads.
pub(super) enum Message {
    /// Number of an episode, and its present phase.
    Phase(usize, &'static str),
    Warning(String),
    /// Costs with known dynamics; `None` if they could not be computed.
    Known(Option<Known>),
    Episode(Box<Episode>),
    Ended(Result<(), Failure>),
}

/// One run to execute.
pub(super) struct Job {
    pub(super) benchmark: KnownSystem,
    pub(super) settings: Settings,
    pub(super) seed: u64,
    pub(super) cancel: Arc<AtomicBool>,
    pub(super) pool: rayon::ThreadPool,
}

impl Job {
    /// Starts the run; the last message is [`Message::Ended`]. Every episode is stored in `study`, if there is one.
    pub(super) fn start(self, study: Option<Study>) -> Receiver<Message> {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let ended = self.pool.install(|| self.learn(study, &sender));
            tell(&sender, Message::Ended(ended));
        });
        receiver
    }

    fn learn(&self, study: Option<Study>, to: &Sender<Message>) -> Result<(), Failure> {
        // Learning does not need the optimum: without it there is no regret.
        let known = Known::with_paths(&self.benchmark, &self.settings)
            .inspect_err(|error| {
                let reason = Failure::from(error.clone());
                tell(to, Message::Warning(format!("the optimum is not known: {}", reason.message())));
            })
            .ok();
        if let Some((study, (_, paths))) = study.as_ref().zip(known.as_ref()) {
            // Pictures do without the optimal trajectory.
            let _ = keep_optimum(study.store().folder(), paths);
        }
        let known = known.map(|(known, _)| known);
        tell(to, Message::Known(known));
        let mut observer = Watch(|event: &Event<'_>| report(&self.benchmark.task, event, to));
        let (settings, seed) = (&self.settings, self.seed);
        let mut run = Run::begin(&self.benchmark, settings, seed, known.as_ref(), study, &self.cancel)?;
        while let Some(episode) = run.next_episode(&mut observer)? {
            tell(to, Message::Episode(Box::new(episode)));
            if self.cancel.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }
}

/// Sends a message; ignored if the receiver is gone.
fn tell(to: &Sender<Message>, message: Message) {
    let _ = to.send(message);
}

/// Sends the message for a learning event.
fn report(task: &Task, event: &Event<'_>, to: &Sender<Message>) {
    let phase = match event {
        Event::EpisodeBegan { episode: 0, .. } => Some((0, "running")),
        Event::EpisodeBegan { episode, .. } => Some((*episode, "planning")),
        Event::Proposed { episode } => Some((*episode, "running")),
        Event::Executed { episode, .. } => Some((*episode, "learning")),
        _ => None,
    };
    if let Some((episode, phase)) = phase {
        tell(to, Message::Phase(episode, phase));
    }
    for text in warnings(task, event) {
        tell(to, Message::Warning(text));
    }
}
