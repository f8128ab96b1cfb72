//! Builds and tests the Python package in a virtual environment, and builds the distributable wheel.
//!
//! | folder | holds |
//! |---|---|
//! | `target/python` | the test environment, recreated when `crates/ocorl-py/requirements.txt` changes |
//! | `target/dist` | the wheel, and the environment in which it is tested |

use crate::readme::{blocks, path_with};
use crate::run::{cargo, output, pass, root};
use crate::steps::{Outcome, program};
use crate::tell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folder of the test environment.
const FOLDER: &str = "target/python";
/// Folder of the package.
const CRATE: &str = "crates/ocorl-py";
/// Maximum size of a wheel in bytes.
const MOST_BYTES: u64 = 15_000_000;
/// Platform tag of the wheel, which states the oldest supported C library: systems from 2014 on.
const PLATFORM: &str = "manylinux_2_17";
/// Linker used to build for that platform.
const ZIG: &str = "ziglang==0.15.2";

/// Installs the packages of the tests.
pub(crate) fn prepare() -> Result<(), String> {
    let system = interpreter().ok_or("there is no python3 of version 3.10 or later")?;
    prepared(&system, &root().join(FOLDER)).map(|_| ())
}

/// Builds the package with the feature that provokes panics on request; runs pytest, mypy and the Python code of the documents in an
/// otherwise empty environment.
pub(crate) fn test() -> Result<Outcome, String> {
    let Some(system) = interpreter() else {
        return Ok(Outcome::Missing("there is no python3 of version 3.10 or later".into()));
    };
    let environment = root().join(FOLDER);
    same_features()?;
    let (python, wheel) = built(&system, &environment)?;
    pytest(&python, &[])?;
    let mut types = Command::new(&python);
    let cache = environment.join("mypy").display().to_string();
    types.args(["-m", "mypy", "--cache-dir", &cache, "python/ocorl", "tests/typed_script.py"]);
    types.current_dir(root().join(CRATE));
    pass(types)?;
    let mut stubs = Command::new(&python);
    let allowed = root().join(CRATE).join("tests/stubs.allowed").display().to_string();
    stubs.args([
        "-m",
        "mypy.stubtest",
        "ocorl._ocorl",
        "--ignore-disjoint-bases",
        "--ignore-unused-allowlist",
    ]);
    stubs.args(["--allowlist", &allowed]).current_dir(&environment);
    pass(stubs)?;
    try_documents(&system, &wheel, &environment.join("fresh"))?;
    Ok(Outcome::Passed)
}

/// Runs the long tests of the Python package.
pub(crate) fn soak() -> Result<(), String> {
    let system = interpreter().ok_or("there is no python3 of version 3.10 or later")?;
    let (python, _) = built(&system, &root().join(FOLDER))?;
    pytest(&python, &["-m", "slow", "-s"])
}

/// Checks that the package asks for the same features of every dependency as the workspace. Otherwise its build compiles them again.
fn same_features() -> Result<(), String> {
    let tree = |of: &[&str]| -> Result<BTreeSet<String>, String> {
        let options =
            ["--locked", "--edges", "normal,build,dev", "--format", "{p} [{f}]", "--prefix", "none"];
        let said = output(cargo(&[&["tree"], of, &options].concat()))?.stdout;
        let lines = String::from_utf8_lossy(&said).into_owned();
        Ok(lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect())
    };
    let (package, workspace) = (tree(&["--package", "ocorl-py"])?, tree(&["--workspace"])?);
    let more: Vec<&str> = package.difference(&workspace).map(String::as_str).collect();
    if more.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the workspace asks for more features of: {}; add them to {CRATE}/Cargo.toml, or the package compiles these again",
        more.join(", ")
    ))
}

/// Builds the package and installs it in the test environment; returns the environment's Python and the wheel.
fn built(system: &Path, environment: &Path) -> Result<(PathBuf, PathBuf), String> {
    let python = prepared(system, environment)?;
    let wheel = wheel(&python, &environment.join("wheel"), |maturin| {
        maturin.args(["--profile", "dev", "--features", "failpoints"]);
    })?;
    install(&python, &[&wheel.display().to_string(), "--no-deps", "--force-reinstall"])?;
    Ok((python, wheel))
}

fn pytest(python: &Path, options: &[&str]) -> Result<(), String> {
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest"]).args(options).current_dir(root().join(CRATE)).env("OCORL_BIN", program()?);
    pass(tests)
}

