//! Tests of `ocorl watch` as an external process; load tests with a thousand clients run with `cargo xtask soak dashboard`.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests; the long version says what it measured"
)]

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ocorl"));
    command.current_dir(folder).args(arguments).env("RAYON_NUM_THREADS", "1");
    command
}

fn ocorl(folder: &Path, arguments: &[&str]) -> Output {
    program(folder, arguments).output().expect("the program starts")
}

/// A server in a process of its own.
struct Watch {
    child: Child,
    said: String,
    at: SocketAddr,
}

impl Watch {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let words = [&["watch", "--port", "0"][..], arguments].concat();
        let mut child = program(folder, &words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("http://") || (arguments.contains(&"--json") && !said.ends_with("}\n")) {
            assert!(out.read_line(&mut said).unwrap() > 0, "it ended: {said}");
        }
        let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap();
        Watch { at: address.parse().unwrap(), said, child }
    }

    /// Sends Ctrl-C; returns the exit code and the time until the process ended.
    fn interrupt(mut self) -> (Option<i32>, Duration) {
        let begin = Instant::now();
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let status = self.child.wait().unwrap();
        (status.code(), begin.elapsed())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one request; returns status and body.
fn get(at: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn it_prints_an_address_that_answers_and_ends_with_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let watch = Watch::start(folder.path(), &[]);
    assert!(watch.said.starts_with("http://127.0.0.1:") && watch.said.lines().count() == 1, "{}", watch.said);
    let token = watch.said.trim().split_once("/#token=").unwrap().1;
    assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(get(watch.at, "/").0, 200);
    assert_eq!(watch.interrupt().0, Some(130));

    let watch = Watch::start(folder.path(), &["--json"]);
    let document: Value = serde_json::from_str(&watch.said).unwrap();
    assert_eq!(document["address"], format!("http://{}/", watch.at));
    let url = format!("http://{}/#token={}", watch.at, document["token"].as_str().unwrap());
    assert_eq!(document["url"], url);
}

#[test]
fn what_cannot_be_served_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("weak"), "x\n").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (arguments, message) in [
        (&["watch", "--port", port.as_str()][..], format!("error: cannot listen at port {port}: ")),
        (&["watch", "nowhere"], "error: cannot look into 'nowhere': ".into()),
        (&["watch", "--host", "0.0.0.0"], "error: others could reach the server at 0.0.0.0: ".into()),
        (&["watch", "--host", "0.0.0.0", "--token-file", "weak"], "error: a token has 32 to 256 ".into()),
        (&["watch", "--token-file", "none"], "error: cannot read the token in 'none'".into()),
        (&["watch", "--token-file", "/dev/zero"], "error: cannot read the token in '/dev/zero'".into()),
        // A secret on the command line is visible to every user of the machine.
        (&["watch", "--token", "x"], "error: unexpected argument '--token'".into()),
        (&["watch", "--host", "example.org"], "error: invalid value 'example.org'".into()),
    ] {
        let output = ocorl(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with(&message) && said.contains("hint: "), "{arguments:?}: {said}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
    }
}

/// Clients of the event stream, read by one thread; all stay connected until this is dropped.
struct Crowd {
    over: std::sync::Arc<AtomicBool>,
    heard: std::sync::Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<usize>>,
}

impl Crowd {
    fn gather(at: SocketAddr, count: usize, query: &str) -> Self {
        let mut clients = Vec::new();
        for _ in 0..count {
            let mut stream = TcpStream::connect(at).unwrap();
            write!(stream, "GET /api/events{query} HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
            clients.push(stream);
        }
        for stream in &mut clients {
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
            stream.set_nonblocking(true).unwrap();
        }
        let (over, heard) =
            (std::sync::Arc::new(AtomicBool::new(false)), std::sync::Arc::new(AtomicUsize::new(0)));
        let (until, count) = (over.clone(), heard.clone());
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 65536];
            let mut lost = 0;
            while !until.load(Ordering::Relaxed) {
                clients.retain_mut(|stream| {
                    loop {
                        match stream.read(&mut buffer) {
                            Ok(0) => {
                                lost += 1;
                                return false;
                            }
                            Ok(n) => {
                                let changes =
                                    buffer[..n].windows(13).filter(|w| w == b"event: change").count();
                                count.fetch_add(changes, Ordering::Relaxed);
                            }
                            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return true,
                            Err(_) => {
                                lost += 1;
                                return false;
                            }
                        }
                    }
                });
                std::thread::sleep(Duration::from_millis(100));
            }
            lost
        });
        Crowd { over, heard, thread: Some(thread) }
    }

    /// Number of clients that were disconnected, and number of changes received.
    fn go(mut self) -> (usize, usize) {
        self.over.store(true, Ordering::Relaxed);
        (self.thread.take().unwrap().join().unwrap(), self.heard.load(Ordering::Relaxed))
    }
}

