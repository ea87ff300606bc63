//! A table of the engine as one Arrow record batch.
//!
//! Text is a dictionary of words with one code a row, which is how the engine holds it. Every field is
//! nullable, whether or not this run left a gap, so that the files of any two runs have one schema.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, LargeStringArray, RecordBatch, UInt32Array,
    UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use flowyard_sim::records::{Column, Definition, Table, Values};

/// The table's columns as one record batch, with `metadata` (version, seed, digest ...) in its schema.
pub fn batch(table: Table, metadata: HashMap<String, String>) -> RecordBatch {
    let definitions: Vec<_> = table.columns.iter().map(|column| column.definition).collect();
    let schema = schema(&definitions, metadata);
    let arrays = table.columns.into_iter().map(array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).expect("a table's columns have its kinds and one length")
}

/// The Arrow schema of these columns.
pub fn schema(definitions: &[&Definition], metadata: HashMap<String, String>) -> Schema {
    let fields: Vec<_> = definitions.iter().map(|definition| field(definition)).collect();
    Schema::new_with_metadata(fields, metadata)
}

fn field(definition: &Definition) -> Field {
    let kind = match definition.kind {
        "u64" => DataType::UInt64,
        "u32" => DataType::UInt32,
        "f64" => DataType::Float64,
        "bool" => DataType::Boolean,
        // Offsets of 64 bits, because polars writes Parquet by this schema and has no others.
        "text" => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::LargeUtf8)),
        other => unreachable!("records.rs defines no kind {other}"),
    };
    let metadata = [("unit", definition.unit), ("meaning", definition.meaning)];
    let metadata = metadata.into_iter().filter(|(_, value)| !value.is_empty());
    Field::new(definition.name, kind, true).with_metadata(
        metadata.map(|(key, value)| (key.into(), value.into())).collect::<HashMap<String, String>>(),
    )
}

fn array(column: Column) -> ArrayRef {
    let valid = column.valid.map(NullBuffer::from);
    match column.values {
        Values::U64(values) => Arc::new(UInt64Array::new(ScalarBuffer::from(values), valid)),
        Values::U32(values) => Arc::new(UInt32Array::new(ScalarBuffer::from(values), valid)),
        Values::F64(values) => Arc::new(Float64Array::new(ScalarBuffer::from(values), valid)),
        Values::Bool(values) => Arc::new(BooleanArray::new(BooleanBuffer::from(values), valid)),
        Values::Text { codes, words } => {
            let codes = UInt32Array::new(ScalarBuffer::from(codes), valid);
            let words = Arc::new(LargeStringArray::from(words));
            Arc::new(DictionaryArray::<UInt32Type>::new(codes, words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Array, cast::AsArray, types::UInt64Type};
    use flowyard_sim::records::flows;

    fn sizes(values: Vec<u64>, valid: Option<Vec<bool>>) -> Column {
        Column { definition: &flows::size_bytes, values: Values::U64(values), valid }
    }

    #[test]
    fn numbers_move_without_a_copy() {
        let values = vec![1u64, 2, 3];
        let address = values.as_ptr();
        let table = Table { name: "flows", columns: vec![sizes(values, None)] };
        let batch = batch(table, HashMap::new());
        assert_eq!(batch.column(0).as_primitive::<UInt64Type>().values().as_ptr(), address);
    }

    #[test]
    fn a_row_without_a_value_is_null() {
        let column = sizes(vec![1, 0, 3], Some(vec![true, false, true]));
        let batch = batch(Table { name: "flows", columns: vec![column] }, HashMap::new());
        let array = batch.column(0);
        assert_eq!((array.null_count(), array.is_null(1)), (1, true));
    }

    #[test]
    fn text_keeps_its_codes() {
        let values = Values::Text { codes: vec![1, 0, 1], words: vec!["a".into(), "b".into()] };
        let column = Column { definition: &flows::tag, values, valid: None };
        let batch = batch(Table { name: "flows", columns: vec![column] }, HashMap::new());
        let array = batch.column(0).as_dictionary::<UInt32Type>();
        let words: Vec<_> =
            array.downcast_dict::<LargeStringArray>().unwrap().into_iter().flatten().collect();
        assert_eq!(words, ["b", "a", "b"]);
    }

    #[test]
    fn every_defined_column_has_a_field_that_explains_itself() {
        let schema = schema(flows::ALL, HashMap::new());
        let fct = schema.field_with_name("fct_ps").unwrap();
        assert_eq!(fct.metadata()["unit"], "ps");
        assert_eq!(fct.metadata()["meaning"], flows::fct_ps.meaning);
        assert_eq!(schema.fields().len(), flows::ALL.len());
    }
}
