//! The data D = {(z, ẏ)}: states and controls with noisy measured derivatives, or averages of derivatives along a trajectory.
//!
//! ```text
//! y = Σ_q w_q f(z_q) + ε,   Σ_q w_q = 1
//! ```
//!
//! A derivative measured at a point is an average with one node. The increment of a state between two times, divided by their
//! difference, is an average whose nodes and weights are those of a quadrature rule along the trajectory. Neighbouring increments
//! share the noise of the state between them; therefore the noise of an average may be correlated with that of the preceding row.

use crate::linalg::{Blocks, Dims, Points};
use crate::simulate::Trajectory;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Measured derivatives at known states and controls, each with the standard deviation of its noise. Every number in it is finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    dims: Dims,
    times: Vec<f64>,
    points: Blocks,
    derivatives: Blocks,
    noise_std: Blocks,
    /// The nodes and weights of all rows; `None` if each row is a derivative at its point.
    averages: Option<Averages>,
}

/// The nodes of all rows, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Averages {
    /// Index one past the last node of each row.
    ends: Vec<usize>,
    nodes: Blocks,
    weights: Vec<f64>,
    /// Correlation of the noise of each row with that of the preceding row.
    correlation: Blocks,
}

impl Averages {
    /// True if the averages are valid for `rows` rows of a system of these dimensions.
    fn is_sound(&self, dims: Dims, rows: usize) -> bool {
        let nodes = self.weights.len();
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        self.ends.len() == rows
            && self.ends.windows(2).all(|e| e[0] < e[1])
            && self.ends.first().is_none_or(|e| *e > 0)
            && self.ends.last().copied().unwrap_or(0) == nodes
            && (self.nodes.size(), self.nodes.len()) == (dims.point(), nodes)
            && self.correlation.len() == rows
            && finite(&self.weights)
            && finite(self.nodes.as_slice())
            && finite(self.correlation.as_slice())
    }
}

/// A measured average of f over nodes on a trajectory.
#[derive(Clone, Copy, Debug)]
pub struct Average<'a> {
    /// The nodes z_q.
    pub nodes: Points<'a>,
    /// The weights w_q; their sum is 1.
    pub weights: &'a [f64],
    /// Correlation of the noise with that of the preceding row, for each state; empty if uncorrelated.
    pub correlation: &'a [f64],
}

/// Permitted deviation of the sum of weights from 1.
const WEIGHTS: f64 = 1e-9;

/// The reasons why a measurement is rejected. Nothing of a rejected batch is stored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasurementError {
    /// A vector has the wrong length.
    #[error("measurement {index} refused: its {what} has {found} entries, the system has {expected}")]
    Length {
        /// Index of the measurement, from 0.
        index: usize,
        /// Name of the vector.
        what: &'static str,
        /// The length that was found.
        found: usize,
        /// The required length.
        expected: usize,
    },
    /// A number is NaN or infinite.
    #[error(
        "measurement {index} refused: {what}[{entry}] is {value} at t = {time}; every number must be finite"
    )]
    NotFinite {
        /// Index of the measurement, from 0.
        index: usize,
        /// Name of the vector.
        what: &'static str,
        /// Index of the entry.
        entry: usize,
        /// The invalid value.
        value: f64,
        /// Time of the measurement.
        time: f64,
    },
    /// The standard deviation of the noise is negative.
    #[error(
        "measurement {index} refused: the noise of derivative {entry} is {value}; a standard deviation must be zero or \
         positive"
    )]
    Noise {
        /// Index of the measurement, from 0.
        index: usize,
        /// Index of the entry.
        entry: usize,
        /// The invalid value.
        value: f64,
    },
    /// The weights of an average do not sum to 1.
    #[error(
        "measurement {index} refused: the {count} weights of its average sum to {sum}; they must sum to 1"
    )]
    Weights {
        /// Index of the measurement, from 0.
        index: usize,
        /// Number of weights.
        count: usize,
        /// Sum of the weights.
        sum: f64,
    },
    /// The measurements belong to a system of other dimensions.
    #[error(
        "measurements of {} states and {} controls cannot be added to data of {} states and {} controls",
        found.state, found.control, expected.state, expected.control
    )]
    OtherSystem {
        /// Dimensions of the new measurements.
        found: Dims,
        /// Dimensions of the existing data.
        expected: Dims,
    },
}

