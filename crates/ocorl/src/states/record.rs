//! The record of one run: states measured at some times, and the commanded controls.

use crate::linalg::Blocks;
use crate::plant::{Reading, RolloutResult};

/// The commanded control u(t) of a run, linearly interpolated between known values.
#[derive(Clone, Debug, PartialEq)]
pub struct Controls {
    times: Vec<f64>,
    values: Blocks,
}

impl Controls {
    /// Takes the values of the control at ascending times.
    pub fn new(times: Vec<f64>, values: Blocks) -> Self {
        assert_eq!(times.len(), values.len(), "{} controls at {} times", values.len(), times.len());
        Controls { times, values }
    }

    /// Number of controls.
    pub fn size(&self) -> usize {
        self.values.size()
    }

    /// Evaluates u(t); constant before the first and after the last known time.
    pub fn at(&self, time: f64, out: &mut [f64]) {
        let next = self.times.partition_point(|&t| t <= time);
        if self.times.is_empty() {
            out.fill(0.0);
        } else if next == 0 || next == self.times.len() {
            out.copy_from_slice(self.values.at(next.max(1) - 1));
        } else {
            let (from, to) = (self.times[next - 1], self.times[next]);
            let w = (time - from) / (to - from);
            let ends = self.values.at(next - 1).iter().zip(self.values.at(next));
            for (out, (a, b)) in out.iter_mut().zip(ends) {
                *out = a + w * (b - a);
            }
        }
    }
}

/// The states measured in one run. The first is the known initial state x(0).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The times 0 = t₀ < t₁ < ….
    pub times: Vec<f64>,
    /// The states x(tᵢ); all but the first are noisy. Angles are continuous (not wrapped).
    pub states: Blocks,
    /// The control u(t).
    pub controls: Controls,
}

/// Measurements closer in time than this fraction of the run are merged, because their difference is dominated by noise.
const SAME_TIME: f64 = 1e-9;

impl Record {
    /// Builds the record from the readings of a run that began at `initial_state`. Controls are taken from the executed trajectory
    /// (its states are never used) or, if the plant does not report one, from the readings. Readings that are not finite are left
    /// out. The states of `hidden` are not measured: they are 0 until `fill` sets them. `None` if no state was measured.
    pub fn of(initial_state: &[f64], executed: &RolloutResult, hidden: &[usize]) -> Option<Self> {
        let measured = |r: &Reading| {
            let mut state = r.state.clone();
            for &j in hidden {
                if let Some(x) = state.get_mut(j) {
                    *x = 0.0;
                }
            }
            state
        };
        let usable = |r: &&Reading| {
            let finite = measured(r).iter().chain(&r.control).chain([&r.time]).all(|v| v.is_finite());
            r.derivative.is_none() && finite && r.state.len() == initial_state.len()
        };
        let mut readings: Vec<&Reading> = executed.readings.iter().filter(usable).collect();
        readings.sort_by(|a, b| a.time.total_cmp(&b.time));
        let end = readings.last()?.time;
        let mut record = Record {
            times: vec![0.0],
            states: Blocks::from_vec(initial_state.to_vec(), initial_state.len()),
            controls: Controls::new(Vec::new(), Blocks::default()),
        };
        for r in &readings {
            if r.time > record.times[record.times.len() - 1] + SAME_TIME * end {
                record.times.push(r.time);
                record.states.push(&measured(r));
            }
        }
        let known = executed.applied();
        record.controls = if known.times.is_empty() || known.controls.len() != known.times.len() {
            let size = readings[0].control.len();
            let values: Vec<f64> = readings.iter().flat_map(|r| r.control.clone()).collect();
            let times = readings.iter().map(|r| r.time).collect();
            Controls::new(times, if size > 0 { Blocks::from_vec(values, size) } else { return None })
        } else {
            Controls::new(known.times, known.controls)
        };
        (record.times.len() > 1).then_some(record)
    }

    /// Sets state `state` at all times but the first.
    pub(super) fn fill(&mut self, state: usize, value: impl Fn(f64) -> f64) {
        for (i, time) in self.times.iter().enumerate().skip(1) {
            self.states.at_mut(i)[state] = value(*time);
        }
    }

    /// Number of measured states, not counting x(0).
    pub fn len(&self) -> usize {
        self.times.len() - 1
    }

    /// True if no state was measured.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unwraps angles: adds multiples of 2π so that each value is nearest to the preceding one. Correct if the angle turns by less
    /// than π between two measurements.
    pub fn unwrap_angles(&mut self, angles: &[usize]) {
        for i in 1..self.times.len() {
            for &a in angles {
                let before = self.states.at(i - 1)[a];
                let turns = ((self.states.at(i)[a] - before) / std::f64::consts::TAU).round();
                self.states.at_mut(i)[a] -= turns * std::f64::consts::TAU;
            }
        }
    }
}
