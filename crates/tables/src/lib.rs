//! The records of a run as Arrow tables, its captured packets as pcap files. Parquet is written by polars, which every
//! install has: see `python/flowyard/table.py`.
//!
//! Numbers move: the engine's vectors become Arrow buffers without a copy. Only flags are packed into
//! bits, as Arrow has them. Each field carries its unit and meaning, so that a file explains itself.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod arrow;
mod pcap;

pub use crate::arrow::{batch, schema};
pub use crate::pcap::{file_name, pcap};
