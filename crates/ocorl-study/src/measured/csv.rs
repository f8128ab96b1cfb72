//! Reads and writes measurements as CSV. The separator (comma, semicolon, tab) and a decimal comma are detected and reported.

use super::{Columns, Measured, finite};
use crate::study::{Applied, End, Row};
use crate::user_error::{Place, UserError, nearest};
use std::fmt::Write;

/// Columns with a reserved meaning.
const OWN: [&str; 6] = ["t", "start", "episode", "asked_t", "used", "interval"];

/// Separator and decimal sign of a file.
struct Dialect {
    separator: u8,
    decimal_comma: bool,
}

impl Dialect {
    /// Detects the separator, which occurs most often in the header, and a decimal comma, if commas stand between digits and do not
    /// separate columns.
    fn of(header: &str, first: &str) -> Self {
        let count = |c: char| header.matches(c).count();
        let separator =
            [';', '\t'].into_iter().filter(|&c| count(c) > 0).max_by_key(|&c| count(c)).unwrap_or(',');
        let decimal_comma = separator != ','
            && first.split(separator).any(|cell| {
                let parts: Vec<&str> = cell.trim().split(',').collect();
                parts.len() == 2 && parts[1].starts_with(|c: char| c.is_ascii_digit())
            });
        Dialect { separator: u8::try_from(separator).unwrap_or(b','), decimal_comma }
    }

    fn number(&self, cell: &str) -> Option<f64> {
        if self.decimal_comma { cell.replacen(',', ".", 1).parse().ok() } else { cell.parse().ok() }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match self.separator {
            b';' => notes.push("columns are separated by semicolons".into()),
            b'\t' => notes.push("columns are separated by tabs".into()),
            _ => {}
        }
        if self.decimal_comma {
            notes.push("numbers are written with a decimal comma".into());
        }
        notes
    }
}

/// Column index of each quantity.
struct Header {
    names: Vec<String>,
    time: usize,
    states: Vec<usize>,
    controls: Vec<usize>,
    derivatives: Option<Vec<usize>>,
}

impl Header {
    fn of(names: &[String], columns: &Columns, notes: &mut Vec<String>) -> Result<Self, UserError> {
        for (i, name) in names.iter().enumerate() {
            if names[..i].contains(name) {
                return Err(UserError::new(format!("the column '{name}' is there twice")));
            }
        }
        let dots: Vec<String> = columns.states.iter().map(|s| format!("{s}_dot")).collect();
        let known: Vec<&str> = OWN
            .into_iter()
            .chain([&columns.states, &columns.controls, &dots].into_iter().flatten().map(String::as_str))
            .collect();
        let unknown: Vec<&str> = names.iter().map(String::as_str).filter(|n| !known.contains(n)).collect();
        let find = |name: &str| {
            names.iter().position(|n| n == name).ok_or_else(|| {
                let error = UserError::new(format!("the column '{name}' is missing"))
                    .detail("columns", names.join(", "));
                match nearest(name, unknown.iter().copied()) {
                    Some(meant) => error.hint(format!("is '{meant}' meant to be '{name}'?")),
                    None => error.hint(format!(
                        "a file needs t, {}, {}",
                        columns.states.join(", "),
                        columns.controls.join(", ")
                    )),
                }
            })
        };
        let all = |list: &[String]| list.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>();
        let some = dots.iter().any(|dot| names.contains(dot));
        let header = Header {
            time: find("t")?,
            states: all(&columns.states)?,
            controls: all(&columns.controls)?,
            derivatives: if some { Some(all(&dots)?) } else { None },
            names: names.to_vec(),
        };
        if !unknown.is_empty() {
            notes.push(format!("unknown columns are ignored: {}", unknown.join(", ")));
        }
        Ok(header)
    }

    fn own(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }
}

