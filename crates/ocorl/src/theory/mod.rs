//! Quantities of the paper's analysis: measurement intervals, model complexity, information gain and regret bounds.
//!
//! | paper \[Tre23\] | code |
//! |---|---|
//! | L_f, L_π, L_σ, L_c | [`Lipschitz`]; estimated by [`Lipschitz::estimate`] and the `largest_…_norm` functions |
//! | Γₙ(Δ), Δₙ, mₙ = ⌈T/Δₙ⌉ | [`growth`], [`interval`], [`measurement_count`] |
//! | ∫‖σₙ₋₁(zₙ(t))‖² dt, summed over episodes the model complexity I_N | [`complexity`] |
//! | bounds on I_N for oracle, equidistant and adaptive measurements | [`oracle_bound`], [`equidistant_bound`], [`adaptive_bound`] |
//! | 18 s̄ T dₓ γ_N | [`log_complexity_bound`] |
//! | I(y; f) of new measurements, γ | [`information_gain_of`], [`greedy_maximum_information_gain`] |
//! | bounds on rₙ, R_N, ‖x̂ₙ(t) − xₙ(t)‖ | [`log_instantaneous_bound`], [`log_regret_bound`], [`log_distance_bound`] |
//! | the bounds of the appendix in discrete time | [`DiscreteLipschitz`] |
//! | expected reduction of the uncertainty of the planned cost | [`worth()`] |
//!
//! Bounds grow with exp(L_f (1 + L_π) T) and exceed every cost at the horizons of the benchmarks. They are returned as natural
//! logarithms, which do not overflow. They describe how regret scales, not its actual size. The functions are pure; no decision of
//! the learner is made here.

mod complexity;
mod discrete;
mod information;
mod lipschitz;
mod worth;

pub use complexity::{
    ComplexityBound, adaptive_bound, equidistant_bound, largest_slope, oracle_bound, squared_norms,
};
pub use discrete::{DiscreteLipschitz, log_sum};
pub use information::{greedy_maximum_information_gain, information_gain_of};
pub use lipschitz::{
    Lipschitz, largest_gain_norm, largest_gradient_norm, largest_jacobian_norm, spectral_norm,
};
pub use worth::{Worth, worth};

use crate::linalg::Blocks;

/// Lambert's W function, the principal branch for x ≥ 0: the solution w of w eʷ = x.
///
/// The relative error is a few units in the last place for all x. Five Halley iterations on w eʷ = x are used, and for x > e Newton
/// iterations on w + ln w = ln x, in which no term overflows. Panics for negative x.
pub fn lambert_w(x: f64) -> f64 {
    assert!(x >= 0.0, "W of {x}; it must be zero or positive");
    if x == 0.0 || x == f64::INFINITY {
        return x;
    }
    // The starting value has an error of a few per cent and is exact to first order at zero.
    let l = x.ln_1p();
    let mut w = l * (1.0 - l.ln_1p() / (2.0 + l));
    // Each step at least squares the error; four steps suffice, the fifth is a margin.
    for _ in 0..5 {
        w = if x > std::f64::consts::E {
            w * (1.0 + x.ln() - w.ln()) / (1.0 + w)
        } else {
            let (e, next) = (w.exp(), 1.0 + w);
            let error = w * e - x;
            w - error / (e * next - (w + 2.0) * error / (2.0 * next))
        };
    }
    w
}

/// The growth rate Γₙ(Δ) = 2 β L_σ (1 + L_π) exp(L_f (1 + L_π) Δ) of the difference between the uncertainties on the hallucinated
/// and on the true trajectory within an interval Δ.
pub fn growth(beta: f64, lipschitz: &Lipschitz, interval: f64) -> f64 {
    let Lipschitz { dynamics, std, .. } = lipschitz;
    let closed = lipschitz.closed_loop();
    2.0 * beta * std * closed * (dynamics * closed * interval).exp()
}

