//! The data D = {(z, ẏ)}: states and controls with measured, noisy derivatives.

use crate::linalg::{Blocks, Dims, Points};
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
}

/// Why a measurement is refused. Nothing of the refused batch is stored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasurementError {
    /// A vector has the wrong length.
    #[error("measurement {index} refused: its {what} has {found} entries, the system has {expected}")]
    Length {
        /// Number of the measurement, from 0.
        index: usize,
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it needs.
        expected: usize,
    },
    /// A number is NaN or infinite.
    #[error(
        "measurement {index} refused: {what}[{entry}] is {value} at t = {time}; every number must be finite"
    )]
    NotFinite {
        /// Number of the measurement, from 0.
        index: usize,
        /// Which vector.
        what: &'static str,
        /// Which entry.
        entry: usize,
        /// The number.
        value: f64,
        /// When it was measured.
        time: f64,
    },
    /// A standard deviation of noise below zero.
    #[error(
        "measurement {index} refused: the noise of derivative {entry} is {value}; a standard deviation must be zero or \
         positive"
    )]
    Noise {
        /// Number of the measurement, from 0.
        index: usize,
        /// Which entry.
        entry: usize,
        /// The number.
        value: f64,
    },
    /// Measurements of another system.
    #[error(
        "measurements of {} states and {} controls cannot join those of {} states and {} controls",
        found.state, found.control, expected.state, expected.control
    )]
    OtherSystem {
        /// Dimensions of what was given.
        found: Dims,
        /// Dimensions of what is there.
        expected: Dims,
    },
}

impl Measurements {
    /// No measurements of a system of these dimensions.
    pub fn new(dims: Dims) -> Self {
        Measurements {
            dims,
            times: Vec::new(),
            points: Blocks::zeros(dims.point(), 0),
            derivatives: Blocks::zeros(dims.state, 0),
            noise_std: Blocks::zeros(dims.state, 0),
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
        let (index, Dims { state: nx, control: nu }) = (self.len(), self.dims);
        let vectors = [
            ("state", state, nx),
            ("control", control, nu),
            ("derivative", derivative, nx),
            ("noise", noise_std, nx),
        ];
        for (what, vector, expected) in vectors {
            if vector.len() != expected {
                return Err(MeasurementError::Length { index, what, found: vector.len(), expected });
            }
        }
        for (what, vector, _) in [("time", &[time][..], 1)].into_iter().chain(vectors) {
            if let Some(entry) = vector.iter().position(|v| !v.is_finite()) {
                let value = vector[entry];
                return Err(MeasurementError::NotFinite { index, what, entry, value, time });
            }
        }
        if let Some(entry) = noise_std.iter().position(|&s| s < 0.0) {
            return Err(MeasurementError::Noise { index, entry, value: noise_std[entry] });
        }
        self.times.push(time);
        self.points.push(&[state, control].concat());
        self.derivatives.push(derivative);
        self.noise_std.push(noise_std);
        Ok(())
    }

    /// Adds all of `other`.
    pub fn append(&mut self, other: &Measurements) -> Result<(), MeasurementError> {
        if other.dims != self.dims {
            return Err(MeasurementError::OtherSystem { found: other.dims, expected: self.dims });
        }
        self.times.extend_from_slice(&other.times);
        for i in 0..other.len() {
            self.points.push(other.points.at(i));
            self.derivatives.push(other.derivatives.at(i));
            self.noise_std.push(other.noise_std.at(i));
        }
        Ok(())
    }

    /// A copy of some measurements, in order.
    pub fn slice(&self, range: Range<usize>) -> Measurements {
        self.select(range)
    }

    /// A copy of the measurements with these numbers.
    pub fn select(&self, indices: impl IntoIterator<Item = usize>) -> Measurements {
        let mut part = Measurements::new(self.dims);
        for i in indices {
            part.times.push(self.times[i]);
            part.points.push(self.points.at(i));
            part.derivatives.push(self.derivatives.at(i));
            part.noise_std.push(self.noise_std.at(i));
        }
        part
    }

    /// Whether what was read from a file is what [`push`](Self::push) would have let in.
    pub fn is_sound(&self) -> bool {
        let (n, nx) = (self.len(), self.dims.state);
        let shapes = [(&self.points, self.dims.point()), (&self.derivatives, nx), (&self.noise_std, nx)];
        shapes
            .iter()
            .all(|(b, size)| b.size() == *size && b.len() == n && b.as_slice().iter().all(|v| v.is_finite()))
            && self.times.iter().all(|t| t.is_finite())
            && self.noise_std.as_slice().iter().all(|s| *s >= 0.0)
    }

    /// Dimensions of the system.
    pub fn dims(&self) -> Dims {
        self.dims
    }

    /// Number of measurements.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// True if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// When each was taken.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// z = (x, u) of each.
    pub fn points(&self) -> Points<'_> {
        self.points.points()
    }

    /// The measured derivative of each.
    pub fn derivatives(&self) -> &Blocks {
        &self.derivatives
    }

    /// The standard deviation of each derivative's noise.
    pub fn noise_std(&self) -> &Blocks {
        &self.noise_std
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
}
