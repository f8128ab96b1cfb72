//! Results of a sweep: cells with their episodes, stored as two tidy files that can be read back.
//!
//! | file | a row is |
//! |---|---|
//! | `results.csv` | a cell: reference costs, final cost, outcome |
//! | `episodes.csv` | an episode of a cell |

use crate::cell::{Bounds, Cell, CellResult, EpisodeRow};
use crate::files::write_atomically;
use crate::known::Known;
use crate::tidy::Tidy;
use crate::user_error::UserError;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;
use toml::Value;

/// The results of a sweep, in the order of its cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Results of all finished cells.
    pub cells: Vec<CellResult>,
}

/// Cells that differ only in their seed.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The first cell of the group, which represents everything but the seed.
    pub cell: &'a Cell,
    /// All cells of the group.
    pub cells: Vec<&'a CellResult>,
}

impl Group<'_> {
    /// Final costs of the runs that finished.
    pub fn final_costs(&self) -> Vec<f64> {
        self.cells.iter().filter_map(|cell| cell.final_cost()).collect()
    }

    /// Final costs above the continuous-time optimum, in percent of it; empty if the optimum is not known.
    pub fn gaps(&self) -> Vec<f64> {
        let Some(known) = self.known() else { return Vec::new() };
        self.final_costs().iter().map(|cost| known.percent_above(*cost)).collect()
    }

    /// Reference costs with known dynamics, from any cell that has them.
    pub fn known(&self) -> Option<Known> {
        self.cells.iter().find_map(|cell| cell.known)
    }

    /// Values by episode number, over the runs that finished and have the value.
    pub fn by_episode(&self, value: impl Fn(&EpisodeRow) -> Option<f64>) -> BTreeMap<usize, Vec<f64>> {
        let mut out: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for row in self.cells.iter().filter(|c| c.failure.is_none()).flat_map(|c| &c.episodes) {
            if let Some(value) = value(row) {
                out.entry(row.episode).or_default().push(value);
            }
        }
        out
    }

    /// Value of a changed setting, as text.
    pub fn setting(&self, path: &str) -> Option<String> {
        self.cell.set.get(path).map(word)
    }
}

