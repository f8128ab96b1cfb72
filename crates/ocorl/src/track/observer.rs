//! State estimation from measured outputs: an extended Kalman filter on the model, and a policy that feeds back its estimate.
//!
//! Between two samples, with μ and σ the mean and the standard deviation of the model, F = ∂x⁺/∂x and G = ∫ exp(J s) ds,
//!
//! ```text
//! ẋ = μ(x, u) + e,   e ~ N(0, σ²),   P⁺ = F P Fᵀ + G Σ_e Gᵀ,   Σ_e = diag(σ²) max(1, τ/Δt)
//! ```
//!
//! The error e of a model stays the same for a while, not only for one sample: it is treated as constant over τ. At a sample the measured
//! states correct the estimate one after the other, because their noise is independent. x(0) is known.

use crate::linalg::Points;
use crate::model::{Posterior, Query, StatisticalModel};
use crate::simulate::{Policy, PolicyError};
use std::sync::Arc;

/// Largest number of integration steps between two samples.
const STEPS: f64 = 50.0;
/// Smallest standard deviation of the model error, relative to the derivative.
const LEAST_ERROR: f64 = 0.01;

/// An extended Kalman filter on a learned model.
#[derive(Clone)]
pub struct StateObserver {
    model: Arc<dyn StatisticalModel>,
    /// Standard deviation of the noise of each measured state; infinite for a state that is not measured.
    noise_std: Vec<f64>,
    /// τ, the time over which the error of the model is constant.
    memory: f64,
    start: Vec<f64>,
    state: Vec<f64>,
    /// P, row by row.
    covariance: Vec<f64>,
    posterior: Posterior,
}

impl StateObserver {
    /// Creates an observer of runs from the known state `start`. `memory` is the time over which the error of `model` stays the same.
    pub fn new(model: Arc<dyn StatisticalModel>, noise_std: Vec<f64>, start: Vec<f64>, memory: f64) -> Self {
        let n = start.len();
        assert_eq!(noise_std.len(), n, "noise of {} of {n} states", noise_std.len());
        StateObserver {
            model,
            noise_std,
            memory,
            state: start.clone(),
            start,
            covariance: vec![0.0; n * n],
            posterior: Posterior::default(),
        }
    }

    /// Begins a new run.
    pub fn reset(&mut self) {
        self.state.copy_from_slice(&self.start);
        self.covariance.fill(0.0);
    }

    /// The estimate x̂.
    pub fn state(&self) -> &[f64] {
        &self.state
    }

