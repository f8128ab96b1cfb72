//! Folders from before there was a database: a file a cell. They are read once, when the database is made, and left alone.

use crate::cell::CellResult;
use std::fs;
use std::path::{Path, PathBuf};

/// What old files say.
#[derive(Default)]
pub(super) struct Old {
    /// Text and meaning of each result, in the order of their names.
    pub(super) cells: Vec<(String, CellResult)>,
    /// Files that cannot be read.
    pub(super) damaged: Vec<PathBuf>,
}

impl Old {
    /// Reads `cells/<id>.json` in `folder`; nothing if there are none.
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

/// The result in a file, which bears the name of its cell.
fn result(path: &Path) -> Option<(String, CellResult)> {
    let text = fs::read_to_string(path).ok()?;
    let result: CellResult = serde_json::from_str(&text).ok()?;
    let named = path.file_stem().is_some_and(|stem| *stem == *result.cell.id());
    named.then(|| (text.trim_end().to_owned(), result))
}
