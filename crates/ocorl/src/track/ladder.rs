//! The last word on a control: which rung it comes from, and that it is finite, slow enough and within limits.

use crate::simulate::PolicyError;
use crate::system::Bounds;

/// Where a control came from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// A new, verified solution.
    Fresh,
    /// The previous verified solution at its next time, with its gains.
    Shifted,
    /// The plan with its gains.
    Planned,
    /// The declared safe control.
    Safe,
}

/// What stands between a solver and the plant.
#[derive(Clone, Debug, PartialEq)]
pub struct LadderSettings {
    /// Limits of each control.
    pub bounds: Bounds,
    /// The control for when nothing better is known; moved into the limits.
    pub safe_control: Vec<f64>,
    /// Largest change of each control per unit of time, if limited.
    pub max_rate: Option<Vec<f64>>,
    /// Fallbacks in a row after which the policy gives up.
    pub max_fallbacks: usize,
}

impl LadderSettings {
    /// The limits and the safe control of a task, no rate limit, ten fallbacks.
    pub fn of(task: &crate::system::Task) -> Self {
        LadderSettings {
            bounds: task.control_bounds.clone(),
            safe_control: task.safe_control.clone(),
            max_rate: None,
            max_fallbacks: 10,
        }
    }
}

/// Counts rungs and guards every control.
#[derive(Clone, Debug)]
pub struct Ladder {
    settings: LadderSettings,
    /// How often each rung was used, in the order of [`Rung`].
    counts: [usize; 4],
    consecutive: usize,
    /// When the last control was let through, and that control.
    set_at: Option<f64>,
    last: Vec<f64>,
}

impl Ladder {
    /// Nothing used yet.
    pub fn new(mut settings: LadderSettings) -> Self {
        for (i, safe) in settings.safe_control.iter_mut().enumerate() {
            if !safe.is_finite() {
                *safe = 0.0;
            }
            *safe = safe.max(settings.bounds.lower[i]).min(settings.bounds.upper[i]);
        }
        let last = settings.safe_control.clone();
        Ladder { settings, counts: [0; 4], consecutive: 0, set_at: None, last }
    }

    /// How often each rung was used: fresh, shifted, planned, safe.
    pub fn counts(&self) -> [usize; 4] {
        self.counts
    }

    /// Fallbacks since the last fresh solution.
    pub fn consecutive_fallbacks(&self) -> usize {
        self.consecutive
    }

    /// Notes the rung of an update; an error when there were too many fallbacks in a row.
    pub(super) fn note(&mut self, time: f64, rung: Rung, reason: &str) -> Result<(), PolicyError> {
        self.counts[rung as usize] += 1;
        self.consecutive = if rung == Rung::Fresh { 0 } else { self.consecutive + 1 };
        if self.consecutive <= self.settings.max_fallbacks {
            return Ok(());
        }
        Err(PolicyError::GaveUp { time, fallbacks: self.consecutive, reason: reason.into() })
    }

    /// The declared safe control, within the limits.
    pub fn safe_control(&self) -> &[f64] {
        &self.settings.safe_control
    }

    /// Non-finite entries become safe, the limits are kept. For laws that act continuously, where a rate has no meaning.
    pub fn limit(&self, control: &mut [f64]) {
        for (u, safe) in control.iter_mut().zip(&self.settings.safe_control) {
            if !u.is_finite() {
                *u = *safe;
            }
        }
        self.settings.bounds.clamp(control);
    }

    /// Makes a control that is held from `time` on fit to leave: non-finite entries become safe, the rate is limited, the
    /// limits are kept.
    pub fn guard(&mut self, time: f64, control: &mut [f64]) {
        self.limit(control);
        let LadderSettings { bounds, max_rate, .. } = &self.settings;
        if let (Some(rate), Some(before)) = (max_rate, self.set_at) {
            let elapsed = (time - before).max(0.0);
            for i in 0..control.len() {
                // 0 · ∞ is no room either.
                let most = (rate[i] * elapsed).max(0.0);
                control[i] = control[i].max(self.last[i] - most).min(self.last[i] + most);
            }
        }
        bounds.clamp(control);
        self.set_at = Some(time);
        self.last.copy_from_slice(control);
    }
}
