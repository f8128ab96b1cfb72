//! The catalogue of benchmark systems.

use super::{BENCHMARKS, KnownSystem, PaperSettings, Published};

/// A benchmark system: its names, its equations with their task, and the published results.
///
/// A [`KnownSystem`] of the catalogue refers to its entry ([`KnownSystem::benchmark`]); a user's own system has none.
///
/// ```
/// use ocorl::system::Benchmark;
///
/// let pendulum = Benchmark::find("pendulum")?;
/// assert_eq!(pendulum.task.horizon, 10.0);
/// let entry = pendulum.benchmark().expect("a benchmark");
/// assert_eq!(entry.paper.episodes, 20);
/// assert_eq!(entry.published.map(|row| row.continuous), Some(20.16));
/// # Ok::<(), ocorl::system::UnknownSystem>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Benchmark {
    /// Name in kebab case, as typed by users.
    pub name: &'static str,
    /// Shorter names that are accepted too.
    pub aliases: &'static [&'static str],
    /// Creates the system: equations, task, and the control of episode 0.
    pub system: fn() -> KnownSystem,
    /// Settings of the paper; for systems beyond its Table 1 those of the authors' program, or our choice.
    pub paper: PaperSettings,
    /// Row of the paper's Table 1; `None` if the system is not in it.
    pub published: Option<Published>,
}

/// No system of the catalogue has the given name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no system '{name}'")]
pub struct UnknownSystem {
    /// Name that was not found.
    pub name: String,
}

impl Benchmark {
    /// Creates all benchmark systems, the paper's nine first.
    pub fn all() -> Vec<KnownSystem> {
        BENCHMARKS.iter().map(|entry| (entry.system)()).collect()
    }

    /// Creates the nine systems of the paper's Table 1, in its order.
    pub fn of_the_paper() -> Vec<KnownSystem> {
        let printed = BENCHMARKS.iter().filter(|entry| entry.published.is_some());
        printed.map(|entry| (entry.system)()).collect()
    }

    /// Creates the system with the name or alias `name`.
    pub fn find(name: &str) -> Result<KnownSystem, UnknownSystem> {
        BENCHMARKS
            .iter()
            .find(|entry| entry.name == name || entry.aliases.contains(&name))
            .map(|entry| (entry.system)())
            .ok_or_else(|| UnknownSystem { name: name.into() })
    }
}
