//! Server-sent events: tells clients what has changed.
//!
//! One task watches the files for all clients, ten times per second, and only while clients are connected. At each tick it checks
//! the studies that changed recently or are displayed, and a part of the others, so that each study is checked once per second.
//! Messages go to all clients through one bounded queue; a client that reads too slowly is disconnected and reconnects.

use crate::Shared;
use crate::fault::Fault;
use crate::index::{Entry, Index, Kind};
use crate::peek::{Stamp, written};
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use ocorl_study::live::{self, Live};
use serde::Deserialize;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};

/// Largest number of connected clients.
pub const MOST_CLIENTS: usize = 1024;
/// Seconds after which a refused client should retry.
const RETRY: u32 = 5;
/// Number of messages that a client may lag behind.
const QUEUE: usize = 256;
/// Interval between checks.
const TICK: Duration = Duration::from_millis(100);
/// Number of ticks in which every study is checked once.
const ROUND: usize = 10;
/// A study is checked at every tick for this long after a change.
const HOT: Duration = Duration::from_secs(30);
/// Interval between keep-alive comments, for proxies in between.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Time for verifying databases at each tick.
const CHECKS: Duration = Duration::from_millis(5);

/// A message for clients.
#[derive(Clone)]
struct Message {
    /// If set, only for clients that display this study.
    only: Option<Arc<str>>,
    text: Bytes,
}

/// The connected clients.
pub(crate) struct Streams {
    sender: Sender<Message>,
    clients: AtomicUsize,
    /// Displayed studies, and by how many clients.
    watched: Mutex<HashMap<Arc<str>, usize>>,
    /// Whether the watching task is running.
    awake: Mutex<bool>,
}

impl Streams {
    pub(crate) fn new() -> Self {
        let sender = broadcast::channel(QUEUE).0;
        Streams { sender, clients: AtomicUsize::new(0), watched: Mutex::default(), awake: Mutex::new(false) }
    }

