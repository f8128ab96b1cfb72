//! Where an episode is expected to lead: the plan's own trajectory, or what follows from a state off it.

use crate::linalg::Points;
use crate::linalg::small::axpy;
use crate::system::{Bounds, Dims, Dynamics};
use crate::track::Reference;

/// Points ẑ(tᵢ) of a trajectory that has not been run yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// tᵢ
    pub times: Vec<f64>,
    points: Vec<f64>,
    dim: usize,
}

impl Candidates {
    /// Points of dimension `dim`, one for each time.
    pub fn new(times: Vec<f64>, points: Vec<f64>, dim: usize) -> Self {
        assert_eq!(points.len(), times.len() * dim, "one point for each time");
        Candidates { times, points, dim }
    }

    /// ẑ(tᵢ)
    pub fn points(&self) -> Points<'_> {
        Points::new(&self.points, self.dim)
    }
}

/// The dynamics fₙ a plan was made for, under the policy πₙ that follows it.
pub struct Hallucination {
    /// With hallucinated controls.
    reference: Reference,
    dynamics: Box<dyn Dynamics>,
    bounds: Bounds,
    /// dᵤ
    controls: usize,
}

impl Hallucination {
    /// Of a plan with its hallucinated controls (those after the first `controls`), on the dynamics it was made for, within `bounds`.
    pub fn new(reference: Reference, dynamics: Box<dyn Dynamics>, bounds: Bounds, controls: usize) -> Self {
        Hallucination { reference, dynamics, bounds, controls }
    }

    /// The whole episode from its beginning: fₙ under πₙ is the plan itself.
    pub fn whole(&self, count: usize) -> Candidates {
        let Dims { state, .. } = self.reference.plan.dims();
        let end = self.reference.end();
        let times: Vec<f64> = (0..count).map(|i| end * i as f64 / (count - 1).max(1) as f64).collect();
        let mut points = Vec::with_capacity(count * (state + self.controls));
        let mut x = vec![0.0; state];
        for &t in &times {
            self.reference.state(t, &mut x);
            points.extend_from_slice(&x);
            points.extend_from_slice(&self.reference.control(t)[..self.controls]);
        }
        Candidates::new(times, points, state + self.controls)
    }

    /// From `state` at `time` until `until`, in `count` steps (Heun's method).
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
