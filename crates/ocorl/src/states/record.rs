//! What one run told: states at some times, and the controls that were commanded in between.

use crate::linalg::Blocks;
use crate::plant::{Executed, Reading};

/// u(t) of a run, on straight lines between the moments at which it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Controls {
    times: Vec<f64>,
    values: Blocks,
}

impl Controls {
    /// Known at these times, ascending.
    pub fn new(times: Vec<f64>, values: Blocks) -> Self {
        assert_eq!(times.len(), values.len(), "{} controls at {} times", values.len(), times.len());
        Controls { times, values }
    }

    /// Number of controls.
    pub fn size(&self) -> usize {
        self.values.size()
    }

    /// u(t); before the first and after the last moment as there.
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

/// States measured in one run. The first is x(0), which is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// 0 = t₀ < t₁ < …
    pub times: Vec<f64>,
    /// x(tᵢ), measured with noise but for the first; angles are not wrapped.
    pub states: Blocks,
    /// u(t)
    pub controls: Controls,
}

/// Measured times closer than this part of the run are one: what lies between them cannot be told from noise.
const SAME_TIME: f64 = 1e-9;

impl Record {
    /// From the readings of a run that began at `initial_state`. Controls are taken from its trajectory (never its states), or, where a
    /// plant knows none, from the readings. None if no state was measured. What is not finite is left out.
    pub fn of(initial_state: &[f64], executed: &Executed) -> Option<Self> {
        let usable = |r: &&Reading| {
            let finite = r.state.iter().chain(&r.control).chain([&r.time]).all(|v| v.is_finite());
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
                record.states.push(&r.state);
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

    /// Number of measured states, x(0) not counted.
    pub fn len(&self) -> usize {
        self.times.len() - 1
    }

    /// True if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds whole turns to angles that a sensor gave without them, so that each is nearest to the one before it: right if the system turns by
    /// less than half a turn between two measurements.
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
