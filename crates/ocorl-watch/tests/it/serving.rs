//! The read-only answers.

use crate::support::{Lab, begin, copy, episode};
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use ocorl_watch::{Options, Server, WatchError};
use rusqlite::Connection;
use std::net::TcpListener;
use std::path::Path;

fn names(lab: &Lab) -> Vec<(String, String)> {
    let list = lab.get("/api/studies").json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (text(&item["name"]), text(&item["status"])))
        .collect()
}

#[test]
fn the_list_says_of_each_study_what_the_study_says_of_itself() {
    let lab = Lab::with(|root| {
        begin(&root.join("new"));
        let mut study = begin(&root.join("deep/down/told"));
        episode(&mut study);
        study.ask(&mut ()).unwrap();
        let mut study = begin(&root.join("over"));
        (0..4).for_each(|_| episode(&mut study));
        std::fs::create_dir_all(root.join(".hidden")).unwrap();
        copy(&root.join("new"), &root.join(".hidden/x"));
        copy(&root.join("new"), &root.join("1/2/3/4/5/6/7"));
    });
    let list = lab.get("/api/studies").json();
    assert_eq!((list["root"].as_str(), list["writable"].as_bool()), (Some("root"), Some(true)));
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 3, "{list}");
    assert!(items.windows(2).all(|two| two[0]["updated"].as_str() >= two[1]["updated"].as_str()));
    for (name, status) in [("new", "idle"), ("deep/down/told", "waiting"), ("over", "done")] {
        let item = items.iter().find(|item| item["name"] == name).unwrap();
        let overview = Study::open(&lab.root().join(name), Access::Read).unwrap().overview();
        assert_eq!(item["id"], ocorl_watch::id(Path::new(name)));
        assert_eq!(item["status"], status);
        assert_eq!(item["kind"], "study");
        assert_eq!(item["system"], "van-der-pol");
        assert_eq!(item["seed"], 7);
        assert_eq!(item["episodes"], overview.episodes);
        assert_eq!(item["of"], overview.of);
        assert_eq!(item["measurements"], overview.measurements);
        assert_eq!(item["pending"].as_u64(), overview.pending.map(|n| n as u64));
        assert_eq!(item["last_cost"].as_f64().is_some(), overview.last_cost.is_some());
        assert_eq!(item["error"], serde_json::Value::Null);
    }
    // A study with a live file is listed as running.
    let live = lab.root().join("new/live.json");
    std::fs::write(&live, LIVE).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(names(&lab).contains(&("new".into(), "running".into())));
    assert_eq!(
        lab.get(&format!("/api/study/{}/live", ocorl_watch::id(Path::new("new")))).json()["episode"],
        2
    );
}

pub(crate) const LIVE: &str = r#"{"episode":2,"phase":"planning","pid":1,"at":"2026-11-16T13:26:25.123Z","since":3.2,
    "t":null,"horizon":10.0,"start":null,"path":null,"costs":[1.5]}"#;

