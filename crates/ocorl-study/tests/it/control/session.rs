//! Lines in, lines out, in virtual time.

use crate::support;
use ocorl::system::Backup;
use ocorl_study::control::{Controller, Session, Virtual};
use ocorl_study::plan_file::{PlanFile, StateLimits};
use serde_json::Value;
use std::time::Duration;

fn session<'a>(plan: &'a PlanFile, clock: &Virtual) -> Session<'a, Virtual> {
    let controller = Controller::new(plan, 0).unwrap();
    Session::new(plan, 0, controller, clock.clone(), Duration::from_millis(60)).unwrap()
}

fn ask(session: &mut Session<'_, Virtual>, line: &str) -> Value {
    let mut out = String::new();
    session.line(line.as_bytes(), &mut out);
    assert!(out.ends_with('\n') && out.matches('\n').count() == 1, "{out}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_state_is_answered_by_a_control() {
    let plan = support::plan_file("pendulum", 100);
    let names: Vec<&str> = plan.states.iter().map(|s| s.name.as_str()).collect();
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    let a = ask(&mut s, r#"{"t": 0.0, "x": [3.1, 0.5]}"#);
    let named = format!(r#"{{"x": {{"{}": 0.5, "{}": 3.1}}, "t": 0}}"#, names[1], names[0]);
    let b = ask(&mut s, &named);
    assert_eq!(a, b);
    let mut u = [0.0];
    Controller::new(&plan, 0).unwrap().step(0.0, &[3.1, 0.5], &mut u);
    assert_eq!(a["u"][0].as_f64(), Some(u[0]));
    assert_eq!((&a["level"], &a["late"], &a["t"]), (&"planned".into(), &false.into(), &0.0.into()));
    // Without a time: since the last line.
    clock.advance(Duration::from_millis(20));
    assert_eq!(ask(&mut s, r#"{"x": [3.1, 0.5]}"#)["t"], 0.02);
    let null = ask(&mut s, r#"{"t": 0.03, "x": [null, 0.5]}"#);
    assert_eq!((&null["level"], &null["why"]), (&"planned".into(), &"the state is not finite".into()));
    assert_eq!(null["u"][0].as_f64(), Some(plan.rollouts[0].controls[0][0]));
    let late = ask(&mut s, r#"{"t": 99, "x": [0, 0.5]}"#);
    assert_eq!((&late["level"], &late["why"]), (&"safe".into(), &"the plan is not valid any more".into()));
    assert_eq!(
        s.summary(),
        "5 lines: 0 fresh, 0 shifted, 4 planned, 1 safe; 0 late, 0 malformed, 0 silences\n"
    );
}

#[test]
fn a_state_outside_its_limits_is_answered_by_the_safe_control_until_the_end() {
    let mut plan = support::plan_file("pendulum", 100);
    plan.state_limits = Some(StateLimits { lower: vec![None, Some(-20.0)], upper: vec![None, Some(20.0)] });
    plan.safe_control = vec![0.25];
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    assert_eq!(ask(&mut s, r#"{"t": 0.0, "x": [3.1, 0.5]}"#)["level"], "planned");
    let out = ask(&mut s, r#"{"t": 0.02, "x": [3.1, 1e6]}"#);
    assert_eq!((&out["level"], &out["why"]), (&"safe".into(), &"a state left its limits".into()));
    assert_eq!((&out["u"][0], &out["measure"]), (&0.25.into(), &true.into()));
    let crossed = serde_json::json!({ "what": "limit", "state": plan.states[1].name, "t": 0.02, "value": 1e6, "bound": 20.0 });
    assert_eq!(out["crossed"], crossed);
    // The state returns, and is lost; the plan is not followed again.
    for line in [r#"{"t": 0.04, "x": [3.1, 0.5]}"#, r#"{"t": 0.06, "x": [null, 0.5]}"#, "nonsense"] {
        let answer = ask(&mut s, line);
        assert_eq!((&answer["level"], &answer["crossed"]), (&"safe".into(), &crossed), "{line}");
    }
    assert!(s.summary().contains("left the limit at t = 0.02"), "{}", s.summary());
}

#[test]
fn a_backup_controller_replaces_the_plan_outside_its_tube() {
    let mut plan = support::plan_file("pendulum", 100);
    plan.rollouts[0].tube = Some(vec![vec![0.5, 10.0]; plan.rollouts[0].times.len()]);
    plan.backup = Some(Backup { state: vec![3.0, 0.0], control: vec![0.5], gains: vec![vec![-2.0, -1.0]] });
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    let x0 = plan.rollouts[0].initial_state[0];
    assert_eq!(ask(&mut s, &format!(r#"{{"t": 0.0, "x": [{}, 0.0]}}"#, x0 + 0.4))["level"], "planned");
    // A whole turn is no deviation.
    let turned = x0 + std::f64::consts::TAU;
    assert_eq!(ask(&mut s, &format!(r#"{{"t": 0.0, "x": [{turned}, 0.0]}}"#))["level"], "planned");
    let out = ask(&mut s, &format!(r#"{{"t": 0.02, "x": [{}, 0.1]}}"#, x0 - 0.6));
    assert_eq!(out["why"], "a state left the tube of the plan");
    let expected = 0.5 - 2.0 * (x0 - 0.6 - 3.0) - 0.1;
    assert!((out["u"][0].as_f64().unwrap() - expected).abs() < 1e-12, "{out}");
    // Without a state the safe control is left.
    assert_eq!(ask(&mut s, r#"{"t": 0.04, "x": [null, null]}"#)["u"][0], plan.safe_control[0]);
}

#[test]
fn a_line_that_is_no_state_is_answered_by_its_mistake_and_the_safe_control() {
    let plan = support::plan_file("pendulum", 100);
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    let name = plan.states[0].name.clone();
    let typo = format!(r#"{{"x": {{"{name}": 1, "{}": 1, "{name}x": 2}}}}"#, plan.states[1].name);
    let unknown = format!("line 7: '{name}x' is no state of the plan; did you mean '{name}'?");
    for (line, error) in [
        ("", "line 1: EOF while parsing a value at line 1 column 0"),
        ("hello", "line 2: expected value at column 1"),
        (r#"{"t": 0}"#, "line 3: missing field `x` at column 8"),
        (r#"{"t": 0, "x": [1]}"#, "line 4: x has 1 numbers, the plan has 2 states"),
        (r#"{"t": 0, "x": 1}"#, "line 5: x must be a list of numbers, or names with numbers"),
        (r#"{"x": {"a": 1}}"#, "line 6: 'a' is no state of the plan"),
        (&typo, &unknown),
        (r#"{"T": 0, "x": [1, 1]}"#, "line 8: unknown field `T`, expected `t` or `x` at column 4"),
        (r#"{"t": 0, "x": [NaN, 1]}"#, "line 9: expected value at column 16"),
        (r#"{"t": 1e999, "x": [1, 1]}"#, "line 10: number out of range at column 11"),
        ("{}\u{0}\u{7}", "line 11: "),
    ] {
        let answer = ask(&mut s, line);
        assert!(
            answer["error"].as_str().unwrap().starts_with(error.split(" at ").next().unwrap()),
            "{answer}"
        );
        assert_eq!((&answer["u"], &answer["level"]), (&vec![0.0].into(), &"safe".into()));
    }
    let mut out = String::new();
    s.line(&[0xff, 0xfe], &mut out);
    s.too_long(&mut out);
    assert!(out.contains("line 12: it is not UTF-8") && out.contains("line 13: it is too long"), "{out}");
    // And on it goes.
    assert_eq!(ask(&mut s, r#"{"t": 0.5, "x": [3, 0]}"#)["level"], "planned");
}

#[test]
fn a_line_that_is_lost_does_not_make_the_control_jump() {
    let plan = support::plan_file("pendulum", 100);
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    let planned = |k: usize| plan.rollouts[0].controls[k][0];
    for (t, line) in [(0.0, ""), (0.02, "[null, 0]"), (0.04, "nonsense"), (0.06, ""), (0.08, "nonsense")] {
        let line = match line {
            "" => format!(r#"{{"t": {t}, "x": {:?}}}"#, plan.rollouts[0].states[0]),
            "nonsense" => line.into(),
            x => format!(r#"{{"t": {t}, "x": {x}}}"#),
        };
        let answer = ask(&mut s, &line);
        let u = answer["u"][0].as_f64().unwrap();
        assert_eq!(answer["level"], "planned", "{answer}");
        // Without a state the plan alone; with one, the gains answer a deviation of some milliseconds. The safe control would be 0.
        let lost = line == "nonsense" || line.contains("null");
        let tolerance = if lost { 0.0 } else { 0.5 * planned(0).abs() };
        assert!((u - planned(0)).abs() <= tolerance && planned(0) != 0.0, "{answer}");
        assert_eq!(answer["error"].is_null(), line != "nonsense");
        clock.advance(Duration::from_millis(20));
    }
    // Three in a row, then the safe control.
    let levels: Vec<Value> = (0..4).map(|_| ask(&mut s, "nonsense")["level"].clone()).collect();
    assert_eq!(levels, ["planned", "planned", "safe", "safe"]);
    assert_eq!(ask(&mut s, r#"{"t": 0.2, "x": [3, 0]}"#)["level"], "planned");
}

#[test]
fn silence_makes_it_safe_once_and_the_next_state_resumes() {
    let plan = support::plan_file("pendulum", 100);
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    let mut out = String::new();
    clock.advance(Duration::from_secs(9));
    assert!(s.wait().is_none() && !s.idle(&mut out), "nobody has said anything yet");
    ask(&mut s, r#"{"t": 0, "x": [3, 0.1]}"#);
    assert_eq!(s.wait(), Some(Duration::from_millis(60)));
    clock.advance(Duration::from_millis(59));
    assert!(!s.idle(&mut out));
    clock.advance(Duration::from_millis(1));
    assert!(s.idle(&mut out));
    assert_eq!(out, "{\"t\":0.06,\"u\":[0.0],\"level\":\"safe\",\"late\":false,\"watchdog\":true}\n");
    clock.advance(Duration::from_secs(5));
    assert!(s.wait().is_none() && !s.idle(&mut out));
    // The plant's own clock may be a little behind ours.
    assert_eq!(ask(&mut s, r#"{"t": 0.05, "x": [3, 0.1]}"#)["level"], "planned");
    assert!(s.wait().is_some());
    assert!(s.summary().ends_with("0 malformed, 1 silences\n"));
}

#[test]
fn with_a_rate_limit_the_way_to_safety_takes_as_long_as_it_must() {
    let mut plan = support::plan_file("pendulum", 100);
    plan.limits.max_rate = Some(vec![Some(2.0)]);
    (plan.limits.lower, plan.limits.upper) = (vec![Some(-5.0)], vec![Some(5.0)]);
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    let mut at = |t: f64| ask(&mut s, &format!(r#"{{"t": {t}, "x": [3, -9]}}"#))["u"][0].as_f64().unwrap();
    assert!((at(0.0).abs() - 0.04).abs() < 1e-12, "the first control is slewed from the safe one");
    let first = (1..20).map(|k| at(0.02 * f64::from(k))).last().unwrap();
    assert!(first.abs() > 0.3, "{first}");
    let (mut out, mut spoken) = (String::new(), 0);
    for _ in 0..10_000 {
        clock.advance(Duration::from_millis(1));
        spoken += usize::from(s.idle(&mut out));
    }
    let controls: Vec<f64> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["u"][0].as_f64().unwrap())
        .collect();
    assert_eq!(controls.last(), Some(&0.0));
    assert!(spoken > 3 && spoken == controls.len());
    assert!(((first - controls[0]).abs() - 0.12).abs() < 1e-9, "60 ms at 2 per second");
    assert!(controls.windows(2).all(|u| (u[1] - u[0]).abs() <= 0.04 + 1e-12), "{controls:?}");
    assert!(s.summary().ends_with(" 1 silences\n"));
}

#[test]
fn measurements_are_asked_for_at_the_nearest_state() {
    let mut plan = support::plan_file("pendulum", 100);
    plan.rollouts[0].measure_at = vec![0.055, 0.0, 0.06, 0.2, 10.0];
    let clock = Virtual::default();
    let mut s = session(&plan, &clock);
    let mut due = Vec::new();
    for k in 0..=500 {
        let t = f64::from(k) * 0.02;
        let x = if k == 10 { "null" } else { "3" };
        let answer = ask(&mut s, &format!(r#"{{"t": {t}, "x": [{x}, 0]}}"#));
        if answer["measure"] == true {
            due.push(k);
        }
    }
    // 0.055 and 0.06 fall to one state; the state at 0.2 was not there.
    assert_eq!(due, [0, 3, 11, 500]);
}
