//! Known kinematic rows: ẋ_p = x_v where state v is the velocity of state p.

use super::mean::{Mean, Physics};
use super::parametric::Parametric;
use crate::linalg::{Dims, Linearization, Points};
use crate::system::Dynamics;
use std::sync::Arc;

/// Dynamics with known rows in place of those of `inner`; the other rows are zero without `inner`.
struct Kinematic {
    inner: Option<Box<dyn Dynamics>>,
    dims: Dims,
    /// (velocity, position)
    rows: Arc<[[usize; 2]]>,
}

impl Dynamics for Kinematic {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        match &mut self.inner {
            Some(inner) => inner.derivative(z, out),
            None => out.fill(0.0),
        }
        for (i, out) in out.chunks_exact_mut(self.dims.state).enumerate() {
            for &[velocity, position] in self.rows.iter() {
                out[position] = z.at(i)[velocity];
            }
        }
    }

    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        let Dims { state, .. } = self.dims;
        if let Some(inner) = &mut self.inner {
            inner.linearize(z, out);
        } else {
            out.resize(state, z.dim(), z.len());
            out.value.as_mut_slice().fill(0.0);
            out.jacobian.as_mut_slice().fill(0.0);
        }
        for i in 0..z.len() {
            for &[velocity, position] in self.rows.iter() {
                out.value.at_mut(i)[position] = z.at(i)[velocity];
                let row = &mut out.jacobian.at_mut(i)[position * z.dim()..(position + 1) * z.dim()];
                row.fill(0.0);
                row[velocity] = 1.0;
            }
        }
    }
}

impl Mean {
    /// This prior mean with the rows ẋ_p = x_v for each (v, p) of `rows`. A fitted linear mean is replaced by the rows alone.
    #[must_use]
    pub fn with_kinematics(self, dims: Dims, rows: &[[usize; 2]]) -> Mean {
        if rows.is_empty() {
            return self;
        }
        let rows: Arc<[[usize; 2]]> = rows.into();
        match self {
            Mean::Zero | Mean::Linear => {
                let make = move || Box::new(Kinematic { inner: None, dims, rows: rows.clone() });
                Mean::Physics(Physics::new(move || make() as Box<dyn Dynamics>))
            }
            Mean::Physics(physics) => Mean::Physics(Physics::new(move || {
                Box::new(Kinematic { inner: Some(physics.dynamics()), dims, rows: rows.clone() })
            })),
            Mean::Parametric(Parametric { build, declared, unknown }) => {
                let build: crate::system::Build = Arc::new(move |values: &[f64]| {
                    let inner = Some(build(values));
                    Box::new(Kinematic { inner, dims, rows: rows.clone() }) as Box<dyn Dynamics>
                });
                Parametric::new(build, declared, unknown).mean()
            }
        }
    }
}
