//! Server-sent events.

use crate::serving::LIVE;
use crate::support::{Events, Lab, begin};
use ocorl_study::store::Access;
use ocorl_study::study::Study;
use std::time::{Duration, Instant};

#[test]
fn what_another_process_writes_is_heard() {
    let lab = Lab::new();
    let mut events = Events::listen(&lab, "");
    assert!(events.until("event: list\ndata: {}\n\n"));
    std::thread::sleep(Duration::from_millis(500));
    let mut study = Study::open(&lab.folder(), Access::Write).unwrap();
    for _ in 0..5 {
        study.note("something").unwrap();
        let head = study.store().head().0;
        let said = format!("event: change\ndata: {{\"id\":\"{}\",\"head\":{head}}}\n\n", Lab::id());
        assert!(events.until(&said));
    }
    // The whole study then contains the new data.
    let whole = lab.get(&format!("/api/study/{}", Lab::id())).json();
    assert_eq!(whole["summary"]["notes"].as_array().unwrap().len(), 5);
}

#[test]
fn a_new_study_is_heard_and_listed() {
    let lab = Lab::new();
    let mut events = Events::listen(&lab, "");
    assert!(events.until("event: list"));
    std::thread::sleep(Duration::from_millis(500));
    begin(&lab.root().join("another"));
    assert!(events.until("event: list"));
    assert_eq!(lab.get("/api/studies").json()["items"].as_array().unwrap().len(), 2);
}

#[test]
fn who_works_on_a_study_is_heard_by_those_who_watch_it() {
    let lab = Lab::new();
    let id = Lab::id();
    let mut watching = Events::listen(&lab, &format!("?study={id}"));
    let mut others = Events::listen(&lab, "");
    assert!(watching.until("event: change") && watching.until(&format!("\"id\":\"{id}\",\"live\":null}}")));
    let file = lab.folder().join("live.json");
    for since in ["1.25", "2.5"] {
        std::thread::sleep(Duration::from_millis(200));
        std::fs::write(&file, LIVE.replace("3.2", since)).unwrap();
        assert!(watching.until("event: live") && watching.until(&format!("\"since\":{since}")));
    }
    std::fs::remove_file(&file).unwrap();
    assert!(watching.until("\"live\":null}"));
    Study::open(&lab.folder(), Access::Write).unwrap().note("x").unwrap();
    assert!(others.until("event: change"));
    assert_eq!(lab.get("/api/events?study=0000000000000000").status, 404);
}

#[test]
fn nobody_looks_when_nobody_listens() {
    let lab = Lab::new();
    let events = Events::listen(&lab, &format!("?study={}", Lab::id()));
    let until = Instant::now() + Duration::from_secs(20);
    while lab.server.clients() != 1 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(events);
    // Noticed at the next keep-alive at the latest.
    Study::open(&lab.folder(), Access::Write).unwrap().note("x").unwrap();
    while lab.server.clients() != 0 {
        assert!(Instant::now() < until, "a client that is gone is still counted");
        std::thread::sleep(Duration::from_millis(10));
    }
}
