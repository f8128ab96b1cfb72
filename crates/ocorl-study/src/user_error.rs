//! Errors in user input: message, position, cause and hint.

use std::fmt;

/// An invalid input of the user: a file, a setting, a request or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserError {
    /// What is wrong, in one line.
    pub message: String,
    /// Labelled detail lines, such as file and cause.
    pub details: Vec<(&'static str, String)>,
    /// What the user can do about it. Each front end phrases it in terms of its own commands.
    pub hint: Option<Hint>,
}

/// An action that resolves an error.
///
/// The library names the action; a front end knows the command for it. `Display` gives a text that names no front end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Advice that is the same in every front end, such as the allowed contents of a file.
    Text(String),
    /// Use another name from a catalogue.
    ChooseName {
        /// The name that was probably meant, if one is similar.
        meant: Option<String>,
        /// The catalogue that lists the names.
        from: Catalogue,
    },
    /// The settings of the paper's authors exist for the systems of its Table 1 only.
    OnlyPaperSystems,
    /// Use `default`, `reference` or a TOML file as settings.
    ChooseSettings,
    /// Start with a new system file; `expected` states that such a file was expected here.
    NewSystemFile {
        /// Whether the file could not be read at all.
        expected: bool,
    },
    /// Write a grid like the example.
    GridExample,
    /// Obtain a plan by asking the study for an episode.
    AskForPlan,
    /// Execute the episodes one by one: ask for a plan, execute it, record the measurements.
    RunByHand,
    /// Continue in the folder where the study was created, or use another folder.
    ChooseAnotherFolder,
    /// Replace the recorded measurements of the episode.
    Correct,
    /// State the number of the episode with the measurements, if they are really its own.
    StateEpisode {
        /// Number of the pending episode.
        episode: usize,
    },
    /// Mark the pending episode as failed.
    MarkFailed {
        /// Folder of the study.
        study: String,
    },
    /// Ask for an episode first, or import measurements.
    AskOrImport {
        /// Folder of the study.
        study: String,
    },
    /// Discard the episode, so that it is excluded from learning.
    Discard,
}

/// A list of names that a front end can display.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Catalogue {
    /// The systems shipped with the program.
    Systems,
    /// The studies (grids) shipped with the program.
    Studies,
    /// The settings of a system.
    Settings {
        /// Name of the system, or the path of its file.
        system: String,
    },
}

impl Catalogue {
    /// What the catalogue lists.
    pub fn name(&self) -> &'static str {
        match self {
            Catalogue::Systems => "systems",
            Catalogue::Studies => "studies",
            Catalogue::Settings { .. } => "settings",
        }
    }
}

/// An example of a grid in TOML.
pub const GRID_EXAMPLE: &str = "systems = [\"pendulum\"], seeds = 3";

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::Text(text) => f.write_str(text),
            Hint::ChooseName { meant: Some(meant), .. } => write!(f, "did you mean '{meant}'?"),
            Hint::ChooseName { meant: None, from } => write!(f, "see the list of {}", from.name()),
            Hint::OnlyPaperSystems => f.write_str("only the systems of the paper's Table 1 have"),
            Hint::ChooseSettings => f.write_str("settings are default, reference or a TOML file"),
            Hint::NewSystemFile { .. } => f.write_str("a file that describes a system; create one"),
            Hint::GridExample => write!(f, "as in: {GRID_EXAMPLE}"),
            Hint::AskForPlan => f.write_str("a plan is the file that asking for an episode writes"),
            Hint::RunByHand => f.write_str("ask for a plan, execute it, record the measurements"),
            Hint::ChooseAnotherFolder => f.write_str("continue where it was created, or give another folder"),
            Hint::Correct => f.write_str("replace the recorded measurements by a correction"),
            Hint::StateEpisode { episode } => {
                write!(
                    f,
                    "give the file of episode {episode}; if this is really it, state the number with it"
                )
            }
            Hint::MarkFailed { .. } => f.write_str("mark an episode that gave nothing as failed"),
            Hint::AskOrImport { .. } => f.write_str("ask for an episode; or import measurements"),
            Hint::Discard => f.write_str("discard one that is not to be learned from"),
        }
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Hint::Text(text.into())
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Hint::Text(text)
    }
}

