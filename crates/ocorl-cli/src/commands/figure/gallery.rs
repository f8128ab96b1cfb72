//! The figures there are: what each is made from and what it shows.

use ocorl_study::portrait::Portrait;
use ocorl_study::results::Results;
use ocorl_view::{Figure, plots};

/// One figure.
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) shows: &'static str,
    pub(super) source: Source,
}

/// What it is made from.
pub(super) enum Source {
    /// The results of a study.
    Sweep { study: &'static str, draw: fn(&Results) -> Figure },
    /// Runs looked at closely.
    Run(Portraits),
}

/// Which runs, and which of their episodes.
pub(super) struct Portraits {
    pub(super) system: &'static str,
    pub(super) set: &'static [(&'static str, &'static str)],
    pub(super) seeds: u64,
    pub(super) at: &'static [usize],
    pub(super) draw: fn(&[Portrait], &[usize]) -> Figure,
}

const fn sweep(
    name: &'static str,
    study: &'static str,
    shows: &'static str,
    draw: fn(&Results) -> Figure,
) -> Subject {
    Subject { name, shows, source: Source::Sweep { study, draw } }
}

const fn run(name: &'static str, shows: &'static str, portraits: Portraits) -> Subject {
    Subject { name, shows, source: Source::Run(portraits) }
}

/// All of them, the paper's first.
pub(super) const GALLERY: [Subject; 17] = [
    sweep("strategies", "strategies", "cost by episode for every measurement strategy", plots::strategies),
    run(
        "phase",
        "where one run went, what was unknown there, where it was measured",
        Portraits {
            system: "pendulum",
            set: &[("excitation.scale", "1")],
            seeds: 1,
            at: &[1, 2, 3, usize::MAX],
            draw: |portraits, at| plots::phase(&portraits[0], at),
        },
    ),
    sweep("optimism", "optimism", "optimistic against greedy planning, for each strategy", plots::optimism),
    sweep("measurements", "measurements", "cost against the number of measurements", plots::measurements),
    sweep(
        "total-measurements",
        "total-measurements",
        "cost against the total number of measurements",
        plots::total_measurements,
    ),
    run(
        "uncertainty",
        "uncertainty along the hallucinated trajectory, and the chosen times",
        Portraits {
            system: "pendulum",
            set: &[("strategy", "receding-horizon"), ("excitation.scale", "1")],
            seeds: 1,
            at: &[1, 3],
            draw: |portraits, at| plots::uncertainty(&portraits[0], at),
        },
    ),
    sweep("gaps", "table1", "Table 1 as a picture: distance from the optimum", plots::gaps),
    sweep("regret", "table1", "cumulative regret with its exponent of growth", plots::regret),
    run(
        "calibration",
        "whether bands hold what they promise",
        Portraits {
            system: "pendulum",
            set: &[],
            seeds: 5,
            at: &[2],
            draw: |portraits, at| plots::calibration(portraits, at.first().copied().unwrap_or(1)),
        },
    ),
    sweep("information", "confidence", "information gain, beta and model complexity", plots::information),
    run(
        "slices",
        "each derivative along lines: model, band, truth, data",
        Portraits {
            system: "pendulum",
            set: &[("excitation.scale", "1")],
            seeds: 1,
            at: &[3],
            draw: |portraits, at| plots::slices(&portraits[0], at.first().copied().unwrap_or(1)),
        },
    ),
    run(
        "field",
        "the learned vector field, shaded by what is unknown",
        Portraits {
            system: "pendulum",
            set: &[],
            seeds: 1,
            at: &[1],
            draw: |portraits, at| plots::field(&portraits[0], at),
        },
    ),
    sweep("theory", "theory", "receding horizon and oracle: regret, measurements, m_n", plots::theory),
    sweep("confidence", "confidence", "beta = 1 against calibrated and information gain", plots::gaps),
    sweep("exploration", "exploration", "optimism against greed, Thompson and bonus", plots::gaps),
    sweep("reference", "reference", "the authors' settings against ours", plots::strategies),
    sweep("discrete", "discrete", "learned in continuous against discrete time", plots::gaps),
];
