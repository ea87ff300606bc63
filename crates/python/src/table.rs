//! A table that any Arrow consumer reads without a copy; the only file that knows about capsules.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

/// Columns of results. Polars, pandas, pyarrow and duckdb read it through the Arrow PyCapsule interface.
#[pyclass(frozen, module = "flowyard._native")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    pub fn new(batch: RecordBatch) -> Table {
        Table { batch }
    }
}

#[pymethods]
impl Table {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.batch.schema().as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let schema = self.batch.schema();
        let row = Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone());
        let array: ArrayRef = Arc::new(StructArray::from(self.batch.clone()));
        let reader = ArrayIterator::new([Ok(array)], Arc::new(row));
        to_stream_pycapsule(py, Box::new(reader), requested_schema)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<flowyard.Table: {} rows, {} columns>", self.batch.num_rows(), self.batch.num_columns())
    }
}

/// Writes a table as a Parquet file.
#[pyfunction]
pub fn write_parquet(py: Python<'_>, table: &Table, path: PathBuf) -> PyResult<()> {
    let batch = &table.batch;
    py.detach(|| -> PyResult<()> {
        let file = File::create(&path)?;
        flowyard_tables::write(batch, file).map_err(std::io::Error::other)?;
        Ok(())
    })
}
