//! The requests that write to a study. They do the same as the commands `ocorl study tell`, `fail`, `discard`, `exclude`, `include`
//! and `note`, and refuse while another process writes to the study.

use crate::Shared;
use crate::fault::{BadRow, Fault};
use crate::index::{Entry, Kind};
use crate::jobs::Job;
use crate::reading::{json, text};
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use ocorl_study::measured::{Columns, Measured};
use ocorl_study::store::Access;
use ocorl_study::study::{FAR, Study, StudyError, Telling};
use ocorl_study::user_error::UserError;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Largest file of measurements in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// Largest reason or note, in bytes of its JSON document.
const MOST_DOCUMENT: usize = 64 << 10;
/// Time within which a request body must arrive.
const PATIENCE: Duration = Duration::from_secs(8);
/// Largest number of errors of a file that are listed.
const MOST_ROWS: usize = 20;
/// Names of uploaded measurements in messages.
const CSV: &str = "measured.csv";
const JSON: &str = "measured.json";
/// Source that is stored with measurements uploaded here.
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
    let (name, contents) = uploaded(&headers, body).await?;
    let receipt = written(&shared, entry, move |study| tell(study, &contents, name, how)).await?;
    Ok(json(text(&receipt).into()))
}

/// Name and text of uploaded measurements.
async fn uploaded(headers: &HeaderMap, body: Body) -> Result<(&'static str, String), Fault> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let name = if kind.starts_with("text/csv") { CSV } else { JSON };
    let contents = String::from_utf8(whole(body, MOST_BYTES).await?.to_vec());
    let contents = contents
        .map_err(|_| UserError::new("the file is not UTF-8 text").detail("note", "nothing was stored"))?;
    Ok((name, contents))
}

/// What recording measurements would do: a row for each, with its residual.
#[derive(Serialize)]
struct Checked {
    episode: usize,
    notes: Vec<String>,
    /// Residual above which a measurement counts as far, in standard deviations.
    far: f64,
    rows: Vec<CheckedRow>,
}

#[derive(Serialize)]
struct CheckedRow {
    start: usize,
    t: f64,
    residual: Option<f64>,
}

/// Checks measurements before they are recorded; stores nothing.
pub(crate) async fn check(
    State(shared): At,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let (name, contents) = uploaded(&headers, body).await?;
    let checked = shared.views.run(move || -> Result<Checked, Fault> {
        let study = Study::open(&entry.folder, Access::Read)?;
        let found = parsed(&study.columns(), &contents, name, |measured| study.rehearse(measured))?;
        let rows = found.rows.iter().zip(found.residuals);
        Ok(Checked {
            episode: found.receipt.episode,
            notes: found.receipt.notes,
            far: FAR,
            rows: rows.map(|(row, residual)| CheckedRow { start: row.start, t: row.t, residual }).collect(),
        })
    });
    Ok(json(text(&checked.await??).into()))
}

/// Parses measurements and passes them to `use_them`; an error names the faulty rows.
fn parsed<T>(
    columns: &Columns,
    contents: &str,
    name: &str,
    use_them: impl FnOnce(Measured) -> Result<T, StudyError>,
) -> Result<T, Fault> {
    let measured = Measured::parse(contents, name, columns).map_err(|error| {
        let rows = faulty_rows(contents, name, columns, &error);
        Fault { rows: Some(rows), ..error.into() }
    })?;
    use_them(measured).map_err(|error| match error {
        StudyError::Refused(error) => {
            let row = refused_row(contents, name, columns, &error);
            Fault { rows: Some(row.into_iter().collect()), ..error.into() }
        }
        other => other.into(),
    })
}

fn tell(study: &mut Study, contents: &str, name: &str, how: Telling) -> Result<Receipt, Fault> {
    let columns = study.columns();
    let receipt = parsed(&columns, contents, name, |measured| study.tell(None, measured, SOURCE, how))?;
    let mut notes = receipt.notes;
    // The data are stored; a failure of this check must not report otherwise.
    if let Ok(Some(strange)) = study.strange(receipt.episode)
        && strange.far > 0
    {
        notes.push(format!(
            "{} of {} points have a residual above 6 σ; are the units right?",
            strange.far, strange.of
        ));
    }
    let (stored, known, closed) = (receipt.stored, receipt.known, receipt.closed.is_some());
    Ok(Receipt { episode: receipt.episode, stored, known, notes, closed })
}

