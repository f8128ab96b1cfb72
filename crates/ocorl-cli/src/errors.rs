//! What went wrong, in a form for people and one for programs, and the exit code that goes with it.

use ocorl::baseline::BaselineError;
use ocorl::learn::LearnError;
use ocorl::simulate::Outcome;
use ocorl::system::{SystemError, Text, UnknownSystem};
use ocorl_study::cell::unknown_system;
use ocorl_study::run::text_report::ending;
use ocorl_study::store::StoreError;
use ocorl_study::sweep::SweepError;
use ocorl_study::user_error::{Catalogue, Hint, UserError, nearest};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// The run ended badly.
const BADLY: u8 = 1;
/// Wrong usage or configuration.
const USAGE: u8 = 2;
/// Damaged, or another version's.
const DAMAGED: u8 = 3;
/// Somebody else is at work there.
const IN_USE: u8 = 4;
/// Disk or permission.
const DISK: u8 = 5;
/// Stopped by a signal: this and its number.
const SIGNAL: u8 = 128;

/// The end of a program that did not do what it was asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Exit code.
    pub(crate) code: u8,
    /// What failed, in one line.
    message: String,
    /// Labelled lines below it: cause, note, ...
    details: Vec<(Text, String)>,
    /// What to do now.
    hint: Option<String>,
    /// What goes to standard output all the same, if anything: the part that did succeed.
    pub(crate) output: Option<String>,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), details: Vec::new(), hint: None, output: None }
    }

    /// The command line or the problem it describes cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(USAGE, message)
    }

    /// The computation itself did not succeed.
    pub(crate) fn badly(message: impl Into<String>) -> Self {
        Failure::new(BADLY, message)
    }

    /// Bytes that are not what was written, or another version's.
    pub(crate) fn damaged(message: impl Into<String>) -> Self {
        Failure::new(DAMAGED, message)
    }

    /// Somebody else is at work there.
    pub(crate) fn in_use(message: impl Into<String>) -> Self {
        Failure::new(IN_USE, message)
    }

    /// Disk or permission.
    pub(crate) fn on_disk(message: impl Into<String>) -> Self {
        Failure::new(DISK, message)
    }

    /// A file or stream that cannot be written.
    pub(crate) fn disk(what: &str, error: &io::Error) -> Self {
        Failure::new(DISK, format!("cannot write {what}")).detail("cause", error.to_string())
    }

    /// The same, for a path.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Failure::disk(&format!("'{}'", path.display()), error)
    }

    /// Somebody asked to stop, by this signal.
    pub(crate) fn interrupted(signal: usize, message: impl Into<String>) -> Self {
        Failure::new(SIGNAL.saturating_add(u8::try_from(signal).unwrap_or(0)), message)
    }

    /// A labelled line.
    pub(crate) fn detail(mut self, label: impl Into<Text>, text: impl Into<String>) -> Self {
        self.details.push((label.into(), text.into()));
        self
    }

    /// What to do now.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What failed, in one line.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.message);
        let width = self.details.iter().map(|(label, _)| label.len() + 2).max().unwrap_or(0).max(8);
        for (label, detail) in &self.details {
            let _ = writeln!(text, "  {label:<width$}{detail}");
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {hint}");
        }
        text
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let mut document = json!({ "error": self.message, "hint": self.hint, "exit_code": self.code });
        for (label, detail) in &self.details {
            document[&**label] = json!(detail);
        }
        document
    }

    /// The same, with what did succeed as `results`.
    pub(crate) fn json_with(&self, results: &str) -> String {
        let mut document = self.json();
        document["results"] = serde_json::from_str(results).unwrap_or(Value::Null);
        crate::terminal::json(&document)
    }
}

impl Failure {
    /// Puts the words of the command line's parser into our form: its first paragraph, its tip, where to read more.
    pub(crate) fn parsing(error: &clap::Error, command: Option<&str>) -> Self {
        let help = format!("see: ocorl{} --help", command.map(|c| format!(" {c}")).unwrap_or_default());
        if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Failure::usage("no command given").hint(format!("as in: ocorl run pendulum; {help}"));
        }
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words: Vec<&str> = first.trim_start_matches("error: ").split_whitespace().collect();
        let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
        Failure::usage(words.join(" ")).hint(tip.map_or(help.clone(), |tip| format!("{tip}; {help}")))
    }
}

impl From<UnknownSystem> for Failure {
    fn from(error: UnknownSystem) -> Self {
        unknown_system(&error.name).into()
    }
}