/// Resident memory of a process in kilobytes.
fn memory(pid: u32) -> usize {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// CPU time of a process in seconds.
fn cpu(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let words: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = words.get(11)?.parse::<f64>().ok()? + words.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// Enough episodes for the study to be found while it is running.
const EPISODES: &str = "20";

/// Runs the pendulum; returns wall-clock and CPU time.
fn learn(folder: &Path, seed: &str, out: &str) -> (f64, f64) {
    let words =
        ["run", "pendulum", "--episodes", EPISODES, "--seed", seed, "--out", out, "--quiet", "--json"];
    let begin = Instant::now();
    let mut child = program(folder, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut used = 0.0;
    loop {
        used = cpu(child.id()).unwrap_or(used).max(used);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return (begin.elapsed().as_secs_f64(), used);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
    let place = (share * (times.len() - 1) as f64) as usize;
    times[place]
}

/// W-8: a thousand clients and ten thousand requests beside a run.
#[test]
#[ignore = "slow: a minute; run by: cargo xtask soak dashboard"]
fn a_thousand_clients_and_ten_thousand_questions_beside_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    learn(folder, "0", "runs/warm");
    // The faster of two runs, because other processes may slow one down.
    let quicker = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.min(b.1));
    let alone = quicker(learn(folder, "1", "runs/alone"), learn(folder, "1", "runs/again"));
    let watch = Watch::start(folder, &["."]);
    let pid = watch.child.id();
    let (_, list) = get(watch.at, "/api/studies");
    let list: Value = serde_json::from_str(&list).unwrap();
    let ids: Vec<String> =
        list["items"].as_array().unwrap().iter().map(|i| i["id"].as_str().unwrap().to_owned()).collect();
    let before = memory(pid);
    let crowd = Crowd::gather(watch.at, 1000, "");
    let full = memory(pid);
    // A server with a thousand idle clients.
    let watched = quicker(learn(folder, "1", "runs/watched"), learn(folder, "1", "runs/too"));
    let server = cpu(pid).unwrap();

    let mut paths = vec!["/api/studies".to_owned(), "/".to_owned()];
    paths.extend(ids.iter().map(|id| format!("/api/study/{id}")));
    paths.extend(ids.iter().map(|id| format!("/api/study/{id}/episode/3")));
    let asked = std::thread::spawn({
        let folder = folder.to_path_buf();
        move || learn(&folder, "1", "runs/asked")
    });
    let (mut times, mut errors) = (Vec::new(), 0);
    let at = watch.at;
    let begin = Instant::now();
    let mut stream = TcpStream::connect(at).unwrap();
    for i in 0..10_000 {
        let start = Instant::now();
        if ask_on(&mut stream, at, &paths[i % paths.len()]) != Some(200) {
            errors += 1;
            stream = TcpStream::connect(at).unwrap();
        }
        times.push(start.elapsed());
        // Spread over about the duration of the run.
        std::thread::sleep(Duration::from_micros(300));
    }
    let (questions, after) = (begin.elapsed(), memory(pid));
    let busy = cpu(pid).unwrap() - server;
    let asked = asked.join().unwrap();
    let (lost, heard) = crowd.go();
    let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    let worst = times.last().copied().unwrap();
    println!(
        "questions  10000 in {questions:.1?}, {errors} errors, p50 {p50:.2?}, p99 {p99:.2?}, worst {worst:.1?}"
    );
    println!(
        "clients    1000, {lost} lost, {heard} changes heard, {:.1} KB each",
        (full - before) as f64 / 1000.0
    );
    println!("memory     {before} KB before, {full} KB with clients, {after} KB after the questions");
    println!("server     {server:.2} s of the processor until the questions, {busy:.2} s for them");
    for (what, (wall, used)) in [("alone", alone), ("clients", watched), ("questions", asked)] {
        let (slower, more) = (100.0 * (wall / alone.0 - 1.0), 100.0 * (used / alone.1 - 1.0));
        println!("run        {what}: {wall:.2} s ({slower:+.1} %), processor {used:.2} s ({more:+.1} %)");
    }
    assert_eq!((errors, lost), (0, 0));
    // Every episode of the runs, except for their first seconds.
    assert!(heard >= 10_000, "{heard}");
    assert!(p99 <= Duration::from_millis(50), "{p99:?}");
    assert!((full - before) / 1000 <= 64, "{} KB a client", (full - before) / 1000);
    // Wall-clock time depends on other processes on this machine.
    assert!(watched.1 < 1.05 * alone.1, "{watched:?} {alone:?}");
}

/// Sends a request on a persistent connection; returns the status.
fn ask_on(stream: &mut TcpStream, at: SocketAddr, path: &str) -> Option<u16> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).ok()?;
    let (mut all, mut part) = (Vec::new(), vec![0; 65536]);
    loop {
        let n = stream.read(&mut part).ok().filter(|n| *n > 0)?;
        all.extend_from_slice(&part[..n]);
        let Some(end) = all.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
        let length: usize = head.split("content-length: ").nth(1)?.lines().next()?.trim().parse().ok()?;
        if all.len() >= end + 4 + length {
            return head.split(' ').nth(1)?.parse().ok();
        }
    }
}

