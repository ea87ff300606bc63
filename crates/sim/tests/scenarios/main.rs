//! Scenarios as they are read: the schema, the defaults, and the messages about mistakes.

#[path = "../common/mod.rs"]
mod common;

mod background;
mod defaults;
mod hosts;
mod messages;
mod schema;
mod topology_problems;
mod variants;