impl From<UserError> for Failure {
    fn from(error: UserError) -> Self {
        let details = error.details.into_iter().map(|(label, text)| (label.into(), text)).collect();
        Failure { details, hint: error.hint.as_ref().map(typed), ..Failure::usage(error.message) }
    }
}

/// A hint in the words of this program: what to type.
fn typed(hint: &Hint) -> String {
    match hint {
        Hint::ChooseName { meant, from } => {
            let list = match from {
                Catalogue::Studies => "ocorl figure".into(),
                Catalogue::Settings { system } => format!("ocorl run {system} --print-config"),
                _ => String::from("ocorl list"),
            };
            match meant {
                Some(meant) => format!("did you mean '{meant}'? see: {list}"),
                None => format!("see: {list}"),
            }
        }
        Hint::OnlyPaperSystems => format!("{hint}; see: ocorl list"),
        Hint::ChooseSettings => "--settings takes default, reference or a TOML file".into(),
        Hint::NewSystemFile { expected: true } => {
            "a file that describes a system; to begin one: ocorl new NAME".into()
        }
        Hint::NewSystemFile { .. } => "to begin: ocorl new NAME".into(),
        Hint::GridExample => format!("{hint}; see: ocorl sweep --help"),
        Hint::AskForPlan => "a plan is what `ocorl study ask` writes".into(),
        Hint::RunByHand => "go on with: ocorl study ask, ocorl rig, ocorl study tell".into(),
        Hint::ChooseAnotherFolder => "go on where it was made, or give another folder with --out".into(),
        Hint::Correct => "to replace what was recorded: ocorl study tell --correct".into(),
        Hint::StateEpisode { episode } => {
            format!("give the file of episode {episode}; if this is really it: --episode {episode}")
        }
        Hint::MarkFailed { study } => format!("an episode that gave nothing: ocorl study fail {study}"),
        Hint::AskOrImport { study } => {
            format!("ask for one: ocorl study ask {study}; or for old logs: ocorl study import {study} FILE")
        }
        Hint::Discard => "one that is not to be learned from: ocorl study discard".into(),
        _ => hint.to_string(),
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        let safe = "every finished cell is kept";
        match error {
            SweepError::File { path, source } => Failure::file(&path, &source).detail("note", safe),
            SweepError::Store(error) => {
                let hint = match &error {
                    StoreError::InUse { .. } => Some("wait for it, or give another folder with --out"),
                    StoreError::Damaged { .. } => Some(
                        "give another folder with --out, or move the database away: then all cells are run again",
                    ),
                    StoreError::Disk { fault, .. } => Some(fault.advice()),
                    _ => None,
                };
                let failure = Failure::from(error);
                match hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
            SweepError::OtherVersion { .. } => Failure::damaged(error.to_string())
                .detail("note", safe)
                .hint("results of two versions are not mixed: give another folder with --out"),
            _ => Failure::badly(error.to_string()),
        }
    }
}

impl From<SystemError> for Failure {
    fn from(error: SystemError) -> Self {
        let failure = Failure::usage(error.to_string());
        match &error {
            SystemError::UnknownParameter { system, name, known }
            | SystemError::UnknownQuantity { system, name, known }
            | SystemError::UnknownState { system, name, known } => {
                failure.suggest(name, known.split(", "), &format!("ocorl list {system}"))
            }
            _ => failure,
        }
    }
}

impl From<LearnError> for Failure {
    fn from(error: LearnError) -> Self {
        Failure::usage(error.to_string())
    }
}

impl From<BaselineError> for Failure {
    fn from(error: BaselineError) -> Self {
        match error {
            BaselineError::System(error) => error.into(),
            BaselineError::Setting { .. } => Failure::usage(error.to_string()),
            BaselineError::Run { system, states, outcome: outcome @ Outcome::LimitHit { .. } } => {
                Failure::badly(format!("the run of {system} ended early: {}", ending(&states, &outcome)))
                    .detail("note", "the plan keeps the states within the limits at its nodes; the run that follows it left them")
            }
            _ => Failure::badly(error.to_string()),
        }
    }
}

impl Failure {
    /// Hints at the name that was meant, if one is near, and at the command that lists them.
    pub(crate) fn suggest<'a>(self, name: &str, known: impl Iterator<Item = &'a str>, list: &str) -> Self {
        match nearest(name, known) {
            Some(meant) => self.hint(format!("did you mean '{meant}'? see: {list}")),
            None => self.hint(format!("see: {list}")),
        }
    }
}
