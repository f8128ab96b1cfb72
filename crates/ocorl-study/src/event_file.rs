//! Writes TensorBoard event files with scalar values per episode. The writer is implemented here because a scalar needs only three fields:
//!
//! ```text
//! record  = length: u64 | masked CRC-32C of length: u32 | data | masked CRC-32C of data: u32      (little-endian)
//! Event   { 1: wall_time: double, 2: step: int64, 3: file_version: string, 5: summary: Summary }
//! Summary { 1: repeated Value }     Value { 1: tag: string, 2: simple_value: float }
//! ```
//!
//! Data are encoded as protocol buffers.

use crate::cell::EpisodeRow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Common prefix of event file names.
const PREFIX: &str = "events.out.tfevents.";

/// Version string in the first record of a file.
const VERSION: &[u8] = b"brain.Event:2";

/// An event file open for writing.
#[derive(Debug)]
pub struct EventFile {
    file: File,
    path: PathBuf,
}

impl EventFile {
    /// Creates a new file in `folder`, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns the error of the file system.
    pub fn create(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let (now, host) = (seconds(), gethostname::gethostname());
        // TensorBoard reads the files of a folder in the order of their names.
        let name = format!("{PREFIX}{now:.6}.{}.{}", host.to_string_lossy(), std::process::id());
        let path = folder.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(&first_record(now))?;
        Ok(EventFile { file, path })
    }

    /// Creates a new file in `folder` and removes the event files that are there.
    ///
    /// # Errors
    ///
    /// Returns the error of the file system.
    pub fn replace(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let old: Vec<PathBuf> =
            std::fs::read_dir(folder)?.filter_map(|file| Some(file.ok()?.path())).collect();
        let new = Self::create(folder)?;
        for path in old.iter().filter(|path| is_event_file(path)) {
            std::fs::remove_file(path)?;
        }
        Ok(new)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the scalars of one step, each under its name; values that are not finite are left out.
    ///
    /// # Errors
    ///
    /// Returns the error of the file system.
    pub fn write(&mut self, step: usize, numbers: &[(&str, f64)]) -> io::Result<()> {
        let now = seconds();
        let finite = numbers.iter().filter(|(_, value)| value.is_finite());
        let bytes: Vec<u8> = finite.flat_map(|(tag, value)| record(now, step as u64, tag, *value)).collect();
        self.file.write_all(&bytes)?;
        self.file.flush()
    }

    /// Writes the scalars of an episode.
    ///
    /// # Errors
    ///
    /// Returns the error of the file system.
    pub fn episode(&mut self, row: &EpisodeRow) -> io::Result<()> {
        let mut numbers = vec![
            ("cost", row.cost),
            ("regret", row.regret),
            ("measured", row.measured as f64),
            ("information_gain", row.information_gain),
        ];
        let maybe = [
            ("planned_cost", row.planned_cost),
            ("mean_cost", row.mean_cost),
            ("beta", row.beta),
            ("uncertainty", row.uncertainty),
            ("coverage", row.coverage),
            ("complexity", row.complexity),
        ];
        numbers.extend(maybe.iter().filter_map(|(tag, value)| Some((*tag, (*value)?))));
        self.write(row.episode, &numbers)
    }
}

fn is_event_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// The version record at the beginning of every file.
fn first_record(wall_time: f64) -> Vec<u8> {
    framed(&[&[0x09], &wall_time.to_le_bytes()[..], &block(3, VERSION)].concat())
}

/// A record with one scalar, which TensorBoard stores in single precision.
fn record(wall_time: f64, step: u64, tag: &str, value: f64) -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "the format has no more digits")]
    let simple = (value as f32).to_le_bytes();
    let number = [&block(1, tag.as_bytes()), &[0x15][..], &simple].concat();
    let summary = block(5, &block(1, &number));
    framed(&[&[0x09], &wall_time.to_le_bytes()[..], &[0x10], &varint(step), &summary].concat())
}

fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), data, &masked(data)].concat()
}

/// A length-delimited field.
fn block(field: u64, data: &[u8]) -> Vec<u8> {
    [&varint((field << 3) | 2)[..], &varint(data.len() as u64), data].concat()
}

/// Variable-length integer: seven bits per byte, lowest bits first.
fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number > 0x7f {
        out.push(lowest(number) | 0x80);
        number >>= 7;
    }
    out.push(lowest(number));
    out
}

/// The lowest byte of a number.
fn lowest(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

/// The checksum in TensorFlow's masked form, which allows data that contain checksums themselves.
fn masked(data: &[u8]) -> [u8; 4] {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// CRC-32C (Castagnoli) with reversed bits.
fn crc32c(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, byte| (crc >> 8) ^ TABLE[usize::from(crc.to_le_bytes()[0] ^ byte)])
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u32;
    while byte < 256 {
        let (mut crc, mut bit) = (byte, 0);
        while bit < 8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    #[test]
    fn the_checksum_of_the_nine_digits_is_the_published_one() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn records_are_those_that_tensorboard_reads() {
        // Verified with TensorBoard's own reader and with an independent one (crates/ocorl-py/tests).
        let number = "1b000000000000001a0d9e1309000010c228ced94110ac022a0d0a0b0a04636f7374159a99a141e3674e59";
        assert_eq!(hex(&record(1_731_765_000.25, 300, "cost", 20.2)), number);
        let first = "1800000000000000a37f4b2209000010c228ced9411a0d627261696e2e4576656e743a32f0787449";
        assert_eq!(hex(&first_record(1_731_765_000.25)), first);
    }

    #[test]
    fn a_file_has_its_records_and_nothing_that_is_not_finite() {
        let folder = tempfile::tempdir().unwrap();
        let mut events = EventFile::create(&folder.path().join("new")).unwrap();
        events.write(3, &[("cost", 20.2), ("regret", f64::NAN)]).unwrap();
        events.write(300, &[("cost", 20.1)]).unwrap();
        let bytes = std::fs::read(events.path()).unwrap();
        // 40 bytes for the version; 16 around the data of each number, one more for the longer step.
        assert_eq!(bytes.len(), 40 + (16 + 26) + (16 + 27));
    }

    #[test]
    fn a_new_file_takes_the_place_of_older_ones_and_of_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let old = EventFile::create(folder.path()).unwrap();
        let new = EventFile::replace(folder.path()).unwrap();
        assert!(!old.path().exists() && new.path().exists());
        assert!(folder.path().join("notes.txt").exists());
    }
}
