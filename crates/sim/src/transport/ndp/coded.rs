//! A flow with an erasure code: any so many packets of it are enough, and none is sent twice.
//!
//! Source: Alasmar, Parisis and Crowcroft, "Polyraptor: embracing path and data redundancy in data centres for efficient data
//! transport", SIGCOMM 2018 poster, over NDP. Its code, RaptorQ (RFC 6330), is taken as ideal: the k packets of the data are sent
//! first, as they are; any further packet of code is as good as any that is missing, and k + `extra` different packets decode the flow
//! where one of the k is missing. Encoding and decoding take no time. A packet of code is a full one. Sending from several hosts
//! and to several hosts, which the poster also has, is not modelled.
//!
//! A receiver knows the length of the first window and counts its pulls, so that it pulls as many packets as it still needs: a
//! sender never runs out of packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ndp;

/// An erasure code (Polyraptor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Code {
    /// Packets beyond those of the data that a flow needs once one of these is missing. RaptorQ: decoding fails with a probability
    /// of about 1e-2 with 0, 1e-4 with 1, and 1e-6 with 2.
    #[schemars(range(max = 1000))]
    pub extra: u32,
}

impl Default for Code {
    fn default() -> Self {
        Code { extra: 2 }
    }
}

/// The receiving end of a flow with a code.
#[derive(Clone, Debug)]
pub struct Coded {
    extra: u32,
    /// Bytes of the flow, and the packets that carry them.
    size: u64,
    sources: u32,
    /// Packets that the sender pushes without a pull.
    pushed: u32,
    /// Packets that have arrived: of the data, and of code.
    came: u32,
    repairs: u32,
    /// Headers of trimmed packets, and packets that the sender knows to be lost.
    missing: u32,
    /// Pulls so far, sent or queued.
    pulls: u32,
    /// Bytes that count as delivered.
    delivered: u64,
}

impl Coded {
    /// Of a flow of so many bytes, before its first packet.
    pub fn new(code: Code, size: u64, config: &Ndp) -> Coded {
        let sources = u32::try_from(size.div_ceil(config.payload())).unwrap_or(u32::MAX);
        Coded {
            extra: code.extra,
            size,
            sources,
            pushed: config.initial_window().min(sources),
            came: 0,
            repairs: 0,
            missing: 0,
            pulls: 0,
            delivered: 0,
        }
    }

    /// Whether a packet of the data is known to be missing.
    pub fn is_lossy(&self) -> bool {
        self.missing > 0 || self.repairs > 0
    }

    /// Whether the flow is decoded.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.came == self.sources || u64::from(self.came) + u64::from(self.repairs) >= self.needed()
    }

    /// Packets that decode it if one of the data is missing.
    fn needed(&self) -> u64 {
        u64::from(self.sources) + u64::from(self.extra)
    }

    /// A packet arrives: bytes by which the flow's delivery advances, all that is left with the packet that decodes it.
    pub fn receive(&mut self, number: u32, len: u16) -> u64 {
        if self.is_complete() {
            return 0;
        }
        if number < self.sources {
            self.came += 1;
        } else {
            self.repairs += 1;
        }
        let left = self.size - self.delivered;
        // A byte is left for the last packet, whatever the others carried.
        let more = if self.is_complete() { left } else { u64::from(len).min(left - 1) };
        self.delivered += more;
        more
    }

    /// A header arrives, or the sender knows of so many lost packets.
    pub fn note_missing(&mut self, packets: u32) {
        self.missing += packets;
    }

    /// How many of `most` packets to pull for one that has arrived, whole or not: as many as the flow still needs, and further
    /// ones when the first is found to be missing.
    pub fn pulls(&mut self, most: u32, was_lossy: bool) -> u32 {
        let extra = if self.is_lossy() { self.extra } else { 0 };
        let needed = u64::from(self.sources) + u64::from(extra) + u64::from(self.missing);
        let due = needed.saturating_sub(u64::from(self.pushed) + u64::from(self.pulls));
        let most = most + if was_lossy { 0 } else { extra };
        let pulls = due.min(u64::from(most)) as u32;
        self.pulls += pulls;
        pulls
    }

    /// Bytes that count as delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
}

