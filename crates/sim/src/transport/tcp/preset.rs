//! The presets of TCP; `defaults` has their values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Preset of a TCP's fields that are not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Hosts of the Internet: 200 ms, 1 s before the first sample, acknowledgements delayed by at most 40 ms (RFC 6298, Linux).
    Internet,
    /// Hosts of a data centre, with round trips far below a millisecond: 5 ms, before the first sample, too,
    /// and acknowledgements delayed by at most 500 us. Between the 10 ms of DCTCP's paper (section 4) and the
    /// 1 ms and less of Vasudevan et al., SIGCOMM 2009, who also recommend a delayed ACK well below the
    /// timeout.
    Datacentre,
    /// The TCP of a Linux kernel (6.18) with its defaults: CUBIC with HyStart, SACK, RACK-TLP, PRR, quick acknowledgements, and
    /// the timers of "internet", of which the smallest one is for the variation of the round trip alone.
    Linux,
}
