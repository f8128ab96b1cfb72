//! The three things that can be written: measurements, that an episode failed, a note. Each is what the commands `ocorl study tell`,
//! `fail` and so on do; who has the study open for writing is not disturbed.

use crate::Shared;
use crate::fault::{BadRow, Fault};
use crate::index::{Entry, Kind};
use crate::reading::{json, text};
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use ocorl_study::measured::{Columns, Measured};
use ocorl_study::mistake::Mistake;
use ocorl_study::store::Access;
use ocorl_study::study::{Study, StudyError, Telling};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Largest file of measurements.
pub const MOST_BYTES: usize = 16 << 20;
/// Longest reason or note, in bytes of its document.
const MOST_WORDS: usize = 64 << 10;
/// Everything must have come after this long.
const PATIENCE: Duration = Duration::from_secs(8);
/// Mistakes of a file that are listed.
const MOST_ROWS: usize = 20;
/// What a file of measurements is called in messages.
const CSV: &str = "measured.csv";
const JSON: &str = "measured.json";
/// Where measurements come from that are told here.
const SOURCE: &str = "dashboard";

type Answer = Result<Response, Fault>;
type At = State<Arc<Shared>>;

#[derive(Deserialize)]
pub(crate) struct How {
    more: Option<u8>,
}

#[derive(Serialize)]
struct Receipt {
    episode: usize,
    stored: usize,
    known: usize,
    notes: Vec<String>,
    closed: bool,
}

pub(crate) async fn measured(
    State(shared): At,
    Path(id): Path<String>,
    how: Result<Query<How>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let how = match how {
        Ok(Query(How { more: None | Some(0) })) => Telling::Whole,
        Ok(Query(How { more: Some(1) })) => Telling::More,
        _ => return Err(Fault::malformed("'more' is 0 or 1")),
    };
    let entry = shared.find(&id, Kind::Study).await?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let name = if kind.starts_with("text/csv") { CSV } else { JSON };
    let bytes = whole(body, MOST_BYTES).await?;
    let Ok(contents) = String::from_utf8(bytes.to_vec()) else {
        return Err(Mistake::new("the file is not text in UTF-8")
            .detail("note", "nothing was stored")
            .into());
    };
    let receipt = written(&shared, entry, move |study| tell(study, &contents, name, how)).await?;
    Ok(json(text(&receipt).into()))
}

fn tell(study: &mut Study, contents: &str, name: &str, how: Telling) -> Result<Receipt, Fault> {
    let columns = study.columns();
    let measured = Measured::parse(contents, name, &columns).map_err(|mistake| {
        let rows = mistakes(contents, name, &columns, &mistake);
        Fault { rows: Some(rows), ..mistake.into() }
    })?;
    let receipt = study.tell(None, measured, SOURCE, how).map_err(|error| match error {
        StudyError::Refused(mistake) => {
            let row = refused_row(contents, name, &columns, &mistake);
            Fault { rows: Some(row.into_iter().collect()), ..mistake.into() }
        }
        other => other.into(),
    })?;
    let mut notes = receipt.notes;
    // It is stored: whatever is said of it now is only said.
    if let Ok(Some(strange)) = study.strange(receipt.episode)
        && strange.far > 0
    {
        notes.push(format!(
            "{} of {} points are more than 6 sigma from the model; are the units right?",
            strange.far, strange.of
        ));
    }
    let (stored, known, closed) = (receipt.stored, receipt.known, receipt.closed.is_some());
    Ok(Receipt { episode: receipt.episode, stored, known, notes, closed })
}

/// All lines of a table that are refused, as far as each can be read without the others.
fn mistakes(contents: &str, name: &str, columns: &Columns, first: &Mistake) -> Vec<BadRow> {
    let mut rows: Vec<BadRow> = at(first).into_iter().collect();
    let mut lines: Vec<&str> = contents.lines().collect();
    // In the place of a bad line stands one without values, so that the others keep their numbers.
    let header = lines.iter().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let header = header.copied().unwrap_or_default();
    let separator = [';', '\t'].into_iter().find(|c| header.contains(*c)).unwrap_or(',');
    let blank: String = header.chars().filter(|c| *c == separator).collect();
    // A header that is wrong makes every line wrong.
    while let Some(last) = rows.last().filter(|row| row.line > 1 && rows.len() < MOST_ROWS) {
        let Some(line) = lines.get_mut(last.line - 1).filter(|line| **line != blank) else { break };
        *line = &blank;
        match Measured::parse(&lines.join("\n"), name, columns) {
            Err(mistake) => match at(&mistake) {
                Some(row) => rows.push(row),
                None => break,
            },
            Ok(_) => break,
        }
    }
    rows.sort_by_key(|row| (row.line, row.column));
    rows
}

