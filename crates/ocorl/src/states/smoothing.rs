//! A Gaussian process in time for each state: x(t) and ẋ(t) with their standard deviations, from irregular, noisy samples.
//!
//! ```text
//! x ~ GP(m, k),   yᵢ = x(tᵢ) + εᵢ
//! E ẋ(t) = ∂k(t)ᵀ (K + N)⁻¹ (y − m),   var ẋ(t) = ∂∂′k(0) − ∂k(t)ᵀ (K + N)⁻¹ ∂k(t)
//! ```
//!
//! m is the average. The kernel is an RBF or a Matérn 5/2 with variance and lengthscale of its own, whichever has the greater likelihood;
//! the noise is stated.

use crate::linalg::Cholesky;

/// k(r) = s² g(r/ℓ).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Rbf,
    Matern,
}

impl Form {
    /// g, g′ and g″ at a scaled distance that has a sign.
    fn values(self, r: f64) -> [f64; 3] {
        match self {
            Form::Rbf => {
                let g = (-0.5 * r * r).exp();
                [g, -r * g, (r * r - 1.0) * g]
            }
            Form::Matern => {
                let a = 5_f64.sqrt() * r.abs();
                let e = (-a).exp();
                let slope = -5.0 / 3.0 * r * (1.0 + a) * e;
                [(1.0 + a + a * a / 3.0) * e, slope, 5.0 / 3.0 * (a * a - a - 1.0) * e]
            }
        }
    }
}

/// One state as a function of time.
#[derive(Clone, Debug)]
pub struct Smoother {
    times: Vec<f64>,
    form: Form,
    mean: f64,
    variance: f64,
    length: f64,
    factor: Cholesky,
    weights: Vec<f64>,
}

/// x(t) and ẋ(t) with standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothed {
    /// E x
    pub value: f64,
    /// Its standard deviation.
    pub value_std: f64,
    /// E ẋ
    pub derivative: f64,
    /// Its standard deviation.
    pub derivative_std: f64,
}

/// Noise variances below this part of the signal's are raised to it.
const LEAST_NOISE: f64 = 1e-10;

impl Smoother {
    /// Fits to samples `y` at `times` with standard deviations `noise_std`. None if there are fewer than two, or nothing can be made of them.
    pub fn fit(times: &[f64], y: &[f64], noise_std: &[f64]) -> Option<Self> {
        let n = y.len();
        if n < 2 || times.iter().chain(y).any(|v| !v.is_finite()) {
            return None;
        }
        let mean = y.iter().sum::<f64>() / n as f64;
        let spread = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n as f64;
        let noise = noise_std.iter().map(|s| s * s).sum::<f64>() / n as f64;
        let spread = spread.max(noise).max(f64::MIN_POSITIVE);
        let length = times[n - 1] - times[0];
        let data = Data { times, y, noise_std, mean };
        let mut best: Option<(f64, Form, [f64; 2])> = None;
        for form in [Form::Rbf, Form::Matern] {
            let value = |p: [f64; 2]| {
                data.posterior(form, p[0].exp(), p[1].exp()).map(|(l, ..)| l + prior(p, spread, length))
            };
            if let Some((at, p)) = climb(value, spread, length)
                && best.is_none_or(|b| at > b.0)
            {
                best = Some((at, form, p));
            }
        }
        let (_, form, p) = best?;
        let (variance, length) = (p[0].exp(), p[1].exp());
        let (_, factor, weights) = data.posterior(form, variance, length)?;
        Some(Smoother { times: times.to_vec(), form, mean, variance, length, factor, weights })
    }

    /// At a time.
    pub fn at(&self, time: f64) -> Smoothed {
        let each = self.times.iter().map(|t| self.form.values((time - t) / self.length));
        let (mut k, mut slope) = (Vec::new(), Vec::new());
        for [g, d, _] in each {
            k.push(self.variance * g);
            slope.push(self.variance * d / self.length);
        }
        let dot = |a: &[f64]| a.iter().zip(&self.weights).map(|(a, w)| a * w).sum::<f64>();
        let (value, derivative) = (self.mean + dot(&k), dot(&slope));
        let left = |mut column: Vec<f64>, prior: f64| {
            self.factor.solve_lower(&mut column, 1);
            (prior - column.iter().map(|v| v * v).sum::<f64>()).max(0.0).sqrt()
        };
        let own = -self.variance * self.form.values(0.0)[2] / (self.length * self.length);
        Smoothed { value, derivative, value_std: left(k, self.variance), derivative_std: left(slope, own) }
    }
}

struct Data<'a> {
    times: &'a [f64],
    y: &'a [f64],
    noise_std: &'a [f64],
    mean: f64,
}

