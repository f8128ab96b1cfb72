//! Which studies and sweeps there are below the root. Everything that is asked for is looked up here by its number: no path is ever made of
//! anything in a request.
//!
//! Looking is cheap: a database that has not changed since is not opened again. Checking every byte of every study is not, so it is done
//! while there is time, first in the answer to the first question, then bit by bit while somebody watches.

use crate::item::{Item, item};
use crate::peek::{self, Head, Stamp, StudyFacts};
use ocorl_study::live;
use ocorl_study::store::{Access, Form, Store, StoreError};
use ocorl_study::{study, sweep};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Folders this far below the root are looked into.
const DEPTH: usize = 6;
/// At most so many folders are looked into.
const FOLDERS: usize = 10_000;
/// The tree is walked again after this long, or after this many times what the walk took.
const WALK_EVERY: Duration = Duration::from_secs(2);
const WALK_SHARE: u32 = 50;
/// Time for checking whole studies before the first list is answered.
const FIRST_CHECKS: Duration = Duration::from_millis(400);

/// Study or sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Study,
    Sweep,
}

impl Kind {
    fn form(self) -> Form {
        match self {
            Kind::Study => study::FORM,
            Kind::Sweep => sweep::FORM,
        }
    }
}

/// One study or sweep.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// 16 hexadecimal digits, from its path below the root.
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// Its path below the root.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

impl Entry {
    /// The database.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(self.kind.form().name).with_extension("db")
    }

    /// Whether somebody is at work there, as far as it says so.
    pub(crate) fn is_running(&self) -> bool {
        let written = std::fs::symlink_metadata(self.folder.join(live::FILE)).and_then(|m| m.modified());
        written.is_ok_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() <= live::STALE)
    }
}

/// What was seen of a database when it was last opened.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) stamp: Stamp,
    /// Whether a change since would be seen by the stamp.
    settled: bool,
    /// Whether every byte was looked at.
    checked: bool,
    pub(crate) seen: Seen,
}

#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Nothing,
    Study(Head, Box<StudyFacts>),
    Sweep(Head, usize),
    Damaged(String),
}

impl Card {
    /// Number of the last event.
    pub(crate) fn head(&self) -> u64 {
        match &self.seen {
            Seen::Study(head, _) | Seen::Sweep(head, _) => head.seq,
            Seen::Nothing | Seen::Damaged(_) => 0,
        }
    }
}

/// All of them.
pub(crate) struct Index {
    root: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Arc<Entry>>,
    cards: HashMap<String, Card>,
    walked: Option<Instant>,
    took: Duration,
    listed: bool,
}

impl Index {
    /// Of what is below `root`.
    pub(crate) fn new(root: &Path) -> std::io::Result<Self> {
        let root = root.canonicalize()?;
        std::fs::read_dir(&root)?;
        Ok(Index { root, state: Mutex::default() })
    }

