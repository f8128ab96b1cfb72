//! Hypotheses about all rows of a new episode, compared under the model of the earlier ones.
//!
//! The rows of an episode contradict the model if many residuals (ẏ − μ)/√(β²σ² + s²) are large. A wrong unit or sign of a column, or a
//! change of a control's gain, is then a factor k on a column; the hypothesis holds if the model predicts the rows once the column is
//! divided by k (or the control multiplied by it), and if it gains enough likelihood. Residuals have a Student-t distribution with four
//! degrees of freedom, so a single wrong row decides nothing:
//!
//! ```text
//! L(k) = Σ_ij ln t₄(r_ij(k)) − ln spread_ij(k)
//! ```

use super::Column;
use super::robust::median;
use crate::linalg::Points;
use crate::model::{Posterior, Query, StatisticalModel};
use crate::plant::Reading;

/// The rows of an episode.
#[derive(Clone, Copy)]
pub struct EpisodeData<'a> {
    /// Readings with a derivative.
    pub readings: &'a [&'a Reading],
    /// The control that the plan commanded at each reading; empty if it is unknown.
    pub commanded: &'a [Vec<f64>],
    /// Standard deviation of the noise of each derivative.
    pub noise_std: &'a [f64],
}

/// A residual above this many standard deviations contradicts the model.
const FAR: f64 = 6.0;
/// Share of contradicting rows from which the episode as a whole contradicts the model.
const SHARE: f64 = 0.3;
/// Smallest number of rows from which a hypothesis about an episode is judged.
const LEAST_ROWS: usize = 4;
/// A hypothesis explains a row whose residuals are below this value.
const EXPLAINED: f64 = 4.5;
/// Share of the rows that a hypothesis must explain.
const EXPLAINED_SHARE: f64 = 0.85;
/// Likelihood in nats that a hypothesis must gain for each row.
const GAIN: f64 = 2.0;

/// How well a model predicts the rows of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// Indices of the rows that contradict the model.
    pub far: Vec<usize>,
    /// Root mean square of the residual beyond noise and uncertainty, for each output, in its own unit, without the largest third.
    pub excess: Vec<f64>,
    /// Σ ln p of the rows.
    log_likelihood: f64,
    /// Share of the rows with small residuals.
    explained: f64,
}

impl Contradiction {
    /// True if the episode as a whole contradicts the model, not only a few rows.
    pub fn is_systematic(&self, rows: usize) -> bool {
        rows >= LEAST_ROWS && self.far.len() >= 3 && self.far.len() as f64 >= SHARE * rows as f64
    }
}

/// Predicts the rows of an episode with a model that has not learned from them.
pub fn contradiction(model: &dyn StatisticalModel, data: EpisodeData<'_>) -> Contradiction {
    fit(model, data, |_| ())
}