impl Data<'_> {
    /// ln p(y), the factor of K + N and (K + N)⁻¹ (y − m).
    fn posterior(&self, form: Form, variance: f64, length: f64) -> Option<(f64, Cholesky, Vec<f64>)> {
        let n = self.y.len();
        let mut matrix = vec![0.0; n * n];
        for j in 0..n {
            for i in j..n {
                matrix[j * n + i] = variance * form.values((self.times[i] - self.times[j]) / length)[0];
            }
            matrix[j * n + j] += self.noise_std[j].powi(2).max(LEAST_NOISE * variance);
        }
        let factor = Cholesky::new(&matrix, n).ok()?;
        let mut weights: Vec<f64> = self.y.iter().map(|y| y - self.mean).collect();
        factor.solve_lower(&mut weights, 1);
        let square: f64 = weights.iter().map(|w| w * w).sum();
        factor.solve_transposed(&mut weights, 1);
        let value = -0.5 * (square + factor.log_determinant());
        value.is_finite().then_some((value, factor, weights))
    }
}

/// A weak prior: the variance is that of the data give or take a factor of 100, the lengthscale a fifth of the run give or take one of 5.
fn prior([variance, length]: [f64; 2], spread: f64, whole: f64) -> f64 {
    let v = (variance - spread.ln()) / 100_f64.ln();
    let l = (length - (0.2 * whole).ln()) / 5_f64.ln();
    -0.5 * (v * v + l * l)
}

/// The greatest value over ln variance and ln lengthscale: a grid, then ever smaller steps from its best point.
fn climb(value: impl Fn([f64; 2]) -> Option<f64>, spread: f64, length: f64) -> Option<(f64, [f64; 2])> {
    let mut best: Option<(f64, [f64; 2])> = None;
    let consider = |p: [f64; 2], best: &mut Option<(f64, [f64; 2])>| {
        if let Some(at) = value(p)
            && best.is_none_or(|(b, _)| at > b)
        {
            *best = Some((at, p));
            return true;
        }
        false
    };
    for v in 0..5 {
        for l in 0..8 {
            let p = [spread.ln() + 1.5 * f64::from(v - 1), (0.02 * length).ln() + 0.6 * f64::from(l)];
            consider(p, &mut best);
        }
    }
    let mut step = 0.5;
    while step > 0.01 {
        let mut moved = false;
        for (dv, dl) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (1.0, 0.5), (-1.0, -0.5)] {
            let (_, p) = best?;
            moved |= consider([p[0] + step * dv, p[1] + step * dl], &mut best);
        }
        if !moved {
            step *= 0.5;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn slopes_are_those_of_the_values() {
        for form in [Form::Rbf, Form::Matern] {
            for r in [-1.3, -0.2, 0.4, 2.0] {
                let h = 1e-5;
                let [_, d, dd] = form.values(r);
                let (up, down) = (form.values(r + h), form.values(r - h));
                assert!(((up[0] - down[0]) / (2.0 * h) - d).abs() < 1e-9, "{form:?} at {r}");
                assert!(((up[1] - down[1]) / (2.0 * h) - dd).abs() < 1e-9, "{form:?} at {r}");
            }
        }
    }

    #[test]
    fn the_stated_deviation_covers_the_derivative_of_a_sine_at_its_nominal_rate() {
        for noise in [1e-3, 1e-2, 1e-1] {
            let (mut inside, mut inside_95, mut all) = (0, 0, 0);
            for seed in 0..40 {
                let mut rng = Stream::root(seed).rng();
                // Irregular times, a phase of its own each.
                let phase = rng.uniform(0.0, 6.0);
                let mut times: Vec<f64> = (0..25).map(|_| rng.uniform(0.0, 10.0)).collect();
                times.sort_by(f64::total_cmp);
                let y: Vec<f64> = times.iter().map(|t| (t + phase).sin() + noise * rng.normal()).collect();
                let smoother = Smoother::fit(&times, &y, &[noise; 25]).unwrap();
                for t in &times {
                    let s = smoother.at(*t);
                    let off = (s.derivative - (t + phase).cos()).abs();
                    inside += u32::from(off <= s.derivative_std);
                    inside_95 += u32::from(off <= 1.96 * s.derivative_std);
                    all += 1;
                }
            }
            let share = |count: u32| f64::from(count) / f64::from(all);
            // Nominal: 0.683 and 0.95. Points of a run are correlated: 40 runs tell a share to a few hundredths.
            assert!((0.60..0.85).contains(&share(inside)), "{noise}: {}", share(inside));
            assert!((0.90..=1.0).contains(&share(inside_95)), "{noise}: {}", share(inside_95));
        }
    }
}
