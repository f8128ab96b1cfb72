//! `cargo xtask fuzz`: coverage-guided fuzzing with libFuzzer. The targets and their corpora are in `fuzz/`.
//!
//! The stable compiler instruments the code for coverage; only the sanitizers of `cargo fuzz` need a nightly one, and the project has no
//! `unsafe` code for them to check.

use crate::run::{self, pass, root};
use std::fs;
use std::path::PathBuf;

/// Instrumentation for libFuzzer: counters at every edge, a table of them, and the operands of comparisons.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// Fuzzes `target`, or all of them one after the other, for so many seconds each.
pub(crate) fn run(target: &str, seconds: &str) -> Result<(), String> {
    let folder = root().join("fuzz");
    let mut names: Vec<String> = fs::read_dir(folder.join("corpus"))
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let chosen: Vec<&String> = names.iter().filter(|name| target == "all" || *name == target).collect();
    if chosen.is_empty() {
        return Err(format!("no target '{target}'; there are: {}, all", names.join(", ")));
    }
    let seconds: u64 = seconds.parse().map_err(|_| format!("'{seconds}' is not a number of seconds"))?;
    for name in chosen {
        crate::tell(&format!("{name}: {seconds} s\n"));
        // What is found goes beside the build; `corpus` holds what is worth keeping.
        let found: PathBuf = root().join("target/fuzz/found").join(name);
        fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
        let mut command = run::cargo(&["run", "--release", "--target", "x86_64-unknown-linux-gnu"]);
        command
            .args(["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target/fuzz", "--bin", name, "--"])
            .arg(&found)
            .arg(folder.join("corpus").join(name))
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-artifact_prefix={}/crash-", found.parent().unwrap_or(&found).display()))
            .args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=16384", "-print_final_stats=1"])
            .env("RUSTFLAGS", FLAGS);
        pass(command)?;
    }
    Ok(())
}
