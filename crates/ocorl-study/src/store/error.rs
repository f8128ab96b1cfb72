//! Why a store cannot be used: what, where, and what is still good.

use super::lock::Holder;
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// Why a store cannot be used. Nothing was changed on disk, unless it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is none.
    #[error("there is no {what} in '{}'", folder.display())]
    Missing {
        /// Study or sweep.
        what: &'static str,
        /// Where.
        folder: PathBuf,
    },
    /// There is one already.
    #[error("there is a {what} in '{}' already", folder.display())]
    Exists {
        /// Study or sweep.
        what: &'static str,
        /// Where.
        folder: PathBuf,
    },
    /// Bytes are not what was written.
    #[error("the {what} in '{}' is damaged", file.parent().unwrap_or(file).display())]
    Damaged {
        /// Study or sweep.
        what: &'static str,
        /// The database.
        file: PathBuf,
        /// Where in it, and how that is known.
        record: String,
        /// Records 1 to this are whole.
        good: u64,
    },
    /// A later version made it.
    #[error("'{}' was made by a later version of ocorl (its form is {theirs}, this program knows {ours})", file.display())]
    Newer {
        /// The database.
        file: PathBuf,
        /// Its form.
        theirs: i64,
        /// The latest that is known here.
        ours: i64,
    },
    /// Another process writes.
    #[error("{}", in_use(folder, holder.as_ref()))]
    InUse {
        /// Where.
        folder: PathBuf,
        /// Who; none if it has not signed yet.
        holder: Option<Holder>,
    },
    /// The file system refuses.
    #[error("cannot use '{}': {cause}", path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// What it says.
        cause: String,
    },
    /// A write failed before; what is in memory may not be what is on disk.
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

impl StoreError {
    pub(super) fn io(path: &Path, source: &io::Error) -> Self {
        StoreError::Disk { path: path.into(), cause: source.to_string() }
    }

    /// What SQLite says of the database `file`; `good` records are known to be whole.
    pub(crate) fn sqlite(what: &'static str, file: &Path, error: &rusqlite::Error, good: u64) -> Self {
        let damaged = |record: String| StoreError::Damaged { what, file: file.into(), record, good };
        match error {
            rusqlite::Error::SqliteFailure(code, message) => {
                let text = message.clone().unwrap_or_else(|| code.to_string());
                match code.code {
                    // The last: a table or a column is not there.
                    ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown => {
                        damaged(text)
                    }
                    ErrorCode::DiskFull => {
                        StoreError::Disk { path: file.into(), cause: "the disk is full".into() }
                    }
                    _ => StoreError::Disk { path: file.into(), cause: text },
                }
            }
            // A column of another type, a missing table: somebody changed the database.
            other => damaged(other.to_string()),
        }
    }
}
