//! Persistent storage: one SQLite database with an append-only event log and a chain of checksums over it.
//!
//! ```text
//! events:  seq | kind | payload (JSON) | checksum = SHA-256(checksum of the last one, seq, kind, payload) | at (UTC, not in the chain)
//! head:    seq and checksum of the last event
//! ```
//!
//! All other tables are derived from the events, written in the same transaction, and can be rebuilt from them. The journal is a
//! write-ahead log with full synchronisation: when [`Store::append`] returns, the events are on disk. There is one writer (a kernel lock on
//! `<name>.lock`) and any number of readers, which never block it. A store is verified completely when it is opened; a damaged one is
//! rejected without changes.

mod error;
mod lock;

pub use error::StoreError;
pub(crate) use error::{encoded, encoded_column};
pub use lock::Holder;

use lock::Lock;
use rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Schema of a store.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Kind of store, `study` or `sweep`: the database is `<name>.db`.
    pub name: &'static str,
    /// Schema version; increases when tables change.
    pub version: i64,
    /// SQL that creates the derived tables.
    pub tables: &'static str,
    /// SQL migrations from each version to the next: the first migrates version 1 to version 2.
    pub migrations: &'static [&'static str],
}

/// Access mode of an open store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Exclusive write access.
    Write,
    /// Shared read access.
    Read,
}

/// A record of the event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Sequence number, from 1, without gaps.
    pub seq: u64,
    /// Kind of the event.
    pub kind: String,
    /// Payload as JSON.
    pub payload: String,
}

/// An open store.
#[derive(Debug)]
pub struct Store {
    form: Form,
    file: PathBuf,
    connection: Connection,
    access: Access,
    /// Sequence number and checksum of the last event.
    head: (u64, String),
    poisoned: bool,
    _lock: Option<Lock>,
}

/// Application id that marks the database files: "ocor".
const APPLICATION: i64 = 0x6f63_6f72;

