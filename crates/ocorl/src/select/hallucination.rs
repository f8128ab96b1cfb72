//! Predicted (hallucinated) trajectories of an episode: the plan itself, or a closed-loop prediction from a state off the plan.

use crate::linalg::Points;
use crate::linalg::small::axpy;
use crate::system::{Bounds, Dims, Dynamics};
use crate::track::Reference;

/// Candidate points ẑ(tᵢ) for measurements, on a predicted trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// The times tᵢ.
    pub times: Vec<f64>,
    points: Vec<f64>,
    dim: usize,
}

impl Candidates {
    /// Takes points of dimension `dim`, one for each time.
    pub fn new(times: Vec<f64>, points: Vec<f64>, dim: usize) -> Self {
        assert_eq!(points.len(), times.len() * dim, "one point for each time");
        Candidates { times, points, dim }
    }

    /// The points ẑ(tᵢ).
    pub fn points(&self) -> Points<'_> {
        Points::new(&self.points, self.dim)
    }
}

/// The closed loop of the planning dynamics fₙ and the policy πₙ that follows the plan.
pub struct Hallucination {
    /// The plan, including hallucinated controls.
    reference: Reference,
    dynamics: Box<dyn Dynamics>,
    bounds: Bounds,
    /// dᵤ: the number of real controls.
    controls: usize,
}

impl Hallucination {
    /// Takes a plan whose controls after the first `controls` are hallucinated, the dynamics that it was made for, and the control
    /// bounds.
    pub fn new(reference: Reference, dynamics: Box<dyn Dynamics>, bounds: Bounds, controls: usize) -> Self {
        Hallucination { reference, dynamics, bounds, controls }
    }

    /// Predicts the whole episode from its initial state at `count` times. The closed loop of fₙ and πₙ then follows the plan
    /// exactly.
    pub fn whole(&self, count: usize) -> Candidates {
        let end = self.reference.end();
        self.at((0..count).map(|i| end * i as f64 / (count - 1).max(1) as f64).collect())
    }

    /// Predicts the whole episode at the given times.
    pub fn at(&self, times: Vec<f64>) -> Candidates {
        let Dims { state, .. } = self.reference.plan.dims();
        let mut points = Vec::with_capacity(times.len() * (state + self.controls));
        let mut x = vec![0.0; state];
        for &t in &times {
            self.reference.state(t, &mut x);
            points.extend_from_slice(&x);
            points.extend_from_slice(&self.reference.control(t)[..self.controls]);
        }
        Candidates::new(times, points, state + self.controls)
    }

    /// Predicts the trajectory from `state` at `time` to the time `until` in `count` steps of Heun's method. Stops at the first
    /// value that is not finite.
    pub fn from(&mut self, time: f64, state: &[f64], until: f64, count: usize) -> Candidates {
        let Dims { state: nx, control } = self.reference.plan.dims();
        let h = (until - time) / count as f64;
        let (mut times, mut points) = (Vec::with_capacity(count), Vec::new());
        let mut x = state.to_vec();
        let (mut u, mut first, mut second) = (vec![0.0; control], vec![0.0; nx], vec![0.0; nx]);
        for i in 0..count {
            let t = time + h * i as f64;
            self.reference.follow(t, &x, &mut u);
            self.bounds.clamp(&mut u);
            if x.iter().chain(&u).any(|v| !v.is_finite()) {
                break;
            }
            times.push(t);
            points.extend_from_slice(&x);
            points.extend_from_slice(&u[..self.controls]);
            let z = [x.as_slice(), &u].concat();
            self.dynamics.derivative(Points::single(&z), &mut first);
            let mut ahead = x.clone();
            axpy(h, &first, &mut ahead);
            let z = [ahead.as_slice(), &u].concat();
            self.dynamics.derivative(Points::single(&z), &mut second);
            axpy(0.5 * h, &first, &mut x);
            axpy(0.5 * h, &second, &mut x);
        }
        Candidates::new(times, points, nx + self.controls)
    }
}
