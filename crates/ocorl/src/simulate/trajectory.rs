//! A trajectory as plain numbers: the one type for plans, runs and what was recorded of them.

use crate::linalg::Blocks;
use crate::system::Dims;
use serde::{Deserialize, Serialize};

/// x(t) and u(t) on a grid of ascending times, with what is known beside them.
///
/// A *sampled* trajectory has a control at each of its times. Where the control jumps a time may be there twice: with the control before the
/// jump, then with the control after it. A *planned* one has one control less: u_k is held on [t_k, t_{k+1}).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// The sample times.
    pub times: Vec<f64>,
    /// The states x.
    pub states: Blocks,
    /// The controls u.
    pub controls: Blocks,
    /// Feedback gains K_k as gradients: block k holds ∇ₓu₁, ∇ₓu₂, … so that u = u_k + K_k (x − x_k). Empty if there are none.
    #[serde(default, skip_serializing_if = "Blocks::is_empty")]
    pub gains: Blocks,
    /// dx/dt at the beginning and at the end of each interval. Empty if they are not known: then states lie on straight lines.
    #[serde(default, skip_serializing_if = "Blocks::is_empty")]
    pub slopes: Blocks,
    /// Cost so far at each time. Empty if it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<f64>,
}

impl Trajectory {
    /// An empty trajectory of a system with these dimensions.
    pub fn empty(dims: Dims) -> Self {
        Trajectory {
            states: Blocks::zeros(dims.state, 0),
            controls: Blocks::zeros(dims.control, 0),
            ..Trajectory::default()
        }
    }

    /// An empty planned trajectory with memory for a solution on the nodes of `plan`, and two more.
    pub fn with_room(plan: &Trajectory) -> Self {
        let (dims, n) = (plan.dims(), plan.len() + 2);
        let mut room = Trajectory { times: Vec::with_capacity(n), ..Trajectory::default() };
        room.states.resize(dims.state, n);
        room.controls.resize(dims.control, n);
        room.gains.resize(dims.state * dims.control, n);
        room
    }

    /// Dimensions of x and u.
    pub fn dims(&self) -> Dims {
        Dims { state: self.states.size(), control: self.controls.size() }
    }

