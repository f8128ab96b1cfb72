//! A grid: which cells a sweep has, as a TOML file.
//!
//! ```toml
//! title   = "When to measure"
//! systems = ["pendulum", "bicycle"]      # or "paper": the nine of Table 1
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
use crate::mistake::{Mistake, Place, nearest};
use ocorl::system::Benchmark;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};
use toml::{Table, Value};

/// Settings by path.
type Changes = BTreeMap<String, Value>;

/// The grid of a sweep, in its folder.
const FILE: &str = "grid.json";

/// More cells than this are a mistake.
const MOST_CELLS: usize = 100_000;

/// Which cells a sweep has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// For tables and figures.
    pub title: String,
    /// Systems by name.
    pub systems: Vec<String>,
    /// `default`, `reference`, or both.
    pub settings: Vec<String>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Seconds a cell may take.
    pub budget: Option<f64>,
    /// The same for every cell.
    pub set: Changes,
    /// All combinations of these.
    pub vary: BTreeMap<String, Vec<Value>>,
    /// Each of these with every combination.
    pub variants: Vec<Changes>,
}

/// As written.
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
    /// Reads a grid and checks every cell of it. `file` is its name in errors; one that ends in `.json` is what a sweep left in its folder.
    pub fn parse(text: &str, file: &str) -> Result<Self, Mistake> {
        let left = Path::new(file).extension().is_some_and(|end| end == "json");
        let grid = if left { Self::from_json(text, file)? } else { Self::from_toml(text, file)? };
        grid.check().map_err(|mistake| mistake.detail("file", file))?;
        Ok(grid)
    }

    fn from_json(text: &str, file: &str) -> Result<Self, Mistake> {
        serde_json::from_str(text).map_err(|error| {
            Mistake::new(format!("'{file}' is not a grid that a sweep left"))
                .detail("cause", error.to_string())
        })
    }

    fn from_toml(text: &str, file: &str) -> Result<Self, Mistake> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let cause = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            let place = Place::at(file, text, error.span().map(|span| span.start));
            let mistake = Mistake::new(format!("'{file}' is not a grid"))
                .detail("place", place.to_string())
                .detail("cause", &cause);
            // "unknown field `a`, expected one of `b`, `c`"
            let words: Vec<&str> = cause.split('`').skip(1).step_by(2).collect();
            match words.split_first().and_then(|(word, all)| nearest(word, all.iter().copied())) {
                Some(meant) => mistake.hint(format!("did you mean '{meant}'?")),
                None => mistake.hint("as in: systems = [\"pendulum\"], seeds = 3; see: ocorl sweep --help"),
            }
        })?;
        let systems = match written.systems {
            Systems::Word(word) if word == "paper" => {
                Benchmark::of_the_paper().iter().map(|b| b.name.to_string()).collect()
            }
            Systems::Word(name) => vec![name],
            Systems::List(names) => names,
        };
        Ok(Grid {
            title: written.title,
            systems,
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

    /// Whether every cell could be run, and none is there twice. Call it again after a change.
    pub fn check(&self) -> Result<(), Mistake> {
        if let Some(budget) = self.budget.filter(|b| !(*b > 0.0 && b.is_finite())) {
            return Err(Mistake::new(format!("budget is {budget}; it must be a positive number of seconds")));
        }
        for name in &self.systems {
            Benchmark::find(name).map_err(|error| unknown_system(&error.name))?;
        }
        let count = self.count();
        if count == 0 {
            return Err(Mistake::new("the grid has no cells")
                .hint("it needs at least one system, one seed, and one value of everything it varies"));
        }
        if count > MOST_CELLS {
            return Err(Mistake::new(format!(
                "the grid has {count} cells; more than {MOST_CELLS} are refused"
            )));
        }
        let cells = self.cells();
        let mut seen = BTreeMap::new();
        for cell in &cells {
            if let Some(twice) = seen.insert(cell.id(), cell) {
                return Err(Mistake::new(format!("the grid has a cell twice: {twice}"))
                    .hint("every system, seed and combination may be named once"));
            }
        }
        // Seeds make no difference to whether settings can be used.
        let first = self.seeds.first();
        cells.iter().filter(|cell| Some(&cell.seed) == first).try_for_each(|cell| cell.prepare().map(|_| ()))
    }

    /// How many cells there are, without making them.
    fn count(&self) -> usize {
        let axes = [self.systems.len(), self.settings.len(), self.seeds.len(), self.variants.len().max(1)];
        axes.into_iter().chain(self.vary.values().map(Vec::len)).fold(1_usize, usize::saturating_mul)
    }

    /// Reads what a sweep left in `folder` while it runs there: its grid. None if nobody left one, or it is not one of ours.
    pub fn left_in(folder: &Path) -> Option<Self> {
        let grid: Grid = serde_json::from_str(&fs::read_to_string(folder.join(FILE)).ok()?).ok()?;
        (1..=MOST_CELLS).contains(&grid.count()).then_some(grid)
    }

    /// Leaves it in `folder`, for whoever watches; what is the same already is not touched.
    pub fn leave_in(&self, folder: &Path) -> io::Result<()> {
        let (path, text) = (folder.join(FILE), serde_json::to_string(self).unwrap_or_default() + "\n");
        match fs::read(&path) {
            Ok(there) if there == text.as_bytes() => Ok(()),
            _ => write_atomically(&path, text.as_bytes()),
        }
    }

    /// All cells: by system, settings, variant, combination, seed.
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
            // An alias is the same system.
            let system = Benchmark::find(system).map_or(system.clone(), |b| b.name.into_owned());
            for settings in &self.settings {
                for set in &combinations {
                    for &seed in &self.seeds {
                        let (system, settings, set) = (system.clone(), settings.clone(), set.clone());
                        cells.push(Cell { system, settings, set, seed });
                    }
                }
            }
        }
        cells
    }
}

/// Every one of `bases` with every one of `additions`.
fn extended(bases: &[Changes], additions: &[Changes]) -> Vec<Changes> {
    let join = |base: &Changes, more: &Changes| {
        let mut joined = base.clone();
        joined.extend(more.clone());
        joined
    };
    bases.iter().flat_map(|base| additions.iter().map(move |more| join(base, more))).collect()
}

/// Sections as paths.
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

/// What is to be varied: a list, or one value.
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
        // One that would fill the memory is none.
        let many = Grid { seeds: vec![0; 60_000], ..grid };
        many.leave_in(folder.path()).unwrap();
        assert_eq!(Grid::left_in(folder.path()), None);
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert_eq!(Grid::left_in(folder.path()), None);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let said = |text: &str| {
            let mistake = Grid::parse(text, "grid.toml").unwrap_err();
            (mistake.to_string(), mistake.hint.unwrap_or_default())
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
