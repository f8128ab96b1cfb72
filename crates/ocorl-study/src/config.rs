//! The settings of a run, merged from defaults, a settings file and single options. Unknown keys are errors; the set of changed settings is
//! kept for display.

use crate::files::read_text;
use crate::system::{MAX_FILE, shortened};
use crate::user_error::{Catalogue, Hint, Place, UserError, nearest};
use ocorl::learn::{Caution, Settings, Strategy, Time};
use ocorl::system::KnownSystem;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt::Write;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Shipped settings files: system name, default settings, settings of the paper's authors.
const SHIPPED: [(&str, &str, &str); 9] = {
    macro_rules! files {
        ($($name:literal),*) => { [$((
            $name,
            include_str!(concat!("../studies/settings/", $name, ".toml")),
            include_str!(concat!("../studies/settings/", $name, ".reference.toml")),
        )),*] };
    }
    files![
        "cancer-treatment",
        "glucose-in-blood",
        "pendulum",
        "mountain-car",
        "cart-pole",
        "bicycle",
        "furuta-pendulum",
        "quadrotor-2d",
        "quadrotor-3d"
    ]
};

/// The effective settings of a run and the paths that were set explicitly.
#[derive(Clone, Debug)]
pub struct Config {
    /// Effective settings.
    pub settings: Settings,
    system: String,
    /// Whether the system has settings files shipped with the program.
    shipped: bool,
    document: Table,
    known: Vec<String>,
    set: BTreeSet<String>,
}

/// One changed setting and where the change is written.
struct Change {
    path: String,
    value: Value,
    place: Option<Place>,
}

impl Config {
    /// Default settings of a system.
    pub fn new(b: &KnownSystem) -> Result<Self, UserError> {
        Ok(Config { shipped: true, ..Config::of(&b.name, Settings::for_system(b))? })
    }

    /// Configuration of a system that is not shipped with the program, starting from `settings`.
    pub fn of(system: &str, settings: Settings) -> Result<Self, UserError> {
        let broken =
            |error: &dyn std::fmt::Display| UserError::new(format!("settings cannot be serialized: {error}"));
        let mut known = Vec::new();
        leaves("", &serde_json::to_value(&settings).map_err(|error| broken(&error))?, &mut known);
        // It is not written while it is empty.
        known.push("states.velocities".into());
        let document = Table::try_from(&settings).map_err(|error| broken(&error))?;
        Ok(Config { settings, system: system.into(), shipped: false, document, known, set: BTreeSet::new() })
    }

    /// Applies the settings called `default` or `reference`, or those of a TOML file.
    pub fn load(&mut self, name: &str) -> Result<(), UserError> {
        let shipped = SHIPPED.iter().find(|(system, ..)| self.shipped && *system == self.system);
        match (name, shipped) {
            ("default", Some((system, ours, _))) => {
                self.take(ours, &format!("studies/settings/{system}.toml"))
            }
            ("default", None) => Ok(()),
            ("reference", Some((system, _, theirs))) => {
                self.take(theirs, &format!("studies/settings/{system}.reference.toml"))
            }
            ("reference", None) => {
                Err(UserError::new(format!("{} has no settings of the paper's authors", self.system))
                    .hint(Hint::OnlyPaperSystems))
            }
            (path, _) => {
                let text = read_text(path, MAX_FILE).map_err(|cause| {
                    UserError::new(format!("cannot read '{path}'"))
                        .detail("cause", cause)
                        .hint(Hint::ChooseSettings)
                })?;
                self.take(&text, path)
            }
        }
    }

