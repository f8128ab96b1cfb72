//! Errors of a store.

use super::lock::Holder;
use rusqlite::ErrorCode;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a store cannot be used. Nothing was changed on disk unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder contains no store.
    #[error("there is no {what} in '{}'", folder.display())]
    Missing {
        /// Kind of store: study or sweep.
        what: &'static str,
        /// Folder that was searched.
        folder: PathBuf,
    },
    /// The folder already contains a store.
    #[error("there is a {what} in '{}' already", folder.display())]
    Exists {
        /// Kind of store: study or sweep.
        what: &'static str,
        /// Folder of the store.
        folder: PathBuf,
    },
    /// The contents differ from what was written.
    #[error("the {what} in '{}' is damaged", file.parent().unwrap_or(file).display())]
    Damaged {
        /// Kind of store: study or sweep.
        what: &'static str,
        /// Path of the database.
        file: PathBuf,
        /// The damaged record and the check that failed.
        record: String,
        /// Number of intact records: records 1 to this one are valid.
        good: u64,
    },
    /// The store was written by a later version of the program.
    #[error("'{}' was made by a later version of ocorl (its schema version is {theirs}, this program supports {ours})", file.display())]
    Newer {
        /// Path of the database.
        file: PathBuf,
        /// Schema version of the database.
        theirs: i64,
        /// Latest schema version that this program supports.
        ours: i64,
    },
    /// Another process is writing.
    #[error("{}", in_use(folder, holder.as_ref()))]
    InUse {
        /// Folder of the store.
        folder: PathBuf,
        /// The writing process; `None` if it has not written its identity yet.
        holder: Option<Holder>,
    },
    /// The file system reported an error.
    #[error("cannot use '{}': {cause}", path.display())]
    Disk {
        /// Path of the file.
        path: PathBuf,
        /// Error message of the file system.
        cause: String,
        /// Class of the error, which decides what the user can do.
        fault: DiskFault,
    },
    /// A value cannot be encoded as JSON; nothing was stored.
    #[error("{what} cannot be written as JSON: {cause}")]
    Encode {
        /// The value that was to be stored.
        what: &'static str,
        /// Error message of the encoder.
        cause: String,
    },
    /// An event would not be the same after it is read back, so it was not stored: a later reader would reject the whole store.
    #[error(
        "the event '{kind}' was not stored, because reading it back does not give the same event: {cause}"
    )]
    NotReadBack {
        /// Kind of the event.
        kind: &'static str,
        /// The error of the reader, or the difference.
        cause: String,
    },
    /// An earlier write failed; memory and disk may disagree.
    #[error("a write to '{}' failed before", .0.display())]
    Poisoned(PathBuf),
}

/// Class of a file-system error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskFault {
    /// No space is left, or a quota is exhausted.
    Full,
    /// The file or its folder may not be written, or not be read.
    Permission,
    /// The path does not lead to a folder in which a store can be.
    Path,
    /// Another program holds the database open and locked.
    Busy,
    /// Any other error, such as one of the device.
    Other,
}

impl DiskFault {
    fn of(kind: io::ErrorKind) -> Self {
        use io::ErrorKind as Kind;
        match kind {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => DiskFault::Full,
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => DiskFault::Permission,
            Kind::NotFound
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::AlreadyExists
            | Kind::InvalidFilename
            | Kind::InvalidInput => DiskFault::Path,
            Kind::WouldBlock | Kind::ResourceBusy | Kind::TimedOut => DiskFault::Busy,
            _ => DiskFault::Other,
        }
    }

    /// What the user can do; the same in every front end.
    pub fn advice(self) -> &'static str {
        match self {
            DiskFault::Full => "free disk space, then repeat it; nothing was partly written",
            DiskFault::Permission => "get permission for the folder and its files, then repeat it",
            DiskFault::Path => "give a folder, existing or new, in which files can be created",
            DiskFault::Busy => "close the other program that holds the database open, then repeat it",
            DiskFault::Other => {
                "see the cause above; if the device is failing, copy the folder to another one first"
            }
        }
    }
}

fn in_use(folder: &Path, holder: Option<&Holder>) -> String {
    let folder = folder.display();
    match holder {
        Some(Holder { pid, host, since, .. }) => {
            format!("'{folder}' is in use by process {pid} on '{host}' since {since}")
        }
        None => format!("'{folder}' is in use by another process"),
    }
}

/// Encodes `value` as JSON for the event log.
pub(crate) fn encoded(what: &'static str, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Encode { what, cause: error.to_string() })
}

/// Encodes `value` as JSON for a table of the database.
pub(crate) fn encoded_column(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

impl StoreError {
    pub(super) fn io(path: &Path, source: &io::Error) -> Self {
        let fault = DiskFault::of(source.kind());
        StoreError::Disk { path: path.into(), cause: source.to_string(), fault }
    }

    /// Converts an SQLite error about the database `file`; `good` records are known to be intact.
    pub(crate) fn sqlite(what: &'static str, file: &Path, error: &rusqlite::Error, good: u64) -> Self {
        let damaged = |record: String| StoreError::Damaged { what, file: file.into(), record, good };
        match error {
            rusqlite::Error::SqliteFailure(code, message) => {
                let text = message.clone().unwrap_or_else(|| code.to_string());
                match code.code {
                    ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => match super::second_look(file) {
                        Some(cause) => StoreError::Disk { path: file.into(), cause, fault: DiskFault::Other },
                        None => damaged(text),
                    },
                    // `Unknown` stands for a missing table or column.
                    ErrorCode::Unknown => damaged(text),
                    other => {
                        let (fault, cause) = match other {
                            ErrorCode::DiskFull => (DiskFault::Full, "the disk is full".into()),
                            ErrorCode::PermissionDenied
                            | ErrorCode::ReadOnly
                            | ErrorCode::AuthorizationForStatementDenied => (DiskFault::Permission, text),
                            ErrorCode::CannotOpen => (DiskFault::Path, text),
                            ErrorCode::DatabaseBusy
                            | ErrorCode::DatabaseLocked
                            | ErrorCode::FileLockingProtocolFailed => (DiskFault::Busy, text),
                            _ => (DiskFault::Other, text),
                        };
                        StoreError::Disk { path: file.into(), cause, fault }
                    }
                }
            }
            // A column of another type or a missing table: the database was modified from outside.
            other => damaged(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_has_no_form_as_json_is_an_error_and_no_empty_text() {
        // JSON allows only strings as keys.
        let bad = BTreeMap::from([(vec![1], 1)]);
        let error = encoded("an event", &bad).unwrap_err();
        assert!(error.to_string().starts_with("an event cannot be written as JSON"), "{error}");
        assert!(matches!(encoded_column(&bad), Err(rusqlite::Error::ToSqlConversionFailure(_))));
        assert_eq!(encoded("an event", &[1.5]).unwrap(), "[1.5]");
    }
}
