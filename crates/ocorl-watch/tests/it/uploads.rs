//! The three requests that write.

use crate::support::{Lab, begin, measure};
use ocorl_study::store::Access;
use ocorl_study::study::Study;

/// Measurements of the pending episode, as CSV.
fn csv(lab: &Lab) -> String {
    let mut study = Study::open(&lab.folder(), Access::Write).unwrap();
    let columns = study.columns();
    measure(&mut study).csv(&columns)
}

#[test]
fn measurements_are_kept_and_telling_twice_is_harmless() {
    let lab = Lab::new();
    let table = csv(&lab);
    let reply = lab.post("measured", "text/csv", &table);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let receipt = reply.json();
    assert_eq!(
        (&receipt["episode"], &receipt["stored"], &receipt["known"]),
        (&0.into(), &5.into(), &0.into())
    );
    assert_eq!(receipt["closed"], true);
    assert!(receipt["notes"].is_array());
    let after = lab.head();
    // No episode is pending now, and the file does not name its episode.
    let again = lab.post("measured", "text/csv", &table);
    assert!([200, 422].contains(&again.status), "{}", again.text());
    let again = lab.post("measured", "text/csv", &format!("# episode: 0\n{table}"));
    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!((again.json()["stored"].as_u64(), again.json()["known"].as_u64()), (Some(0), Some(5)));
    assert_eq!(lab.head(), after);
    // The page shows it at once.
    let whole = lab.get(&format!("/api/study/{}", Lab::id())).json();
    assert_eq!(whole["summary"]["measurements"], 5);
    let list = lab.get("/api/studies").json();
    assert_eq!(list["items"][0]["status"], "idle");
    let plan = lab.get(&format!("/api/study/{}/plan.json", Lab::id()));
    assert_eq!(plan.status, 404);
    assert!(plan.json()["hint"].is_string());
}

#[test]
fn half_can_be_told_first_and_json_is_read_too() {
    let lab = Lab::new();
    let table = csv(&lab);
    let half: String = table.split_inclusive('\n').take(table.lines().count() - 2).collect();
    let reply = lab.post("measured?more=1", "text/csv; charset=utf-8", &half);
    assert_eq!((reply.status, reply.json()["closed"].as_bool()), (200, Some(false)), "{}", reply.text());
    let reply = lab.post("measured", "text/csv", &table);
    assert_eq!(reply.json()["stored"], 2, "{}", reply.text());
    assert_eq!(reply.json()["known"], 3);
    assert_eq!(lab.post("measured?more=2", "text/csv", &table).status, 400);

    let lab = Lab::new();
    let document = r#"{"measurements":[{"t":0.5,"x":[1.0,0.5],"u":[0.1],"x_dot":[0.5,-1.0]}]}"#;
    let reply = lab.post("measured", "application/json", document);
    assert_eq!((reply.status, reply.json()["stored"].as_u64()), (200, Some(1)), "{}", reply.text());
}

#[test]
fn refused_files_name_every_bad_line_and_change_nothing() {
    let lab = Lab::new();
    let before = lab.head();
    let table = csv(&lab);
    let mut lines: Vec<String> = table.lines().map(String::from).collect();
    let header = lines.iter().position(|line| line.starts_with("t,")).unwrap();
    let good = lines.clone();
    lines[header + 2] = lines[header + 2].replacen(|c: char| c.is_ascii_digit(), "x", 1);
    lines[header + 4] = format!("{},9", lines[header + 4]);
    let reply = lab.post("measured", "text/csv", &(lines.join("\n") + "\n"));
    assert_eq!(reply.status, 422, "{}", reply.text());
    let document = reply.json();
    let rows = document["rows"].as_array().unwrap();
    let numbers: Vec<u64> = rows.iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [header as u64 + 3, header as u64 + 5], "{document}");
    assert_eq!(rows[0]["column"], 1);
    assert!(rows[0]["message"].as_str().unwrap().contains("not a number"), "{document}");
    assert!(document["details"].as_array().unwrap().iter().any(|pair| pair[0] == "place"), "{document}");

    // An error that only the study can detect: a time outside the episode.
    let mut lines = good;
    let rest = lines[header + 3].split_once(',').unwrap().1.to_owned();
    lines[header + 3] = format!("1e6,{rest}");
    let reply = lab.post("measured", "text/csv", &(lines.join("\n") + "\n"));
    let document = reply.json();
    assert_eq!(
        (reply.status, document["rows"][0]["line"].as_u64()),
        (422, Some(header as u64 + 4)),
        "{document}"
    );

    for (kind, body) in [
        ("text/csv", "t,nothing\n1,2\n"),
        ("text/csv", ""),
        ("text/csv", "\u{0}\u{1}\u{2}"),
        ("application/json", "{"),
        ("application/json", r#"{"measurements":[{"t":NaN,"x":[1,2],"u":[1]}]}"#),
        ("application/json", "[]"),
    ] {
        let reply = lab.post("measured", kind, body);
        assert_eq!(reply.status, 422, "{body}: {}", reply.text());
        assert!(reply.json()["rows"].is_array() && reply.json()["error"].is_string());
    }
    assert_eq!(lab.head(), before);
}

#[test]
fn an_episode_can_fail_and_notes_are_kept() {
    let lab = Lab::new();
    let reply = lab.post("note", "application/json", r#"{"text":"<script>alert(1)</script>"}"#);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let reply = lab.post("fail", "application/json", r#"{"reason":"the cable broke"}"#);
    assert_eq!((reply.status, reply.json()["status"].as_str()), (200, Some("failed")), "{}", reply.text());
    let study = Study::open(&lab.folder(), Access::Read).unwrap();
    assert_eq!(study.history().notes, ["<script>alert(1)</script>"]);
    assert_eq!(study.history().episodes[0].reason.as_deref(), Some("the cable broke"));
    let before = lab.head();
    // No episode is pending now.
    assert_eq!(lab.post("fail", "application/json", "{}").status, 422);
    for bad in ["", "{", "[]", "null", r#"{"text":5}"#, r#"{"text":"a","more":1}"#] {
        assert_eq!(lab.post("note", "application/json", bad).status, 400, "{bad}");
    }
    assert_eq!(lab.post("note", "application/json", r#"{"text":"  "}"#).status, 422);
    assert_eq!(lab.head(), before);
}

#[test]
fn who_is_at_work_is_not_disturbed() {
    let lab = Lab::with(|root| {
        begin(&root.join("lab")).ask(&mut ()).unwrap();
    });
    let writer = Study::open(&lab.folder(), Access::Write).unwrap();
    let reply = lab.post("note", "application/json", r#"{"text":"x"}"#);
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.json()["error"].as_str().unwrap().contains("in use by process"));
    assert!(reply.line("retry-after").is_some());
    drop(writer);
    assert_eq!(lab.post("note", "application/json", r#"{"text":"x"}"#).status, 200);
}
