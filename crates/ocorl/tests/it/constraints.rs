//! General constraints of a plan, against closed forms.

use ocorl::plan::{PlanError, Settings, plan_within_limits};
use ocorl::prelude::*;

/// ẋ = u in the plane.
fn mass() -> impl Dynamics {
    NumericJacobian::new(Dims { state: 2, control: 2 }, |_: &[f64], u: &[f64], out: &mut [f64]| {
        out.copy_from_slice(u);
    })
}

fn double_integrator() -> impl Dynamics {
    NumericJacobian::new(Dims { state: 2, control: 1 }, |x: &[f64], u: &[f64], out: &mut [f64]| {
        out.copy_from_slice(&[x[1], u[0]]);
    })
}

#[test]
fn the_shortest_path_around_a_disc_consists_of_two_tangents_and_an_arc() {
    let dims = Dims { state: 2, control: 2 };
    let arrive = |name: &str| Constraint { equality: true, ..Constraint::new(name, Extent::End) };
    let list = [Constraint::new("x^2 + y^2 >= 1", Extent::Always), arrive("x = 2"), arrive("y = 0")];
    let disc = FunctionConstraints::new(dims, list, |_, x, _, g| {
        g.copy_from_slice(&[1.0 - x[0] * x[0] - x[1] * x[1], x[0] - 2.0, x[1]]);
    });
    let cost = QuadraticCost::new([0.0, 0.0], [1.0, 1.0]);
    let times = uniform_grid(1.0, 100);
    let problem = Problem {
        cost: &cost,
        initial_state: &[-2.0, 0.0],
        times: &times,
        control_bounds: &Bounds::none(2),
        rate_limit: None,
        state_bounds: None,
        constraints: PathConstraints { constraints: Some(&disc), margins: None },
        transcription: Transcription::default(),
    };
    // Above the disc, and below it, almost through its middle.
    for start in [[4.0, 0.3], [4.0, -0.01]] {
        let guess = Start::constant(&start, 100);
        let plan = plan_within_limits(&mut mass(), &problem, &Settings::default(), &guess).expect("a plan");
        for x in plan.states.iter() {
            assert!(x[0] * x[0] + x[1] * x[1] >= 1.0 - 1e-6, "{x:?}");
        }
        let end = plan.states.at(100);
        assert!((end[0] - 2.0).abs() < 1e-6 && end[1].abs() < 1e-6, "{end:?}");
        // At constant speed ∫ |u|² dt is the square of the length, 2√3 + π/3. Between the nodes the path may cut the disc by a chord.
        let length = 2.0 * 3.0_f64.sqrt() + std::f64::consts::FRAC_PI_3;
        let ratio = plan.cost / length.powi(2);
        assert!((ratio - 1.0).abs() < 1e-3, "{ratio} times the least cost from {start:?}");
    }
}

/// The gradient of 1 + cos x vanishes at the goal: there only the curvature of the constraint tells the way.
#[test]
fn a_goal_whose_gradient_vanishes_is_reached_in_few_iterations() {
    let (dims, near) = (Dims { state: 2, control: 1 }, 1e-6);
    let rest = Constraint { equality: true, ..Constraint::new("v = 0", Extent::End) };
    let list = [Constraint::new("1 + cos(x) <= 1e-6", Extent::End), rest];
    let upright = FunctionConstraints::new(dims, list, move |_, x, _, g| {
        g.copy_from_slice(&[1.0 + x[0].cos() - near, x[1]]);
    });
    let times = uniform_grid(1.0, 100);
    let problem = Problem {
        cost: &QuadraticCost::new([0.0, 0.0], [1.0]),
        initial_state: &[0.0, 0.0],
        times: &times,
        control_bounds: &Bounds::none(1),
        rate_limit: None,
        state_bounds: None,
        constraints: PathConstraints { constraints: Some(&upright), margins: None },
        transcription: Transcription::default(),
    };
    let settings = Settings { max_iterations: 10, ..Settings::default() };
    let start = Start::constant(&[1.0], 100);
    let plan = plan_within_limits(&mut double_integrator(), &problem, &settings, &start).expect("a plan");
    // Least ∫ u² dt over a distance d in a time of 1 from rest to rest: 12 d².
    let distance = std::f64::consts::PI - (1.0 - near).acos();
    assert!((plan.cost / (12.0 * distance * distance) - 1.0).abs() < 2e-4, "{}", plan.cost);
}

#[test]
fn a_power_limit_bounds_the_product_of_force_and_speed() {
    let (power, force) = (2.0, 4.0);
    let dims = Dims { state: 2, control: 1 };
    let list = [Constraint::new("u v <= 2", Extent::WhileControlled)];
    let limit = FunctionConstraints::new(dims, list, move |_, x, u, g| g[0] = u[0] * x[1] - power);
    // The terminal cost (v − 10)² with v(T) < 10 is minimised by the fastest end.
    let cost = QuadraticCost::new([0.0, 0.0], [0.0]).terminal_weights([0.0, 1.0]).state_target([0.0, 10.0]);
    let times = uniform_grid(1.0, 400);
    let problem = Problem {
        cost: &cost,
        initial_state: &[0.0, 0.0],
        times: &times,
        control_bounds: &Bounds::symmetric([force]),
        rate_limit: None,
        state_bounds: None,
        constraints: PathConstraints { constraints: Some(&limit), margins: None },
        transcription: Transcription::default(),
    };
    let start = Start::constant(&[0.0], 400);
    let plan =
        plan_within_limits(&mut double_integrator(), &problem, &Settings::default(), &start).expect("a plan");
    for (x, u) in plan.states.iter().zip(plan.controls.iter()) {
        assert!(x[1] * u[0] <= power + 2e-6, "{x:?} {u:?}");
    }
    // Full force until the limit at v₁ = P/F, t₁ = v₁/F; then v² grows by 2 P.
    let v1: f64 = power / force;
    let fastest = (v1 * v1 + 2.0 * power * (1.0 - v1 / force)).sqrt();
    let found = plan.states.at(400)[1];
    assert!((found / fastest - 1.0).abs() < 2e-3, "{found} for {fastest}");
}

