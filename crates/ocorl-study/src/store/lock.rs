//! One writer at a time: a lock of the kernel on a file, so that it goes when its holder dies, however it dies.

use super::StoreError;
use crate::clock;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Who writes; nobody else does until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Who took it; a process that was forked since has a copy.
    pid: u32,
}

/// What stands in the file, for the message to whoever comes second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Number of the process.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// Since when (UTC).
    pub since: String,
}

impl Lock {
    /// Takes the lock at `path`, or says who has it.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::io(path, &source);
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text); // whoever took it may not have signed yet
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
        let text = serde_json::to_string(&holder).unwrap_or_default() + "\n";
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
            // Who has left does not sign. If that fails, its number tells: nobody has it any more.
            let _ = self.file.set_len(0);
        }
    }
}

/// Who holds the lock at `path`, as far as can be told without touching it: taking it, if only to look, would turn a writer away.
pub(super) fn holder(path: &Path) -> Option<Holder> {
    let holder: Holder = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let here = gethostname::gethostname().to_string_lossy() == *holder.host;
    let processes = Path::new("/proc");
    let gone = here && processes.join("self").exists() && !processes.join(holder.pid.to_string()).exists();
    (!gone).then_some(holder)
}