    /// Applies settings given as TOML text; `file` is the name used in errors.
    fn take(&mut self, text: &str, file: &str) -> Result<(), UserError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let place = Place::at(file, text, error.span().map(|span| span.start));
            UserError::new(format!("'{file}' is not TOML"))
                .detail("place", place.to_string())
                .detail("cause", error.message().split_whitespace().collect::<Vec<_>>().join(" "))
        })?;
        self.take_table(table, &|path: &str| Some(Place::at(file, text, offset(text, path))))
    }

    /// Applies a table of settings; `place` gives the position of each path for errors.
    pub(crate) fn take_table(
        &mut self,
        table: Table,
        place: &dyn Fn(&str) -> Option<Place>,
    ) -> Result<(), UserError> {
        let mut changes = Vec::new();
        self.flatten("", Value::Table(table), place, &mut changes)?;
        changes.into_iter().try_for_each(|change| self.apply(change))
    }

    /// Applies one setting given as text. Text that is not a TOML value is taken as a string.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), UserError> {
        self.set_value(path, self::value(value))
    }

    /// Applies a value to the setting at `path`.
    pub fn set_value(&mut self, path: &str, value: Value) -> Result<(), UserError> {
        let mut changes = Vec::new();
        self.flatten(path, value, &|_| None, &mut changes)?;
        changes.into_iter().try_for_each(|change| self.apply(change))
    }

    /// Whether a setting or a section has this name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known.iter().any(|known| known.split('.').next() == Some(name))
    }

    /// Completes settings that follow from others. In discrete time, measurements are taken where controls change, so the strategy is
    /// equidistant unless another was set.
    pub fn complete(mut self) -> Result<Self, UserError> {
        if self.settings.time == Time::Discrete && !self.is_set("strategy") {
            self.set_value("strategy", Value::String(Strategy::Equidistant.name().into()))?;
        }
        Ok(self)
    }

    /// Name of the system, or the path of its file.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Whether the setting at `path` was set explicitly.
    pub fn is_set(&self, path: &str) -> bool {
        self.set.contains(path)
    }

    /// Changes the default of `caution`; without effect if it was set.
    pub(crate) fn default_caution(&mut self, caution: Caution) {
        if !self.is_set("caution") {
            self.settings.caution = caution;
            insert(&mut self.document, "caution", caution.name().into());
        }
    }

    /// Collects the changes in `value`, found at `path`; descends into sections.
    fn flatten(
        &self,
        path: &str,
        value: Value,
        place: &dyn Fn(&str) -> Option<Place>,
        out: &mut Vec<Change>,
    ) -> Result<(), UserError> {
        if self.known.iter().any(|known| known == path) {
            out.push(Change { path: path.into(), value, place: place(path) });
            return Ok(());
        }
        let section =
            |path: &str| path.is_empty() || self.known.iter().any(|k| k.starts_with(&format!("{path}.")));
        match value {
            Value::Table(table) if section(path) => table.into_iter().try_for_each(|(key, value)| {
                let path = if path.is_empty() { key } else { format!("{path}.{key}") };
                self.flatten(&path, value, place, out)
            }),
            _ if section(path) => {
                let inside = self.known.iter().find(|known| known.starts_with(&format!("{path}.")));
                Err(located(
                    UserError::new(format!("'{path}' is a section of settings, not one")),
                    place(path),
                )
                .hint(format!("as in: {}", inside.map_or("", String::as_str))))
            }
            _ => Err(self.unknown(path, place(path))),
        }
    }

    fn unknown(&self, path: &str, place: Option<Place>) -> UserError {
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        let names: Vec<String> = self.known.iter().map(|known| last(known)).collect();
        let whole = nearest(path, self.known.iter().map(String::as_str));
        // The name exists, but in another section.
        let meant = whole.or_else(|| {
            let name = nearest(&last(path), names.iter().map(String::as_str))?;
            self.known.iter().find(|known| last(known) == name).map(String::as_str)
        });
        located(UserError::new(format!("no setting '{path}'")), place).hint(Hint::ChooseName {
            meant: meant.map(Into::into),
            from: Catalogue::Settings { system: self.system.clone() },
        })
    }

    fn apply(&mut self, change: Change) -> Result<(), UserError> {
        let mut document = self.document.clone();
        insert(&mut document, &change.path, change.value.clone());
        let settings: Result<Settings, toml::de::Error> = document.clone().try_into();
        match settings {
            Ok(settings) => {
                (self.settings, self.document) = (settings, document);
                self.set.insert(change.path);
                Ok(())
            }
            Err(error) => {
                let (path, cause) = (&change.path, error.message().lines().next().unwrap_or_default());
                let value = shortened(&change.value.to_string());
                let failure = UserError::new(format!("setting '{path}' cannot be {value}"));
                let short = |(i, part): (usize, &str)| if i % 2 == 0 { part.into() } else { shortened(part) };
                let parts: Vec<String> = cause.split('`').enumerate().map(short).collect();
                let failure = located(failure, change.place).detail("cause", parts.join("`"));
                // "unknown variant `a`, expected one of `b`, `c`"
                let quoted: Vec<&str> = cause.split('`').skip(1).step_by(2).collect();
                Err(match quoted.split_first().and_then(|(word, all)| nearest(word, all.iter().copied())) {
                    Some(meant) => failure.hint(format!("did you mean '{meant}'?")),
                    None => failure,
                })
            }
        }
    }

    /// The complete settings as TOML below a comment line, each marked by whether it was set.
    pub fn text(&self, comment: &str) -> Result<String, UserError> {
        let plain = toml::to_string(&self.settings)
            .map_err(|error| UserError::new(format!("settings cannot be serialized: {error}")))?;
        let marked = |path: &str| if self.set.contains(path) { "# set" } else { "# default" };
        let mut text = format!("# {comment}\n");
        let mut section = String::new();
        let mut written = BTreeSet::new();
        for line in plain.lines() {
            if let Some(name) = line.strip_prefix('[') {
                self.unset(&section, &written, &mut text);
                section = name.trim_end_matches(']').to_owned() + ".";
            }
            match line.split_once(" = ") {
                Some((key, _)) => {
                    let path = format!("{section}{key}");
                    let _ = writeln!(text, "{line:<32} {}", marked(&path));
                    written.insert(path);
                }
                None => text.extend([line, "\n"]),
            }
        }
        self.unset(&section, &written, &mut text);
        text.pop();
        Ok(text)
    }

    /// Appends the settings of a section that have no value, as comments.
    fn unset(&self, section: &str, written: &BTreeSet<String>, text: &mut String) {
        let inside = |path: &&String| path.rfind('.').map_or("", |dot| &path[..=dot]) == section;
        while text.ends_with("\n\n") {
            text.pop();
        }
        for path in self.known.iter().filter(inside).filter(|path| !written.contains(*path)) {
            let _ = writeln!(text, "{:<32} # default", format!("# {} is not set", &path[section.len()..]));
        }
        text.push('\n');
    }
}

