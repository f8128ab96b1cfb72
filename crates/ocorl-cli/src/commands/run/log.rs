//! Writes the numbers of every episode for TensorBoard. A failure does not stop the run.

use super::progress::Screen;
use ocorl::learn::Record;
use ocorl::system::TableUnits;
use ocorl_study::cell::EpisodeRow;
use ocorl_study::event_file::EventFile;
use std::io;
use std::path::Path;

/// Folder below that of the run.
const FOLDER: &str = "tensorboard";

/// A log, until writing it fails.
pub(super) struct Log {
    file: Option<EventFile>,
}

impl Log {
    /// Starts a new log. A continued run reports its earlier episodes again, so the old log is removed.
    pub(super) fn begin(folder: &Path, screen: &mut Screen) -> Self {
        let folder = folder.join(FOLDER);
        let file = EventFile::replace(&folder).map_err(|error| warn(&error, screen)).ok();
        Log { file }
    }

    /// Writes an episode, its costs in these units.
    pub(super) fn episode(&mut self, record: &Record, units: TableUnits, screen: &mut Screen) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.episode(&EpisodeRow::new(record, units)) {
            warn(&error, screen);
            self.file = None;
        }
    }
}

fn warn(error: &io::Error, screen: &mut Screen) {
    screen.warn(&format!("logging for TensorBoard stopped: {error}"));
}
