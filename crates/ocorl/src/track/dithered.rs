//! Dithering: a policy whose control is disturbed at random, with a new draw for each control period.
//!
//! ```text
//! ε-greedy     u = v_k with probability ε, π(t, x) otherwise              v_k uniform in a box
//! Boltzmann    u = π(t, x) + √T L_k⁻ᵀ ξ_k,   L_k L_kᵀ = Q_uu               ξ_k ~ N(0, I)
//! ```
//!
//! Boltzmann dithering samples p(u) ∝ exp(−Q(x, u)/T) with the quadratic model of Q around the plan: N(π, T Q_uu⁻¹). Every draw is clamped
//! to the control limits. The draw of period k has its own random stream: equal streams give equal draws, independent of the number of
//! evaluations of the policy.

use crate::linalg::Cholesky;
use crate::random::Stream;
use crate::simulate::{Policy, PolicyError};
use crate::system::Bounds;

/// Distribution of the disturbance in a period.
#[derive(Clone, Debug)]
pub enum Dither {
    /// With probability `probability` the control is uniform in `range` instead of the policy's.
    EpsilonGreedy {
        /// Probability ε of a random control in a period.
        probability: f64,
        /// Finite range of the random controls.
        range: Bounds,
    },
    /// The term √T L⁻ᵀ ξ is added to the policy's control.
    Boltzmann {
        /// Temperature T, in the unit of the cost.
        temperature: f64,
        /// Start times of the intervals of the plan.
        times: Vec<f64>,
        /// For each interval, the Cholesky factor of Q_uu of a control that is held for a period.
        factors: Vec<Cholesky>,
    },
}

/// Times at which new draws are made.
#[derive(Clone, Debug, PartialEq)]
pub enum Periods {
    /// Periods of this length, from the initial time on.
    Every(f64),
    /// Given times, in increasing order.
    At(Vec<f64>),
}

/// Draw of one period.
#[derive(Clone, Debug, PartialEq)]
enum Deviation {
    None,
    Replaced(Vec<f64>),
    Added(Vec<f64>),
}

/// A policy with dithering.
pub struct Dithered {
    inner: Box<dyn Policy + Send>,
    dither: Dither,
    periods: Periods,
    bounds: Bounds,
    stream: Stream,
    /// Number of the current period.
    period: Option<usize>,
    until: f64,
    deviation: Deviation,
}

impl Dithered {
    /// Creates a policy that disturbs `inner` with one draw from `stream` per period, within `bounds`.
    pub fn new(
        inner: Box<dyn Policy + Send>,
        dither: Dither,
        periods: Periods,
        bounds: Bounds,
        stream: Stream,
    ) -> Self {
        let (until, deviation) = (f64::NEG_INFINITY, Deviation::None);
        Dithered { inner, dither, periods, bounds, stream, period: None, until, deviation }
    }

    /// Advances to the period that contains `time`, if it differs from the current one.
    fn advance(&mut self, time: f64) {
        let next = match &self.periods {
            // Rounding of accumulated times must not skip a draw.
            Periods::Every(length) if time >= self.until - 1e-9 * length => {
                self.until = time + length;
                self.period.map_or(0, |period| period + 1)
            }
            Periods::Every(_) => return,
            Periods::At(times) => {
                let next = times.partition_point(|&t| t <= time);
                self.until = times.get(next).copied().unwrap_or(f64::INFINITY);
                next
            }
        };
        if self.period != Some(next) {
            self.period = Some(next);
            self.deviation = self.dither.draw(time, self.stream.index(next));
        }
    }
}

impl Dither {
    fn draw(&self, time: f64, stream: Stream) -> Deviation {
        let rng = &mut stream.rng();
        match self {
            Dither::EpsilonGreedy { probability, range } => {
                if rng.unit() >= *probability {
                    return Deviation::None;
                }
                let each = range.lower.iter().zip(&range.upper);
                Deviation::Replaced(each.map(|(lower, upper)| rng.uniform(*lower, *upper)).collect())
            }
            Dither::Boltzmann { temperature, times, factors } => {
                let interval = times.partition_point(|&t| t <= time).clamp(1, factors.len()) - 1;
                let factor = &factors[interval];
                let mut deviation: Vec<f64> = (0..factor.len()).map(|_| rng.normal()).collect();
                factor.solve_transposed(&mut deviation, 1);
                let size = temperature.sqrt();
                for d in &mut deviation {
                    *d *= size;
                }
                Deviation::Added(deviation)
            }
        }
    }
}

