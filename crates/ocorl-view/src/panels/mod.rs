//! The views of a study: plots, tables and summary, shared by the HTML report and the live page.
//!
//! | file | responsibility |
//! |---|---|
//! | `baselines` | reference costs |
//! | `summary` | the study in numbers and tables |
//! | `overall` | plots of the whole study: cost, regret, measurement times, computing time, information |
//! | `episode` | plots and tables of one episode |
//! | `verdict` | the result of a study in one sentence |
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
mod verdict;

pub use baselines::Baselines;
pub use compare::{Difference, compare, differences};
pub use episode::{EpisodeView, MeasurementTable};
pub use summary::{Check, Compared, EpisodeRow, Fact, Next, Number, Setting, Summary};
pub use verdict::{Tone, Verdict, Warning};

use crate::Figure;
use ocorl::simulate::Trajectory;
use ocorl_study::simulated;
use ocorl_study::store::Access;
use ocorl_study::study::{Moments, Study, StudyError};
use ocorl_study::trace::{self, Trace};
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
    /// The plot; a page receives it as pictures that are drawn already.
    #[serde(rename = "drawn", serialize_with = "drawn")]
    pub figure: Figure,
}

/// Serializes a figure as one picture for each panel, and the number of columns.
fn drawn<S: serde::Serializer>(figure: &Figure, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeStruct;
    let (columns, panels) = crate::pictures(figure, &crate::Theme::PAGE);
    let names: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
    let mut drawn = serializer.serialize_struct("drawn", 3)?;
    drawn.serialize_field("columns", &columns)?;
    drawn.serialize_field("names", &names)?;
    drawn.serialize_field("panels", &panels)?;
    drawn.end()
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
    /// Optimal trajectories with known dynamics, one for each initial state, if they were stored.
    optimum: Vec<Trajectory>,
    moments: Moments,
    next: Option<Next>,
}

impl StudyView {
    /// Opens the study in `folder` for reading; it neither waits for a writing process nor blocks it.
    pub fn open(folder: &Path) -> Result<Self, StudyError> {
        let study = Study::open(folder, Access::Read)?;
        let episodes = study.history().episodes.len();
        let traces: BTreeMap<usize, Trace> =
            (0..episodes).filter_map(|n| Trace::read(folder, n).map(|trace| (n, trace))).collect();
        let moments = study.moments()?;
        let next = summary::next(&study, &traces);
        let dims = study.system().task.dims();
        let optimum = trace::optimum(folder).into_iter().filter(|path| path.dims() == dims).collect();
        Ok(StudyView { baselines: Baselines::of(&study), traces, optimum, moments, next, study })
    }

    /// Opens the study like [`StudyView::open`], and computes what is not stored but can be reconstructed: the costs with known dynamics,
    /// the trajectories of simulated episodes, and what plots show of the models. `tell` receives progress messages.
    pub fn open_whole(folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self, StudyError> {
        let mut view = StudyView::open(folder)?;
        view.baselines.find_out(&view.study, tell);
        for number in 0..view.study.history().episodes.len() {
            if let Some(trace) = simulated::retrace(&view.study, number, view.traces.get(&number))? {
                tell(&format!("completing the stored plots of episode {number}"));
                // Cached, so that the next reader need not compute it again. In a read-only folder this fails, and the next reader
                // does.
                let _ = trace.write(folder);
                view.traces.insert(number, trace);
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