    /// How many times it has.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The last time; zero if there is none.
    pub fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0)
    }

    /// Appends one time, without a cost.
    pub fn push(&mut self, time: f64, state: &[f64], control: &[f64]) {
        self.times.push(time);
        self.states.push(state);
        self.controls.push(control);
    }

    /// Appends one time and the cost so far.
    pub fn push_with_cost(&mut self, time: f64, state: &[f64], control: &[f64], cost: f64) {
        self.push(time, state, control);
        self.costs.push(cost);
    }

    /// Index of the interval [t_k, t_{k+1}) that contains `time`, held to the first and the last.
    pub fn interval(&self, time: f64) -> usize {
        self.times.partition_point(|&t| t <= time).clamp(1, self.times.len().max(2) - 1) - 1
    }

    /// Index of the interval [t_k, t_{k+1}) that contains `time`; `None` before the first time, and from the last one on.
    pub fn covering(&self, time: f64) -> Option<usize> {
        let next = self.times.partition_point(|&t| t <= time);
        (next >= 1 && next < self.times.len()).then(|| next - 1)
    }

    /// x(t), held to the ends: the cubic through both ends of the interval and their slopes, or the straight line where slopes are not known.
    pub fn state(&self, time: f64, out: &mut [f64]) {
        self.state_in(self.interval(time), time, out);
    }

    /// x(t) by the cubic or line of interval `k`, held to the ends of that interval.
    pub fn state_in(&self, k: usize, time: f64, out: &mut [f64]) {
        let Some(&t1) = self.times.get(k + 1) else { return out.copy_from_slice(self.states.at(k)) };
        let (t0, x0, x1) = (self.times[k], self.states.at(k), self.states.at(k + 1));
        let h = t1 - t0;
        let s = ((time - t0) / h).clamp(0.0, 1.0);
        if self.slopes.is_empty() {
            for (i, out) in out.iter_mut().enumerate() {
                *out = x0[i] + s * (x1[i] - x0[i]);
            }
            return;
        }
        let (f0, f1) = self.slopes.at(k).split_at(x0.len());
        let (a, b) = ((1.0 - s) * (1.0 - s), s * s);
        for (i, out) in out.iter_mut().enumerate() {
            *out = a * ((1.0 + 2.0 * s) * x0[i] + s * h * f0[i])
                + b * ((3.0 - 2.0 * s) * x1[i] - (1.0 - s) * h * f1[i]);
        }
    }

    /// u(t), held on each interval and beyond the ends.
    pub fn control(&self, time: f64) -> &[f64] {
        self.controls.at(self.interval(time))
    }

    /// Whether it is a plan of `states` states: at least one interval, every part of the right shape, times that increase, finite numbers.
    pub fn is_sound_plan(&self, states: usize) -> bool {
        let n = self.controls.len();
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        n >= 1
            && self.len() == n + 1
            && (self.states.size(), self.states.len()) == (states, n + 1)
            && (self.gains.size(), self.gains.len()) == (states * self.controls.size(), n)
            && (self.slopes.is_empty() || (self.slopes.size(), self.slopes.len()) == (2 * states, n))
            && self.times.windows(2).all(|t| t[1] > t[0])
            && finite(&self.times)
            && [&self.states, &self.controls, &self.gains, &self.slopes].iter().all(|b| finite(b.as_slice()))
    }

    /// Some of its moments: those whose index `keep` accepts. Of a sampled trajectory, without gains and slopes.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(usize) -> bool) -> Trajectory {
        let mut out = Trajectory::empty(self.dims());
        for i in (0..self.len()).filter(|i| keep(*i)) {
            out.push(self.times[i], self.states.at(i), self.controls.at(i));
            out.costs.extend(self.costs.get(i));
        }
        out
    }

    /// The same with `jumps`, each of them twice, at their times: a sample at the time of a jump has the control after it.
    #[must_use]
    pub fn with_jumps(&self, jumps: &Trajectory) -> Trajectory {
        let mut out = Trajectory::empty(self.dims());
        let mut take = |from: &Trajectory, i: usize| {
            out.push_with_cost(from.times[i], from.states.at(i), from.controls.at(i), from.costs[i]);
        };
        let mut next = 0;
        for (i, &time) in self.times.iter().enumerate() {
            while let Some(&jump) = jumps.times.get(next).filter(|jump| **jump <= time) {
                take(jumps, next);
                if jump < time {
                    take(jumps, next + 1);
                }
                next += 2;
            }
            take(self, i);
        }
        out
    }

    /// The points z = (x, u) at all times, one after the other.
    pub fn points(&self) -> Vec<f64> {
        let both = self.states.iter().zip(self.controls.iter());
        both.flat_map(|(x, u)| x.iter().chain(u)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x = t³ on two intervals of different lengths, u = 1 and 2.
    fn cubic() -> Trajectory {
        Trajectory {
            times: vec![0.0, 1.0, 3.0],
            states: Blocks::from_vec(vec![0.0, 1.0, 27.0], 1),
            controls: Blocks::from_vec(vec![1.0, 2.0], 1),
            slopes: Blocks::from_vec(vec![0.0, 3.0, 3.0, 27.0], 2),
            ..Trajectory::default()
        }
    }

    #[test]
    fn a_cubic_is_interpolated_exactly_and_held_to_its_ends() {
        let (trajectory, mut x) = (cubic(), [0.0]);
        for (time, value) in [(0.5, 0.125), (1.0, 1.0), (2.5, 15.625), (-1.0, 0.0), (9.0, 27.0)] {
            trajectory.state(time, &mut x);
            assert!((x[0] - value).abs() < 1e-12, "{time}: {}", x[0]);
        }
        assert_eq!([-1.0, 0.0, 0.99, 1.0, 9.0].map(|t| trajectory.interval(t)), [0, 0, 0, 1, 1]);
        assert_eq!([-1.0, 0.99, 1.0, 9.0].map(|t| trajectory.control(t)[0]), [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn without_slopes_states_lie_on_straight_lines() {
        let (trajectory, mut x) = (Trajectory { slopes: Blocks::default(), ..cubic() }, [0.0]);
        trajectory.state(2.0, &mut x);
        assert_eq!(x, [14.0]);
        let mut single = Trajectory::empty(Dims { state: 1, control: 1 });
        single.push(1.0, &[5.0], &[6.0]);
        single.state(7.0, &mut x);
        assert_eq!((x, single.control(7.0), single.end()), ([5.0], &[6.0][..], 1.0));
    }

    #[test]
    fn some_moments_keep_what_belongs_to_them() {
        let mut whole = Trajectory::empty(Dims { state: 1, control: 1 });
        (0..5).for_each(|i| whole.push_with_cost(f64::from(i), &[f64::from(-i)], &[1.0], 0.5));
        let half = whole.filtered(|i| i.is_multiple_of(2));
        assert_eq!(
            (half.times.as_slice(), half.states.as_slice()),
            (&[0.0, 2.0, 4.0][..], &[0.0, -2.0, -4.0][..])
        );
        assert_eq!((half.controls.len(), half.costs.len()), (3, 3));
    }
}
