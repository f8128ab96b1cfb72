//! `ocorl optimal`: the optimal control of known systems, beside the first columns of the paper's Table 1.

mod answer;

use crate::GlobalArgs;
use crate::checks::{between, threads, writable_file};
use crate::errors::Failure;
use crate::terminal::{Answer, Progress};
use clap::ValueEnum;
use ocorl::baseline::{self, BaselineSettings, Baselines, Tracker};
use ocorl::system::{Benchmark, KnownSystem, Quantity};
use ocorl_view::plots;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `ocorl optimal`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl optimal --all                                 the first columns of the paper's Table 1
  ocorl optimal pendulum --limit torque=-2:2          with a weaker motor
  ocorl optimal cart-pole --set gravity=9.81 --plot cart-pole.svg")]
pub(crate) struct Arguments {
    /// Names of systems; see: ocorl list
    #[arg(value_name = "SYSTEM", conflicts_with = "all")]
    systems: Vec<String>,
    /// The nine systems of the paper's Table 1
    #[arg(long)]
    all: bool,
    /// Plot the solutions (.svg), or write the data of the plot (.csv)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    problem: Problem,
    #[command(flatten)]
    method: Method,
}

/// Options that change the problem; they need exactly one system.
#[derive(clap::Args)]
#[command(next_help_heading = "The problem (of one system; for its names see: ocorl list SYSTEM)")]
struct Problem {
    /// Horizon, in the system's unit of time
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    horizon: Option<f64>,
    /// Value of a parameter of the dynamics
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, f64)>,
    /// Limits of a state or an input; an empty end means no limit
    #[arg(long, value_name = "NAME=LOW:HIGH", value_parser = interval)]
    limit: Vec<(String, f64, f64)>,
    /// Initial value of a state
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    start: Vec<(String, f64)>,
}

/// Options that change how the problem is solved.
#[derive(clap::Args)]
#[command(next_help_heading = "The method")]
struct Method {
    /// Number of intervals of the plan; doubled until its cost is stable, except for the paper's problems
    #[arg(long, value_name = "N", default_value_t = 400, allow_hyphen_values = true)]
    intervals: usize,
    /// Number of intervals of the zero-order hold [default: the paper's M - 1]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    holds: Option<usize>,
    /// How the plan is tracked: mpc (as in the paper), feedback (the plan's gains) or replan (the task again)
    #[arg(long, value_enum, default_value = "mpc", hide_possible_values = true)]
    tracker: Follower,
    /// Seed of the random initial guesses
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Number of stages in which the horizon of the first search grows
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true)]
    stages: usize,
    /// Search effort: 0 for one kind of search, 1 for a portfolio, more to repeat it with other random guesses
    #[arg(long, value_name = "E", default_value_t = 1, allow_hyphen_values = true)]
    effort: usize,
    /// Number of threads; results do not depend on it [default: number of processors]
    #[arg(long, value_name = "J", allow_hyphen_values = true)]
    jobs: Option<usize>,
}

/// Command-line names of [`Tracker`].
#[derive(Clone, Copy, ValueEnum)]
enum Follower {
    Mpc,
    Feedback,
    Replan,
}

/// Largest values of the options; memory grows with them.
const MOST_INTERVALS: usize = 10_000;
const MOST_HOLDS: usize = 1_000;
const MOST_STAGES: usize = 100;
const MOST_EFFORT: usize = 100;

/// One system and its solution.
struct Solved {
    benchmark: KnownSystem,
    /// Whether the problem differs from the paper's.
    changed: bool,
    result: Result<Baselines, Failure>,
    seconds: f64,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let begin = Instant::now();
    let problems = problems(arguments)?;
    let settings = settings(&arguments.method)?;
    if let Some(path) = &arguments.plot {
        check_plot(path)?;
    }
    let progress = Progress::new(problems.len(), global.quiet);
    let solved = solve(problems, &settings, arguments.method.jobs, &progress)?;
    let drawn = match &arguments.plot {
        Some(path) if solved.iter().any(|s| s.result.is_ok()) => {
            draw(path, &solved)?;
            format!("; wrote {}", path.display())
        }
        _ => String::new(),
    };
    let text =
        if global.json { answer::documents(&solved, &settings) } else { answer::table(&solved, &settings) };
    let output = if solved.iter().any(|s| s.result.is_ok()) { Some(text) } else { None };
    if let Some(failure) = failed(&solved, output.as_deref(), global) {
        return Err(failure);
    }
    let warnings: String =
        solved.iter().filter_map(|s| Some(s.search()? + &s.warning().unwrap_or_default())).collect();
    let remark = format!("{warnings}done in {:.1} s{drawn}\n", begin.elapsed().as_secs_f64());
    Ok(Answer { text: output.unwrap_or_default(), remark: if global.quiet { String::new() } else { remark } })
}

