//! One size for all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// One size for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Fixed(#[schemars(extend("x-minimum" = "1B"))] pub Bytes);

impl super::SizeModel for Fixed {}
