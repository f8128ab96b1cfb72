//! Starts near known plans, for searches in neighbouring basins.

use super::{Plan, Start};
use crate::linalg::Blocks;
use crate::random::{Rng, Stream};

/// Speeds at which a plan is varied.
const SPEEDS: [f64; 4] = [0.7, 0.85, 1.2, 1.4];

/// Standard deviations of the random changes of a plan, relative to the size of its controls.
const CHANGES: [f64; 3] = [0.1, 0.3, 0.6];

/// Returns starts near a plan, on its grid: the same trajectory faster and slower, and with smooth random changes of its controls around
/// `center`. Neighbouring basins of a swing-up often differ by the time that it takes.
pub fn variations(plan: &Plan, center: &[f64], stream: &Stream) -> Vec<Start> {
    let end = plan.end();
    let at_speed = |speed: &f64| {
        let other: Vec<f64> = plan.times.iter().map(|t| (speed * t).min(end)).collect();
        plan.at_times(&other, center)
    };
    let size = plan.control_sizes(center);
    let changed = |(i, change): (usize, &f64)| {
        let mut start = plan.start();
        shake(&mut start.controls, &size, *change, &mut stream.index(i).rng());
        start
    };
    SPEEDS.iter().map(at_speed).chain(CHANGES.iter().enumerate().map(changed)).collect()
}

/// Number of pieces of constant speed into which [`neighbours`] divides the horizon.
const PIECES: usize = 4;

/// Standard deviations of a neighbour: of the logarithm of its speeds, and of the time it waits, as a part of the horizon.
const PACE: (f64, f64) = (0.4, 0.05);

/// Smallest and largest size of the smooth random changes of a neighbour, relative to the size of the controls and the ranges of the states.
const SHAKEN: (f64, f64) = (0.05, 1.0);

/// Returns `count` random starts near plans on one grid, of which the first is the best; every second start is near that one.
///
/// A start is the plan at other speeds, with smooth random changes of its states, or of its controls around `center`, or several of these.
/// Its states do not satisfy the dynamics: the gaps close during the search, which ends in another basin more often than from a
/// simulation of changed controls.
pub fn neighbours(plans: &[Plan], center: &[f64], count: usize, stream: &Stream) -> Vec<Start> {
    let near = |i: usize| if i.is_multiple_of(2) { &plans[0] } else { &plans[(i / 2 + 1) % plans.len()] };
    (0..count).map(|i| near(i).neighbour(center, &mut stream.index(i).rng())).collect()
}

impl Plan {
    /// Returns a random start near the plan.
    fn neighbour(&self, center: &[f64], rng: &mut Rng) -> Start {
        // At least one of the three changes.
        let changes = 1 + rng.below(7);
        let mut start = self.start();
        if changes & 1 != 0 {
            start = self.at_times(&self.other_times(rng), center);
        }
        let size = |rng: &mut Rng| SHAKEN.0 * (SHAKEN.1 / SHAKEN.0).powf(rng.unit());
        if changes & 2 != 0
            && let Some(states) = &mut start.states
        {
            let size = size(rng);
            bend(states, &self.ranges(), size, rng);
        }
        if changes & 4 != 0 {
            let size = size(rng);
            shake(&mut start.controls, &self.control_sizes(center), size, rng);
        }
        start
    }

    /// Draws the times of the plan at which a neighbour is at each node: after a wait, at random speeds.
    fn other_times(&self, rng: &mut Rng) -> Vec<f64> {
        let (n, horizon) = (self.controls.len(), self.end() - self.times[0]);
        let wait = (PACE.1 * horizon * rng.normal()).max(0.0);
        let speeds: Vec<f64> = (0..PIECES).map(|_| (PACE.0 * rng.normal()).exp()).collect();
        let mut time = self.times[0] - wait;
        let mut times = vec![time];
        for (k, t) in self.times.windows(2).enumerate() {
            time += speeds[k * PIECES / n] * (t[1] - t[0]);
            times.push(time);
        }
        times
    }

