//! Writes a table as a Parquet file: columns of UTF-8 text, 64-bit integers and doubles, with missing values.
//!
//! The writer is implemented here because the dependencies of the crate `parquet` took longer to compile than all of `ocorl`. It uses the
//! smallest subset of the format (version 1 of <https://parquet.apache.org/docs/file-format/>) that every reader supports: one row group,
//! plain values, no compression, no statistics. Metadata are structures of Thrift's compact protocol.

use super::{Tidy, Values};

/// Magic number at the beginning and at the end of the file.
const MAGIC: &[u8; 4] = b"PAR1";
/// Maximum number of rows per page, as in other writers.
const PAGE_ROWS: usize = 20_000;

/// Constants of the format: encodings, and the repetition type of an optional value.
const PLAIN: i64 = 0;
const RUN_LENGTHS: i64 = 3;
const OPTIONAL: i64 = 1;

impl Tidy {
    /// The table as the bytes of a Parquet file.
    pub fn parquet(&self) -> Vec<u8> {
        self.parquet_by(concat!("ocorl ", env!("CARGO_PKG_VERSION")))
    }

    /// The same, with the name and version of the program that the footer states.
    fn parquet_by(&self, writer: &str) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        let mut schema = vec![Struct::default().text(4, "schema").count(5, self.columns.len())];
        let mut chunks = Vec::new();
        for column in &self.columns {
            let offset = file.len();
            for first in (0..self.rows()).step_by(PAGE_ROWS) {
                page(&mut file, &column.values, first..(first + PAGE_ROWS).min(self.rows()));
            }
            let (kind, text) = match column.values {
                Values::Count(_) => (2, false),
                Values::Number(_) => (5, false),
                Values::Text(_) => (6, true),
            };
            let mut field = Struct::default().number(1, kind).number(3, OPTIONAL).text(4, &column.name);
            if text {
                // UTF-8 annotation, for readers of version 1 and of version 2.
                field = field.number(6, 0).structure(10, Struct::default().structure(1, Struct::default()));
            }
            schema.push(field);
            let about = Struct::default()
                .number(1, kind)
                .list(2, INTEGER, [PLAIN, RUN_LENGTHS].map(|encoding| varint(zigzag(encoding))))
                .list(3, BINARY, [length_first(&column.name)])
                .number(4, 0)
                .long(5, self.rows())
                .long(6, file.len() - offset)
                .long(7, file.len() - offset)
                .long(9, offset);
            chunks.push(Struct::default().long(2, offset).structure(3, about));
        }
        let group = Struct::default()
            .list(1, STRUCT, chunks.into_iter().map(Struct::end))
            .long(2, file.len() - MAGIC.len())
            .long(3, self.rows());
        // A table without rows has no row group.
        let groups = (self.rows() > 0).then(|| group.end());
        let footer = Struct::default()
            .number(1, 1)
            .list(2, STRUCT, schema.into_iter().map(Struct::end))
            .long(3, self.rows())
            .list(4, STRUCT, groups)
            .text(6, writer)
            .end();
        file.extend(&footer);
        file.extend(fixed(footer.len()));
        file.extend(MAGIC);
        file
    }
}

/// Appends a page of plain values: its header, which rows have a value, and those values.
fn page(file: &mut Vec<u8>, values: &Values, rows: std::ops::Range<usize>) {
    let count = rows.len();
    let mut body = Vec::new();
    match values {
        Values::Text(values) => plain(&mut body, &values[rows], |text, body| {
            body.extend(fixed(text.len()));
            body.extend(text.as_bytes());
        }),
        Values::Count(values) => plain(&mut body, &values[rows], |n, body| body.extend(n.to_le_bytes())),
        Values::Number(values) => plain(&mut body, &values[rows], |v, body| body.extend(v.to_le_bytes())),
    }
    let about =
        Struct::default().count(1, count).number(2, PLAIN).number(3, RUN_LENGTHS).number(4, RUN_LENGTHS);
    let header = Struct::default().number(1, 0).count(2, body.len()).count(3, body.len()).structure(5, about);
    file.extend(header.end());
    file.append(&mut body);
}

/// Appends run lengths of rows with and without a value (twice the length, then 1 or 0), preceded by their size, and then the values.
fn plain<V>(body: &mut Vec<u8>, values: &[Option<V>], write: impl Fn(&V, &mut Vec<u8>)) {
    let runs = values.chunk_by(|a, b| a.is_some() == b.is_some());
    let levels: Vec<u8> = runs
        .flat_map(|run| {
            let mut level = varint(2 * run.len() as u64);
            level.push(u8::from(run[0].is_some()));
            level
        })
        .collect();
    body.extend(fixed(levels.len()));
    body.extend(levels);
    values.iter().flatten().for_each(|value| write(value, body));
}

