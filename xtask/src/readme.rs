//! Checks README and the other documents: their commands are run, the output is compared, and Rust code must occur in an example.
//!
//! In a `console` block, a line `$ cargo run --release -- ...` is run with the built program, one with `-p ocorl --example` as that
//! example, and one that begins with `$ ocorl ` or `$ python3 ` by a shell that finds the program. The following lines must be its standard
//! output, where a line `...` matches any lines. Lines with times and folders ("done in ...", "saved ...") are not compared. Commands of a
//! block `console slow` are run with `--dry-run`; `cargo xtask readme --slow` runs them in full. A block with a title, as in
//! "```toml title="tank.toml"", is written to that file first. A `rust` block must occur in one of the examples, up to indentation; the
//! examples are run by another step.

use crate::run::{output, root};
use crate::steps::{Outcome, programs};
use crate::tell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Prefixes of the lines that are run.
const PROGRAM: &str = "$ cargo run --release -- ";
const EXAMPLE: &str = "$ cargo run --release -p ocorl --example ";
const SHELL: [&str; 2] = ["$ ocorl ", "$ python3 "];

/// The documents that are checked, and the folders of which all are. The first document is README.
const DOCUMENTS: [&str; 4] =
    ["README.md", "docs/getting-started.md", "docs/hardware.md", "docs/own-system.md"];
const FOLDERS: [&str; 4] = ["docs/tutorials", "docs/how-to", "docs/reference", "docs/gallery"];
/// The documents whose Rust code must occur in an example.
const WITH_RUST: [&str; 2] = ["README.md", "docs/reference/rust.md"];

/// Prefixes of the output lines that are not compared.
const TALK: [&str; 2] = ["done in ", "saved "];

/// Checks all documents. `slow` runs the slow commands in full, and only those.
pub(crate) fn check(slow: bool) -> Result<Outcome, String> {
    let built = programs()?;
    let read =
        |name: &str| std::fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"));
    for name in documents()? {
        let begin = Instant::now();
        commands_of(&name, &read(&name)?, &built, slow)?;
        tell(&format!("  {name}: {:.1} s\n", begin.elapsed().as_secs_f64()));
    }
    for name in WITH_RUST {
        code(name, &read(name)?)?;
    }
    Ok(Outcome::Passed)
}

/// Names of all documents that are checked, in order.
fn documents() -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let files = std::fs::read_dir(root().join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        let names = files.flatten().map(|file| format!("{folder}/{}", file.file_name().to_string_lossy()));
        all.extend(names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "md")));
    }
    all.sort();
    Ok(DOCUMENTS.into_iter().map(String::from).chain(all).collect())
}

/// Runs the commands of a document in a separate folder.
fn commands_of(document: &str, text: &str, built: &[(String, PathBuf)], slow: bool) -> Result<(), String> {
    let find = |name: &str| built.iter().find(|(built, _)| built == name).map(|(_, path)| path);
    let program = find("ocorl").ok_or("cargo built no program called ocorl")?;
    // Files written by README's commands go next to the program, not into the repository; the folder is emptied first.
    let folder = program.with_file_name("readme");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Repository files that README refers to are available in the folder too.
    let studies = folder.join("studies");
    if !studies.exists() {
        std::os::unix::fs::symlink(root().join("studies"), &studies)
            .map_err(|error| format!("studies: {error}"))?;
    }
    for (name, contents) in titled(text) {
        std::fs::write(folder.join(&name), contents).map_err(|error| format!("{name}: {error}"))?;
    }
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    if !slow {
        all.extend(blocks(text, "console").iter().flat_map(|block| commands(block)));
    }
    for (line, documented) in blocks(text, "console slow").iter().flat_map(|block| commands(block)) {
        all.push(if slow { (line, documented) } else { (line + " --dry-run", Vec::new()) });
    }
    for (line, documented) in all {
        tell(&format!("  {line}\n"));
        let mut run = match (line.strip_prefix(PROGRAM), line.strip_prefix(EXAMPLE)) {
            (Some(arguments), _) => {
                let mut run = Command::new(program);
                run.args(arguments.split_whitespace());
                run
            }
            (_, Some(name)) => Command::new(
                find(name).ok_or(format!("{document} refers to an example '{name}' that does not exist"))?,
            ),
            _ => {
                let mut run = Command::new("sh");
                run.args(["-c", line.trim_start_matches("$ ")]).env("PATH", path_with(program));
                run
            }
        };
        run.current_dir(&folder);
        let said = String::from_utf8_lossy(&output(run)?.stdout).into_owned();
        if !matches(&documented, &said.lines().filter(|line| !is_talk(line)).collect::<Vec<_>>()) {
            return Err(format!("{document} shows another output of: {line}\nnow it is:\n{said}"));
        }
    }
    Ok(())
}

