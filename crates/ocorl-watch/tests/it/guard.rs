//! Access control: addresses, host names, tokens, origins, file names.

use crate::hosts::{FOREIGN, MALFORMED, OURS};
use crate::support::{Lab, Reply, begin, raw};
use ocorl_watch::routes::ROUTES;
use ocorl_watch::{Options, Server, Token, WatchError};
use std::collections::BTreeSet;
use std::path::Path;

/// W-1: the server listens on loopback addresses only, according to the kernel's socket table.
#[cfg(target_os = "linux")]
#[test]
fn it_listens_on_this_machine_only() {
    let lab = Lab::new();
    let port = lab.at().port();
    let mut found = BTreeSet::new();
    let own: BTreeSet<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok()?.to_str().map(String::from))
        .collect();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in std::fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (address, listening) = (words[1], words[3] == "0A");
            // Other tests may run servers of their own.
            let ours = own.contains(&format!("socket:[{}]", words[9]));
            if listening && ours && address.ends_with(&format!(":{port:04X}")) {
                found.insert(address.to_owned());
            }
        }
    }
    let expected = [format!("0100007F:{port:04X}"), format!("00000000000000000000000001000000:{port:04X}")];
    assert!(found.contains(&expected[0]), "{found:?}");
    assert!(found.iter().all(|address| expected.contains(address)), "{found:?}");
    assert_eq!(found.len(), lab.server.addresses().len());
}