#[cfg(test)]
mod tests {
    use super::super::Model;
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::event::Owner;
    use crate::engine::contract::fake::{FakeHost, RECEIVER, SENDER};
    use crate::engine::contract::host::Host;
    use crate::engine::contract::packet::{Packet, flag};
    use crate::ids::ConnId;

    const FLOW: ConnId = ConnId(0);

    fn started(packets: u64, window: u32) -> (FakeHost, Model, Vec<Packet>) {
        let config =
            Ndp { initial_window: Derived::Given(window), code: Some(Code::default()), ..Ndp::default() };
        let mut host = FakeHost::pair(packets * config.payload());
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let first = host.sends(&mut model, FLOW, 99);
        assert_eq!(first.len(), window as usize);
        (host, model, first)
    }

    fn trimmed(packet: &Packet) -> Packet {
        Packet { size: 64, flags: packet.flags | flag::TRIMMED, ..*packet }
    }

    /// Sends all packets that go, of which those with these numbers arrive as headers, until none is left: the numbers of all,
    /// in order. Pulls that wait for their turn get it.
    fn run(host: &mut FakeHost, model: &mut Model, first: Vec<Packet>, trims: &[u32]) -> Vec<u32> {
        let (mut waiting, mut numbers) = (std::collections::VecDeque::from(first), Vec::new());
        for _ in 0..10_000 {
            let Some(packet) = waiting.pop_front() else { break };
            let number = packet.header.number;
            numbers.push(number);
            let arrives = if trims.contains(&number) { trimmed(&packet) } else { packet };
            let mut answers = host.receives(model, &arrives);
            while host.timers.iter().any(|(_, owner, _)| matches!(owner, Owner::Interface(_))) {
                answers.extend(host.expires(model));
            }
            for answer in &answers {
                host.answers(model, answer);
            }
            waiting.extend(host.sends(model, FLOW, 99));
        }
        numbers
    }

    /// Without a loss the ten packets of the data go, and no other.
    #[test]
    fn a_flow_without_a_loss_needs_no_code() {
        let (mut host, mut model, first) = started(10, 4);
        assert_eq!(run(&mut host, &mut model, first, &[]), (0..10).collect::<Vec<_>>());
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
        assert_eq!(host.sender(FLOW).retransmissions, 0);
    }

    /// LIT-POLY-1: of k packets any are trimmed, whichever: k + 2 arrive, those of code have numbers from k on, and none is sent
    /// twice. So a flow costs its trims and (k + 2) / k.
    #[test]
    fn any_two_packets_more_decode_a_flow() {
        for trims in [&[0][..], &[9], &[3, 4, 5], &[0, 9, 10, 12]] {
            let (mut host, mut model, first) = started(10, 4);
            let numbers = run(&mut host, &mut model, first, trims);
            let mut distinct = numbers.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), numbers.len(), "{trims:?}: one is sent twice");
            assert_eq!(numbers.len(), 12 + trims.len(), "{trims:?}");
            assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]), "{trims:?}");
            host.host = RECEIVER;
            assert_eq!(host.receiver(FLOW).delivered_bytes, 10 * Ndp::default().payload());
            host.host = SENDER;
            assert_eq!(host.sender(FLOW).retransmissions as usize, 2 + trims.len());
        }
    }

    /// The whole first window is lost, and no answer comes: a packet of code goes at each timeout, and the flow is decoded
    /// by those that its header's request pulls.
    #[test]
    fn lost_packets_are_made_up_for() {
        let (mut host, mut model, first) = started(4, 4);
        drop(first);
        host.times_out(&mut model, FLOW);
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(again.iter().map(|packet| packet.header.number).collect::<Vec<_>>(), [4]);
        let numbers = run(&mut host, &mut model, again, &[]);
        assert_eq!(numbers, [4, 5, 6, 7, 8, 9]);
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
    }
}
