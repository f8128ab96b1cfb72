//! `cargo xtask lines`: the number of lines of each crate, source and tests apart.

use crate::run::root;
use crate::shape::{read, sources};
use crate::tell;
use std::fmt::Write;
use std::path::Path;

/// Prints the table.
pub(crate) fn print() -> Result<(), String> {
    let mut crates: Vec<_> = std::fs::read_dir(root().join("crates"))
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| format!("crates: {error}"))?;
    crates.sort();
    crates.push(root().join("xtask"));
    let mut text = format!("{:<18}{:>8}{:>8}\n", "crate", "source", "tests");
    let mut total = [0; 2];
    for folder in crates {
        let mut counts = [0; 2];
        for (part, is_test) in [("src", false), ("tests", true), ("benches", true)] {
            if !folder.join(part).is_dir() {
                continue;
            }
            for file in sources(&folder.join(part))? {
                let counted = count(&read(&file)?, is_test || file.ends_with(Path::new("tests.rs")));
                counts = [counts[0] + counted[0], counts[1] + counted[1]];
            }
        }
        total = [total[0] + counts[0], total[1] + counts[1]];
        row(&mut text, &folder.file_name().unwrap_or_default().to_string_lossy(), counts);
    }
    row(&mut text, "all", total);
    tell(&text);
    Ok(())
}

fn row(text: &mut String, name: &str, [source, tests]: [usize; 2]) {
    let _ = writeln!(text, "{name:<18}{source:>8}{tests:>8}");
}

/// Counts the lines of a file: those of the source, and those of the test modules in it, which end with the first closing brace at the
/// beginning of a line.
fn count(text: &str, all_tests: bool) -> [usize; 2] {
    let (mut counts, mut testing) = ([0; 2], false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        testing |=
            line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.trim_end_matches('{') != *next);
        counts[usize::from(testing || all_tests)] += 1;
        testing &= line != "}";
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn test_modules_are_counted_apart() {
        let text = "fn f() {\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {\n    }\n}\n\n#[cfg(test)]\nmod other;\nfn h() {}\n";
        assert_eq!(count(text, false), [7, 5]);
        assert_eq!(count(text, true), [0, 12]);
    }
}
