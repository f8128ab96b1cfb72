//! Reads the summary of a database for the list: a few queries instead of the whole history. Nothing is written, not even a
//! journal file.

use ocorl::system::{Benchmark, KnownSystem, TableUnits};
use ocorl_study::study::Created;
use ocorl_study::trace;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Modification times and sizes of a database and its log: while they stay the same, so does the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    database: Option<(Duration, u64)>,
    log: Option<(Duration, u64)>,
}

/// Number of costs in the small plot of a study.
const MOST_COSTS: u32 = 60;

/// Files modified this recently may change again without a visible change of their time.
const UNSETTLED: Duration = Duration::from_millis(30);

impl Stamp {
    /// The stamp of the database `file` and its log.
    pub(crate) fn of(file: &Path) -> Self {
        let log = file.with_extension("db-wal");
        // An empty log counts as none.
        Stamp { database: written(file), log: written(&log).filter(|(_, size)| *size > 0) }
    }

    /// Whether the database exists.
    pub(crate) fn is_there(&self) -> bool {
        self.database.is_some()
    }

    /// Time of the last modification.
    fn last(&self) -> Duration {
        self.database.into_iter().chain(self.log).map(|(time, _)| time).max().unwrap_or_default()
    }

    /// Whether any later change would change the stamp. Times in the future (from the clock of another machine) are not trusted.
    pub(crate) fn settled(&self) -> bool {
        now().checked_sub(self.last()).is_none_or(|age| age > UNSETTLED)
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Modification time and size of a file; `None` for links.
pub(crate) fn written(file: &Path) -> Option<(Duration, u64)> {
    let about = std::fs::symlink_metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    Some((about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?, about.len()))
}

/// Summary of a study for the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StudySummary {
    pub(crate) system: String,
    pub(crate) title: String,
    pub(crate) strategy: String,
    pub(crate) seed: u64,
    pub(crate) episodes: usize,
    pub(crate) of: usize,
    pub(crate) measurements: usize,
    pub(crate) last_cost: Option<f64>,
    pub(crate) best_cost: Option<f64>,
    /// Costs of the latest episodes, for a small plot; `None` where there is none.
    pub(crate) costs: Vec<Option<f64>>,
    /// Last cost above the optimum, in percent of the optimum, if the optimum is known.
    pub(crate) percent: Option<f64>,
    /// Episodes that were aborted.
    pub(crate) aborted: usize,
    pub(crate) pending: Option<usize>,
    pub(crate) over: bool,
}

/// Number and time of the last event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) at: String,
}

/// Summary of the study in the database `file`; `None` if it has no events yet.
pub(crate) fn study(file: &Path) -> Result<Option<(Head, StudySummary)>, String> {
    looked_at(file, |connection| {
        let Some(head) = head(connection)? else { return Ok(None) };
        Ok(Some((head, facts(connection, file.parent().unwrap_or(Path::new(".")))?)))
    })
}

/// Number of finished cells of the sweep in the database `file`.
pub(crate) fn sweep(file: &Path) -> Result<Option<(Head, usize)>, String> {
    looked_at(file, |connection| {
        let Some(head) = head(connection)? else { return Ok(None) };
        let cells = connection.query_row("SELECT count(*) FROM cells", [], |row| row.get::<_, i64>(0));
        Ok(Some((head, count(cells.map_err(words)?))))
    })
}

/// Reads without creating any file if no process has the database open, otherwise like every SQLite reader.
fn looked_at<T: PartialEq>(
    file: &Path,
    look: impl Fn(&Connection) -> Result<T, String>,
) -> Result<T, String> {
    let before = Stamp::of(file);
    let alone = before.log.is_none() && before.settled();
    if alone && let Ok(seen) = open(file, true).map_err(words).and_then(|connection| look(&connection)) {
        // If a process has begun to write meanwhile, what was read may be inconsistent.
        if Stamp::of(file) == before {
            return Ok(seen);
        }
    }
    let connection = open(file, false).map_err(words)?;
    // One transaction, so that a writer cannot change what the later queries see.
    let transaction = connection.unchecked_transaction().map_err(words)?;
    let seen = look(&connection)?;
    transaction.commit().map_err(words)?;
    Ok(seen)
}

