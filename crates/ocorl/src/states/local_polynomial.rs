//! Derivative estimates by local polynomials: a parabola fitted by least squares to the nearest samples.
//!
//! ```text
//! min Σ ((yᵢ − p(tᵢ))/σᵢ)²,   ẋ(t) ≈ p′(t),   var = (XᵀN⁻¹X)⁻¹₁₁ + (p′ − p̃′)²
//! ```
//!
//! p̃ is the cubic fitted to the same samples; its difference from the parabola estimates the bias.

use crate::linalg::Cholesky;

/// Number of samples that a polynomial is fitted to.
const NEAREST: usize = 5;

/// Estimates the derivative at `time` and its standard deviation, from samples `y` at `times` (ascending) with standard deviations
/// `noise_std`. `None` with fewer than two samples, or if the normal equations are singular.
pub fn local_derivative(times: &[f64], y: &[f64], noise_std: &[f64], time: f64) -> Option<(f64, f64)> {
    let mut nearest: Vec<usize> = (0..times.len()).collect();
    nearest.sort_by(|&a, &b| (times[a] - time).abs().total_cmp(&(times[b] - time).abs()));
    nearest.truncate(NEAREST);
    let degree = 2.min(nearest.len().checked_sub(1).filter(|d| *d > 0)?);
    let width = nearest.iter().map(|&i| (times[i] - time).abs()).fold(0.0, f64::max);
    if !(width > 0.0) {
        return None;
    }
    // A lower limit on the noise, relative to the samples, keeps the normal equations regular.
    let size = nearest.iter().map(|&i| y[i].abs()).fold(0.0, f64::max);
    let sample = |&i: &usize| Sample {
        t: (times[i] - time) / width,
        y: y[i],
        std: noise_std[i].max(1e-9 * size).max(f64::MIN_POSITIVE.sqrt()),
    };
    let samples: Vec<Sample> = nearest.iter().map(sample).collect();
    let (slope, variance) = fit(&samples, degree)?;
    let next = if nearest.len() > degree + 1 { fit(&samples, degree + 1) } else { None };
    // Without a further sample the bias cannot be estimated; the slope itself is used.
    let bias = next.map_or(slope, |(next, _)| slope - next);
    Some((slope / width, (variance + bias * bias).sqrt() / width))
}

#[derive(Clone, Copy)]
struct Sample {
    t: f64,
    y: f64,
    std: f64,
}

/// Computes p′(0) and its variance. `None` if the normal equations are singular.
fn fit(samples: &[Sample], degree: usize) -> Option<(f64, f64)> {
    let n = degree + 1;
    let powers =
        |t: f64| (0..n).scan(1.0, move |p, _| Some(std::mem::replace(p, *p * t))).collect::<Vec<f64>>();
    // Weights are relative to the smallest noise.
    let unit = samples.iter().map(|s| s.std).fold(f64::INFINITY, f64::min);
    let (mut matrix, mut right, mut second) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
    for s in samples {
        let (p, w) = (powers(s.t), (unit / s.std).powi(2));
        for j in 0..n {
            right[j] += w * p[j] * s.y;
            for i in 0..n {
                matrix[j * n + i] += w * p[i] * p[j];
            }
        }
    }
    let factor = Cholesky::new(&matrix, n).ok()?;
    second[1] = 1.0;
    for b in [&mut right, &mut second] {
        factor.solve_lower(b, 1);
        factor.solve_transposed(b, 1);
    }
    (right[1].is_finite() && second[1].is_finite()).then_some((right[1], second[1] * unit * unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn parabolas_are_met_exactly() {
        let times = [0.0, 0.3, 0.4, 1.0, 1.7, 2.0];
        let y: Vec<f64> = times.iter().map(|t| 1.0 + 2.0 * t - 3.0 * t * t).collect();
        for t in [0.0, 0.4, 1.9] {
            let (slope, std) = local_derivative(&times, &y, &[1e-9; 6], t).unwrap();
            assert!((slope - (2.0 - 6.0 * t)).abs() < 1e-7 && std < 1e-6, "{slope} ± {std} at {t}");
        }
        assert!(local_derivative(&times[..1], &y[..1], &[0.1], 0.0).is_none());
    }

    #[test]
    fn the_stated_deviation_covers_the_derivative_of_a_sine() {
        for noise in [1e-3, 1e-2, 1e-1] {
            let (mut inside, mut inside_95, mut all) = (0, 0, 0);
            for seed in 0..40 {
                let mut rng = Stream::root(seed).rng();
                let phase = rng.uniform(0.0, 6.0);
                let times: Vec<f64> =
                    (0..40).map(|i| 0.25 * (f64::from(i) + rng.uniform(-0.3, 0.3))).collect();
                let y: Vec<f64> = times.iter().map(|t| (t + phase).sin() + noise * rng.normal()).collect();
                for t in &times {
                    let (slope, std) = local_derivative(&times, &y, &[noise; 40], *t).unwrap();
                    let off = (slope - (t + phase).cos()).abs();
                    inside += u32::from(off <= std);
                    inside_95 += u32::from(off <= 1.96 * std);
                    all += 1;
                }
            }
            let share = |count: u32| f64::from(count) / f64::from(all);
            // Nominal (0.683 and 0.95) where noise is what matters. Where it is not, the difference from the cubic is about what
            // the parabola misses by, no more: half of the derivatives lie within it (0.514 at the least noise).
            let least = if noise < 1e-2 { (0.45, 0.80) } else { (0.55, 0.85) };
            assert!((least.0..0.95).contains(&share(inside)), "{noise}: {}", share(inside));
            assert!((least.1..=1.0).contains(&share(inside_95)), "{noise}: {}", share(inside_95));
        }
    }
}