impl Policy for Dithered {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let until = self.inner.prepare(time, state)?;
        self.advance(time);
        Ok(until.min(self.until))
    }

    fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
        self.inner.control(time, state, out);
        match &self.deviation {
            Deviation::None => return,
            Deviation::Replaced(by) => out.copy_from_slice(by),
            Deviation::Added(more) => {
                for (out, more) in out.iter_mut().zip(more) {
                    *out += more;
                }
            }
        }
        self.bounds.clamp(out);
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        self.inner.level_counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Law;

    fn dithered(dither: Dither, periods: Periods, bounds: Bounds, seed: u64) -> Dithered {
        let law = Law(|t: f64, x: &[f64], u: &mut [f64]| u.fill(t + x[0]));
        Dithered::new(Box::new(law), dither, periods, bounds, Stream::root(seed))
    }

    /// Returns the control in the middle of each of `count` periods of 0.1, at x = 0.
    fn controls(policy: &mut Dithered, dim: usize, count: usize) -> Vec<Vec<f64>> {
        let mut time = 0.0;
        let each = (0..count).map(|_| {
            let until = policy.prepare(time, &[0.0]).unwrap();
            let mut u = vec![0.0; dim];
            policy.control(0.5 * (time + until), &[0.0], &mut u);
            time = until;
            u
        });
        each.collect()
    }

    #[test]
    fn epsilon_greedy_replaces_about_the_share_it_says_by_uniform_controls() {
        let range = Bounds { lower: vec![-2.0, 5.0], upper: vec![1.0, 6.0] };
        let dither = Dither::EpsilonGreedy { probability: 0.3, range };
        let make = |seed| dithered(dither.clone(), Periods::Every(0.1), Bounds::none(2), seed);
        let n = 4000;
        let all = controls(&mut make(1), 2, n);
        let planned =
            |(k, u): &(usize, &Vec<f64>)| (u[0] - (0.1 * *k as f64 + 0.05)).abs() < 1e-6 && u[0] == u[1];
        let drawn: Vec<&Vec<f64>> = all.iter().enumerate().filter(|e| !planned(e)).map(|(_, u)| u).collect();
        // Five standard deviations of a binomial proportion.
        let share = drawn.len() as f64 / n as f64;
        assert!((share - 0.3).abs() < 5.0 * (0.21 / n as f64).sqrt(), "{share}");
        assert!(drawn.iter().all(|u| (-2.0..1.0).contains(&u[0]) && (5.0..6.0).contains(&u[1])));
        let mean = drawn.iter().map(|u| u[0]).sum::<f64>() / drawn.len() as f64;
        assert!((mean + 0.5).abs() < 0.15, "{mean}");
        assert_eq!(all, controls(&mut make(1), 2, n));
        assert_ne!(all, controls(&mut make(2), 2, n));
    }

    #[test]
    fn boltzmann_has_the_covariance_of_the_inverse_curvature() {
        // Q_uu = [2 1; 1 3], T = 0.5: covariance 0.5 · [3 −1; −1 2]/5.
        let factor = Cholesky::new(&[2.0, 1.0, 1.0, 3.0], 2).unwrap();
        let dither = Dither::Boltzmann { temperature: 0.5, times: vec![0.0], factors: vec![factor] };
        let mut policy = dithered(dither, Periods::Every(0.1), Bounds::none(2), 3);
        let n = 40_000;
        let all = controls(&mut policy, 2, n);
        let off = |k: usize, r: usize| all[k][r] - (0.1 * k as f64 + 0.05);
        let moment = |a: usize, b: usize| (0..n).map(|k| off(k, a) * off(k, b)).sum::<f64>() / n as f64;
        for ((a, b), expected) in [((0, 0), 0.3), ((0, 1), -0.1), ((1, 1), 0.2)] {
            assert!((moment(a, b) - expected).abs() < 0.01, "{a}{b}: {}", moment(a, b));
        }
    }

    #[test]
    fn a_dithered_control_stays_within_its_limits_and_changes_only_between_periods() {
        let factor = Cholesky::new(&[1.0], 1).unwrap();
        let dither = Dither::Boltzmann { temperature: 9.0, times: vec![0.0], factors: vec![factor] };
        let at = Periods::At(vec![0.0, 0.5, 2.0]);
        let mut policy = dithered(dither, at, Bounds::symmetric([1.0]), 0);
        let mut last = None;
        for (time, expected) in [(0.0, 0.5), (0.2, 0.5), (0.5, 2.0), (1.0, 2.0), (2.0, f64::INFINITY)] {
            assert_eq!(policy.prepare(time, &[0.0]).unwrap(), expected);
            let same = policy.deviation.clone();
            if let Some((until, before)) = last.replace((expected, same.clone())) {
                assert_eq!(until == expected, before == same, "t = {time}");
            }
            let mut u = [0.0];
            policy.control(time, &[0.0], &mut u);
            assert!(u[0].abs() <= 1.0);
        }
    }
}