/// A TOML value as text; strings without quotes.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Results {
    /// Groups of cells that differ only in their seed, in the order of their first cell.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for result in &self.cells {
            let key = Cell { seed: 0, ..result.cell.clone() }.id();
            let place = *places.entry(key).or_insert_with(|| {
                groups.push(Group { cell: &result.cell, cells: Vec::new() });
                groups.len() - 1
            });
            groups[place].cells.push(result);
        }
        groups
    }

    /// Names of the systems, in order of first appearance.
    pub fn systems(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.cells.iter().map(|r| r.cell.system.as_str()).filter(|system| seen.insert(*system)).collect()
    }

    /// Paths of all settings that any cell changes.
    fn paths(&self) -> BTreeSet<&str> {
        self.cells.iter().flat_map(|r| r.cell.set.keys().map(String::as_str)).collect()
    }

    /// The columns that identify the cell of each row.
    fn which<'a>(&'a self, rows: &[&'a CellResult]) -> Tidy {
        let start = Tidy::default()
            .text("system", rows.iter().map(|r| Some(r.cell.system.as_str())))
            .text("settings", rows.iter().map(|r| Some(r.cell.settings.as_str())));
        let with_paths = self
            .paths()
            .into_iter()
            .fold(start, |table, path| table.text(path, rows.iter().map(|r| r.cell.set.get(path).map(word))));
        with_paths.text("seed", rows.iter().map(|r| Some(r.cell.seed.to_string())))
    }

    /// Table with one row per cell.
    pub fn summary(&self) -> Tidy {
        let rows: Vec<&CellResult> = self.cells.iter().collect();
        let known = |of: fn(&Known) -> Option<f64>| {
            rows.iter().map(move |r| r.known.as_ref().and_then(of)).collect::<Vec<_>>()
        };
        let done = |of: fn(&CellResult) -> f64| {
            rows.iter().map(move |r| r.final_cost().map(|_| of(r))).collect::<Vec<_>>()
        };
        self.which(&rows)
            .number("final_cost", rows.iter().map(|r| r.final_cost()))
            .number("continuous", known(|k| Some(k.continuous)))
            .number("tracked", known(|k| Some(k.tracked)))
            .number("held_as_printed", known(|k| k.held_as_printed))
            .number("held", known(|k| Some(k.held)))
            .count("holds", rows.iter().map(|r| r.known.map(|k| k.holds)))
            .number("cumulative_regret", done(CellResult::cumulative_regret))
            .count("within_1_percent_from", rows.iter().map(|r| r.stays_within(0.01)))
            .count("episodes", rows.iter().map(|r| Some(r.episodes.len())))
            .count("measurements", rows.iter().map(|r| Some(r.episodes.iter().map(|e| e.measured).sum())))
            .count(
                "synchronizations",
                rows.iter().map(|r| Some(r.episodes.iter().map(|e| e.synchronized).sum())),
            )
            .text("outcome", rows.iter().map(|r| r.last().map(|row| row.outcome.to_string())))
            .text("failure", rows.iter().map(|r| r.failure.as_deref()))
            .text("version", rows.iter().map(|r| Some(r.version.as_str())))
    }

    /// Table with one row per episode.
    pub fn episodes(&self) -> Tidy {
        let each: Vec<(&CellResult, &EpisodeRow)> =
            self.cells.iter().flat_map(|r| r.episodes.iter().map(move |row| (r, row))).collect();
        let cells: Vec<&CellResult> = each.iter().map(|(r, _)| *r).collect();
        let number =
            |of: fn(&EpisodeRow) -> Option<f64>| each.iter().map(move |(_, e)| of(e)).collect::<Vec<_>>();
        let count =
            |of: fn(&EpisodeRow) -> Option<usize>| each.iter().map(move |(_, e)| of(e)).collect::<Vec<_>>();
        self.which(&cells)
            .count("episode", count(|e| Some(e.episode)))
            .number("cost", number(|e| Some(e.cost)))
            .number("regret", number(|e| Some(e.regret)))
            .number("planned_cost", number(|e| e.planned_cost))
            .number("mean_cost", number(|e| e.mean_cost))
            .count("measured", count(|e| Some(e.measured)))
            .count("synchronized", count(|e| Some(e.synchronized)))
            .number("beta", number(|e| e.beta))
            .number("information_gain", number(|e| Some(e.information_gain)))
            .number("uncertainty", number(|e| e.uncertainty))
            .number("coverage", number(|e| e.coverage))
            .number("coverage_95", number(|e| e.coverage_95))
            .number("complexity", number(|e| e.complexity))
            .count("required", count(|e| e.required))
            .text("outcome", each.iter().map(|(_, e)| Some(e.outcome.to_string())))
            .text("complexity_bound_of", each.iter().map(|(_, e)| e.bounds.complexity_bound_of.as_deref()))
            .number("complexity_bound", number(|e| e.bounds.complexity_bound))
            .number("maximum_information_gain", number(|e| e.bounds.maximum_information_gain))
            .number("log_information_bound", number(|e| e.bounds.log_information_bound))
            .number("distance", number(|e| e.bounds.distance))
            .number("log_distance_bound", number(|e| e.bounds.log_distance_bound))
            .number("distance_margin", number(|e| e.bounds.distance_margin))
            .number("log_regret_bound", number(|e| e.bounds.log_regret_bound))
            .number("log_cumulative_regret_bound", number(|e| e.bounds.log_cumulative_regret_bound))
    }

    /// Writes both files, and the summary as JSON, into `folder`; with the feature `parquet` also as Parquet.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        let (summary, episodes) = (self.summary(), self.episodes());
        if cfg!(feature = "parquet") {
            write_atomically(folder.join("results.parquet"), &summary.parquet())?;
            write_atomically(folder.join("episodes.parquet"), &episodes.parquet())?;
        }
        write_atomically(folder.join("episodes.csv"), episodes.csv().as_bytes())?;
        write_atomically(folder.join("results.json"), summary.json().as_bytes())?;
        write_atomically(folder.join("results.csv"), summary.csv().as_bytes())
    }

    /// Reads the files written by [`save`](Self::save).
    pub fn load(folder: &Path) -> Result<Self, UserError> {
        let mut results = Results::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        for row in Rows::read(&folder.join("results.csv"))? {
            let cell = row.cell("final_cost")?;
            let known = match row.number("continuous")? {
                None => None,
                Some(continuous) => Some(Known {
                    continuous,
                    tracked: row.needed("tracked")?,
                    held_as_printed: row.number("held_as_printed")?,
                    held: row.needed("held")?,
                    holds: row.count("holds")?.unwrap_or(0),
                    search: None,
                }),
            };
            places.insert(cell.id(), results.cells.len());
            results.cells.push(CellResult {
                cell,
                version: row.text("version")?.into(),
                failure: Some(row.text("failure")?).filter(|text| !text.is_empty()).map(Into::into),
                known,
                episodes: Vec::new(),
            });
        }
        for row in Rows::read(&folder.join("episodes.csv"))? {
            let cell = row.cell("episode")?;
            let Some(&place) = places.get(&cell.id()) else {
                return Err(row.error(&format!("no cell of results.csv is this one: {cell}")));
            };
            results.cells[place].episodes.push(EpisodeRow {
                episode: row.count("episode")?.unwrap_or(0),
                cost: row.needed("cost")?,
                regret: row.needed("regret")?,
                planned_cost: row.number("planned_cost")?,
                mean_cost: row.number("mean_cost")?,
                measured: row.count("measured")?.unwrap_or(0),
                synchronized: row.count("synchronized")?.unwrap_or(0),
                beta: row.number("beta")?,
                information_gain: row.needed("information_gain")?,
                uncertainty: row.number("uncertainty")?,
                coverage: row.number("coverage")?,
                coverage_95: row.number("coverage_95")?,
                complexity: row.number("complexity")?,
                required: row.count("required")?,
                outcome: row.text("outcome")?.into(),
                bounds: row.bounds()?,
            });
        }
        Ok(results)
    }
}

