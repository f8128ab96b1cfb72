//! Reads and writes measurements as CSV. The separator (comma, semicolon, tab) and a decimal comma are detected and reported.

use super::{Columns, Measured, OWN, finite};
use crate::study::{Applied, End, Row};
use crate::user_error::{Place, UserError, nearest};
use std::fmt::Write;

/// Separator and decimal sign of a file.
struct Dialect {
    separator: u8,
    decimal_comma: bool,
}

impl Dialect {
    /// Detects the separator, which occurs most often in the header, and a decimal comma, if commas stand between digits in a cell of
    /// any row. `known` are the columns that are read; others may hold anything. Numbers with a point beside numbers with a comma are an
    /// error, because the comma may then separate thousands.
    fn of(header: &str, rows: &[&str], known: &[&str]) -> Result<Self, (usize, String)> {
        let count = |c: char| header.matches(c).count();
        let separator =
            [';', '\t'].into_iter().filter(|&c| count(c) > 0).max_by_key(|&c| count(c)).unwrap_or(',');
        let byte = u8::try_from(separator).unwrap_or(b',');
        if separator == ',' {
            return Ok(Dialect { separator: byte, decimal_comma: false });
        }
        let bare = |cell: &str| cell.trim().trim_matches('"').trim().to_owned();
        let read: Vec<bool> =
            header.split(separator).map(|name| known.contains(&bare(name).as_str())).collect();
        let (mut comma, mut point) = (None, None);
        for (number, row) in rows.iter().enumerate() {
            let cells = row.split(separator).zip(&read).filter(|(_, read)| **read);
            for cell in cells.map(|(cell, _)| bare(cell)) {
                if comma.is_none() && is_decimal_comma(&cell) {
                    comma = Some((number, cell));
                } else if point.is_none() && cell.contains('.') && cell.parse::<f64>().is_ok() {
                    point = Some((number, cell));
                }
            }
        }
        if let (Some((at, comma)), Some((_, point))) = (&comma, &point) {
            return Err((
                *at,
                format!("'{}' has a decimal comma, '{}' a decimal point", shortened(comma), shortened(point)),
            ));
        }
        Ok(Dialect { separator: byte, decimal_comma: comma.is_some() })
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

/// Whether a cell is a number with a decimal comma, such as -1,5e-3.
fn is_decimal_comma(cell: &str) -> bool {
    cell.matches(',').count() == 1 && !cell.contains('.') && cell.replacen(',', ".", 1).parse::<f64>().is_ok()
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
                return Err(UserError::new(format!("the column '{name}' occurs twice")));
            }
        }
        let dots = dots(columns);
        let known = known(columns, &dots);
        let unknown: Vec<&str> =
            names.iter().map(String::as_str).filter(|n| !n.is_empty() && !known.contains(n)).collect();
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

    /// Whether numbers are read from the column called `name`.
    fn reads(&self, name: &str) -> bool {
        let at = self.own(name);
        let lists = self.states.iter().chain(&self.controls).chain(self.derivatives.iter().flatten());
        lists.chain([&self.time]).any(|i| Some(*i) == at) || OWN.iter().any(|(own, _)| *own == name)
    }

    fn own(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }
}

/// Names of the derivatives.
fn dots(columns: &Columns) -> Vec<String> {
    columns.states.iter().map(|s| format!("{s}_dot")).collect()
}

/// Names of all columns that are read.
fn known<'a>(columns: &'a Columns, dots: &'a [String]) -> Vec<&'a str> {
    let own = OWN.iter().map(|(name, _)| *name);
    let named = columns.states.iter().chain(&columns.controls).chain(dots).map(String::as_str);
    own.chain(named).collect()
}

