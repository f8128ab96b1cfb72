//! The grid of a sweep: the set of cells, described by a TOML file.
//!
//! ```toml
//! title   = "When to measure"
//! systems = ["pendulum", "own.toml"]     # or "paper": the nine of Table 1; files are relative to that of the grid
//! seeds   = 10                           # 0 to 9; or a list
//! settings = ["default", "reference"]    # optional
//! budget  = 600                          # optional: seconds a cell may take
//!
//! [set]                                  # for every cell
//! episodes = 10
//!
//! [vary]                                 # every combination
//! strategy = ["max-determinant", "equidistant"]
//! "model.beta" = [1, 2]
//!
//! [[variants]]                           # and each of these with every combination
//! explore = "mean"
//! ```

use crate::cell::{Cell, unknown_system};
use crate::files::write_atomically;
use crate::system::{System, is_file};
use crate::user_error::{Hint, Place, UserError, nearest};
use ocorl::system::Benchmark;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};
use toml::{Table, Value};

/// Changed settings by path.
type Changes = BTreeMap<String, Value>;

/// Name of the grid file in the folder of a sweep.
const FILE: &str = "grid.json";

/// Maximum number of cells; larger grids are rejected as errors.
const MOST_CELLS: usize = 100_000;

/// The set of cells of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Title for tables and figures.
    pub title: String,
    /// Names of the systems.
    pub systems: Vec<String>,
    /// Texts of the files that describe systems, by the name of the system.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Base settings of the cells: `default`, `reference`, or both.
    pub settings: Vec<String>,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Time budget of a cell in seconds.
    pub budget: Option<f64>,
    /// Settings that are changed in every cell.
    pub set: Changes,
    /// Settings that vary: cells are made for all combinations of these values.
    pub vary: BTreeMap<String, Vec<Value>>,
    /// Variants: cells are made for each of these changes with every combination.
    pub variants: Vec<Changes>,
}

/// The grid as it is written in TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    title: String,
    systems: Systems,
    #[serde(default)]
    settings: OneOrMore,
    seeds: Seeds,
    budget: Option<f64>,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    vary: Table,
    #[serde(default)]
    variants: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "systems must be \"paper\", a name or a list of names")]
enum Systems {
    Word(String),
    List(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "settings must be \"default\", \"reference\" or a list of them")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> Self {
        OneOrMore::One("default".into())
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "seeds must be a count or a list of seeds")]
enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

impl Grid {
    /// Maximum size of a grid file in bytes.
    pub const LARGEST: u64 = 1 << 20;

    /// Parses a grid and validates all of its cells. `file` is its name in errors; a name ending in `.json` denotes the grid file that a
    /// sweep wrote into its folder.
    pub fn parse(text: &str, file: &str) -> Result<Self, UserError> {
        let left = Path::new(file).extension().is_some_and(|end| end == "json");
        let grid = if left { Self::from_json(text, file)? } else { Self::from_toml(text, file)? };
        grid.check().map_err(|error| error.detail("file", file))?;
        Ok(grid)
    }

    fn from_json(text: &str, file: &str) -> Result<Self, UserError> {
        serde_json::from_str(text).map_err(|error| {
            UserError::new(format!("'{file}' is not the grid of a sweep")).detail("cause", error.to_string())
        })
    }

