//! Checks of the Markdown files: line length, links and anchors, spelling, retired terms.

use super::markdown::{Line, anchors, links, prose, without_code, words};
use crate::run::root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Longest line, in characters. Tables, code and lines with an address are exempt.
const LONGEST: usize = 120;
/// Known words, one per line.
const WORDS: &str = "xtask/words.txt";
/// Terms of earlier versions, in lower case, each with the term to use instead.
const RETIRED: [(&str, &str); 22] = [
    ("best hold", "optimal zero-order hold"),
    ("best held", "optimal zero-order hold"),
    ("exact zoh", "optimal zero-order hold"),
    ("best with 9 holds", "optimal zero-order hold"),
    ("best continuous", "optimum (known dynamics)"),
    ("best possible", "optimum (known dynamics), or best known"),
    ("what was unknown", "model uncertainty along the trajectory"),
    ("unknown on the way", "model uncertainty along the trajectory"),
    ("when it was measured", "measurement times"),
    ("the model along lines", "model slices"),
    ("the run broke off", "aborted"),
    ("told twice", "recorded twice"),
    ("once more", "again, or replaying"),
    ("as it usually is", "default"),
    ("measurements an episode", "measurements per episode"),
    ("s a run", "s per run"),
    ("how the controller fared", "controller performance"),
    ("sigmas", "residual [σ]"),
    ("pretend laboratory", "simulated rig"),
    ("ladder", "fallback guard"),
    ("rung", "fallback level"),
    ("leash", "task cost weight"),
];

/// All findings, as `file:line: what`.
pub(super) fn all() -> Result<Vec<String>, String> {
    let files = documents()?;
    let known = known_words()?;
    let places: BTreeMap<PathBuf, Vec<String>> =
        files.iter().map(|(path, text)| (path.clone(), anchors(text))).collect();
    let mut found = Vec::new();
    for (path, text) in &files {
        let lines = prose(text);
        let mut add = |line: &Line<'_>, what: String| {
            found.push(format!("{}:{}: {what}", path.display(), line.number));
        };
        for line in &lines {
            for target in links(line.text) {
                if let Some(what) = broken(path, &target, &places) {
                    add(line, what);
                }
            }
            if !is_text(path) {
                continue;
            }
            let length = line.text.chars().count();
            if length > LONGEST && !line.text.trim_start().starts_with('|') && !line.text.contains("://") {
                add(line, format!("{length} characters, at most {LONGEST} are allowed"));
            }
            for (term, instead) in retired(line.text) {
                add(line, format!("retired term '{term}'; use: {instead}"));
            }
            for word in words(line.text).into_iter().filter(|word| !known.contains(word)) {
                add(line, format!("unknown word '{word}': correct it, or add it to {WORDS}"));
            }
        }
    }
    Ok(found)
}

/// Words of the documents that the list does not contain.
pub(super) fn unknown_words() -> Result<BTreeSet<String>, String> {
    let known = known_words()?;
    let files = documents()?;
    let all = files.iter().filter(|(path, _)| is_text(path)).flat_map(|(_, text)| prose(text));
    Ok(all.flat_map(|line| words(line.text)).filter(|word| !known.contains(word)).collect())
}

fn known_words() -> Result<BTreeSet<String>, String> {
    let list = std::fs::read_to_string(root().join(WORDS)).map_err(|error| format!("{WORDS}: {error}"))?;
    Ok(list.lines().filter(|line| !line.starts_with('#')).map(String::from).collect())
}

/// Whether a file is written for users. Of the other Markdown files (reports of studies) only the links are checked.
fn is_text(path: &Path) -> bool {
    !path.starts_with("studies")
}

/// All Markdown files of the repository, by their path in it.
pub(super) fn documents() -> Result<Vec<(PathBuf, String)>, String> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root().join(&folder))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
            let hidden = name.to_string_lossy().starts_with('.');
            if entry.path().is_dir() {
                // Output folders of the program and of cargo are not part of the repository.
                let output = ["target", "runs", "sweeps", "tables", "figures"].iter().any(|o| *o == name);
                if !(hidden || name == "node_modules" || output && folder.as_os_str().is_empty()) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "md") {
                let text = std::fs::read_to_string(entry.path())
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                found.push((path, text));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What is wrong with a link in the file `from`, if anything. Addresses of other machines are not checked.
fn broken(from: &Path, target: &str, places: &BTreeMap<PathBuf, Vec<String>>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { from.to_path_buf() } else { joined(from, file) };
    if !root().join(&path).exists() {
        return Some(format!("dead link '{target}'"));
    }
    let anchors = places.get(&path);
    let dead = !anchor.is_empty() && anchors.is_some_and(|all| !all.iter().any(|other| other == anchor));
    dead.then(|| format!("dead anchor '{target}'"))
}

/// The path in the repository that `target` means in the file `from`.
pub(super) fn joined(from: &Path, target: &str) -> PathBuf {
    let mut path = from.parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// The retired terms in a line: whole words outside code.
fn retired(line: &str) -> Vec<(&'static str, &'static str)> {
    let text = without_code(line).to_lowercase();
    let whole = |term: &str| {
        text.match_indices(term).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + term.len()..].chars().next();
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
    };
    RETIRED.into_iter().filter(|(term, _)| whole(term)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retired_terms_are_whole_words_outside_code() {
        assert_eq!(retired("The best hold costs more"), [("best hold", "optimal zero-order hold")]);
        assert!(retired("the best holder of `best hold`").is_empty());
    }

    #[test]
    fn a_link_is_relative_to_its_file() {
        assert_eq!(joined(Path::new("docs/how-to/a.md"), "../b.md"), Path::new("docs/b.md"));
        assert_eq!(joined(Path::new("README.md"), "docs/b.md"), Path::new("docs/b.md"));
        let places = BTreeMap::from([(PathBuf::from("README.md"), vec!["x".to_owned()])]);
        let from = Path::new("docs/a.md");
        assert_eq!(broken(from, "../README.md#x", &places), None);
        assert_eq!(broken(from, "https://example.org", &places), None);
        assert_eq!(broken(from, "../README.md#y", &places).as_deref(), Some("dead anchor '../README.md#y'"));
        assert_eq!(broken(from, "nothing.md", &places).as_deref(), Some("dead link 'nothing.md'"));
    }
}