/// W-2: which host names are answered.
#[test]
fn only_names_of_this_machine_are_answered() {
    let lab = Lab::new();
    let port = lab.at().port();
    assert!(OURS.len() + FOREIGN.len() + MALFORMED.len() >= 60);
    for (hosts, status) in [(&OURS[..], 200), (&FOREIGN[..], 403), (&MALFORMED[..], 400)] {
        for host in hosts {
            let host = host.replace("PORT", &port.to_string());
            let request = format!("GET /api/studies HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let reply = raw(lab.at(), request.as_bytes()).unwrap();
            assert_eq!(reply.status, status, "'{host}'");
            if status == 403 {
                assert!(reply.json()["hint"].is_string(), "{}", reply.text());
            }
        }
    }
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 400),
        (
            "GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\nConnection: close\r\n\r\n",
            403,
        ),
        ("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 200),
        ("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403),
        ("GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403),
        ("GET http://localhost:1/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
        ("GET http://a@localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
    ] {
        assert_eq!(raw(lab.at(), request.as_bytes()).map(|reply| reply.status), Some(status), "{request}");
    }
    // HTTP/2 is refused, whatever its `:authority`.
    let reply = raw(lab.at(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    assert!(reply.is_none_or(|reply| reply.status >= 400));
}

/// An example address of every route; a route that is missing here fails the test.
fn example(pattern: &str) -> String {
    let path = match pattern {
        "/" => "/",
        "/assets/{*name}" => "/assets/index.html",
        "/api/studies" => "/api/studies",
        "/api/events" => "/api/events",
        "/api/compare" => "/api/compare?ids=ID,OTHER",
        "/api/sweep/{id}" => "/api/sweep/SWEEP",
        "/api/study/{id}" => "/api/study/ID",
        "/api/study/{id}/episode/{number}" => "/api/study/ID/episode/0",
        "/api/study/{id}/live" => "/api/study/ID/live",
        "/api/study/{id}/figure/{name}" => "/api/study/ID/figure/times.csv",
        "/api/study/{id}/plan.json" => "/api/study/ID/plan.json",
        "/api/study/{id}/report.html" => "/api/study/ID/report.html",
        "/api/study/{id}/measured" => "/api/study/ID/measured",
        "/api/study/{id}/fail" => "/api/study/ID/fail",
        "/api/study/{id}/discard" => "/api/study/ID/discard",
        "/api/study/{id}/ask" => "/api/study/ID/ask",
        "/api/study/{id}/complete" => "/api/study/ID/complete",
        "/api/study/{id}/check" => "/api/study/ID/check",
        "/api/study/{id}/select" => "/api/study/ID/select",
        "/api/study/{id}/run" => "/api/study/ID/run",
        "/api/study/{id}/stop" => "/api/study/ID/stop",
        "/api/new" => "/api/new",
        "/api/study/{id}/note" => "/api/study/ID/note",
        new => panic!("add an example of {new} here"),
    };
    path.replace("ID", &Lab::id()).replace("OTHER", &ocorl_watch::id(Path::new("other")))
}

/// W-3: every route with every method, without a token.
#[test]
fn without_a_token_everything_can_be_read_and_nothing_written() {
    let lab = Lab::with(|root| {
        begin(&root.join("lab")).ask(&mut ()).unwrap();
        begin(&root.join("other"));
        let grid = ocorl_study::grid::Grid::parse("systems = \"pendulum\"\nseeds = 1\n", "").unwrap();
        ocorl_study::sweep::Sweep::open(&root.join("sweep"), &grid).unwrap();
    });
    let before = lab.head();
    let items = lab.get("/api/studies").json();
    let sweep = items["items"].as_array().unwrap().iter().find(|item| item["kind"] == "sweep").unwrap();
    let sweep = sweep["id"].as_str().unwrap();
    for route in ROUTES {
        let path = example(route.pattern).replace("SWEEP", sweep);
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"]
        {
            let reply = lab.ask(method, &path, &[("Content-Type", "application/json")], b"");
            let expected = match method {
                "GET" | "HEAD" if !route.writes => 200,
                "POST" if route.writes => 403,
                _ => 405,
            };
            assert_eq!(reply.status, expected, "{method} {path}: {}", reply.text());
            is_guarded(&reply);
            assert!(method != "HEAD" || reply.body.is_empty());
        }
    }
    assert_eq!(lab.head(), before);
}

/// Checks the headers that every answer must have.
fn is_guarded(reply: &Reply) {
    let policy = reply.line("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src '") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("script-src") && !policy.contains("unsafe-eval"), "{policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(reply.line(name), Some(value), "{}", reply.head);
    }
    assert!(reply.line("access-control-allow-origin").is_none() && reply.line("cache-control").is_some());
}

/// W-4: requests that pages of other origins can make a browser send are refused.
#[test]
fn nothing_of_another_page_is_accepted() {
    let lab = Lab::new();
    let before = lab.head();
    let token = lab.server.token().reveal().to_owned();
    let own = format!("http://{}", lab.host());
    let port = lab.at().port();
    let other_port = format!("http://127.0.0.1:{}", if port == 1 { 2 } else { port - 1 });
    let json = ("Content-Type", "application/json");
    let with = ("X-Ocorl-Token", token.as_str());
    let none = ("X-Nothing", "");
    let cases = [
        // Another page, which cannot know the token.
        vec![json, ("Origin", "http://evil.example")],
        vec![json, ("Origin", "null")],
        vec![json],
        vec![json, ("Origin", own.as_str())],
        // Another page, even with the token.
        vec![json, with, ("Origin", "http://evil.example")],
        vec![json, with, ("Origin", "null")],
        vec![json, with, ("Origin", "")],
        vec![json, with, ("Origin", "https://127.0.0.1")],
        vec![json, with, ("Origin", other_port.as_str())],
        vec![json, with, ("Origin", "http://localhost.evil.example")],
        vec![json, with, ("Origin", own.as_str()), ("Origin", "http://evil.example")],
        // A form submission.
        vec![("Content-Type", "application/x-www-form-urlencoded"), with],
        vec![("Content-Type", "multipart/form-data; boundary=x"), with],
        vec![("Content-Type", "text/plain"), with],
        vec![("Content-Type", "text/html"), with],
        vec![("Content-Type", ""), with],
        vec![with, none],
        vec![("Content-Type", "text/csv"), with],
    ];
    for lines in &cases {
        for what in ["note", "fail", "discard", "ask", "complete"] {
            let path = format!("/api/study/{}/{what}", Lab::id());
            let reply = lab.ask("POST", &path, lines, br#"{"text":"x"}"#);
            assert_eq!(reply.status, 403, "{lines:?}: {}", reply.text());
        }
    }
    for origin in ["http://evil.example", "null"] {
        assert_eq!(lab.ask("GET", "/api/studies", &[("Origin", origin)], b"").status, 403);
    }
    assert_eq!(lab.head(), before);
    // The page's own request is accepted.
    assert_eq!(lab.post("note", "application/json; charset=utf-8", r#"{"text":"x"}"#).status, 200);
    assert_ne!(lab.head(), before);
}

/// W-18: only the exact token is accepted, and no answer contains it.
#[test]
fn only_the_token_opens_and_no_answer_repeats_it() {
    let lab = Lab::new();
    let before = lab.head();
    let token = lab.server.token().reveal().to_owned();
    let path = format!("/api/study/{}/note", Lab::id());
    let json = ("Content-Type", "application/json");
    let longer = format!("{token}0");
    let upper = format!("A{}", &token[1..]);
    for wrong in ["", "0", &token[1..], &token[..31], &longer, &upper, &"0".repeat(32), "null", "undefined"] {
        let reply = lab.ask("POST", &path, &[json, ("X-Ocorl-Token", wrong)], br#"{"text":"x"}"#);
        assert_eq!(reply.status, 403, "{wrong}");
        assert!(!reply.text().contains(&token) && !reply.head.contains(&token));
    }
    let twice = [json, ("X-Ocorl-Token", &token), ("X-Ocorl-Token", &token)];
    assert_eq!(lab.ask("POST", &path, &twice, br#"{"text":"x"}"#).status, 403);
    let in_the_address = format!("{path}?token={token}");
    assert_eq!(lab.ask("POST", &in_the_address, &[json], br#"{"text":"x"}"#).status, 403);
    let cookie = format!("token={token}");
    assert_eq!(lab.ask("POST", &path, &[json, ("Cookie", &cookie)], br#"{"text":"x"}"#).status, 403);
    assert_eq!(lab.head(), before);
    for route in ROUTES.iter().filter(|route| !route.writes) {
        let reply = lab.get(&example(route.pattern));
        assert!(!reply.text().contains(&token) && !reply.head.contains(&token), "{}", route.pattern);
    }
    assert!(lab.server.url().ends_with(&format!("/#token={token}")), "only behind the #");
}

/// W-5: five hundred ways to name a file outside the assets.
#[test]
fn no_file_outside_is_given_out() {
    let lab = Lab::with(|root| {
        begin(&root.join("lab")).ask(&mut ()).unwrap();
        let outside = root.parent().unwrap();
        std::fs::write(outside.join("secret.txt"), "TOP-SECRET").unwrap();
        std::fs::write(root.join("lab/secret.txt"), "TOP-SECRET").unwrap();
        begin(&outside.join("elsewhere"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(outside.join("elsewhere"), root.join("link")).unwrap();
            std::fs::create_dir(root.join("inner")).unwrap();
            symlink(outside.join("elsewhere/study.db"), root.join("inner/study.db")).unwrap();
            symlink(outside.join("secret.txt"), root.join("lab/live.json")).unwrap();
        }
    });
    let id = Lab::id();
    let prefixes = [
        "/",
        "/assets/",
        "/api/study/",
        "/api/sweep/",
        &format!("/api/study/{id}/"),
        &format!("/api/study/{id}/figure/"),
        &format!("/api/study/{id}/episode/"),
        "/api/events?study=",
        "/api/compare?ids=",
    ];
    let ups = [
        "../",
        "..%2f",
        "%2e%2e/",
        "%2e%2e%2f",
        "%2E%2E%2F",
        ".%2e/",
        "..\\",
        "..%5c",
        "%252e%252e%252f",
        "%c0%ae%c0%ae/",
        "%c0%ae%c0%ae%c0%af",
        "%e0%80%ae%e0%80%ae/",
        "..%c0%af",
        "....//",
        "..;/",
        "..%00/",
        "%uff0e%uff0e/",
    ];
    let plain = [
        "/etc/passwd",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "C:\\windows\\win.ini",
        "C:/windows/win.ini",
        "\\\\server\\share",
        "file:///etc/passwd",
        "secret.txt",
        "lab/secret.txt",
        "link/study.db",
        "inner/study.db",
        "study.db",
        "index.html%00.svg",
        "cost.svg%00",
        "%00",
        "~root",
        "/proc/self/environ",
        "..",
        ".",
        "%2e",
    ];
    let mut tried = 0;
    for prefix in prefixes {
        let deep = ups.iter().flat_map(|up| [1, 2, 5].map(|n| format!("{}secret.txt", up.repeat(n))));
        for name in deep.chain(plain.iter().map(|name| (*name).to_owned())) {
            tried += 1;
            let reply = lab.get(&format!("{prefix}{name}"));
            assert!(reply.status >= 400, "{prefix}{name}: {} {}", reply.status, reply.text());
            let text = reply.text();
            assert!(!text.contains("TOP-SECRET") && !text.contains("root:"), "{prefix}{name}: {text}");
        }
    }
    assert!(tried >= 500, "{tried}");
    let list = lab.get("/api/studies").json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(lab.get(&format!("/api/study/{id}/live")).text(), "null");
}

/// A folder that is replaced by a link after it was found is not followed.
#[cfg(unix)]
#[test]
fn a_study_that_becomes_a_link_is_gone() {
    let lab = Lab::new();
    let path = format!("/api/study/{}", Lab::id());
    assert_eq!(lab.get(&path).status, 200);
    let elsewhere = lab.outer.path().join("elsewhere");
    std::fs::rename(lab.folder(), &elsewhere).unwrap();
    begin(&lab.outer.path().join("another"));
    std::os::unix::fs::symlink(lab.outer.path().join("another"), lab.folder()).unwrap();
    assert_eq!(lab.get(&path).status, 404);
    assert_eq!(lab.post("note", "application/json", r#"{"text":"x"}"#).status, 404);
}

/// W-15: listening on other addresses needs a chosen token, and the access control stays.
#[test]
fn listening_for_others_needs_a_token_of_ones_own() {
    let root = tempfile::tempdir().unwrap();
    begin(&root.path().join("lab"));
    let options = |token| Options {
        root: root.path().into(),
        host: Some([0, 0, 0, 0].into()),
        port: Some(0),
        token,
        program: None,
    };
    assert!(matches!(Server::start(&options(None)).err(), Some(WatchError::NeedsToken { .. })));
    assert!(Token::given("guess-me").is_err());
    let token = Token::given(&"t0ken-".repeat(6)).unwrap();
    let server = Server::start(&options(Some(token.clone()))).unwrap();
    let at = std::net::SocketAddr::from(([127, 0, 0, 1], server.addresses()[0].port()));
    for (host, status) in [("127.0.0.1", 200), ("evil.example", 403), ("10.9.8.7", 403), ("0.0.0.0", 403)] {
        let request = format!("GET /api/studies HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(raw(at, request.as_bytes()).unwrap().status, status, "{host}");
    }
    let id = ocorl_watch::id(Path::new("lab"));
    for (given, status) in [("", 403), ("t0ken", 403), (token.reveal(), 200)] {
        let request = format!(
            "POST /api/study/{id}/note HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Ocorl-Token: {given}\r\n\
             Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{{\"text\":\"x\"}}"
        );
        assert_eq!(raw(at, request.as_bytes()).unwrap().status, status);
    }
}
