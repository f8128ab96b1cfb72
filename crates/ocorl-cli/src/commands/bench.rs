//! `ocorl bench`: speed in figures that compare between machines: counted work, and ratios of times from one run on one thread.

use crate::GlobalArgs;
use crate::errors::Failure;
use crate::table::{Align, Table};
use crate::terminal::{self, Answer, json, say};
use cpu_time::ThreadTime;
use ocorl::baseline::{BaselineSettings, continuous};
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Posterior, Query, Settings, StatisticalModel};
use ocorl::plan::{self, Guess, Ilqr, Problem, Transcription, uniform_grid};
use ocorl::random::Stream;
use ocorl::simulate::{Experiment, Integrator, Policy, Simulator};
use ocorl::system::{Benchmark, KnownSystem};
use ocorl::track::{FallbackSettings, Feedback, MpcSettings, Reference, mpc};
use serde::Serialize;
use std::hint::black_box;

/// Intervals of the plans.
const INTERVALS: usize = 100;
/// Measurements of the model.
const DATA: usize = 200;
/// Points at which the model is evaluated.
const POINTS: usize = 100;
/// Measurements that are appended.
const APPENDED: usize = 10;
/// Length of the horizon over which the MPC plans, in seconds; the paper's for the pendulum.
const TRACKING_HORIZON: f64 = 6.0;
/// A task is repeated until it has taken this long in total, in seconds, but at least and at most this often.
const ENOUGH: f64 = 0.4;
const LEAST_REPEATS: usize = 3;
const MOST_REPEATS: usize = 200;

/// Arguments of `ocorl bench`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl bench                     a table, after some seconds
  ocorl bench --json              for programs, to compare versions or machines

Work (iterations, evaluations) is counted and the same on every machine. Times are processor times of one thread, the least of several
repeats. Compare ratios between machines, not times: both times of a ratio are measured in the same run.")]
pub(crate) struct Arguments {}

/// One measured task.
#[derive(Serialize)]
struct Row {
    task: String,
    /// Counted work, with its unit.
    counted: Option<(usize, &'static str)>,
    /// Processor seconds, the least of several repeats.
    seconds: f64,
    /// The time as a multiple of another one.
    ratio: f64,
    /// What the other time is.
    relative_to: &'static str,
}

pub(super) fn run(_: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    // One thread, whose processor time is all of it.
    let pool = crate::checks::threads("threads", Some(1))?;
    let tell = |what: &str| {
        if !global.quiet {
            say(&format!("measuring {what}\n"));
        }
    };
    let rows = pool.install(|| -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        tell("the planner");
        for system in ["pendulum", "cart-pole", "quadrotor-3d"] {
            rows.push(planning(system)?);
        }
        tell("the model");
        rows.extend(modelling()?);
        tell("the controller");
        rows.extend(controlling()?);
        Ok(rows)
    })?;
    Ok(if global.json { json(&rows) } else { table(&rows) }.into())
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
    table.row(["task", "counted", "time", "ratio", "relative to"]);
    for row in rows {
        table.row([
            row.task.clone(),
            row.counted.map_or("-".into(), |(count, unit)| format!("{count} {unit}")),
            duration(row.seconds),
            format!("{:.3}", row.ratio).chars().take(6).collect::<String>().trim_end_matches('.').to_owned(),
            row.relative_to.to_owned(),
        ]);
    }
    let legend = "Counted work is the same on every machine. Times are the least of several repeats on one thread;\n\
                  compare ratios between machines, not times.\n";
    table.text(terminal::width()) + "\n" + &terminal::prose(legend.to_owned())
}

/// A time with its unit.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Least processor time of a task in seconds.
fn least(mut task: impl FnMut()) -> f64 {
    let (mut best, mut total) = (f64::INFINITY, 0.0);
    for repeat in 0..MOST_REPEATS {
        let begin = ThreadTime::now();
        task();
        let took = begin.elapsed().as_secs_f64();
        best = best.min(took);
        total += took;
        if total > ENOUGH && repeat + 1 >= LEAST_REPEATS {
            break;
        }
    }
    best
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::badly(format!("a measured task failed: {error}"))
}

/// A plan with known dynamics, beside one simulation of its intervals.
fn planning(system: &str) -> Result<Row, Failure> {
    let b = Benchmark::find(system)?;
    let times = uniform_grid(b.task.horizon, INTERVALS);
    let transcription = Transcription::single(Integrator::Euler);
    let problem = Problem { transcription, ..Problem::of(&b.task, &times) };
    let (mut f, mut ilqr) = (b.dynamics(), Ilqr::new(plan::Settings::default()));
    let controls = b.task.safe_control.repeat(INTERVALS);
    let guess = || Guess { controls: &controls, states: None };
    let iterations = ilqr.solve(f.as_mut(), &problem, guess()).map_err(failed)?.iterations;
    let whole = least(|| {
        let _ = black_box(ilqr.solve(f.as_mut(), &problem, guess()));
    });
    let point = [b.task.initial_state.as_slice(), &b.task.safe_control].concat();
    let mut derivative = vec![0.0; b.dims().state];
    // Fifty at a time, because one takes less than the clock resolves.
    let rollouts = least(|| {
        for _ in 0..50 * INTERVALS {
            f.derivative(Points::single(black_box(&point)), black_box(&mut derivative));
        }
    });
    let seconds = whole / iterations.max(1) as f64;
    Ok(Row {
        task: format!("plan {system}, per iteration"),
        counted: Some((iterations, "iterations")),
        seconds,
        ratio: seconds / (rollouts / 50.0),
        relative_to: "evaluating the dynamics at its 100 intervals",
    })
}

