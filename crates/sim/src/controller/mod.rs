//! Central control: what a controller decides for all hosts.

pub mod rates;
pub mod syn;
