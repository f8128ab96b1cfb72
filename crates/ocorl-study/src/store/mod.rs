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
//!
//! Two rules hold everywhere:
//!
//! - An event is parsed back from its text and compared before it is committed ([`Entry`]), so that no write can produce a store that no
//!   reader accepts.
//! - A reader uses one transaction for everything that it compares ([`Store::snapshot`]), so that a writer cannot change one half of a
//!   comparison meanwhile.

mod error;
mod lock;
mod log;

pub use error::{DiskFault, StoreError};
pub(crate) use error::{encoded, encoded_column};
pub use lock::Holder;
pub use log::{Interruption, LogEnd};

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

/// An event that can be stored.
pub trait Entry {
    /// Kind of the event.
    fn kind(&self) -> &'static str;

    /// The event as JSON.
    fn payload(&self) -> Result<String, StoreError>;

    /// Parses `payload` as a reader does. Returns whether that gives this event again; the error is the one of the reader.
    fn is_read_from(&self, payload: &str) -> Result<bool, String>;
}

/// Text that is JSON already.
impl Entry for (&'static str, String) {
    fn kind(&self) -> &'static str {
        self.0
    }

    fn payload(&self) -> Result<String, StoreError> {
        Ok(self.1.clone())
    }

    fn is_read_from(&self, payload: &str) -> Result<bool, String> {
        serde_json::from_str::<serde::de::IgnoredAny>(payload).map_err(|error| error.to_string())?;
        Ok(payload == self.1)
    }
}

