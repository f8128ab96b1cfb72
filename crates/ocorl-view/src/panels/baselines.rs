//! What costs are compared with: the true model, the best zero-order hold, the paper.

use ocorl_study::known::Known;
use ocorl_study::study::Study;
use ocorl_study::table1::published;
use ocorl_study::trace::{keep_known, known};

/// Costs to compare with, in the units of the paper's table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Baselines {
    /// The factor between the cost of a study and what the paper's table prints.
    pub scale: f64,
    /// Best continuous-time control.
    pub continuous: Option<f64>,
    /// Best zero-order hold.
    pub held: Option<f64>,
    /// What the paper got at its end, and its standard deviation.
    pub paper: Option<(f64, f64)>,
    /// Whether the first two were computed for this study; else they are as the paper prints them.
    pub computed: bool,
}

impl Baselines {
    /// As far as they are known without computing anything.
    pub(super) fn of(study: &Study) -> Self {
        let Some(truth) = &study.system().truth else {
            return Baselines { scale: 1.0, ..Baselines::default() };
        };
        let settings = &study.created().settings;
        let mut found = Baselines { scale: truth.table_scale(), ..Baselines::default() };
        if let Some(row) = &truth.published {
            found.paper = published(row, settings.strategy).map(|cell| (cell.mean, cell.std));
            // The paper begins in one state.
            if settings.initial_states.is_empty() {
                (found.continuous, found.held) = (Some(row.continuous), Some(row.held));
            }
        }
        if let Some(known) = known(study.store().folder()) {
            found.take(&known);
        }
        found
    }

    fn take(&mut self, known: &Known) {
        (self.continuous, self.held, self.computed) = (Some(known.continuous), Some(known.held), true);
    }

    /// Computes what is not known yet.
    pub(super) fn find_out(&mut self, study: &Study, tell: &mut dyn FnMut(&str)) {
        let Some(truth) = study.system().truth.as_ref().filter(|_| !self.computed) else { return };
        tell("solving with the true model");
        if let Ok(known) = Known::of(truth, &study.created().settings) {
            // The next one need not do it again.
            let _ = keep_known(study.store().folder(), &known);
            self.take(&known);
        }
    }

    /// What a cost is compared with: what, and what that costs.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [
            ("best continuous", self.continuous),
            ("best hold", self.held),
            ("paper, at its end", self.paper.map(|(mean, _)| mean)),
        ];
        all.into_iter().filter_map(|(name, cost)| Some((name, cost?)))
    }
}