#[test]
fn a_study_its_episodes_its_figures_and_its_plan_are_given_out() {
    let lab = Lab::with(|root| {
        let mut study = begin(&root.join("lab"));
        episode(&mut study);
        study.ask(&mut ()).unwrap();
    });
    let path = format!("/api/study/{}", Lab::id());
    let whole = lab.get(&path).json();
    assert_eq!(whole["summary"]["episodes"], 1);
    assert!(whole["exhibits"].as_array().is_some_and(|all| all.iter().any(|one| one["id"] == "cost")));
    assert_eq!(lab.get(&format!("{path}/episode/0")).json()["episode"], 0);
    for missing in ["episode/9", "episode/-1", "episode/x", "episode/99999999999999999999", "figure/none.svg"]
    {
        let reply = lab.get(&format!("{path}/{missing}"));
        assert_eq!(reply.status, 404, "{missing}");
        assert!(reply.json()["error"].is_string());
    }
    for (name, kind, begins) in [
        ("cost.svg", "image/svg+xml", &b"<svg"[..]),
        ("cost.svg?theme=dark", "image/svg+xml", b"<svg"),
        ("cost.png", "image/png", b"\x89PNG"),
        ("cost.csv", "text/csv; charset=utf-8", b"panel,series"),
        ("states.svg?episode=0", "image/svg+xml", b"<svg"),
    ] {
        let reply = lab.get(&format!("{path}/figure/{name}"));
        assert_eq!((reply.status, reply.line("content-type")), (200, Some(kind)), "{name}");
        assert!(reply.body.starts_with(begins), "{name}");
        assert!(reply.line("content-disposition").unwrap().starts_with("attachment; filename=\""));
    }
    let part = lab.get(&format!("{path}/figure/times.svg?panel=0&x=2:5")).text();
    assert!(part.contains("data-x=\"t 2 5 linear\"") && part.contains("var(--"), "{part}");
    for (wrong, status) in
        [("panel=9", 404), ("panel=0&x=5:2", 400), ("panel=0&y=a:b", 400), ("panel=0&x=nan:1", 400)]
    {
        assert_eq!(lab.get(&format!("{path}/figure/times.svg?{wrong}")).status, status, "{wrong}");
    }
    assert_eq!(lab.get(&format!("{path}/figure/cost.svg?theme=pink")).status, 400);
    assert_eq!(lab.get(&format!("{path}/figure/cost.svg?episode=x")).status, 400);
    let plan = lab.get(&format!("{path}/plan.json"));
    let study = Study::open(&lab.folder(), Access::Read).unwrap();
    assert_eq!(plan.text(), study.history().pending().unwrap().plan.text().unwrap());
    assert_eq!(lab.get(&format!("{path}/report.html")).status, 200);
    for few in ["", "?ids=", &format!("?ids={}", Lab::id()), &format!("?ids={0},{0}", Lab::id())] {
        assert!([400, 404].contains(&lab.get(&format!("/api/compare{few}")).status), "{few}");
    }
}

#[test]
fn the_pages_files_are_given_out_once() {
    let lab = Lab::new();
    for name in ocorl_watch::assets::names() {
        let reply = lab.get(&format!("/assets/{name}"));
        assert_eq!(reply.status, 200, "{name}");
        let tag = reply.line("etag").unwrap().to_owned();
        let again = lab.ask("GET", &format!("/assets/{name}"), &[("If-None-Match", &tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0), "{name}");
        // W-17: nothing is loaded from elsewhere. (Namespace names and links in comments are not loaded.)
        if [Some("html"), Some("css")].contains(&name.rsplit('.').next()) {
            let text = reply.text();
            for outside in ["src=\"http", "href=\"http", "url(http", "@import", "src=\"//", "href=\"//"] {
                assert!(!text.contains(outside), "{name}: {outside}");
            }
        }
    }
    assert_eq!(lab.get("/").body, lab.get("/assets/index.html").body);
}

/// W-7, server side: no cell of a CSV download is a formula.
#[test]
fn no_download_is_a_formula() {
    let lab = Lab::new();
    let table = lab.get(&format!("/api/study/{}/figure/times.csv", Lab::id())).text();
    assert!(table.starts_with("panel,series,mark,x,y\n"), "{table}");
    for cell in table.lines().flat_map(|line| line.split(',')) {
        let formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
        assert!(!formula, "{table}");
    }
}

/// W-12: damaged studies are named, the others stay usable.
#[test]
fn a_damaged_study_among_fifty_is_named_and_the_others_are_usable() {
    let lab = Lab::with(|root| {
        let mut study = begin(&root.join("00"));
        episode(&mut study);
        drop(study);
        for i in 1..50 {
            copy(&root.join("00"), &root.join(format!("{i:02}")));
        }
        let connection = Connection::open(root.join("17/study.db")).unwrap();
        let change = "DROP TRIGGER events_are_never_changed;
                      UPDATE events SET payload = replace(payload, '1', '2') WHERE seq = 3";
        connection.execute_batch(change).unwrap();
        drop(connection);
        std::fs::write(root.join("18/study.db"), b"this was a database").unwrap();
        let whole = std::fs::read(root.join("19/study.db")).unwrap();
        std::fs::write(root.join("19/study.db"), &whole[..whole.len() / 2]).unwrap();
    });
    // The server verifies some databases before the first list and the rest in the background.
    let damaged = |list: &serde_json::Value| {
        list["items"].as_array().unwrap().iter().filter(|item| item["status"] == "damaged").count()
    };
    let mut list = lab.get("/api/studies").json();
    for _ in 0..600 {
        if damaged(&list) == 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        list = lab.get("/api/studies").json();
    }
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 50);
    for item in items {
        let name = item["name"].as_str().unwrap();
        let path = format!("/api/study/{}", item["id"].as_str().unwrap());
        if ["17", "18", "19"].contains(&name) {
            assert_eq!(item["status"], "damaged", "{item}");
            let error = item["error"].as_str().unwrap();
            assert!(error.starts_with(&format!("{name}/study.db, record ")), "{error}");
            assert_eq!(item["episodes"], serde_json::Value::Null);
            let reply = lab.get(&path);
            assert_eq!(reply.status, 503, "{}", reply.text());
            assert!(reply.json()["error"].as_str().unwrap().contains("damaged"));
        } else {
            assert_eq!(item["status"], "idle", "{item}");
            assert_eq!(lab.get(&path).status, 200);
        }
    }
    let error = items.iter().find(|item| item["name"] == "17").unwrap()["error"].as_str().unwrap();
    assert!(error.starts_with("17/study.db, record 3: its checksum is "), "{error}");
}

