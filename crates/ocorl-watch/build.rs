//! Lists the files in `assets/`, so that they are compiled into the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join("assets");
    println!("cargo::rerun-if-changed=assets");
    let mut files = Vec::new();
    collect(&folder, "", &mut files);
    files.sort();
    let mut list = String::from("[\n");
    for (name, path) in &files {
        let _ =
            writeln!(list, "    ({name:?}, include_bytes!({:?}).as_slice()),", path.display().to_string());
    }
    list.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("assets.rs");
    fs::write(out, list).expect("the list can be written");
}

/// Collects all files below `folder`, with their names relative to it.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).expect("the assets folder exists");
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else if !name.starts_with('.') {
            files.push((name, path));
        }
    }
}