    /// Name of the root.
    pub(crate) fn title(&self) -> String {
        self.root.file_name().map_or("/".into(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether something can be written there, as far as that can be known without trying.
    pub(crate) fn is_writable(&self) -> bool {
        std::fs::metadata(&self.root).is_ok_and(|about| !about.permissions().readonly())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What it guards are finished values; who panicked did not leave half of one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The study or sweep called `id`.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Entry>> {
        self.state().entries.get(id).cloned()
    }

    /// All of them; the tree is walked again if that was long ago.
    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        self.walk();
        self.state().entries.values().cloned().collect()
    }

    /// Walks the tree if that was long ago. Returns whether something came or went.
    pub(crate) fn walk(&self) -> bool {
        {
            let state = self.state();
            let often = WALK_EVERY.max(WALK_SHARE * state.took);
            if state.walked.is_some_and(|walked| walked.elapsed() < often) {
                return false;
            }
        }
        let begin = Instant::now();
        let found = walk(&self.root);
        let mut state = self.state();
        let same = state.walked.is_some() && state.entries.keys().eq(found.keys());
        state.cards.retain(|id, _| found.contains_key(id));
        state.entries = found;
        (state.walked, state.took) = (Some(Instant::now()), begin.elapsed());
        !same
    }

    /// What is in the database of `entry` now; it is opened only if it has changed.
    pub(crate) fn look(&self, entry: &Entry) -> Card {
        let file = entry.file();
        // Before the database is read: a change in between is seen the next time.
        let stamp = Stamp::of(&file);
        let known = self.state().cards.get(&entry.id).filter(|card| card.stamp == stamp).cloned();
        // Damage that was found does not go away by itself.
        let is_known = |card: &Card| card.settled || matches!(card.seen, Seen::Damaged(_));
        if let Some(card) = known.filter(is_known) {
            return card;
        }
        let settled = stamp.settled();
        let (seen, checked) = self.see(entry, stamp);
        let card = Card { stamp, settled, checked, seen };
        self.state().cards.insert(entry.id.clone(), card.clone());
        card
    }

    fn see(&self, entry: &Entry, stamp: Stamp) -> (Seen, bool) {
        if !stamp.is_there() || !self.holds(&entry.folder) {
            return (Seen::Nothing, true);
        }
        let seen = match entry.kind {
            Kind::Study => peek::study(&entry.file())
                .map(|seen| seen.map_or(Seen::Nothing, |(head, facts)| Seen::Study(head, Box::new(facts)))),
            Kind::Sweep => peek::sweep(&entry.file())
                .map(|seen| seen.map_or(Seen::Nothing, |(head, cells)| Seen::Sweep(head, cells))),
        };
        match seen {
            Ok(seen) => (seen, false),
            // Whoever checks everything knows best what is wrong.
            Err(cause) => (Seen::Damaged(self.damage(entry).unwrap_or(cause)), true),
        }
    }

    /// Whether `folder` is still where it was found: below the root, not a link to elsewhere.
    pub(crate) fn holds(&self, folder: &Path) -> bool {
        folder.canonicalize().is_ok_and(|real| real == *folder && real.starts_with(&self.root))
    }

    /// What is wrong with a database, every byte of it looked at; none if nothing is.
    fn damage(&self, entry: &Entry) -> Option<String> {
        let file = entry.file();
        let name = file.strip_prefix(&self.root).unwrap_or(&file).display().to_string();
        match Store::open(&entry.folder, entry.kind.form(), Access::Read, |_| Ok(())) {
            Ok(_) | Err(StoreError::Missing { .. }) => None,
            Err(StoreError::Damaged { record, .. }) => Some(format!("{name}, record {record}")),
            Err(other) => Some(format!("{name}: {other}")),
        }
    }

    /// Checks databases that nobody has looked at closely, for about as long as this. Returns whether damage was found.
    pub(crate) fn check(&self, time: Duration) -> bool {
        let begin = Instant::now();
        let mut found = false;
        let open: Vec<Arc<Entry>> = {
            let state = self.state();
            let unchecked =
                |entry: &&Arc<Entry>| state.cards.get(&entry.id).is_some_and(|card| !card.checked);
            state.entries.values().filter(unchecked).cloned().collect()
        };
        for entry in open {
            if begin.elapsed() > time {
                break;
            }
            // One that is being written is looked at when it rests.
            if !self.holds(&entry.folder) || entry.is_running() {
                continue;
            }
            let damage = self.damage(&entry);
            if let Some(card) = self.state().cards.get_mut(&entry.id) {
                card.checked = true;
                if let Some(damage) = damage {
                    card.seen = Seen::Damaged(damage);
                    found = true;
                }
            }
        }
        found
    }

    /// The list, newest first.
    pub(crate) fn list(&self) -> Vec<Item> {
        let entries = self.entries();
        let mut cards: Vec<Card> = entries.iter().map(|entry| self.look(entry)).collect();
        let first = !std::mem::replace(&mut self.state().listed, true);
        if first && self.check(FIRST_CHECKS) {
            cards = entries.iter().map(|entry| self.look(entry)).collect();
        }
        let mut items: Vec<Item> =
            entries.iter().zip(cards).filter_map(|(entry, card)| item(entry, card)).collect();
        items.sort_by(|a, b| b.updated().cmp(&a.updated()));
        items
    }

    /// What the list says of one; none if there is nothing in it yet.
    pub(crate) fn item(&self, entry: &Entry) -> Option<Item> {
        item(entry, self.look(entry))
    }
}

/// All studies and sweeps below `root`. Links are not followed, hidden folders not entered.
fn walk(root: &Path) -> BTreeMap<String, Arc<Entry>> {
    let mut found = BTreeMap::new();
    let (mut open, mut folders) = (std::collections::VecDeque::from([(root.to_path_buf(), 0)]), 1);
    while let Some((folder, depth)) = open.pop_front() {
        let Ok(inside) = std::fs::read_dir(&folder) else { continue };
        let (mut below, mut is_study) = (Vec::new(), false);
        for one in inside.filter_map(Result::ok) {
            let Ok(kind) = one.file_type() else { continue };
            let name = one.file_name();
            if kind.is_dir() && !name.as_encoded_bytes().starts_with(b".") {
                below.push(one.path());
            } else if kind.is_file() && name == "study.db" {
                is_study = true;
                add(root, &folder, Kind::Study, &mut found);
            } else if kind.is_file() && name == "sweep.db" {
                add(root, &folder, Kind::Sweep, &mut found);
            }
        }
        // What is inside a study is its own.
        if depth >= DEPTH || (is_study && depth > 0) {
            continue;
        }
        below.sort();
        for path in below {
            if folders >= FOLDERS {
                break;
            }
            folders += 1;
            open.push_back((path, depth + 1));
        }
    }
    found
}

fn add(root: &Path, folder: &Path, kind: Kind, found: &mut BTreeMap<String, Arc<Entry>>) {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let name = if parts.is_empty() {
        root.file_name().map_or("/".into(), |name| name.to_string_lossy().into_owned())
    } else {
        parts.join("/")
    };
    let id = id(below, kind);
    found.insert(id.clone(), Arc::new(Entry { id, kind, name, folder: folder.into() }));
}

/// The beginning of the SHA-256 of a path. A folder can hold a study and a sweep: the path of a sweep is that of its database.
pub(crate) fn id(below: &Path, kind: Kind) -> String {
    let mut hash = Sha256::new();
    hash.update(below.as_os_str().as_encoded_bytes());
    if kind == Kind::Sweep {
        hash.update(b"/sweep.db");
    }
    let mut id = String::with_capacity(16);
    for byte in &hash.finalize()[..8] {
        let _ = write!(id, "{byte:02x}");
    }
    id
}
