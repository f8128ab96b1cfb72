//! Files of measurements and plans: what can be read is read, what cannot is refused with its place, and nothing panics or hangs.

use super::{begin, measure};
use ocorl::random::{Rng, Stream};
use ocorl_study::measured::{Columns, Measured};
use ocorl_study::plan_file::PlanFile;

fn columns() -> Columns {
    Columns { states: vec!["theta".into(), "omega".into()], controls: vec!["torque".into()] }
}

const GOOD: &str = "# cost: 12.5\n# outcome: completed\nt,theta,omega,torque,theta_dot,omega_dot\n0.5,3.1,0.2,0.1,0.2,-0.3\n1.5,3.0,0.1,0.0,0.1,-0.2\n";

fn parse(text: &str) -> Result<Measured, String> {
    Measured::parse(text, "m.csv", &columns()).map_err(|mistake| mistake.to_string())
}

#[test]
fn tables_of_every_laboratory_are_understood() {
    let good = parse(GOOD).unwrap();
    assert_eq!((good.rows.len(), good.ends[0].cost), (2, Some(12.5)));
    assert_eq!(good.rows[1].x_dot.as_deref(), Some(&[0.1, -0.2][..]));
    for (text, note) in [
        ("t;theta;omega;torque\n0,5;3,1;0,2;0,1\n", "decimal comma"),
        ("t\ttheta\tomega\ttorque\n0.5\t3.1\t0.2\t0.1\n", "tabs"),
        ("\u{feff}t,theta,omega,torque\ns,rad,rad/s,N\n0.5,3.1,0.2,0.1\n", "units"),
        ("torque,omega,t,theta,comment\n0.1,0.2,0.5,3.1,fine\n", "ignored: comment"),
        ("t,theta,omega,torque\n0.5,3.1,0.2,0.1\n0.7,,,\n", "line 3 is skipped"),
        ("t,theta,omega,torque,used\n0.5,3.1,0.2,0.1,1\n0.7,1,1,1,0\n", "line 3 is skipped"),
    ] {
        let read = parse(text).unwrap();
        assert_eq!(
            (read.rows.len(), read.rows[0].t, read.rows[0].x.as_slice()),
            (1, 0.5, &[3.1, 0.2][..]),
            "{text}"
        );
        assert!(read.notes.iter().any(|n| n.contains(note)), "{note}: {:?}", read.notes);
    }
    let json = r#"{"cost": 1, "measurements": [{"t": 0.5, "x": {"omega": 0.2, "theta": 3.1}, "u": [0.1]}]}"#;
    let read = Measured::parse(json, "m.json", &columns()).unwrap();
    assert_eq!(read.rows[0].x, [3.1, 0.2]);
}

