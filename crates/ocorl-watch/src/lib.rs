//! The server behind `ocorl watch`: a page that shows studies while they learn, on this machine only.
//!
//! | module | holds |
//! |---|---|
//! | `connection` | where we listen, how long we wait |
//! | `host`, `guard` | who may ask what: Host, method, token, origin; the lines of every answer |
//! | [`routes`] | every address there is, in one table |
//! | `reading`, `writing` | what can be looked at; the three things that can be written |
//! | `stream` | what happens, as it happens: server-sent events |
//! | `index`, `item`, `peek` | which studies there are; what the list says of each; a database in a few numbers |
//! | `views`, `listed` | what was computed lately |
//! | [`assets`] | the page's files, which are part of the program |
//! | `token`, `fault` | the secret; what went wrong |
//!
//! The server only looks, except for three addresses that need a token. It executes nothing, asks nobody else anything, and makes no path of
//! anything in a request. Work of the processor is done one thing at a time beside the streams, so that whoever learns on the same machine
//! is not held up.

pub mod assets;
mod connection;
mod fault;
mod guard;
mod host;
mod index;
mod item;
mod listed;
mod peek;
mod reading;
pub mod routes;
mod stream;
mod token;
mod views;
mod writing;

pub use connection::MOST_CONNECTIONS;
pub use stream::MOST_CLIENTS;
pub use token::Token;
pub use writing::MOST_BYTES;

use fault::Fault;
use index::{Entry, Index, Kind};
use listed::Listed;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stream::Streams;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use views::Views;

/// The usual port; if it is taken, the next that is free.
pub const PORT: u16 = 8017;
/// The line of a request that carries the token.
pub const TOKEN_HEADER: &str = "x-ocorl-token";

/// How soon the wish to stop is noticed.
const TICK: Duration = Duration::from_millis(20);
/// Something that is being written when the server ends may take so long to get to its end.
const LAST_WRITES: Duration = Duration::from_millis(500);
/// Connections, databases, and some to spare.
const OPEN_FILES: u64 = 4096;
/// Threads that look and compute.
const WORKERS: usize = 4;
/// Of them, so many look at files at once.
const LOOKING: usize = 2;

/// What to serve, and where.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Studies and sweeps are looked for below this folder.
    pub root: PathBuf,
    /// Address to listen at; none: this machine only, by both of its addresses.
    pub host: Option<IpAddr>,
    /// Exactly this port; none: [`PORT`], or the next that is free. 0: any.
    pub port: Option<u16>,
    /// The token that somebody chose; none: a new one.
    pub token: Option<Token>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The folder cannot be looked into.
    #[error("cannot look into '{}': {source}", root.display())]
    Root {
        /// Which.
        root: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// Others could ask, and no token was chosen.
    #[error("others could reach the server at {host}: that needs a token of your own")]
    NeedsToken {
        /// Where it would listen.
        host: IpAddr,
    },
    /// The token can be guessed, or cannot stand in an address.
    #[error("a token has {shortest} to {longest} letters, digits, - or _")]
    WeakToken {
        /// Characters at least.
        shortest: usize,
        /// Characters at most.
        longest: usize,
    },
    /// Nobody can listen there.
    #[error("cannot listen at port {port}: {source}")]
    Port {
        /// Which.
        port: u16,
        /// Whether no other was to be tried.
        exact: bool,
        /// What the system says.
        source: io::Error,
    },
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random numbers: {0}")]
    Random(String),
    /// The operating system gives no threads.
    #[error("cannot start: {0}")]
    Start(io::Error),
}

/// What all requests share.
pub(crate) struct Shared {
    token: Token,
    index: Arc<Index>,
    views: Views,
    streams: Streams,
    list: Listed,
    looking: Semaphore,
    writing: Semaphore,
}

