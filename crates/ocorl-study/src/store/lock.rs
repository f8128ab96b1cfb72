//! Exclusive write access: a kernel lock on a file, which is released when the holding process ends for any reason.

use super::StoreError;
use crate::clock;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// A held lock; other processes cannot write until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Process that took the lock; a forked process has a copy of this value.
    pid: u32,
}

/// Identity of the lock holder, stored in the lock file for error messages of other processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Host name.
    pub host: String,
    /// Time at which the lock was taken (UTC).
    pub since: String,
}

impl Lock {
    /// Takes the lock at `path`; returns the holder as an error if it is taken.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::io(path, &source);
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text); // the holder may not have written its identity yet
                let holder = serde_json::from_str(&text).ok();
                let folder = path.parent().unwrap_or(path).to_path_buf();
                return Err(StoreError::InUse { folder, holder });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let holder = Holder {
            pid: std::process::id(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            since: clock::now(),
        };
        let text = serde_json::to_string(&holder).map_err(|error| io(error.into()))? + "\n";
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(io)?;
        Ok(Lock { file, pid: holder.pid })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            // Clears the identity. If that fails, the stale process id shows that the lock is free.
            let _ = self.file.set_len(0);
        }
    }
}

/// The holder of the lock at `path`, read without taking the lock: taking it, even briefly, would reject a writer.
pub(super) fn holder(path: &Path) -> Option<Holder> {
    let holder: Holder = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let here = gethostname::gethostname().to_string_lossy() == *holder.host;
    let processes = Path::new("/proc");
    let gone = here && processes.join("self").exists() && !processes.join(holder.pid.to_string()).exists();
    (!gone).then_some(holder)
}