    fn from_toml(text: &str, file: &str) -> Result<Self, UserError> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let cause = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            let place = Place::at(file, text, error.span().map(|span| span.start));
            let error = UserError::new(format!("'{file}' is not a grid"))
                .detail("place", place.to_string())
                .detail("cause", &cause);
            // "unknown field `a`, expected one of `b`, `c`"
            let quoted: Vec<&str> = cause.split('`').skip(1).step_by(2).collect();
            match quoted.split_first().and_then(|(word, all)| nearest(word, all.iter().copied())) {
                Some(meant) => error.hint(format!("did you mean '{meant}'?")),
                None => error.hint(Hint::GridExample),
            }
        })?;
        let systems = match written.systems {
            Systems::Word(word) if word == "paper" => {
                Benchmark::of_the_paper().iter().map(|b| b.name.to_string()).collect()
            }
            Systems::Word(name) => vec![name],
            Systems::List(names) => names,
        };
        let (systems, files) = with_files(systems, Path::new(file).parent().unwrap_or(Path::new("")))?;
        Ok(Grid {
            title: written.title,
            systems,
            files,
            settings: match written.settings {
                OneOrMore::One(name) => vec![name],
                OneOrMore::More(names) => names,
            },
            seeds: match written.seeds {
                Seeds::Count(count) => (0..count).collect(),
                Seeds::List(list) => list,
            },
            budget: written.budget,
            set: flat(written.set),
            vary: flat(written.vary).into_iter().map(|(path, value)| (path, listed(value))).collect(),
            variants: written.variants.into_iter().map(flat).collect(),
        })
    }

    /// Checks that every cell can be run and that none occurs twice. Call it again after a change.
    pub fn check(&self) -> Result<(), UserError> {
        if let Some(budget) = self.budget.filter(|b| !(*b > 0.0 && b.is_finite())) {
            return Err(UserError::new(format!(
                "budget is {budget}; it must be a positive number of seconds"
            )));
        }
        for name in self.systems.iter().filter(|name| !self.files.contains_key(*name)) {
            Benchmark::find(name).map_err(|error| unknown_system(&error.name))?;
        }
        let count = self.count();
        if count == 0 {
            return Err(UserError::new("the grid has no cells")
                .hint("it needs at least one system, one seed, and one value of everything it varies"));
        }
        if count > MOST_CELLS {
            return Err(UserError::new(format!(
                "the grid has {count} cells; more than {MOST_CELLS} are refused"
            )));
        }
        let cells = self.cells();
        let mut seen = BTreeMap::new();
        for cell in &cells {
            if let Some(twice) = seen.insert(cell.id(), cell) {
                return Err(UserError::new(format!("the grid has a cell twice: {twice}"))
                    .hint("every system, seed and combination may be named once"));
            }
        }
        // The seed does not influence whether settings are valid.
        let first = self.seeds.first();
        cells.iter().filter(|cell| Some(&cell.seed) == first).try_for_each(|cell| cell.prepare().map(|_| ()))
    }

    /// Number of cells, without constructing them.
    fn count(&self) -> usize {
        let axes = [self.systems.len(), self.settings.len(), self.seeds.len(), self.variants.len().max(1)];
        axes.into_iter().chain(self.vary.values().map(Vec::len)).fold(1_usize, usize::saturating_mul)
    }

    /// Reads the grid that a sweep wrote into `folder`; `None` if there is no valid one.
    pub fn left_in(folder: &Path) -> Option<Self> {
        let grid: Grid = serde_json::from_str(&fs::read_to_string(folder.join(FILE)).ok()?).ok()?;
        (1..=MOST_CELLS).contains(&grid.count()).then_some(grid)
    }

    /// Writes the grid into `folder` for observers; an identical file is left unchanged.
    pub fn leave_in(&self, folder: &Path) -> io::Result<()> {
        let (path, text) = (folder.join(FILE), serde_json::to_string(self)? + "\n");
        match fs::read(&path) {
            Ok(there) if there == text.as_bytes() => Ok(()),
            _ => write_atomically(&path, text.as_bytes()),
        }
    }

    /// All cells, ordered by system, settings, variant, combination, seed.
    pub fn cells(&self) -> Vec<Cell> {
        let mut combinations = vec![self.set.clone()];
        if !self.variants.is_empty() {
            combinations = extended(&combinations, &self.variants);
        }
        for (path, values) in &self.vary {
            let each: Vec<Changes> =
                values.iter().map(|value| [(path.clone(), value.clone())].into()).collect();
            combinations = extended(&combinations, &each);
        }
        let mut cells = Vec::new();
        for system in &self.systems {
            let file = self.files.get(system);
            // An alias denotes the same system.
            let known = Benchmark::find(system).ok().filter(|_| file.is_none());
            let system = known.map_or(system.clone(), |b| b.name.into_owned());
            for settings in &self.settings {
                for set in &combinations {
                    for &seed in &self.seeds {
                        let (system, settings, set) = (system.clone(), settings.clone(), set.clone());
                        cells.push(Cell { system, file: file.cloned(), settings, set, seed });
                    }
                }
            }
        }
        cells
    }
}

