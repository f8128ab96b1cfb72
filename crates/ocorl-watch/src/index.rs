//! Finds the studies and sweeps below the root folder. Requests name them by an id that is looked up here: no path is ever built
//! from anything in a request.
//!
//! Listing is cheap: an unchanged database is not opened again. Verifying every byte of every study is not, so it is done in small
//! portions: first before the first list is answered, then while clients are connected.

use crate::item::{Item, item};
use crate::peek::{self, Head, Stamp, StudySummary};
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

/// Depth below the root to which folders are searched.
const DEPTH: usize = 6;
/// Largest number of folders that are searched.
const FOLDERS: usize = 10_000;
/// The folders are searched again after this time, or after this multiple of the time that a search takes.
const WALK_EVERY: Duration = Duration::from_secs(2);
const WALK_SHARE: u32 = 50;
/// Number of further looks at a database whose first look was disturbed by a writer, and the time between them.
const ATTEMPTS: usize = 3;
const PAUSE: Duration = Duration::from_millis(20);
/// Time for verifying databases before the first list is answered.
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
    /// Identifier: 16 hexadecimal digits derived from the path below the root.
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// Path below the root.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

impl Entry {
    /// Path of the database.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(self.kind.form().name).with_extension("db")
    }

    /// Whether a process is running it, according to its live file.
    pub(crate) fn is_running(&self) -> bool {
        let written = std::fs::symlink_metadata(self.folder.join(live::FILE)).and_then(|m| m.modified());
        written.is_ok_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() <= live::STALE)
    }
}

/// What was read from a database when it was last opened.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) stamp: Stamp,
    /// Whether the stamp would reveal any later change.
    settled: bool,
    /// Whether every byte was verified.
    checked: bool,
    pub(crate) seen: Seen,
}

#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Nothing,
    Study(Head, Box<StudySummary>),
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

/// All studies and sweeps below a root folder.
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
    /// The index of the folder `root`.
    pub(crate) fn new(root: &Path) -> std::io::Result<Self> {
        let root = root.canonicalize()?;
        std::fs::read_dir(&root)?;
        Ok(Index { root, state: Mutex::default() })
    }

    /// The root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Name of the root folder.
    pub(crate) fn title(&self) -> String {
        self.root.file_name().map_or("/".into(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether the root folder is writable, as far as its permissions tell.
    pub(crate) fn is_writable(&self) -> bool {
        std::fs::metadata(&self.root).is_ok_and(|about| !about.permissions().readonly())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state consists of complete values, so it is valid after a panic of another thread.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The study or sweep with this id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Entry>> {
        self.state().entries.get(id).cloned()
    }

    /// All studies and sweeps; the folders are searched again if the last search is too old.
    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        self.walk();
        self.state().entries.values().cloned().collect()
    }

    /// Makes the next search due at once: something was created.
    pub(crate) fn expire(&self) {
        self.state().walked = None;
    }

    /// Searches the folders if the last search is too old. Returns whether an entry appeared or disappeared.
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

    /// The present content of the database of `entry`; the database is opened only if it has changed.
    pub(crate) fn look(&self, entry: &Entry) -> Card {
        let file = entry.file();
        // Taken before the database is read: a change in between is seen next time.
        let stamp = Stamp::of(&file);
        let known = self.state().cards.get(&entry.id).filter(|card| card.stamp == stamp).cloned();
        // Damage that a full verification found stays until the file changes; a look at the head alone does not see it.
        let found = |card: &Card| card.checked && matches!(card.seen, Seen::Damaged(_));
        if let Some(card) = known.filter(|card| card.settled || found(card)) {
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
        let mut attempt = 0;
        loop {
            let cause = match peeked(entry) {
                Ok(seen) => return (seen, false),
                Err(cause) => cause,
            };
            // The full verification gives the most precise cause. If it finds nothing, the first look was disturbed, and is repeated.
            match self.damage(entry) {
                Some(damage) => return (Seen::Damaged(damage), true),
                None if attempt >= ATTEMPTS => return (Seen::Damaged(cause), true),
                None => attempt += 1,
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether `folder` is still below the root and not a link to elsewhere.
    pub(crate) fn holds(&self, folder: &Path) -> bool {
        folder.canonicalize().is_ok_and(|real| real == *folder && real.starts_with(&self.root))
    }

    /// Verifies every byte of a database; returns the damage, if there is any.
    fn damage(&self, entry: &Entry) -> Option<String> {
        let file = entry.file();
        let name = file.strip_prefix(&self.root).unwrap_or(&file).display().to_string();
        match Store::open(&entry.folder, entry.kind.form(), Access::Read, |_| Ok(())) {
            Ok(_) | Err(StoreError::Missing { .. }) => None,
            Err(StoreError::Damaged { record, .. }) => Some(format!("{name}, record {record}")),
            // The folder of the study is not disclosed.
            Err(StoreError::Disk { path, cause, .. }) => {
                let short = path.file_name().unwrap_or_default().to_string_lossy();
                Some(format!("{name}: {}", cause.replace(&path.display().to_string(), &short)))
            }
            Err(StoreError::Newer { theirs, ours, .. }) => Some(format!(
                "{name} was made by a later version of ocorl (its schema version is {theirs}, this program supports {ours})"
            )),
            Err(_) => Some(format!("{name} cannot be opened")),
        }
    }

    /// Verifies databases that have not been verified yet, for about this time. Returns whether damage was found.
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
            // A database that is being written is verified later.
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

    /// The list of studies and sweeps, newest first.
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

    /// The list item of one entry; `None` if its database is empty.
    pub(crate) fn item(&self, entry: &Entry) -> Option<Item> {
        item(entry, self.look(entry))
    }
}

/// A short look at the database of `entry`.
fn peeked(entry: &Entry) -> Result<Seen, String> {
    let file = entry.file();
    match entry.kind {
        Kind::Study => peek::study(&file)
            .map(|seen| seen.map_or(Seen::Nothing, |(head, facts)| Seen::Study(head, Box::new(facts)))),
        Kind::Sweep => peek::sweep(&file)
            .map(|seen| seen.map_or(Seen::Nothing, |(head, cells)| Seen::Sweep(head, cells))),
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
        // Folders inside a study are not searched.
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

/// Identifier of an entry: the beginning of the SHA-256 of its path. A folder can hold a study and a sweep; the path of a sweep is
/// that of its database.
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
