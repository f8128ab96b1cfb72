//! Reference costs of a study: the optimum with known dynamics, the optimal zero-order hold, the paper's result.

use ocorl::system::TableUnits;
use ocorl_study::known::Known;
use ocorl_study::study::Study;
use ocorl_study::table1::published;
use ocorl_study::trace::{keep_known, known};

/// Costs to compare with, in the units of the paper's table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Baselines {
    /// Conversion from the cost of a study to the units of the paper's table.
    pub units: TableUnits,
    /// Cost of the optimal continuous-time control with known dynamics.
    pub continuous: Option<f64>,
    /// Cost of the optimal zero-order hold with known dynamics.
    pub held: Option<f64>,
    /// Mean and standard deviation of the paper's final cost.
    pub paper: Option<(f64, f64)>,
    /// Whether `continuous` and `held` were computed for this study; otherwise they are the values that the paper prints.
    pub computed: bool,
}

impl Baselines {
    /// The reference costs that are available without computing anything.
    pub(super) fn of(study: &Study) -> Self {
        let Some(truth) = &study.system().truth else {
            return Baselines::default();
        };
        let settings = &study.created().settings;
        let mut found = Baselines { units: truth.table_units(), ..Baselines::default() };
        if let Some(row) = truth.published() {
            found.paper = published(row, settings.strategy).map(|cell| (cell.mean, cell.std));
            // The paper uses a single initial state.
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

    /// Computes the reference costs that are missing. `tell` receives a progress message.
    pub(super) fn find_out(&mut self, study: &Study, tell: &mut dyn FnMut(&str)) {
        let Some(truth) = study.system().truth.as_ref().filter(|_| !self.computed) else { return };
        tell("solving with the true model");
        if let Ok(known) = Known::of(truth, &study.created().settings) {
            let known = known.printed(self.units);
            // Cached, so that the next reader need not compute it again.
            let _ = keep_known(study.store().folder(), &known);
            self.take(&known);
        }
    }

    /// Name and value of each available reference cost.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [
            ("optimum (known dynamics)", self.continuous),
            ("optimal zero-order hold", self.held),
            ("paper, final episode", self.paper.map(|(mean, _)| mean)),
        ];
        all.into_iter().filter_map(|(name, cost)| Some((name, cost?)))
    }
}
