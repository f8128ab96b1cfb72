//! Gaussian process regression of each state over time: x(t) and ẋ(t) with standard deviations, from irregular, noisy samples.
//!
//! ```text
//! x ~ GP(m, k),   yᵢ = x(tᵢ) + εᵢ
//! E ẋ(t) = ∂k(t)ᵀ (K + N)⁻¹ (y − m),   var ẋ(t) = ∂∂′k(0) − ∂k(t)ᵀ (K + N)⁻¹ ∂k(t)
//! ```
//!
//! m is the average of the samples. The kernel is a squared exponential or a Matérn 5/2, whichever has the larger marginal
//! likelihood; its variance and lengthscale are fitted, the noise is given. O(n³) for each evaluation of the likelihood.

use crate::linalg::Cholesky;

/// The shape g of the kernel k(r) = s² g(r/ℓ).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Rbf,
    Matern,
}

impl Form {
    /// g, g′ and g″ at a signed scaled distance.
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

/// The fitted process of one state as a function of time.
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

/// Estimates of x(t) and ẋ(t) with standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothed {
    /// The posterior mean of x.
    pub value: f64,
    /// The posterior standard deviation of x.
    pub value_std: f64,
    /// The posterior mean of ẋ.
    pub derivative: f64,
    /// The posterior standard deviation of ẋ.
    pub derivative_std: f64,
}

/// Noise variances below this fraction of the signal variance are raised to it.
const LEAST_NOISE: f64 = 1e-10;

impl Smoother {
    /// Fits the process to samples `y` at `times` with standard deviations `noise_std`. `None` with fewer than two samples, if a
    /// sample is not finite, or if no kernel can be factorised.
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
            if let Some((at, p)) = maximize(value, spread, length)
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

    /// Evaluates the posterior at a time.
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
    /// Computes ln p(y) up to a constant, the Cholesky factor of K + N, and (K + N)⁻¹ (y − m).
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

/// The log density of a weak prior: the variance is centred at that of the data with a factor of 100 as one standard deviation, the
/// lengthscale at a fifth of the run with a factor of 5.
fn prior([variance, length]: [f64; 2], spread: f64, whole: f64) -> f64 {
    let v = (variance - spread.ln()) / 100_f64.ln();
    let l = (length - (0.2 * whole).ln()) / 5_f64.ln();
    -0.5 * (v * v + l * l)
}

/// Maximises `value` over ln variance and ln lengthscale: a grid search, then a pattern search with decreasing steps from its best
/// point.
fn maximize(value: impl Fn([f64; 2]) -> Option<f64>, spread: f64, length: f64) -> Option<(f64, [f64; 2])> {
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
                // Irregular times and a different phase for each run.
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
            // Nominal coverages are 0.683 and 0.95. Samples of a run are correlated: 40 runs determine a share to a few hundredths.
            assert!((0.60..0.85).contains(&share(inside)), "{noise}: {}", share(inside));
            assert!((0.90..=1.0).contains(&share(inside_95)), "{noise}: {}", share(inside_95));
        }
    }
}
