//! The machine and the command line, stored with results.

use std::ffi::OsString;
use std::sync::OnceLock;

/// Processor model and number of cores, as far as the system reports them.
pub(crate) fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{model}, {cores} core{}", if cores == 1 { "" } else { "s" })
}

/// Arguments of the program, without its name.
static ARGUMENTS: OnceLock<String> = OnceLock::new();

/// Keeps the command line for [`command_line`]. Inside Python, the arguments of the process are the interpreter's.
pub(crate) fn remember(arguments: &[OsString]) {
    let given: Vec<String> = arguments.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    // Once per process; a second call of the program in one process is not expected.
    let _ = ARGUMENTS.set(given.join(" "));
}

/// The command line, without the path of the program.
pub(crate) fn command_line() -> String {
    format!("ocorl {}", ARGUMENTS.get().map_or("", String::as_str))
}