/// The line of the measurement that the study refused.
fn refused_row(contents: &str, name: &str, columns: &Columns, mistake: &Mistake) -> Option<BadRow> {
    let number: usize = mistake.message.strip_prefix("measurement ")?.split(' ').next()?.parse().ok()?;
    if name != CSV {
        return None;
    }
    // The first line up to which there are so many measurements.
    let ends: Vec<usize> = contents.match_indices('\n').map(|(i, _)| i + 1).chain([contents.len()]).collect();
    let rows = |end: usize| Measured::parse(&contents[..end], name, columns).map_or(0, |m| m.rows.len());
    let line = ends.partition_point(|&end| rows(end) < number) + 1;
    Some(BadRow { line, column: None, message: cause(&mistake.message) })
}

/// The place of a mistake that has one.
fn at(mistake: &Mistake) -> Option<BadRow> {
    let (_, place) = mistake.details.iter().find(|(label, _)| *label == "place")?;
    let number = |word: &str| -> Option<usize> {
        let digits = place.split_once(word)?.1;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    let (line, column) = (number(", line ")?, number(", column "));
    Some(BadRow { line, column, message: cause(&mistake.message) })
}

/// Why, without the number of the row: the line is said beside it.
fn cause(message: &str) -> String {
    message.split_once(" refused: ").map_or(message, |(_, cause)| cause).into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    #[serde(default)]
    reason: String,
}

pub(crate) async fn fail(State(shared): At, Path(id): Path<String>, body: Body) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let Reason { reason } = document(body).await?;
    let reason = if reason.trim().is_empty() { "failed".to_owned() } else { reason };
    let closed = written(&shared, entry, move |study| Ok(study.fail(None, &reason)?)).await?;
    Ok(json(text(&closed).into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    text: String,
}

pub(crate) async fn note(State(shared): At, Path(id): Path<String>, body: Body) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let Note { text: words } = document(body).await?;
    if words.trim().is_empty() {
        return Err(Mistake::new("the note is empty").detail("note", "nothing was stored").into());
    }
    let notes = written(&shared, entry, move |study| {
        study.note(&words)?;
        Ok(study.history().notes.len())
    });
    Ok(json(text(&serde_json::json!({ "notes": notes.await? })).into()))
}

/// Opens the study as the only one who writes, and writes.
async fn written<T: Send + 'static>(
    shared: &Arc<Shared>,
    entry: Arc<Entry>,
    write: impl FnOnce(&mut Study) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = shared.write(move |index| {
        if !index.holds(&entry.folder) {
            return Err(Fault::missing("there is no such study any more"));
        }
        write(&mut Study::open(&entry.folder, Access::Write)?)
    });
    let done = done.await?;
    shared.list.forget();
    done
}

/// A small document.
async fn document<T: for<'a> Deserialize<'a>>(body: Body) -> Result<T, Fault> {
    let bytes = whole(body, MOST_WORDS).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Fault::malformed("the document cannot be read")
            .detail("cause", error.to_string())
            .detail("note", "nothing was stored")
    })
}

/// All of a body, if it is not too long and does not take too long.
async fn whole(body: Body, most: usize) -> Result<Bytes, Fault> {
    let large = || {
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, format!("more than {most} bytes are not accepted"))
            .detail("note", "nothing was stored")
            .hint("larger files: ocorl study tell STUDY FILE")
    };
    if body.size_hint().lower() > most as u64 {
        return Err(large());
    }
    match tokio::time::timeout(PATIENCE, Limited::new(body, most).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(large()),
        Ok(Err(_)) => {
            Err(Fault::malformed("the request ended too early").detail("note", "nothing was stored"))
        }
        Err(_) => Err(Fault::new(StatusCode::REQUEST_TIMEOUT, "the request took too long")
            .detail("note", "nothing was stored")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        Columns { states: vec!["x".into()], controls: vec!["u".into()] }
    }

    #[test]
    fn every_bad_line_is_named_with_its_cell() {
        let contents = "# made by hand\nt,x,u\n0,1,2\n1,a,2\n2,3,4\n3,1,nan\n4,1\n";
        let mistake = Measured::parse(contents, "measured.csv", &columns()).unwrap_err();
        let rows = mistakes(contents, "measured.csv", &columns(), &mistake);
        let places: Vec<_> = rows.iter().map(|row| (row.line, row.column)).collect();
        assert_eq!(places, [(4, Some(2)), (6, Some(3)), (7, Some(3))], "{rows:?}");
        assert_eq!(rows[0].message, "'x' is 'a', not a number");
        // A header that cannot be read is one mistake.
        let contents = "t,x\n0,1\n";
        let mistake = Measured::parse(contents, "measured.csv", &columns()).unwrap_err();
        assert_eq!(mistakes(contents, "measured.csv", &columns(), &mistake).len(), 1);
    }

    #[test]
    fn the_line_of_a_refused_measurement_is_found() {
        let contents = "t,x,u\n# break\n0,1,2\n,,\n1,1,2\n2,900,2\n3,1,2";
        for (number, line) in [(1, 3), (2, 5), (3, 6), (4, 7)] {
            let mistake = Mistake::new(format!("measurement {number} of 4 refused: too far"));
            let row = refused_row(contents, "measured.csv", &columns(), &mistake).unwrap();
            assert_eq!((row.line, row.message.as_str()), (line, "too far"));
        }
    }
}
