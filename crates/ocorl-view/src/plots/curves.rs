//! Curves over episodes for groups of seeds: median or mean, and the band of the middle 60 %.

use crate::{Axis, Mark, Panel};
use ocorl_study::cell::EpisodeRow;
use ocorl_study::results::Group;
use ocorl_study::statistics::{growth_exponent, mean, quantile};
use std::collections::BTreeMap;

/// Quantiles at the ends of the band: 20 % and 80 %, as in the paper.
const BAND: (f64, f64) = (0.2, 0.8);

/// The axis of episode numbers.
pub(super) fn episodes() -> Axis {
    Axis::new("episode", "").whole()
}

/// How the seeds are summarized. The median always lies within its band; a mean may leave it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Middle {
    Median,
    Mean,
}

/// A curve with its band.
pub(crate) struct Curve {
    episodes: Vec<f64>,
    middle: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Curve {
    /// The curve of `values`: for each episode, one value per seed.
    pub(crate) fn new(values: &BTreeMap<usize, Vec<f64>>, middle: Middle) -> Self {
        let each = |of: &dyn Fn(&[f64]) -> f64| values.values().map(|v| of(v)).collect::<Vec<f64>>();
        Curve {
            episodes: values.keys().map(|&n| n as f64).collect(),
            middle: each(&|v| if middle == Middle::Mean { mean(v) } else { quantile(v, 0.5) }),
            low: each(&|v| quantile(v, BAND.0)),
            high: each(&|v| quantile(v, BAND.1)),
        }
    }

    /// The curve of `value` over every episode but the exploratory one.
    pub(super) fn of(group: &Group<'_>, value: impl Fn(&EpisodeRow) -> Option<f64>) -> Self {
        Curve::new(&group.by_episode(|row| value(row).filter(|_| row.episode > 0)), Middle::Median)
    }

    /// Cumulative regret from episode 1 on.
    pub(super) fn cumulative_regret(group: &Group<'_>) -> Self {
        let mut sums: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for cell in group.cells.iter().filter(|cell| cell.failure.is_none()) {
            let mut sum = 0.0;
            for row in cell.episodes.iter().filter(|row| row.episode > 0) {
                sum += row.regret;
                sums.entry(row.episode).or_default().push(sum);
            }
        }
        Curve::new(&sums, Middle::Median)
    }

    /// Exponent α of the fit c n^α to the curve.
    pub(super) fn exponent(&self) -> Option<f64> {
        let points: Vec<(f64, f64)> =
            self.episodes.iter().copied().zip(self.middle.iter().copied()).collect();
        growth_exponent(&points)
    }

    /// Adds the curve to `panel`; `dashed` where colour alone would not distinguish it.
    pub(crate) fn draw(self, panel: Panel, series: usize, dashed: bool, label: &str) -> Panel {
        let band = Mark::band(&*self.episodes, self.low, self.high).series(series).label(label);
        let line = Mark::line(self.episodes, self.middle).series(series).label(label);
        panel.mark(band).mark(if dashed { line.dashed() } else { line })
    }
}