/// The requested systems with their changes, and whether they differ from the paper's.
fn problems(arguments: &Arguments) -> Result<Vec<(KnownSystem, bool)>, Failure> {
    let find = |name: &String| super::known_system(name);
    if arguments.systems.is_empty() && !arguments.all {
        return Err(Failure::usage("no system given")
            .hint("as in: ocorl optimal pendulum, or: ocorl optimal --all; see: ocorl list"));
    }
    let mut systems: Vec<KnownSystem> = if arguments.all {
        Benchmark::of_the_paper()
    } else {
        arguments.systems.iter().map(find).collect::<Result<_, _>>()?
    };
    let Problem { horizon, set, limit, start } = &arguments.problem;
    let options = [
        ("--horizon", horizon.is_none()),
        ("--set", set.is_empty()),
        ("--limit", limit.is_empty()),
        ("--start", start.is_empty()),
    ];
    let Some((option, _)) = options.into_iter().find(|(_, absent)| !absent) else {
        return Ok(systems.into_iter().map(|b| (b, false)).collect());
    };
    let [benchmark] = systems.as_mut_slice() else {
        return Err(Failure::usage(format!(
            "{option} changes one system, but {} are asked for",
            systems.len()
        ))
        .hint(format!("as in: ocorl optimal pendulum {option} ...")));
    };
    let original = benchmark.clone();
    change(benchmark, &arguments.problem)?;
    let changed = differs(benchmark, &original);
    Ok(systems.into_iter().map(|b| (b, changed)).collect())
}

/// Applies the options to the system. Their order does not matter, so all are checked at the end.
fn change(b: &mut KnownSystem, problem: &Problem) -> Result<(), Failure> {
    let (system, position) = (b.name.clone(), |quantities: &[Quantity], name: &str| {
        quantities.iter().position(|q| q.name == name)
    });
    if let Some(horizon) = problem.horizon {
        b.task.horizon = horizon;
    }
    for (name, value) in &problem.start {
        match (position(&b.task.states, name), position(&b.task.controls, name)) {
            (Some(i), _) => b.task.initial_state[i] = *value,
            (None, Some(_)) => {
                return Err(Failure::usage(format!(
                    "'{name}' is an input of {system}; only states have a start"
                ))
                .hint(format!("limits of an input: --limit {name}=LOW:HIGH")));
            }
            (None, None) => b.set_start(name, *value)?,
        }
    }
    for (name, lower, upper) in &problem.limit {
        match (position(&b.task.states, name), position(&b.task.controls, name)) {
            (Some(i), _) => (b.task.state_bounds.lower[i], b.task.state_bounds.upper[i]) = (*lower, *upper),
            (None, Some(i)) => {
                (b.task.control_bounds.lower[i], b.task.control_bounds.upper[i]) = (*lower, *upper);
                b.task.safe_control[i] = b.task.safe_control[i].max(*lower).min(*upper);
            }
            (None, None) => b.set_limits(name, *lower, *upper)?,
        }
    }
    for (name, value) in &problem.set {
        let quantity = position(&b.task.states, name).or(position(&b.task.controls, name));
        match b.parameters.iter_mut().find(|p| p.name == *name) {
            Some(parameter) => parameter.value = *value,
            None if quantity.is_some() => {
                return Err(Failure::usage(format!(
                    "'{name}' is no parameter of {system}, but a state or an input"
                ))
                .hint(format!("a start: --start {name}=VALUE; limits: --limit {name}=LOW:HIGH")));
            }
            None => b.set_parameter(name, *value)?,
        }
    }
    Ok(b.validate()?)
}

/// Whether the options changed the problem.
fn differs(a: &KnownSystem, b: &KnownSystem) -> bool {
    a.parameters != b.parameters
        || a.task.horizon != b.task.horizon
        || a.task.initial_state != b.task.initial_state
        || a.task.state_bounds != b.task.state_bounds
        || a.task.control_bounds != b.task.control_bounds
}

fn settings(method: &Method) -> Result<BaselineSettings, Failure> {
    between("--intervals", method.intervals, MOST_INTERVALS)?;
    method.holds.map_or(Ok(()), |holds| between("--holds", holds, MOST_HOLDS))?;
    between("--stages", method.stages, MOST_STAGES)?;
    if method.effort > 0 {
        between("--effort", method.effort, MOST_EFFORT)?;
    }
    let tracker = match method.tracker {
        Follower::Mpc => Tracker::Mpc,
        Follower::Feedback => Tracker::Feedback,
        Follower::Replan => Tracker::Replan,
    };
    let &Method { intervals, holds, seed, stages, effort, .. } = method;
    Ok(BaselineSettings { intervals, holds, tracker, seed, stages, effort, ..BaselineSettings::default() })
}