/// The names of all systems, and the texts of those that are described by files. Paths are relative to `folder`.
fn with_files(
    named: Vec<String>,
    folder: &Path,
) -> Result<(Vec<String>, BTreeMap<String, String>), UserError> {
    let (mut systems, mut files) = (Vec::new(), BTreeMap::new());
    for name in named {
        if !is_file(&name) {
            systems.push(name);
            continue;
        }
        let system = System::find(&folder.join(&name).display().to_string())?;
        if Benchmark::find(&system.name).is_ok() || files.contains_key(&system.name) {
            return Err(UserError::new(format!(
                "'{name}' describes '{}', and another system has that name",
                system.name
            ))
            .hint("give the systems different names"));
        }
        files.extend(system.file.map(|text| (system.name.clone(), text)));
        systems.push(system.name);
    }
    Ok((systems, files))
}

/// All combinations of `bases` and `additions`.
fn extended(bases: &[Changes], additions: &[Changes]) -> Vec<Changes> {
    let join = |base: &Changes, more: &Changes| {
        let mut joined = base.clone();
        joined.extend(more.clone());
        joined
    };
    bases.iter().flat_map(|base| additions.iter().map(move |more| join(base, more))).collect()
}

/// Flattens sections into paths.
fn flat(table: Table) -> Changes {
    let mut out = Changes::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                out.extend(flat(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            value => {
                out.insert(key, value);
            }
        }
    }
    out
}