/// Derivatives of the cart pole at `n` random points.
fn data(b: &KnownSystem, n: usize, stream: &str) -> Result<Measurements, Failure> {
    let (mut f, mut data) = (b.dynamics(), Measurements::new(b.dims()));
    let mut rng = Stream::root(2).child(stream).rng();
    for _ in 0..n {
        let z: [f64; 5] = std::array::from_fn(|_| rng.uniform(-2.0, 2.0));
        let mut y = [0.0; 4];
        f.derivative(Points::single(&z), &mut y);
        data.push(0.0, &z[..4], &z[4..], &y, &[0.01; 4]).map_err(failed)?;
    }
    Ok(data)
}

/// The Gaussian process of the cart pole: four outputs of five inputs.
fn modelling() -> Result<Vec<Row>, Failure> {
    let b = Benchmark::find("cart-pole")?;
    let (first, more) = (data(&b, DATA, "first")?, data(&b, APPENDED, "more")?);
    let empty = GaussianProcess::for_task(&b.task, Settings::default()).map_err(failed)?;
    let mut model = empty.clone();
    model.update(&first).map_err(failed)?;

    let condition = least(|| {
        let _ = black_box(empty.clone().update(&first));
    });
    // The copy is subtracted, because only a copy can be appended to again and again.
    let copy = least(|| drop(black_box(model.clone())));
    let append = least(|| {
        let _ = black_box(model.clone().update(&more));
    }) - copy;
    let mut evaluations = 0;
    let train = least(|| {
        if let Ok(report) = model.clone().train(Stream::root(0)) {
            evaluations = report.fits.iter().map(|fit| fit.evaluations).sum();
        }
    });

    let (mut rng, mut posterior) = (Stream::root(3).rng(), Posterior::default());
    let points: Vec<f64> = (0..5 * POINTS).map(|_| rng.uniform(-2.0, 2.0)).collect();
    let mut ask = |query: Query, each: usize| {
        least(|| {
            for some in points.chunks(5 * each) {
                model.posterior(Points::new(some, 5), query, black_box(&mut posterior));
            }
        })
    };
    let (all, one_by_one, mean) =
        (ask(Query::All, POINTS), ask(Query::All, 1), ask(Query::MeanJacobian, POINTS));
    let row = |task: &str, counted, seconds: f64, other: f64, relative_to| Row {
        task: task.into(),
        counted,
        seconds,
        ratio: seconds / other,
        relative_to,
    };
    Ok(vec![
        row(
            "train the model, 200 measurements",
            Some((evaluations, "evaluations")),
            train,
            condition,
            "conditioning on them",
        ),
        row("append 10 measurements", None, append, condition, "conditioning on all anew"),
        row("mean, std, Jacobians at 100 points", None, all, one_by_one, "one point at a time"),
        row("mean and its Jacobian at 100 points", None, mean, all, "with std and its Jacobian"),
    ])
}

/// Tracking of the pendulum's optimal plan by MPC.
fn controlling() -> Result<Vec<Row>, Failure> {
    let b = Benchmark::find("pendulum")?;
    let plan = continuous(&b, &BaselineSettings::default(), &[]).map_err(failed)?.plan;
    let reference = || Reference::new(plan.clone(), b.dynamics().as_mut(), &b.task.angles);
    let fallback = FallbackSettings::of(&b.task);
    let follow = |make: &dyn Fn() -> Box<dyn Policy>| {
        let mut solves = 0;
        let seconds = least(|| {
            let mut policy = make();
            black_box(Simulator::default().run(
                b.dynamics().as_mut(),
                policy.as_mut(),
                &Experiment::of(&b.task),
            ));
            solves = policy.level_counts().map_or(0, |counts| counts.iter().sum());
        });
        (seconds, solves)
    };
    let (fixed, _) = follow(&|| Box::new(Feedback::new(reference(), &fallback)));
    let (planned, solves) = follow(&|| {
        let settings = MpcSettings::new(b.dims(), TRACKING_HORIZON);
        Box::new(mpc(reference(), b.dynamics(), settings, &fallback))
    });
    let row = |task: &str, seconds: f64, other: f64, relative_to| Row {
        task: task.into(),
        counted: Some((solves, "solves")),
        seconds,
        ratio: seconds / other,
        relative_to,
    };
    let horizon = b.task.horizon;
    Ok(vec![
        row("track the pendulum by MPC, whole run", planned, fixed, "with the plan's feedback gains"),
        row(
            "track the pendulum by MPC, per solve",
            planned / solves.max(1) as f64,
            horizon / solves.max(1) as f64,
            "real time",
        ),
    ])
}
