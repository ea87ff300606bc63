//! Scenario fields and checks in common for all transports with a given rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::balancer::assigned::Answers;
use crate::balancer::nix::Nix;
use crate::problem::Problem;
use crate::transport::{Needs, Profile};
use crate::units::{Bytes, Time};

/// Settings of a sender at a rate that switches give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pacing {
    /// Payload of a full packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// Bytes of a packet of data besides its payload: IPv4 20, TCP 20.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of a SYN, a FIN, an acknowledgement and other packets without payload.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub control_bytes: Bytes,
    /// Bytes of each packet for its requests and replies. The papers on D3 and PDQ have about 16; most
    /// simulations count none.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub congestion_header: Bytes,
    /// A packet counts as lost when so many packets sent after it have been acknowledged (RFC 5681 has three
    /// duplicates).
    #[schemars(range(min = 1, max = 1000))]
    pub reordering: u32,
    /// A request for a rate that has no reply is repeated after so many smoothed round trips, though not before SRTT + 4 RTTVAR
    /// have passed nor before the next request would have been due. Absent: 2 under PDQ, whose ports may get a request twice;
    /// else after a retransmission timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub request_rtts: Option<f64>,
    /// The least retransmission timeout, and the one before the first round trip is measured.
    #[schemars(extend("x-minimum" = "1us"))]
    pub rto_min: Time,
    /// The longest retransmission timeout: each one without an acknowledgement is twice the one before.
    #[schemars(extend("x-minimum" = "1us"))]
    pub rto_max: Time,
}

const DEFAULT: Pacing = Pacing {
    mss: Bytes(1460),
    header_bytes: Bytes(40),
    control_bytes: Bytes(40),
    congestion_header: Bytes(0),
    reordering: 3,
    request_rtts: None,
    rto_min: Time::from_us(10_000),
    rto_max: Time::from_us(1_000_000),
};

/// Packets that are nothing but payload: for tests of schemes, in which bytes of a flow are then bytes on the wire.
#[cfg(test)]
pub const BARE: Pacing = Pacing { header_bytes: Bytes(0), ..DEFAULT };

impl Default for Pacing {
    fn default() -> Self {
        DEFAULT
    }
}

impl Pacing {
    /// Bytes on the wire of so many bytes of payload.
    pub fn data_size(&self, len: u32) -> u32 {
        len + (self.header_bytes.0 + self.congestion_header.0) as u32
    }

    /// Bytes on the wire of a packet without payload.
    pub fn control_size(&self) -> u32 {
        (self.control_bytes.0 + self.congestion_header.0) as u32
    }

    /// Bytes on the wire of so many bytes of a flow.
    #[inline]
    pub fn wire_bytes(&self, payload: u64) -> u64 {
        let header = self.header_bytes.0 + self.congestion_header.0;
        payload.saturating_add(payload.div_ceil(self.mss.0).saturating_mul(header))
    }

    /// The profile of a transport that sends so: flows take a random shortest path, and answers its links.
    pub fn profile(&self) -> Profile {
        Profile {
            answer_bytes: u64::from(self.control_size()),
            timeout_max: self.rto_max,
            balancer: Nix { answers: Answers::Backwards, ..Nix::default() }.into(),
            ..Profile::new(self.mss.0, u64::from(self.data_size(0)))
        }
    }

    /// The needs of one whose rates that agent computes, at switches; it has these defaults.
    pub fn needs(agent: impl Into<Agent>) -> Needs {
        Needs { agent: Some(agent.into()), records: true, ..Needs::default() }
    }

    /// Problems of the field `pacing`; paths are below the transport.
    pub fn problems(&self) -> Vec<Problem> {
        let wrong = self.rto_max < self.rto_min;
        let message = format!("\"{}\" is below rto_min, which is \"{}\"", self.rto_max, self.rto_min);
        wrong.then(|| Problem::new("pacing.rto_max", message)).into_iter().collect()
    }
}

/// A transport whose senders get their rate from switches.
pub trait Paced {
    /// How packets are sent.
    fn pacing(&self) -> &Pacing;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One timeout for all is a range of one value; a longest one below the shortest is none.
    #[test]
    fn rto_max_is_at_least_rto_min() {
        let problems = |rto_max| Pacing { rto_min: Time::from_us(200), rto_max, ..DEFAULT }.problems();
        assert_eq!(problems(Time::from_us(200)), []);
        let [problem] = &problems(Time::from_ns(199_999))[..] else { panic!("one problem") };
        assert_eq!(
            (&problem.path[..], &problem.message[..]),
            ("pacing.rto_max", "\"199999ns\" is below rto_min, which is \"200us\"")
        );
    }
}
