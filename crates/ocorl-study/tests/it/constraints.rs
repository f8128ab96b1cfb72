//! The section [constraints] of a system file: what it means, what is refused, and the plans that it leads to.

use ocorl::baseline::{self, BaselineSettings};
use ocorl::linalg::{Linearization, Points};
use ocorl::plan::Effort;
use ocorl::system::{Benchmark, Extent};
use ocorl_study::known::Known;
use ocorl_study::system::System;

const MASS: &str = r#"[system]
name = "mass"
states = ["x", "v"]
inputs = { u = [-1.0, 1.0] }
x0 = [0.0, 0.0]
horizon = 3.0

[parameters]
fastest = 0.5

[definitions]
power = "u*v"

[equations]
x = "v"
v = "u"

[cost]
running = "(x - 1)^2 + 0.1*u^2"

[constraints]
path = ["v <= fastest", "power <= 0.2 + 0.01*t"]
end = ["x >= 0.9"]
"#;

fn mass(constraints: &str) -> Result<System, ocorl_study::user_error::UserError> {
    let (head, _) = MASS.split_once("path = ").expect("the constraints");
    System::parse(&format!("{head}{constraints}\n"), "mass.toml")
}

#[test]
fn constraints_are_read_with_exact_jacobians() {
    let system = System::parse(MASS, "mass.toml").expect("a sound file");
    let constraints = system.task.constraints.expect("three constraints");
    let list = constraints.list();
    let named: Vec<_> = list.iter().map(|c| (c.name.as_str(), c.extent)).collect();
    assert_eq!(
        named,
        [
            ("v <= fastest", Extent::Always),
            ("power <= 0.2 + 0.01*t", Extent::WhileControlled),
            ("x >= 0.9", Extent::End)
        ]
    );
    assert_eq!((list[0].scale, list[1].scale, list[2].scale), (0.5, 1.0, 0.9));
    let (point, mut linear) = ([0.3, 0.7, 0.5], Linearization::default());
    constraints.linearize(&[2.0], Points::single(&point), &mut linear);
    for (found, expected) in linear.value.as_slice().iter().zip([0.2, 0.35 - 0.22, 0.6]) {
        assert!((found - expected).abs() < 1e-15, "{:?}", linear.value);
    }
    assert_eq!(linear.jacobian.as_slice(), [0.0, 1.0, 0.0, 0.0, 0.5, 0.7, -1.0, 0.0, 0.0]);
    let mut values = [0.0; 3];
    constraints.values(&[2.0], Points::single(&point), &mut values);
    assert_eq!(values, linear.value.as_slice());
}

#[test]
fn a_plan_satisfies_the_constraints_of_its_file() {
    let system = System::parse(MASS, "mass.toml").expect("a sound file");
    let truth = system.truth.expect("equations");
    let settings = BaselineSettings { intervals: 60, ..BaselineSettings::default() };
    let plan = baseline::continuous(&truth, &settings, &[]).expect("a plan").plan;
    let constraints = truth.task.constraints.as_ref().expect("constraints");
    for (k, (x, u)) in plan.states.iter().zip(plan.controls.iter()).enumerate() {
        let mut g = [0.0; 3];
        constraints.values(&plan.times[k..=k], Points::single(&[x, u].concat()), &mut g);
        assert!(g[0] <= 1e-6 && g[1] <= 1e-6, "{g:?} at {}", plan.times[k]);
    }
    let fastest = plan.states.iter().map(|x| x[1]).fold(0.0, f64::max);
    assert!(fastest > 0.499, "the limit is reached: {fastest}");
}

#[test]
fn bad_constraints_are_refused_by_name() {
    for (constraints, expected) in [
        ("path = [\"v < \"]", "the constraint 'v < ' cannot be read"),
        ("path = [\"v <= 1 and x <= 1\"]", "'and' joins two constraints"),
        ("path = [\"v <= 1 or x <= 1\"]", "'or' is not allowed"),
        ("path = [\"speed <= 1\"]", "unknown name 'speed'"),
        ("end = [\"u <= 1\"]", "at the end there is no input"),
        ("pth = [\"u <= 1\"]", "pth"),
        ("path = [\"x >= 1\"]", "the initial state violates the constraint 'x >= 1' by 1.000e0"),
        ("path = \"x >= 1\"", "list"),
    ] {
        let error = mass(constraints).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|text| text.contains(expected)), "{constraints}: {error:?}");
    }
}

#[test]
fn contradictory_constraints_are_an_error_that_names_one() {
    let system = mass("path = [\"v <= 0.2\"]\nend = [\"x >= 1\"]").expect("each of them can hold");
    let truth = system.truth.expect("equations");
    let settings = BaselineSettings { intervals: 40, ..BaselineSettings::default() };
    let error = baseline::continuous(&truth, &settings, &[]).expect_err("0.6 is the farthest").to_string();
    assert!(
        error.contains("the constraint 'x >= 1'") || error.contains("the constraint 'v <= 0.2'"),
        "{error}"
    );
}

#[test]
fn only_the_unchanged_problem_of_the_paper_is_confirmed() {
    let benchmark = Benchmark::find("pendulum").expect("a benchmark");
    assert!(benchmark.is_as_published());
    let settings = BaselineSettings { intervals: 60, ..BaselineSettings::default() };
    let found = |benchmark| baseline::continuous(benchmark, &settings, &[]).expect("a plan").plan;
    assert_eq!(Effort::of(&found(&benchmark).attempts).searches, 0);
    let mut changed = benchmark.clone();
    changed.set_parameter("gravity", 9.0).expect("a parameter");
    assert!(!changed.is_as_published());
    let effort = Effort::of(&found(&changed).attempts);
    assert!(effort.searches >= 4 && effort.basins >= 1, "{effort:?}");
    // Learning uses the portfolio where nothing is confirmed.
    let effort = |b| ocorl::learn::Settings::for_system(b).plan.effort;
    assert_eq!((effort(&benchmark), effort(&changed)), (0, 1));
    let known =
        Known { continuous: 5.0, tracked: 5.0, held_as_printed: None, held: 6.0, holds: 9, search: None };
    let text = serde_json::to_string(&known).expect("JSON");
    assert!(!text.contains("search"), "files of confirmed optima stay as they are: {text}");
}