pub(super) fn read(text: &str, name: &str, columns: &Columns) -> Result<Measured, UserError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut measured = Measured::default();
    comments(text, name, &mut measured)?;
    let mut lines =
        text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
    let (Some(header), first) = (lines.next(), lines.next().unwrap_or_default()) else {
        return Err(UserError::new(format!("'{name}' is empty")).hint("its first row names the columns"));
    };
    let dialect = Dialect::of(header, first);
    measured.notes.extend(dialect.notes());
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(dialect.separator)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .flexible(true)
        .has_headers(true)
        .from_reader(text.as_bytes());
    let names = reader.headers().map_err(|error| broken(name, &error))?;
    let names: Vec<String> = names.iter().map(str::to_owned).collect();
    let header = Header::of(&names, columns, &mut measured.notes)
        .map_err(|error| error.detail("place", Place { file: name.into(), at: Some((1, 1)) }.to_string()))?;
    for (number, record) in reader.records().enumerate() {
        let record = record.map_err(|error| broken(name, &error))?;
        let line = record.position().map_or(0, |p| line_of(text, p));
        let units = number == 0
            && record.get(header.time).is_some_and(|t| !t.is_empty() && dialect.number(t).is_none());
        if units
            && header.states.iter().all(|&i| record.get(i).is_some_and(|cell| dialect.number(cell).is_none()))
        {
            measured.notes.push(format!("line {line} holds units; it is not a measurement"));
            continue;
        }
        match row(&record, &header, &dialect, &mut measured) {
            Ok(Some(Line::Measurement(row))) => measured.rows.push(row),
            Ok(Some(Line::Control)) => {}
            Ok(None) => measured.notes.push(format!("line {line} is skipped")),
            Err((column, cause)) => {
                let place = Place { file: name.into(), at: Some((line, column + 1)) };
                return Err(UserError::new(format!("row {} refused: {cause}", number + 1))
                    .detail("place", format!("{place} (cells are counted)")));
            }
        }
    }
    Ok(measured)
}

/// Kind of a line.
enum Line {
    Measurement(Row),
    /// An applied control, which has been stored already.
    Control,
}

/// Parses one row; `None` if it is marked as not measured. An error carries its column.
fn row(
    record: &csv::StringRecord,
    header: &Header,
    dialect: &Dialect,
    measured: &mut Measured,
) -> Result<Option<Line>, (usize, String)> {
    if record.len() != header.names.len() {
        let cause = format!("it has {} cells, the header {}", record.len(), header.names.len());
        return Err((record.len().min(header.names.len()), cause));
    }
    let number = |i: usize| {
        let (cell, name) = (&record[i], header.names[i].as_str());
        let value = dialect
            .number(cell)
            .ok_or_else(|| (i, format!("'{name}' is '{}', not a number", shortened(cell))))?;
        finite(value, name).map_err(|cause| (i, cause))
    };
    let whole = |name: &str| match header.own(name) {
        Some(i) if !record[i].is_empty() => {
            let parsed = record[i].parse::<usize>();
            parsed
                .map(Some)
                .map_err(|_| (i, format!("'{name}' is '{}', not a whole number", shortened(&record[i]))))
        }
        _ => Ok(None),
    };
    let optional = |name: &str| match header.own(name) {
        Some(i) if !record[i].is_empty() => number(i).map(Some),
        _ => Ok(None),
    };
    let vector = |places: &[usize]| places.iter().map(|&i| number(i)).collect::<Result<Vec<_>, _>>();
    let blank = |places: &[usize]| places.iter().all(|&i| record[i].is_empty());
    if whole("used")? == Some(0) {
        return Ok(None);
    }
    if blank(&header.states) {
        if blank(&header.controls) {
            return Ok(None);
        }
        let (start, t, u) = (whole("start")?.unwrap_or(0), number(header.time)?, vector(&header.controls)?);
        measured.controls.push(Applied { start, t, u });
        return Ok(Some(Line::Control));
    }
    if let Some(episode) = whole("episode")? {
        if measured.episode.is_some_and(|known| known != episode) {
            return Err((
                header.own("episode").unwrap_or(0),
                format!("rows of episode {episode} among those of another"),
            ));
        }
        measured.episode = Some(episode);
    }
    let x_dot = match &header.derivatives {
        Some(places) if !blank(places) => Some(vector(places)?),
        _ => None,
    };
    Ok(Some(Line::Measurement(Row {
        start: whole("start")?.unwrap_or(0),
        t: number(header.time)?,
        x: vector(&header.states)?,
        u: vector(&header.controls)?,
        x_dot,
        asked_t: optional("asked_t")?,
        interval: optional("interval")?,
    })))
}