impl Measurements {
    /// An empty data set of a system of these dimensions.
    pub fn new(dims: Dims) -> Self {
        Measurements {
            dims,
            times: Vec::new(),
            points: Blocks::zeros(dims.point(), 0),
            derivatives: Blocks::zeros(dims.state, 0),
            noise_std: Blocks::zeros(dims.state, 0),
            averages: None,
        }
    }

    /// Adds one measurement: at `time` the system was at `state` under `control`, and ẋ was measured as `derivative` with
    /// independent normal noise of standard deviation `noise_std`, all in the task's units.
    pub fn push(
        &mut self,
        time: f64,
        state: &[f64],
        control: &[f64],
        derivative: &[f64],
        noise_std: &[f64],
    ) -> Result<(), MeasurementError> {
        self.check(time, &[("state", state, self.dims.state), ("control", control, self.dims.control)])?;
        self.check_measured(time, derivative, noise_std)?;
        let point = [state, control].concat();
        if let Some(averages) = &mut self.averages {
            averages.push(Points::single(&point), &[1.0], &[]);
        }
        self.times.push(time);
        self.points.push(&point);
        self.derivatives.push(derivative);
        self.noise_std.push(noise_std);
        Ok(())
    }

    /// Adds a measured average of ẋ along a trajectory that ends at `time`. The point of the row is the average of the nodes.
    pub fn push_average(
        &mut self,
        time: f64,
        average: Average<'_>,
        derivative: &[f64],
        noise_std: &[f64],
    ) -> Result<(), MeasurementError> {
        let Average { nodes, weights, correlation } = average;
        let (index, sum) = (self.len(), weights.iter().sum::<f64>());
        for (what, found, expected) in [
            ("node", nodes.dim(), self.dims.point()),
            ("weights", weights.len(), nodes.len()),
            ("correlation", correlation.len(), if correlation.is_empty() { 0 } else { self.dims.state }),
        ] {
            if found != expected {
                return Err(MeasurementError::Length { index, what, found, expected });
            }
        }
        self.check(time, &[("nodes", nodes.as_slice(), nodes.as_slice().len())])?;
        self.check(time, &[("correlation", correlation, correlation.len())])?;
        self.check_measured(time, derivative, noise_std)?;
        // Written in this form so that a NaN is rejected too.
        if !((sum - 1.0).abs() <= WEIGHTS) {
            return Err(MeasurementError::Weights { index, count: weights.len(), sum });
        }
        let mut point = vec![0.0; self.dims.point()];
        for (q, w) in weights.iter().enumerate() {
            for (p, z) in point.iter_mut().zip(nodes.at(q)) {
                *p += w * z;
            }
        }
        self.averages_mut().push(nodes, weights, correlation);
        self.times.push(time);
        self.points.push(&point);
        self.derivatives.push(derivative);
        self.noise_std.push(noise_std);
        Ok(())
    }

    fn check_measured(
        &self,
        time: f64,
        derivative: &[f64],
        noise_std: &[f64],
    ) -> Result<(), MeasurementError> {
        self.check(
            time,
            &[("derivative", derivative, self.dims.state), ("noise", noise_std, self.dims.state)],
        )?;
        match noise_std.iter().position(|&s| s < 0.0) {
            Some(entry) => Err(MeasurementError::Noise { index: self.len(), entry, value: noise_std[entry] }),
            None => Ok(()),
        }
    }