    /// The covariance of the estimate, row by row.
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }

    /// Predicts the state after `duration` with a constant control. A prediction that is not finite is not made.
    pub fn predict(&mut self, duration: f64, control: &[f64]) {
        if !(duration > 0.0 && duration.is_finite()) {
            return;
        }
        let steps = (10.0 * duration / self.memory).ceil().clamp(1.0, STEPS);
        let longer = (self.memory / duration).max(1.0);
        let mut left = steps;
        while left > 0.5 {
            self.step(duration / steps, longer, control);
            left -= 1.0;
        }
    }

    /// One step of the midpoint method, with its covariance.
    fn step(&mut self, h: f64, longer: f64, control: &[f64]) {
        let n = self.state.len();
        let point = |x: &[f64]| [x, control].concat();
        let z = point(&self.state);
        self.model.posterior(Points::single(&z), Query::Mean, &mut self.posterior);
        let slope = self.posterior.mean.value.at(0);
        let middle: Vec<f64> = self.state.iter().zip(slope).map(|(x, f)| x + 0.5 * h * f).collect();
        let z = point(&middle);
        self.model.posterior(Points::single(&z), Query::MeanJacobian, &mut self.posterior);
        let next: Vec<f64> =
            self.state.iter().zip(self.posterior.mean.value.at(0)).map(|(x, f)| x + h * f).collect();
        let jacobian = self.posterior.mean.jacobian.at(0);
        let jacobian: Vec<f64> = (0..n * n).map(|e| jacobian[e / n * z.len() + e % n]).collect();
        let square = product(&jacobian, &jacobian, n);
        let identity = |e: usize| f64::from(u8::from(e / n == e % n));
        let f: Vec<f64> =
            (0..n * n).map(|e| identity(e) + h * jacobian[e] + 0.5 * h * h * square[e]).collect();
        let g: Vec<f64> = (0..n * n).map(|e| h * identity(e) + 0.5 * h * h * jacobian[e]).collect();
        self.model.posterior(Points::single(&z), Query::MeanStd, &mut self.posterior);
        let error: Vec<f64> = self
            .posterior
            .std
            .value
            .at(0)
            .iter()
            .zip(self.posterior.mean.value.at(0))
            .map(|(s, f)| (s * s + (LEAST_ERROR * f).powi(2)) * longer)
            .collect();
        let mut covariance = product(&product(&f, &self.covariance, n), &transposed(&f, n), n);
        for (e, entry) in covariance.iter_mut().enumerate() {
            let (i, j) = (e / n, e % n);
            *entry += (0..n).map(|k| g[i * n + k] * error[k] * g[j * n + k]).sum::<f64>();
        }
        if next.iter().chain(&covariance).all(|v| v.is_finite()) {
            (self.state, self.covariance) = (next, covariance);
        }
    }

    /// Corrects the estimate with measured states; states that are not measured or not finite are ignored.
    pub fn correct(&mut self, measured: &[f64]) {
        let n = self.state.len();
        for (j, (y, noise)) in measured.iter().zip(&self.noise_std).enumerate() {
            if !(y.is_finite() && noise.is_finite()) {
                continue;
            }
            let spread = self.covariance[j * n + j] + noise * noise;
            if !(spread > 0.0) {
                continue;
            }
            let gain: Vec<f64> = (0..n).map(|i| self.covariance[i * n + j] / spread).collect();
            let (innovation, row) = (y - self.state[j], self.covariance[j * n..(j + 1) * n].to_vec());
            for i in 0..n {
                self.state[i] += gain[i] * innovation;
                for k in 0..n {
                    self.covariance[i * n + k] -= gain[i] * row[k];
                }
            }
            // Rounding must not make it unsymmetric.
            for i in 0..n {
                for k in 0..i {
                    let both = 0.5 * (self.covariance[i * n + k] + self.covariance[k * n + i]);
                    (self.covariance[i * n + k], self.covariance[k * n + i]) = (both, both);
                }
            }
        }
    }
}

/// A B for n × n matrices, row by row.
fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|e| (0..n).map(|k| a[e / n * n + k] * b[k * n + e % n]).sum()).collect()
}

fn transposed(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|e| a[e % n * n + e / n]).collect()
}

/// A policy that is evaluated at the estimate of a [`StateObserver`] every period and holds its control in between. Its states are outputs: a
/// state that is not measured may have any value, also NaN.
pub struct Observed<P> {
    inner: P,
    observer: StateObserver,
    period: f64,
    /// Time of the last sample; `None` before the first.
    last: Option<f64>,
    held: Vec<f64>,
}

impl<P: Policy> Observed<P> {
    /// Creates the policy with `controls` controls.
    pub fn new(inner: P, observer: StateObserver, period: f64, controls: usize) -> Self {
        Observed { inner, observer, period, last: None, held: vec![0.0; controls] }
    }
}

