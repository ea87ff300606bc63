//! Columns to Arrow and Parquet.