/// Parser of the rows of a CSV file, with positions for errors.
struct Rows;

struct Row {
    file: String,
    line: u64,
    header: csv::StringRecord,
    record: csv::StringRecord,
}

impl Rows {
    fn read(path: &Path) -> Result<Vec<Row>, UserError> {
        let file = path.display().to_string();
        let bad = |error: csv::Error| {
            UserError::new(format!("cannot read '{file}'")).detail("cause", error.to_string())
        };
        let mut reader = csv::Reader::from_path(path).map_err(bad)?;
        let header = reader.headers().map_err(bad)?.clone();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(bad)?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(Row { file: file.clone(), line, header: header.clone(), record });
        }
        Ok(rows)
    }
}

impl Row {
    fn error(&self, cause: &str) -> UserError {
        UserError::new(format!("'{}' was not written by a sweep", self.file))
            .detail("place", format!("line {}", self.line))
            .detail("cause", cause)
    }

    fn text(&self, column: &str) -> Result<&str, UserError> {
        // A setting may have the name of a result (`episodes`, `measured`): the columns of changed settings come before those of results.
        let named = self.header.iter().enumerate().filter(|(_, name)| *name == column);
        let place = named.map(|(place, _)| place).last();
        let cell = place.and_then(|place| self.record.get(place));
        cell.ok_or_else(|| self.error(&format!("there is no column '{column}'")))
    }

    fn parsed<T: std::str::FromStr>(&self, column: &str) -> Result<Option<T>, UserError> {
        let text = self.text(column)?;
        let parsed = (!text.is_empty()).then(|| text.parse()).transpose();
        parsed.map_err(|_| self.error(&format!("'{text}' in column '{column}' is no number")))
    }

    fn number(&self, column: &str) -> Result<Option<f64>, UserError> {
        self.parsed(column)
    }

    /// A number, or `None` if the cell is empty or the column does not exist: sweeps of older versions have fewer columns.
    fn number_if_there(&self, column: &str) -> Result<Option<f64>, UserError> {
        if self.header.iter().any(|name| name == column) { self.number(column) } else { Ok(None) }
    }

    fn bounds(&self) -> Result<Bounds, UserError> {
        let of = self.text("complexity_bound_of").unwrap_or_default();
        Ok(Bounds {
            complexity_bound_of: (!of.is_empty()).then(|| of.to_owned()),
            complexity_bound: self.number_if_there("complexity_bound")?,
            maximum_information_gain: self.number_if_there("maximum_information_gain")?,
            log_information_bound: self.number_if_there("log_information_bound")?,
            distance: self.number_if_there("distance")?,
            log_distance_bound: self.number_if_there("log_distance_bound")?,
            distance_margin: self.number_if_there("distance_margin")?,
            log_regret_bound: self.number_if_there("log_regret_bound")?,
            log_cumulative_regret_bound: self.number_if_there("log_cumulative_regret_bound")?,
        })
    }

    fn needed(&self, column: &str) -> Result<f64, UserError> {
        self.number(column)?.ok_or_else(|| self.error(&format!("column '{column}' is empty")))
    }

    fn count(&self, column: &str) -> Result<Option<usize>, UserError> {
        self.parsed(column)
    }

    /// The cell of this row. The columns are `system`, `settings`, the changed settings and `seed`, followed by `next`.
    fn cell(&self, next: &str) -> Result<Cell, UserError> {
        let mut set = BTreeMap::new();
        let until = self.header.iter().position(|name| name == next).unwrap_or(0);
        for (name, text) in self.header.iter().zip(&self.record).take(until) {
            if !["system", "settings", "seed"].contains(&name) && !text.is_empty() {
                set.insert(name.to_owned(), crate::config::value(text));
            }
        }
        let seed = self.parsed("seed")?.ok_or_else(|| self.error("a cell has no seed"))?;
        Ok(Cell {
            system: self.text("system")?.into(),
            file: None,
            settings: self.text("settings")?.into(),
            set,
            seed,
        })
    }
}
