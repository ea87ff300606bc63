//! Columns of tables from rows.

use crate::engine::data::finished::Level;
use crate::records::{Column, Definition, Values};

/// A column in which each row has a value.
pub(super) fn column(definition: &'static Definition, values: Values) -> Column {
    Column { definition, values, valid: None }
}

/// A column of packets, queues or pauses, which not every run measures.
pub(super) fn of_packets(level: Level, definition: &'static Definition, values: Values) -> Column {
    let column = column(definition, values);
    if level == Level::Packets { column } else { column.unmeasured() }
}

/// A column in which a row may have no value.
pub(super) fn optional<T: Copy + Default>(
    definition: &'static Definition,
    rows: impl Iterator<Item = Option<T>>,
    values: fn(Vec<T>) -> Values,
) -> Column {
    let (cells, valid): (Vec<T>, Vec<bool>) =
        rows.map(|row| (row.unwrap_or_default(), row.is_some())).unzip();
    Column { definition, values: values(cells), valid: Some(valid) }
}
