//! Runs cells on a Ray cluster. The Python package is Ray's driver: it is started on the same folder, and stores results in the
//! same way as this program.

use crate::errors::Failure;
use crate::signals::Signals;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Environment variable with the Python interpreter that has the package; default `python3`.
const PYTHON: &str = "OCORL_PYTHON";
/// Time that the driver gets to stop before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// Where cells are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Where {
    /// In threads of this process.
    #[default]
    Threads,
    /// On a Ray cluster at this address; without an address, on a cluster that is started on this machine.
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

/// Options of the driver.
pub(super) struct Driver<'a> {
    pub(super) address: Option<&'a str>,
    pub(super) jobs: Option<usize>,
    pub(super) again: bool,
    pub(super) quiet: bool,
}

impl Driver<'_> {
    /// Runs the unfinished cells of the grid stored in `folder`, until the end or a signal.
    pub(super) fn run(&self, folder: &Path, signals: &Signals) -> Result<(), Failure> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        check(Command::new(&python))?;
        let mut driver = Command::new(&python);
        driver.args(["-m", "ocorl.sweep"]).arg(folder.join("grid.json")).arg("--out").arg(folder);
        driver.args(["--ray", self.address.unwrap_or("local")]);
        driver.args(self.jobs.map(|jobs| format!("--jobs={jobs}")));
        driver.args(self.again.then_some("--again")).args(self.quiet.then_some("--quiet"));
        // The driver stops when its standard input closes, because a signal may reach this program only. Its table is discarded;
        // this program prints its own.
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
                    .hint("finished cells are stored; run the same command again to continue"));
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

/// The failure for the driver's exit code. The driver has printed the reason, and its exit codes are those of this program.
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

/// Checks that the Python package is installed in this version.
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
        return Err(missing(format!("its version is {theirs}, that of this program is {ours}")));
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
        // Killed, or an exit code without a meaning here.
        assert_eq!((ended(None, String::new()).code, ended(Some(77), String::new()).code), (1, 1));
    }
}
