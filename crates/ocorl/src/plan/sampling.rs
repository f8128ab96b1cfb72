//! Starts found by sampling: the cross-entropy method on smooth controls.
//!
//! A local search follows the gradient into the nearest basin. Sampling needs no gradient: it draws many smooth controls, simulates them
//! all, and draws the next ones around the best. Its result is rough, but often in a basin that no other start leads to:
//!
//! ```text
//! v ~ N(m, s²) at K knots,  u_k = clamp(center + unit · v(t_k)),  (m, s) ← mean and standard deviation of the best samples
//! ```
//!
//! All samples advance together, so that f is evaluated in batches. State limits and constraints enter as a quadratic penalty.
//!
//! Left out on purpose: rate limits (the planner applies them to the start), and feedback: a long balance at the end cannot be sampled in
//! open loop, so the method is also used with a growing horizon ([`in_stages`](super::in_stages)).

use super::limits::with_penalty;
use super::rollout::{DIVERGED, Rollout};
use super::{Problem, SearchKind, Start};
use crate::linalg::small::axpy;
use crate::linalg::{Blocks, Points};
use crate::random::{Rng, Stream};
use crate::simulate::Tableau;
use crate::system::Dynamics;
use rayon::prelude::*;

/// Number of controls drawn in each round.
const SAMPLES: usize = 64;

/// Number of best controls from which the next round is drawn.
const ELITES: usize = 8;

/// Number of rounds.
const ROUNDS: usize = 16;

/// Numbers of knots of the controls; each start uses the next one.
const KNOTS: [usize; 3] = [16, 32, 8];

/// First standard deviation of each start, relative to that of its kind; limits may be much wider than a good control is large.
const SIZES: [f64; 3] = [1.0, 0.3, 0.1];

/// Smallest standard deviation, relative to the first.
const LEAST: f64 = 0.02;

/// Returns `kind.random` starts found by sampling around `center`, with `kind.size` times `unit` as the first standard deviation of each
/// control. The result does not depend on the number of threads.
pub fn sampled_starts(
    dynamics: &(dyn Fn() -> Box<dyn Dynamics> + Sync),
    problem: &Problem<'_>,
    kind: &SearchKind,
    center: &[f64],
    unit: &[f64],
    stream: &Stream,
) -> Vec<Start> {
    let one = |i: usize| {
        let unit: Vec<f64> = unit.iter().map(|unit| kind.size * SIZES[i % SIZES.len()] * unit).collect();
        let knots = KNOTS[i % KNOTS.len()].min(problem.intervals());
        let sampling = Sampling { problem, center, unit: &unit, knots };
        sampling.start(dynamics().as_mut(), &mut stream.index(i).rng())
    };
    (0..kind.random).into_par_iter().map(one).collect()
}

struct Sampling<'a> {
    problem: &'a Problem<'a>,
    center: &'a [f64],
    unit: &'a [f64],
    knots: usize,
}

/// A drawn control: its values at the knots, and its cost.
#[derive(Clone)]
struct Sample {
    values: Vec<f64>,
    cost: f64,
}

impl Sampling<'_> {
    fn start(&self, f: &mut dyn Dynamics, rng: &mut Rng) -> Start {
        let size = self.knots * self.center.len();
        let (mut mean, mut std) = (vec![0.0; size], vec![1.0; size]);
        let mut best: Vec<Sample> = Vec::new();
        let first = costs(f, self.problem, 0.0, &[self.controls(&mean)])[0];
        let scale = if first.is_finite() { first.abs() } else { 1.0 };
        for round in 0..ROUNDS {
            let drawn = (best.len()..SAMPLES).map(|i| {
                let draw = |(m, s): (&f64, &f64)| m + s * rng.normal();
                // The first control is the center itself.
                if round + i == 0 { mean.clone() } else { mean.iter().zip(&std).map(draw).collect() }
            });
            let drawn: Vec<Vec<f64>> = drawn.collect();
            let controls: Vec<Blocks> = drawn.iter().map(|values| self.controls(values)).collect();
            let costs = costs(f, self.problem, scale, &controls);
            best.extend(drawn.into_iter().zip(costs).map(|(values, cost)| Sample { values, cost }));
            best.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            best.truncate(ELITES);
            for j in 0..size {
                let of = |f: &dyn Fn(f64) -> f64| {
                    best.iter().map(|s| f(s.values[j])).sum::<f64>() / best.len() as f64
                };
                mean[j] = of(&|v| v);
                std[j] = of(&|v| (v - mean[j]).powi(2)).sqrt().max(LEAST);
            }
        }
        Start { controls: self.controls(&best[0].values), states: None }
    }

    /// Interpolates a control between its knots.
    fn controls(&self, values: &[f64]) -> Blocks {
        let (nu, n) = (self.center.len(), self.problem.intervals());
        let mut out = Blocks::zeros(nu, n);
        for k in 0..n {
            // The middle of the interval, in units of 1/2n of the distance of two knots.
            let place = (2 * k + 1) * (self.knots - 1);
            let (knot, part) = (place / (2 * n), (place % (2 * n)) as f64 / (2 * n) as f64);
            let next = (knot + 1).min(self.knots - 1);
            let u = out.at_mut(k);
            for (r, u) in u.iter_mut().enumerate() {
                let v = values[knot * nu + r] * (1.0 - part) + values[next * nu + r] * part;
                *u = self.center[r] + self.unit[r] * v;
            }
            self.problem.control_bounds.clamp(u);
        }
        out
    }
}

