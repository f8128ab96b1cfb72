//! Faults of the actuators: the plant receives another control than the one that is commanded and recorded.

use ocorl::linalg::{Linearization, Points};
use ocorl::system::{Dims, Dynamics};

/// A fault of an actuator: applied = factor · (command beyond the dead band).
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorFault {
    /// Name of the control.
    pub control: String,
    /// Factor between command and applied control.
    pub gain: f64,
    /// Commands smaller than this have no effect; larger ones lose as much (dry friction).
    pub dead_band: f64,
    /// Time between a command and its effect.
    pub delay: f64,
    /// Time constant with which the applied control follows the command; 0 without a lag.
    pub lag: f64,
}

impl ActuatorFault {
    /// An actuator without faults.
    pub fn none(control: impl Into<String>) -> Self {
        ActuatorFault { control: control.into(), gain: 1.0, dead_band: 0.0, delay: 0.0, lag: 0.0 }
    }
}

/// Dynamics behind faulty actuators, f(x, a(u)).
pub(super) struct Actuated {
    pub(super) dynamics: Box<dyn Dynamics>,
    /// Gain and dead band of each control.
    pub(super) faults: Vec<(f64, f64)>,
}

impl Actuated {
    /// The points with the applied controls, and the slopes of a.
    fn applied(&self, z: Points<'_>) -> (Vec<f64>, Vec<f64>) {
        let states = self.dynamics.dims().state;
        let (mut points, mut slopes) = (z.as_slice().to_vec(), Vec::new());
        for point in points.chunks_exact_mut(z.dim()) {
            for (u, (gain, dead)) in point[states..].iter_mut().zip(&self.faults) {
                slopes.push(if u.abs() > *dead { *gain } else { 0.0 });
                *u = gain * (u.abs() - dead).max(0.0).copysign(*u);
            }
        }
        (points, slopes)
    }
}

impl Dynamics for Actuated {
    fn dims(&self) -> Dims {
        self.dynamics.dims()
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        let (points, _) = self.applied(z);
        self.dynamics.derivative(Points::new(&points, z.dim()), out);
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let (points, slopes) = self.applied(z);
        self.dynamics.linearize(Points::new(&points, z.dim()), out);
        let Dims { state, control } = self.dims();
        for (i, slopes) in slopes.chunks_exact(control).enumerate() {
            for row in out.jacobian.at_mut(i).chunks_exact_mut(state + control) {
                for (entry, slope) in row[state..].iter_mut().zip(slopes) {
                    *entry *= slope;
                }
            }
        }
    }
}
