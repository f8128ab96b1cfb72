//! What is exported does what the controller does.

use crate::support;
use ocorl::learn::{Checkpoint, PlanSource, Settings};
use ocorl::measurements::Measurements;
use ocorl::random::{Rng, Stream};
use ocorl::system::Benchmark;
use ocorl::track::FallbackLevel;
use ocorl_study::control::Controller;
use ocorl_study::export::{c99, gain_table};

use ocorl_study::plan_file::{Learning, Limits, PlanFile};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads t and x as hexadecimal bits, writes the controls of both functions.
const DRIVER: &str = r#"
#include "ocorl_controller.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
static int number(double *v)
{
    uint64_t bits;
    if (scanf("%" SCNx64, &bits) != 1) return 0;
    memcpy(v, &bits, sizeof bits);
    return 1;
}
int main(void)
{
    double t, x[OCORL_STATES], u[OCORL_CONTROLS], v[OCORL_CONTROLS];
    ocorl_controller c;
    int i, followed, n;
    for (n = 0; number(&t); n++) {
        if (n % 100 == 0) ocorl_init(&c);
        for (i = 0; i < OCORL_STATES; i++) if (!number(&x[i])) return 1;
        ocorl_control(t, x, u);
        followed = ocorl_step(&c, t, x, v);
        for (i = 0; i < OCORL_CONTROLS; i++) printf("%a %a ", u[i], v[i]);
        printf("%d\n", followed);
    }
    return 0;
}
"#;

/// Compiles the export of `plan` with every warning as an error.
pub(crate) fn compile(plan: &PlanFile, driver: &str, folder: &Path) -> std::path::PathBuf {
    let version = Command::new("gcc").arg("--version").output();
    assert!(version.is_ok(), "there is no gcc here: the exported C cannot be tried without a C compiler");
    let source = c99(plan, 0).unwrap();
    std::fs::write(folder.join("ocorl_controller.h"), source.header).unwrap();
    std::fs::write(folder.join("ocorl_controller.c"), source.code).unwrap();
    std::fs::write(folder.join("driver.c"), driver).unwrap();
    let output = Command::new("gcc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-o", "driver"])
        .args(["driver.c", "ocorl_controller.c", "-lm"])
        .current_dir(folder)
        .output()
        .expect("the exported C cannot be tried without gcc: install it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("driver")
}

pub(crate) fn parse_hex(text: &str) -> f64 {
    let (sign, rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let rest = rest.strip_prefix("0x").unwrap();
    let (digits, exponent) = rest.split_once('p').unwrap();
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap() as f64;
    let exponent: i32 = exponent.parse::<i32>().unwrap() - 4 * i32::try_from(fraction.len()).unwrap();
    // In two steps, so that subnormal numbers come out right.
    sign * mantissa * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}

/// Cases after which a new run begins.
const RUN: usize = 100;

/// Any time and state: on the plan, far off, wrapped, huge, not a number.
fn random_case(plan: &PlanFile, rng: &mut Rng, time: &mut f64) -> (f64, Vec<f64>) {
    let rollout = &plan.rollouts[0];
    *time += plan.period * rng.unit() * 2.0;
    let t = match rng.below(200) {
        0 => f64::NAN,
        1 => f64::NEG_INFINITY,
        2 => rollout.times[rng.below(rollout.times.len())],
        3 => -rng.unit(),
        4 => plan.horizon * (1.0 + rng.unit()) * (rng.below(2) as f64),
        _ => *time,
    };
    let near = rollout.times.partition_point(|node| *node <= t).min(rollout.controls.len());
    let scale = [0.01, 0.3, 10.0, 1e6, 1e300][rng.below(12).saturating_sub(7)];
    let mut x: Vec<f64> = rollout.states[near].iter().map(|x| x + scale * rng.normal()).collect();
    for a in plan.angle_indices() {
        x[a] += (rng.below(41) as f64 - 20.0) * std::f64::consts::TAU;
    }
    match rng.below(25) {
        0 => x[0] = f64::NAN,
        1 => *x.last_mut().unwrap() = f64::INFINITY,
        2 => x.fill(f64::NEG_INFINITY),
        3 => x[0] = f64::MAX,
        _ => {}
    }
    (t, x)
}

fn compare(plan: &PlanFile, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(plan, DRIVER, folder.path());
    let mut rng = Stream::root(11).child(&plan.system).rng();
    let mut time = 0.0;
    let mut case = |i: usize| {
        if i.is_multiple_of(RUN) {
            time = plan.horizon * rng.uniform(-0.01, 1.0);
        }
        random_case(plan, &mut rng, &mut time)
    };
    let cases: Vec<_> = (0..count).map(&mut case).collect();
    let mut input = String::new();
    for (t, x) in &cases {
        for v in std::iter::once(t).chain(x) {
            let _ = write!(input, "{:x} ", v.to_bits());
        }
        input.push('\n');
    }
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), count);
    // A single step has no rate limit.
    let unlimited = PlanFile { limits: Limits { max_rate: None, ..plan.limits.clone() }, ..plan.clone() };
    let mut alone = Controller::new(&unlimited, 0).unwrap();
    let mut running = Controller::new(plan, 0).unwrap();
    let nu = plan.controls.len();
    let (mut u, mut v, mut followed) = (vec![0.0; nu], vec![0.0; nu], 0);
    for (i, (line, (t, x))) in text.lines().zip(&cases).enumerate() {
        if i.is_multiple_of(RUN) {
            running.reset();
        }
        let words: Vec<&str> = line.split(' ').collect();
        alone.reset();
        alone.step(*t, x, &mut u);
        let status = running.step(*t, x, &mut v);
        for j in 0..nu {
            let theirs = [parse_hex(words[2 * j]), parse_hex(words[2 * j + 1])];
            let ours = [u[j], v[j]];
            assert!(
                ours == theirs,
                "{}: case {i}, control {j}, t = {t}, x = {x:?}: {ours:?} and {theirs:?} ({status:?})",
                plan.system
            );
        }
        let follows = status.level != FallbackLevel::Safe;
        assert_eq!(words[2 * nu] == "1", follows, "{line}: {status:?}");
        followed += usize::from(follows);
    }
    assert!((count / 3..count * 9 / 10).contains(&followed), "{followed}");
}

