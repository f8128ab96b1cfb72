//! Cells on a Ray cluster. The Python package is Ray's driver: it is started on the same folder, and keeps what comes in as this program would.

use crate::errors::Failure;
use crate::signals::Signals;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Names the Python that has the package; else it is `python3`.
const PYTHON: &str = "OCORL_PYTHON";
/// So long the driver has to come to its end when it is told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// Where cells are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Where {
    /// Here.
    #[default]
    Threads,
    /// On a Ray cluster; without an address on one that is started here.
    Ray(Option<String>),
}

impl FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "threads" => Ok(Where::Threads),
            None if text == "ray" => Ok(Where::Ray(None)),
            Some(("ray", address)) if !address.is_empty() => Ok(Where::Ray(Some(address.into()))),
            _ => Err("it must be threads, ray, or ray:ADDRESS, as in ray:auto".into()),
        }
    }
}

/// How the driver is to do it.
pub(super) struct Driver<'a> {
    pub(super) address: Option<&'a str>,
    pub(super) jobs: Option<usize>,
    pub(super) again: bool,
    pub(super) quiet: bool,
}

impl Driver<'_> {
    /// Runs what is not finished of the grid that was left in `folder`, until the end or a signal.
    pub(super) fn run(&self, folder: &Path, signals: &Signals) -> Result<(), Failure> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        check(Command::new(&python))?;
        let mut driver = Command::new(&python);
        driver.args(["-m", "ocorl.sweep"]).arg(folder.join("grid.json")).arg("--out").arg(folder);
        driver.args(["--ray", self.address.unwrap_or("local")]);
        driver.args(self.jobs.map(|jobs| format!("--jobs={jobs}")));
        driver.args(self.again.then_some("--again")).args(self.quiet.then_some("--quiet"));
        // It stops when its standard input ends: a signal may be meant for this program alone. Its table is the one that this program prints.
        driver.arg("--held").stdin(Stdio::piped()).stdout(Stdio::null());
        let failed = |error: std::io::Error| Failure::badly(format!("cannot run Python: {error}"));
        let mut child = driver.spawn().map_err(failed)?;
        let mut held = child.stdin.take();
        let mut stopped: Option<Instant> = None;
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                if status.success() || signals.caught().is_some() {
                    return Ok(());
                }
                return Err(ended(status.code(), format!("the sweep on Ray ended with {status}"))
                    .detail("saved", folder.display().to_string())
                    .hint("what is finished is kept; the same command goes on where it was"));
            }
            if signals.caught().is_some() {
                drop(held.take());
                if stopped.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    child.kill().map_err(failed)?;
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The driver has said why; its exit codes are those of this program.
fn ended(code: Option<i32>, message: String) -> Failure {
    match code {
        Some(2) => Failure::usage(message),
        Some(3) => Failure::damaged(message),
        Some(4) => Failure::in_use(message),
        Some(5) => Failure::on_disk(message),
        Some(130) => Failure::interrupted(2, message),
        _ => Failure::badly(message),
    }
}

/// The package is there, in this version.
fn check(mut python: Command) -> Result<(), Failure> {
    let hint = format!("install it: pip install 'ocorl[ray]'; {PYTHON} names another Python");
    let missing = |cause: String| {
        Failure::usage("--on ray needs the Python package 'ocorl'").detail("cause", cause).hint(&hint)
    };
    python.args(["-c", "import ocorl; print(ocorl.__version__)"]).stdin(Stdio::null());
    let output = python.output().map_err(|error| missing(error.to_string()))?;
    let said =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().lines().last().unwrap_or_default().to_owned();
    if !output.status.success() {
        return Err(missing(said(&output.stderr)));
    }
    let (theirs, ours) = (said(&output.stdout), env!("CARGO_PKG_VERSION"));
    if theirs != ours {
        return Err(missing(format!("it is of version {theirs}, this program of {ours}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_names() {
        assert_eq!("threads".parse(), Ok(Where::Threads));
        assert_eq!("ray".parse(), Ok(Where::Ray(None)));
        assert_eq!("ray:10.0.0.1:6379".parse(), Ok(Where::Ray(Some("10.0.0.1:6379".into()))));
        for wrong in ["", "rays", "ray:", "mpi"] {
            assert!(wrong.parse::<Where>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn exit_codes_of_the_driver_are_passed_on() {
        for code in [1, 2, 3, 4, 5, 130] {
            assert_eq!(i32::from(ended(Some(code), "it ended".into()).code), code);
        }
        // Killed, or by an exit code that means nothing here.
        assert_eq!((ended(None, String::new()).code, ended(Some(77), String::new()).code), (1, 1));
    }
}
