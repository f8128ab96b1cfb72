//! A user-defined system: write its equations, check them, and plan.
//!
//! `cargo run --release -p ocorl --example 03_own_system`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::plan::{Ilqr, PathConstraints, Problem, Settings, Start, Transcription, uniform_grid};
use ocorl::real::Real;
use ocorl::system::{Bounds, ExactJacobian, QuadraticCost, VectorField};
use ocorl::{check, random::Stream};

/// A buckled beam rests at x = −1 and at x = 1: ẋ = v, v̇ = x − x³ − d v + u.
struct Beam {
    damping: f64,
}

impl VectorField<2, 1> for Beam {
    fn derivative<R: Real>(&self, [x, v]: [R; 2], [u]: [R; 1]) -> [R; 2] {
        [v, x - x * x * x - v * self.damping + u]
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Written once; values, batches and exact Jacobians follow. The check compares them at random points.
    let mut beam = ExactJacobian(Beam { damping: 0.1 });
    check::dynamics(&mut beam, 1.0, &mut Stream::root(0).rng())?;

    // Snap from one side to the other with a force too weak to do it by a steady push.
    let cost = QuadraticCost::new([1.0, 1.0], [1.0]).terminal_weights([10.0, 10.0]).state_target([1.0, 0.0]);
    let times = uniform_grid(15.0, 300);
    let problem = Problem {
        cost: &cost,
        initial_state: &[-1.0, 0.0],
        times: &times,
        control_bounds: &Bounds::symmetric([0.25]),
        rate_limit: None,
        state_bounds: None,
        constraints: PathConstraints::default(),
        transcription: Transcription::default(),
    };
    let start = Start::constant(&[0.1], 300);
    let plan = Ilqr::new(Settings::default()).plan(&mut beam, &problem, start.guess())?;

    println!("{:?} after {} iterations, cost {:.3}", plan.outcome, plan.trace.len(), plan.cost);
    for k in (0..=300).step_by(20) {
        let (x, u) = (plan.states.at(k)[0], plan.controls.at(k.min(299))[0]);
        let dots: String = (0..60).take_while(|&i| f64::from(i) < 20.0 * (x + 1.3)).map(|_| '·').collect();
        println!("t = {:>4.1}  u = {u:>6.3}  x = {x:>6.3}  {dots}o", times[k]);
    }
    Ok(())
}
