//! QCN at a port: it samples packets, and a queue that is too long, or grows too fast, sends a message to the packet's sender.
//!
//! Source: IEEE 802.1Qau-2010, the congestion point, as in the pseudo-code by Rong Pan that went with the proposal; constants
//! that are from memory are marked with a K. Of about every 150 kB one packet is sampled, and
//!
//! ```text
//! Fb = -((q - q_eq) + w (q - q_old))
//! ```
//!
//! where q is the queue with that packet and q_old that at the sample before. A negative Fb goes to the sender, as a number of
//! 6 bits of which 63 stands for q_eq (1 + 2 w) and more. The larger it is, the sooner comes the next sample.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Build, Settings};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::packet::{Header, Packet, Record};
use crate::topology::Link;
use crate::units::Bytes;

/// Fields of QCN's congestion points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QcnPort {
    /// `q_eq`: the queue that is aimed at (26 KB; 33 KB in later drafts, K).
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub equilibrium: Bytes,
    /// w: the weight of the queue's growth.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub weight: f64,
    /// Bytes from one sample to the next, on average, while the queue is no longer than `equilibrium`.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub sample: Bytes,
    /// Each distance is drawn from the mean less this share to the mean and this share more (K).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Bytes of a message on the wire.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub message_bytes: Bytes,
}

impl Default for QcnPort {
    fn default() -> Self {
        QcnPort {
            equilibrium: Bytes(26_000),
            weight: 2.0,
            sample: Bytes(150_000),
            jitter: 0.3,
            message_bytes: Bytes(64),
        }
    }
}

/// `Header::kind` of a message to a packet's sender; its `ack` is the feedback.
pub const MESSAGE: u8 = 5;

/// The largest value of the feedback.
pub const FEEDBACK_MOST: u64 = 63;

/// The mean distance to the next sample, by the upper three bits of the feedback, as a share of `sample` (K: 150, 75, 50, 37.5,
/// 30, 25, 21.5 and 18.5 kB).
const DISTANCES: [f64; 8] = [1.0, 0.5, 1.0 / 3.0, 0.25, 0.2, 1.0 / 6.0, 21.5 / 150.0, 18.5 / 150.0];

impl Settings for QcnPort {
    fn serves(&self) -> &'static str {
        "roce"
    }

    fn gives_rates(&self) -> bool {
        false
    }
}

impl Build for QcnPort {
    type Model = Model;

    fn model(&self, _link: &Link) -> Model {
        Model { config: self.clone(), left: None, before: 0 }
    }
}

/// The congestion point at one port.
#[derive(Clone, Debug)]
pub struct Model {
    config: QcnPort,
    /// Bytes to the next sample; none before the first packet.
    left: Option<u64>,
    /// The queue at the last sample.
    before: u64,
}

impl Model {
    /// The feedback on a queue of so many bytes, as it is sent; 0: none.
    fn feedback(&self, queue: u64) -> u64 {
        let QcnPort { equilibrium, weight, .. } = self.config;
        let (queue, aim, before) = (queue as f64, equilibrium.0 as f64, self.before as f64);
        let beyond = (queue - aim) + weight * (queue - before);
        let unit = aim * (1.0 + 2.0 * weight) / FEEDBACK_MOST as f64;
        // The cast takes what is negative for 0.
        ((beyond / unit) as u64).min(FEEDBACK_MOST)
    }

    /// Bytes to the sample after one with that feedback.
    fn distance(&self, feedback: u64, cx: &mut AgentContext) -> u64 {
        let mean = self.config.sample.0 as f64 * DISTANCES[(feedback >> 3) as usize];
        (mean * (1.0 + self.config.jitter * (2.0 * cx.stream.unit() - 1.0))) as u64
    }
}

impl PortAgent for Model {
    /// The sampled packet alone is compared with the queue.
    #[inline]
    fn reads_bytes(&self) -> bool {
        self.left == Some(0)
    }

    #[inline]
    fn on_packet(&mut self, packet: &mut Packet, _record: &mut Record, cx: &mut AgentContext) {
        let size = u64::from(packet.size);
        match self.left {
            // No packet has come before: the port is empty.
            None => self.left = Some(self.distance(0, cx).saturating_sub(size)),
            Some(0) => {
                let queue = cx.waiting_bytes() + size;
                let feedback = self.feedback(queue);
                self.before = queue;
                self.left = Some(self.distance(feedback, cx));
                if feedback > 0 {
                    let header = Header { kind: MESSAGE, ack: feedback, ..Header::default() };
                    cx.reply(self.config.message_bytes.0 as u32, header);
                }
            }
            Some(left) => self.left = Some(left.saturating_sub(size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::agent::tests::{FakePort, link};
    use crate::units::Rate;

    fn port() -> (Model, FakePort) {
        let config = QcnPort { jitter: 0.0, ..QcnPort::default() };
        (config.model(&link(Rate(10_000_000_000))), FakePort::new(0))
    }

    /// By hand, q_eq 26 kB and w 2, so that a unit is 130 kB / 63: a queue that stays has q - 26 kB, one that grows three times its
    /// growth beyond that. LIT-QCN-2: 63 at the most.
    #[test]
    fn feedback_is_the_excess_and_twice_the_growth() {
        let (mut port, _) = port();
        for (before, queue, feedback) in [
            (26_000, 26_000, 0),
            (26_000, 27_000, 1),
            (52_000, 52_000, 12),
            (26_000, 52_000, 37),
            (80_000, 40_000, 0),
            (0, 53_000, 63),
            (0, 10_000_000, 63),
        ] {
            port.before = before;
            assert_eq!(port.feedback(queue), feedback, "{before} {queue}");
        }
    }

    /// The first sample comes after 150 kB, a hundred packets of 1500 B, and none of those before is answered, whatever waits.
    /// With a queue of 53 kB by then its feedback is 63, and the next sample comes after 18.5 kB, 13 packets: the queue has grown to
    /// 79 kB, an excess of 53 and twice 26 kB, which is 50. The third is 25 kB on.
    #[test]
    fn samples_come_the_sooner_the_more_is_wrong() {
        let (mut model, mut port) = port();
        let mut answers = Vec::new();
        for number in 0..200u64 {
            port.waiting = if number <= 100 { 51_500 } else { 77_500 };
            port.arrived = port.waiting + 1500 * number;
            if let Some(header) = port.passes(&mut model, 1, 1500) {
                assert_eq!(header.kind, MESSAGE);
                answers.push((number, header.ack));
            }
            if answers.len() == 3 {
                break;
            }
        }
        assert_eq!(answers, [(100, 63), (114, 50), (130, 25)]);
    }

    /// A queue at its aim is sampled and not answered.
    #[test]
    fn a_queue_at_its_aim_is_not_answered() {
        let (mut model, mut port) = port();
        for number in 0..1000u64 {
            port.waiting = 24_500;
            port.arrived = port.waiting + 1500 * number;
            let is_first = number <= 100;
            let answer = port.passes(&mut model, 1, 1500);
            // At the first sample the queue has grown from nothing.
            assert!(answer.is_none() || is_first, "{number}");
        }
    }
}
