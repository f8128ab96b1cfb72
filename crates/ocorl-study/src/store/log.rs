//! What a writer that died has left in the write-ahead log.
//!
//! SQLite uses a log up to its last complete transaction and ignores the rest without a word. That is right after a crash in the middle of a
//! write, and hides a log that was cut off or changed afterwards. This module finds the rest, so that it can be reported.
//!
//! Layout of the log (sqlite.org/fileformat2.html, section 4): a header of 32 bytes, then frames of 24 bytes and one page each. A frame
//! carries the salts of the header and a checksum over everything before it. Frames with other salts are remains of an earlier use of the
//! file and mean nothing.

use super::lock::{self, Holder, Signature};
use std::fmt;
use std::fs::OpenOptions;
use std::path::Path;

/// Where the usable part of a log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// Number of bytes after the last complete transaction that belong to this use of the log and cannot be used because they are cut off
    /// or changed.
    pub damaged: u64,
    /// Number of bytes of intact frames after the last complete transaction.
    pub unfinished: u64,
}

/// A writer did not close the store, and records may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// The writer, if it left its name.
    pub writer: Option<Holder>,
    /// The unusable rest of its log.
    pub log: LogEnd,
    /// Number of the last record in the store.
    pub last: u64,
}

impl Interruption {
    /// Number of records that were on disk and are gone; 0 if none is known to be.
    pub fn lost(&self) -> u64 {
        let acknowledged = self.writer.as_ref().and_then(|writer| writer.acknowledged);
        acknowledged.unwrap_or(0).saturating_sub(self.last)
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.writer {
            Some(Holder { pid, host, since, .. }) => {
                write!(
                    f,
                    "the last writer (process {pid} on '{host}' since {since}) died before it closed the store"
                )?;
            }
            None => f.write_str("the last writer died before it closed the store")?,
        }
        let LogEnd { damaged, unfinished } = self.log;
        if damaged > 0 {
            write!(f, "; {damaged} bytes of its write-ahead log are cut off or changed and were not used")?;
        } else if unfinished > 0 {
            write!(
                f,
                "; {unfinished} bytes of its write-ahead log belong to an unfinished write and were not used"
            )?;
        }
        match (self.lost(), self.last) {
            (0, last) => write!(
                f,
                "; the store is intact up to record {last}, what was being recorded after it may be missing: compare the last \
                 episode with your files, and record again what is missing"
            ),
            (lost, last) => write!(
                f,
                "; the store ends at record {last}, {lost} later records were on disk and are missing: record the last \
                 measurements again"
            ),
        }
    }
}

/// What was found before the store was opened.
#[derive(Debug)]
pub(super) struct Left {
    writer: Option<Holder>,
    log: LogEnd,
}

impl Left {
    /// The interruption, if records may be missing in a store whose last record is `last`.
    pub(super) fn report(self, last: u64) -> Option<Interruption> {
        let Left { writer, log } = self;
        // Without a dead writer, intact frames without an end are a write that was taken back.
        let unfinished = writer.is_some() && log.unfinished > 0;
        let found = Interruption { writer, log, last };
        (log.damaged > 0 || unfinished || found.lost() > 0).then_some(found)
    }
}

/// What was left beside the database `file`, by a writer that died (`dead`) or by an unknown one. The caller holds the lock.
pub(super) fn left_behind(file: &Path, dead: Option<Holder>) -> Left {
    let log = read(file).unwrap_or_default();
    Left { writer: dead, log }
}

/// The same for a reader; `None` while a writer works, whose log is being written.
pub(super) fn left_behind_if_unattended(file: &Path, lock_file: &Path) -> Option<Left> {
    let attended = || matches!(lock::signed(lock_file), Signature::Alive(_));
    let writer = match lock::signed(lock_file) {
        Signature::Alive(_) => return None,
        Signature::Dead(holder) => Some(holder),
        Signature::Nobody => None,
    };
    let log = read(file).unwrap_or_default();
    // A writer may have begun meanwhile.
    (!attended()).then_some(Left { writer, log })
}

/// Whether there is anything in the log of the database `file`.
pub(super) fn is_used(file: &Path) -> bool {
    std::fs::metadata(file.with_extension("db-wal")).is_ok_and(|log| log.len() > 0)
}

/// Brings the log of the database `file` to the disk. A writer that died may have left a transaction that was written and not synchronised:
/// the next process sees it, and would state that it is recorded, but a power cut could still take it away.
pub(super) fn synchronise(file: &Path) -> std::io::Result<()> {
    if !is_used(file) {
        return Ok(());
    }
    OpenOptions::new().read(true).write(true).open(file.with_extension("db-wal"))?.sync_all()?;
    // The entry of the log in its folder.
    #[cfg(unix)]
    std::fs::File::open(
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    )?
    .sync_all()?;
    Ok(())
}

fn read(file: &Path) -> Option<LogEnd> {
    // Closing this file releases no lock of SQLite: those are on the database and its index.
    let bytes = std::fs::read(file.with_extension("db-wal")).ok()?;
    Some(end_of(&bytes))
}

const HEADER: usize = 32;
const FRAME: usize = 24;

/// Finds the end of the usable part of a log.
fn end_of(log: &[u8]) -> LogEnd {
    if log.is_empty() {
        return LogEnd::default();
    }
    let all = |bytes: usize| LogEnd { damaged: bytes as u64, unfinished: 0 };
    let word = |at: usize| -> Option<u32> { log.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes) };
    let (Some(magic), Some(page), true) = (word(0), word(8), log.len() >= HEADER) else {
        return all(log.len());
    };
    let big_endian = match magic {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return all(log.len()),
    };
    let mut sum = (0, 0);
    add(&mut sum, &log[..24], big_endian);
    let page = page as usize;
    if (word(24), word(28)) != (Some(sum.0), Some(sum.1)) || !(512..=65_536).contains(&page) {
        return all(log.len());
    }
    let (salts, frame) = (log[16..24].to_vec(), FRAME + page);
    let (mut at, mut complete) = (HEADER, HEADER);
    while at < log.len() {
        let Some(one) = log.get(at..at + frame) else { break };
        if one[8..16] != salts[..] {
            break;
        }
        add(&mut sum, &one[..8], big_endian);
        add(&mut sum, &one[FRAME..], big_endian);
        if (word(at + 16), word(at + 20)) != (Some(sum.0), Some(sum.1)) {
            break;
        }
        at += frame;
        // The last frame of a transaction states the size of the database after it.
        if word(at - frame + 4) != Some(0) {
            complete = at;
        }
    }
    // The rest is damaged where it carries the salts of this log; a part of a frame always does, or is too short to tell.
    let rest = &log[at..];
    let ours = |one: &[u8]| one.len() < 16 || one[8..16] == salts[..];
    let damaged = rest.chunks(frame).rposition(ours).map_or(0, |last| ((last + 1) * frame).min(rest.len()));
    LogEnd { damaged: damaged as u64, unfinished: (at - complete) as u64 }
}

/// Adds bytes to the checksum of a log.
fn add(sum: &mut (u32, u32), bytes: &[u8], big_endian: bool) {
    let word = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    for eight in bytes.chunks_exact(8) {
        sum.0 = sum.0.wrapping_add(word(&eight[..4])).wrapping_add(sum.1);
        sum.1 = sum.1.wrapping_add(word(&eight[4..])).wrapping_add(sum.0);
    }
}