/// The residuals of the rows after `change` was applied to a copy of each.
fn fit(model: &dyn StatisticalModel, data: EpisodeData<'_>, change: impl Fn(&mut Reading)) -> Contradiction {
    let EpisodeData { readings, noise_std, .. } = data;
    let outputs = noise_std.len();
    let changed: Vec<Reading> = readings
        .iter()
        .map(|r| {
            let mut r = (*r).clone();
            change(&mut r);
            r
        })
        .collect();
    let points: Vec<f64> = changed.iter().flat_map(|r| [r.state.as_slice(), &r.inputs()].concat()).collect();
    let mut posterior = Posterior::default();
    model.posterior(Points::new(&points, model.dims().point()), Query::MeanStd, &mut posterior);
    let (mut far, mut log_likelihood, mut explained) = (Vec::new(), 0.0, 0);
    let mut squares = vec![Vec::with_capacity(changed.len()); outputs];
    for (i, reading) in changed.iter().enumerate() {
        let Some(derivative) = &reading.derivative else { continue };
        let (mean, std) = (posterior.mean.value.at(i), posterior.std.value.at(i));
        let mut worst = 0.0_f64;
        for j in 0..outputs {
            let beta = model.confidence_scale()[j].max(1.0);
            let spread = (beta * std[j]).hypot(noise_std[j]).max(f64::MIN_POSITIVE);
            let error = derivative[j] - mean[j];
            let r = error / spread;
            worst = worst.max(r.abs());
            squares[j].push((error * error - spread * spread).max(0.0));
            log_likelihood -= 2.5 * (0.25 * r * r).ln_1p() + spread.ln();
        }
        if worst > FAR {
            far.push(i);
        }
        explained += usize::from(worst < EXPLAINED);
    }
    let n = readings.len().max(1) as f64;
    let trimmed = |mut squares: Vec<f64>| {
        squares.sort_by(f64::total_cmp);
        squares.truncate((2 * squares.len()).div_ceil(3));
        (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt()
    };
    let excess = squares.into_iter().map(trimmed).collect();
    Contradiction { far, excess, log_likelihood, explained: explained as f64 / n }
}

/// Factors between units that are confused, and the sign.
const FACTORS: [f64; 14] = [
    -1.0,
    1e3,
    1e-3,
    1e2,
    1e-2,
    10.0,
    0.1,
    60.0,
    1.0 / 60.0,
    180.0 / std::f64::consts::PI,
    std::f64::consts::PI / 180.0,
    std::f64::consts::TAU,
    1.0 / std::f64::consts::TAU,
    9.81,
];

/// Divides a column of a reading by `factor`.
pub(crate) fn divide(reading: &mut Reading, column: Column, factor: f64) {
    let (mut state, mut derivatives) = (None, 0..0);
    match column {
        Column::State(i) => state = Some(i),
        Column::Derivative(i) => derivatives = i..i + 1,
        Column::StateAndDerivative(i) => (state, derivatives) = (Some(i), i..i + 1),
        Column::Derivatives => derivatives = 0..reading.state.len(),
        Column::Control(i) => reading.control[i] /= factor,
    }
    if let Some(i) = state {
        reading.state[i] /= factor;
    }
    for x in reading.derivative.iter_mut().flat_map(|d| &mut d[derivatives.clone()]) {
        *x /= factor;
    }
}

/// A column of the recorded data that is scaled, or a control whose gain changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnFactor {
    /// The recorded column is `factor` times the true one.
    Recorded {
        /// The column.
        column: Column,
        /// The factor.
        factor: f64,
        /// Gain of likelihood in nats.
        nats: f64,
    },
    /// The control acts `factor` times as strongly as before.
    Gain {
        /// Index of the control.
        control: usize,
        /// The factor.
        factor: f64,
        /// Gain of likelihood in nats.
        nats: f64,
    },
}

/// The factor on a column that best explains an episode that contradicts the model; `None` if no factor explains it.
pub fn column_factor(model: &dyn StatisticalModel, data: EpisodeData<'_>) -> Option<ColumnFactor> {
    let (rows, outputs) = (data.readings.len(), data.noise_std.len());
    let now = contradiction(model, data);
    if !now.is_systematic(rows) {
        return None;
    }
    let mut best: Option<(f64, ColumnFactor)> = None;
    let mut consider = |fit: &Contradiction, jacobian: f64, factor: &dyn Fn(f64) -> ColumnFactor| {
        let nats = fit.log_likelihood - jacobian - now.log_likelihood;
        let fits = fit.explained >= EXPLAINED_SHARE && nats > GAIN * rows as f64;
        if fits && best.is_none_or(|(value, _)| nats > value) {
            best = Some((nats, factor(nats)));
        }
    };
    let columns = (0..outputs)
        .flat_map(|j| [Column::State(j), Column::Derivative(j), Column::StateAndDerivative(j)])
        .chain([Column::Derivatives]);
    for column in columns {
        for factor in FACTORS {
            let fit = fit(model, data, |r| divide(r, column, factor));
            // The density of the recorded derivative is that of the true one divided by |k|.
            let scaled = match column {
                Column::Derivative(_) | Column::StateAndDerivative(_) => 1,
                Column::Derivatives => outputs,
                _ => 0,
            };
            let jacobian = (scaled * rows) as f64 * f64::abs(factor).ln();
            consider(&fit, jacobian, &|nats| ColumnFactor::Recorded { column, factor, nats });
        }
    }
    for control in 0..data.readings.first()?.control.len() {
        let of = |k: f64| fit(model, data, |r| r.control[control] *= k);
        let grid = (-8..=40).map(|i| 0.05 * f64::from(i)).chain([-1.0, 10.0, 100.0, 1e3, 0.1, 0.01, 1e-3]);
        let least = grid
            .map(|k| (k, of(k).log_likelihood))
            .fold((1.0, f64::NEG_INFINITY), |best, this| if this.1 > best.1 { this } else { best });
        let factor =
            if least.0.abs() <= 2.0 { refined(least.0, 0.05, |k| of(k).log_likelihood) } else { least.0 };
        let recorded = recorded_factor(data, control);
        consider(&of(factor), 0.0, &|nats| match recorded {
            // The record contradicts the command: the record is `recorded` times what was applied.
            Some(recorded) if (factor * recorded - 1.0).abs() < 0.2 => {
                ColumnFactor::Recorded { column: Column::Control(control), factor: unit(1.0 / factor), nats }
            }
            _ => ColumnFactor::Gain { control, factor, nats },
        });
    }
    best.map(|(_, factor)| factor)
}

