//! Limits: too many clients, slow clients, long requests.

use crate::support::{Lab, raw};
use ocorl_watch::{MOST_BYTES, MOST_CLIENTS};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Time within which a slow client must be disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends `begin`, then one byte per second; returns when the server closes the connection, and what it sent.
fn drip(lab: &Lab, begin: &str, drop: &[u8]) -> (Duration, String) {
    let start = Instant::now();
    let mut stream = TcpStream::connect(lab.at()).unwrap();
    stream.write_all(begin.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let (mut said, mut part) = (String::new(), [0; 4096]);
    while start.elapsed() < 2 * PATIENCE {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(n) => said += &String::from_utf8_lossy(&part[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                let _ = stream.write_all(drop);
            }
            Err(_) => break,
        }
    }
    (start.elapsed(), said)
}

/// W-11: slow clients are disconnected.
#[test]
fn whoever_is_slow_is_dropped_within_ten_seconds() {
    let lab = Lab::new();
    let (host, id, token) = (lab.host(), Lab::id(), lab.server.token().reveal().to_owned());
    std::thread::scope(|scope| {
        let head = scope.spawn(|| drip(&lab, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n"), b"X"));
        let silent = scope.spawn(|| drip(&lab, "", b""));
        let body = scope.spawn(|| {
            let begin = format!(
                "POST /api/study/{id}/note HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
                 X-Ocorl-Token: {token}\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n"
            );
            drip(&lab, &begin, b"{")
        });
        let reader = scope.spawn(|| {
            // A client that sends requests and never reads.
            let start = Instant::now();
            let mut stream = TcpStream::connect(lab.at()).unwrap();
            stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
            let request = format!("GET /api/study/{id}/figure/times.png HTTP/1.1\r\nHost: {host}\r\n\r\n");
            while start.elapsed() < 2 * PATIENCE {
                match stream.write_all(request.as_bytes()) {
                    Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
                    _ => std::thread::sleep(Duration::from_millis(1)),
                }
            }
            start.elapsed()
        });
        for (what, slow) in [("head", head), ("silent", silent), ("body", body)] {
            let (took, said) = slow.join().unwrap();
            assert!(took < PATIENCE, "{what}: {took:?} {said}");
        }
        let took = reader.join().unwrap();
        assert!(took < PATIENCE + Duration::from_secs(5), "reader: {took:?}");
    });
    assert_eq!(lab.get("/api/studies").status, 200);
}

/// W-11: oversized requests are refused.
#[test]
fn long_addresses_and_large_bodies_are_refused_at_once() {
    let lab = Lab::new();
    for length in [100_000, 10_000_000] {
        let request = format!("GET /{} HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(length), lab.host());
        assert!(raw(lab.at(), request.as_bytes()).is_none_or(|reply| reply.status >= 400));
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", lab.host(), "a".repeat(length));
        assert!(raw(lab.at(), request.as_bytes()).is_none_or(|reply| reply.status >= 400));
    }
    let before = lab.head();
    let token = lab.server.token().reveal().to_owned();
    let lines = format!(
        "POST /api/study/{}/measured HTTP/1.1\r\nHost: {}\r\nContent-Type: text/csv\r\nX-Ocorl-Token: {token}\r\n",
        Lab::id(),
        lab.host()
    );
    let gigabyte = format!("{lines}Content-Length: {}\r\n\r\n", 1_u64 << 30);
    let reply = raw(lab.at(), gigabyte.as_bytes()).unwrap();
    assert_eq!(reply.status, 413, "{}", reply.text());
    // Chunked, without a Content-Length.
    let mut stream = TcpStream::connect(lab.at()).unwrap();
    stream.write_all(format!("{lines}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let piece = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'1'; 1 << 20], b"\r\n".to_vec()].concat();
    let mut sent = 0;
    while sent < 1 << 30 && stream.write_all(&piece).is_ok() {
        sent += 1 << 20;
    }
    assert!(sent < 4 * MOST_BYTES, "{sent} bytes were accepted");
    assert_eq!(lab.head(), before);
    assert_eq!(lab.get("/api/studies").status, 200);
}

/// W-9: a client beyond the limit is told when to retry, and can still poll.
#[test]
fn client_1025_is_told_to_come_again() {
    let lab = Lab::new();
    let request = format!("GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", lab.host());
    let mut clients = Vec::new();
    for _ in 0..MOST_CLIENTS {
        let mut stream = TcpStream::connect(lab.at()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        clients.push(stream);
    }
    for stream in &mut clients {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    assert_eq!(lab.server.clients(), MOST_CLIENTS);
    let reply =
        raw(lab.at(), request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    assert_eq!((reply.status, reply.line("retry-after")), (503, Some("5")), "{}", reply.text());
    assert_eq!(lab.get("/api/studies").status, 200);
    clients.truncate(MOST_CLIENTS - 1);
    let until = Instant::now() + Duration::from_secs(20);
    while lab.server.clients() == MOST_CLIENTS {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(raw(lab.at(), request.as_bytes()).unwrap().status, 200);
}