impl<P: Policy> Policy for Observed<P> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let until = self.last.map_or(f64::NEG_INFINITY, |last| last + self.period);
        // An evaluation in between, for a measurement, is no sample. Rounding of accumulated times must not skip one.
        if time < until - 1e-9 * self.period {
            return Ok(until);
        }
        if let Some(last) = self.last {
            self.observer.predict(time - last, &self.held);
            self.observer.correct(state);
        }
        self.last = Some(time);
        self.inner.prepare(time, self.observer.state())?;
        self.inner.control(time, self.observer.state(), &mut self.held);
        Ok(time + self.period)
    }

    fn control(&mut self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.held);
    }

    fn level_counts(&self) -> Option<[usize; 4]> {
        self.inner.level_counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dims;
    use crate::model::{GaussianProcess, Mean, Physics, Settings};
    use crate::random::Stream;
    use crate::simulate::{Experiment, Law, Outcome, Simulator};
    use crate::system::{Benchmark, Dynamics};

    /// A model without data whose mean is that of a benchmark.
    fn exact(name: &'static str) -> Arc<dyn StatisticalModel> {
        let physics = Physics::new(move || Benchmark::find(name).unwrap().dynamics());
        let settings = Settings { mean: Mean::Physics(physics), ..Settings::default() };
        let task = &Benchmark::find(name).unwrap().task;
        Arc::new(GaussianProcess::new(task.dims(), &task.angles, settings).unwrap())
    }

    #[test]
    fn a_kalman_filter_of_a_linear_system_is_reproduced() {
        // For x″ = u the filter is linear. Its covariance after one prediction and one correction is computed by hand.
        struct Double;
        impl Dynamics for Double {
            fn dims(&self) -> Dims {
                Dims { state: 2, control: 1 }
            }
            fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
                for (i, out) in out.chunks_exact_mut(2).enumerate() {
                    out.copy_from_slice(&z.at(i)[1..]);
                }
            }
            fn linearize(&mut self, z: Points<'_>, out: &mut crate::linalg::Linearization) {
                out.resize(2, 3, z.len());
                for i in 0..z.len() {
                    out.value.at_mut(i).copy_from_slice(&z.at(i)[1..]);
                    out.jacobian.at_mut(i).copy_from_slice(&[0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
                }
            }
        }
        let settings =
            Settings { mean: Mean::Physics(Physics::new(|| Box::new(Double))), ..Settings::default() };
        let model = Arc::new(GaussianProcess::new(Double.dims(), &[], settings).unwrap());
        let mut posterior = Posterior::default();
        model.posterior(Points::single(&[0.0, 2.0, 3.0]), Query::MeanStd, &mut posterior);
        let std = posterior.std.value.at(0).to_vec();
        let (h, noise) = (0.1, 0.05);
        // The memory is one period, so that one step is one prediction and the error is not inflated.
        let mut observer = StateObserver::new(model, vec![noise, f64::INFINITY], vec![1.0, 2.0], 10.0 * h);
        observer.predict(h, &[3.0]);
        let x = [1.0 + 2.0 * h + 1.5 * h * h, 2.0 + 3.0 * h];
        assert!((observer.state()[0] - x[0]).abs() < 1e-12 && (observer.state()[1] - x[1]).abs() < 1e-12);
        let error: Vec<f64> = std
            .iter()
            .zip([2.0 + 1.5 * h, 3.0])
            .map(|(s, f)| (s * s + (LEAST_ERROR * f).powi(2)) * 10.0)
            .collect();
        let p = [
            h * h * error[0] + 0.25 * h.powi(4) * error[1],
            0.5 * h.powi(3) * error[1],
            0.5 * h.powi(3) * error[1],
            h * h * error[1],
        ];
        for (found, expected) in observer.covariance().iter().zip(&p) {
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(1e-3), "{found} {expected}");
        }
        observer.correct(&[1.3, f64::NAN]);
        let gain = [p[0] / (p[0] + noise * noise), p[2] / (p[0] + noise * noise)];
        assert!((observer.state()[0] - (x[0] + gain[0] * (1.3 - x[0]))).abs() < 1e-12);
        assert!((observer.state()[1] - (x[1] + gain[1] * (1.3 - x[0]))).abs() < 1e-12);
        assert!((observer.covariance()[3] - (p[3] - gain[1] * p[1])).abs() < 1e-12);
    }

    /// Adds noise to the angle and hides the velocity.
    struct Encoder<P>(P, crate::random::Rng);
    impl<P: Policy> Policy for Encoder<P> {
        fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
            let angle = state[0] + 1e-3 * self.1.normal();
            self.0.prepare(time, &[angle, f64::NAN])
        }
        fn control(&mut self, time: f64, state: &[f64], out: &mut [f64]) {
            self.0.control(time, state, out);
        }
    }

    #[test]
    fn the_pendulum_is_balanced_by_its_angle_alone() {
        let pendulum = Benchmark::find("pendulum").unwrap();
        let law = Law(|_t: f64, x: &[f64], u: &mut [f64]| u[0] = -(6.0 * x[0] + 4.0 * x[1]));
        let start = vec![0.3, 0.0];
        let observer = StateObserver::new(exact("pendulum"), vec![1e-3, f64::INFINITY], start.clone(), 0.5);
        let mut policy = Encoder(Observed::new(law, observer, 0.02, 1), Stream::root(1).rng());
        let experiment = Experiment { initial_state: &start, ..Experiment::of(&pendulum.task) };
        let run = Simulator::new(1e-8).run(pendulum.dynamics().as_mut(), &mut policy, &experiment);
        assert_eq!(run.outcome, Outcome::Completed);
        assert!(run.final_state().iter().all(|x| x.abs() < 0.02), "{:?}", run.final_state());
    }
}
