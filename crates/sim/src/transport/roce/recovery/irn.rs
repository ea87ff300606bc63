//! IRN: the receiver accepts packets out of order, the sender retransmits those that are missing, and keeps no more in
//! flight than the bandwidth-delay product.
//!
//! Source: Mittal et al., "Revisiting network support for RDMA", SIGCOMM 2018, sections 3.1 and 3.2; where it leaves a point
//! open, and for [`Resend::All`], ConWeave's simulator (conweave-project/conweave-ns3, `rdma-hw`).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Settings;
use crate::derived::{Derived, Longest, Values};
use crate::units::{Bytes, Time};

/// IRN: selective retransmission, and no more than the bandwidth-delay product in flight (Mittal et al., SIGCOMM 2018). Ports
/// need not be lossless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Irn {
    /// A new packet is sent while fewer bytes of payload are in flight. "derived": the largest bandwidth-delay product of the
    /// network.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub bdp_cap: Derived<Bytes>,
    /// Timeout while few packets are in flight. Paper: 100 us, for 40 Gbps and links of 2 us.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rto_low: Time,
    /// Timeout otherwise. Paper: 320 us.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rto_high: Time,
    /// At most so many packets are few.
    #[schemars(range(max = 1_000_000))]
    pub rto_few: u32,
    /// The packets that are retransmitted after a report.
    pub resend: Resend,
    /// Whether a report of a missing packet counts as a congestion notification, or as an echo of a mark for a control that reads
    /// these. ConWeave's simulator: true.
    pub cnp_on_nak: bool,
    /// Whether the timeout counts from the last packet or acknowledgement of any kind (ConWeave's simulator), not from the last
    /// acknowledgement of new data.
    pub restart_always: bool,
}

/// The packets that are retransmitted after a report of a missing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resend {
    /// The missing one, and each one before a packet that has been acknowledged selectively (paper).
    Lost,
    /// All that have been sent and not been acknowledged, also those that are in flight (ConWeave's simulator).
    All,
}

impl Default for Irn {
    fn default() -> Self {
        Irn {
            bdp_cap: Derived::FromNetwork,
            rto_low: Time::from_us(100),
            rto_high: Time::from_us(320),
            rto_few: 3,
            resend: Resend::Lost,
            cnp_on_nak: false,
            restart_always: false,
        }
    }
}

impl Settings for Irn {
    fn selective(&self) -> Option<&Irn> {
        Some(self)
    }

    fn derived(&self, longest: &Longest) -> Values {
        let cap = Bytes(longest.bdp.clamp(1, 1_000_000_000));
        let given = self.bdp_cap.given();
        given.map_or_else(|| vec![("bdp_cap".into(), json!(cap))], |_| Vec::new())
    }
}

impl Irn {
    /// The timeout with so many packets in flight.
    pub fn timeout(&self, packets: u32) -> Time {
        if packets <= self.rto_few { self.rto_low } else { self.rto_high }
    }

    /// Most bytes in flight.
    pub fn cap(&self) -> u64 {
        self.bdp_cap.or(Bytes(1_000_000_000)).0
    }
}

/// Packets that the receiver has beyond a missing one, and the recovery that runs.
#[derive(Clone, Debug, Default)]
pub struct Selective {
    /// From the first unacknowledged packet on, whether the receiver has each.
    acked: VecDeque<bool>,
    /// The first unacknowledged packet.
    base: u32,
    /// One more than the highest packet that the receiver has.
    pub highest: u32,
    /// Recovery runs until all packets before this one are acknowledged; none runs if it is not above `base`.
    until: u32,
    /// Packets from this one on have not been retransmitted in this recovery.
    repair: u32,
    /// Whether the first retransmission is due: that of the missing packet, whatever else is known.
    first: bool,
}

impl Selective {
    /// Whether packets are being recovered.
    pub fn is_recovering(&self) -> bool {
        self.until > self.base
    }

    /// The receiver has all packets before that one.
    pub fn advance(&mut self, una: u32) {
        let acknowledged = (una.saturating_sub(self.base) as usize).min(self.acked.len());
        self.acked.drain(..acknowledged);
        self.base = self.base.max(una);
        self.highest = self.highest.max(una);
    }

    /// The receiver has that packet.
    pub fn acknowledge(&mut self, number: u32) {
        let Some(place) = number.checked_sub(self.base).map(|place| place as usize) else { return };
        if place >= self.acked.len() {
            self.acked.resize(place + 1, false);
        }
        self.acked[place] = true;
        self.highest = self.highest.max(number + 1);
    }

    /// Begins a recovery of the packets before `sent`, from the missing one on.
    pub fn recover(&mut self, sent: u32) {
        (self.until, self.repair, self.first) = (sent, self.base, true);
    }

    /// The next packet to be retransmitted, if one is.
    pub fn lost(&mut self, resend: Resend) -> Option<u32> {
        if !self.is_recovering() {
            return None;
        }
        self.repair = self.repair.max(self.base);
        let limit = match resend {
            Resend::All => self.until,
            Resend::Lost if self.first => self.highest.max(self.base + 1),
            Resend::Lost => self.highest,
        };
        let has = |place: u32| self.acked.get(place as usize).copied().unwrap_or(false);
        while self.repair < limit && has(self.repair - self.base) {
            self.repair += 1;
        }
        (self.repair < limit).then_some(self.repair)
    }

    /// The packet of [`Selective::lost`] is sent.
    pub fn sent(&mut self, number: u32) {
        (self.repair, self.first) = (number + 1, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 2 and 5 of ten are missing, 9 is in flight: they are retransmitted once each; then, if all are resent, 9, too.
    #[test]
    fn missing_packets_are_found_once() {
        for (resend, expected) in [(Resend::Lost, &[2, 5][..]), (Resend::All, &[2, 5, 9])] {
            let mut sent = Selective::default();
            sent.advance(2);
            [3, 4, 6, 7, 8].into_iter().for_each(|number| sent.acknowledge(number));
            assert_eq!(sent.lost(resend), None);
            sent.recover(10);
            let mut found = Vec::new();
            while let Some(number) = sent.lost(resend) {
                sent.sent(number);
                found.push(number);
            }
            assert_eq!(found, expected);
            sent.advance(9);
            assert!(sent.is_recovering());
            sent.advance(10);
            assert!(!sent.is_recovering());
        }
    }

    /// After a timeout nothing is known but that packet 0 is missing: it alone is retransmitted, until the answer shows more.
    #[test]
    fn a_timeout_retransmits_one_packet() {
        let mut sent = Selective::default();
        sent.recover(5);
        assert_eq!(sent.lost(Resend::Lost), Some(0));
        sent.sent(0);
        assert_eq!(sent.lost(Resend::Lost), None);
        sent.advance(1);
        assert_eq!(sent.lost(Resend::Lost), None);
        sent.acknowledge(3);
        assert_eq!(sent.lost(Resend::Lost), Some(1));
    }
}
