//! `ocorl open`: shows the report of a study or a sweep in the browser.

use super::report;
use crate::GlobalArgs;
use crate::errors::Failure;
use crate::terminal::{Answer, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time in which a browser that cannot be started reports it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Arguments of `ocorl open`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  ocorl open runs/pendulum-0            show the report; it is written first if there is none
  ocorl open lab --update               write it again before, with the latest episodes

The browser is that of the system, or the program that the environment variable BROWSER names. Without one, the path is printed.")]
pub(crate) struct Arguments {
    /// Folder of a study, a run or a sweep
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write the report again, even if there is one
    #[arg(long)]
    update: bool,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let file = arguments.folder.join("report.html");
    if arguments.update || !file.is_file() {
        report::write_for(&arguments.folder, &file, global)?;
    }
    let opened = browsers().into_iter().any(|browser| start(browser, &file));
    let path = file.display().to_string();
    if global.json {
        return Ok(json(&serde_json::json!({ "report": path, "opened": opened })).into());
    }
    let remark = if opened {
        "opened in the browser\n"
    } else {
        "there is no browser to open it; its path is above\n"
    };
    Ok(Answer { text: path + "\n", remark: if global.quiet { String::new() } else { remark.into() } })
}

/// Commands that may open a page, the preferred one first.
fn browsers() -> Vec<Command> {
    let chosen = std::env::var_os("BROWSER").filter(|name| !name.is_empty()).map(Command::new);
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let usual = if cfg!(target_os = "macos") {
        Some(Command::new("open"))
    } else if cfg!(target_os = "windows") {
        Some(Command::new("explorer"))
    } else {
        // Without a display, a browser of text would take over the terminal.
        (set("DISPLAY") || set("WAYLAND_DISPLAY")).then(|| Command::new("xdg-open"))
    };
    chosen.into_iter().chain(usual).collect()
}

/// Starts a browser; whether it seems to have succeeded.
fn start(mut browser: Command, file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    browser.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = browser.spawn() else { return false };
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match child.try_wait() {
            // Explorer ends with 1 after success.
            Ok(Some(status)) => return status.success() || cfg!(target_os = "windows"),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return false,
        }
    }
    true
}
