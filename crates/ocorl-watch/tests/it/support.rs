//! Test support: a folder with a study and a server, and a client that sends exactly the bytes it is given, because ordinary
//! clients correct the malformed headers under test.

use ocorl::learn::Settings;
use ocorl_study::measured::Measured;
use ocorl_study::price::Prices;
use ocorl_study::rig::{self, Faults};
use ocorl_study::store::Access;
use ocorl_study::study::{Study, Telling};
use ocorl_study::system::System;
use ocorl_watch::{Options, Server};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A folder with one study called `lab`, and a server.
pub(crate) struct Lab {
    pub(crate) outer: tempfile::TempDir,
    pub(crate) server: Server,
}

pub(crate) fn system() -> System {
    System::find("van-der-pol").unwrap()
}

pub(crate) fn begin(folder: &Path) -> Study {
    let system = system();
    let mut settings = Settings { episodes: 4, measurements: 5, ..system.settings.clone() };
    settings.plan.intervals = 40;
    settings.plan.random_starts = 1;
    settings.model.restarts = 1;
    Study::create(folder, &system, settings, 7, Prices::default()).unwrap()
}

/// Plans, runs and records one episode.
pub(crate) fn episode(study: &mut Study) {
    let measured = measure(study);
    study.tell(None, measured, "rig", Telling::Whole).unwrap();
}

/// Measurements of the pending episode from a simulated rig.
pub(crate) fn measure(study: &mut Study) -> Measured {
    let plan = study.ask(&mut ()).unwrap().unwrap();
    rig::run(&system(), &plan, &Faults::default(), 7).unwrap()
}

/// Copies the files of a study.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

impl Lab {
    /// A study whose first episode is pending.
    pub(crate) fn new() -> Self {
        Lab::with(|root| {
            begin(&root.join("lab")).ask(&mut ()).unwrap();
        })
    }

    pub(crate) fn with(make: impl FnOnce(&Path)) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        std::fs::create_dir(&root).unwrap();
        make(&root);
        let server = Server::start(&Options { root, port: Some(0), ..Options::default() }).unwrap();
        Lab { outer, server }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outer.path().join("root")
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.root().join("lab")
    }

    pub(crate) fn id() -> String {
        ocorl_watch::id(Path::new("lab"))
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.server.addresses()[0]
    }

    pub(crate) fn host(&self) -> String {
        self.at().to_string()
    }

    /// Number and checksum of the last event.
    pub(crate) fn head(&self) -> (u64, String) {
        let study = Study::open(&self.folder(), Access::Read).unwrap();
        let (seq, checksum) = study.store().head();
        (seq, checksum.to_owned())
    }

    /// Sends a request with these headers beside Host.
    pub(crate) fn ask(&self, method: &str, path: &str, lines: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.host());
        for (name, value) in lines {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if !body.is_empty() {
            head.extend(["Content-Length: ", &body.len().to_string(), "\r\n"]);
        }
        head += "\r\n";
        raw(self.at(), &[head.as_bytes(), body].concat())
            .unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], b"")
    }

    /// Sends a POST request as the page does.
    pub(crate) fn post(&self, what: &str, kind: &str, body: &str) -> Reply {
        let (token, origin) = (self.server.token().reveal().to_owned(), format!("http://{}", self.host()));
        let lines = [("Content-Type", kind), ("X-Ocorl-Token", token.as_str()), ("Origin", origin.as_str())];
        self.ask("POST", &format!("/api/study/{}/{what}", Lab::id()), &lines, body.as_bytes())
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn line(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// Sends bytes and reads until the server closes the connection; `None` if it closes without an answer. Of an event stream only
/// the head is read.
pub(crate) fn raw(at: SocketAddr, bytes: &[u8]) -> Option<Reply> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A refused connection may be closed before all is sent.
    let _ = stream.write_all(bytes);
    let (mut all, mut part) = (Vec::new(), vec![0; 65536]);
    loop {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(n) => all.extend_from_slice(&part[..n]),
        }
        let head = String::from_utf8_lossy(&all);
        if head.contains("\r\n\r\n") && head.contains("text/event-stream") {
            break;
        }
    }
    let end = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Reply { status, head, body: all[end + 4..].to_vec() })
}

/// A client of the event stream.
pub(crate) struct Events {
    stream: TcpStream,
    read: String,
}

impl Events {
    pub(crate) fn listen(lab: &Lab, query: &str) -> Self {
        let mut stream = TcpStream::connect(lab.at()).unwrap();
        write!(stream, "GET /api/events{query} HTTP/1.1\r\nHost: {}\r\n\r\n", lab.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Events { stream, read: String::new() }
    }

    /// Reads until `wanted` arrives; later bytes are kept.
    pub(crate) fn until(&mut self, wanted: &str) -> bool {
        let mut part = vec![0; 65536];
        // Keep-alive comments do not count.
        let until = Instant::now() + Duration::from_secs(15);
        while Instant::now() < until {
            if let Some(place) = self.read.find(wanted) {
                self.read.drain(..place + wanted.len());
                return true;
            }
            match self.stream.read(&mut part) {
                Ok(0) | Err(_) => return false,
                Ok(n) => self.read += &String::from_utf8_lossy(&part[..n]),
            }
        }
        false
    }
}
