//! The smoothing spline of recorded positions: the function g that minimises
//!
//! ```text
//! Σᵢ (yᵢ − g(tᵢ))² + λ ∫ g″² dt,   λ = τ⁴/δ
//! ```
//!
//! with δ the mean sampling interval. g is a cubic spline with g″ = 0 at both ends. Motion slower than τ is kept and faster motion is
//! smoothed; if samples are further apart than τ, the spline passes nearly through them. O(n) by the equations of [Gre94].

/// A fitted spline.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spline {
    times: Vec<f64>,
    /// Values and second derivatives at the times.
    values: Vec<f64>,
    bends: Vec<f64>,
}

impl Spline {
    /// Fits the spline to `y` at ascending `times`, at least three.
    pub(super) fn fit(times: &[f64], y: &[f64], tau: f64) -> Self {
        let n = times.len();
        let h: Vec<f64> = times.windows(2).map(|t| t[1] - t[0]).collect();
        let lambda = tau.powi(4) * (n - 1) as f64 / (times[n - 1] - times[0]);
        // Column j of Q: the second difference at the inner time j + 1. The second derivatives γ solve (R + λ QᵀQ) γ = Qᵀy.
        let q = |j: usize| [1.0 / h[j], -1.0 / h[j] - 1.0 / h[j + 1], 1.0 / h[j + 1]];
        let inner = n - 2;
        let (mut diagonal, mut first, mut second) = (vec![0.0; inner], vec![0.0; inner], vec![0.0; inner]);
        let mut gamma = vec![0.0; inner];
        for j in 0..inner {
            let [a, b, c] = q(j);
            diagonal[j] = (h[j] + h[j + 1]) / 3.0 + lambda * (a * a + b * b + c * c);
            if j + 1 < inner {
                let [d, e, _] = q(j + 1);
                first[j] = h[j + 1] / 6.0 + lambda * (b * d + c * e);
            }
            if j + 2 < inner {
                second[j] = lambda * c * q(j + 2)[0];
            }
            gamma[j] = a * y[j] + b * y[j + 1] + c * y[j + 2];
        }
        solve(&mut diagonal, &mut first, &mut second, &mut gamma);
        let mut values = y.to_vec();
        for (j, gamma) in gamma.iter().enumerate() {
            for (value, q) in values[j..].iter_mut().zip(q(j)) {
                *value -= lambda * q * gamma;
            }
        }
        let bends = std::iter::once(0.0).chain(gamma).chain([0.0]).collect();
        Spline { times: times.to_vec(), values, bends }
    }

    /// Value, first and second derivative at a time; outside the samples those of the nearest cubic.
    pub(super) fn at(&self, time: f64) -> [f64; 3] {
        let next = self.times.partition_point(|t| *t <= time).clamp(1, self.times.len() - 1);
        let (i, h) = (next - 1, self.times[next] - self.times[next - 1]);
        let (a, b) = ((self.times[next] - time) / h, (time - self.times[i]) / h);
        let (left, right) = (self.bends[i], self.bends[next]);
        let cubic = |c: f64| (c * c * c - c) * h * h / 6.0;
        let slope = |c: f64| (3.0 * c * c - 1.0) * h / 6.0;
        [
            a * self.values[i] + b * self.values[next] + cubic(a) * left + cubic(b) * right,
            (self.values[next] - self.values[i]) / h - slope(a) * left + slope(b) * right,
            a * left + b * right,
        ]
    }
}

/// Solves a symmetric system with two diagonals below the main one by L D Lᵀ; `b` becomes the solution.
fn solve(diagonal: &mut [f64], first: &mut [f64], second: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    for j in 0..n {
        let (d, l1, l2) = (diagonal[j], first[j] / diagonal[j], second[j] / diagonal[j]);
        if j + 1 < n {
            diagonal[j + 1] -= l1 * l1 * d;
            first[j + 1] -= l1 * l2 * d;
            b[j + 1] -= l1 * b[j];
        }
        if j + 2 < n {
            diagonal[j + 2] -= l2 * l2 * d;
            b[j + 2] -= l2 * b[j];
        }
        (first[j], second[j]) = (l1, l2);
    }
    for j in (0..n).rev() {
        let next = if j + 1 < n { first[j] * b[j + 1] } else { 0.0 };
        let after = if j + 2 < n { second[j] * b[j + 2] } else { 0.0 };
        b[j] = b[j] / diagonal[j] - next - after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(n: usize, step: f64) -> Vec<f64> {
        (0..n).map(|i| step * (i as f64 + 0.3 * (i as f64).sin())).collect()
    }

    #[test]
    fn without_smoothing_the_spline_passes_through_the_samples_and_has_their_derivatives() {
        let t = times(200, 0.02);
        let y: Vec<f64> = t.iter().map(|t| (3.0 * t).sin()).collect();
        let spline = Spline::fit(&t, &y, 0.0);
        for time in [0.5, 1.234, 3.0] {
            let [x, v, a] = spline.at(time);
            let (sin, cos) = (3.0 * time).sin_cos();
            assert!((x - sin).abs() < 1e-6 && (v - 3.0 * cos).abs() < 1e-3 && (a + 9.0 * sin).abs() < 0.05);
        }
    }

    #[test]
    fn the_fit_is_the_minimum_of_its_criterion() {
        // The gradient of the criterion with respect to the values is zero: (y − g)/λ equals Q γ, whose entries are jumps of g‴.
        let t = times(12, 0.1);
        let y: Vec<f64> = t.iter().map(|t| (7.0 * t).cos() + t * t).collect();
        let tau = 0.15;
        let spline = Spline::fit(&t, &y, tau);
        let lambda = f64::powi(tau, 4) * 11.0 / (t[11] - t[0]);
        let third = |i: usize| (spline.bends[i + 1] - spline.bends[i]) / (t[i + 1] - t[i]);
        for i in 1..11 {
            let jump = third(i) - third(i - 1);
            assert!((y[i] - spline.values[i] - lambda * jump).abs() < 1e-9, "{i}");
        }
        // A parabola has no jumps, but its second derivative is not zero at the ends: only lines are kept exactly.
        let line: Vec<f64> = t.iter().map(|t| 2.0 - 3.0 * t).collect();
        let [x, v, a] = Spline::fit(&t, &line, 5.0).at(0.52);
        assert!((x - 0.44).abs() < 1e-9 && (v + 3.0).abs() < 1e-9 && a.abs() < 1e-8);
    }

    #[test]
    fn noise_faster_than_the_time_scale_is_smoothed() {
        let t: Vec<f64> = (0..1000).map(|i| 0.002 * f64::from(i)).collect();
        let noise = |i: usize| 1e-3 * (1e3 * i as f64).sin();
        let y: Vec<f64> = t.iter().enumerate().map(|(i, t)| (3.0 * t).sin() + noise(i)).collect();
        let rough = |tau: f64| {
            let spline = Spline::fit(&t, &y, tau);
            (0..100)
                .map(|k| {
                    (spline.at(0.5 + 0.01 * f64::from(k))[1] - 3.0 * (1.5 + 0.03 * f64::from(k)).cos()).abs()
                })
                .fold(0.0, f64::max)
        };
        assert!(rough(0.0) > 0.3 && rough(0.015) < 0.05, "{} {}", rough(0.0), rough(0.015));
    }
}