impl UserError {
    /// An error with a message.
    pub fn new(message: impl Into<String>) -> Self {
        UserError { message: message.into(), details: Vec::new(), hint: None }
    }

    /// Adds a labelled detail line.
    #[must_use]
    pub fn detail(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.details.push((label, text.into()));
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint with the most similar name of `known`, if there is one, and with the catalogue of all names.
    #[must_use]
    pub fn suggest<'a>(self, name: &str, known: impl Iterator<Item = &'a str>, from: Catalogue) -> Self {
        self.hint(Hint::ChooseName { meant: nearest(name, known).map(Into::into), from })
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.details.iter().try_for_each(|(label, text)| write!(f, "; {label}: {text}"))
    }
}

impl std::error::Error for UserError {}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the file.
    pub file: String,
    /// Line and column, from 1.
    pub at: Option<(usize, usize)>,
}

impl Place {
    /// The position of a byte offset in `text`, the contents of `file`.
    pub fn at(file: &str, text: &str, offset: Option<usize>) -> Self {
        Place { file: file.into(), at: offset.map(|offset| position(text, offset)) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{}, line {line}, column {column}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Line and column of a byte offset, from 1.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
}

/// The known name that is most similar to `name`, if any is close.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let name = plain(name);
    let length = name.chars().count();
    if length == 0 {
        return None;
    }
    // A prefix counts as similar as a name with one typing error.
    let distance = |candidate: &str| {
        let edits = strsim::damerau_levenshtein(&name, &plain(candidate));
        if length >= 3 && plain(candidate).starts_with(&name) { edits.min(1) } else { edits }
    };
    known
        .map(|k| (distance(k), k))
        .filter(|(edits, _)| *edits <= 1 + length / 4)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 7] =
        ["pendulum", "furuta-pendulum", "cart-pole", "cartpole", "quadrotor-2d", "quadrotor-3d", "bicycle"];

    #[test]
    fn typing_slips_find_the_name_that_was_meant() {
        for (typed, meant) in [
            ("pendulm", "pendulum"),
            ("pednulum", "pendulum"),
            ("Pendulum", "pendulum"),
            ("furuta pendulum", "furuta-pendulum"),
            ("furuta", "furuta-pendulum"),
            ("cart_pole", "cart-pole"),
            ("quadrotor3d", "quadrotor-3d"),
            ("bycicle", "bicycle"),
        ] {
            assert_eq!(nearest(typed, NAMES.into_iter()), Some(meant), "{typed}");
        }
    }

    #[test]
    fn hints_name_no_front_end() {
        let study = || "lab".to_owned();
        let hints = [
            Hint::ChooseName { meant: None, from: Catalogue::Systems },
            Hint::ChooseName { meant: Some("pendulum".into()), from: Catalogue::Systems },
            Hint::ChooseName { meant: None, from: Catalogue::Settings { system: "tank.toml".into() } },
            Hint::OnlyPaperSystems,
            Hint::ChooseSettings,
            Hint::NewSystemFile { expected: true },
            Hint::GridExample,
            Hint::AskForPlan,
            Hint::RunByHand,
            Hint::ChooseAnotherFolder,
            Hint::Correct,
            Hint::StateEpisode { episode: 3 },
            Hint::MarkFailed { study: study() },
            Hint::AskOrImport { study: study() },
            Hint::Discard,
        ];
        for hint in hints {
            let words = hint.to_string();
            assert!(!words.contains("ocorl") && !words.contains("--"), "{words}");
        }
    }

    #[test]
    fn other_words_find_nothing() {
        for typed in ["", "x", "rocket", "inverted-double-pendulum-on-a-cart"] {
            assert_eq!(nearest(typed, NAMES.into_iter()), None, "{typed}");
        }
    }
}