    /// Returns the plan as it is at other times of its own, one for each node: before its beginning at rest with `center`, and after its end
    /// likewise.
    fn at_times(&self, other: &[f64], center: &[f64]) -> Start {
        let (first, end, n) = (self.times[0], self.end(), self.controls.len());
        let mut start = Start::constant(center, n);
        for (k, t) in other[..n].iter().enumerate().filter(|(_, t)| (first..end).contains(t)) {
            start.controls.at_mut(k).copy_from_slice(self.control(*t));
        }
        let inside: Vec<f64> = other.iter().map(|t| t.clamp(first, end)).collect();
        Start { states: Some(self.states_at(&inside)), ..start }
    }

    /// Returns the difference of the largest and the smallest value of each state.
    fn ranges(&self) -> Vec<f64> {
        let of = |i: usize| self.states.iter().map(move |x| x[i]);
        let range = |i| of(i).fold(f64::NEG_INFINITY, f64::max) - of(i).fold(f64::INFINITY, f64::min);
        (0..self.states.size()).map(range).collect()
    }

    /// Returns the root mean square of each control, relative to `center`.
    pub(crate) fn control_sizes(&self, center: &[f64]) -> Vec<f64> {
        let square = |r: usize| self.controls.iter().map(|u| (u[r] - center[r]).powi(2)).sum::<f64>();
        (0..center.len()).map(|r| (square(r) / self.controls.len() as f64).sqrt()).collect()
    }
}

/// Adds smooth random changes of `size` times `unit` to each control.
fn shake(controls: &mut Blocks, unit: &[f64], size: f64, rng: &mut Rng) {
    let n = controls.len();
    let change = Start::random(&vec![0.0; unit.len()], size, 4.0, n, rng).controls;
    for k in 0..n {
        for ((u, change), unit) in controls.at_mut(k).iter_mut().zip(change.at(k)).zip(unit) {
            *u += unit * change;
        }
    }
}

/// Adds smooth random changes of `size` times `unit` to the states; they vanish at both ends.
fn bend(states: &mut Blocks, unit: &[f64], size: f64, rng: &mut Rng) {
    let count = states.len() - 1;
    let change = Start::random(&vec![0.0; unit.len()], size, 2.0, count, rng).controls;
    for k in 0..count {
        let place = (std::f64::consts::PI * k as f64 / count as f64).sin();
        for ((x, change), unit) in states.at_mut(k).iter_mut().zip(change.at(k)).zip(unit) {
            *x += place * unit * change;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::uniform_grid;
    use crate::simulate::Trajectory;

    /// x(t) = (t, 2 − t) under u = 3 + (−1)^k, over 10 intervals.
    fn plan() -> Plan {
        let times = uniform_grid(2.0, 10);
        let states = times.iter().flat_map(|t| [*t, 2.0 - t]).collect();
        let controls = (0..10).map(|k| if k % 2 == 0 { 4.0 } else { 2.0 }).collect();
        let trajectory = Trajectory {
            times,
            states: Blocks::from_vec(states, 2),
            controls: Blocks::from_vec(controls, 1),
            ..Trajectory::default()
        };
        Plan::given(trajectory, 1.0)
    }

    #[test]
    fn a_plan_at_other_times_rests_before_its_beginning_and_after_its_end() {
        let other: Vec<f64> = (0..=10).map(|k| f64::from(k) * 0.5 - 1.0).collect();
        let start = plan().at_times(&other, &[7.0]);
        let states = start.states.unwrap();
        assert_eq!((states.at(0), states.at(4)), (&[0.0, 2.0][..], &[1.0, 1.0][..]));
        assert!((states.at(10)[0] - 2.0).abs() < 1e-12, "{:?}", states.at(10));
        assert_eq!((start.controls.at(1), start.controls.at(9)), (&[7.0][..], &[7.0][..]));
        assert_eq!(start.controls.at(3), plan().control(0.5));
    }

    #[test]
    fn neighbours_begin_where_the_plan_begins_and_all_differ() {
        let starts = neighbours(&[plan()], &[3.0], 12, &Stream::root(0));
        for (i, start) in starts.iter().enumerate() {
            let states = start.states.as_ref().unwrap();
            assert_eq!(states.at(0), [0.0, 2.0]);
            assert!(states.as_slice().iter().chain(start.controls.as_slice()).all(|x| x.is_finite()));
            assert!(starts[..i].iter().chain([&plan().start()]).all(|other| other != start));
        }
        assert_eq!(plan().control_sizes(&[3.0]), [1.0]);
        assert_eq!(plan().ranges(), [2.0, 2.0]);
    }
}
