//! `cargo xtask soak`: the long versions of tests whose short ones run on every change.

use crate::run::{cargo, pass};

/// A long test: its name, what it shows, how it is run.
struct Soak {
    name: &'static str,
    shows: &'static str,
    arguments: &'static [&'static str],
    /// The variable that says how long, and how long unless somebody says otherwise.
    size: Option<(&'static str, usize)>,
}

const SOAKS: [Soak; 5] = [
    Soak {
        name: "kills",
        shows: "study commands killed at random moments lose nothing and end the same",
        arguments: &[
            "test",
            "-p",
            "ocorl-cli",
            "--test",
            "study",
            "killed_at_any_moment",
            "--",
            "--nocapture",
        ],
        size: Some(("OCORL_KILLS", 1_000)),
    },
    Soak {
        name: "bytes",
        shows: "every flipped byte of a study is noticed or does not matter",
        arguments: &[
            "test",
            "-p",
            "ocorl-study",
            "--test",
            "study",
            "every_flipped_byte",
            "--",
            "--nocapture",
        ],
        size: Some(("OCORL_FLIPS", 10_000)),
    },
    Soak {
        name: "files",
        shows: "changed files of measurements and plans never make a reader panic or hang",
        arguments: &["test", "-p", "ocorl-study", "--test", "study", "no_file_makes", "--", "--nocapture"],
        size: Some(("OCORL_FUZZ", 100_000)),
    },
    Soak {
        name: "systems",
        shows: "changed files of systems and random expressions never make a reader panic or hang",
        arguments: &["test", "-p", "ocorl-study", "--test", "own_system", "--", "--ignored", "--nocapture"],
        size: None,
    },
    Soak {
        name: "controller",
        shows: "a million steps with a faulty solver stay finite and within limits; a hung solver is not waited for",
        arguments: &["test", "-p", "ocorl-study", "--test", "control", "--", "--ignored", "--nocapture"],
        size: None,
    },
];

/// Runs the soak called `name`, or `all`; `size` instead of the usual number.
pub(crate) fn run(name: &str, size: Option<&str>) -> Result<(), String> {
    let chosen: Vec<&Soak> = SOAKS.iter().filter(|soak| name == "all" || soak.name == name).collect();
    if chosen.is_empty() {
        let names = SOAKS.map(|soak| format!("  {:<12}{}", soak.name, soak.shows)).join("\n");
        return Err(format!("no soak test '{name}'; there are:\n{names}\n  all         every one of them"));
    }
    for soak in chosen {
        let mut command = cargo(soak.arguments);
        if let Some((variable, usual)) = soak.size {
            command.env(variable, size.map_or(usual.to_string(), str::to_owned));
        }
        crate::tell(&format!("{}: {}\n", soak.name, soak.shows));
        pass(command)?;
    }
    Ok(())
}