/// The search path for programs, with the built one first.
pub(crate) fn path_with(program: &Path) -> std::ffi::OsString {
    let mut path = program.parent().unwrap_or(program).as_os_str().to_owned();
    if let Some(others) = std::env::var_os("PATH") {
        path.push(":");
        path.push(others);
    }
    path
}

fn code(document: &str, text: &str) -> Result<(), String> {
    let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(file.ok()?.path()).ok();
    let files = std::fs::read_dir(root().join("examples")).map_err(|error| format!("examples/: {error}"))?;
    let examples: Vec<String> = files.filter_map(read).collect();
    let plain = |code: &str| code.lines().map(|line| line.trim().to_owned() + "\n").collect::<String>();
    for block in blocks(text, "rust") {
        if !examples.iter().any(|example| plain(example).contains(&plain(&block))) {
            return Err(format!("this code of {document} occurs in no example:\n{block}"));
        }
    }
    Ok(())
}

/// Contents of the fenced blocks in the given language.
pub(crate) fn blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}");
    let (mut blocks, mut open) = (Vec::new(), None);
    for line in text.lines() {
        match &mut open {
            None if line == opening => open = Some(String::new()),
            None => {}
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    blocks
}

/// Blocks with the name of a file, as in "```toml title="tank.toml"": file name and contents.
fn titled(text: &str) -> Vec<(String, String)> {
    let heads = text.lines().filter_map(|line| line.strip_prefix("```")?.split_once(" title=\""));
    heads
        .filter_map(|(language, rest)| {
            let name = rest.strip_suffix('"')?;
            let block = blocks(text, &format!("{language} title=\"{name}\"")).into_iter().next()?;
            Some((name.to_owned(), block))
        })
        .collect()
}

/// The commands of a block that can be run here, without comments, each with its documented output lines.
fn commands(block: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut ours = false;
    for line in block.lines() {
        if line.starts_with("$ ") {
            ours = [PROGRAM, EXAMPLE].iter().chain(&SHELL).any(|beginning| line.starts_with(beginning));
            if ours {
                let command = line.split(" # ").next().unwrap_or(line).trim();
                found.push((command.into(), Vec::new()));
            }
        } else if let (true, Some((_, lines))) = (ours && !is_talk(line), found.last_mut()) {
            lines.push(line.into());
        }
    }
    found
}

fn is_talk(line: &str) -> bool {
    TALK.iter().any(|talk| line.starts_with(talk))
}

/// Whether the output matches the documented lines, where `...` matches any lines. Without documented lines any output is accepted.
fn matches(documented: &[String], found: &[&str]) -> bool {
    let Some((first, rest)) = documented.split_first() else { return true };
    if first == "..." {
        return rest.is_empty() || (0..found.len()).any(|skipped| whole(rest, &found[skipped..]));
    }
    whole(documented, found)
}

fn whole(documented: &[String], found: &[&str]) -> bool {
    match (documented.split_first(), found.split_first()) {
        (None, None) => true,
        (Some((line, _)), _) if line == "..." => matches(documented, found),
        (Some((line, rest)), Some((first, others))) => line == first && whole(rest, others),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    #[test]
    fn commands_are_found_with_what_they_say() {
        let text = "# A\n```console\n$ pip install x\nok\n$ cargo run --release -- list --json # all\na\n\ndone in 1 s\n```\n";
        let block = &blocks(text, "console")[0];
        assert_eq!(commands(block), [("$ cargo run --release -- list --json".to_owned(), lines("a\n\n"))]);
        assert!(blocks(text, "rust").is_empty());
    }

    #[test]
    fn titled_blocks_are_files() {
        let text = "```toml title=\"a.toml\"\nx = 1\n```\n```toml\ny = 2\n```\n";
        assert_eq!(titled(text), [("a.toml".to_owned(), "x = 1\n".to_owned())]);
    }

    #[test]
    fn dots_stand_for_any_lines() {
        assert!(matches(&lines("a\n...\nd"), &["a", "b", "c", "d"]));
        assert!(matches(&lines("a\n..."), &["a", "b"]));
        assert!(matches(&lines("...\nb"), &["a", "b"]));
        assert!(matches(&[], &["anything"]));
        assert!(!matches(&lines("a\n...\nd"), &["a", "b", "c"]));
        assert!(!matches(&lines("a"), &["a", "b"]));
        assert!(!matches(&lines("a\nb"), &["a"]));
    }
}