/// The values to vary: a list, or a single value.
fn listed(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        one => vec![one],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: &str = "systems = [\"pendulum\", \"cartpole\"]\nseeds = 2\n\
        [set]\nepisodes = 3\n[set.plan]\nintervals = 20\n\
        [vary]\nstrategy = [\"oracle\", \"equidistant\"]\n\"model.beta\" = [1, 2.5]\n\
        [[variants]]\nexplore = \"mean\"\n[[variants]]\nexplore = \"bonus\"\nbonus_weight = 2\n";

    #[test]
    fn every_combination_is_there_once() {
        let cells = Grid::parse(GRID, "grid.toml").unwrap().cells();
        assert_eq!(cells.len(), 2 * 2 * 2 * 2 * 2);
        let ids: std::collections::BTreeSet<String> = cells.iter().map(Cell::id).collect();
        assert_eq!(ids.len(), cells.len());
        assert!(cells.iter().all(|cell| cell.set["plan.intervals"].as_integer() == Some(20)));
        let prepared = cells.last().unwrap().prepare().unwrap();
        assert_eq!(prepared.benchmark.name, "cart-pole");
        assert_eq!(prepared.settings.bonus_weight, 2.0);
        assert_eq!(prepared.settings.model.beta, 2.5);
    }

    #[test]
    fn a_cell_goes_through_json_unchanged() {
        for cell in Grid::parse(GRID, "grid.toml").unwrap().cells() {
            let text = serde_json::to_string(&cell).unwrap();
            assert_eq!(serde_json::from_str::<Cell>(&text).unwrap().id(), cell.id());
        }
    }

    #[test]
    fn systems_of_files_are_cells_with_their_text() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[system]\nstates = [\"x\"]\ninputs = { u = [-1, 1] }\nx0 = [1]\nhorizon = 2\n\
                    [equations]\nx = \"u - x\"\n[cost]\nstate = { x = 1 }\ninput = { u = 1 }\n";
        fs::write(folder.path().join("own.toml"), text).unwrap();
        let grid = |systems: &str| {
            let file = folder.path().join("grid.toml").display().to_string();
            Grid::parse(&format!("systems = {systems}\nseeds = 2\n"), &file)
        };
        let both = grid("[\"own.toml\", \"pendulum\"]").unwrap();
        let cells = both.cells();
        assert_eq!((cells.len(), cells[0].system.as_str(), cells[0].file.as_deref()), (4, "own", Some(text)));
        assert_eq!((cells[2].system.as_str(), cells[2].file.as_deref()), ("pendulum", None));
        // The text travels with the cell: the file may be gone.
        fs::remove_file(folder.path().join("own.toml")).unwrap();
        let read: Cell = serde_json::from_str(&serde_json::to_string(&cells[0]).unwrap()).unwrap();
        assert_eq!(read.prepare().unwrap().benchmark.task.horizon, 2.0);
        both.leave_in(folder.path()).unwrap();
        assert_eq!(Grid::left_in(folder.path()).unwrap().cells(), cells);
        assert!(grid("[\"own.toml\"]").unwrap_err().to_string().contains("cannot read"));
        fs::write(folder.path().join("pendulum.toml"), text).unwrap();
        assert!(
            grid("[\"pendulum.toml\"]").unwrap_err().to_string().contains("another system has that name")
        );
    }

    #[test]
    fn a_grid_is_left_for_who_watches_and_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Grid::left_in(folder.path()), None);
        let grid = Grid::parse(GRID, "grid.toml").unwrap();
        grid.leave_in(folder.path()).unwrap();
        let written = || fs::metadata(folder.path().join(FILE)).unwrap().modified().unwrap();
        let before = written();
        grid.leave_in(folder.path()).unwrap();
        assert_eq!(written(), before);
        let read = Grid::left_in(folder.path()).unwrap();
        assert_eq!(read.cells(), grid.cells());
        assert_eq!(read, grid);
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(Grid::parse(&text, "sweeps/mine/grid.json").unwrap(), grid);
        assert!(Grid::parse("{", "grid.json").is_err());
        // A grid that would exhaust the memory is rejected.
        let many = Grid { seeds: vec![0; 60_000], ..grid };
        many.leave_in(folder.path()).unwrap();
        assert_eq!(Grid::left_in(folder.path()), None);
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert_eq!(Grid::left_in(folder.path()), None);
    }

    #[test]
    fn errors_are_named_with_their_place() {
        let said = |text: &str| {
            let error = Grid::parse(text, "grid.toml").unwrap_err();
            (error.to_string(), error.hint.map(|hint| hint.to_string()).unwrap_or_default())
        };
        for (text, message, hint) in [
            ("systems = \"paper\"\nseds = 2\n", "line 2, column 1", "did you mean 'seeds'?"),
            ("systems = [\"pendulm\"]\nseeds = 2\n", "no system 'pendulm'", "did you mean 'pendulum'?"),
            ("systems = []\nseeds = 2\n", "the grid has no cells", "at least one system"),
            ("systems = \"pendulum\"\nseeds = [1, 1]\n", "a cell twice", "may be named once"),
            ("systems = [\"cart-pole\", \"cartpole\"]\nseeds = 1\n", "a cell twice", "may be named once"),
            (
                "systems = \"pendulum\"\nseeds = 1\n[vary]\nstratgy = [\"oracle\"]\n",
                "no setting 'stratgy'",
                "'strategy'",
            ),
            ("systems = \"pendulum\"\nseeds = 1\n[set]\nmeasurements = 0\n", "measurements is 0", ""),
            ("systems = \"pendulum\"\nseeds = 1\nbudget = -1\n", "budget is -1", ""),
            ("systems = \"pendulum\"\nseeds = 200000\n", "200000 cells", ""),
            ("systems = \"pendulum\"\nseeds = -1\n", "seeds must be a count", ""),
        ] {
            let (said, hinted) = said(text);
            assert!(said.contains(message) && hinted.contains(hint), "{text}\n{said}\n{hinted}");
        }
    }
}
