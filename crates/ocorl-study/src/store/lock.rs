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
    /// Identity written to the file; a forked process has a copy of it.
    holder: Holder,
    /// The holder that died without releasing the lock.
    dead: Option<Holder>,
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
    /// Sequence number of the last record that is known to be on disk, if the holder has stated it. It is written after the record, so a
    /// store that ends before it has lost records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<u64>,
}

impl Lock {
    /// Takes the lock at `path`; returns the holder as an error if it is taken. The second value is a holder that died without releasing
    /// the lock.
    pub(super) fn take(path: &Path) -> Result<(Self, Option<Holder>), StoreError> {
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
        let mut text = String::new();
        let dead: Option<Holder> =
            file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
        let holder = Holder {
            pid: std::process::id(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            since: clock::now(),
            acknowledged: None,
        };
        file.set_len(0).map_err(io)?;
        let mut lock = Lock { file, holder, dead: dead.clone() };
        lock.sign().map_err(io)?;
        Ok((lock, dead))
    }

    /// Writes the identity over the former one, which is never longer.
    fn sign(&mut self) -> std::io::Result<()> {
        let text = serde_json::to_string(&self.holder)? + "\n";
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }

    /// States that the record with this number is on disk. If that cannot be written, the number stays behind, which is harmless.
    pub(super) fn acknowledge(&mut self, seq: u64) {
        if self.holder.pid == std::process::id() {
            self.holder.acknowledged = Some(seq);
            let _ = self.sign();
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.holder.pid == std::process::id() {
            // Clears the identity. If that fails, the stale process id shows that the lock is free.
            let _ = self.file.set_len(0);
            // A store that could not be opened keeps the signature of the writer that died: the next one has to know what is missing.
            if let Some(dead) = self.dead.take().filter(|_| self.holder.acknowledged.is_none()) {
                self.holder = dead;
                let _ = self.sign();
            }
        }
    }
}

/// The holder of the lock at `path`, read without taking the lock: taking it, even briefly, would reject a writer.
pub(super) fn holder(path: &Path) -> Option<Holder> {
    match signed(path) {
        Signature::Alive(holder) => Some(holder),
        Signature::Nobody | Signature::Dead(_) => None,
    }
}

/// What the lock file says.
pub(super) enum Signature {
    /// The last holder released the lock.
    Nobody,
    /// A holder that works, as far as can be told.
    Alive(Holder),
    /// A holder whose process has ended without releasing the lock.
    Dead(Holder),
}

/// Reads the lock file at `path` without taking the lock.
pub(super) fn signed(path: &Path) -> Signature {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(holder) = serde_json::from_str::<Holder>(&text) else { return Signature::Nobody };
    let here = gethostname::gethostname().to_string_lossy() == *holder.host;
    let processes = Path::new("/proc");
    let gone = here && processes.join("self").exists() && !processes.join(holder.pid.to_string()).exists();
    if gone { Signature::Dead(holder) } else { Signature::Alive(holder) }
}
