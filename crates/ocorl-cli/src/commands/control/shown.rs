//! Publishes a run in the folder of its study: live while it lasts, and controller performance at its end.

use crate::errors::Failure;
use ocorl_study::control::{Monotonic, Session};
use ocorl_study::live::{LiveReporter, Phase};
use ocorl_study::plan_file::PlanFile;
use ocorl_study::study::FORM;
use ocorl_study::trace::{Health, Trace};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A run that is published.
pub(super) struct Shown {
    folder: PathBuf,
    episode: usize,
    start: usize,
    teller: LiveReporter,
    health: Health,
    began: Instant,
}

impl Shown {
    /// Starts to publish a run of `plan` in the folder of its study.
    pub(super) fn begin(folder: &Path, plan: &PlanFile, rollout: usize) -> Result<Self, Failure> {
        if !folder.join(FORM.name).with_extension("db").is_file() {
            return Err(Failure::usage(format!("'{}' is not a study", folder.display()))
                .hint("--study takes the folder of the study that the plan belongs to"));
        }
        let teller = LiveReporter::begin(folder, plan.horizon);
        teller.phase(plan.episode, Phase::Running);
        let start = plan.rollouts.get(rollout).map_or(rollout, |rollout| rollout.start);
        let health = Health::new(plan.period);
        Ok(Shown {
            folder: folder.into(),
            episode: plan.episode,
            start,
            teller,
            health,
            began: Instant::now(),
        })
    }

    /// Publishes one step.
    pub(super) fn step(&mut self, session: &Session<'_, Monotonic>) {
        let event = session.event();
        self.health.solved(event.took);
        if !session.state().is_empty() {
            self.teller.moment(self.start, event.time, session.state(), session.control());
        }
    }

    /// Stores controller performance. A failure to store it is ignored.
    pub(super) fn end(self, session: &Session<'_, Monotonic>) {
        let counts = session.controller().counts();
        let mut trace = Trace::read(&self.folder, self.episode)
            .unwrap_or_else(|| Trace { episode: self.episode, ..Trace::default() });
        trace.control = Some(Health { level_counts: counts.levels, late: counts.missed, ..self.health });
        trace.running_seconds = Some(self.began.elapsed().as_secs_f64());
        let _ = trace.write(&self.folder);
    }
}