/// The usual factor within 5 % of an estimated one, or else the estimate.
fn unit(factor: f64) -> f64 {
    FACTORS.into_iter().find(|usual| (factor / usual - 1.0).abs() < 0.05).unwrap_or(factor)
}

/// Maximises `of` near `at` by golden-section search over `at` ± `width`.
fn refined(at: f64, width: f64, of: impl Fn(f64) -> f64) -> f64 {
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (at - width, at + width);
    for _ in 0..25 {
        let step = ratio * (high - low);
        if of(high - step) > of(low + step) { high = low + step } else { low = high - step }
    }
    0.5 * (low + high)
}

/// The ratio of a recorded to its commanded control, if all rows agree on one that differs from 1: the least-squares ratio with a residual
/// below a quarter of both signals.
fn recorded_factor(data: EpisodeData<'_>, control: usize) -> Option<f64> {
    let pairs = data.readings.iter().zip(data.commanded).map(|(r, c)| (r.control[control], c[control]));
    let (mut recorded, mut product, mut commanded) = (0.0, 0.0, 0.0);
    for (r, c) in pairs {
        (recorded, product, commanded) = (recorded + r * r, product + r * c, commanded + c * c);
    }
    let factor = product / commanded;
    let residual = recorded - factor * product;
    (factor.is_finite() && factor.abs() > 1e-6 && residual < 0.25 * recorded && (factor - 1.0).abs() > 0.2)
        .then_some(factor)
}

/// A factor on a recorded control that follows from the commands alone, for an episode without a model: each row equals the command
/// times one factor of [`FACTORS`], to 2 % of the largest command.
pub(crate) fn commanded_factor(data: EpisodeData<'_>, control: usize) -> Option<f64> {
    let commands = data.commanded.iter().map(|c| c[control]);
    let largest = commands.clone().fold(0.0, |a: f64, b| a.max(b.abs()));
    let tolerance = 0.02 * largest;
    let agree = |k: f64| {
        data.readings
            .iter()
            .zip(commands.clone())
            .all(|(r, c)| (r.control[control] / k - c).abs() <= tolerance)
    };
    let moving = commands.clone().filter(|c| c.abs() > 0.2 * largest).count() >= LEAST_ROWS;
    if !moving || data.readings.len() != data.commanded.len() || agree(1.0) {
        return None;
    }
    FACTORS.into_iter().find(|&k| agree(k))
}

/// Columns that keep exactly one value in at least four rows in sequence although the system moves, with these rows. Noise makes this
/// impossible for a derivative, unless the derivative is constant and the declared noise absent: it counts if one of its rows contradicts
/// the model, or if the other rows differ. A state counts if its derivative says that it moves. `far` are the rows that contradict the
/// model, if there is one.
pub fn stuck(data: EpisodeData<'_>, far: Option<&[usize]>) -> Vec<(Column, Vec<usize>)> {
    let EpisodeData { readings, noise_std, .. } = data;
    let mut found = Vec::new();
    let varies = |run: &Vec<usize>| match far {
        Some(far) => run.iter().any(|i| far.contains(i)),
        None => run.len() < readings.len(),
    };
    for (j, std) in noise_std.iter().enumerate() {
        let derivative = |i: usize| readings[i].derivative.as_ref().map_or(f64::NAN, |d| d[j]);
        let runs = runs(readings.len(), &derivative);
        let sticks = |run: &Vec<usize>| *std > 0.0 && varies(run);
        found.extend(runs.into_iter().filter(sticks).map(|run| (Column::Derivative(j), run)));
        let speed = median((0..readings.len()).map(|i| derivative(i).abs()));
        let moving = |run: &Vec<usize>| {
            let moves = run.iter().filter(|&&i| derivative(i).abs() > (10.0 * std).max(0.1 * speed)).count();
            speed > 0.0 && 2 * moves >= run.len()
        };
        let runs = self::runs(readings.len(), &|i| readings[i].state[j]);
        found.extend(runs.into_iter().filter(moving).map(|run| (Column::State(j), run)));
    }
    found
}

/// Runs of at least four equal values.
fn runs(n: usize, value: &dyn Fn(usize) -> f64) -> Vec<Vec<usize>> {
    let (mut all, mut begin) = (Vec::new(), 0);
    for i in 1..=n {
        if i == n || value(i).to_bits() != value(begin).to_bits() {
            if i - begin >= LEAST_ROWS {
                all.push((begin..i).collect());
            }
            begin = i;
        }
    }
    all
}
