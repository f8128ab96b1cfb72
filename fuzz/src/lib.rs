//! What is done with the bytes of a fuzzer: each function reads them as one kind of input and checks what must hold of every input. The
//! tests of `ocorl-study` run the same functions on the committed corpora.

use ocorl::linalg::{Linearization, Points};
use ocorl::system::Dynamics;
use ocorl_expression::{Equations, Formulas, Scope};
use ocorl_study::control::{Controller, Session, Virtual};
use ocorl_study::grid::Grid;
use ocorl_study::measured::{Columns, Measured};
use ocorl_study::plan_file::PlanFile;
use ocorl_study::system::System;
use ocorl_study::user_error::UserError;
use std::sync::OnceLock;
use std::time::Duration;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets, by the names of their corpora.
pub const TARGETS: [(&str, Target); 8] = [
    ("expression", expression),
    ("system", system),
    ("measured_csv", measured_csv),
    ("measured_json", measured_json),
    ("plan", plan),
    ("control_line", control_line),
    ("settings", settings),
    ("grid", grid),
];

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// An error says what is wrong, in one line.
fn said(error: &UserError) {
    assert!(!error.message.is_empty() && !error.to_string().is_empty());
}

/// What is parsed can be evaluated, and differentiated with the same values.
pub fn expression(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let formulas = Formulas::new(Scope::new().inputs(["x", "u"]).time().parameters(["a"]));
    let parsed = match formulas.parse(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let point = [0.5, -1.25];
    let Ok(tape) = formulas.tape(&[parsed], &[3.0]) else { return };
    let value = tape.evaluate(0.0, &point)[0];
    let mut found = Linearization::default();
    Equations::new(tape, 1).linearize(Points::single(&point), &mut found);
    let other = found.value.at(0)[0];
    assert!(value == other || value.is_nan() && other.is_nan(), "{text}: {value}, {other}");
}

/// A system that is read can be read again from the text that a study keeps.
pub fn system(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    match System::parse(text, "own.toml") {
        Ok(system) => {
            assert!(System::restore(&system.name, system.file.as_deref()).is_ok());
            assert!(system.task.horizon > 0.0 && system.task.horizon.is_finite());
        }
        Err(error) => said(&error),
    }
}

fn columns() -> Columns {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Columns { states: names(&["x", "v"]), controls: names(&["u"]) }
}

/// Measurements that are read are finite, states without a value aside, and the same after they are written and read again.
fn measured(text: &str, name: &str) {
    match Measured::parse(text, name, &columns()) {
        Ok(measured) => {
            for row in &measured.rows {
                assert!(row.t.is_finite() && row.u.iter().all(|value| value.is_finite()));
                assert!(
                    row.x.iter().all(|value| !value.is_infinite())
                        && row.x.iter().any(|value| value.is_finite())
                );
                assert!(row.x.len() == 2 && row.u.len() == 1);
            }
            let again = Measured::parse(&measured.csv(&columns()), "again.csv", &columns());
            let again = again.unwrap_or_else(|error| panic!("{error}\n{}", measured.csv(&columns())));
            assert_eq!(again.rows.len(), measured.rows.len());
            assert_eq!(again.controls, measured.controls);
        }
        Err(error) => said(&error),
    }
}

pub fn measured_csv(bytes: &[u8]) {
    if let Some(text) = text(bytes) {
        measured(text, "m.csv");
    }
}

pub fn measured_json(bytes: &[u8]) {
    if let Some(text) = text(bytes) {
        measured(text, "m.json");
    }
}

/// A plan that is accepted is written and read again as the same, and a controller follows it with finite outputs within its limits.
pub fn plan(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let plan = match PlanFile::parse(text, "plan.json") {
        Ok(plan) => plan,
        Err(error) => return said(&error),
    };
    let written = plan.text().expect("a plan that was read can be written");
    assert!(PlanFile::parse(&written, "again.json").expect("it is read again") == plan);
    let Ok(mut controller) = Controller::new(&plan, 0) else { return };
    let mut control = controller.safe_control().to_vec();
    let state = vec![0.5; plan.states.len()];
    for share in [-1.0, 0.0, 0.3, 2.0] {
        controller.step(share * plan.horizon, &state, &mut control);
        assert!(control.iter().all(|u| u.is_finite()), "{control:?}");
    }
}

/// Each line gets one line as an answer, which is JSON with finite controls.
pub fn control_line(bytes: &[u8]) {
    static PLAN: OnceLock<PlanFile> = OnceLock::new();
    let plan = PLAN.get_or_init(|| {
        PlanFile::parse(include_str!("../corpus/plan/van-der-pol.json"), "plan.json").expect("a plan")
    });
    let controller = Controller::new(plan, 0).expect("a controller");
    let mut session =
        Session::new(plan, 0, controller, Virtual::default(), Duration::from_secs(1)).expect("a session");
    for line in bytes.split(|byte| *byte == b'\n').take(50) {
        let mut answer = String::new();
        session.line(line, &mut answer);
        let parsed: serde_json::Value = serde_json::from_str(&answer).expect("the answer is JSON");
        let u = parsed["u"].as_array().expect("controls");
        assert!(u.iter().all(|u| u.as_f64().is_some_and(f64::is_finite)), "{answer}");
        assert!(answer.ends_with('\n') && answer.matches('\n').count() == 1);
    }
}

/// Settings as lines PATH=VALUE: those that are accepted can be written and read again.
pub fn settings(bytes: &[u8]) {
    static SYSTEM: OnceLock<System> = OnceLock::new();
    let system = SYSTEM.get_or_init(|| System::find("van-der-pol").expect("a benchmark"));
    let Some(text) = text(bytes) else { return };
    let mut config = system.config("default").expect("its settings");
    for line in text.lines().take(20) {
        let Some((path, value)) = line.split_once('=') else { continue };
        if let Err(error) = config.set(path, value) {
            said(&error);
        }
    }
    if let Err(error) = config.text("") {
        said(&error);
    }
}

/// A grid that is accepted has cells, and is the same after it is written and read again.
pub fn grid(bytes: &[u8]) {
    let Some(text) = text(bytes).filter(|text| !text.contains(['/', '\\']) && !text.contains(".toml")) else {
        return;
    };
    match Grid::parse(text, "grid.toml") {
        Ok(grid) => {
            assert!(!grid.cells().is_empty());
            let written = serde_json::to_string(&grid).expect("a grid is plain data");
            assert!(Grid::parse(&written, "grid.json").expect("it is read again").cells() == grid.cells());
        }
        Err(error) => said(&error),
    }
}
