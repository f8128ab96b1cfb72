//! The documentation site, built by MkDocs in a virtual environment of its own.
//!
//! | folder | holds |
//! |---|---|
//! | `target/site/environment` | MkDocs, reinstalled when `xtask/docs-requirements.txt` changes |
//! | `target/site/source` | the pages: `docs/`, README.md as `index.md`, and files of the repository that they link to |
//! | `target/site/html` | the site |
//!
//! A link that leaves `docs/` would lead nowhere on the site. Such files are copied to `repository/`, and the link is rewritten. A link to a
//! folder becomes the name of the folder.

use super::check::joined;
use super::markdown::{links, prose};
use crate::python::{environment, install, interpreter};
use crate::run::{output, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENTS: &str = "xtask/docs-requirements.txt";

/// Builds the site and returns its first page. A warning of MkDocs, such as a dead link, is an error.
pub(super) fn build() -> Result<PathBuf, String> {
    let folder = root().join("target/site");
    let source = folder.join("source");
    let _ = std::fs::remove_dir_all(&source);
    collect(&source)?;
    let python = prepared(&folder.join("environment"))?;
    let mut mkdocs = Command::new(python);
    mkdocs.args(["-m", "mkdocs", "build", "--strict", "--quiet", "--clean"]).current_dir(root());
    // MkDocs 1.6 is pinned; the theme's notice about its successor is not a finding.
    mkdocs.env("NO_MKDOCS_2_WARNING", "1").env("DISABLE_MKDOCS_2_WARNING", "true");
    output(mkdocs)?;
    Ok(folder.join("html/index.html"))
}

/// The environment's Python.
fn prepared(folder: &Path) -> Result<PathBuf, String> {
    let wanted =
        std::fs::read_to_string(root().join(REQUIREMENTS)).map_err(|e| format!("{REQUIREMENTS}: {e}"))?;
    let (made, noted) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if made.exists() && std::fs::read_to_string(&noted).is_ok_and(|there| there == wanted) {
        return Ok(made);
    }
    let _ = std::fs::remove_dir_all(folder);
    let system = interpreter().ok_or("there is no python3 of version 3.10 or later")?;
    let made = environment(&system, folder)?;
    install(&made, &["-r", REQUIREMENTS])?;
    std::fs::write(&noted, wanted).map_err(|error| format!("{}: {error}", noted.display()))?;
    Ok(made)
}

/// Copies all pages, and what they link to, into `source`.
fn collect(source: &Path) -> Result<(), String> {
    let mut open: Vec<PathBuf> = vec!["README.md".into()];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(root().join(&folder)).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() { folders.push(path) } else { open.push(path) }
        }
    }
    let mut done = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !done.insert(path.clone()) {
            continue;
        }
        let (from, to) = (root().join(&path), source.join(place(&path)));
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(to.parent().unwrap_or(source)).map_err(failed)?;
        if path.extension().is_some_and(|e| e == "md") {
            let text = std::fs::read_to_string(&from).map_err(failed)?;
            let (text, linked) = rewritten(&path, &text);
            open.extend(linked);
            std::fs::write(&to, text).map_err(failed)?;
        } else {
            std::fs::copy(&from, &to).map_err(failed)?;
        }
    }
    Ok(())
}

/// Where a file of the repository is in the source of the site.
fn place(path: &Path) -> PathBuf {
    match path.strip_prefix("docs") {
        Ok(inside) => inside.to_path_buf(),
        Err(_) if path == Path::new("README.md") => "index.md".into(),
        Err(_) => Path::new("repository").join(path),
    }
}

/// The page with its relative links as they are on the site, and the files that they lead to.
fn rewritten(path: &Path, text: &str) -> (String, Vec<PathBuf>) {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let mut linked = Vec::new();
    for line in prose(text) {
        for target in links(line.text) {
            let (file, anchor) =
                target.split_once('#').map_or((target.as_str(), ""), |(file, anchor)| (file, anchor));
            if file.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let to = joined(path, file);
            let edited = &mut lines[line.number - 1];
            if root().join(&to).is_dir() {
                *edited = unlinked(edited, &target);
                continue;
            }
            let hash = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
            let relative = relative(&place(path), &place(&to)) + &hash;
            *edited = edited.replace(&format!("]({target}"), &format!("]({relative}"));
            *edited = edited.replace(&format!("src=\"{target}\""), &format!("src=\"{relative}\""));
            linked.push(to);
        }
    }
    (lines.join("\n") + "\n", linked)
}

/// The line with a link to a folder replaced by the text of the link.
fn unlinked(line: &str, target: &str) -> String {
    let mark = format!("]({target})");
    let Some(end) = line.find(&mark) else { return line.into() };
    let Some(start) = line[..end].rfind('[') else { return line.into() };
    format!("{}{}{}", &line[..start], &line[start + 1..end], &line[end + mark.len()..])
}

/// The relative link from one file to another.
fn relative(from: &Path, to: &Path) -> String {
    let (from, to): (Vec<_>, Vec<_>) =
        (from.parent().unwrap_or(Path::new("")).iter().collect(), to.iter().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let down = to[shared..].iter().map(|part| part.to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_same_file_on_the_site() {
        let (text, linked) = rewritten(
            Path::new("docs/how-to/limits.md"),
            "[a](../results.md#x) [b](../../README.md) [c](../../studies) [d](../../Cargo.toml) [e](#here)\n",
        );
        assert_eq!(
            text,
            "[a](../results.md#x) [b](../index.md) c [d](../repository/Cargo.toml) [e](#here)\n"
        );
        assert_eq!(linked, ["docs/results.md", "README.md", "Cargo.toml"].map(PathBuf::from));
    }
}
