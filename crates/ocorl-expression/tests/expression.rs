//! Expressions: values against a second evaluator, derivatives against central differences and closed forms, limits, garbage.

use ocorl::check;
use ocorl::linalg::{Linearization, Points};
use ocorl::random::Stream;
use ocorl::system::{Benchmark, Cost, Dynamics};
use ocorl_expression::{
    Cause, Equations, ExpressionCost, ExpressionError, FUNCTIONS, Formulas, MAX_DEPTH, MAX_NODES, Scope,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::time::Instant;

const NAMES: [&str; 3] = ["x", "y", "u"];

fn formulas() -> Formulas {
    Formulas::new(Scope::new().inputs(NAMES).time().parameters(["a"]))
}

fn value(text: &str, point: [f64; 3], time: f64, a: f64) -> f64 {
    let formulas = formulas();
    let parsed = formulas.parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    formulas.tape(&[parsed], &[a]).expect("a tape").evaluate(time, &point)[0]
}

fn refused(text: &str) -> ExpressionError {
    formulas().parse(text).expect_err("it must be refused")
}

#[test]
fn precedence_and_association_are_those_of_mathematics() {
    for (text, expected) in [
        ("2 + 3*4", 14.0),
        ("2*3 - 4/8", 5.5),
        ("10 - 4 - 3", 3.0),
        ("24/4/3", 2.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("(2^3)^2", 64.0),
        ("--3", 3.0),
        ("+3 - -2", 5.0),
        ("2*-3", -6.0),
        ("1.5e-1 + .5", 0.65),
        ("2*pi", 2.0 * std::f64::consts::PI),
        ("atan2(1, 0)", std::f64::consts::FRAC_PI_2),
        ("clamp(5, 0, 2) + clamp(-5, 0, 2) + clamp(1, 0, 2)", 3.0),
        ("min(1, 2) + max(1, 2)", 3.0),
        ("sign(-3) + sign(0) + sign(2)", 0.0),
        ("abs(-2) + sqrt(9) + log(exp(2)) + tanh(0)", 7.0),
        ("a*x + t", 3.0 * 0.5 + 7.0),
    ] {
        let found = value(text, [0.5, 0.0, 0.0], 7.0, 3.0);
        assert!((found - expected).abs() < 1e-14, "{text}: {found}, not {expected}");
    }
}

#[test]
fn this_is_every_function_there_is() {
    let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.join(" "), "sin cos tan asin acos atan atan2 exp log sqrt abs sign tanh min max clamp");
}

#[test]
fn mistakes_are_typed_and_say_where() {
    for (text, start, cause) in [
        ("", 0, Cause::Empty),
        ("   ", 0, Cause::Empty),
        ("x + ", 4, Cause::Unexpected { found: "the end".into(), expected: "a number, a name or '('" }),
        ("x y", 2, Cause::Unexpected { found: "'y'".into(), expected: "an operator or the end" }),
        ("(x", 2, Cause::Unexpected { found: "the end".into(), expected: "')' or an operator" }),
        ("x)", 1, Cause::Unexpected { found: "')'".into(), expected: "an operator or the end" }),
        ("x < 3", 2, Cause::ComparisonHere("<")),
        ("x $ 3", 2, Cause::UnknownSign('$')),
        ("3 + 1e999999", 4, Cause::Number("1e999999".into())),
        ("2x", 0, Cause::Number("2x".into())),
        ("1.2.3", 0, Cause::Number("1.2.3".into())),
        ("z + 1", 0, Cause::UnknownName("z".into())),
        ("1 + sinn(x)", 4, Cause::UnknownFunction("sinn".into())),
        ("system(x)", 0, Cause::UnknownFunction("system".into())),
        ("atan2(x)", 0, Cause::Arguments { function: "atan2", needed: 2, found: 1 }),
        ("sin(x, y)", 0, Cause::Arguments { function: "sin", needed: 1, found: 2 }),
    ] {
        let error = refused(text);
        assert_eq!((error.span.start, &error.cause), (start, &cause), "{text}: {error}");
        assert!(error.span.end <= text.len());
    }
    assert!(matches!(refused("sin + 1").cause, Cause::NotHere { .. }));
    assert!(matches!(refused("x(3)").cause, Cause::NotHere { .. }));
    assert!(matches!(refused("x ** 2").cause, Cause::Unexpected { .. }));
}

#[test]
fn nothing_overflows_the_stack_or_takes_long() {
    assert!(matches!(refused(&"(".repeat(100_000)).cause, Cause::TooLong { .. }));
    assert!(matches!(refused(&"-".repeat(100_000)).cause, Cause::TooLong { .. }));
    assert!(matches!(refused(&("x+".repeat(200_000) + "x")).cause, Cause::TooLong { .. }));
    assert!(matches!(refused(&("x+".repeat(1_000_000) + "x")).cause, Cause::TooLong { .. }));
    assert!(matches!(refused(&"x".repeat(1_000_000)).cause, Cause::TooLong { .. }));
    for nested in ["(", "-", "sin(", "2^", "max(1,", "+"] {
        assert_eq!(refused(&nested.repeat(60_000 / nested.len())).cause, Cause::TooDeep, "{nested}");
        let depth = (MAX_DEPTH - 1) / 2;
        let close = nested.matches('(').count();
        let text = nested.repeat(depth) + "x" + &")".repeat(close * depth);
        assert!(formulas().parse(&text).is_ok(), "{nested}");
    }
    assert_eq!(refused(&("x+".repeat(20_000) + "x")).cause, Cause::TooManyNodes);
    assert!(formulas().parse(&("x+".repeat(MAX_NODES / 2 - 1) + "x")).is_ok());
    assert_eq!(refused(&"x".repeat(60_000)).cause, Cause::UnknownName("x".repeat(40) + "..."));
}

#[test]
fn definitions_are_shared_and_cannot_need_themselves() {
    let scope = Scope::new().inputs(["x"]).definitions(["a", "b", "c"]);
    let mut circle = Formulas::new(scope.clone());
    for (name, text) in [("a", "b + 1"), ("b", "c*2"), ("c", "a - x")] {
        circle.define(name, text).unwrap();
    }
    let output = circle.parse("a").unwrap();
    assert!(matches!(circle.tape(&[output], &[]).unwrap_err().cause, Cause::Circular(_)));

    // 2^30 terms if they were written out.
    let names: Vec<String> = (0..30).map(|i| format!("d{i}")).collect();
    let mut tower = Formulas::new(Scope::new().inputs(["x"]).definitions(names.clone()));
    tower.define("d0", "x").unwrap();
    for i in 1..30 {
        tower.define(&names[i], &format!("d{} + d{}", i - 1, i - 1)).unwrap();
    }
    let output = tower.parse("d29").unwrap();
    let tape = tower.tape(&[output], &[]).unwrap();
    assert!(tape.steps() <= 30);
    assert_eq!(tape.evaluate(0.0, &[1.0])[0], f64::from(1 << 29));
}

#[test]
fn parameters_are_folded_and_equal_steps_are_done_once() {
    let formulas = formulas();
    let parsed = formulas.parse("a^2*3*sin(x) + 2*a*sin(x) + sin(x)").unwrap();
    // sin, three products (one by one: no product), two sums.
    assert!(formulas.tape(&[parsed], &[2.0]).unwrap().steps() <= 5);
}

#[test]
fn an_infinite_slope_does_no_harm_where_nothing_changes() {
    let formulas = formulas();
    let outputs = [formulas.parse("y - 0.1*sqrt(max(0, x))").unwrap(), formulas.parse("u").unwrap()];
    let mut f = Equations::new(formulas.tape(&outputs, &[0.0]).unwrap(), 2);
    let mut out = Linearization::default();
    for x in [0.0, -1.0] {
        f.linearize(Points::single(&[x, 0.3, 0.1]), &mut out);
        assert_eq!(out.jacobian.at(0), [0.0, 1.0, 0.0, 0.0, 0.0, 1.0], "at {x}");
    }
}

/// An expression as text, and its value by another way: closures, no tape.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Name(usize),
    One(&'static str, Box<Tree>),
    Two(&'static str, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Tree::Number(n) => format!("{n:?}"),
            Tree::Name(i) => NAMES[*i].into(),
            Tree::One("-", a) => format!("(-{})", a.text()),
            Tree::One(f, a) => format!("{f}({})", a.text()),
            Tree::Two(f, a, b) if f.len() > 1 => format!("{f}({}, {})", a.text(), b.text()),
            Tree::Two(f, a, b) => format!("({} {f} {})", a.text(), b.text()),
        }
    }

    /// NaN if anything on the way is not finite.
    fn value(&self, z: &[f64]) -> f64 {
        let value = self.plain_value(z);
        if value.is_finite() && value.abs() < 1e100 { value } else { f64::NAN }
    }

    fn plain_value(&self, z: &[f64]) -> f64 {
        match self {
            Tree::Number(n) => *n,
            Tree::Name(i) => z[*i],
            Tree::One(f, a) => {
                let a = a.value(z);
                match *f {
                    // At the edge of the domain there is no slope.
                    "asin" | "acos" if a.abs() > 1.0 - 1e-9 => f64::NAN,
                    "sqrt" | "log" if a < 1e-9 => f64::NAN,
                    "-" => -a,
                    "sin" => a.sin(),
                    "cos" => a.cos(),
                    "tan" => a.tan(),
                    "asin" => a.asin(),
                    "acos" => a.acos(),
                    "atan" => a.atan(),
                    "exp" => a.exp(),
                    "log" => a.ln(),
                    "sqrt" => a.sqrt(),
                    "abs" => a.abs(),
                    "tanh" => a.tanh(),
                    other => panic!("{other}"),
                }
            }
            // A power of what is not positive has a slope only if its exponent is a number.
            Tree::Two("^", a, b) if !matches!(**b, Tree::Number(_)) && !(a.value(z) > 0.0) => f64::NAN,
            Tree::Two(f, a, b) => {
                let (a, b) = (a.value(z), b.value(z));
                match *f {
                    "^" if a.is_nan() || b.is_nan() => f64::NAN,
                    "min" | "max" if a == b => f64::NAN,
                    "atan2" if a.abs().max(b.abs()) < 1e-9 => f64::NAN,
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    "^" => a.powf(b),
                    "atan2" => a.atan2(b),
                    // NaN if one of them is.
                    "min" => {
                        if b.is_nan() {
                            b
                        } else {
                            a.min(b) + 0.0 * a
                        }
                    }
                    "max" => {
                        if b.is_nan() {
                            b
                        } else {
                            a.max(b) + 0.0 * a
                        }
                    }
                    other => panic!("{other}"),
                }
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (1..40_i32).prop_map(|n| Tree::Number(f64::from(n) / 8.0)),
        (0..3_usize).prop_map(Tree::Name),
    ];
    leaf.prop_recursive(5, 40, 2, |inner| {
        let one = prop::sample::select(vec![
            "-", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "abs", "tanh",
        ]);
        let two = prop::sample::select(vec!["+", "-", "*", "/", "^", "atan2", "min", "max"]);
        prop_oneof![
            (one, inner.clone()).prop_map(|(f, a)| Tree::One(f, Box::new(a))),
            (two, inner.clone(), inner).prop_map(|(f, a, b)| Tree::Two(f, Box::new(a), Box::new(b))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn a_tape_agrees_with_a_second_evaluator_and_with_central_differences(
        tree in tree(),
        z in [0.1..2.0_f64, 0.1..2.0_f64, -2.0..2.0_f64],
    ) {
        let (formulas, text) = (formulas(), tree.text());
        let tape = formulas.tape(&[formulas.parse(&text).unwrap()], &[0.0]).unwrap();
        let (found, expected) = (tape.evaluate(0.0, &z)[0], tree.value(&z));
        if !expected.is_finite() || expected.abs() > 1e6 {
            return Ok(());
        }
        prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{text}: {found} {expected}");
        let cost = ExpressionCost::new(tape, None, 2);
        let mut at = ocorl::linalg::Quadratization::default();
        cost.quadratize(&[0.0], Points::single(&z), &mut at);
        for i in 0..3 {
            let gradient = |h: f64, order: usize| {
                let mut moved = z;
                moved[i] += h;
                let mut out = ocorl::linalg::Quadratization::default();
                cost.quadratize(&[0.0], Points::single(&moved), &mut out);
                if order == 0 { vec![out.value[0]] } else { out.gradient.at(0).to_vec() }
            };
            let hessian: Vec<f64> = at.hessian.at(0)[3 * i..3 * i + 3].to_vec();
            for (order, exact) in [(0, vec![at.gradient.at(0)[i]]), (1, hessian)] {
                // Two steps that disagree show a bend or an end of the domain in between; differences say nothing there.
                let difference = |h: f64| -> Vec<f64> {
                    gradient(h, order).iter().zip(gradient(-h, order)).map(|(p, m)| (p - m) / (2.0 * h)).collect()
                };
                let (coarse, fine) = (difference(2e-5), difference(1e-5));
                for ((exact, coarse), fine) in exact.iter().zip(coarse).zip(fine) {
                    let size = 1.0 + exact.abs().max(fine.abs());
                    if fine.is_finite() && (coarse - fine).abs() < 1e-7 * size && size < 1e4 {
                        prop_assert!((exact - fine).abs() < 1e-5 * size, "{text} at {z:?}: {exact} {fine}");
                    }
                }
            }
        }
    }
}

#[test]
fn closed_forms_of_second_derivatives() {
    let formulas = formulas();
    let tape =
        formulas.tape(&[formulas.parse("x^3*y + exp(a*x)*sin(u) + y/u + x^y").unwrap()], &[0.5]).unwrap();
    let cost = ExpressionCost::new(tape, None, 2);
    let (x, y, u) = (1.3_f64, 0.7_f64, 0.4_f64);
    let mut out = ocorl::linalg::Quadratization::default();
    cost.quadratize(&[0.0], Points::single(&[x, y, u]), &mut out);
    let (e, p, l) = ((0.5 * x).exp(), x.powf(y), x.ln());
    let gradient = [
        3.0 * x * x * y + 0.5 * e * u.sin() + y * x.powf(y - 1.0),
        x.powi(3) + 1.0 / u + p * l,
        e * u.cos() - y / (u * u),
    ];
    let xy = 3.0 * x * x + x.powf(y - 1.0) * (1.0 + y * l);
    let (xu, yu) = (0.5 * e * u.cos(), -1.0 / (u * u));
    let hessian = [
        6.0 * x * y + 0.25 * e * u.sin() + y * (y - 1.0) * x.powf(y - 2.0),
        xy,
        xu,
        xy,
        p * l * l,
        yu,
        xu,
        yu,
        -e * u.sin() + 2.0 * y / (u * u * u),
    ];
    for (found, expected) in out.gradient.at(0).iter().zip(gradient) {
        assert!((found - expected).abs() < 1e-13 * (1.0 + expected.abs()), "{found} {expected}");
    }
    for (found, expected) in out.hessian.at(0).iter().zip(hessian) {
        assert!((found - expected).abs() < 1e-13 * (1.0 + expected.abs()), "{found} {expected}");
    }
    let everywhere = formulas.parse("x^3*y + exp(a*x)*sin(u) + y/(2 + cos(u)) + atan2(x, 2 + y^2)").unwrap();
    let cost = ExpressionCost::new(formulas.tape(&[everywhere], &[0.5]).unwrap(), None, 2);
    check::cost(&cost, 0.3, &mut Stream::root(3).rng()).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn equations_keep_the_contracts_of_dynamics() {
    let formulas = formulas();
    let outputs = ["sin(x)*y - u^3/(2 + cos(y))", "tanh(x*u) + a*exp(-x^2)*y - atan2(u, 2 + y^2)"];
    let outputs = outputs.map(|text| formulas.parse(text).unwrap());
    let mut f = Equations::new(formulas.tape(&outputs, &[0.7]).unwrap(), 2);
    check::dynamics(&mut f, 1.0, &mut Stream::root(5).rng()).unwrap_or_else(|e| panic!("{e}"));
}

/// Systems of the paper as text: name, definitions, equations.
type Written = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);
const AS_TEXT: [Written; 7] = [
    ("cancer-treatment", &[], &["growth_rate*tumour*log(1/tumour) - drug_effect*dose*tumour"]),
    (
        "glucose-in-blood",
        &[],
        &["-(glucose_decay*glucose) - hormone_effect*hormone", "insulin - hormone_decay*hormone"],
    ),
    ("pendulum", &[], &["omega", "gravity/length*sin(theta) + torque"]),
    ("mountain-car", &[], &["10*velocity", "engine*force - steepness*cos(3*position)"]),
    (
        "cart-pole",
        &[
            ("s", "sin(theta)"),
            ("c", "cos(theta)"),
            ("d", "cart_mass + pole_mass*s^2"),
            ("push", "force - pole_mass*pole_length*s*omega^2"),
        ],
        &[
            "omega",
            "(c*push + (cart_mass + pole_mass)*gravity*s)/(pole_length*d)",
            "velocity",
            "(push + pole_mass*gravity*s*c)/d",
        ],
    ),
    (
        "quadrotor-2d",
        &[("push", "thrust/mass")],
        &["vz", "vy", "omega", "gravity - push*cos(phi)", "push*sin(phi)", "torque/inertia"],
    ),
    ("van-der-pol", &[], &["velocity", "damping*(1 - position^2)*velocity - position + force"]),
];

#[test]
fn systems_of_the_paper_as_text_agree_with_those_in_rust() {
    for (name, definitions, equations) in AS_TEXT {
        let b = Benchmark::find(name).unwrap();
        let quantities = b.task.states.iter().chain(&b.task.controls);
        let scope = Scope::new()
            .inputs(quantities.map(|q| q.name.as_str()))
            .parameters(b.parameters.iter().map(|p| p.name.to_string()))
            .definitions(definitions.iter().map(|(name, _)| *name));
        let mut formulas = Formulas::new(scope);
        for (name, text) in definitions {
            formulas.define(name, text).unwrap();
        }
        let outputs: Vec<_> = equations.iter().map(|text| formulas.parse(text).unwrap()).collect();
        let values: Vec<f64> = b.parameters.iter().map(|p| p.value).collect();
        let mut ours = Equations::new(formulas.tape(&outputs, &values).unwrap(), b.dims().state);
        let mut theirs = b.dynamics();
        let mut rng = Stream::root(9).child(name).rng();
        let points: Vec<f64> = (0..b.dims().point() * 103)
            .map(|_| {
                if name == "cancer-treatment" { 0.5 + 0.4 * rng.normal().tanh() } else { 2.0 * rng.normal() }
            })
            .collect();
        let z = Points::new(&points, b.dims().point());
        let (mut a, mut e) = (Linearization::default(), Linearization::default());
        ours.linearize(z, &mut a);
        theirs.linearize(z, &mut e);
        for (what, a, e) in [("value", &a.value, &e.value), ("jacobian", &a.jacobian, &e.jacobian)] {
            for (i, (a, e)) in a.as_slice().iter().zip(e.as_slice()).enumerate() {
                assert!((a - e).abs() <= 1e-12 * (1.0 + e.abs()), "{name}, {what} {i}: {a} and {e}");
            }
        }
    }
}

#[test]
fn nothing_is_allocated_once_it_is_warm() {
    let formulas = formulas();
    let outputs = [formulas.parse("sin(x)*y - u").unwrap(), formulas.parse("x*u/(1 + y^2)").unwrap()];
    let mut f = Equations::new(formulas.tape(&outputs, &[0.7]).unwrap(), 2);
    let cost = ExpressionCost::new(
        formulas.tape(&[formulas.parse("x^2 + u^2*exp(y)").unwrap()], &[0.7]).unwrap(),
        None,
        2,
    );
    let points: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
    let (z, times) = (Points::new(&points, 3), [0.0; 10]);
    let mut values = vec![0.0; 20];
    let (mut linear, mut quadratic) = (Linearization::default(), ocorl::linalg::Quadratization::default());
    let mut work = || {
        f.derivative(z, &mut values);
        f.linearize(z, &mut linear);
        cost.quadratize(&times, z, &mut quadratic);
    };
    work();
    let counted = allocation_counter::measure(&mut work);
    assert_eq!(counted.count_total, 0);
}

#[test]
#[ignore = "a measurement, not a test"]
#[expect(clippy::print_stdout, reason = "it is what a measurement is for")]
fn how_fast_text_is_beside_rust() {
    let formulas = Formulas::new(Scope::new().inputs(["theta", "omega", "torque"]));
    let outputs = ["omega", "1.962*sin(theta) + torque"].map(|text| formulas.parse(text).unwrap());
    let mut text = Equations::new(formulas.tape(&outputs, &[]).unwrap(), 2);
    let mut rust = Benchmark::find("pendulum").unwrap().dynamics();
    let points: Vec<f64> = (0..600).map(|i| 0.01 * f64::from(i)).collect();
    let (z, mut linear, mut value) = (Points::new(&points, 3), Linearization::default(), vec![0.0; 400]);
    let both: [(&str, &mut dyn Dynamics); 2] = [("text", &mut text), ("rust", rust.as_mut())];
    for (name, f) in both {
        let mut best = [f64::INFINITY; 3];
        for _ in 0..200 {
            let begin = Instant::now();
            f.linearize(z, &mut linear);
            best[0] = best[0].min(begin.elapsed().as_secs_f64() / 200.0);
            let begin = Instant::now();
            f.derivative(z, &mut value);
            best[1] = best[1].min(begin.elapsed().as_secs_f64() / 200.0);
            let begin = Instant::now();
            for i in 0..200 {
                f.derivative(Points::single(z.at(i)), &mut value[..2]);
            }
            best[2] = best[2].min(begin.elapsed().as_secs_f64() / 200.0);
        }
        println!("{name}: ns a point: Jacobian, value in a batch, value alone {:.1?}", best.map(|s| 1e9 * s));
    }
}

/// Words and signs in any order: no panic, and every refusal points into the text.
fn soup(count: usize) {
    const WORDS: [&str; 30] = [
        "x", "y", "u", "t", "a", "pi", "z", "sin", "max", "clamp", "atan2", "sqrt", "(", ")", "(", ")", ",",
        "+", "-", "*", "/", "^", "<", ">=", "and", "or", "1", "2.5e-3", "1e999", "é",
    ];
    let formulas = formulas();
    let mut accepted = 0;
    for i in 0..count {
        let mut rng = Stream::root(17).index(i).rng();
        let length = 1 + rng.below(12);
        let mut text = String::new();
        for _ in 0..length {
            text += WORDS[rng.below(WORDS.len())];
            if rng.unit() < 0.3 {
                text.push(' ');
            }
        }
        match formulas.parse(&text) {
            Ok(parsed) => {
                accepted += 1;
                let tape = formulas.tape(&[parsed], &[1.5]).expect("a tape");
                tape.evaluate(0.3, &[0.1, 0.2, 0.3]);
                let cost = ExpressionCost::new(tape, None, 2);
                let mut out = ocorl::linalg::Quadratization::default();
                cost.quadratize(&[0.0], Points::single(&[0.1, 0.2, 0.3]), &mut out);
            }
            Err(error) => {
                assert!(text.get(error.span.clone()).is_some(), "{text:?}: {error:?}");
                assert!(!error.to_string().is_empty());
            }
        }
        if let Err(error) = formulas.parse_condition(&text) {
            assert!(text.get(error.span.clone()).is_some(), "{text:?}: {error:?}");
        }
    }
    assert!(accepted > count / 200, "{accepted} of {count}");
}

#[test]
fn token_soups_are_read_or_refused() {
    soup(10_000);
}

#[test]
#[ignore = "slow: 100,000 soups"]
fn a_hundred_thousand_token_soups_are_read_or_refused() {
    soup(100_000);
}
