//! A table that any Arrow consumer reads without a copy; the only file that knows about capsules.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{Field, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

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
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.schema.as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let row = Field::new_struct("", self.schema.fields().clone(), false)
            .with_metadata(self.schema.metadata().clone());
        let arrays =
            self.batches.clone().into_iter().map(|batch| Ok(Arc::new(StructArray::from(batch)) as ArrayRef));
        to_stream_pycapsule(py, Box::new(ArrayIterator::new(arrays, Arc::new(row))), requested_schema)
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
            .map_err(|error| std::io::Error::other(error).into())
    })
}
