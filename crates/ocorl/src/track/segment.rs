//! A short plan from the present state, and the feedback law of a plan.

use super::reference::Reference;
use crate::linalg::Blocks;
use crate::linalg::small::dot;

/// A short plan from the present state, the output of a solver. It has the same layout as a [`Plan`](crate::plan::Plan).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Node times; the first is the present time.
    pub times: Vec<f64>,
    /// States at the nodes.
    pub states: Blocks,
    /// Controls on the intervals.
    pub controls: Blocks,
    /// Gains K on the intervals, stored as gradients ∇ₓuⱼ.
    pub gains: Blocks,
}

impl Segment {
    /// Creates an empty segment with memory for a solution on the nodes of a plan.
    pub fn with_room(reference: &Reference) -> Self {
        let (dims, n) = (reference.plan.dims(), reference.plan.times.len() + 2);
        let mut segment = Segment { times: Vec::with_capacity(n), ..Segment::default() };
        segment.states.resize(dims.state, n);
        segment.controls.resize(dims.control, n);
        segment.gains.resize(dims.state * dims.control, n);
        segment
    }

    /// Returns the interval that contains `time`; `None` if there is none.
    pub fn interval(&self, time: f64) -> Option<usize> {
        let next = self.times.partition_point(|&t| t <= time);
        (next >= 1 && next < self.times.len()).then(|| next - 1)
    }

    /// Interpolates x̄ linearly in interval `k`.
    pub fn state(&self, k: usize, time: f64, out: &mut [f64]) {
        let (t0, t1) = (self.times[k], self.times[k + 1]);
        let w = ((time - t0) / (t1 - t0)).clamp(0.0, 1.0);
        let (a, b) = (self.states.at(k), self.states.at(k + 1));
        for (i, out) in out.iter_mut().enumerate() {
            *out = a[i] + w * (b[i] - a[i]);
        }
    }

    /// Returns whether the segment is complete, has `nx` states and `nu` controls, increasing times and only finite values.
    pub fn is_sound(&self, nx: usize, nu: usize) -> bool {
        let n = self.times.len().saturating_sub(1);
        let shapes = n >= 1
            && (self.states.size(), self.states.len()) == (nx, n + 1)
            && (self.controls.size(), self.controls.len()) == (nu, n)
            && (self.gains.size(), self.gains.len()) == (nx * nu, n);
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        shapes
            && self.times.windows(2).all(|t| t[1] > t[0])
            && finite(&self.times)
            && finite(self.states.as_slice())
            && finite(self.controls.as_slice())
            && finite(self.gains.as_slice())
    }
}

/// Computes u + K x − K x̄ with the gains as gradients ∇ₓuⱼ, each sum in the order of the states, bit by bit as the exported C code does.
pub(super) fn follow(control: &[f64], gains: &[f64], planned: &[f64], state: &[f64], out: &mut [f64]) {
    let nx = planned.len();
    for (r, u) in out.iter_mut().enumerate() {
        let row = &gains[r * nx..(r + 1) * nx];
        *u = control[r] + dot(row, state) - dot(row, planned);
    }
}