/// W-13: values that are not finite are null.
#[test]
fn what_is_not_finite_is_null() {
    let lab = Lab::with(|root| {
        let mut study = begin(&root.join("lab"));
        episode(&mut study);
        study.ask(&mut ()).unwrap();
        drop(study);
        let connection = Connection::open(root.join("lab/study.db")).unwrap();
        connection.execute_batch("UPDATE episodes SET cost = 9e999").unwrap();
    });
    let list = lab.get("/api/studies").json();
    assert_eq!(list["items"][0]["last_cost"], serde_json::Value::Null);
    assert_eq!(list["items"][0]["best_cost"], serde_json::Value::Null);
    let reply = lab.get(&format!("/api/study/{}", Lab::id()));
    assert!(!reply.text().contains("NaN") && !reply.text().contains("inf"));
    reply.json();
}

/// W-14: a port that is in use.
#[test]
fn a_taken_port_is_named_or_another_is_found() {
    let root = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = |port| Options { root: root.path().into(), port, ..Options::default() };
    let error = Server::start(&options(Some(port))).err().unwrap();
    assert!(matches!(&error, WatchError::Port { port: p, exact: true, .. } if *p == port), "{error}");
    assert!(error.to_string().contains(&port.to_string()));
    // Makes sure that the default port is in use.
    let _usual = TcpListener::bind(("127.0.0.1", ocorl_watch::PORT));
    let server = Server::start(&options(None)).unwrap();
    let found = server.addresses()[0];
    assert!(found.port() > ocorl_watch::PORT, "{found}");
    assert!(server.url().starts_with(&format!("http://127.0.0.1:{}/#token=", found.port())));
    let request = format!("GET / HTTP/1.1\r\nHost: {found}\r\nConnection: close\r\n\r\n");
    assert_eq!(crate::support::raw(found, request.as_bytes()).unwrap().status, 200);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let root = tempfile::tempdir().unwrap().path().join("gone");
    let error = Server::start(&Options { root, port: Some(0), ..Options::default() }).err().unwrap();
    assert!(matches!(error, WatchError::Root { .. }), "{error}");
}