/// Type codes of Thrift's compact protocol.
const INTEGER: u8 = 5;
const LONG: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A Thrift structure under construction; fields are added in the order of their numbers.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(mut self, id: u8, kind: u8, value: &[u8]) -> Self {
        debug_assert!(id > self.last && id - self.last < 16, "field {id} after {}", self.last);
        self.bytes.push(((id - self.last) << 4) | kind);
        self.bytes.extend(value);
        self.last = id;
        self
    }

    fn number(self, id: u8, value: i64) -> Self {
        self.field(id, INTEGER, &varint(zigzag(value)))
    }

    /// Adds a count that the format limits to 31 bits: rows and bytes of a page, columns.
    fn count(self, id: u8, value: usize) -> Self {
        self.number(id, i64::from(i32::try_from(value).unwrap_or(i32::MAX)))
    }

    fn long(self, id: u8, value: usize) -> Self {
        self.field(id, LONG, &varint(2 * value as u64))
    }

    fn text(self, id: u8, value: &str) -> Self {
        self.field(id, BINARY, &length_first(value))
    }

    fn structure(self, id: u8, value: Struct) -> Self {
        self.field(id, STRUCT, &value.end())
    }

    fn list(self, id: u8, kind: u8, items: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let items: Vec<Vec<u8>> = items.into_iter().collect();
        let mut value = vec![0xf0 | kind];
        value.extend(varint(items.len() as u64));
        value.extend(items.concat());
        self.field(id, LIST, &value)
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// Zigzag encoding, which maps small signed numbers to small unsigned ones: 0, −1, 1, −2 become 0, 1, 2, 3.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Variable-length integer: seven bits per byte, lowest first; the eighth bit marks continuation.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
    bytes
}

fn length_first(text: &str) -> Vec<u8> {
    [varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// A size in four bytes; sizes stay far below 4 GB.
fn fixed(size: usize) -> [u8; 4] {
    u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::Tidy;

    /// Fixed, so that the recorded bytes do not depend on the version.
    const WRITER: &str = "ocorl 0.1.0";

    /// A table with every type, missing values in every position, a dot in a name, and more rows than a page holds.
    fn table(rows: usize) -> Tidy {
        let third = |row: usize| row % 3 == 1;
        let words = ["constant", "", "ü, \"x\""];
        Tidy::default()
            .text("model.confidence", (0..rows).map(|row| (!third(row)).then(|| words[row % 3])))
            .count("n", (0..rows).map(|row| (row % 7 != 6).then_some(row * row)))
            .number("x", (0..rows).map(|row| (row % 5 != 0).then(|| (row as f64 + 0.1) * -1e-300)))
            .number("none", (0..rows).map(|_| None))
    }

    /// The recorded file was verified with two independent readers, which found the same values as in the CSV of the table;
    /// `tests/golden/parquet.py` repeats this.
    #[test]
    fn the_bytes_are_those_that_other_readers_were_shown() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/table");
        let table = table(30);
        if std::env::var_os("OCORL_WRITE_GOLDEN").is_some() {
            std::fs::write(format!("{path}.parquet"), table.parquet_by(WRITER)).unwrap();
            std::fs::write(format!("{path}.csv"), table.csv()).unwrap();
        }
        assert_eq!(table.csv(), std::fs::read_to_string(format!("{path}.csv")).unwrap());
        assert!(
            table.parquet_by(WRITER) == std::fs::read(format!("{path}.parquet")).unwrap(),
            "the bytes changed"
        );
    }

    /// Three pages per column. The checksum is that of a file verified with the same two readers.
    #[test]
    fn long_columns_have_several_pages() {
        use sha2::{Digest, Sha256};
        let mut sum = String::new();
        for byte in Sha256::digest(table(50_000).parquet_by(WRITER)) {
            std::fmt::Write::write_fmt(&mut sum, format_args!("{byte:02x}")).unwrap();
        }
        assert_eq!(sum, "fb11a033234645ceee26db02d4746f815285c7ab7d75291569142729ec70fb89");
    }

    #[test]
    fn a_table_without_rows_and_one_without_columns_are_files_too() {
        for empty in [Tidy::default(), table(0)] {
            let bytes = empty.parquet();
            assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
            let footer = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
            assert_eq!(footer as usize, bytes.len() - 12, "nothing but the footer");
        }
    }

    #[test]
    fn variable_lengths() {
        assert_eq!(super::varint(0), [0]);
        assert_eq!(super::varint(127), [127]);
        assert_eq!(super::varint(128), [0x80, 1]);
        assert_eq!(super::varint(300), [0xac, 2]);
        assert_eq!([0, -1, 1, -2, i64::MIN].map(super::zigzag), [0, 1, 2, 3, u64::MAX]);
    }
}