    /// Checks the time and the vectors, given as (name, entries, required length).
    fn check(&self, time: f64, vectors: &[(&'static str, &[f64], usize)]) -> Result<(), MeasurementError> {
        let index = self.len();
        for &(what, vector, expected) in vectors {
            if vector.len() != expected {
                return Err(MeasurementError::Length { index, what, found: vector.len(), expected });
            }
        }
        for (what, vector, _) in [("time", &[time][..], 1)].into_iter().chain(vectors.iter().copied()) {
            if let Some(entry) = vector.iter().position(|v| !v.is_finite()) {
                let value = vector[entry];
                return Err(MeasurementError::NotFinite { index, what, entry, value, time });
            }
        }
        Ok(())
    }

    /// The averages of all rows; rows measured at points become averages with one node.
    fn averages_mut(&mut self) -> &mut Averages {
        let (dims, points) = (self.dims, &self.points);
        self.averages.get_or_insert_with(|| Averages {
            ends: (1..=points.len()).collect(),
            nodes: points.clone(),
            weights: vec![1.0; points.len()],
            correlation: Blocks::zeros(dims.state, points.len()),
        })
    }

    /// Appends all measurements of `other`.
    pub fn append(&mut self, other: &Measurements) -> Result<(), MeasurementError> {
        if other.dims != self.dims {
            return Err(MeasurementError::OtherSystem { found: other.dims, expected: self.dims });
        }
        if other.averages.is_some() {
            self.averages_mut();
        }
        for i in 0..other.len() {
            // The first row has no preceding row that its noise could be correlated with.
            self.take(other, i, i > 0);
        }
        Ok(())
    }

    /// Appends row `i` of `other`; keeps the correlation with the preceding row if `follows`.
    fn take(&mut self, other: &Measurements, i: usize, follows: bool) {
        if let Some(averages) = &mut self.averages {
            let Average { nodes, weights, correlation } = other.average(i);
            averages.push(nodes, weights, if follows { correlation } else { &[] });
        }
        self.times.push(other.times[i]);
        self.points.push(other.points.at(i));
        self.derivatives.push(other.derivatives.at(i));
        self.noise_std.push(other.noise_std.at(i));
    }

    /// Returns the last run of ascending times as a planned trajectory from `initial_state` over `horizon`: measured states, and each
    /// control held from one measurement to the next. `None` for fewer than two measurements, and for measured averages.
    pub fn last_pass(&self, initial_state: &[f64], horizon: f64) -> Option<Trajectory> {
        let before = self.times.windows(2).rposition(|t| t[1] <= t[0]).map_or(0, |i| i + 1);
        let inside = (before..self.len()).filter(|i| self.times[*i] > 0.0 && self.times[*i] < horizon);
        let rows: Vec<usize> = inside.collect();
        if rows.len() < 2 || !self.is_pointwise() {
            return None;
        }
        let nx = self.dims.state;
        let points = || rows.iter().map(|i| self.points.at(*i));
        let last = points().next_back()?;
        let times = rows.iter().map(|i| self.times[*i]);
        let states = points().flat_map(|z| &z[..nx]).chain(&last[..nx]);
        // The control before the first measurement is that of the first.
        let controls = points().take(1).chain(points()).flat_map(|z| &z[nx..]);
        Some(Trajectory {
            times: std::iter::once(0.0).chain(times).chain([horizon]).collect(),
            states: Blocks::from_vec(initial_state.iter().chain(states).copied().collect(), nx),
            controls: Blocks::from_vec(controls.copied().collect(), self.dims.control),
            ..Trajectory::default()
        })
    }

    /// Copies a range of measurements.
    pub fn slice(&self, range: Range<usize>) -> Measurements {
        self.select(range)
    }

    /// Copies the measurements with these indices. Noise stays correlated between rows that remain neighbours.
    pub fn select(&self, indices: impl IntoIterator<Item = usize>) -> Measurements {
        let mut part = Measurements::new(self.dims);
        if self.averages.is_some() {
            part.averages_mut();
        }
        let mut before = None;
        for i in indices {
            part.take(self, i, i > 0 && before == Some(i - 1));
            before = Some(i);
        }
        part
    }

    /// Copies the measurements with other standard deviations of the noise: `change` maps the row, the output and the present value.
    pub fn with_noise(&self, change: impl Fn(usize, usize, f64) -> f64) -> Result<Self, MeasurementError> {
        let mut copy = self.clone();
        for i in 0..self.len() {
            for (j, std) in copy.noise_std.at_mut(i).iter_mut().enumerate() {
                *std = change(i, j, *std);
                if !(*std >= 0.0 && std.is_finite()) {
                    return Err(MeasurementError::Noise { index: i, entry: j, value: *std });
                }
            }
        }
        Ok(copy)
    }

    /// True if deserialised data satisfy all conditions that [`push`](Self::push) checks.
    pub fn is_sound(&self) -> bool {
        let (n, nx) = (self.len(), self.dims.state);
        let shapes = [(&self.points, self.dims.point()), (&self.derivatives, nx), (&self.noise_std, nx)];
        shapes
            .iter()
            .all(|(b, size)| b.size() == *size && b.len() == n && b.as_slice().iter().all(|v| v.is_finite()))
            && self.times.iter().all(|t| t.is_finite())
            && self.noise_std.as_slice().iter().all(|s| *s >= 0.0)
            && self.averages.as_ref().is_none_or(|averages| averages.is_sound(self.dims, n))
    }

    /// Copies the measurements with transformed inputs: `change` maps each point (or node) to one of a system of `dims`.
    pub fn mapped(&self, dims: Dims, change: impl Fn(&[f64]) -> Vec<f64>) -> Measurements {
        let all = |blocks: &Blocks| {
            let numbers = blocks.iter().flat_map(&change).collect();
            Blocks::from_vec(numbers, dims.point())
        };
        let averages = self.averages.clone().map(|a| Averages { nodes: all(&a.nodes), ..a });
        Measurements { dims, points: all(&self.points), averages, ..self.clone() }
    }

    /// True if every row is a derivative at a point.
    pub fn is_pointwise(&self) -> bool {
        self.averages.is_none()
    }

    /// Row `i` as an average; a derivative at a point is returned as one node with weight 1.
    pub fn average(&self, i: usize) -> Average<'_> {
        let Some(averages) = &self.averages else {
            return Average { nodes: Points::single(self.points.at(i)), weights: &[1.0], correlation: &[] };
        };
        let begin = if i == 0 { 0 } else { averages.ends[i - 1] };
        let (range, dim) = (begin..averages.ends[i], self.dims.point());
        Average {
            nodes: Points::new(&averages.nodes.as_slice()[range.start * dim..range.end * dim], dim),
            weights: &averages.weights[range],
            correlation: averages.correlation.at(i),
        }
    }

    /// The nodes of all rows, one after the other; the points themselves if every row is a derivative at a point.
    pub fn nodes(&self) -> Points<'_> {
        self.averages.as_ref().map_or_else(|| self.points.points(), |averages| averages.nodes.points())
    }