/// Builds the distributable wheel, checks it, and runs the documents' Python code in an otherwise empty environment.
pub(crate) fn dist() -> Result<(), String> {
    let python = interpreter().ok_or("there is no python3 of version 3.10 or later")?;
    let tools = prepared(&python, &root().join(FOLDER))?;
    // A linker for the C library of old systems.
    install(&tools, &[ZIG])?;
    let folder = root().join("target/dist");
    let wheel = wheel(&tools, &folder, |maturin| {
        maturin
            .args(["--release", "--strip", "--zig", "--compatibility", PLATFORM])
            .env("RUSTFLAGS", nameless());
        // Maturin uses the Zig of the first Python on the path.
        maturin.env("PATH", path_with(&tools));
    })?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let size = std::fs::metadata(&wheel).map_err(|error| format!("{name}: {error}"))?.len();
    tell(&format!("{name}: {:.1} MB\n", size as f64 / 1e6));
    if !name.contains(PLATFORM) || !name.contains("abi3") {
        return Err(format!("{name} is not for any Linux and any Python"));
    }
    if size > MOST_BYTES {
        return Err(format!("{name} has {size} bytes; at most {MOST_BYTES} are allowed"));
    }
    try_documents(&python, &wheel, &folder.join("fresh"))?;
    tell("ok\n");
    Ok(())
}

/// Compiler flags that remove folder names of this machine from the build.
fn nameless() -> String {
    let home = |name: &str, below: &str| {
        let usual = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(below);
        std::env::var_os(name).map_or_else(usual, PathBuf::from)
    };
    let folders = [
        (root().to_path_buf(), "ocorl"),
        (home("CARGO_HOME", ".cargo"), "cargo"),
        (home("RUSTUP_HOME", ".rustup"), "rustup"),
    ];
    let flags = folders.map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
    flags.join(" ")
}

/// Installs a wheel in a new environment in `folder` and runs the Python code of the documents there.
fn try_documents(python: &Path, wheel: &Path, folder: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder);
    let fresh = environment(python, folder)?;
    install(&fresh, &[&wheel.display().to_string()])?;
    let tried = folder.join("tried");
    std::fs::create_dir_all(&tried).map_err(|error| format!("{}: {error}", tried.display()))?;
    for document in ["README.md", "crates/ocorl-py/README.md", "docs/tutorials/from-python.md"] {
        let text = std::fs::read_to_string(root().join(document)).map_err(|e| format!("{document}: {e}"))?;
        let blocks = blocks(&text, "python");
        if blocks.is_empty() {
            return Err(format!("{document} has no Python to run"));
        }
        tell(&format!("  {} Python blocks of {document}\n", blocks.len()));
        let mut run = Command::new(&fresh);
        run.args(["-W", "error", "-c", &blocks.join("\n")]).current_dir(&tried);
        output(run)?;
    }
    Ok(())
}

/// A Python interpreter of a supported version.
pub(crate) fn interpreter() -> Option<PathBuf> {
    let check = "import sys; sys.exit(sys.version_info < (3, 10))";
    let good = |name: &&str| {
        let mut probe = Command::new(name);
        probe.args(["-c", check]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    ["python3", "python"].into_iter().find(good).map(PathBuf::from)
}

/// Creates a virtual environment and returns its Python.
pub(crate) fn environment(python: &Path, folder: &Path) -> Result<PathBuf, String> {
    let mut make = Command::new(python);
    make.args(["-m", "venv"]).arg(folder).current_dir(root());
    pass(make)?;
    Ok(folder.join("bin/python"))
}

/// The test environment with the packages of `requirements.txt`; reinstalled only if that file has changed.
fn prepared(python: &Path, folder: &Path) -> Result<PathBuf, String> {
    let requirements = root().join(CRATE).join("requirements.txt");
    let wanted = std::fs::read_to_string(&requirements).map_err(|e| format!("requirements.txt: {e}"))?;
    let (made, noted) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if made.exists() && std::fs::read_to_string(&noted).is_ok_and(|there| there == wanted) {
        return Ok(made);
    }
    let _ = std::fs::remove_dir_all(folder);
    let made = environment(python, folder)?;
    install(&made, &["-r", &requirements.display().to_string()])?;
    std::fs::write(&noted, wanted).map_err(|error| format!("{}: {error}", noted.display()))?;
    Ok(made)
}

pub(crate) fn install(python: &Path, what: &[&str]) -> Result<(), String> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(what);
    pip.current_dir(root());
    pass(pip)
}

/// Builds a wheel into an otherwise empty folder.
fn wheel(python: &Path, folder: &Path, more: impl FnOnce(&mut Command)) -> Result<PathBuf, String> {
    for old in wheels(folder) {
        let _ = std::fs::remove_file(old);
    }
    let manifest = root().join(CRATE).join("Cargo.toml").display().to_string();
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "build", "--locked", "--manifest-path", &manifest, "--out"]);
    maturin.arg(folder).current_dir(root());
    more(&mut maturin);
    pass(maturin)?;
    match wheels(folder).as_slice() {
        [wheel] => Ok(wheel.clone()),
        found => Err(format!("maturin made {} wheels in {}", found.len(), folder.display())),
    }
}

fn wheels(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(|file| Some(file.ok()?.path()));
    files.filter(|path| path.extension().is_some_and(|e| e == "whl")).collect()
}
