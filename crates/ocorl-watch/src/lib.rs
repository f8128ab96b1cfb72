//! The server behind `ocorl watch`: a web page that shows studies while they learn, on this machine only.
//!
//! | module | responsibility |
//! |---|---|
//! | `connection` | listening sockets, limits, timeouts |
//! | `host`, `guard` | access control: Host, method, token, Origin; headers of every answer |
//! | [`routes`] | the table of all addresses |
//! | `reading`, `writing` | the read-only requests; the requests that write to a study |
//! | `running` | the requests that create studies, and start and stop runs |
//! | `stream` | server-sent events |
//! | `index`, `item`, `peek` | finds studies; builds the items of the list; reads a database summary |
//! | `jobs` | plans episodes in a process of its own, which ends with its client; runs, which do not |
//! | `views`, `listed` | caches of computed answers |
//! | [`assets`] | the files of the page, compiled into the program |
//! | `token`, `fault` | the write token; errors of requests |
//!
//! The server only reads, except for the routes that need a token. It runs no command but `ocorl run`, `study new`, `study ask` and
//! `report`, and contacts no other host. The only part of a request that becomes part of a path is the name of a new study, which has
//! no separators. CPU-bound work runs one task at a time beside the event streams, so that a learning process on the same machine keeps
//! its cores. Plots and summaries are described in `ocorl-view`; nothing is learned or drawn here.

pub mod assets;
mod connection;
mod fault;
mod guard;
mod host;
mod index;
mod item;
mod jobs;
mod listed;
mod peek;
mod reading;
pub mod routes;
mod running;
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
use jobs::Jobs;
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

/// Default port; if it is taken, the next free one is used.
pub const PORT: u16 = 8017;
/// Name of the request header that carries the token.
pub const TOKEN_HEADER: &str = "x-ocorl-token";

/// Interval at which the server checks whether it should stop.
const TICK: Duration = Duration::from_millis(20);
/// Time that a write in progress gets to finish when the server stops.
const LAST_WRITES: Duration = Duration::from_millis(500);
/// Limit of open files that the server asks for: connections, databases, and a reserve.
const OPEN_FILES: u64 = 4096;
/// Number of worker threads.
const WORKERS: usize = 6;
/// Number of these that may read files at once.
const LOOKING: usize = 2;

/// What to serve, and where.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folder below which studies and sweeps are searched.
    pub root: PathBuf,
    /// Address to listen on; `None` for this machine only, on both of its loopback addresses.
    pub host: Option<IpAddr>,
    /// Port to listen on; `None` for [`PORT`] or the next free one, 0 for any free one.
    pub port: Option<u16>,
    /// Write token chosen by the user; `None` for a new random one.
    pub token: Option<Token>,
    /// The `ocorl` program, which plans episodes in a process of its own; `None` to offer no planning.
    pub program: Option<PathBuf>,
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The root folder cannot be read.
    #[error("cannot look into '{}': {source}", root.display())]
    Root {
        /// The root folder.
        root: PathBuf,
        /// Error of the file system.
        source: io::Error,
    },
    /// The server would be reachable from other machines, and the user has not chosen a token.
    #[error("others could reach the server at {host}: that needs a token of your own")]
    NeedsToken {
        /// Address that was requested.
        host: IpAddr,
    },
    /// The token is too short to be secure, or has characters that an address cannot hold.
    #[error("a token has {shortest} to {longest} letters, digits, - or _")]
    WeakToken {
        /// Smallest number of characters.
        shortest: usize,
        /// Largest number of characters.
        longest: usize,
    },
    /// The port cannot be opened.
    #[error("cannot listen at port {port}: {source}")]
    Port {
        /// The port.
        port: u16,
        /// Whether the user asked for exactly this port.
        exact: bool,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The operating system provides no random numbers.
    #[error("the operating system provides no random numbers: {0}")]
    Random(String),
    /// The operating system provides no threads.
    #[error("cannot start: {0}")]
    Start(io::Error),
}

/// State shared by all requests.
pub(crate) struct Shared {
    token: Token,
    index: Arc<Index>,
    views: Views,
    streams: Streams,
    list: Listed,
    jobs: Jobs,
    looking: Semaphore,
    writing: Semaphore,
}

impl Shared {
    /// The study or sweep with this id, also if it has appeared since the last search.
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

    /// Runs a task that reads files, away from the event streams.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Arc<Index>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let _turn = self.looking.acquire().await;
        let index = self.index.clone();
        tokio::task::spawn_blocking(move || look(&index)).await.map_err(|_| views::broken())
    }

    /// Runs a task that writes; writes run one after the other.
    async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        write: impl FnOnce(&Index) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let (shared, index) = (self.clone(), self.index.clone());
        // A task of its own: the client may disconnect meanwhile, and the write must keep its turn to the end.
        let written = tokio::spawn(async move {
            let _turn = shared.writing.acquire().await;
            tokio::task::spawn_blocking(move || write(&index)).await
        });
        written.await.ok().and_then(Result::ok).ok_or_else(views::broken)
    }
}

/// A running server; dropping it stops it.
pub struct Server {
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
}

impl Server {
    /// Starts the server.
    pub fn start(options: &Options) -> Result<Self, WatchError> {
        if let Some(host) = options.host.filter(|host| !host.is_loopback() && options.token.is_none()) {
            return Err(WatchError::NeedsToken { host });
        }
        // The default limit of open files is often too low for the number of clients. If it cannot be raised, fewer clients fit.
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
            jobs: Jobs::new(options.program.clone()),
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
        Ok(Server { runtime: Some(runtime), shared, addresses })
    }

    /// The addresses on which the server listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Address of the page, without the token.
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

    /// Address of the page with the token in its fragment, which browsers do not send to any server.
    pub fn url(&self) -> String {
        format!("{}#token={}", self.address(), self.shared.token.reveal())
    }

    /// The write token.
    pub fn token(&self) -> &Token {
        &self.shared.token
    }

    /// Number of clients that receive events.
    pub fn clients(&self) -> usize {
        self.shared.streams.clients()
    }

    /// Serves until `stop` becomes true. A write in progress is finished; all other connections are closed.
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

/// The id of the study in the folder `below` the root.
pub fn id(below: &Path) -> String {
    index::id(below, Kind::Study)
}
