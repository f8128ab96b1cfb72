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
    },
    /// A value cannot be encoded as JSON; nothing was stored.
    #[error("{what} cannot be written as JSON: {cause}")]
    Encode {
        /// The value that was to be stored.
        what: &'static str,
        /// Error message of the encoder.
        cause: String,
    },
    /// An earlier write failed; memory and disk may disagree.
    #[error("a write to '{}' failed before", .0.display())]
    Poisoned(PathBuf),
}

fn in_use(folder: &Path, holder: Option<&Holder>) -> String {
    let folder = folder.display();
    match holder {
        Some(Holder { pid, host, since }) => {
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
        StoreError::Disk { path: path.into(), cause: source.to_string() }
    }

    /// Converts an SQLite error about the database `file`; `good` records are known to be intact.
    pub(crate) fn sqlite(what: &'static str, file: &Path, error: &rusqlite::Error, good: u64) -> Self {
        let damaged = |record: String| StoreError::Damaged { what, file: file.into(), record, good };
        match error {
            rusqlite::Error::SqliteFailure(code, message) => {
                let text = message.clone().unwrap_or_else(|| code.to_string());
                match code.code {
                    // `Unknown` stands for a missing table or column.
                    ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown => {
                        damaged(text)
                    }
                    ErrorCode::DiskFull => {
                        StoreError::Disk { path: file.into(), cause: "the disk is full".into() }
                    }
                    _ => StoreError::Disk { path: file.into(), cause: text },
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
