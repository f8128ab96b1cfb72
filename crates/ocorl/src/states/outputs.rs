//! Weighted averages of f where velocities are not measured: the data are second differences of the measured positions.
//!
//! With the hat function φ over two neighbouring intervals of widths a and b, and ẋ_p = x_v,
//!
//! ```text
//! ∫ φ f_v dt = (p(t + b) − p(t))/b − (p(t) − p(t − a))/a,   ∫ φ dt = S = (a + b)/2
//! ```
//!
//! exactly: integration by parts moves the derivative from x_v to φ. In the first interval φ falls from 1, and the known velocity x_v(0)
//! takes the place of the difference before. The averages are over f along the estimated trajectory, which a row shares with its
//! neighbours. The noise of neighbouring rows is correlated, which is ignored; it is independent in time only in sums over many rows.
//!
//! The row of a position is known: its datum is the average of x_v over the same nodes with hardly any noise. Another measured state has
//! the datum ∫ −φ′ x dt along the trajectory.

use super::path::{Interval, Path};
use super::record::Record;
use crate::linalg::Points;
use crate::measurements::{Average, MeasurementError, Measurements};

/// Noise of a known row, relative to the magnitude of its derivative.
const KNOWN: f64 = 1e-6;

/// Adds the data of one run to `data`, from pairs of usable intervals, or from all. `noise_std` is that of the measured states.
pub(super) fn add_outputs(
    record: &Record,
    path: &Path,
    noise_std: &[f64],
    velocities: &[[usize; 2]],
    all: bool,
    data: &mut Measurements,
) -> Result<(), MeasurementError> {
    let nx = noise_std.len();
    let known = known_noise(record, velocities);
    for (i, falling) in path.intervals.iter().enumerate() {
        let rising = (i > 0).then(|| &path.intervals[i - 1]);
        let usable = falling.usable && rising.is_none_or(|r| r.usable);
        if !all && !usable {
            continue;
        }
        let (mut nodes, mut weights) = (Vec::new(), Vec::new());
        for (interval, up) in rising.map(|r| (r, true)).into_iter().chain([(falling, false)]) {
            interval.add_points(nx, &mut nodes);
            let hat = |c: f64| if up { c } else { 1.0 - c };
            let rule = &interval.rule;
            weights.extend(rule.nodes.iter().zip(&rule.weights).map(|(c, w)| w * interval.width * hat(*c)));
        }
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        let dim = nodes.len() / weights.len();
        let (a, b) = (rising.map(|r| r.width), falling.width);
        let (mut value, mut std) = (vec![0.0; nx], vec![0.0; nx]);
        for j in 0..nx {
            let x = |k: usize| record.states.at(k)[j];
            let mean = |interval: &Interval| {
                let each = interval.rule.weights.iter().zip(interval.states.chunks_exact(nx));
                each.map(|(w, x)| w * x[j]).sum::<f64>()
            };
            value[j] = (mean(falling) - rising.map_or(x(0), mean)) / sum;
            std[j] = (2.0_f64.sqrt() * noise_std[j] / sum).hypot(path_std(falling, rising, j));
            if let Some(&[v, _]) = velocities.iter().find(|pair| pair[1] == j) {
                value[j] = weights.iter().zip(nodes.chunks_exact(dim)).map(|(w, z)| w * z[v]).sum();
                std[j] = known[j];
            }
        }
        for &[v, p] in velocities {
            let x = |k: usize| record.states.at(k)[p];
            let before = match a {
                Some(a) => (x(i) - x(i - 1)) / a,
                None => record.states.at(0)[v],
            };
            value[v] = ((x(i + 1) - x(i)) / b - before) / sum;
            // The first state is known exactly.
            let here = if i > 0 { 1.0 / b + a.map_or(0.0, |a| 1.0 / a) } else { 0.0 };
            let last = if i > 1 { a.map_or(0.0, |a| 1.0 / a) } else { 0.0 };
            let noise = noise_std[p] * (1.0 / b).hypot(here).hypot(last) / sum;
            std[v] = noise.hypot(path_std(falling, rising, v));
        }
        let average = Average { nodes: Points::new(&nodes, dim), weights: &weights, correlation: &[] };
        data.push_average(record.times[i + 1], average, &value, &std)?;
    }
    Ok(())
}

/// Standard deviation of the average of f that is due to the uncertain trajectory.
fn path_std(falling: &Interval, rising: Option<&Interval>, state: usize) -> f64 {
    let here = falling.path_std[state];
    rising.map_or(here, |r| 0.5 * (here + r.path_std[state]))
}

/// The noise of the known rows: a small fraction of the root mean square of the mean derivatives.
fn known_noise(record: &Record, velocities: &[[usize; 2]]) -> Vec<f64> {
    let n = record.len();
    let mut noise = vec![0.0; record.states.size()];
    for &[_, p] in velocities {
        let rate = |i: usize| {
            (record.states.at(i + 1)[p] - record.states.at(i)[p]) / (record.times[i + 1] - record.times[i])
        };
        let square = (0..n).map(|i| rate(i).powi(2)).sum::<f64>() / n as f64;
        noise[p] = (KNOWN * square.sqrt()).max(1e-12);
    }
    noise
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Blocks, Dims};
    use crate::states::{Controls, StateSettings};

    #[test]
    fn second_differences_are_averages_of_the_acceleration() {
        // θ = sin 2t, so ω̇ = −4 θ, at irregular times. The velocity is known at the beginning only.
        let times: Vec<f64> =
            (0..=12).map(|i| 0.25 * (f64::from(i) + 0.2 * (3.0 * f64::from(i)).sin())).collect();
        let x = |t: f64| [(2.0 * t).sin(), 2.0 * (2.0 * t).cos()];
        let mut states = Blocks::zeros(2, 0);
        for t in &times {
            states.push(&x(*t));
        }
        let controls = Controls::new(vec![0.0, 4.0], Blocks::from_vec(vec![0.0, 0.0], 1));
        let record = Record { times, states, controls };
        let noise_std = [1e-6, 1e8];
        let mut path = Path::through(&record, &[1e-6, 1e-6], &[], 3.0);
        path.fill(&record, 1, |t| x(t)[1]);
        let mut data = Measurements::new(Dims { state: 2, control: 1 });
        add_outputs(&record, &path, &noise_std, &[[1, 0]], true, &mut data).unwrap();
        assert_eq!(data.len(), 12);
        let mut node = 0;
        for i in 0..data.len() {
            let average = data.average(i);
            let mut mean = [0.0; 2];
            for w in average.weights {
                let z = data.nodes().at(node);
                mean = [mean[0] + w * z[1], mean[1] - 4.0 * w * z[0]];
                node += 1;
            }
            let measured = data.derivatives().at(i);
            // The positions between the samples are those of a curve in time.
            assert!((mean[0] - measured[0]).abs() < 1e-12 && (mean[1] - measured[1]).abs() < 5e-3, "row {i}");
        }
    }

    #[test]
    fn states_that_are_not_measured_have_infinite_noise() {
        let settings = StateSettings { velocities: vec![[1, 0]], noise: 0.1, ..StateSettings::default() };
        assert_eq!(settings.noise_std(3), [0.1, f64::INFINITY, 0.1]);
        assert!(settings.is_measured(0) && !settings.is_measured(1));
    }
}