/// Checks before the computation whether the plot can be written.
fn check_plot(path: &Path) -> Result<(), Failure> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if !["svg", "csv"].contains(&extension) {
        return Err(Failure::usage(format!("--plot cannot write '{}'", path.display()))
            .hint("plots are .svg files, their data .csv files"));
    }
    writable_file(path)
}

/// Solves all problems in parallel; results are in the order of the problems.
fn solve(
    problems: Vec<(KnownSystem, bool)>,
    settings: &BaselineSettings,
    jobs: Option<usize>,
    progress: &Progress,
) -> Result<Vec<Solved>, Failure> {
    let pool = threads("--jobs", jobs)?;
    let one = |(benchmark, changed): (KnownSystem, bool)| {
        let begin = Instant::now();
        let result = baseline::all(&benchmark, settings).map_err(Failure::from);
        progress.finished(&benchmark.name);
        Solved { benchmark, changed, result, seconds: begin.elapsed().as_secs_f64() }
    };
    Ok(pool.install(|| problems.into_par_iter().map(one).collect()))
}

fn draw(path: &Path, solved: &[Solved]) -> Result<(), Failure> {
    let found: Vec<(&KnownSystem, &Baselines)> =
        solved.iter().filter_map(|s| s.result.as_ref().ok().map(|found| (&s.benchmark, found))).collect();
    let figure = match found.as_slice() {
        [(benchmark, baselines)] => plots::one_system(benchmark, baselines),
        several => plots::several_systems(several),
    };
    let contents =
        if path.extension().is_some_and(|e| e == "csv") { figure.csv() } else { ocorl_view::svg(&figure) };
    ocorl_view::write_atomically(path, contents.as_bytes()).map_err(|error| Failure::file(path, &error))
}

/// One failure for all failed systems. With `--json` the other results are its `results`, otherwise the table is printed.
fn failed(solved: &[Solved], output: Option<&str>, global: GlobalArgs) -> Option<Failure> {
    let failures: Vec<(&str, &Failure)> =
        solved.iter().filter_map(|s| Some((&*s.benchmark.name, s.result.as_ref().err()?))).collect();
    let mut failure = match failures.as_slice() {
        [] => return None,
        [(_, failure)] if solved.len() == 1 => (*failure).clone(),
        several => {
            let all = Failure::badly(format!("{} of {} systems failed", several.len(), solved.len()));
            several.iter().fold(all, |all, (name, failure)| all.detail((*name).to_owned(), failure.message()))
        }
    };
    failure.output = output.map(|text| if global.json { failure.json_with(text) } else { text.to_owned() });
    Some(failure)
}

/// Parses NAME=VALUE.
fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("it must be NAME=VALUE, as in gravity=9.81")?;
    Ok((name.trim().into(), number(value)?))
}

/// Parses NAME=LOW:HIGH.
fn interval(text: &str) -> Result<(String, f64, f64), String> {
    let form = "it must be NAME=LOW:HIGH, as in torque=-2:2 or torque=:2";
    let (name, limits) = text.split_once('=').ok_or(form)?;
    let (lower, upper) = limits.split_once(':').ok_or(form)?;
    let end = |text: &str, none: f64| if text.trim().is_empty() { Ok(none) } else { number(text) };
    Ok((name.trim().into(), end(lower, f64::NEG_INFINITY)?, end(upper, f64::INFINITY)?))
}

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("'{}' is not a number", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_succeeded_is_shown_beside_what_failed() {
        let settings = BaselineSettings { intervals: 20, ..BaselineSettings::default() };
        let benchmark = Benchmark::find("glucose").unwrap();
        let result = baseline::all(&benchmark, &settings).map_err(Failure::from);
        let good = Solved { benchmark, changed: false, result, seconds: 0.0 };
        let benchmark = Benchmark::find("pendulum").unwrap();
        let bad = Solved { benchmark, changed: false, result: Err(Failure::badly("it fell")), seconds: 0.0 };
        let solved = [good, bad];

        let people = GlobalArgs { quiet: true, ..GlobalArgs::default() };
        let table = answer::table(&solved, &settings);
        let failure = failed(&solved, Some(&table), people).unwrap();
        assert_eq!(failure.text(), "error: 1 of 2 systems failed\n  pendulum  it fell\n");
        assert_eq!((failure.code, failure.output.as_ref()), (1, Some(&table)));
        assert!(table.lines().any(|line| line.starts_with("Pendulum") && line.contains("failed")), "{table}");

        let programs = GlobalArgs { json: true, ..people };
        let failure = failed(&solved, Some(&answer::documents(&solved, &settings)), programs).unwrap();
        let document: serde_json::Value = serde_json::from_str(&failure.output.unwrap()).unwrap();
        assert_eq!(document["error"], "1 of 2 systems failed");
        assert_eq!(document["results"][0]["system"], "glucose-in-blood");
        assert_eq!(document["results"].as_array().map(Vec::len), Some(1));
        assert!(failed(&solved[..1], None, programs).is_none());
    }
}
