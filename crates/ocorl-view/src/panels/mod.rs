//! What there is to see of a study: the same panels for the report and for the page that updates while it learns.
//!
//! | file | holds |
//! |---|---|
//! | `baselines` | what costs are compared with |
//! | `summary` | a study in numbers, words and tables |
//! | `overall` | plots of the whole study: cost, regret, times of measurements, time spent, information |
//! | `episode` | plots and tables of one episode |
//! | `compare` | several studies on the same axes |
//! | [`sweep`] | a sweep: a grid of systems and variants that fills up |
//!
//! A [`StudyView`] only reads: beside a writer, in a folder that cannot be written, of a study that somebody else made.

mod baselines;
mod compare;
mod episode;
mod overall;
mod summary;
pub mod sweep;

pub use baselines::Baselines;
pub use compare::compare;
pub use episode::{EpisodeView, MeasurementTable};
pub use summary::{Compared, EpisodeRow, Fact, Next, Number, Setting, Summary};

use crate::Figure;
use ocorl_study::store::Access;
use ocorl_study::study::{Moments, Study, StudyError};
use ocorl_study::trace::Trace;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One plot of report and page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exhibit {
    /// Its name in addresses and files.
    pub id: &'static str,
    /// Its name for people.
    pub title: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// The plot.
    pub figure: Figure,
}

impl Exhibit {
    fn new(id: &'static str, title: &str, about: &str, figure: Figure) -> Self {
        Exhibit { id, title: title.into(), about: about.into(), figure }
    }
}

/// A study to look at.
pub struct StudyView {
    study: Study,
    baselines: Baselines,
    traces: BTreeMap<usize, Trace>,
    moments: Moments,
    next: Option<Next>,
}

impl StudyView {
    /// Opens the study in `folder`; who writes to it is not in the way, nor disturbed.
    pub fn open(folder: &Path) -> Result<Self, StudyError> {
        let mut study = Study::open(folder, Access::Read)?;
        let episodes = study.history().episodes.len();
        let traces = (0..episodes).filter_map(|n| Trace::read(folder, n).map(|trace| (n, trace))).collect();
        let moments = study.moments()?;
        let next = summary::next(&mut study);
        Ok(StudyView { baselines: Baselines::of(&study), traces, moments, next, study })
    }

    /// The same, with what can be found out again but takes a while: what is possible with the true model, and the ways of simulated
    /// episodes. `tell` hears what is being done.
    pub fn open_whole(folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, StudyError> {
        let mut view = StudyView::open(folder)?;
        view.baselines.find_out(&view.study, tell);
        for number in 0..view.study.history().episodes.len() {
            if view.traces.get(&number).is_none_or(|trace| trace.paths.is_empty()) {
                tell(&format!("running episode {number} once more"));
                if let Some(trace) = ocorl_study::simulated::retrace(&view.study, number)? {
                    // The next one need not do it again; where nothing can be written, it has to.
                    let _ = trace.write(folder);
                    view.traces.insert(number, trace);
                }
            }
        }
        Ok(view)
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// What costs are compared with.
    pub fn baselines(&self) -> &Baselines {
        &self.baselines
    }

    /// Cost and planned cost of every episode, in the units of the table; NaN where there is none.
    pub fn costs(&self) -> Vec<(usize, f64, f64)> {
        let scale = self.baselines.scale;
        let each = self.study.history().episodes.iter().map(|episode| {
            let planned = episode.plan.planned_cost().unwrap_or(f64::NAN);
            let cost = episode.closed.as_ref().and_then(|closed| closed.cost).unwrap_or(f64::NAN);
            (episode.episode, scale * cost, scale * planned)
        });
        each.collect()
    }
}
