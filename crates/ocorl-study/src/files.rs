//! Atomic file writes: a file is either complete or absent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Reads a text of at most `most` bytes. A pipe or device without an end is not read further than that.
///
/// # Errors
///
/// Returns the reason for the user: the error of the file system, the size, or that the file is no text in UTF-8.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it has more than {most} bytes"));
    }
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to() + 1;
        if utf16 {
            "it is a text in UTF-16; save it as UTF-8".into()
        } else {
            format!("byte {place} is no UTF-8; save the file as a text in UTF-8")
        }
    })
}

/// Writes a file atomically: to a temporary file in the same folder first, which is then renamed to `path`. A symbolic link is followed. What
/// is no file, such as a pipe or a device, is written to directly: it must not be replaced by a file.
///
/// # Errors
///
/// Returns the error of the file system; then no temporary file remains and the previous file at `path` is unchanged.
pub fn write_atomically(path: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    let target = fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return OpenOptions::new().write(true).open(path)?.write_all(contents);
    }
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

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.json"), folder.path().join("link.json"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        // As a test is run by anybody, a link to a device stands for the device: nothing may be created in its folder.
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        write_atomically(&null, b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        if Path::new("/dev/full").exists() {
            let error = write_atomically("/dev/full", b"text").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn texts_are_read_up_to_a_size_and_in_one_encoding() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        let read = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            read_text(&file, 8)
        };
        assert_eq!(read("t,x\n★".as_bytes()).unwrap(), "t,x\n★");
        assert_eq!(read(b"123456789").unwrap_err(), "it has more than 8 bytes");
        assert!(read(b"\xff\xfet\0").unwrap_err().contains("UTF-16"));
        assert!(read(b"t,\xe4").unwrap_err().starts_with("byte 3 is no UTF-8"));
        if Path::new("/dev/zero").exists() {
            assert_eq!(read_text("/dev/zero", 1000).unwrap_err(), "it has more than 1000 bytes");
        }
    }

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