/// The measurement interval Δₙ within which the uncertainty on the hallucinated trajectory bounds the one on the true trajectory up
/// to a constant factor. It solves Δ = 1/(2 Γₙ(Δ)):
///
/// ```text
/// Δₙ = W(a)/(L_f (1 + L_π)) = exp(−W(a))/(4 β L_σ (1 + L_π)),   a = L_f/(4 β L_σ)
/// ```
///
/// with W of [`lambert_w`]. The second form needs no limit for L_f → 0, where W(a) → 0. The interval is infinite if β L_σ = 0.
pub fn interval(beta: f64, lipschitz: &Lipschitz) -> f64 {
    let drift = 4.0 * beta * lipschitz.std;
    assert!(drift >= 0.0, "β = {beta} and L_σ = {} must not be negative", lipschitz.std);
    if drift == 0.0 {
        return f64::INFINITY;
    }
    let a = (lipschitz.dynamics / drift).min(f64::MAX);
    (-lambert_w(a)).exp() / (drift * lipschitz.closed_loop())
}

/// The number mₙ = ⌈T/Δ⌉ of intervals of length Δ in [0, T], at least one; it saturates at `usize::MAX`.
///
/// If T is a multiple of Δ up to a relative rounding error of 1e-12, the quotient is not rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; the cast saturates")]
pub fn measurement_count(horizon: f64, interval: f64) -> usize {
    assert!(horizon >= 0.0 && interval > 0.0, "horizon {horizon}, interval {interval}");
    let whole = (horizon / interval * (1.0 - 1e-12)).ceil();
    (whole as usize).max(1)
}

/// Natural logarithm of the bound on the regret of the first N episodes \[Tre23, Proposition 1\]:
///
/// ```text
/// R_N ≤ 2 β_N L_c (1 + L_π) T^{3/2} exp(L_f (1 + L_π) T) √(N I_N)
/// ```
///
/// `complexity` is I_N; the sum of [`complexity`] over the executed trajectories may replace it, because the proof uses only that
/// sum. The result is −∞ if the complexity is zero.
pub fn log_regret_bound(
    beta: f64,
    lipschitz: &Lipschitz,
    horizon: f64,
    episodes: usize,
    complexity: f64,
) -> f64 {
    log_common(beta, lipschitz, horizon)
        + 1.5 * horizon.ln()
        + 0.5 * ((episodes as f64).ln() + complexity.ln())
}

/// Natural logarithm of the bound on the regret of one episode; `integrated_std` is ∫₀ᵀ‖σₙ₋₁(zₙ(t))‖ dt along the executed
/// trajectory:
///
/// ```text
/// rₙ ≤ 2 βₙ L_c (1 + L_π) T exp(L_f (1 + L_π) T) ∫₀ᵀ‖σₙ₋₁(zₙ(t))‖ dt
/// ```
pub fn log_instantaneous_bound(beta: f64, lipschitz: &Lipschitz, horizon: f64, integrated_std: f64) -> f64 {
    log_common(beta, lipschitz, horizon) + horizon.ln() + integrated_std.ln()
}

/// Computes ln(2 β L_c (1 + L_π) exp(L_f (1 + L_π) T)).
fn log_common(beta: f64, lipschitz: &Lipschitz, horizon: f64) -> f64 {
    let closed = lipschitz.closed_loop();
    (2.0 * closed).ln() + beta.ln() + lipschitz.cost.ln() + lipschitz.dynamics * closed * horizon
}

/// Natural logarithm of the bound on the distance between hallucinated and true state after `time`; `integrated_std` is
/// ∫₀ᵗ‖σₙ₋₁(zₙ(s))‖ ds along either trajectory:
///
/// ```text
/// ‖x̂ₙ(t) − xₙ(t)‖ ≤ 2 βₙ exp(L_f (1 + L_π) t) ∫₀ᵗ‖σₙ₋₁(zₙ(s))‖ ds
/// ```
pub fn log_distance_bound(beta: f64, lipschitz: &Lipschitz, time: f64, integrated_std: f64) -> f64 {
    (2.0 * beta).ln() + lipschitz.dynamics * lipschitz.closed_loop() * time + integrated_std.ln()
}

