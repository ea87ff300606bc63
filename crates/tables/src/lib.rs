//! The records of a run as Arrow tables and Parquet files, its captured packets as pcap files.
//!
//! Numbers move: the engine's vectors become Arrow buffers without a copy. Only flags are packed into
//! bits, as Arrow has them. Each field carries its unit and meaning, so that a file explains itself.

mod arrow;
mod parquet;
mod pcap;

pub use crate::arrow::{batch, schema};
pub use crate::parquet::{read, write};
pub use crate::pcap::{file_name, pcap};
