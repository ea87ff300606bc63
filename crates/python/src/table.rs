//! A table that any Arrow consumer reads without a copy; the only file that knows about capsules.
//!
//! The interface is Arrow's PyCapsule protocol: a capsule holds a C struct, which the consumer empties or
//! which frees itself with the capsule.

use std::fs::File;
use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use flowyard_sim::records::Definition;
use pyo3::exceptions::PyOSError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// Columns of results. Polars, pandas, pyarrow and duckdb read it through the Arrow PyCapsule interface.
#[pyclass(frozen, module = "flowyard")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub fn new(batch: RecordBatch) -> Table {
        Table { schema: batch.schema(), batches: vec![batch] }
    }
}

#[pymethods]
impl Table {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
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
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<flowyard.Table of {} rows, {} columns>", self.__len__(), self.schema.fields().len())
    }
}

/// Reads a Parquet file that flowyard wrote.
#[pyfunction]
pub fn read_parquet(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let (schema, batches) = py.detach(|| -> PyResult<_> {
        flowyard_tables::read(File::open(&path)?).map_err(|error| std::io::Error::other(error).into())
    })?;
    Ok(Table { schema, batches })
}

/// Writes a table as a Parquet file.
#[pyfunction]
pub fn write_parquet(py: Python<'_>, table: &Table, path: PathBuf) -> PyResult<()> {
    py.detach(|| {
        flowyard_tables::write(&table.schema, &table.batches, File::create(&path)?)
            .map_err(|error| os_error(&error))
    })
}

/// An error of writing as Python's own, with the number and the words of the operating system where it has them.
fn os_error(error: &(dyn std::error::Error + 'static)) -> PyErr {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut numbers = causes.filter_map(|error| error.downcast_ref::<std::io::Error>()?.raw_os_error());
    let Some(number) = numbers.next() else { return PyOSError::new_err(error.to_string()) };
    let words = std::io::Error::from_raw_os_error(number).to_string();
    PyOSError::new_err((number, words.split(" (os error").next().unwrap_or_default().to_string()))
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
