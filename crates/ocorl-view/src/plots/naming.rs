//! Names of systems and variants in titles and legends.

use ocorl::system::Benchmark;
use ocorl_study::results::{Group, Results};
use std::collections::BTreeSet;

/// The settings in which the groups of a sweep differ.
pub(crate) struct Naming {
    varying: Vec<String>,
    settings_vary: bool,
}

impl Naming {
    pub(crate) fn new(results: &Results) -> Self {
        let groups = results.groups();
        let paths: BTreeSet<&String> = groups.iter().flat_map(|g| g.cell.set.keys()).collect();
        let differs =
            |path: &&String| groups.iter().map(|g| g.setting(path)).collect::<BTreeSet<_>>().len() > 1;
        let varying = paths.into_iter().filter(differs).cloned().collect();
        let settings: BTreeSet<&String> = groups.iter().map(|g| &g.cell.settings).collect();
        Naming { varying, settings_vary: settings.len() > 1 }
    }

    /// Name of a group by the settings that distinguish it from the others; system and seed are left out.
    pub(crate) fn of(&self, group: &Group<'_>) -> String {
        let mut parts = Vec::new();
        if self.settings_vary {
            parts.push(match group.cell.settings.as_str() {
                "default" => "ours".to_owned(),
                "reference" => "authors'".to_owned(),
                other => other.to_owned(),
            });
        }
        for path in &self.varying {
            let value = group.setting(path).unwrap_or_else(|| "default".into());
            parts.push(match path.as_str() {
                "strategy" | "time" => value.replace('-', " "),
                "explore" => planner(&value),
                "measurements" => format!("M = {value}"),
                "model.confidence" => confidence(&value),
                path => format!("{path} {value}"),
            });
        }
        if parts.is_empty() { "default settings".into() } else { parts.join(", ") }
    }
}

fn planner(name: &str) -> String {
    match name {
        "mean" => "greedy (mean)".into(),
        "thompson" => "Thompson sample".into(),
        "explore" => "information only".into(),
        other => other.into(),
    }
}

fn confidence(name: &str) -> String {
    match name {
        "constant" => "β = 1".into(),
        "information-gain" => "β from information gain".into(),
        other => format!("β {other}"),
    }
}

/// Title of a system, as tables print it.
pub(crate) fn title(system: &str) -> String {
    Benchmark::find(system).map_or_else(|_| system.to_owned(), |b| b.title.into_owned())
}
