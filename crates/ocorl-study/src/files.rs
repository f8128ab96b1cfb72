//! Atomic file writes: a file is either complete or absent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file atomically: to a temporary file in the same folder first, which is then renamed to `path`.
///
/// # Errors
///
/// Returns the error of the file system; then no temporary file remains and the previous file at `path` is unchanged.
pub fn write_atomically(path: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    let (mut file, temporary) = create_beside(path)?;
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    drop(file); // some systems do not rename an open file
    written.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary); // the first error is the one to report
    })
}

/// Replaces a file atomically without waiting for the disk, for data whose loss in a power failure is acceptable.
///
/// # Errors
///
/// Returns the error of the file system; then the previous file at `path` is unchanged.
pub fn replace(path: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    let (mut file, temporary) = create_beside(path)?;
    file.write_all(contents).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary); // the first error is the one to report
    })
}

/// Removes temporary files that [`write_atomically`] left in `folder` because the program was killed. The caller must know that no other
/// process is writing there.
pub fn remove_leftovers(folder: &Path) {
    for path in fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") {
            // A file that cannot be removed does no harm.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Creates a new file with a unique name in the folder of `path`.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display())));
    };
    let mut attempt = 0_u32;
    loop {
        let name = format!(".{}.{}-{attempt}.tmp", name.to_string_lossy(), std::process::id());
        let temporary = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            opened => return opened.map(|file| (file, temporary)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_go_and_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        write_atomically(folder.path().join("a.json"), b"{}").unwrap();
        let (_, leftover) = create_beside(&folder.path().join("b.json")).unwrap();
        assert!(leftover.exists());
        remove_leftovers(folder.path());
        assert!(!leftover.exists() && folder.path().join("a.json").exists());
    }
}
