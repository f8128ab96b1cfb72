//! Requests that create studies, and start and stop runs. They do the same as the commands `ocorl run` and `ocorl study new`.

use crate::Shared;
use crate::fault::Fault;
use crate::index::{Kind, id};
use crate::reading::{json, text};
use crate::writing::document;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use ocorl_study::config::Config;
use ocorl_study::files::write_atomically;
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

type Answer = Result<Response, Fault>;
type At = State<Arc<Shared>>;

/// Longest name of a new study.
const LONGEST: usize = 80;
/// The file with the settings of a run that is continued.
const SETTINGS: &str = "settings.toml";

/// The settings that a study starts from.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum StartingPoint {
    Default,
    Reference,
}

/// A study to create.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewStudy {
    name: String,
    system: String,
    /// Whether measurements come from hardware: then it is planned on the page; otherwise it is simulated at once.
    #[serde(default)]
    hardware: bool,
    #[serde(default)]
    seed: u64,
    episodes: Option<usize>,
    strategy: Option<String>,
    settings: Option<StartingPoint>,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

impl NewStudy {
    fn arguments(&self, folder: &FilePath) -> Vec<String> {
        let folder = folder.display().to_string();
        let words: &[&str] = if self.hardware {
            &["study", "new", &folder, "--system", &self.system]
        } else {
            &["run", &self.system, "--out", &folder]
        };
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words.push(format!("--seed={}", self.seed));
        words.extend(self.episodes.map(|n| format!("--episodes={n}")));
        words.extend(self.strategy.as_ref().map(|name| format!("--strategy={name}")));
        words.extend(self.settings.as_ref().map(|from| match from {
            StartingPoint::Default => "--settings=default".to_owned(),
            StartingPoint::Reference => "--settings=reference".to_owned(),
        }));
        words.extend(self.set.iter().map(|(path, value)| format!("--set={path}={value}")));
        words
    }
}

/// The folder of a new study below the root; the name has only characters that mean nothing to a file system or a command line.
fn folder(root: &FilePath, name: &str) -> Result<PathBuf, Fault> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = (1..=LONGEST).contains(&name.len()) && name.bytes().all(plain);
    if !fits || name.starts_with(['.', '-']) {
        return Err(Fault::malformed(
            "a name has letters, digits, '-', '_' and '.', and begins with none of '.' and '-'",
        ));
    }
    let folder = root.join(name);
    if folder.symlink_metadata().is_ok() {
        return Err(Fault::new(StatusCode::CONFLICT, format!("there is already something named '{name}'"))
            .hint("choose another name"));
    }
    Ok(folder)
}

/// Creates a study: for hardware, or simulated at once.
pub(crate) async fn create(State(shared): At, body: Body) -> Answer {
    let new: NewStudy = document(body).await?;
    if new.system.contains(['/', '\\', '.']) || new.system.starts_with('-') {
        return Err(Fault::malformed("'system' is the name of a system: see `ocorl list`"));
    }
    let folder = folder(shared.index.root(), &new.name)?;
    let file = folder.join("study.db");
    shared.jobs.learn(&folder, &new.arguments(&folder), || file.exists()).await?;
    shared.index.expire();
    shared.list.forget();
    Ok(json(text(&serde_json::json!({ "id": id(FilePath::new(&new.name), Kind::Study) })).into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Continue {
    episodes: Option<usize>,
}

/// Continues a simulated run that was stopped, or lengthens one that has ended.
pub(crate) async fn go_on(State(shared): At, Path(id): Path<String>, body: Body) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let Continue { episodes } = document(body).await?;
    let at = entry.folder.clone();
    let arguments = shared.write(move |_| -> Result<Vec<String>, Fault> {
        let study = Study::open(&at, Access::Read)?;
        let created = study.created();
        if created.file.is_some() || study.system().truth.is_none() {
            return Err(Fault::new(
                StatusCode::CONFLICT,
                "only simulated runs of systems in `ocorl list` can be continued here",
            )
            .hint("use the command that started it"));
        }
        let settings = Config::of(&created.system, created.settings.clone())?;
        let file = at.join(SETTINGS);
        write_atomically(&file, settings.text("How this run learns.")?.as_bytes())
            .map_err(|error| Fault::missing(error.to_string()))?;
        let mut words: Vec<String> = ["run", &created.system, "--out"].map(str::to_owned).to_vec();
        words.extend([at.display().to_string(), format!("--settings={}", file.display())]);
        words.extend([format!("--seed={}", created.seed)]);
        words.extend([format!("--episodes={}", episodes.unwrap_or_else(|| study.episodes()))]);
        Ok(words)
    });
    let arguments = arguments.await??;
    shared.jobs.learn(&entry.folder, &arguments, || entry.is_running()).await?;
    Ok(json(text(&serde_json::json!({ "done": true })).into()))
}

/// Stops a run that was started from the page.
pub(crate) async fn stop(State(shared): At, Path(id): Path<String>) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    shared.jobs.stop(&entry.folder)?;
    Ok(json(text(&serde_json::json!({ "done": true })).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_study_stays_below_the_root() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("there")).unwrap();
        for wrong in ["", ".", "..", "a/b", "../x", "-rf", ".hidden", "a b", "a\0b", "there", &"x".repeat(81)]
        {
            assert!(folder(root.path(), wrong).is_err(), "{wrong}");
        }
        assert_eq!(folder(root.path(), "run-1.a_b").ok(), Some(root.path().join("run-1.a_b")));
    }

    #[test]
    fn no_word_of_a_new_study_becomes_an_option() {
        let new: NewStudy = serde_json::from_str(
            r#"{"name": "a", "system": "pendulum", "strategy": "--json", "set": {"--json": "-q"}}"#,
        )
        .unwrap();
        let words = new.arguments(FilePath::new("/r/a"));
        assert_eq!(
            words,
            ["run", "pendulum", "--out", "/r/a", "--seed=0", "--strategy=--json", "--set=--json=-q"]
        );
    }
}
