//! First- and second-order sensitivity of the cost of a trajectory to its controls.
//!
//! | | | from |
//! |---|---|---|
//! | gradient | dJ/du_k = l_u + F_uᵀ λ_{k+1},   λ_k = l_x + F_xᵀ λ_{k+1} | the adjoint recursion: exact for the transcription |
//! | discretization error | J' − J + Σ λ_{k+1}ᵀ (d'_k − d_k) | the defects d and the quadrature of a finer transcription (primes) |
//! | curvature | Q_uu = l_uu + F_uᵀ V_xx F_u at each interval | the backward pass: later controls respond optimally to the change |

use super::ilqr::{ForwardPass, Ilqr, REGULARIZATION};
use super::riccati::{Expansion, Interval, stages};
use super::transcription::IntervalModel;
use super::{Guess, PlanError, Problem, Start, Transcription};
use crate::linalg::Blocks;
use crate::linalg::small::{Shape, dot};
use crate::system::{Dims, Dynamics};

impl Ilqr {
    /// Computes J of a trajectory and the gradient dJ/du_k at each of its intervals.
    pub fn gradient(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
    ) -> Result<(f64, Blocks), PlanError> {
        self.expand(f, problem, guess)?;
        let dims = f.dims();
        let mut adjoint = self.expansion.terminal_gradient.clone();
        let (mut before, mut out) = (vec![0.0; dims.state], Blocks::zeros(dims.control, problem.intervals()));
        self.each_interval(dims, problem, |k, interval, _| {
            interval.pull_back(dims, &adjoint, &mut before, out.at_mut(k));
            std::mem::swap(&mut adjoint, &mut before);
        });
        Ok((self.current.cost, out))
    }

    /// Estimates to first order by how much J of a trajectory changes if `finer` integrates it, and returns it with J.
    pub fn discretization_error(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        finer: Transcription,
        guess: Guess<'_>,
    ) -> Result<(f64, f64), PlanError> {
        self.expand(f, &Problem { transcription: finer, ..*problem }, guess)?;
        let fine = self.current.clone();
        self.expand(f, problem, guess)?;
        let (dims, coarse) = (f.dims(), self.current.clone());
        let mut error = fine.cost - coarse.cost;
        let mut adjoint = self.expansion.terminal_gradient.clone();
        let (mut before, mut unused) = (vec![0.0; dims.state], vec![0.0; dims.control]);
        self.each_interval(dims, problem, |k, interval, _| {
            for (sign, rollout) in [(1.0, &fine), (-1.0, &coarse)] {
                error += if rollout.has_gaps { sign * dot(&adjoint, rollout.gaps.at(k)) } else { 0.0 };
            }
            interval.pull_back(dims, &adjoint, &mut before, &mut unused);
            std::mem::swap(&mut adjoint, &mut before);
        });
        Ok((error, coarse.cost))
    }

    /// Computes Q_uu at each interval of a trajectory, column-major. Where Q_uu is indefinite it is regularised as in the search.
    pub fn curvature(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
    ) -> Result<Blocks, PlanError> {
        self.expand(f, problem, guess)?;
        let dims = f.dims();
        if !self.current.has_gaps {
            self.current.gaps.as_mut_slice().fill(0.0);
        }
        let mut regularization = 0.0;
        // With gaps the backward pass stores V_xx of every node.
        while self.backward(dims, problem, regularization, true).is_none() {
            if regularization >= REGULARIZATION.1 {
                return Err(PlanError::NoFinitePlan { time: problem.times[0] });
            }
            regularization = (regularization * 10.0).max(REGULARIZATION.0);
        }
        let mut out = Blocks::zeros(dims.control * dims.control, problem.intervals());
        self.each_interval(dims, problem, |k, interval, v_xx| {
            interval.control_curvature(dims, v_xx, regularization, out.at_mut(k));
        });
        Ok(out)
    }

    /// Expands the problem to second order along the guess.
    fn expand(
        &mut self,
        f: &mut dyn Dynamics,
        problem: &Problem<'_>,
        guess: Guess<'_>,
    ) -> Result<(), PlanError> {
        let dims = f.dims();
        problem.validate(dims, &guess)?;
        self.resize(dims, problem);
        self.begin(f, problem, guess, ForwardPass::Rollout)?;
        self.linearize(f, problem);
        Ok(())
    }

    /// Visits the intervals from the last to the first, each with V_xx of the node after it from the last backward pass.
    fn each_interval(
        &mut self,
        dims: Dims,
        problem: &Problem<'_>,
        mut act: impl FnMut(usize, &Interval<'_>, &[f64]),
    ) {
        let expansion: &Expansion = &self.expansion;
        let mut composed = IntervalModel::default();
        composed.resize(dims.nx(), dims.nz(), problem.transcription.integrator.tableau().b.len());
        for k in (0..problem.intervals()).rev() {
            let stages = stages(dims, problem, expansion, k);
            if stages.weights.len() > 1 {
                composed.compose(dims, &stages);
            }
            act(k, &Interval::new(dims, &stages, &composed), &self.solution.values.at(k)[dims.nx()..]);
        }
    }
}

/// Largest number of evaluations of f in an interval to which a transcription is refined.
const MOST_STAGES: usize = 8;

impl Transcription {
    /// Returns this transcription, or the first of the [`finer`](Transcription::finer) ones whose estimated error in the cost of the
    /// trajectory `start` is at most `tolerance` times the cost.
    #[must_use]
    pub fn accurate(
        self,
        dynamics: &(dyn Fn() -> Box<dyn Dynamics> + Sync),
        problem: &Problem<'_>,
        start: &Start,
        tolerance: f64,
    ) -> Self {
        let (mut best, mut ilqr) = (self, Ilqr::default());
        while let Some(finer) = best.finer().filter(|finer| finer.stages() <= MOST_STAGES) {
            let problem = Problem { transcription: best, ..*problem };
            let error = ilqr.discretization_error(dynamics().as_mut(), &problem, finer, start.guess());
            if !error.is_ok_and(|(error, cost)| error.abs() > tolerance * cost.abs()) {
                break;
            }
            best = finer;
        }
        best
    }
}
