//! Remarks about the data and the numerics that a model reports to its user.

use super::space::Part;

/// A remark about the data or the numerics of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// An input coordinate has the same value in all measurements, so its influence on f cannot be learned.
    FlatInput {
        /// The coordinate of z = (x, u).
        coordinate: Coordinate,
    },
    /// An output has the same value in all measurements.
    FlatOutput {
        /// Index of the output.
        output: usize,
    },
    /// The covariance matrix could be factorised only after a jitter was added to its diagonal.
    Jitter {
        /// Index of the output.
        output: usize,
        /// The added jitter as a fraction of the mean diagonal.
        relative: f64,
    },
    /// The number of distinct inputs exceeds the limit of the exact model, so inducing points are used.
    Inducing {
        /// Number of inducing points.
        points: usize,
        /// Number of distinct inputs in the data.
        of: usize,
    },
    /// The standard deviation of an ensemble is the uncorrected spread of its members, because too few measurements could be held
    /// out to recalibrate it.
    NotRecalibrated {
        /// Number of rows of the data.
        rows: usize,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::FlatInput { coordinate } => {
                write!(f, "{coordinate} is the same in all measurements: its influence cannot be learned")
            }
            Note::FlatOutput { output } => {
                write!(f, "derivative {output} is the same in all measurements")
            }
            Note::Jitter { output, relative } => write!(
                f,
                "the covariance matrix of output {output} needed a jitter of {relative:.0e}: some measurements are too close \
                 together for their stated noise"
            ),
            Note::Inducing { points, of } => write!(
                f,
                "{of} distinct inputs exceed the limit of the exact model: it is approximated with {points} inducing points"
            ),
            Note::NotRecalibrated { rows } => write!(
                f,
                "{rows} measurements are too few to hold some out: the ensemble's standard deviation is not recalibrated"
            ),
        }
    }
}

/// A coordinate of the kernel's input space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Index of the coordinate of z = (x, u) that it is computed from.
    pub index: usize,
    /// The coordinate itself, or the sine or cosine of an angle.
    pub part: Part,
}

impl std::fmt::Display for Coordinate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.part {
            Part::Whole => write!(f, "coordinate {}", self.index),
            Part::Sine => write!(f, "the sine of coordinate {}", self.index),
            Part::Cosine => write!(f, "the cosine of coordinate {}", self.index),
        }
    }
}