/// W-10: disconnected clients leave nothing behind.
#[test]
#[ignore = "slow: half a minute; run by: cargo xtask soak dashboard"]
fn ten_thousand_who_come_and_go_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let watch = Watch::start(folder.path(), &[]);
    let files = || fs::read_dir(format!("/proc/{}/fd", watch.child.id())).unwrap().count();
    get(watch.at, "/api/studies");
    std::thread::sleep(Duration::from_millis(300));
    let (before, memory_before, begin) = (files(), memory(watch.child.id()), Instant::now());
    for i in 0..10_000 {
        let mut stream = TcpStream::connect(watch.at).unwrap();
        // Half of them disconnect in the middle of their request.
        let ask =
            if i % 2 == 0 { "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n" } else { "GET /api/ev" };
        stream.write_all(ask.as_bytes()).unwrap();
        if i % 4 == 0 {
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
        }
    }
    let gone = Instant::now();
    while files() > before {
        assert!(gone.elapsed() < Duration::from_secs(60), "{} files, {before} before", files());
        std::thread::sleep(Duration::from_millis(50));
    }
    println!(
        "10000 came and went in {:.1?}; files as before ({before}) after {:.2?}",
        gone - begin,
        gone.elapsed()
    );
    println!("memory {memory_before} KB before, {} KB after", memory(watch.child.id()));
    assert_eq!(get(watch.at, "/api/studies").0, 200);
}

/// W-16: Ctrl-C with a thousand clients.
#[test]
#[ignore = "slow: some seconds; run by: cargo xtask soak dashboard"]
fn ctrl_c_ends_a_thousand_streams_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let watch = Watch::start(folder.path(), &[]);
    let crowd = Crowd::gather(watch.at, 1000, "");
    let (code, took) = watch.interrupt();
    println!("ended after {took:.2?} with {code:?}");
    assert_eq!(code, Some(130));
    assert!(took <= Duration::from_secs(1), "{took:?}");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(crowd.go().0, 1000);
}

/// A thousand studies are listed in less than two seconds.
#[test]
#[ignore = "slow: half a minute; run by: cargo xtask soak dashboard"]
fn a_thousand_studies_are_listed_within_two_seconds() {
    let folder = tempfile::tempdir().unwrap();
    learn(folder.path(), "0", "000");
    let first = folder.path().join("000");
    for i in 1..1000 {
        let copy = folder.path().join(format!("{i:03}"));
        fs::create_dir(&copy).unwrap();
        for name in ["study.db", "study.db-wal"] {
            if first.join(name).exists() {
                fs::copy(first.join(name), copy.join(name)).unwrap();
            }
        }
    }
    let size = fs::metadata(first.join("study.db")).unwrap().len();
    let watch = Watch::start(folder.path(), &[]);
    let mut took = Vec::new();
    for _ in 0..3 {
        let begin = Instant::now();
        let (status, list) = get(watch.at, "/api/studies");
        took.push(begin.elapsed());
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!((status, list["items"].as_array().unwrap().len()), (200, 1000));
        std::thread::sleep(Duration::from_millis(400));
    }
    println!(
        "1000 studies of {size} bytes: first list after {:.0?}, then {:.0?}, {:.0?}",
        took[0], took[1], took[2]
    );
    let litter = fs::read_dir(folder.path().join("500")).unwrap().count();
    println!("files in a folder of which there was one: {litter}");
    assert!(took[0] < Duration::from_secs(2), "{took:?}");
}
