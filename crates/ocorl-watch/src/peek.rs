//! A database in a few numbers, for the list: a handful of queries instead of the whole history. Nothing is written, not even beside it.

use ocorl::system::Benchmark;
use ocorl_study::study::Created;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When files were last written, and how long they are: while it stays the same, so does what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    database: Option<(Duration, u64)>,
    log: Option<(Duration, u64)>,
}

/// Files written this recently may be written again without looking different.
const UNSETTLED: Duration = Duration::from_millis(30);

impl Stamp {
    /// Of the database `file` and its log.
    pub(crate) fn of(file: &Path) -> Self {
        let log = file.with_extension("db-wal");
        // A log without contents is as good as none.
        Stamp { database: written(file), log: written(&log).filter(|(_, size)| *size > 0) }
    }

    /// Whether there is a database.
    pub(crate) fn is_there(&self) -> bool {
        self.database.is_some()
    }

    /// When something was last written.
    fn last(&self) -> Duration {
        self.database.into_iter().chain(self.log).map(|(time, _)| time).max().unwrap_or_default()
    }

    /// Whether a change after this one would be seen. Times that are yet to come (another machine's clock) say nothing.
    pub(crate) fn settled(&self) -> bool {
        now().checked_sub(self.last()).is_none_or(|age| age > UNSETTLED)
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// When a file was last written, and its size; links do not count.
pub(crate) fn written(file: &Path) -> Option<(Duration, u64)> {
    let about = std::fs::symlink_metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    Some((about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?, about.len()))
}

/// What a list says of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StudyFacts {
    pub(crate) system: String,
    pub(crate) title: String,
    pub(crate) strategy: String,
    pub(crate) seed: u64,
    pub(crate) episodes: usize,
    pub(crate) of: usize,
    pub(crate) measurements: usize,
    pub(crate) last_cost: Option<f64>,
    pub(crate) best_cost: Option<f64>,
    pub(crate) pending: Option<usize>,
    pub(crate) over: bool,
}

/// Number of the last event, and when it happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) at: String,
}

/// What a list says of the study in the database `file`; none if nothing happened in it yet.
pub(crate) fn study(file: &Path) -> Result<Option<(Head, StudyFacts)>, String> {
    looked_at(file, |connection| {
        let Some(head) = head(connection)? else { return Ok(None) };
        Ok(Some((head, facts(connection)?)))
    })
}

/// How many cells the sweep in the database `file` has finished.
pub(crate) fn sweep(file: &Path) -> Result<Option<(Head, usize)>, String> {
    looked_at(file, |connection| {
        let Some(head) = head(connection)? else { return Ok(None) };
        let cells = connection.query_row("SELECT count(*) FROM cells", [], |row| row.get::<_, i64>(0));
        Ok(Some((head, count(cells.map_err(words)?))))
    })
}

/// Looks without a trace if nobody has the database open, else as every reader does.
fn looked_at<T: PartialEq>(
    file: &Path,
    look: impl Fn(&Connection) -> Result<T, String>,
) -> Result<T, String> {
    let before = Stamp::of(file);
    let alone = before.log.is_none() && before.settled();
    if alone && let Ok(seen) = open(file, true).map_err(words).and_then(|connection| look(&connection)) {
        // Somebody may have begun to write meanwhile; then what was seen may be half of it.
        if Stamp::of(file) == before {
            return Ok(seen);
        }
    }
    open(file, false).map_err(words).and_then(|connection| look(&connection))
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

/// The last event, which must be the one that the head says.
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
        _ => Err("the last record is not the one that was written last".into()),
    }
}

fn facts(connection: &Connection) -> Result<StudyFacts, String> {
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
    let (all, told, settings, prices) = (count(all), count(told), &created.settings, &created.prices);
    let episodes = all - count(open);
    // As `Study::over` has it.
    let next = prices.of(1, settings.initial_states.len().max(1) * settings.measurements);
    let spent = prices.budget.is_some_and(|budget| next > budget - prices.of(all, told));
    let known = if created.file.is_none() { Benchmark::find(&created.system).ok() } else { None };
    let scale = known.as_ref().map_or(1.0, Benchmark::table_scale);
    let cost = |cost: Option<f64>| cost.map(|cost| scale * cost).filter(|cost| cost.is_finite());
    Ok(StudyFacts {
        title: known.map_or(created.system.clone(), |known| known.title.to_string()),
        strategy: settings.strategy.name().into(),
        seed: created.seed,
        episodes,
        of: settings.episodes,
        measurements: count(used),
        last_cost: cost(last),
        best_cost: cost(best),
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
