//! A table that any Arrow consumer reads without a copy; the only file that knows about capsules.
//!
//! The interface is Arrow's PyCapsule protocol: a capsule holds a C struct, which the consumer empties or
//! which frees itself with the capsule.

use std::collections::HashMap;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use flowyard_sim::records::Definition;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// Columns of results, in the engine's own memory: what `flowyard.Table` wraps.
#[pyclass(frozen, module = "flowyard._native")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// The table of a batch.
    pub fn new(batch: RecordBatch) -> Table {
        Table { batch }
    }
}

#[pymethods]
impl Table {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref());
        let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// `requested_schema` is a wish that the protocol lets a producer pass over.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Where the table comes from: flowyard.version, flowyard.seed, flowyard.digest and the like.
    #[getter]
    fn metadata(&self) -> HashMap<String, String> {
        self.batch.schema_ref().metadata().clone().into()
    }
}

/// The columns of tables by name: {table: [{name, unit, kind, meaning}]}.
pub fn columns<'py>(
    py: Python<'py>,
    tables: &[(&str, &[&'static Definition])],
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, definitions) in tables {
        let columns = definitions.iter().map(|definition| {
            let column = PyDict::new(py);
            column.set_item("name", definition.name)?;
            column.set_item("unit", definition.unit)?;
            column.set_item("kind", definition.kind)?;
            column.set_item("meaning", definition.meaning)?;
            Ok(column)
        });
        all.set_item(name, columns.collect::<PyResult<Vec<_>>>()?)?;
    }
    Ok(all)
}