impl Shared {
    /// The study or sweep called `id`, which may have come since somebody looked.
    async fn find(&self, id: &str, kind: Kind) -> Result<Arc<Entry>, Fault> {
        let fits = |entry: &Arc<Entry>| entry.kind == kind;
        if let Some(entry) = self.index.find(id).filter(fits) {
            return Ok(entry);
        }
        let wanted = id.to_owned();
        let found = self.look(move |index| {
            index.walk();
            index.find(&wanted)
        });
        found.await?.filter(fits).ok_or_else(|| match kind {
            Kind::Study => Fault::missing("there is no such study"),
            Kind::Sweep => Fault::missing("there is no such sweep"),
        })
    }

    /// Looks at files, away from the streams.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Arc<Index>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let _turn = self.looking.acquire().await;
        let index = self.index.clone();
        tokio::task::spawn_blocking(move || look(&index)).await.map_err(|_| views::broken())
    }

    /// Writes, one after the other.
    async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        write: impl FnOnce(&Index) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let (shared, index) = (self.clone(), self.index.clone());
        // A task of its own: who asked may go away meanwhile, and its turn must last until the end.
        let written = tokio::spawn(async move {
            let _turn = shared.writing.acquire().await;
            tokio::task::spawn_blocking(move || write(&index)).await
        });
        written.await.ok().and_then(Result::ok).ok_or_else(views::broken)
    }
}

/// A server at work; it ends when this is dropped.
pub struct Server {
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
    room: Arc<Semaphore>,
    addresses: Vec<SocketAddr>,
}

impl Server {
    /// Begins to serve.
    pub fn start(options: &Options) -> Result<Self, WatchError> {
        if let Some(host) = options.host.filter(|host| !host.is_loopback() && options.token.is_none()) {
            return Err(WatchError::NeedsToken { host });
        }
        // Many systems give a program too few for as many clients as we want. Where no more are to be had, fewer clients fit.
        let _ = rlimit::increase_nofile_limit(OPEN_FILES);
        let root = options.root.clone();
        let index = Index::new(&root).map_err(|source| WatchError::Root { root, source })?;
        let token = options.token.clone().map_or_else(Token::new, Ok)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(WORKERS)
            .thread_name("watch")
            .enable_io()
            .enable_time()
            .build()
            .map_err(WatchError::Start)?;
        let shared = Arc::new(Shared {
            token,
            index: Arc::new(index),
            views: Views::new(),
            streams: Streams::new(),
            list: Listed::default(),
            looking: Semaphore::new(LOOKING),
            writing: Semaphore::new(1),
        });
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let inside = runtime.enter();
        let listeners = connection::listen(options)?;
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        for listener in listeners {
            runtime.spawn(connection::accept(listener, shared.clone(), room.clone()));
        }
        drop(inside);
        Ok(Server { runtime: Some(runtime), shared, room, addresses })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The address of the page, without the token.
    pub fn address(&self) -> String {
        let first =
            self.addresses.first().copied().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], PORT)));
        let reachable = match first.ip() {
            IpAddr::V4(any) if any.is_unspecified() => SocketAddr::from(([127, 0, 0, 1], first.port())),
            IpAddr::V6(any) if any.is_unspecified() => {
                SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, first.port()))
            }
            _ => first,
        };
        format!("http://{reachable}/")
    }

    /// The address of the page with the token, which stands where no server and no log ever sees it.
    pub fn url(&self) -> String {
        format!("{}#token={}", self.address(), self.shared.token.reveal())
    }

    /// The token.
    pub fn token(&self) -> &Token {
        &self.shared.token
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        MOST_CONNECTIONS - self.room.available_permits()
    }

    /// Clients that listen for events.
    pub fn clients(&self) -> usize {
        self.shared.streams.clients()
    }

    /// Serves until `stop` becomes true. What is being written then gets to its end; everybody else is cut off.
    pub fn run_until(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
        if let Some(runtime) = self.runtime.take() {
            let shared = self.shared.clone();
            runtime.block_on(async move {
                let _ = tokio::time::timeout(LAST_WRITES, shared.writing.acquire()).await;
            });
            runtime.shutdown_background();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The id under which the study in the folder `below` the root is served.
pub fn id(below: &Path) -> String {
    index::id(below, Kind::Study)
}