/// Returns the cost of the rollout of each of `controls`, with a penalty outside the limits and constraints for costs of the size `scale`.
fn costs(f: &mut dyn Dynamics, problem: &Problem<'_>, scale: f64, controls: &[Blocks]) -> Vec<f64> {
    let (dims, n) = (f.dims(), problem.intervals());
    let transcription = problem.transcription;
    let Tableau { a, b, .. } = transcription.integrator.tableau();
    let (stages, substeps, count) = (transcription.stages(), transcription.substeps, controls.len());
    let mut rollouts: Vec<Rollout> = controls.iter().map(|_| Rollout::default()).collect();
    for (rollout, controls) in rollouts.iter_mut().zip(controls) {
        rollout.resize(dims, n, stages, 0);
        rollout.controls.copy_from(controls);
        rollout.states.at_mut(0).copy_from_slice(problem.initial_state);
        rollout.finite = n;
    }
    let mut x = problem.initial_state.repeat(count);
    let mut z = Blocks::zeros(dims.point(), count);
    let mut slopes = vec![vec![0.0; x.len()]; b.len()];
    for at in 0..n * substeps {
        let k = at / substeps;
        let step = (problem.times[k + 1] - problem.times[k]) / substeps as f64;
        for (stage, row) in a.iter().enumerate() {
            let mut point = x.clone();
            for (j, &a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                axpy(step * a, &slopes[j], &mut point);
            }
            for (i, rollout) in rollouts.iter_mut().enumerate() {
                let (state, control) = z.at_mut(i).split_at_mut(dims.state);
                state.copy_from_slice(&point[i * dims.state..(i + 1) * dims.state]);
                control.copy_from_slice(rollout.controls.at(k));
                rollout.points.at_mut(at * b.len() + stage).copy_from_slice(z.at(i));
            }
            f.derivative(Points::from(&z), &mut slopes[stage]);
        }
        for (slope, &b) in slopes.iter().zip(*b) {
            axpy(step * b, slope, &mut x);
        }
        if (at + 1) % substeps == 0 {
            for (rollout, x) in rollouts.iter_mut().zip(x.chunks_exact_mut(dims.state)) {
                if !x.iter().all(|x| x.abs() < DIVERGED) {
                    rollout.finite = rollout.finite.min(k);
                    x.copy_from_slice(problem.initial_state);
                }
                rollout.states.at_mut(k + 1).copy_from_slice(x);
            }
        }
    }
    let (mut times, mut weights) = (Vec::new(), Vec::new());
    transcription.sample(problem.times, &mut times, &mut weights);
    with_penalty(problem, dims, scale, |problem| {
        let cost = |mut rollout: Rollout| {
            rollout.evaluate_cost(problem, &times, &weights);
            rollout.cost
        };
        rollouts.into_iter().map(cost).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Ilqr, uniform_grid};
    use crate::system::Benchmark;

    const KIND: SearchKind = SearchKind::sampled("sampled", 1, 1.0, 2);

    #[test]
    fn the_cost_of_a_sample_is_that_of_its_rollout() {
        let pendulum = Benchmark::find("pendulum").unwrap();
        let times = uniform_grid(pendulum.task.horizon, 40);
        let problem = Problem::of(&pendulum.task, &times);
        let mut rng = Stream::root(1).rng();
        let controls: Vec<Blocks> =
            (0..3).map(|_| Start::random(&[0.0], 2.0, 2.0, 40, &mut rng).controls).collect();
        let found = costs(pendulum.dynamics().as_mut(), &problem, 0.0, &controls);
        for (controls, found) in controls.iter().zip(found) {
            let guess = super::super::Guess { controls: controls.as_slice(), states: None };
            let settings = super::super::Settings { max_iterations: 0, ..Default::default() };
            let expected = Ilqr::new(settings).solve(pendulum.dynamics().as_mut(), &problem, guess).unwrap();
            assert!((found / expected.cost - 1.0).abs() < 1e-12, "{found} {}", expected.cost);
        }
    }

    #[test]
    fn a_sampled_swing_of_a_weak_pendulum_costs_less_than_rest() {
        let mut pendulum = Benchmark::find("pendulum").unwrap();
        pendulum.task.control_bounds = crate::system::Bounds::symmetric([1.5]);
        let times = uniform_grid(pendulum.task.horizon, 60);
        let problem = Problem::of(&pendulum.task, &times);
        let starts =
            sampled_starts(&|| pendulum.dynamics(), &problem, &KIND, &[0.0], &[1.5], &Stream::root(0));
        let cost = |start: &Start| {
            costs(pendulum.dynamics().as_mut(), &problem, 0.0, std::slice::from_ref(&start.controls))[0]
        };
        let rest = cost(&Start::constant(&[0.0], 60));
        assert_eq!(starts.len(), 2);
        let best = starts.iter().map(cost).fold(f64::INFINITY, f64::min);
        assert!(best < 0.8 * rest, "{best} of {rest}");
    }
}
