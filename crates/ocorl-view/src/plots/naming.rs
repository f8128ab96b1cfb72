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

/// The symbol of a quantity: Greek letters for their names, dots for rates, indices below the line. Other names are unchanged.
pub(crate) fn symbol(name: &str) -> String {
    const GREEK: [(&str, &str); 14] = [
        ("alpha", "α"),
        ("beta", "β"),
        ("gamma", "γ"),
        ("delta", "δ"),
        ("epsilon", "ε"),
        ("theta", "θ"),
        ("lambda", "λ"),
        ("mu", "μ"),
        ("rho", "ρ"),
        ("sigma", "σ"),
        ("tau", "τ"),
        ("phi", "φ"),
        ("psi", "ψ"),
        ("omega", "ω"),
    ];
    if let Some(base) = name.strip_suffix("_dot").or_else(|| name.strip_suffix("_rate")) {
        return rate(base);
    }
    let (base, index) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    let base_only = base.strip_suffix('_').filter(|_| !index.is_empty()).unwrap_or(base);
    let letter = GREEK.iter().find(|(word, _)| *word == base_only).map(|(_, letter)| *letter);
    match letter {
        Some(letter) => letter.to_owned() + &below(index),
        None if base_only.chars().count() == 1 => base_only.to_owned() + &below(index),
        None => name.to_owned(),
    }
}

fn below(digits: &str) -> String {
    digits.chars().filter_map(|digit| char::from_u32(0x2080 + digit.to_digit(10)?)).collect()
}

/// The symbol of the derivative of a quantity.
pub(crate) fn rate(name: &str) -> String {
    let symbol = symbol(name);
    let mut letters = symbol.chars();
    match letters.next() {
        Some(first) if symbol == name && name.chars().count() > 1 => {
            format!("d {first}{}/dt", letters.as_str())
        }
        Some(first) if letters.as_str().starts_with('\u{307}') => {
            format!("{first}\u{308}{}", letters.as_str().trim_start_matches('\u{307}'))
        }
        Some(first) => format!("{first}\u{307}{}", letters.as_str()),
        None => String::new(),
    }
}

/// Title of a system, as tables print it.
pub(crate) fn title(system: &str) -> String {
    Benchmark::find(system).map_or_else(|_| system.to_owned(), |b| b.title.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_the_symbols_of_the_field() {
        for (name, letter, derivative) in [
            ("theta", "θ", "θ\u{307}"),
            ("theta_rate", "θ\u{307}", "θ\u{308}"),
            ("x", "x", "x\u{307}"),
            ("x1", "x₁", "x\u{307}₁"),
            ("theta_2", "θ₂", "θ\u{307}₂"),
            ("position", "position", "d position/dt"),
            ("vx", "vx", "d vx/dt"),
        ] {
            assert_eq!((symbol(name), rate(name)), (letter.into(), derivative.into()), "{name}");
        }
    }
}
