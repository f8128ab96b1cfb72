//! What a person should know about the data and the arithmetic.

use super::space::Part;

/// Something about the data or the arithmetic that a person should know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// A coordinate that is the same in all measurements: nothing can be learned about its influence.
    FlatInput {
        /// Which coordinate of z = (x, u).
        coordinate: Coordinate,
    },
    /// An output that is the same in all measurements.
    FlatOutput {
        /// Which output.
        output: usize,
    },
    /// The covariance matrix could be factorised only with something added to its diagonal.
    Jitter {
        /// Which output.
        output: usize,
        /// What was added, as a fraction of the mean diagonal.
        relative: f64,
    },
    /// There are more data than the exact model takes.
    Inducing {
        /// Inducing points.
        points: usize,
        /// Distinct inputs of the data.
        of: usize,
    },
    /// The standard deviation of an ensemble is as its members spread: too few measurements could be held out to correct it.
    NotRecalibrated {
        /// Rows of the data.
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
                "the covariance matrix of output {output} needed a jitter of {relative:.0e}: measurements lie close together for \
                 their noise"
            ),
            Note::Inducing { points, of } => write!(
                f,
                "{of} distinct inputs are more than the exact model takes: it is approximated through {points} inducing points"
            ),
            Note::NotRecalibrated { rows } => write!(
                f,
                "{rows} measurements are too few to hold some out: the ensemble's standard deviation is not recalibrated"
            ),
        }
    }
}

/// A coordinate as the kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Which coordinate of z = (x, u).
    pub index: usize,
    /// All of it, or the sine or cosine of an angle.
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
