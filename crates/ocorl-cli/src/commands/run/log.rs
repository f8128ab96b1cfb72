//! Numbers of every episode for TensorBoard. Whatever happens to them, the run goes on.

use super::progress::Screen;
use ocorl::learn::Record;
use ocorl_study::cell::EpisodeRow;
use ocorl_study::event_file::EventFile;
use std::io;
use std::path::Path;

/// Below the folder of the run.
const FOLDER: &str = "tensorboard";

/// A log, until writing it fails.
pub(super) struct Log {
    file: Option<EventFile>,
}

impl Log {
    /// Begins anew: a run that goes on tells of its earlier episodes once more, so what was written of them before goes.
    pub(super) fn begin(folder: &Path, screen: &mut Screen) -> Self {
        let folder = folder.join(FOLDER);
        let file = EventFile::replace(&folder).map_err(|error| warn(&error, screen)).ok();
        Log { file }
    }

    /// Writes an episode, whose costs are in the units of the table.
    pub(super) fn episode(&mut self, record: &Record, screen: &mut Screen) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.episode(&EpisodeRow::new(record, 1.0)) {
            warn(&error, screen);
            self.file = None;
        }
    }
}

fn warn(error: &io::Error, screen: &mut Screen) {
    screen.warn(&format!("nothing more is logged for TensorBoard: {error}"));
}
