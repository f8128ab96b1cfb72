//! `cargo xtask gate`: compares instruction counts of fixed problems with the recorded ones.
//!
//! Times on a shared machine vary by tens of percent, instruction counts hardly at all. Each case of the benchmark `instructions` is run
//! with one and with three repetitions under callgrind; half the difference is the cost of one repetition, without start-up and set-up.

use crate::run::{build, is_root, output, pass, root};
use crate::steps::Outcome;
use crate::tell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const GOLDEN: &str = "tests/golden/instructions.toml";

/// A count above the recorded one by more than this fraction is a regression; a count below it by as much should be recorded.
const TOLERANCE: f64 = 0.03;

/// Compares with the recorded counts; with `update`, records the new ones.
pub(crate) fn run(update: bool) -> Result<Outcome, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Impossible("counts are recorded for x86-64 Linux only".into()));
    }
    let valgrind = match valgrind() {
        Ok(version) => version,
        Err(reason) => return Ok(Outcome::Impossible(reason)),
    };
    let built = build(&["bench", "--package", "ocorl", "--bench", "instructions", "--no-run"])?;
    let Some((_, bench)) = built.into_iter().find(|(name, _)| name == "instructions") else {
        return Err("cargo built no benchmark called instructions".into());
    };
    let mut list = Command::new(&bench);
    list.arg("--list");
    let names = String::from_utf8_lossy(&output(list)?.stdout).into_owned();
    let mut counts = BTreeMap::new();
    for case in names.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (once, thrice) = (count(&bench, case, 1)?, count(&bench, case, 3)?);
        counts.insert(case.to_owned(), thrice.saturating_sub(once) / 2);
    }
    if update {
        return record(&counts, &valgrind);
    }
    compare(&recorded()?, &counts)
}

/// Installs valgrind, if it is missing and that is permitted.
pub(crate) fn prepare() -> Result<(), String> {
    valgrind().map(|_| ())
}

/// The version of valgrind, which is installed first if it is missing and that is permitted.
fn valgrind() -> Result<String, String> {
    let version = || {
        let mut command = Command::new("valgrind");
        command.arg("--version");
        output(command).map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
    };
    if let Ok(version) = version() {
        return Ok(version);
    }
    if !is_root() {
        return Err("there is no valgrind to count instructions, and only root can install it".into());
    }
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "valgrind"]);
    pass(install).and_then(|()| version()).map_err(|reason| {
        format!("there is no valgrind to count instructions, and it could not be installed ({reason})")
    })
}

/// Number of instructions of a run with the given number of repetitions.
fn count(bench: &PathBuf, case: &str, repetitions: u32) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    // Idle worker threads would be counted too.
    command.env("RAYON_NUM_THREADS", "1");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(bench).args([case, &repetitions.to_string()]);
    let said = output(command)?.stderr;
    collected(&String::from_utf8_lossy(&said)).ok_or_else(|| format!("callgrind gave no count for {case}"))
}

/// Parses the number in "==123== Collected : 4567".
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

fn recorded() -> Result<BTreeMap<String, u64>, String> {
    let text = std::fs::read_to_string(root().join(GOLDEN))
        .map_err(|error| format!("{GOLDEN}: {error}; write it with: cargo xtask gate --update"))?;
    toml::from_str(&text).map_err(|error| format!("{GOLDEN}: {error}"))
}

fn record(counts: &BTreeMap<String, u64>, valgrind: &str) -> Result<Outcome, String> {
    let mut text = format!(
        "# Instructions of one repetition of each case of crates/ocorl/benches/instructions.rs.\n\
         # Source: {valgrind} (callgrind), x86-64 Linux. Written by: cargo xtask gate --update\n\
         # More than {} % above these fails the gate.\n\n",
        100.0 * TOLERANCE
    );
    for (case, count) in counts {
        tell(&format!("  {case}: {count}\n"));
        text += &toml::to_string(&BTreeMap::from([(case, count)])).map_err(|error| error.to_string())?;
    }
    let path = root().join(GOLDEN);
    write_new(&path, &text).map_err(|error| format!("{GOLDEN}: {error}"))?;
    tell(&format!("wrote {GOLDEN}\n"));
    Ok(Outcome::Passed)
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = path.with_extension("tmp");
    std::fs::write(&temporary, text)?;
    std::fs::rename(&temporary, path)
}

fn compare(recorded: &BTreeMap<String, u64>, counts: &BTreeMap<String, u64>) -> Result<Outcome, String> {
    let mut faults = Vec::new();
    for (case, &now) in counts {
        let Some(&before) = recorded.get(case) else {
            faults.push(format!("{case} is not recorded"));
            continue;
        };
        let change = now as f64 / before.max(1) as f64 - 1.0;
        tell(&format!("  {case}: {now} instructions, {:+.2} %\n", 100.0 * change));
        if change > TOLERANCE {
            faults
                .push(format!("{case} takes {now} instructions, {:.1} % more than {before}", 100.0 * change));
        } else if change < -TOLERANCE {
            tell(&format!("  {case} became faster; record that with: cargo xtask gate --update\n"));
        }
    }
    faults.extend(
        recorded.keys().filter(|k| !counts.contains_key(*k)).map(|k| format!("{k} is recorded but gone")),
    );
    if faults.is_empty() {
        return Ok(Outcome::Passed);
    }
    Err(format!(
        "{}\nif this is intended: cargo xtask gate --update, and state the reason in the commit",
        faults.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_callgrind_says() {
        let said = "==12== Events    : Ir\n==12== Collected : 18345123\n==12==\n";
        assert_eq!(collected(said), Some(18_345_123));
        assert_eq!(collected("==12== nothing"), None);
    }

    #[test]
    fn more_instructions_fail_and_fewer_do_not() {
        let counts = |count: u64| BTreeMap::from([("case".to_owned(), count)]);
        assert!(compare(&counts(1000), &counts(1029)).is_ok());
        assert!(compare(&counts(1000), &counts(500)).is_ok());
        assert!(compare(&counts(1000), &counts(1031)).is_err_and(|fault| fault.contains("case takes 1031")));
        assert!(compare(&BTreeMap::new(), &counts(1)).is_err_and(|fault| fault.contains("not recorded")));
        assert!(compare(&counts(1), &BTreeMap::new()).is_err_and(|fault| fault.contains("gone")));
    }
}
