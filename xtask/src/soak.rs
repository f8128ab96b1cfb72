//! `cargo xtask soak`: long versions of tests whose short versions run on every change.

use crate::run::{cargo, pass};
use crate::{browser, python};

/// A long test: its name, its purpose and the tests it runs.
struct Soak {
    name: &'static str,
    shows: &'static str,
    /// Test filter in the syntax of nextest.
    tests: &'static str,
    /// Whether the tests are marked as ignored in a normal test run.
    ignored: bool,
    /// The environment variable that sets the size, and the default size.
    size: Option<(&'static str, usize)>,
}

const SOAKS: [Soak; 10] = [
    Soak {
        name: "kills",
        shows: "study commands killed at random times lose nothing and give the same result",
        tests: "test(killed_at_any_moment)",
        ignored: false,
        size: Some(("OCORL_KILLS", 1_000)),
    },
    Soak {
        name: "bytes",
        shows: "every flipped byte of a study is detected or has no effect",
        tests: "test(every_flipped_byte)",
        ignored: false,
        size: Some(("OCORL_FLIPS", 10_000)),
    },
    Soak {
        name: "simulation",
        shows: "whatever fails in a simulated laboratory, a study holds what was acknowledged",
        tests: "test(whatever_fails)",
        ignored: false,
        size: Some(("OCORL_ROUNDS", 1_000_000)),
    },
    Soak {
        name: "io",
        shows: "every I/O call of five episodes fails once in every way, and nothing is lost",
        tests: "test(every_call_of_five_episodes)",
        ignored: true,
        size: None,
    },
    Soak {
        name: "readers",
        shows: "readers beside a writer find a healthy study",
        tests: "test(readers_beside_a_writer)",
        ignored: false,
        size: Some(("OCORL_READS", 10_000)),
    },
    Soak {
        name: "files",
        shows: "changed files of measurements and plans never make a reader panic or hang",
        tests: "test(no_file_makes)",
        ignored: false,
        size: Some(("OCORL_FUZZ", 100_000)),
    },
    Soak {
        name: "controller",
        shows: "a controller never claims a healthy level after a state outside the limits, in Rust and in C",
        tests: "test(a_million_steps)",
        ignored: true,
        size: None,
    },
    Soak {
        name: "systems",
        shows: "changed files of systems and random expressions never make a reader panic or hang",
        tests: "kind(test) and test(/^(own_system|expression)::/)",
        ignored: true,
        size: None,
    },
    Soak {
        name: "controller",
        shows: "a million steps with a faulty solver stay finite and within limits; the controller does not wait for a hung solver",
        tests: "kind(test) and test(/^control::/)",
        ignored: true,
        size: None,
    },
    Soak {
        name: "dashboard",
        shows: "a thousand clients and ten thousand questions are answered, leave nothing behind, and do not hold up a run",
        tests: "kind(test) and test(/^watch::/)",
        ignored: true,
        size: None,
    },
];

/// Purpose of the long tests of the Python package.
const PYTHON: &str = "a million predictions and a hundred thousand studies leave no memory behind; Ctrl-C at a hundred moments";

/// Runs the soak test `name`, or `all`; `size` replaces the default size.
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
        // The whole workspace is built, so that the build of the normal tests is reused.
        let mut arguments =
            vec!["nextest", "run", "--workspace", "--profile", "soak", "--no-capture", "-E", soak.tests];
        if soak.ignored {
            arguments.extend(["--run-ignored", "only"]);
        }
        let mut command = cargo(&arguments);
        if let Some((variable, usual)) = soak.size {
            command.env(variable, size.map_or(usual.to_string(), str::to_owned));
        }
        crate::tell(&format!("{}: {}\n", soak.name, soak.shows));
        pass(command)?;
        if soak.name == "dashboard" {
            crate::tell(&format!("dashboard, how fast its page is: {}\n", browser::timed()?));
        }
    }
    if python {
        crate::tell(&format!("python: {PYTHON}\n"));
        python::soak()?;
    }
    Ok(())
}