#[test]
fn the_exported_c_gives_the_same_controls() {
    let mut plan = support::plan_file("pendulum", 200);
    compare(&plan, 10_000);
    plan.limits.max_rate = Some(vec![Some(1.5)]);
    plan.valid_for = 0.7 * plan.horizon;
    compare(&plan, 10_000);
    let mut plan = support::plan_file("quadrotor-2d", 100);
    plan.limits.max_rate = Some(vec![Some(0.0), None]);
    compare(&plan, 10_000);
    // No angles, no limits.
    let mut plan = support::plan_file("bicycle", 50);
    plan.angles.clear();
    plan.limits = Limits { lower: vec![None; 2], upper: vec![None, Some(0.2)], max_rate: None };
    compare(&plan, 10_000);
}

#[test]
fn names_cannot_become_code() {
    let mut plan = support::plan_file("pendulum", 5);
    for hostile in [
        "*/ #error broken /*",
        "a\n#error broken",
        "??/\n#error broken",
        "int\\",
        "\u{202e}*/",
        "",
        "日本 θ̇",
        "9 lives; exit(1)",
        &"x".repeat(5_000),
    ] {
        (plan.study, plan.system) = (hostile.into(), hostile.into());
        for named in plan.states.iter_mut().chain(&mut plan.controls) {
            (named.name, named.unit) = (hostile.into(), hostile.into());
        }
        plan.angles = vec![hostile.into()];
        let folder = tempfile::tempdir().unwrap();
        let source = c99(&plan, 0).unwrap();
        for text in [&source.header, &source.code] {
            assert!(!text.contains("#error") && !text.contains("??") && !text.contains('\u{202e}'), "{text}");
        }
        assert!(source.header.lines().all(|line| line.len() < 400));
        compile(&plan, DRIVER, folder.path());
    }
}

#[test]
fn the_table_is_the_plan_without_the_learner() {
    let mut plan = support::plan_file("pendulum", 20);
    plan.rollouts.push(plan.rollouts[0].clone());
    plan.rollouts[1].start = 1;
    let b = Benchmark::find("pendulum").unwrap();
    let memory = Checkpoint {
        episode: 1,
        data: Measurements::new(b.dims()),
        model: None,
        plans: vec![None],
        basins: Vec::new(),
        followed: vec![PlanSource::Excitation],
        setbacks: Vec::new(),
        screening: ocorl::learn::Screening::default(),
        trust: Vec::new(),
        tubes: Vec::new(),
        complete: true,
    };
    plan.learner = Some(Learning { file: None, settings: Settings::for_system(&b), seed: 1, memory });
    let table = gain_table(&plan, None).unwrap();
    assert_eq!(
        PlanFile::parse(&table.text().unwrap(), "table").unwrap(),
        PlanFile { learner: None, ..plan.clone() }
    );
    let second = gain_table(&plan, Some(1)).unwrap();
    assert_eq!((second.rollouts.len(), second.rollouts[0].start), (1, 1));
    assert!(gain_table(&plan, Some(2)).is_err() && c99(&plan, 2).is_err());
}
