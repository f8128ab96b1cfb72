//! `cargo xtask docs`: builds the documentation site, checks the Markdown files, and writes the command-line reference.
//!
//! | file | responsibility |
//! |---|---|
//! | `docs/markdown` | reads a Markdown file: text outside code, links, anchors, words |
//! | `docs/check` | line length, links and anchors, spelling, retired terms |
//! | `docs/cli` | `docs/reference/cli.md`, written from the program's `--help` |
//! | `docs/site` | the site itself: collects the pages, runs MkDocs in a virtual environment of its own |
//!
//! The commands of tutorials and how-to guides are run by `cargo xtask readme`.

mod check;
mod cli;
mod markdown;
mod site;

use crate::run::root;
use crate::steps::{Outcome, program};
use crate::tell;

/// Checks the documents; needs no network.
pub(crate) fn check() -> Result<Outcome, String> {
    let mut found = check::all()?;
    found.extend(cli::differences(&program()?)?);
    if found.is_empty() {
        return Ok(Outcome::Passed);
    }
    for line in &found {
        tell(&format!("  {line}\n"));
    }
    Err(format!("{} places in the documents to correct", found.len()))
}

/// Writes the files that are made by commands.
pub(crate) fn update() -> Result<(), String> {
    cli::write(&program()?)?;
    tell(&format!("wrote {}\n", cli::FILE));
    Ok(())
}

/// Lists the words that the word list does not contain, one per line, for review.
pub(crate) fn words() -> Result<(), String> {
    for word in check::unknown_words()? {
        tell(&format!("{word}\n"));
    }
    Ok(())
}

/// Builds the site into `target/site/html`.
pub(crate) fn build() -> Result<(), String> {
    let page = site::build()?;
    let page = page.strip_prefix(root()).unwrap_or(&page).to_path_buf();
    tell(&format!(
        "wrote {}\nlook at it with search: python3 -m http.server --bind 127.0.0.1 --directory {}\n",
        page.display(),
        page.parent().unwrap_or(&page).display()
    ));
    Ok(())
}
