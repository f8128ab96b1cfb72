//! `ocorl results`: writes the report of all studies from existing results.

mod claims;
mod prose;
mod report;

use crate::GlobalArgs;
use crate::commands::figure;
use crate::errors::Failure;
use crate::terminal::{Answer, json, say};
use ocorl_study::files::write_atomically;
use ocorl_study::results::Results;
use ocorl_study::studies::STUDIES;
use ocorl_study::sweep::{self, About, Studied};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Arguments of `ocorl results`.
#[derive(clap::Args)]
#[command(help_template = crate::HELP)]
#[command(before_help = "\
Examples:
  ocorl results                        read studies/results, write docs/results.md and docs/figures
  ocorl results --from sweeps --out report")]
pub(crate) struct Arguments {
    /// Folder with one subfolder of results per study
    #[arg(long, value_name = "DIR", default_value = "studies/results")]
    from: PathBuf,
    /// Folder for results.md and figures
    #[arg(long, value_name = "DIR", default_value = "docs")]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments, global: GlobalArgs) -> Result<Answer, Failure> {
    let mut studies = BTreeMap::new();
    for (name, _) in STUDIES {
        let folder = arguments.from.join(name);
        if folder.join("results.csv").exists() {
            let studied = Studied {
                results: Results::load(&folder)?,
                about: About::load(&folder),
                timings: sweep::timings(&folder),
            };
            studies.insert(name.to_owned(), studied);
        }
    }
    if studies.is_empty() {
        return Err(Failure::usage(format!("there are no results in '{}'", arguments.from.display()))
            .hint("run a study first, as in: ocorl table --sweep-out studies/results/table1"));
    }
    figure::draw_all(&studies, &arguments.out.join("figures"), &mut |name| {
        if !global.quiet {
            say(&format!("drew {name}\n"));
        }
    })?;
    let path = arguments.out.join("results.md");
    let text = report::report(&studies, "figures");
    write_atomically(&path, text.as_bytes()).map_err(|error| Failure::file(&path, &error))?;
    let path = path.display().to_string();
    Ok(if global.json { json(&serde_json::json!({ "report": path })) } else { path + "\n" }.into())
}