const EVENTS: &str = "
CREATE TABLE events (
    seq      INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    payload  TEXT NOT NULL,
    checksum TEXT NOT NULL,
    at       TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE TABLE head (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    seq      INTEGER NOT NULL,
    checksum TEXT NOT NULL
) STRICT;
INSERT INTO head VALUES (1, 0, '');
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events BEGIN
    SELECT RAISE(ABORT, 'events are never deleted');
END;
";

impl Store {
    /// Creates a new store in `folder`, and the folder if it does not exist.
    pub fn create(folder: &Path, form: Form) -> Result<Self, StoreError> {
        Store::create_with(folder, form, &[], |_, _| Ok(()))
    }

    /// Creates a new store with its first events and derived tables in one transaction: if that fails, there is no store.
    pub fn create_with(
        folder: &Path,
        form: Form,
        events: &[(&'static str, String)],
        follows: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
    ) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|source| StoreError::io(folder, &source))?;
        let file = folder.join(form.name).with_extension("db");
        let lock = Lock::take(&file.with_extension("lock"))?;
        let failed = |error: &rusqlite::Error| StoreError::sqlite(form.name, &file, error, 0);
        let mut connection = connect(&file, Access::Write).map_err(|e| failed(&e))?;
        if !is_blank(&connection).map_err(|e| failed(&e))? {
            return Err(StoreError::Exists { what: form.name, folder: folder.into() });
        }
        secure(&connection).map_err(|e| failed(&e))?;
        let make = |connection: &mut Connection| -> rusqlite::Result<(u64, String)> {
            let transaction = connection.transaction()?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", form.version)?;
            transaction.execute_batch(EVENTS)?;
            transaction.execute_batch(form.tables)?;
            let head = insert(&transaction, (0, String::new()), events, follows)?;
            transaction.commit()?;
            Ok(head)
        };
        let head = make(&mut connection).map_err(|e| failed(&e))?;
        Ok(Store { form, file, connection, access: Access::Write, head, poisoned: false, _lock: Some(lock) })
    }

    /// Opens the store in `folder` and verifies it completely; passes every event to `take`, in order.
    pub fn open(
        folder: &Path,
        form: Form,
        access: Access,
        mut take: impl FnMut(Record) -> Result<(), String>,
    ) -> Result<Self, StoreError> {
        let file = folder.join(form.name).with_extension("db");
        let missing = || StoreError::Missing { what: form.name, folder: folder.into() };
        if !file.exists() {
            return Err(missing());
        }
        let lock = match access {
            Access::Write => Some(Lock::take(&file.with_extension("lock"))?),
            Access::Read => None,
        };
        let failed = |error: &rusqlite::Error| StoreError::sqlite(form.name, &file, error, 0);
        let connection = connect(&file, access).map_err(|e| failed(&e))?;
        if is_blank(&connection).map_err(|e| failed(&e))? {
            return Err(missing());
        }
        let head = (0, String::new());
        let mut store = Store { form, file, connection, access, head, poisoned: false, _lock: lock };
        store.check_form()?;
        if access == Access::Write {
            secure(&store.connection).map_err(|error| store.failed(&error))?;
        }
        store.check_pages()?;
        store.read(&mut take)?;
        Ok(store)
    }

    /// The process that writes to the store in `folder` at present, determined without disturbing it.
    pub fn writer(folder: &Path, form: Form) -> Option<Holder> {
        lock::holder(&folder.join(form.name).with_extension("lock"))
    }

    /// Folder of the store.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }

    /// Path of the database.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Database connection for queries on the derived tables.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sequence number and checksum of the last event: equal heads mean equal histories.
    pub fn head(&self) -> (u64, &str) {
        (self.head.0, &self.head.1)
    }

    /// Writes events and derived tables in one transaction; when this returns they are on disk. After a failure the store rejects further
    /// writes and must be opened again.
    pub fn append(
        &mut self,
        events: &[(&'static str, String)],
        follows: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        assert!(self.access == Access::Write, "a store opened for reading is not written to");
        if self.poisoned {
            return Err(StoreError::Poisoned(self.file.clone()));
        }
        match self.write(events, follows) {
            Ok(head) => {
                self.head = head;
                Ok(())
            }
            Err(error) => {
                self.poisoned = true;
                Err(self.failed(&error))
            }
        }
    }

    fn write(
        &mut self,
        events: &[(&'static str, String)],
        follows: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<(u64, String)> {
        let transaction = self.connection.transaction()?;
        let head = insert(&transaction, self.head.clone(), events, follows)?;
        transaction.commit()?;
        Ok(head)
    }

    /// Runs SQL that changes derived tables.
    pub fn rebuild(
        &mut self,
        make: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let done = (|| {
            let transaction = self.connection.transaction()?;
            make(&transaction)?;
            transaction.commit()
        })();
        done.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(self.form.name, &self.file, error, self.head.0)
    }

    fn damaged(&self, record: impl Into<String>) -> StoreError {
        let (what, file, record) = (self.form.name, self.file.clone(), record.into());
        StoreError::Damaged { what, file, record, good: self.head.0 }
    }

    /// Verifies that the database belongs to this program and is not from a later version; migrates older schemas.
    fn check_form(&mut self) -> Result<(), StoreError> {
        let pragma = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let application = pragma("application_id").map_err(|error| self.failed(&error))?;
        let theirs = pragma("user_version").map_err(|error| self.failed(&error))?;
        if application != APPLICATION || theirs < 1 {
            return Err(self.damaged("the file is not an ocorl database"));
        }
        if theirs > self.form.version {
            return Err(StoreError::Newer { file: self.file.clone(), theirs, ours: self.form.version });
        }
        if theirs < self.form.version && self.access == Access::Write {
            let from = usize::try_from(theirs - 1).unwrap_or(0);
            let (version, steps) = (self.form.version, self.form.migrations);
            self.rebuild(|transaction| {
                steps.iter().skip(from).try_for_each(|step| transaction.execute_batch(step))?;
                transaction.pragma_update(None, "user_version", version)
            })?;
        }
        Ok(())
    }

    fn check_pages(&self) -> Result<(), StoreError> {
        let said: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.failed(&error))?;
        if said == "ok" { Ok(()) } else { Err(self.damaged(said)) }
    }

    /// Reads all events in order; verifies sequence numbers, checksums, and the last checksum against the head.
    fn read(&mut self, take: &mut impl FnMut(Record) -> Result<(), String>) -> Result<(), StoreError> {
        let mut head = (0, String::new());
        let outcome = each_record(&self.connection, &mut head, take);
        self.head = head;
        match outcome {
            Ok(None) => {}
            Ok(Some(record)) => return Err(self.damaged(record)),
            Err(error) => return Err(self.failed(&error)),
        }
        let stated: Option<(i64, String)> = self
            .connection
            .query_row("SELECT seq, checksum FROM head", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(|error| self.failed(&error))?;
        match stated {
            Some((seq, checksum)) if (seq.cast_unsigned(), checksum.as_str()) == self.head() => Ok(()),
            Some((seq, _)) => {
                Err(self.damaged(format!("{}: it is not the last; {seq} were written", self.head.0)))
            }
            None => Err(self.damaged("the head is gone")),
        }
    }
}

/// Writes events after `head` and their derived tables; returns the new head.
fn insert(
    transaction: &Transaction<'_>,
    head: (u64, String),
    events: &[(&'static str, String)],
    follows: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
) -> rusqlite::Result<(u64, String)> {
    let (mut seq, mut checksum) = head;
    let first = seq + 1;
    for (kind, payload) in events {
        seq += 1;
        checksum = chained(&checksum, seq, kind, payload);
        let sql = "INSERT INTO events (seq, kind, payload, checksum) VALUES (?1, ?2, ?3, ?4)";
        transaction.prepare_cached(sql)?.execute(params![seq.cast_signed(), kind, payload, checksum])?;
    }
    let sql = "UPDATE head SET seq = ?1, checksum = ?2";
    transaction.prepare_cached(sql)?.execute(params![seq.cast_signed(), checksum])?;
    follows(transaction, first)?;
    Ok((seq, checksum))
}

/// Passes records to a callback until one is invalid, and describes that one. `head` follows the valid ones.
fn each_record(
    connection: &Connection,
    head: &mut (u64, String),
    take: &mut impl FnMut(Record) -> Result<(), String>,
) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare("SELECT seq, kind, payload, checksum FROM events ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, stated): (i64, String) = (row.get(0)?, row.get(3)?);
        let (seq, expected) = (seq.cast_unsigned(), head.0 + 1);
        if seq != expected {
            return Ok(Some(format!("{expected}: it is missing; the next one is {seq}")));
        }
        let record = Record { seq, kind: row.get(1)?, payload: row.get(2)? };
        let checksum = chained(&head.1, seq, &record.kind, &record.payload);
        if stated != checksum {
            let short = |text: &str| text.chars().take(8).collect::<String>();
            let (stated, checksum) = (short(&stated), short(&checksum));
            return Ok(Some(format!("{seq}: its checksum is {stated}, of its contents {checksum}")));
        }
        if let Err(cause) = take(record) {
            return Ok(Some(format!("{seq}: {cause}")));
        }
        *head = (seq, checksum);
    }
    Ok(None)
}

/// The valid records of a damaged store, from the first on; the store is not modified.
pub fn salvage(folder: &Path, form: Form) -> Result<Vec<Record>, StoreError> {
    let file = folder.join(form.name).with_extension("db");
    if !file.exists() {
        return Err(StoreError::Missing { what: form.name, folder: folder.into() });
    }
    let connection = connect(&file, Access::Read).map_err(|e| StoreError::sqlite(form.name, &file, &e, 0))?;
    let (mut head, mut good) = ((0, String::new()), Vec::new());
    // The first invalid record ends the recovery.
    let _ = each_record(&connection, &mut head, &mut |record| {
        good.push(record);
        Ok(())
    });
    Ok(good)
}

/// Checksum of an event that follows one with the checksum `before`.
fn chained(before: &str, seq: u64, kind: &str, payload: &str) -> String {
    let mut hash = Sha256::new();
    for part in [before, &seq.to_string(), kind, payload] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Whether the database is empty, because a process died while creating the store.
fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| Ok(row.get::<_, i64>(0)? == 0))
}

fn connect(file: &Path, access: Access) -> rusqlite::Result<Connection> {
    let connection = match access {
        Access::Write => Connection::open(file)?,
        Access::Read => look(file)?,
    };
    connection.busy_timeout(Duration::from_secs(10))?;
    Ok(connection)
}

/// Configures the connection such that committed data are on disk.
fn secure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    connection.pragma_update(None, "cell_size_check", "ON")
}

/// Opens a database read-only; in immutable mode if the index of the write-ahead log cannot be written.
fn look(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        Connection::open_with_flags(file, flags)
            .and_then(|connection| is_blank(&connection).map(|_| connection))
    };
    match open() {
        // A process died while creating the store, before the write-ahead log was enabled: nothing has been recorded yet. SQLite has to
        // roll back the partial write, which a reader cannot do.
        Err(rusqlite::Error::SqliteFailure(code, _)) if code.extended_code == SQLITE_READONLY_ROLLBACK => {
            is_blank(&Connection::open(file)?)?;
            open()
        }
        Err(rusqlite::Error::SqliteFailure(code, _)) if code.code == rusqlite::ErrorCode::CannotOpen => {
            let escape = |c: char| match c {
                '%' | '?' | '#' => format!("%{:02x}", c as u32),
                other => other.to_string(),
            };
            let path: String = file.to_string_lossy().chars().map(escape).collect();
            let uri = format!("file:{path}?immutable=1");
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        other => other,
    }
}