    /// Dimensions of the system.
    pub fn dims(&self) -> Dims {
        self.dims
    }

    /// Number of measurements.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// True if there are no measurements.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Times of the measurements.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Points z = (x, u) of the measurements; for an average the average of its nodes.
    pub fn points(&self) -> Points<'_> {
        self.points.points()
    }

    /// The measured derivatives.
    pub fn derivatives(&self) -> &Blocks {
        &self.derivatives
    }

    /// The standard deviations of the derivatives' noise.
    pub fn noise_std(&self) -> &Blocks {
        &self.noise_std
    }
}

impl Averages {
    fn push(&mut self, nodes: Points<'_>, weights: &[f64], correlation: &[f64]) {
        for q in 0..nodes.len() {
            self.nodes.push(nodes.at(q));
        }
        self.weights.extend_from_slice(weights);
        self.ends.push(self.weights.len());
        self.correlation.grow();
        let last = self.correlation.len() - 1;
        if !correlation.is_empty() {
            self.correlation.at_mut(last).copy_from_slice(correlation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Measurements {
        let mut data = Measurements::new(Dims { state: 2, control: 1 });
        data.push(0.0, &[1.0, 2.0], &[3.0], &[4.0, 5.0], &[0.1, 0.0]).unwrap();
        data
    }

    #[test]
    fn the_last_pass_is_the_path_between_the_last_measurements() {
        let mut data = one();
        assert_eq!(data.last_pass(&[0.0; 2], 4.0), None);
        for (t, x) in [(3.0, 1.0), (1.0, 2.0), (2.0, 4.0)] {
            data.push(t, &[x, -x], &[10.0 * x], &[0.0; 2], &[0.1; 2]).unwrap();
        }
        let pass = data.last_pass(&[0.0; 2], 4.0).expect("two measurements");
        assert_eq!(pass.times, [0.0, 1.0, 2.0, 4.0]);
        assert_eq!(pass.states.as_slice(), [0.0, 0.0, 2.0, -2.0, 4.0, -4.0, 4.0, -4.0]);
        assert_eq!(pass.controls.as_slice(), [20.0, 20.0, 40.0]);
    }

    #[test]
    fn bad_numbers_are_refused_by_name_and_nothing_is_stored() {
        let mut data = one();
        let error = data.push(2.75, &[0.0; 2], &[0.0], &[0.0, f64::NAN], &[0.1; 2]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "measurement 1 refused: derivative[1] is NaN at t = 2.75; every number must be finite"
        );
        assert!(data.push(0.0, &[0.0; 3], &[0.0], &[0.0; 2], &[0.1; 2]).is_err());
        assert!(data.push(f64::INFINITY, &[0.0; 2], &[0.0], &[0.0; 2], &[0.1; 2]).is_err());
        let error = data.push(0.0, &[0.0; 2], &[0.0], &[0.0; 2], &[-0.1, 0.1]).unwrap_err();
        assert_eq!(error, MeasurementError::Noise { index: 1, entry: 0, value: -0.1 });
        assert!(data.append(&Measurements::new(Dims { state: 1, control: 1 })).is_err());
        assert_eq!(data, one());
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        let mut whole = one();
        whole.push(1.0, &[0.0; 2], &[1.0], &[2.0; 2], &[0.3; 2]).unwrap();
        let mut again = whole.slice(0..1);
        again.append(&whole.slice(1..2)).unwrap();
        assert_eq!(again, whole);
        assert_eq!(again.points().at(1), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn averages_join_points_and_keep_their_neighbours() {
        let mut data = one();
        let nodes = [0.0, 0.0, 0.0, 2.0, 4.0, 6.0];
        let average =
            Average { nodes: Points::new(&nodes, 3), weights: &[0.25, 0.75], correlation: &[-0.5; 2] };
        data.push_average(1.0, average, &[1.0; 2], &[0.1; 2]).unwrap();
        data.push_average(2.0, average, &[2.0; 2], &[0.1; 2]).unwrap();
        assert!(!data.is_pointwise() && data.nodes().len() == 5);
        assert_eq!(data.points().at(1), [1.5, 3.0, 4.5]);
        assert_eq!(data.average(0).weights, [1.0]);
        assert_eq!(data.select([1, 2]).average(1).correlation, [-0.5; 2]);
        assert_eq!(data.select([0, 2]).average(1).correlation, [0.0; 2]);
        let mut twice = data.clone();
        twice.append(&data).unwrap();
        assert_eq!(twice.slice(0..3), data);
        let bad = Average { weights: &[0.5, 0.4], ..average };
        let error = data.push_average(3.0, bad, &[0.0; 2], &[0.1; 2]).unwrap_err();
        assert!(error.to_string().contains("must sum to 1"), "{error}");
        assert_eq!(twice.slice(0..3), data);
    }
}
