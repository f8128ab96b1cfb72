//! How well the Gaussian process knows what it does not know, on episodes of the paper's nine systems: one table in Markdown.
//!
//! Trained on 70 % of the measurements of ten episodes with default settings, judged by the other 30 % ("same") and by ten other episodes
//! ("other"), all outputs together, ten seeds. Shares are given for the default β = 1 and for calibrated β.
//!
//! `cargo bench -p ocorl --bench calibration -- [EPISODES [SEEDS]]`

#[path = "../tests/it/common/episodes.rs"]
mod episodes;

use cpu_time::ProcessTime;
use episodes::{Data, Outputs, beside_truth, coverage, judge, pool};
use ocorl::model::confidence::HeldOutPrediction;
use ocorl::model::{Note, StatisticalModel, Status};
use ocorl::system::{Benchmark, KnownSystem};
use std::io::Write;

const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// One trained model.
struct Trial {
    /// Measurements of the same episodes, of other episodes.
    places: [Outputs; 2],
    /// f at the same points.
    truths: [Outputs; 2],
    calibrated: Vec<f64>,
    jitters: usize,
    evaluations: usize,
    converged: usize,
    /// Of training, on all threads together.
    cpu_ms: f64,
}

fn trial(b: &KnownSystem, episodes: usize, seed: usize) -> Trial {
    let data = Data::new(b, episodes, seed);
    let mut model = data.model(b);
    let start = ProcessTime::now();
    let report = model.train(data.stream).expect("sound data");
    let cpu_ms = 1e3 * start.elapsed().as_secs_f64();
    let left_out = [&data.between, &data.beyond];
    let places = left_out.map(|data| judge(&model, data));
    Trial {
        truths: [0, 1].map(|place| beside_truth(b, left_out[place], &places[place])),
        places,
        calibrated: model.confidence_scale().to_vec(),
        jitters: model.notes().iter().filter(|n| matches!(n, Note::Jitter { .. })).count(),
        evaluations: report.fits.iter().map(|f| f.evaluations).sum(),
        converged: report.fits.iter().filter(|f| f.status == Status::Converged).count(),
        cpu_ms,
    }
}

fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|a| a.parse().ok());
    let (episodes, seeds): (usize, usize) = (numbers.next().unwrap_or(10), numbers.next().unwrap_or(10));
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Share in % of left-out noisy derivatives within bands of 50, 80, 90, 95, 99 %; ± standard error of the share at 95 % over \
         the seeds; least and greatest share at 95 % of a single output; share of f itself (no noise) within its band of 95 %. \
         Quartiles of calibrated β. RMSE and noise in units of the output's spread, mean over outputs. Fits with jitter, fits that \
         converged; evaluations and CPU time of training one model. {episodes} episodes, {seeds} seeds.\n"
    )?;
    writeln!(
        out,
        "| system | points | left out of | β = 1 | ± | outputs | f | calibrated β | ± | outputs | f | β | RMSE | noise | jitter | \
         converged | evaluations | CPU ms |\n|---|--:|---|---|--:|---|--:|---|--:|---|--:|---|--:|--:|--:|--:|--:|--:|"
    )?;
    for b in Benchmark::of_the_paper() {
        let trials: Vec<Trial> = (0..seeds).map(|seed| trial(&b, episodes, seed)).collect();
        let points = episodes * b.paper().expect("a benchmark").measurements * 7 / 10;
        for (place, name) in ["same episodes", "other episodes"].into_iter().enumerate() {
            let bands = |of: fn(&Trial) -> Vec<f64>| bands(&trials, place, of);
            let (default, calibrated) =
                (bands(|t| vec![1.0; t.calibrated.len()]), bands(|t| t.calibrated.clone()));
            let (rmse, noise) = errors(&trials, place);
            let head = format!("| {} | {points} | {name} | {default} | {calibrated}", b.title);
            let tail = if place == 0 { training(&trials) } else { "| | | |".into() };
            writeln!(out, "{head} | {} | {rmse:.4} | {noise:.4} | {tail}", quartiles(&trials))?;
        }
    }
    Ok(())
}

/// Shares at all levels | standard error at 95 % | least and greatest share of an output at 95 % | share of f at 95 %.
fn bands(trials: &[Trial], place: usize, beta: fn(&Trial) -> Vec<f64>) -> String {
    let of_trial = |t: &Trial| pool(&t.places[place], &beta(t));
    let all: Vec<HeldOutPrediction> = trials.iter().flat_map(of_trial).collect();
    let shares = LEVELS.map(|level| format!("{:.1}", 100.0 * coverage(&all, level))).join(" / ");
    let each: Vec<f64> = trials.iter().map(|t| 100.0 * coverage(&of_trial(t), 0.95)).collect();
    let (n, mean) = (each.len() as f64, each.iter().sum::<f64>() / each.len() as f64);
    let error = (each.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n * (n - 1.0).max(1.0))).sqrt();
    let output = |j: usize| {
        let own = trials.iter().flat_map(|t| pool(&t.places[place][j..=j].to_vec(), &beta(t)[j..=j]));
        100.0 * coverage(&own.collect::<Vec<_>>(), 0.95)
    };
    let outputs: Vec<f64> = (0..trials[0].calibrated.len()).map(output).collect();
    let least = outputs.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let greatest = outputs.iter().fold(0.0, |a: f64, b| a.max(*b));
    let truth: Vec<HeldOutPrediction> =
        trials.iter().flat_map(|t| pool(&t.truths[place], &beta(t))).collect();
    format!("{shares} | {error:.1} | {least:.1}–{greatest:.1} | {:.1}", 100.0 * coverage(&truth, 0.95))
}

/// RMSE and noise in units of the spread of the left-out values, mean over outputs.
fn errors(trials: &[Trial], place: usize) -> (f64, f64) {
    let outputs = trials[0].calibrated.len();
    let of_output = |j: usize| {
        let own: Vec<&HeldOutPrediction> = trials.iter().flat_map(|t| &t.places[place][j]).collect();
        let average = |value: &dyn Fn(&HeldOutPrediction) -> f64| {
            own.iter().map(|j| value(j)).sum::<f64>() / own.len() as f64
        };
        let mean = average(&|j| j.measured);
        let spread = average(&|j| (j.measured - mean).powi(2)).sqrt();
        (average(&|j| (j.measured - j.mean).powi(2)).sqrt() / spread, average(&|j| j.noise_std) / spread)
    };
    let all: Vec<(f64, f64)> = (0..outputs).map(of_output).collect();
    let sum = all.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (sum.0 / outputs as f64, sum.1 / outputs as f64)
}

fn quartiles(trials: &[Trial]) -> String {
    let mut all: Vec<f64> = trials.iter().flat_map(|t| t.calibrated.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    let at = |quarter: usize| all[quarter * (all.len() - 1) / 4];
    format!("{:.1} {:.1} {:.1} {:.1} {:.1}", at(0), at(1), at(2), at(3), at(4))
}

/// Jitter | converged | evaluations | CPU time.
fn training(trials: &[Trial]) -> String {
    let count = trials.len();
    let sum = |of: fn(&Trial) -> usize| trials.iter().map(of).sum::<usize>();
    let fits = sum(|t| t.calibrated.len());
    let cpu_ms = trials.iter().map(|t| t.cpu_ms).sum::<f64>() / count as f64;
    format!(
        "{}/{fits} | {}/{fits} | {} | {cpu_ms:.0} |",
        sum(|t| t.jitters),
        sum(|t| t.converged),
        sum(|t| t.evaluations) / count
    )
}