/// Parses a TOML value; other text becomes a string.
pub fn value(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("value"));
    parsed.unwrap_or_else(|| Value::String(text.into()))
}

/// Paths of all leaf values of a document, in key order.
fn leaves(path: &str, value: &Json, out: &mut Vec<String>) {
    match value {
        Json::Object(map) => {
            for (key, value) in map {
                leaves(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, value, out);
            }
        }
        _ => out.push(path.into()),
    }
}

/// Inserts a value at a path whose sections exist.
fn insert(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        Some((section, rest)) => {
            if let Some(inner) = table.get_mut(section).and_then(Value::as_table_mut) {
                insert(inner, rest, value);
            }
        }
        None => {
            table.insert(path.into(), value);
        }
    }
}

fn located(failure: UserError, place: Option<Place>) -> UserError {
    match place {
        Some(place) => failure.detail("file", place.to_string()),
        None => failure,
    }
}

/// Byte offset of the last key of `path` in `text`.
pub(crate) fn offset(text: &str, path: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut table = table.get_ref();
    let mut keys = path.split('.').peekable();
    while let Some(key) = keys.next() {
        let (name, value) = table.iter().find(|(name, _)| name.get_ref() == key)?;
        if keys.peek().is_none() {
            return Some(name.span().start);
        }
        let DeValue::Table(inner) = value.get_ref() else { return None };
        table = inner;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_error::position;
    use ocorl::system::Benchmark;

    fn config(system: &str) -> Config {
        Config::new(&Benchmark::find(system).unwrap()).unwrap()
    }

    #[test]
    fn every_shipped_file_is_understood_and_every_system_of_the_paper_has_two() {
        for b in Benchmark::all() {
            let mut ours = config(&b.name);
            ours.load("default").unwrap();
            ours.settings.validate(&b.task).unwrap();
            let mut theirs = config(&b.name);
            let found = theirs.load("reference");
            assert_eq!(found.is_ok(), b.published().is_some(), "{}", b.name);
            if found.is_ok() {
                theirs.settings.validate(&b.task).unwrap();
                let paper = b.paper().unwrap();
                assert_eq!(theirs.settings.plan.intervals + 1, paper.planner_nodes, "{}", b.name);
                assert_eq!(theirs.settings.track.nodes, paper.tracking_nodes, "{}", b.name);
                assert!(theirs.settings.select.as_reference && theirs.settings.excitation.scale == 1.0);
            }
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let mut config = config("pendulum");
        config.load("default").unwrap();
        config.set("model.kernel", "matern-5/2").unwrap();
        config.set("plan", "{ intervals = 50, random_starts = 1 }").unwrap();
        config.set("excitation.scale", "3").unwrap();
        config.set("initial_states", "[[3.0, 0], [1.5, 0.1]]").unwrap();
        let text = config.text("How it learns.").unwrap();
        let mut again = self::config("pendulum");
        again.take(&text, "text").unwrap();
        assert_eq!(again.settings, config.settings);
        for line in [
            "episodes = 20                    # default",
            "intervals = 50                   # set",
            "kernel = \"matern-5/2\"            # set",
            "# lipschitz is not set           # default",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        config.set("select.lipschitz", "[1, 2, 3.5]").unwrap();
        assert_eq!(config.settings.select.lipschitz, Some([1.0, 2.0, 3.5]));
        assert!(!config.text("").unwrap().contains("lipschitz is not set"));
    }

    #[test]
    fn places_are_counted_from_one() {
        let text = "a = 1\n[plan]\n  'ünknown' = 2\nintervls = 3\n";
        assert_eq!(offset(text, "plan.intervls").map(|at| position(text, at)), Some((4, 1)));
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position("ü = \n", "ü = ".len()), (1, 5));
    }
}