pub(super) fn read(text: &str, name: &str, columns: &Columns) -> Result<Measured, UserError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Some programs end lines with a carriage return alone.
    let with_line_feeds = (text.contains('\r') && !text.contains('\n')).then(|| text.replace('\r', "\n"));
    let text = with_line_feeds.as_deref().unwrap_or(text);
    let mut measured = Measured::default();
    let mut lines =
        text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
    let Some(header) = lines.next() else {
        comments(text, name, None, &mut measured)?;
        return Err(UserError::new(format!("'{name}' is empty")).hint("its first row names the columns"));
    };
    let rows: Vec<&str> = lines.collect();
    let dots = dots(columns);
    let dialect = Dialect::of(header, &rows, &known(columns, &dots)).map_err(|(row, cause)| {
        UserError::new(format!("row {} refused: {cause}", row + 1))
            .detail("place", Place { file: name.into(), at: None }.to_string())
            .hint("write all numbers alike, with a decimal point or with a decimal comma")
    })?;
    comments(text, name, Some(&dialect), &mut measured)?;
    measured.notes.extend(dialect.notes());
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(dialect.separator)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .flexible(true)
        .has_headers(true)
        // The reader takes a comment in the last line for a record if no line break follows.
        .from_reader(std::io::Read::chain(text.as_bytes(), &b"\n"[..]));
    let names = reader.headers().map_err(|error| broken(name, &error))?;
    let names: Vec<String> = names.iter().map(str::to_owned).collect();
    let header = Header::of(&names, columns, &mut measured.notes)
        .map_err(|error| error.detail("place", Place { file: name.into(), at: Some((1, 1)) }.to_string()))?;
    // A comment at the end of the file cannot cut off a number.
    let ends = text.ends_with(['\n', '\r'])
        || text.lines().last().is_some_and(|last| last.trim_start().starts_with('#'));
    let mut records = reader.records().enumerate().peekable();
    while let Some((number, record)) = records.next() {
        let record = record.map_err(|error| broken(name, &error))?;
        let line = record.position().map_or(0, |p| line_of(text, p));
        if !ends && records.peek().is_none() {
            not_torn(&record, &header, &dialect).map_err(|(column, cause)| {
                let place = Place { file: name.into(), at: Some((line, column + 1)) };
                UserError::new(format!("row {} refused: {cause}", number + 1))
                    .detail("place", format!("{place} (cells are counted)"))
                    .hint("if the file is complete, end its last line with a line break")
            })?;
        }
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

/// Checks that the last number of a file cannot be the beginning of a longer one. The file does not end with a line break.
fn not_torn(record: &csv::StringRecord, header: &Header, dialect: &Dialect) -> Result<(), (usize, String)> {
    let last = record.len().saturating_sub(1);
    let cell = record.get(last).unwrap_or_default();
    let read = header.names.get(last).is_some_and(|name| header.reads(name));
    if read && dialect.number(cell).is_some() {
        let cause = format!(
            "the file ends without a line break after '{}', so the number may be cut off",
            shortened(cell)
        );
        return Err((last, cause));
    }
    Ok(())
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
    // A state without a value was not measured.
    let state = |&i: &usize| if record[i].is_empty() { Ok(f64::NAN) } else { number(i) };
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
        x: header.states.iter().map(state).collect::<Result<Vec<_>, _>>()?,
        u: vector(&header.controls)?,
        x_dot,
        asked_t: optional("asked_t")?,
        interval: optional("interval")?,
    })))
}

/// Parses comments such as `# cost: 12.3` and `# outcome: completed`; for other initial states than the first, `# cost[1]: …`.
fn comments(
    text: &str,
    name: &str,
    dialect: Option<&Dialect>,
    measured: &mut Measured,
) -> Result<(), UserError> {
    let parsed = |text: &str| dialect.map_or_else(|| text.parse().ok(), |dialect| dialect.number(text));
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
                    let cost = parsed(value)
                        .ok_or_else(|| refused(format!("'{}' is no number", shortened(value))))?;
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
        let some = row.x.iter().any(|x| !x.is_nan());
        let number = |v: &f64| format!("{v:?}");
        cells.push(number(&row.t));
        cells.extend(row.x.iter().map(|x| if x.is_nan() && some { String::new() } else { number(x) }));
        cells.extend(row.u.iter().map(number));
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
