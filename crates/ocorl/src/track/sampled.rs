//! Sampled control: a law that looks at the system at some moments only.

use crate::simulate::{Policy, PolicyError};

/// Another law, evaluated at the sampling times and held from each to the next, from the last for good:
///
/// ```text
/// u(t) = π(t_k, x(t_k)) for t_k ≤ t < t_{k+1}
/// ```
///
/// With [`Feedback`](super::Feedback) at the nodes of its plan it is u_k + K_k (x(t_k) − x_k), for which the gains of a discrete-time plan
/// are meant.
#[derive(Clone, Debug)]
pub struct Sampled<P> {
    inner: P,
    /// t_k
    times: Vec<f64>,
    /// Number of the hold under way.
    hold: Option<usize>,
    held: Vec<f64>,
}

impl<P: Policy> Sampled<P> {
    /// `inner`, which has `controls` controls, at `times`, in increasing order. Before the first of them it is sampled once, at the
    /// beginning.
    pub fn new(inner: P, times: &[f64], controls: usize) -> Self {
        Sampled { inner, times: times.to_vec(), hold: None, held: vec![0.0; controls] }
    }
}

impl<P: Policy> Policy for Sampled<P> {
    fn prepare(&mut self, time: f64, state: &[f64]) -> Result<f64, PolicyError> {
        let next = self.times.partition_point(|&t| t <= time);
        // Whoever stops in the middle of a hold, to measure say, does not end it.
        if self.hold != Some(next) {
            self.inner.prepare(time, state)?;
            self.inner.control(time, state, &mut self.held);
            self.hold = Some(next);
        }
        Ok(self.times.get(next).copied().unwrap_or(f64::INFINITY))
    }

    fn control(&mut self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.held);
    }

    fn rungs(&self) -> Option<[usize; 4]> {
        self.inner.rungs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Law;

    #[test]
    fn a_hold_ends_at_the_next_sample_and_nowhere_else() {
        let law = Law(|t: f64, x: &[f64], u: &mut [f64]| u[0] = 10.0 * t + x[0]);
        let mut policy = Sampled::new(law, &[0.0, 1.0, 2.0], 1);
        let mut at = |time: f64, x: f64| {
            let until = policy.prepare(time, &[x]).unwrap();
            let mut u = [0.0];
            policy.control(time + 0.3, &[99.0], &mut u);
            (until, u[0])
        };
        assert_eq!(at(0.0, 0.5), (1.0, 0.5));
        // Somebody looks at the state in between.
        assert_eq!(at(0.4, 0.7), (1.0, 0.5));
        assert_eq!(at(1.0, 0.25), (2.0, 10.25));
        assert_eq!(at(2.0, 0.0), (f64::INFINITY, 20.0));
        assert_eq!(at(2.5, 1.0), (f64::INFINITY, 20.0));
    }
}
