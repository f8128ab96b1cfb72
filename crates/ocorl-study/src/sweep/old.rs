//! Reads sweep folders of the earlier format, one file per cell. They are imported once, when the database is created, and not modified.

use crate::cell::CellResult;
use std::fs;
use std::path::{Path, PathBuf};

/// Contents of the old cell files.
#[derive(Default)]
pub(super) struct Old {
    /// JSON text and parsed value of each result, in the order of file names.
    pub(super) cells: Vec<(String, CellResult)>,
    /// Files that cannot be read.
    pub(super) damaged: Vec<PathBuf>,
}

impl Old {
    /// Reads `cells/<id>.json` in `folder`; empty if there are none.
    pub(super) fn read(folder: &Path) -> Self {
        let files = fs::read_dir(folder.join("cells")).into_iter().flatten();
        let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let mut old = Old::default();
        for path in paths {
            match result(&path) {
                Some(cell) => old.cells.push(cell),
                None => old.damaged.push(path),
            }
        }
        old
    }
}

/// The result in a file, if the file name matches the id of its cell.
fn result(path: &Path) -> Option<(String, CellResult)> {
    let text = fs::read_to_string(path).ok()?;
    let result: CellResult = serde_json::from_str(&text).ok()?;
    let named = path.file_stem().is_some_and(|stem| *stem == *result.cell.id());
    named.then(|| (text.trim_end().to_owned(), result))
}