#[test]
fn mistakes_are_refused_with_their_place() {
    for (text, expected) in [
        ("", "is empty"),
        (
            "t,theta,omega,torque,theta_dot,omega_dot\n0.5,3.1,NaN,0.1,1,1\n",
            "'omega' is NaN; every number must be finite; place: m.csv, line 2, column 3",
        ),
        (
            "t,theta,omega,torque\n0.5,3.1,0.2,0.1\n0.6,3.1,zero,0.1\n",
            "row 2 refused: 'omega' is 'zero', not a number; place: m.csv, line 3, column 3",
        ),
        // Comments and blank lines above a row are lines too.
        (
            "# day 2\nt,theta,omega,torque\n0.5,3.1,0.2,0.1\n# windy\n\n# very\n0.6,3.1,zero,0.1\n",
            "row 2 refused: 'omega' is 'zero', not a number; place: m.csv, line 7, column 3",
        ),
        ("t,theta,omega,torque\n0.5,3.1,0.2\n", "it has 3 cells, the header 4"),
        ("t,theta,omgea,torque\n0.5,3.1,0.2,0.1\n", "the column 'omega' is missing"),
        ("t,theta,omega,torque,theta_dot\n0.5,3.1,0.2,0.1,1\n", "the column 'omega_dot' is missing"),
        ("t,theta,theta,omega,torque\n", "occurs twice"),
        (
            "# cost: cheap\nt,theta,omega,torque\n",
            "'cost' refused: 'cheap' is no number; place: m.csv, line 1",
        ),
        ("t,theta,omega,torque,episode\n0.5,3.1,0.2,0.1,1\n0.6,3.1,0.2,0.1,2\n", "rows of episode 2"),
        ("t,theta,omega,torque\n0.5,1e999,0,0.1\n", "'theta' is inf"),
    ] {
        let message = parse(text).unwrap_err();
        assert!(message.contains(expected), "{text}\n{message}");
        assert!(message.contains("nothing was stored"), "{message}");
    }
    // Whether a state without a value is a mistake depends on what the study measures.
    let positions = Measured::parse("t,theta,omega,torque\n0.5,3.1,,0.1\n", "m.csv", &columns()).unwrap();
    assert!(positions.rows[0].x[0] == 3.1 && positions.rows[0].x[1].is_nan());
    let hint =
        Measured::parse("t,theta,omgea,torque\n", "m.csv", &columns()).unwrap_err().hint.unwrap().to_string();
    assert_eq!(hint, "is 'omgea' meant to be 'omega'?");
    for (text, expected) in [
        ("{", "line 1, column 1"),
        (r#"{"measurements": [{"t": 0.5, "x": [1], "u": [0.1]}]}"#, "'x' has 1 entries, the system has 2"),
        (
            r#"{"measurements": [{"t": 0.5, "x": {"theta": 1, "omgea": 2}, "u": [0.1]}]}"#,
            "'omega' is missing in 'x'",
        ),
        (r#"{"measurement": []}"#, "unknown field"),
        (r#"{"measurements": [{"t": NaN, "x": [1, 2], "u": [0.1]}]}"#, "line 1, column"),
    ] {
        let message = Measured::parse(text, "m.json", &columns()).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}\n{message}");
    }
}

#[test]
fn what_is_written_is_read_back_to_the_bit() {
    let mut rng = Stream::root(3).rng();
    let mut measured = parse(GOOD).unwrap();
    for row in &mut measured.rows {
        for value in row.x.iter_mut().chain(&mut row.u).chain(row.x_dot.iter_mut().flatten()) {
            *value = rng.normal() * 10_f64.powf(rng.uniform(-30.0, 30.0));
        }
    }
    assert_eq!(parse(&measured.csv(&columns())).unwrap(), measured);
}

/// One change of a text that somebody might make by accident, or on purpose.
pub(crate) fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len().max(1));
        match rng.below(7) {
            0 if !bytes.is_empty() => bytes[at] = rng.below(256) as u8,
            1 if !bytes.is_empty() => {
                bytes.remove(at);
            }
            2 => bytes.insert(at, b",;\t\n\"'#{}[]:-.e9 "[rng.below(17)]),
            3 => bytes.truncate(at),
            4 => {
                let to = (at + rng.below(40)).min(bytes.len());
                let piece = bytes[at.min(to)..to].to_vec();
                let _ = bytes.splice(at..at, piece);
            }
            5 => {
                let word: &[u8] = [
                    &b"NaN"[..],
                    b"inf",
                    b"-1e308",
                    b"1e999",
                    b"null",
                    b"true",
                    b"\\u0000",
                    b"99999999999999999999",
                ][rng.below(8)];
                let _ = bytes.splice(at..at, word.iter().copied());
            }
            _ => bytes.reverse(),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_file_makes_a_reader_panic_or_hang() {
    let count: usize = std::env::var("OCORL_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000);
    let folder = tempfile::tempdir().unwrap();
    let mut study = begin(folder.path());
    let plan = study.ask(&mut ()).unwrap().unwrap();
    let own = study.columns();
    // A plan small enough to be changed often.
    let mut short = (*plan).clone();
    short.learner = None;
    for rollout in &mut short.rollouts {
        rollout.times.truncate(3);
        rollout.states.truncate(3);
        rollout.slopes.truncate(2);
        rollout.controls.truncate(2);
        rollout.gains.truncate(2);
    }
    let seeds = [
        (GOOD.to_owned(), "m.csv"),
        (measure(&plan).csv(&own), "m.csv"),
        (r#"{"episode": 0, "legs": [{"start": 0, "cost": 1.5, "measurements": [{"t": 0.5, "x": [1, 2], "u": {"force": 3}, "x_dot": [1, 2]}]}]}"#.to_owned(), "m.json"),
        (short.text().unwrap(), "plan.json"),
    ];
    let mut rng = Stream::root(11).rng();
    let (mut refused, mut read) = (0, 0);
    for i in 0..count {
        let (seed, name) = &seeds[i % seeds.len()];
        let text = mutated(seed, &mut rng);
        let mistake = if *name == "plan.json" {
            PlanFile::parse(&text, name).err()
        } else {
            let columns = if i % seeds.len() == 0 { columns() } else { own.clone() };
            Measured::parse(&text, name, &columns).err()
        };
        match mistake {
            None => read += 1,
            Some(mistake) => {
                refused += 1;
                let said = mistake.to_string();
                assert!(!mistake.message.is_empty() && said.contains(name), "{said}\n{text}");
            }
        }
    }
    assert!(refused > count / 4 && read > 0, "{refused} refused, {read} read");
}