fn open(file: &Path, alone: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if !alone {
        let connection = Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(Duration::from_secs(2))?;
        return Ok(connection);
    }
    let escape = |c: char| match c {
        '%' | '?' | '#' => format!("%{:02x}", c as u32),
        other => other.to_string(),
    };
    let path: String = file.to_string_lossy().chars().map(escape).collect();
    Connection::open_with_flags(format!("file:{path}?immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI)
}

/// The last event; it must be the one that the head table names.
fn head(connection: &Connection) -> Result<Option<Head>, String> {
    let schema = "SELECT count(*) FROM sqlite_schema";
    if connection.query_row(schema, [], |row| row.get::<_, i64>(0)).map_err(words)? == 0 {
        return Ok(None);
    }
    let sql = "SELECT h.seq, e.at, e.checksum = h.checksum FROM head h LEFT JOIN events e ON e.seq = h.seq";
    let stated = connection
        .query_row(sql, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Option<bool>>(2)?))
        })
        .optional()
        .map_err(words)?;
    match stated {
        Some((0, ..)) => Ok(None),
        Some((seq, Some(at), Some(true))) => Ok(Some(Head { seq: seq.cast_unsigned(), at })),
        _ => Err("the last record does not match the stored head".into()),
    }
}

fn facts(connection: &Connection, folder: &Path) -> Result<StudySummary, String> {
    let created: String = connection
        .query_row("SELECT payload FROM events WHERE seq = 1 AND kind = 'created'", [], |row| row.get(0))
        .map_err(words)?;
    let created: Created = serde_json::from_str(&created).map_err(|error| error.to_string())?;
    let sql = "SELECT count(*), count(*) FILTER (WHERE status = 'pending'),
                      max(CASE WHEN status = 'pending' THEN episode END),
                      min(cost) FILTER (WHERE status NOT IN ('pending', 'discarded')),
                      (SELECT cost FROM episodes WHERE cost IS NOT NULL AND status NOT IN ('pending', 'discarded')
                       ORDER BY episode DESC LIMIT 1)
               FROM episodes";
    let (all, open, pending, best, last) = connection
        .query_row(sql, [], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, Option<i64>>(2)?,
                row.get::<_, Option<f64>>(3)?,
                row.get::<_, Option<f64>>(4)?,
            ))
        })
        .map_err(words)?;
    let sql = "SELECT count(*) FILTER (WHERE m.used AND (m.episode IS NULL OR e.status != 'pending')),
                      count(m.episode)
               FROM measurements m LEFT JOIN episodes e ON e.episode = m.episode";
    let (used, told) = connection
        .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .map_err(words)?;
    let sql = "SELECT cost, status FROM episodes WHERE status NOT IN ('pending', 'discarded') ORDER BY episode DESC LIMIT ?1";
    let mut latest = connection.prepare(sql).map_err(words)?;
    let latest = latest
        .query_map([MOST_COSTS], |row| Ok((row.get::<_, Option<f64>>(0)?, row.get::<_, String>(1)?)))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
        .map_err(words)?;
    let (all, told, settings, prices) = (count(all), count(told), &created.settings, &created.prices);
    let episodes = all - count(open);
    // The same rule as in `Study::over`.
    let next = prices.of(1, settings.initial_states.len().max(1) * settings.measurements);
    let spent = prices.budget.is_some_and(|budget| next > budget - prices.of(all, told));
    let known = if created.file.is_none() { Benchmark::find(&created.system).ok() } else { None };
    let units = known.as_ref().map_or_else(TableUnits::default, KnownSystem::table_units);
    let cost = |cost: Option<f64>| cost.map(|cost| units.cost(cost)).filter(|cost| cost.is_finite());
    let optimum = trace::known(folder).map(|known| known.continuous).filter(|optimum| *optimum > 0.0);
    let (last, best) = (cost(last), cost(best));
    Ok(StudySummary {
        costs: latest.iter().rev().map(|(value, _)| cost(*value)).collect(),
        percent: last.zip(optimum).map(|(last, optimum)| 100.0 * (last / optimum - 1.0)),
        aborted: latest.iter().filter(|(_, status)| status == "failed").count(),
        title: known.map_or(created.system.clone(), |known| known.title.to_string()),
        strategy: settings.strategy.name().into(),
        seed: created.seed,
        episodes,
        of: settings.episodes,
        measurements: count(used),
        last_cost: last,
        best_cost: best,
        pending: pending.map(count),
        over: open == 0 && (all >= settings.episodes || spent),
        system: created.system,
    })
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn words(error: rusqlite::Error) -> String {
    error.to_string()
}