#[test]
fn margins_tighten_limits_and_constraints_from_node_to_node() {
    let limit = 1.2;
    let cost = QuadraticCost::new([0.0, 0.0], [1.0]).terminal_weights([1000.0, 0.0]).state_target([1.0, 0.0]);
    let times = uniform_grid(1.0, 100);
    let bounds = Bounds { lower: vec![f64::NEG_INFINITY; 2], upper: vec![f64::INFINITY, limit] };
    let as_constraint = FunctionConstraints::new(
        Dims { state: 2, control: 1 },
        [Constraint::new("v <= 1.2", Extent::Always)],
        move |_, x, _, g| g[0] = x[1] - limit,
    );
    let margin = |k: usize| 0.1 * k as f64 / 100.0;
    for general in [false, true] {
        let each = |k: usize| if general { vec![0.0, 0.0, margin(k)] } else { vec![0.0, margin(k)] };
        let margins = Blocks::from_vec((0..=100).flat_map(each).collect(), if general { 3 } else { 2 });
        let constraints: Option<&dyn Constraints> = if general { Some(&as_constraint) } else { None };
        let problem = Problem {
            cost: &cost,
            initial_state: &[0.0, 0.0],
            times: &times,
            control_bounds: &Bounds::none(1),
            rate_limit: None,
            state_bounds: if general { None } else { Some(&bounds) },
            constraints: PathConstraints { constraints, margins: Some(&margins) },
            transcription: Transcription::default(),
        };
        let start = Start::constant(&[0.0], 100);
        let plan = plan_within_limits(&mut double_integrator(), &problem, &Settings::default(), &start)
            .expect("a plan");
        let room = |k: usize| limit - margin(k) - plan.states.at(k)[1];
        let least = (0..=100).map(room).fold(f64::INFINITY, f64::min);
        assert!((-1e-6..1e-4).contains(&least), "general {general}: {least}");
        let short = PathConstraints { constraints, margins: Some(&Blocks::zeros(1, 101)) };
        let wrong = Problem { constraints: short, ..problem };
        let error = plan_within_limits(&mut double_integrator(), &wrong, &Settings::default(), &start);
        assert!(matches!(error, Err(PlanError::Length { found: 101, .. })), "{error:?}");
    }
}

#[test]
fn constraints_that_cannot_hold_are_named_with_the_violation() {
    let dims = Dims { state: 2, control: 1 };
    let cost = QuadraticCost::new([1.0, 1.0], [1.0]);
    let times = uniform_grid(1.0, 50);
    let plan = |list: Vec<Constraint>, g: fn(&[f64], &mut [f64])| {
        let constraints = FunctionConstraints::new(dims, list, move |_, x, _, out| g(x, out));
        let problem = Problem {
            cost: &cost,
            initial_state: &[0.0, 0.0],
            times: &times,
            control_bounds: &Bounds::symmetric([1.0]),
            rate_limit: None,
            state_bounds: None,
            constraints: PathConstraints { constraints: Some(&constraints), margins: None },
            transcription: Transcription::default(),
        };
        let start = Start::constant(&[0.0], 50);
        plan_within_limits(&mut double_integrator(), &problem, &Settings::default(), &start)
    };
    // With |u| ≤ 1 the mass moves by at most ½ in a second.
    let error = plan(vec![Constraint::new("x >= 2", Extent::End)], |x, g| g[0] = 2.0 - x[0]).unwrap_err();
    let PlanError::Violated { constraint, time, by } = &error else { panic!("{error}") };
    assert_eq!((constraint.as_str(), *time), ("x >= 2", 1.0));
    assert!((by - 1.5).abs() < 1e-2, "{by}");
    assert!(error.to_string().contains("'x >= 2'"), "{error}");
    // Two constraints that contradict each other.
    let both = vec![Constraint::new("v >= 0.4", Extent::End), Constraint::new("v <= 0.2", Extent::End)];
    let error = plan(both, |x, g| g.copy_from_slice(&[0.4 - x[1], x[1] - 0.2])).unwrap_err();
    let PlanError::Violated { by, .. } = error else { panic!("{error}") };
    assert!((0.09..0.21).contains(&by), "{by}");
    // A value that is not a number anywhere.
    let error = plan(vec![Constraint::new("nonsense", Extent::Always)], |_, g| g[0] = f64::NAN).unwrap_err();
    assert!(matches!(error, PlanError::Violated { .. } | PlanError::NoFinitePlan { .. }), "{error}");
}

#[test]
fn a_task_that_begins_outside_a_constraint_is_rejected_by_name() {
    let mut task = Benchmark::find("pendulum").expect("a benchmark").task.clone();
    let dims = task.dims();
    let list = [Constraint::new("angle >= 100", Extent::Always)];
    task.constraints = Some(std::sync::Arc::new(FunctionConstraints::new(dims, list, |_, x, _, g| {
        g[0] = 100.0 - x[0];
    })));
    let error = task.validate().expect_err("it begins outside").to_string();
    assert!(error.contains("'angle >= 100'") && error.contains("e1"), "{error}");
}
