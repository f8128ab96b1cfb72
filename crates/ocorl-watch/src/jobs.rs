//! Work that needs a model, in processes of its own. Jobs plan an episode or complete stored plots; they are stopped after a time limit,
//! and as soon as the client that asked for them leaves. Runs learn until they end or somebody stops them; they do not need a client.

use crate::fault::Fault;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Time after which a job is stopped.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// Interval at which the server checks whether a job has ended.
const TICK: Duration = Duration::from_millis(50);
/// Bytes of an error message that are kept.
const MOST_WORDS: u64 = 8 << 10;

/// Largest number of runs at a time that were started from the page.
const MOST_RUNS: usize = 4;
/// Time within which a new run has created its study.
const BEGIN: Duration = Duration::from_secs(20);

/// Runs jobs, one at a time, and runs beside them.
pub(crate) struct Jobs {
    program: Option<PathBuf>,
    turn: Semaphore,
    /// Runs that were started from the page, by folder.
    runs: Mutex<HashMap<PathBuf, Child>>,
}

/// What a job does with the folder of a study.
#[derive(Clone, Copy)]
pub(crate) enum Job {
    /// Plans the next episode.
    Plan,
    /// Completes the stored plots, and writes the report.
    Report,
}

impl Job {
    fn arguments(self, folder: &Path) -> Vec<String> {
        let words: &[&str] = match self {
            Job::Plan => &["study", "ask"],
            Job::Report => &["report"],
        };
        words.iter().map(|word| (*word).to_owned()).chain([folder.display().to_string()]).collect()
    }
}

/// A process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Jobs {
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Jobs { program, turn: Semaphore::new(1), runs: Mutex::default() }
    }

    fn start(&self, arguments: &[String]) -> Result<Child, Fault> {
        let Some(program) = &self.program else {
            return Err(Fault::new(StatusCode::NOT_IMPLEMENTED, "this server starts no programs")
                .hint("use the command line: ocorl run, ocorl study ask"));
        };
        let mut command = Command::new(program);
        command.args(arguments).arg("--quiet");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().map_err(|error| failed(&error.to_string()))
    }

    /// Runs a job to its end. Dropping the future stops it.
    pub(crate) async fn run(&self, job: Job, folder: &Path) -> Result<(), Fault> {
        let Ok(_turn) = self.turn.try_acquire() else {
            return Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, "another job is running")
                .hint("try again when it has ended"));
        };
        let (mut process, begun) = (Killed(self.start(&job.arguments(folder))?), Instant::now());
        loop {
            match process.0.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(_)) => return Err(complaint(&mut process.0)),
                Ok(None) if begun.elapsed() > LIMIT => {
                    return Err(failed(&format!("stopped after {} minutes", LIMIT.as_secs() / 60)));
                }
                Ok(None) => tokio::time::sleep(TICK).await,
                Err(error) => return Err(failed(&error.to_string())),
            }
        }
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Child>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run in `folder`, and waits until `begun` is true. The run goes on when its client leaves.
    pub(crate) async fn learn(
        &self,
        folder: &Path,
        arguments: &[String],
        begun: impl Fn() -> bool,
    ) -> Result<(), Fault> {
        let since = Instant::now();
        // A run that was asked to stop may still be writing its files.
        while self.runs().get_mut(folder).is_some_and(is_running) && since.elapsed() < BEGIN {
            tokio::time::sleep(TICK).await;
        }
        {
            let mut runs = self.runs();
            runs.retain(|_, run| is_running(run));
            if runs.len() >= MOST_RUNS || runs.contains_key(folder) {
                return Err(Fault::new(StatusCode::CONFLICT, "too many runs at a time")
                    .detail("running", runs.len().to_string())
                    .hint("stop one, or wait until one has ended"));
            }
            runs.insert(folder.to_path_buf(), self.start(arguments)?);
        }
        let since = Instant::now();
        while !begun() && since.elapsed() < BEGIN {
            if let Some(run) = self.runs().get_mut(folder)
                && let Ok(Some(status)) = run.try_wait()
            {
                return if status.success() { Ok(()) } else { Err(complaint(run)) };
            }
            tokio::time::sleep(TICK).await;
        }
        Ok(())
    }

    /// Asks the run in `folder` to stop, as Ctrl-C does; what it has learned is kept.
    pub(crate) fn stop(&self, folder: &Path) -> Result<(), Fault> {
        let mut runs = self.runs();
        let Some(run) = runs.get_mut(folder).and_then(|run| is_running(run).then_some(run)) else {
            return Err(Fault::new(StatusCode::CONFLICT, "this run was not started from the page")
                .hint("stop it where it runs, with Ctrl-C"));
        };
        // A process that was killed leaves a study that can be continued too; this one also writes its report.
        let asked = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
        match asked {
            Ok(status) if status.success() => Ok(()),
            _ => run.kill().map_err(|error| failed(&error.to_string())),
        }
    }
}

fn is_running(process: &mut Child) -> bool {
    matches!(process.try_wait(), Ok(None))
}

/// What a process that has failed said.
fn complaint(process: &mut Child) -> Fault {
    let mut words = String::new();
    if let Some(stream) = process.stderr.take() {
        let _ = stream.take(MOST_WORDS).read_to_string(&mut words);
    }
    failed(words.trim().trim_start_matches("error: "))
}

fn failed(cause: &str) -> Fault {
    Fault::new(StatusCode::CONFLICT, "the job failed").detail("cause", cause.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests")]

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program that notes its process id in the folder it is given, and then sleeps.
    fn sleeper(folder: &Path) -> PathBuf {
        let program = folder.join("program");
        std::fs::write(
            &program,
            "#!/bin/sh\nfor at in \"$@\"; do [ -d \"$at\" ] && echo $$ > \"$at/pid\"; done\nexec sleep 60\n",
        )
        .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    fn is_running(pid: &str) -> bool {
        Command::new("kill")
            .args(["-0", pid.trim()])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_job_ends_with_its_client_and_runs_alone() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = Jobs::new(Some(sleeper(folder.path())));
        let pid = folder.path().join("pid");
        let job = jobs.run(Job::Plan, folder.path());
        let begun = async {
            while !std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
                tokio::time::sleep(TICK).await;
            }
        };
        tokio::select! {
            ended = job => panic!("the job ended: {}", ended.is_ok()),
            () = begun => {}
        }
        // The client has left: the future was dropped.
        let pid = std::fs::read_to_string(&pid).unwrap();
        assert!(!is_running(&pid), "process {pid}");
        let (first, second) = (jobs.run(Job::Plan, folder.path()), jobs.run(Job::Report, folder.path()));
        tokio::select! {
            biased;
            _ = first => panic!("the first job sleeps"),
            refused = second => assert!(refused.is_err(), "a second job at the same time"),
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_failure_says_what_the_program_said() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, "#!/bin/sh\necho 'error: the study is over' >&2\nexit 1\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let failed = Jobs::new(Some(program)).run(Job::Plan, folder.path()).await.err().unwrap();
        assert_eq!(failed.status, StatusCode::CONFLICT);
        assert!(failed.details.iter().any(|(_, text)| text == "the study is over"), "{:?}", failed.details);
        let none = Jobs::new(None).run(Job::Plan, folder.path()).await.err().unwrap();
        assert_eq!(none.status, StatusCode::NOT_IMPLEMENTED);
    }
}
