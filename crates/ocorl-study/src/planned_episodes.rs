//! A journal of episodes that already have plans: an existing `plan.json`, or the plans of a finished study. It learns nothing and records
//! nothing.

use crate::control;
use crate::plan_file::{PlanFile, RolloutTable};
use crate::study::learner_of;
use crate::system::System;
use crate::user_error::UserError;
use ocorl::event::Observer;
use ocorl::learn::{Journal, LearnError, Learner, MeasurementKind, Proposal};
use ocorl::plant::{Rollout, RolloutResult};
use ocorl::select::Times;
use ocorl::track::{FallbackSettings, Feedback, rate_limited};
use std::collections::VecDeque;
use std::convert::Infallible;

/// Episodes waiting to be executed, each with the learner that planned it, if known.
#[derive(Default)]
pub struct PlannedEpisodes {
    waiting: VecDeque<(Proposal, Option<Learner>)>,
    learner: Option<Learner>,
}

impl PlannedEpisodes {
    /// Appends an episode.
    pub fn push(&mut self, proposal: Proposal, learner: Option<Learner>) {
        self.waiting.push_back((proposal, learner));
    }

    /// The single episode of `plan`, executed with the policies and schedules of the learner that made it; `None` if the plan carries no
    /// learner.
    pub fn as_planned(system: &System, plan: &PlanFile) -> Result<Option<Self>, LearnError> {
        let Some(learning) = &plan.learner else { return Ok(None) };
        let learner = learner_of(system, learning)?;
        let mut planned = PlannedEpisodes::default();
        planned.push(learner.proposal(), Some(learner));
        Ok(Some(planned))
    }
}

impl Journal for PlannedEpisodes {
    type Error = Infallible;

    fn ask(&mut self, _observer: &mut dyn Observer) -> Result<Option<Proposal>, Infallible> {
        let (proposal, learner) = self.waiting.pop_front().unzip();
        self.learner = learner.flatten();
        Ok(proposal)
    }

    fn tell(&mut self, _results: &[RolloutResult], _observer: &mut dyn Observer) -> Result<(), Infallible> {
        Ok(())
    }

    fn learner(&self) -> Option<&Learner> {
        self.learner.as_ref()
    }
}

/// The episode of `plan` executed by its gain tables alone, without the learner.
pub fn by_gains(system: &System, plan: &PlanFile) -> Result<Proposal, UserError> {
    let fallback = FallbackSettings::of(&system.task);
    let rollout = |number: usize, table: &RolloutTable| {
        Ok(Rollout {
            episode: plan.episode,
            start: table.start,
            initial_state: table.initial_state.clone(),
            policy: rate_limited(
                Box::new(Feedback::new(control::reference(plan, number)?, &fallback)),
                &fallback,
                None,
            ),
            schedule: Box::new(Times::new(table.measure_at.clone())),
            quantity: MeasurementKind::Derivatives,
        })
    };
    let rollouts = plan.rollouts.iter().enumerate().map(|(number, table)| rollout(number, table));
    Ok(Proposal {
        episode: plan.episode,
        rollouts: rollouts.collect::<Result<_, UserError>>()?,
        plans: plan.rollouts.iter().map(RolloutTable::planned_rollout).collect(),
    })
}
