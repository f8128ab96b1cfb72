//! A run for others to see: live in the folder of its study, and at the end how the controller fared.

use crate::errors::Failure;
use ocorl_study::control::{Monotonic, Session};
use ocorl_study::live::{Phase, Teller};
use ocorl_study::plan_file::PlanFile;
use ocorl_study::study::FORM;
use ocorl_study::trace::{Health, Trace};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A run that is shown.
pub(super) struct Shown {
    folder: PathBuf,
    episode: usize,
    start: usize,
    teller: Teller,
    health: Health,
    began: Instant,
}

impl Shown {
    /// Begins to show a run of `plan` in the folder of its study.
    pub(super) fn begin(folder: &Path, plan: &PlanFile, leg: usize) -> Result<Self, Failure> {
        if !folder.join(FORM.name).with_extension("db").is_file() {
            return Err(Failure::usage(format!("'{}' is no study", folder.display()))
                .hint("--study takes the folder of the study that the plan belongs to"));
        }
        let teller = Teller::begin(folder, plan.horizon);
        teller.phase(plan.episode, Phase::Running);
        let start = plan.legs.get(leg).map_or(leg, |leg| leg.start);
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

    /// One step more.
    pub(super) fn step(&mut self, session: &Session<'_, Monotonic>) {
        let event = session.event();
        self.health.solved(event.took);
        if !session.state().is_empty() {
            self.teller.moment(self.start, event.time, session.state(), session.control());
        }
    }

    /// Keeps how the controller fared. What cannot be kept is not worth a failure.
    pub(super) fn end(self, session: &Session<'_, Monotonic>) {
        let counts = session.controller().counts();
        let mut trace = Trace::read(&self.folder, self.episode)
            .unwrap_or_else(|| Trace { episode: self.episode, ..Trace::default() });
        trace.control = Some(Health { rungs: counts.rungs, late: counts.missed, ..self.health });
        trace.running_seconds = Some(self.began.elapsed().as_secs_f64());
        let _ = trace.write(&self.folder);
    }
}