    /// Number of connected clients.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    fn watched(&self) -> Vec<Arc<str>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

/// A client's place; it is released when its stream ends for any reason.
struct Place {
    shared: Arc<Shared>,
    study: Option<Arc<str>>,
}

impl Place {
    fn take(shared: &Arc<Shared>, study: Option<Arc<str>>) -> Option<Self> {
        let room = |now: usize| (now < MOST_CLIENTS).then_some(now + 1);
        shared.streams.clients.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        if let Some(study) = &study {
            let mut watched = shared.streams.watched.lock().unwrap_or_else(PoisonError::into_inner);
            *watched.entry(study.clone()).or_default() += 1;
        }
        Some(Place { shared: shared.clone(), study })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let streams = &self.shared.streams;
        streams.clients.fetch_sub(1, Ordering::Relaxed);
        if let Some(study) = &self.study {
            let mut watched = streams.watched.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = watched.get_mut(study) {
                *count -= 1;
                if *count == 0 {
                    watched.remove(study);
                }
            }
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Wish {
    study: Option<String>,
}

pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    wish: Result<Query<Wish>, QueryRejection>,
) -> Result<Response, Fault> {
    let Ok(Query(Wish { study })) = wish else {
        return Err(Fault::malformed("'study' must be the id of a study"));
    };
    let entry = match study {
        Some(id) => Some(shared.find(&id, Kind::Study).await?),
        None => None,
    };
    let study: Option<Arc<str>> = entry.as_ref().map(|entry| entry.id.as_str().into());
    let Some(place) = Place::take(&shared, study) else {
        return Err(
            Fault::later(format!("{MOST_CLIENTS} clients are connected already"), RETRY).hint("poll instead")
        );
    };
    // Subscribed before the present state is sent, so that no message is lost in between.
    let receiver = shared.streams.sender.subscribe();
    awaken(&shared);
    let mut first = VecDeque::from([message("list", "{}")]);
    if let Some(entry) = entry {
        let now = shared.look(move |index| (change(&entry.id, index.look(&entry).head()), live_now(&entry)));
        let (change, live) = now.await?;
        first.extend([change, live]);
    }
    let beat = tokio::time::interval_at(tokio::time::Instant::now() + HEARTBEAT, HEARTBEAT);
    let listener = Listener { first, receiver, beat, place };
    let body = stream::unfold(listener, |mut listener| async move {
        let text = listener.next().await?;
        Some((Ok::<Bytes, Infallible>(text), listener))
    });
    let mut response = Response::new(Body::from_stream(body));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

struct Listener {
    first: VecDeque<Bytes>,
    receiver: Receiver<Message>,
    beat: tokio::time::Interval,
    place: Place,
}

impl Listener {
    /// The next bytes for the client; `None` ends the stream of a client that is too slow.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(text) = self.first.pop_front() {
            return Some(text);
        }
        loop {
            tokio::select! {
                heard = self.receiver.recv() => match heard {
                    Ok(Message { only, text }) => {
                        if only.is_none() || only == self.place.study {
                            return Some(text);
                        }
                    }
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
                },
                _ = self.beat.tick() => return Some(Bytes::from_static(b": still here\n\n")),
            }
        }
    }
}

fn message(event: &str, data: &str) -> Bytes {
    format!("event: {event}\ndata: {data}\n\n").into()
}

fn change(id: &str, head: u64) -> Bytes {
    message("change", &format!("{{\"id\":\"{id}\",\"head\":{head}}}"))
}

fn live_now(entry: &Entry) -> Bytes {
    let live = serde_json::to_string(&Live::read(&entry.folder)).unwrap_or_else(|_| "null".into());
    message("live", &format!("{{\"id\":\"{}\",\"live\":{live}}}", entry.id))
}

/// Starts the watching task unless it is running. The task ends when no client is connected.
fn awaken(shared: &Arc<Shared>) {
    let mut awake = shared.streams.awake.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::replace(&mut *awake, true) {
        return;
    }
    let shared = shared.clone();
    tokio::spawn(async move {
        let mut watcher = Watcher::default();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            {
                let mut awake = shared.streams.awake.lock().unwrap_or_else(PoisonError::into_inner);
                if shared.streams.clients() == 0 {
                    *awake = false;
                    return;
                }
            }
            let watched = shared.streams.watched();
            let looked = shared.look(move |index| {
                let found = watcher.look(index, &watched);
                (watcher, found)
            });
            let Ok((back, found)) = looked.await else {
                // Its memory is lost; the next check starts from scratch.
                watcher = Watcher::default();
                continue;
            };
            watcher = back;
            if found.iter().any(|message| message.only.is_none()) {
                shared.list.forget();
            }
            for message in found {
                // Without receivers the message is dropped.
                let _ = shared.streams.sender.send(message);
            }
        }
    });
}

/// What the watching task saw last.
#[derive(Default)]
struct Watcher {
    seen: HashMap<String, Sight>,
    /// Whether a first check has been made.
    begun: bool,
    round: usize,
}

#[derive(Clone, Default)]
struct Sight {
    stamp: Stamp,
    head: u64,
    running: bool,
    live: Option<(Duration, u64)>,
    /// Until when this study is checked at every tick.
    hot: Option<Instant>,
}

impl Watcher {
    /// Checks once; returns messages about changes.
    fn look(&mut self, index: &Arc<Index>, watched: &[Arc<str>]) -> Vec<Message> {
        let mut found = Vec::new();
        let mut list = index.walk() && self.begun;
        self.begun = true;
        let entries = index.entries();
        self.round = (self.round + 1) % ROUND;
        for (i, entry) in entries.iter().enumerate() {
            let is_watched = watched.iter().any(|id| **id == *entry.id);
            let known = self.seen.get(&entry.id);
            let hot = known.is_none_or(|sight| sight.hot.is_some_and(|until| until > Instant::now()));
            if hot || is_watched || i % ROUND == self.round {
                list |= self.look_at(index, entry, is_watched, &mut found);
            }
        }
        if self.seen.len() > entries.len() {
            self.seen.retain(|id, _| entries.iter().any(|entry| entry.id == *id));
        }
        list |= index.check(CHECKS);
        if list {
            found.push(Message { only: None, text: message("list", "{}") });
        }
        found
    }

    /// Checks one study. Returns whether its list item changed beyond its numbers.
    fn look_at(&mut self, index: &Index, entry: &Entry, watched: bool, found: &mut Vec<Message>) -> bool {
        let before = self.seen.get(&entry.id).cloned();
        let mut sight = before.clone().unwrap_or_default();
        let stamp = Stamp::of(&entry.file());
        sight.running = entry.kind == Kind::Study && entry.is_running();
        let changed = sight.stamp != stamp || !stamp.settled();
        if changed {
            sight.head = index.look(entry).head();
            sight.stamp = stamp;
        }
        if sight.running || changed {
            sight.hot = Some(Instant::now() + HOT);
        }
        let mut list = false;
        if let Some(before) = before {
            if before.head != sight.head {
                found.push(Message { only: None, text: change(&entry.id, sight.head) });
            }
            list = before.running != sight.running;
        } else {
            // At the first check everything is new; it does not count as a change.
            sight.hot = None;
        }
        if watched {
            let now = if sight.running { written(&entry.folder.join(live::FILE)) } else { None };
            if now != sight.live {
                sight.live = now;
                found.push(Message { only: Some(entry.id.as_str().into()), text: live_now(entry) });
            }
        }
        self.seen.insert(entry.id.clone(), sight);
        list
    }
}
