//! Record batches as Parquet: zstd, statistics for each row group, the schema's metadata in the footer.

use std::fs::File;
use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

/// Rows in a row group: enough to compress well, few enough to skip some.
const ROWS_PER_GROUP: usize = 1 << 20;

/// Writes batches of one schema as one Parquet file.
pub fn write(schema: &SchemaRef, batches: &[RecordBatch], to: impl Write + Send) -> Result<()> {
    // The Arrow schema in the footer has the metadata too, but only Arrow readers look inside it.
    let mut footer: Vec<_> =
        schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    footer.sort_by(|a, b| a.key.cmp(&b.key));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
        .set_key_value_metadata(Some(footer))
        .set_created_by(concat!("flowyard ", env!("CARGO_PKG_VERSION")).into())
        .build();
    let mut writer = ArrowWriter::try_new(to, schema.clone(), Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    Ok(())
}

/// Reads a file that [`write`] wrote, in batches of at most a row group.
pub fn read(from: File) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(from)?;
    let schema = builder.schema().clone();
    let batches = builder.with_batch_size(ROWS_PER_GROUP).build()?.collect::<std::result::Result<_, _>>()?;
    Ok((schema, batches))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use bytes::Bytes;
    use flowyard_sim::records::{Column, Table, Values, flows};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    #[test]
    fn reads_back_with_its_metadata() {
        let column = |definition, values, valid| Column { definition, values, valid };
        let text = Values::Text { codes: vec![0, 0, 1], words: vec!["queries".into(), "background".into()] };
        let columns = vec![
            column(&flows::tag, text, None),
            column(&flows::fct_ps, Values::U64(vec![5, 0, 7]), Some(vec![true, false, true])),
            column(&flows::completed, Values::Bool(vec![true, false, true]), None),
            column(&flows::slowdown, Values::F64(vec![1.5, 0.0, 2.5]), Some(vec![true, false, true])),
        ];
        let metadata = HashMap::from([("flowyard.seed".to_string(), "7".to_string())]);
        let batch = crate::batch(Table { name: "flows", columns }, metadata);

        let mut file = Vec::new();
        super::write(&batch.schema(), std::slice::from_ref(&batch), &mut file).unwrap();

        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
        let footer = reader.metadata().file_metadata().key_value_metadata().unwrap();
        assert!(footer.iter().any(|pair| pair.key == "flowyard.seed" && pair.value.as_deref() == Some("7")));
        assert!(reader.metadata().row_group(0).column(1).statistics().is_some());
        let read: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].columns(), batch.columns());
    }
}
