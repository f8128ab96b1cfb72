//! Checks that run before the computation: option values, and whether the results can be written.

use crate::errors::Failure;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Largest number of threads; memory grows with it.
const MOST_THREADS: usize = 1_024;

/// Checks that `option` is between 1 and `most`.
pub(crate) fn between(option: &str, value: usize, most: usize) -> Result<(), Failure> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(Failure::usage(format!("{option} must be between 1 and {most}, not {value}")))
}

/// A thread pool of the size that `option` asks for; without it, as large as the pool of the process.
pub(crate) fn threads(option: &str, threads: Option<usize>) -> Result<rayon::ThreadPool, Failure> {
    threads.map_or(Ok(()), |threads| between(option, threads, MOST_THREADS))?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or_else(rayon::current_num_threads))
        .build()
        .map_err(|error| Failure::badly(format!("cannot start threads: {error}")))
}

/// Checks that the file `path` can be written.
pub(crate) fn writable_file(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(unwritable(path, &ErrorKind::IsADirectory.into()));
    }
    probe(path).map_err(|error| unwritable(path, &error))
}

/// Creates the folder `path` if it does not exist, and checks that files can be written into it.
pub(crate) fn writable_folder(path: &Path) -> Result<(), Failure> {
    if path.exists() && !path.is_dir() {
        return Err(unwritable(path, &ErrorKind::NotADirectory.into()));
    }
    fs::create_dir_all(path)
        .and_then(|()| probe(&path.join("probe")))
        .map_err(|error| unwritable(path, &error))
}

/// Creates a file beside `path` and removes it.
fn probe(path: &Path) -> io::Result<()> {
    let probe = path.with_file_name(format!(".ocorl-{}.tmp", std::process::id()));
    fs::OpenOptions::new().write(true).create_new(true).open(&probe)?;
    fs::remove_file(&probe)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::file(path, error).detail("note", "nothing was computed")
}
