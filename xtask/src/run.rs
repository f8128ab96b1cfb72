//! Runs other programs in the root folder of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Root folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A command for the cargo that runs this program, with the given arguments.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command that prints its own errors.
pub(crate) fn pass(mut command: Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{}: {error}", command_line(&command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", command_line(&command))) }
}

/// Runs a command and captures its output; the error of a failed command contains all of it.
pub(crate) fn output(mut command: Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command_line(&command)))?;
    if output.status.success() {
        return Ok(output);
    }
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Err(format!("{} ended with {}\n{said}", command_line(&command), output.status))
}

/// Runs a command and captures its output, with a time limit. The output must fit into a pipe buffer.
pub(crate) fn output_within(limit: Duration, mut command: Command) -> Result<Output, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", command_line(&command)))?;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(_) => break,
            None if begin.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{} did not end within {} s", command_line(&command), limit.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!(
        "{} ended with {}\n{}",
        command_line(&command),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Builds with the given cargo arguments and returns the executables by the names of their targets.
pub(crate) fn build(arguments: &[&str]) -> Result<Vec<(String, PathBuf)>, String> {
    let mut command = cargo(&[arguments, &["--message-format=json-render-diagnostics"]].concat());
    command.stderr(Stdio::inherit());
    let messages = output(command)?.stdout;
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for line in String::from_utf8_lossy(&messages).lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        if let (Some(path), Some(name)) = (message["executable"].as_str(), message["target"]["name"].as_str())
        {
            found.push((name.into(), path.into()));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether packages can be installed (the process runs as root).
pub(crate) fn is_root() -> bool {
    let mut id = Command::new("id");
    id.arg("-u");
    output(id).is_ok_and(|said| said.stdout.trim_ascii() == b"0")
}

/// The command line as one would type it.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let arguments = std::iter::once(program).chain(command.get_args());
    arguments.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
