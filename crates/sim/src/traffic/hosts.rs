//! A host in a scenario: its number, or its name in the topology.
//!
//! Structs hold numbers. Where a document has a name, the check puts the number in its place as soon as the network is
//! built, so that the record of a run has numbers throughout.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The schema of a field that takes a host: `#[schemars(with = "Host")]` beside a `u32`.
pub struct Host;

impl Host {
    /// The format of such values in the schema.
    pub const FORMAT: &'static str = "host";
}

impl JsonSchema for Host {
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "format": Host::FORMAT, "minimum": 0 })
    }
}
