//! Running a system: integrators, policies, closed-loop runs with one typed outcome each.

mod integrator;

pub use integrator::{Integrator, Tableau};