/// Kind and text of the events, each read back and compared.
fn verified(events: &[impl Entry]) -> Result<Vec<(&'static str, String)>, StoreError> {
    let one = |event: &_| {
        let (kind, payload) = (Entry::kind(event), Entry::payload(event)?);
        match Entry::is_read_from(event, &payload) {
            Ok(true) => Ok((kind, payload)),
            Ok(false) => {
                let cause = "a number in it is not finite, or is written inexactly".into();
                Err(StoreError::NotReadBack { kind, cause })
            }
            Err(cause) => Err(StoreError::NotReadBack { kind, cause }),
        }
    };
    events.iter().map(one).collect()
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
    /// What a writer that did not close the store has left behind.
    interruption: Option<Interruption>,
    lock: Option<Lock>,
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
        Store::create_with(folder, form, &[] as &[(&'static str, String)], |_, _| Ok(()))
    }

    /// Creates a new store with its first events and derived tables in one transaction: if that fails, there is no store.
    pub fn create_with(
        folder: &Path,
        form: Form,
        events: &[impl Entry],
        follows: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
    ) -> Result<Self, StoreError> {
        let events = &verified(events)?;
        std::fs::create_dir_all(folder).map_err(|source| StoreError::io(folder, &source))?;
        let file = match located(folder, form)? {
            Some(file) => file,
            None => folder.join(form.name).with_extension("db"),
        };
        let (mut lock, _) = Lock::take(&file.with_extension("lock"))?;
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
        lock.acknowledge(head.0);
        Ok(Store {
            form,
            file,
            connection,
            access: Access::Write,
            head,
            poisoned: false,
            interruption: None,
            lock: Some(lock),
        })
    }

    /// Opens the store in `folder` and verifies it completely; passes every event to `take`, in order.
    pub fn open(
        folder: &Path,
        form: Form,
        access: Access,
        take: impl FnMut(Record) -> Result<(), String>,
    ) -> Result<Self, StoreError> {
        Store::opened(folder, form, access, take).map_err(|error| match error {
            // The damage was found before the first record was read: count what can be recovered.
            StoreError::Damaged { what, file, record, good: 0 } => {
                let good = salvage(folder, form).map_or(0, |good| good.len() as u64);
                StoreError::Damaged { what, file, record, good }
            }
            other => other,
        })
    }

    fn opened(
        folder: &Path,
        form: Form,
        access: Access,
        mut take: impl FnMut(Record) -> Result<(), String>,
    ) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { what: form.name, folder: folder.into() };
        let file = located(folder, form)?.ok_or_else(missing)?;
        let lock_file = file.with_extension("lock");
        // What a dead writer left is looked at before SQLite uses the log, and before this process signs the lock.
        let (lock, left) = match access {
            Access::Write => {
                let (lock, dead) = Lock::take(&lock_file)?;
                (Some(lock), Some(log::left_behind(&file, dead)))
            }
            Access::Read => (None, log::left_behind_if_unattended(&file, &lock_file)),
        };
        let failed = |error: &rusqlite::Error| StoreError::sqlite(form.name, &file, error, 0);
        let connection = connect(&file, access).map_err(|e| failed(&e))?;
        if is_blank(&connection).map_err(|e| failed(&e))? {
            return Err(match left.and_then(|left| left.report(0)).filter(|left| left.lost() > 0) {
                Some(left) => {
                    let record = format!("the database is empty; {left}");
                    StoreError::Damaged { what: form.name, file, record, good: 0 }
                }
                None => missing(),
            });
        }
        let head = (0, String::new());
        let (interruption, poisoned) = (None, false);
        let mut store = Store { form, file, connection, access, head, poisoned, interruption, lock };
        if access == Access::Write {
            store.check_form()?;
            secure(&store.connection).map_err(|error| store.failed(&error))?;
            is_writable(&store.connection).map_err(|error| store.failed(&error))?;
        }
        store.begin_reading()?;
        let verified =
            store.check_form().and_then(|()| store.check_pages()).and_then(|()| store.read(&mut take));
        let ended = store.end_reading();
        verified.and(ended)?;
        if access == Access::Write {
            log::synchronise(&store.file).map_err(|error| StoreError::io(&store.file, &error))?;
        }
        let head = store.head.0;
        store.interruption = left.and_then(|left| left.report(head));
        if let Some(lock) = &mut store.lock {
            lock.acknowledge(head);
        }
        Ok(store)
    }

    /// Begins a transaction: all queries until [`Store::end_reading`] see the same state, whatever a writer does.
    fn begin_reading(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("BEGIN DEFERRED").map_err(|error| self.failed(&error))
    }

    fn end_reading(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT").map_err(|error| self.failed(&error))
    }

    /// Runs queries in one transaction: all of them see the same state, whatever a writer does meanwhile.
    pub fn snapshot<T>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.begin_reading()?;
        let seen = look(&self.connection).map_err(|error| self.failed(&error));
        let ended = self.end_reading();
        seen.and_then(|seen| ended.map(|()| seen))
    }

    /// What a writer left behind that did not close the store, if records may be missing because of it.
    pub fn interruption(&self) -> Option<&Interruption> {
        self.interruption.as_ref()
    }

    /// The process that writes to the store in `folder` at present, determined without disturbing it.
    pub fn writer(folder: &Path, form: Form) -> Option<Holder> {
        let file = located(folder, form).ok()??;
        lock::holder(&file.with_extension("lock"))
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

    /// Writes events and derived tables in one transaction; when this returns they are on disk. An event that cannot be read back as it is
    /// is rejected, and nothing changes. After a failed write the store rejects further writes and must be opened again.
    pub fn append(
        &mut self,
        events: &[impl Entry],
        follows: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        assert!(self.access == Access::Write, "a store opened for reading is not written to");
        if self.poisoned {
            return Err(StoreError::Poisoned(self.file.clone()));
        }
        let events = verified(events)?;
        match self.write(&events, follows) {
            Ok(head) => {
                self.head = head;
                if let Some(lock) = &mut self.lock {
                    lock.acknowledge(self.head.0);
                }
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
        if said == "ok" {
            return Ok(());
        }
        match second_look(&self.file) {
            Some(cause) => Err(StoreError::Disk { path: self.file.clone(), cause, fault: DiskFault::Other }),
            None => Err(self.damaged(said)),
        }
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
    let Some(file) = located(folder, form)? else {
        return Err(StoreError::Missing { what: form.name, folder: folder.into() });
    };
    let connection = look_at_ruins(&file).map_err(|e| StoreError::sqlite(form.name, &file, &e, 0))?;
    let (mut head, mut good) = ((0, String::new()), Vec::new());
    // The first invalid record ends the recovery.
    let _ = each_record(&connection, &mut head, &mut |record| {
        good.push(record);
        Ok(())
    });
    Ok(good)
}

/// Looks again at a database that SQLite calls damaged: it does so too if the device cannot be read. Returns the cause if the file is
/// unreadable, or is intact after all.
fn second_look(file: &Path) -> Option<String> {
    if let Err(error) = std::fs::read(file) {
        return Some(error.to_string());
    }
    let said = look(file).and_then(|connection| {
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    });
    said.is_ok_and(|said| said == "ok").then(|| "a read failed, and succeeded when it was repeated".into())
}

/// Path of the database in `folder`, if there is one. A symbolic link is followed, so that all processes that reach a database, on
/// whatever way, use the same lock and the same log.
fn located(folder: &Path, form: Form) -> Result<Option<PathBuf>, StoreError> {
    let file = folder.join(form.name).with_extension("db");
    match file.canonicalize() {
        Ok(found) if found.is_dir() => Err(StoreError::Disk {
            path: file,
            cause: "it is a folder, not a file".into(),
            fault: DiskFault::Path,
        }),
        // The path stays as it was given, for messages, unless a link leads elsewhere.
        Ok(found) => Ok(Some(if file.is_symlink() { found } else { file })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !file.is_symlink() => Ok(None),
        Err(error) => Err(StoreError::io(&file, &error)),
    }
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

/// Opens a damaged database read-only. The pragma lets SQLite read a file that is shorter than its header states; nothing is written.
fn look_at_ruins(file: &Path) -> rusqlite::Result<Connection> {
    let connection = match look(file) {
        Ok(connection) => connection,
        Err(_) => Connection::open_with_flags(
            file,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
    };
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "writable_schema", "ON")?;
    Ok(connection)
}

/// Configures the connection such that committed data are on disk.
fn secure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    connection.pragma_update(None, "cell_size_check", "ON")
}

/// Checks that the connection can write. SQLite opens a database, or the index of its log, for reading only if it cannot open it for writing;
/// without this check a plan would be computed first, and then refused.
fn is_writable(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")
}

/// Opens a database read-only; in immutable mode if the index of the write-ahead log cannot be written. That mode does not read the log,
/// so it is refused while there are records in the log.
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
        Err(rusqlite::Error::SqliteFailure(code, _))
            if code.code == rusqlite::ErrorCode::CannotOpen || code.code == rusqlite::ErrorCode::ReadOnly =>
        {
            if log::is_used(file) {
                let cause = "the last writer left records in its write-ahead log; to read them needs permission to write \
                             (copy the folder to where you have it)";
                return Err(rusqlite::Error::SqliteFailure(code, Some(cause.into())));
            }
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