/// All faulty lines of a table, as far as each can be parsed without the others.
fn faulty_rows(contents: &str, name: &str, columns: &Columns, first: &UserError) -> Vec<BadRow> {
    let mut rows: Vec<BadRow> = at(first).into_iter().collect();
    let mut lines: Vec<&str> = contents.lines().collect();
    // A faulty line is replaced by one without values, so that the others keep their line numbers.
    let header = lines.iter().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let header = header.copied().unwrap_or_default();
    let separator = [';', '\t'].into_iter().find(|c| header.contains(*c)).unwrap_or(',');
    let blank: String = header.chars().filter(|c| *c == separator).collect();
    // A wrong header makes every line wrong, so it is reported alone.
    while let Some(last) = rows.last().filter(|row| row.line > 1 && rows.len() < MOST_ROWS) {
        let Some(line) = lines.get_mut(last.line - 1).filter(|line| **line != blank) else { break };
        *line = &blank;
        match Measured::parse(&(lines.join("\n") + "\n"), name, columns) {
            Err(error) => match at(&error) {
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
fn refused_row(contents: &str, name: &str, columns: &Columns, error: &UserError) -> Option<BadRow> {
    let number: usize = error.message.strip_prefix("measurement ")?.split(' ').next()?.parse().ok()?;
    if name != CSV {
        return None;
    }
    // The end of the first line at which the text contains that many measurements.
    let ends: Vec<usize> = contents.match_indices('\n').map(|(i, _)| i + 1).chain([contents.len()]).collect();
    let rows = |end: usize| Measured::parse(&contents[..end], name, columns).map_or(0, |m| m.rows.len());
    let line = ends.partition_point(|&end| rows(end) < number) + 1;
    Some(BadRow { line, column: None, message: cause(&error.message) })
}

/// The line and column that an error message names.
fn at(error: &UserError) -> Option<BadRow> {
    let (_, place) = error.details.iter().find(|(label, _)| *label == "place")?;
    let number = |word: &str| -> Option<usize> {
        let digits = place.split_once(word)?.1;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    let (line, column) = (number(", line ")?, number(", column "));
    Some(BadRow { line, column, message: cause(&error.message) })
}

/// The cause without the row number, which is shown beside it.
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
struct Discard {
    episode: usize,
    #[serde(default)]
    reason: String,
}

/// Excludes an episode from learning; its data are kept.
pub(crate) async fn discard(State(shared): At, Path(id): Path<String>, body: Body) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let Discard { episode, reason } = document(body).await?;
    let reason = if reason.trim().is_empty() { "discarded".to_owned() } else { reason };
    let closed = written(&shared, entry, move |study| Ok(study.discard(episode, &reason)?)).await?;
    Ok(json(text(&closed).into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Select {
    episode: usize,
    /// Numbers of the rows, from 1.
    rows: Vec<usize>,
    include: bool,
}

/// Excludes rows of an episode from learning, or includes them again.
pub(crate) async fn select(State(shared): At, Path(id): Path<String>, body: Body) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    let Select { episode, rows, include } = document(body).await?;
    let chosen = written(&shared, entry, move |study| Ok(study.select(episode, &rows, SOURCE, include)?));
    Ok(json(text(&serde_json::json!({ "rows": chosen.await?.len() })).into()))
}

/// Plans the next episode, or completes the stored plots. The work stops when the client leaves.
async fn job(shared: Arc<Shared>, id: String, job: Job) -> Answer {
    let entry = shared.find(&id, Kind::Study).await?;
    if !shared.index.holds(&entry.folder) {
        return Err(Fault::missing("there is no such study any more"));
    }
    shared.jobs.run(job, &entry.folder).await?;
    shared.views.forget(&entry.id);
    shared.list.forget();
    Ok(json(text(&serde_json::json!({ "done": true })).into()))
}

pub(crate) async fn ask(State(shared): At, Path(id): Path<String>) -> Answer {
    job(shared, id, Job::Plan).await
}

pub(crate) async fn complete(State(shared): At, Path(id): Path<String>) -> Answer {
    job(shared, id, Job::Report).await
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
        return Err(UserError::new("the note is empty").detail("note", "nothing was stored").into());
    }
    let notes = written(&shared, entry, move |study| {
        study.note(&words)?;
        Ok(study.history().notes.len())
    });
    Ok(json(text(&serde_json::json!({ "notes": notes.await? })).into()))
}

/// Opens the study for writing and runs `write`.
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

/// Parses a small JSON document.
pub(crate) async fn document<T: for<'a> Deserialize<'a>>(body: Body) -> Result<T, Fault> {
    let bytes = whole(body, MOST_DOCUMENT).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Fault::malformed("the JSON document cannot be parsed")
            .detail("cause", error.to_string())
            .detail("note", "nothing was stored")
    })
}

/// The whole body, if it is neither too long nor too slow.
async fn whole(body: Body, most: usize) -> Result<Bytes, Fault> {
    let large = || {
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {most} bytes are accepted"))
            .detail("note", "nothing was stored")
            .hint("for larger files: ocorl study tell STUDY FILE")
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
        let error = Measured::parse(contents, "measured.csv", &columns()).unwrap_err();
        let rows = faulty_rows(contents, "measured.csv", &columns(), &error);
        let places: Vec<_> = rows.iter().map(|row| (row.line, row.column)).collect();
        assert_eq!(places, [(4, Some(2)), (6, Some(3)), (7, Some(3))], "{rows:?}");
        assert_eq!(rows[0].message, "'x' is 'a', not a number");
        // A header that cannot be parsed is a single error.
        let contents = "t,x\n0,1\n";
        let error = Measured::parse(contents, "measured.csv", &columns()).unwrap_err();
        assert_eq!(faulty_rows(contents, "measured.csv", &columns(), &error).len(), 1);
    }

    #[test]
    fn the_line_of_a_refused_measurement_is_found() {
        let contents = "t,x,u\n# break\n0,1,2\n,,\n1,1,2\n2,900,2\n3,1,2\n";
        for (number, line) in [(1, 3), (2, 5), (3, 6), (4, 7)] {
            let error = UserError::new(format!("measurement {number} of 4 refused: too far"));
            let row = refused_row(contents, "measured.csv", &columns(), &error).unwrap();
            assert_eq!((row.line, row.message.as_str()), (line, "too far"));
        }
    }
}
