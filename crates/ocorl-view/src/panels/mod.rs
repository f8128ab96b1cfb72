//! The views of a study: plots, tables and summary, shared by the HTML report and the live page.
//!
//! | file | responsibility |
//! |---|---|
//! | `baselines` | reference costs |
//! | `summary` | the study in numbers and tables |
//! | `overall` | plots of the whole study: cost, regret, measurement times, computing time, information |
//! | `episode` | plots and tables of one episode |
//! | `compare` | several studies on the same axes |
//! | [`sweep`] | a sweep: systems by variants, with the state of every cell |
//!
//! A [`StudyView`] only reads. It works beside a writing process, in a read-only folder, and on studies of other users. Drawing
//! and HTML are not here.

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

/// One plot of the report and the live page, with its caption.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exhibit {
    /// Identifier in addresses and file names.
    pub id: &'static str,
    /// Title shown to readers.
    pub title: String,
    /// Caption of one sentence.
    pub about: String,
    /// The plot.
    pub figure: Figure,
}

impl Exhibit {
    fn new(id: &'static str, title: &str, about: &str, figure: Figure) -> Self {
        Exhibit { id, title: title.into(), about: about.into(), figure }
    }
}

/// A study, opened for reading.
pub struct StudyView {
    study: Study,
    baselines: Baselines,
    traces: BTreeMap<usize, Trace>,
    moments: Moments,
    next: Option<Next>,
}

impl StudyView {
    /// Opens the study in `folder` for reading; it neither waits for a writing process nor blocks it.
    pub fn open(folder: &Path) -> Result<Self, StudyError> {
        let mut study = Study::open(folder, Access::Read)?;
        let episodes = study.history().episodes.len();
        let traces = (0..episodes).filter_map(|n| Trace::read(folder, n).map(|trace| (n, trace))).collect();
        let moments = study.moments()?;
        let next = summary::next(&mut study);
        Ok(StudyView { baselines: Baselines::of(&study), traces, moments, next, study })
    }

    /// Opens the study like [`StudyView::open`], and computes what can be reconstructed but takes time: the costs with known
    /// dynamics, and the trajectories of simulated episodes. `tell` receives progress messages.
    pub fn open_whole(folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, StudyError> {
        let mut view = StudyView::open(folder)?;
        view.baselines.find_out(&view.study, tell);
        for number in 0..view.study.history().episodes.len() {
            if view.traces.get(&number).is_none_or(|trace| trace.paths.is_empty()) {
                tell(&format!("replaying episode {number}"));
                if let Some(trace) = ocorl_study::simulated::retrace(&view.study, number)? {
                    // Cached, so that the next reader need not compute it again. In a read-only folder this fails, and the next
                    // reader does.
                    let _ = trace.write(folder);
                    view.traces.insert(number, trace);
                }
            }
        }
        Ok(view)
    }

    /// The study behind the view.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// Reference costs.
    pub fn baselines(&self) -> &Baselines {
        &self.baselines
    }

    /// Number, cost and planned cost of every episode, in the units of the paper's table; NaN where a value is missing.
    pub fn costs(&self) -> Vec<(usize, f64, f64)> {
        let units = self.baselines.units;
        let each = self.study.history().episodes.iter().map(|episode| {
            let planned = episode.plan.planned_cost().unwrap_or(f64::NAN);
            let cost = episode.closed.as_ref().and_then(|closed| closed.cost).unwrap_or(f64::NAN);
            (episode.episode, units.cost(cost), units.cost(planned))
        });
        each.collect()
    }
}
