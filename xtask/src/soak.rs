//! `cargo xtask soak`: the long versions of tests whose short ones run on every change.

use crate::python;
use crate::run::{cargo, pass};

/// A long test: its name, what it shows, which tests it is.
struct Soak {
    name: &'static str,
    shows: &'static str,
    /// In the words of nextest.
    tests: &'static str,
    /// Whether they are left out when everything is tested.
    ignored: bool,
    /// The variable that says how long, and how long unless somebody says otherwise.
    size: Option<(&'static str, usize)>,
}

const SOAKS: [Soak; 6] = [
    Soak {
        name: "kills",
        shows: "study commands killed at random moments lose nothing and end the same",
        tests: "binary(study) and test(killed_at_any_moment)",
        ignored: false,
        size: Some(("OCORL_KILLS", 1_000)),
    },
    Soak {
        name: "bytes",
        shows: "every flipped byte of a study is noticed or does not matter",
        tests: "binary(study) and test(every_flipped_byte)",
        ignored: false,
        size: Some(("OCORL_FLIPS", 10_000)),
    },
    Soak {
        name: "files",
        shows: "changed files of measurements and plans never make a reader panic or hang",
        tests: "binary(study) and test(no_file_makes)",
        ignored: false,
        size: Some(("OCORL_FUZZ", 100_000)),
    },
    Soak {
        name: "systems",
        shows: "changed files of systems and random expressions never make a reader panic or hang",
        tests: "binary(own_system) or binary(expression)",
        ignored: true,
        size: None,
    },
    Soak {
        name: "controller",
        shows: "a million steps with a faulty solver stay finite and within limits; a hung solver is not waited for",
        tests: "binary(control)",
        ignored: true,
        size: None,
    },
    Soak {
        name: "dashboard",
        shows: "a thousand clients and ten thousand questions are answered, leave nothing behind, and do not hold up a run",
        tests: "binary(watch)",
        ignored: true,
        size: None,
    },
];

/// What the long tests of the Python package show.
const PYTHON: &str = "a million predictions and a hundred thousand studies leave no memory behind; Ctrl-C at a hundred moments";

/// Runs the soak called `name`, or `all`; `size` instead of the usual number.
pub(crate) fn run(name: &str, size: Option<&str>) -> Result<(), String> {
    let chosen: Vec<&Soak> = SOAKS.iter().filter(|soak| name == "all" || soak.name == name).collect();
    let python = matches!(name, "python" | "all");
    if chosen.is_empty() && !python {
        let names = SOAKS.map(|soak| format!("  {:<12}{}", soak.name, soak.shows)).join("\n");
        return Err(format!(
            "no soak test '{name}'; there are:\n{names}\n  {:<12}{PYTHON}\n  {:<12}every one of them",
            "python", "all"
        ));
    }
    for soak in chosen {
        // The whole workspace, so that what is built is what the tests of every change have built.
        let mut words = vec!["nextest", "run", "--workspace", "--no-capture", "-E", soak.tests];
        if soak.ignored {
            words.extend(["--run-ignored", "only"]);
        }
        let mut command = cargo(&words);
        if let Some((variable, usual)) = soak.size {
            command.env(variable, size.map_or(usual.to_string(), str::to_owned));
        }
        crate::tell(&format!("{}: {}\n", soak.name, soak.shows));
        pass(command)?;
    }
    if python {
        crate::tell(&format!("python: {PYTHON}\n"));
        python::soak()?;
    }
    Ok(())
}