/// Natural logarithm of the bound on the model complexity I_N under adaptive measurements \[Tre23, Section 4\]:
///
/// ```text
/// I_N ≤ 18 s̄ T dₓ γ_N,   s̄ = s²/ln(1 + s²/σ²)
/// ```
///
/// where s² is the largest prior variance, σ² the noise variance and γ_N the maximum information gain of one output.
pub fn log_complexity_bound(
    prior_variance: f64,
    noise_variance: f64,
    horizon: f64,
    outputs: usize,
    gain: f64,
) -> f64 {
    let spread = prior_variance / (prior_variance / noise_variance).ln_1p();
    18_f64.ln() + spread.ln() + horizon.ln() + (outputs as f64).ln() + gain.ln()
}

/// Integrates ‖σ(z(t))‖² along a trajectory by the trapezoidal rule; block i of `std` is σ at `times[i]`, ‖·‖ is the Euclidean norm
/// over the outputs. Times must not decrease. The integral over fewer than two samples is zero.
///
/// The sum over the executed episodes, with σ of the model before each episode, is the model complexity that the paper's bounds
/// use.
pub fn complexity(times: &[f64], std: &Blocks) -> f64 {
    integrate(times, std, |square| square)
}

/// Integrates ‖σ(z(t))‖ along a trajectory by the trapezoidal rule, with the conventions of [`complexity`].
pub fn integrated_std(times: &[f64], std: &Blocks) -> f64 {
    integrate(times, std, f64::sqrt)
}

