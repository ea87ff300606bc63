//! Plain types of a run, with no members in them: packets, connections, ports, the state of flow control, input and results.

pub mod arena;
pub mod boundary;
pub mod conn;
pub mod credit;
pub mod deferred;
pub mod event;
pub mod finished;
pub mod flow_control;
pub mod gate;
pub mod memory;
pub mod numbers;
pub mod packet;
pub mod paths;
pub mod plan;
pub mod points;
pub mod port;
pub mod progress;
pub mod ranks;
pub mod ring;
pub mod rules;
pub mod start;
pub mod telemetry;