/// Parses comments such as `# cost: 12.3` and `# outcome: completed`; for other initial states than the first, `# cost[1]: …`.
fn comments(text: &str, name: &str, measured: &mut Measured) -> Result<(), UserError> {
    for (number, line) in text.lines().enumerate() {
        let Some((key, value)) = line.trim_start().strip_prefix('#').and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let (word, start) = match key.strip_suffix(']').and_then(|key| key.split_once('[')) {
            Some((word, start)) => (word, start.parse::<usize>().ok()),
            None => (key, Some(0)),
        };
        let refused = |cause: String| {
            let place = Place { file: name.into(), at: Some((number + 1, 1)) };
            UserError::new(format!("'{key}' refused: {cause}")).detail("place", place.to_string())
        };
        if !["cost", "outcome", "episode"].contains(&word) {
            continue;
        }
        let start =
            start.ok_or_else(|| refused("the number in brackets is that of an initial state".into()))?;
        let index = measured.ends.iter().position(|end| end.start == start);
        match word {
            "episode" => {
                let episode = value
                    .parse()
                    .map_err(|_| refused(format!("'{}' is no whole number", shortened(value))))?;
                measured.episode = Some(episode);
            }
            word => {
                let index = index.unwrap_or_else(|| {
                    measured.ends.push(End { start, ..End::default() });
                    measured.ends.len() - 1
                });
                if word == "cost" {
                    let cost =
                        value.parse().map_err(|_| refused(format!("'{}' is no number", shortened(value))))?;
                    measured.ends[index].cost = Some(finite(cost, "cost").map_err(refused)?);
                } else {
                    measured.ends[index].outcome = Some(value.chars().take(500).collect());
                }
            }
        }
    }
    Ok(())
}

/// Line number of a record. The reader reports the position before the comments and blank lines above it.
fn line_of(text: &str, position: &csv::Position) -> usize {
    let (byte, line) =
        (usize::try_from(position.byte()).unwrap_or(0), usize::try_from(position.line()).unwrap_or(0));
    let above = text.get(byte..).unwrap_or_default().lines();
    line + above.take_while(|line| line.trim_start().starts_with('#') || line.trim().is_empty()).count()
}

fn broken(name: &str, error: &csv::Error) -> UserError {
    let at = error.position().map(|p| (usize::try_from(p.line()).unwrap_or(0), 1));
    UserError::new(format!("'{name}' is not CSV"))
        .detail("place", Place { file: name.into(), at }.to_string())
        .detail("cause", error.to_string())
}

/// A cell, truncated for a message.
fn shortened(cell: &str) -> String {
    let start: String = cell.chars().take(40).collect();
    if start.len() < cell.len() { start + "…" } else { start }
}

pub(super) fn write(measured: &Measured, columns: &Columns) -> String {
    let mut text = String::new();
    if let Some(episode) = measured.episode {
        let _ = writeln!(text, "# episode: {episode}");
    }
    for End { start, cost, outcome } in &measured.ends {
        let index = if *start == 0 { String::new() } else { format!("[{start}]") };
        if let Some(cost) = cost {
            let _ = writeln!(text, "# cost{index}: {cost:?}");
        }
        if let Some(outcome) = outcome {
            let _ = writeln!(text, "# outcome{index}: {}", outcome.replace(['\n', '\r'], " "));
        }
    }
    let starts = measured
        .rows
        .iter()
        .map(|row| row.start)
        .chain(measured.controls.iter().map(|c| c.start))
        .any(|s| s > 0);
    let dots = measured.rows.iter().any(|row| row.x_dot.is_some());
    let intervals = measured.rows.iter().any(|row| row.interval.is_some());
    let mut names: Vec<String> = if starts { vec!["start".into()] } else { Vec::new() };
    names.push("t".into());
    names.extend(columns.states.iter().chain(&columns.controls).cloned());
    if dots {
        names.extend(columns.states.iter().map(|s| format!("{s}_dot")));
    }
    if intervals {
        names.push("interval".into());
    }
    text += &(names.join(",") + "\n");
    for row in &measured.rows {
        let mut cells: Vec<String> = if starts { vec![row.start.to_string()] } else { Vec::new() };
        let numbers = std::iter::once(&row.t).chain(&row.x).chain(&row.u);
        cells.extend(numbers.map(|v| format!("{v:?}")));
        if dots {
            match &row.x_dot {
                Some(x_dot) => cells.extend(x_dot.iter().map(|v| format!("{v:?}"))),
                None => cells.extend(row.x.iter().map(|_| String::new())),
            }
        }
        if intervals {
            cells.push(row.interval.map_or(String::new(), |v| format!("{v:?}")));
        }
        text += &(cells.join(",") + "\n");
    }
    for Applied { start, t, u } in &measured.controls {
        let mut cells: Vec<String> = if starts { vec![start.to_string()] } else { Vec::new() };
        cells.push(format!("{t:?}"));
        cells.extend(columns.states.iter().map(|_| String::new()));
        cells.extend(u.iter().map(|v| format!("{v:?}")));
        let rest = columns.states.len() * usize::from(dots) + usize::from(intervals);
        cells.extend(std::iter::repeat_n(String::new(), rest));
        text += &(cells.join(",") + "\n");
    }
    text
}