fn integrate(times: &[f64], std: &Blocks, of_square: impl Fn(f64) -> f64) -> f64 {
    assert_eq!(times.len(), std.len(), "{} times for {} samples", times.len(), std.len());
    let value = |i: usize| of_square(std.at(i).iter().map(|s| s * s).sum());
    let mut sum = 0.0;
    for i in 1..times.len() {
        let step = times[i] - times[i - 1];
        assert!(step >= 0.0, "time {} follows {}", times[i], times[i - 1]);
        sum += 0.5 * step * (value(i - 1) + value(i));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONES: Lipschitz = Lipschitz { dynamics: 1.0, policy: 1.0, std: 1.0, cost: 1.0 };

    #[test]
    fn w_solves_its_equation_from_the_smallest_to_the_largest_numbers() {
        for e in -3000..=3000 {
            let x = 10_f64.powf(0.1 * f64::from(e));
            let w = lambert_w(x);
            // A relative error ε of w is one of (1 + w) ε of w eʷ. Beyond w = 1 the logarithms are compared, whose rounding error
            // is relative to w, not to eʷ.
            let error =
                if w < 1.0 { (w * w.exp() / x - 1.0) / (1.0 + w) } else { (w + w.ln() - x.ln()) / (1.0 + w) };
            assert!(error.abs() <= 1e-15, "W({x:e}) = {w:e}: {error:e}");
        }
        assert_eq!(lambert_w(0.0), 0.0);
        assert!((lambert_w(std::f64::consts::E) - 1.0).abs() <= 1e-15);
        assert!((lambert_w(1.0) - 0.567_143_290_409_784).abs() <= 1e-15, "the omega constant");
        assert_eq!(lambert_w(5e-324), 5e-324);
        assert!(lambert_w(f64::MAX) < 710.0 && lambert_w(f64::INFINITY) == f64::INFINITY);
    }

    #[test]
    fn intervals_are_those_of_the_closed_form() {
        for (beta, expected) in [(1.0, 0.101_944_177_4), (2.0, 0.055_890_054_5), (5.0, 0.023_836_154_3)] {
            assert!((interval(beta, &ONES) - expected).abs() < 1e-10);
        }
    }

    #[test]
    fn intervals_solve_their_equation() {
        for dynamics in [0.0, 1e-300, 1e-9, 0.1, 3.0, 1e6] {
            for (policy, std, beta) in [(0.0, 1.0, 1.0), (2.5, 0.01, 3.0), (10.0, 1e3, 0.2)] {
                let lipschitz = Lipschitz { dynamics, policy, std, cost: 1.0 };
                let delta = interval(beta, &lipschitz);
                let residual = 2.0 * delta * growth(beta, &lipschitz, delta) - 1.0;
                // exp magnifies the rounding of its argument, which is W ≤ 20 here.
                assert!(residual.abs() < 1e-13, "{lipschitz:?}: Δ = {delta}, {residual:e}");
                if dynamics == 0.0 {
                    assert_eq!(delta, 1.0 / (4.0 * beta * std * (1.0 + policy)));
                } else if dynamics > 1e-3 {
                    let w = lambert_w(dynamics / (4.0 * beta * std));
                    let other = w / (dynamics * (1.0 + policy));
                    assert!((delta - other).abs() < 1e-13 * other);
                }
            }
        }
        assert_eq!(interval(0.0, &ONES), f64::INFINITY);
        assert!(interval(1e-320, &ONES) > 300.0, "a quotient that overflows");
    }

    #[test]
    fn counts_are_rounded_up_but_not_by_rounding_errors() {
        assert_eq!(measurement_count(1.0, 0.3), 4);
        assert_eq!(measurement_count(2.1, 0.7), 3, "2.1/0.7 is a little more than 3 in binary");
        assert_eq!(measurement_count(2.1, 0.699), 4);
        assert_eq!(measurement_count(10.0, interval(1.0, &ONES)), 99);
        assert_eq!((measurement_count(1.0, f64::INFINITY), measurement_count(0.0, 1.0)), (1, 1));
        assert_eq!(measurement_count(f64::MAX, 1e-300), usize::MAX);
    }

    #[test]
    fn bounds_are_the_logarithms_of_their_formulas() {
        let l = Lipschitz { dynamics: 0.3, policy: 0.5, std: 1.0, cost: 2.0 };
        let (beta, t, n, i) = (1.7, 2.0_f64, 12, 0.4);
        let common = 2.0 * beta * 2.0 * 1.5 * (0.3_f64 * 1.5 * t).exp();
        let regret = common * t.powf(1.5) * (12.0_f64 * i).sqrt();
        assert!((log_regret_bound(beta, &l, t, n, i) - regret.ln()).abs() < 1e-14);
        let instantaneous = common * t * 0.2;
        assert!((log_instantaneous_bound(beta, &l, t, 0.2) - instantaneous.ln()).abs() < 1e-14);
        let distance = 2.0 * beta * (0.3_f64 * 1.5 * 0.7).exp() * 0.2;
        assert!((log_distance_bound(beta, &l, 0.7, 0.2) - distance.ln()).abs() < 1e-14);
        let complexity = 18.0 * (4.0 / (1.0_f64 + 4.0 / 0.01).ln()) * 2.0 * 3.0 * 5.0;
        assert!((log_complexity_bound(4.0, 0.01, 2.0, 3, 5.0) - complexity.ln()).abs() < 1e-14);
        let wild = Lipschitz { dynamics: 1e6, ..l };
        assert!(log_regret_bound(beta, &wild, 1e3, n, i).is_finite());
        assert_eq!(log_regret_bound(beta, &l, t, n, 0.0), f64::NEG_INFINITY);
    }

    #[test]
    fn integrals_take_uneven_times() {
        let times = [0.0, 0.1, 0.1, 0.7, 2.0];
        // σ = (3 t, 4 t): ‖σ‖ = 5 t is integrated exactly, ‖σ‖² = 25 t² by trapezia.
        let std = Blocks::from_vec(times.iter().flat_map(|t| [3.0 * t, 4.0 * t]).collect(), 2);
        assert!((integrated_std(&times, &std) - 10.0).abs() < 1e-14);
        let trapezia: f64 =
            times.windows(2).map(|t| 12.5 * (t[1] - t[0]) * (t[0] * t[0] + t[1] * t[1])).sum();
        assert!((complexity(&times, &std) - trapezia).abs() < 1e-13);
        assert_eq!(complexity(&[], &Blocks::zeros(2, 0)), 0.0);
        assert_eq!(complexity(&[1.0], &Blocks::zeros(2, 1)), 0.0);
    }
}
