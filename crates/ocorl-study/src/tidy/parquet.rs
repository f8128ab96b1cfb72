//! A table as a Parquet file: columns of UTF-8 text, 64-bit integers and doubles, each of which may be missing.

use super::{Tidy, Values};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

impl Tidy {
    /// As the bytes of a Parquet file.
    pub fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let field = |name: &str, values: &Values| {
            let (physical, logical) = match values {
                Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Values::Count(_) => (Physical::INT64, None),
                Values::Number(_) => (Physical::DOUBLE, None),
            };
            let builder = Type::primitive_type_builder(name, physical);
            builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
        };
        let fields: Result<Vec<_>, _> = self.columns.iter().map(|c| field(&c.name, &c.values)).collect();
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields?).build()?);
        let mut file = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut file, schema, Arc::new(WriterProperties::builder().build()))?;
        let mut rows = writer.next_row_group()?;
        for column in &self.columns {
            let Some(mut out) = rows.next_column()? else { break };
            match &column.values {
                Values::Text(values) => {
                    write::<ByteArrayType, _>(&mut out, values, |text| ByteArray::from(text.as_str()))?;
                }
                Values::Count(values) => write::<Int64Type, _>(&mut out, values, |n| *n)?,
                Values::Number(values) => write::<DoubleType, _>(&mut out, values, |v| *v)?,
            }
            out.close()?;
        }
        rows.close()?;
        writer.close()?;
        Ok(file)
    }
}

/// The values that are there, and for each row whether it has one.
fn write<D: DataType, V>(
    out: &mut SerializedColumnWriter<'_>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> D::T,
) -> Result<(), ParquetError> {
    let there: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    let present: Vec<D::T> = values.iter().flatten().map(convert).collect();
    out.typed::<D>().write_batch(&present, Some(&there), None).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::Tidy;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn what_is_written_is_read_back() {
        let table = Tidy::default()
            .text("model.confidence", [Some("constant"), None, Some("ü, \"x\"")])
            .count("n", [Some(3), None, Some(0)])
            .number("x", [None, Some(0.1 + 0.2), Some(-1e-300)]);
        let bytes = bytes::Bytes::from(table.parquet().unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows: Vec<Vec<(String, Field)>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().map(|(k, v)| (k.clone(), v.clone())).collect())
            .collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0][0], ("model.confidence".into(), Field::Str("constant".into())));
        assert_eq!(rows[2][0].1, Field::Str("ü, \"x\"".into()));
        assert_eq!(
            rows[1].iter().map(|(_, v)| v.clone()).collect::<Vec<_>>(),
            [Field::Null, Field::Null, Field::Double(0.1 + 0.2)]
        );
        assert_eq!(rows[2][1].1, Field::Long(0));
    }
}
