//! MMPTCP: a flow begins as packet scatter and goes on as MPTCP (Kheirkhah, Wakeman and Parisis, "MMPTCP: a multipath
//! transport protocol for data centers", INFOCOM 2016).
//!
//! At first there is one subflow with one window, whose packets have a random label each, in place of the authors' random source
//! port: switches that hash it spread the packets over all paths. Short flows end so. The other subflows open with the first
//! acknowledgement after the flow has sent enough, or retransmitted; once one of them is established, the first subflow gets no new data: it only
//! repairs its losses, and MPTCP goes on without it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::Stream;
use crate::transport::tcp::Tcp;
use crate::units::Bytes;

/// Packet scatter at the beginning of a flow: MMPTCP (Kheirkhah et al. 2016).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scatter {
    /// The event at which the other subflows open.
    pub switch: Switch,
    /// Duplicate acknowledgements that make the first subflow retransmit, as `tcp.dupack_threshold`, which it is if absent: the
    /// authors' code. The paper has one by the number of paths, because scattered packets overtake each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub dupack_threshold: Option<u32>,
}

/// The event at which the other subflows open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// More than so many bytes have been sent, of which none counts twice.
    Data(#[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))] Bytes),
    /// The first retransmission.
    Loss,
}

impl Default for Scatter {
    fn default() -> Self {
        Scatter { switch: Switch::Data(Bytes(100_000)), dupack_threshold: None }
    }
}

impl Scatter {
    /// Settings of the first subflow's TCP.
    pub fn of(&self, tcp: &Tcp) -> Tcp {
        let dupack_threshold = self.dupack_threshold.unwrap_or(tcp.dupack_threshold);
        Tcp { dupack_threshold, ..tcp.clone() }
    }
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first subflow is alone.
    Alone,
    /// The others are to open.
    Due,
    /// The others open.
    Opens,
    /// One of the others is established.
    Multipath,
}

/// The state of a connection that begins so.
#[derive(Clone, Debug)]
pub struct Scattering {
    switch: Switch,
    phase: Phase,
    /// Labels of the first subflow's packets.
    labels: Stream,
    /// Number behind the last segment that the first subflow has sent.
    end: u32,
}

impl Scattering {
    /// Of a new connection; the stream is its own.
    pub fn new(scatter: &Scatter, labels: Stream) -> Scattering {
        Scattering { switch: scatter.switch, phase: Phase::Alone, labels, end: 0 }
    }

    /// The first subflow sends that segment, by which `sent` bytes of data have been sent. Its label.
    pub fn sends(&mut self, segment: u32, sent: u64) -> u32 {
        let again = segment < self.end;
        self.end = self.end.max(segment + 1);
        let due = match self.switch {
            Switch::Data(bytes) => sent > bytes.0,
            Switch::Loss => again,
        };
        if due && self.phase == Phase::Alone {
            self.phase = Phase::Due;
        }
        self.labels.bits() as u32
    }

    /// Whether the other subflows are to open; once.
    pub fn take_due(&mut self) -> bool {
        let due = self.phase == Phase::Due;
        if due {
            self.phase = Phase::Opens;
        }
        due
    }

    /// Another subflow is established.
    pub fn established(&mut self) {
        self.phase = Phase::Multipath;
    }

    /// Whether the first subflow gets no new data.
    #[inline]
    pub fn drains(&self) -> bool {
        self.phase == Phase::Multipath
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;
    use crate::engine::contract::packet::Packet;
    use crate::ids::ConnId;
    use crate::transport::mptcp::{self, Mptcp};
    use crate::units::Time;

    const FLOW: ConnId = ConnId(0);
    const SUBFLOWS: [ConnId; 3] = [ConnId(1), ConnId(2), ConnId(3)];

    /// A flow of twelve segments over three subflows with windows of four.
    fn started(switch: Switch, handshake: bool) -> (FakeHost, mptcp::Model) {
        let tcp = Tcp {
            mss: Bytes(1000),
            handshake,
            initial_window: Derived::Given(4),
            delayed_ack: 1,
            ..Tcp::default()
        };
        let scatter = Some(Scatter { switch, dupack_threshold: Some(4) });
        let config = Mptcp { subflows: 3, scatter, tcp, ..Mptcp::default() };
        let mut host = FakeHost::pair(12_000);
        let mut model = mptcp::Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        (host, model)
    }

    fn data(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.header.ack as u32).collect()
    }

    /// The packet arrives, and its acknowledgement.
    fn arrives(host: &mut FakeHost, model: &mut mptcp::Model, packet: &Packet) {
        for ack in host.receives(model, packet) {
            host.answers(model, &ack);
        }
    }

    /// The fourth segment is beyond 3000 B: at the next acknowledgement the others open and have the data from 4 on, and the first
    /// one no more, however open its window is. Its packets had labels of their own, the others' are their subflows'.
    #[test]
    fn after_so_many_bytes_the_others_go_on() {
        let (mut host, mut model) = started(Switch::Data(Bytes(3000)), false);
        let [first, second, third] = SUBFLOWS;
        assert!(host.sends(&mut model, second, 9).is_empty());
        let packets = host.sends(&mut model, first, 9);
        assert_eq!(data(&packets), [0, 1, 2, 3]);
        let mut labels: Vec<u32> = packets.iter().map(|packet| packet.label).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), 4);
        host.now = Time::from_us(100);
        packets.iter().for_each(|packet| arrives(&mut host, &mut model, packet));
        assert!(host.sends(&mut model, first, 9).is_empty());
        let others = [second, third].map(|id| host.sends(&mut model, id, 9));
        assert_eq!((data(&others[0]), data(&others[1])), (vec![4, 5, 6, 7], vec![8, 9, 10, 11]));
        for (packets, id) in others.iter().zip([second, third]) {
            let label = host.conns[id.index()].label;
            assert!(packets.iter().all(|packet| packet.label == label));
        }
        others.iter().flatten().for_each(|packet| arrives(&mut host, &mut model, packet));
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
    }

    /// As many bytes as the flow has are not more: it ends as packet scatter, on one subflow.
    #[test]
    fn a_short_flow_has_one_subflow() {
        let (mut host, mut model) = started(Switch::Data(Bytes(12_000)), false);
        while host.finished.is_empty() {
            for packet in host.sends(&mut model, SUBFLOWS[0], 9) {
                arrives(&mut host, &mut model, &packet);
            }
        }
        let sent = SUBFLOWS.map(|id| host.conns[id.index()].counts().packets_sent);
        assert_eq!((sent, &host.completed[..]), ([12, 0, 0], &[FLOW][..]));
    }

    /// Until a handshake with another subflow is complete the first one goes on.
    #[test]
    fn the_first_subflow_goes_on_until_another_is_established() {
        let (mut host, mut model) = started(Switch::Data(Bytes(3000)), true);
        let [first, second, _] = SUBFLOWS;
        let exchange = |host: &mut FakeHost, model: &mut mptcp::Model| {
            let syns = std::mem::take(&mut host.sent);
            let answers: Vec<Packet> = syns.iter().flat_map(|syn| host.receives(model, syn)).collect();
            answers.iter().for_each(|answer| host.answers(model, answer));
        };
        host.now = Time::from_us(100);
        exchange(&mut host, &mut model);
        let packets = host.sends(&mut model, first, 9);
        assert_eq!(data(&packets), [0, 1, 2, 3]);
        arrives(&mut host, &mut model, &packets[0]);
        let syns = std::mem::take(&mut host.sent);
        assert_eq!(syns.iter().map(|syn| syn.conn).collect::<Vec<_>>(), SUBFLOWS[1..]);
        assert_eq!(data(&host.sends(&mut model, first, 9)), [4, 5]);
        arrives(&mut host, &mut model, &syns[0]);
        arrives(&mut host, &mut model, &packets[1]);
        assert!(host.sends(&mut model, first, 9).is_empty());
        assert_eq!(data(&host.sends(&mut model, second, 9)), [6, 7, 8, 9]);
    }

    /// The second segment is lost. Three duplicates, TCP's own threshold, do not make the sender retransmit; the fourth
    /// does, with half of the five in flight and the four duplicates as its window, which has room for 6. With the
    /// acknowledgement of the retransmission the others open and have the data from 7 on.
    #[test]
    fn a_loss_is_the_switch() {
        let (mut host, mut model) = started(Switch::Loss, false);
        let [first, second, third] = SUBFLOWS;
        let mut packets = host.sends(&mut model, first, 9);
        host.now = Time::from_us(100);
        arrives(&mut host, &mut model, &packets[0]);
        packets.extend(host.sends(&mut model, first, 9));
        assert_eq!(data(&packets), [0, 1, 2, 3, 4, 5]);
        packets[2..5].iter().for_each(|packet| arrives(&mut host, &mut model, packet));
        assert!(SUBFLOWS.iter().all(|&id| host.sends(&mut model, id, 9).is_empty()));
        arrives(&mut host, &mut model, &packets[5]);
        packets = host.sends(&mut model, first, 9);
        assert_eq!(data(&packets), [1, 6]);
        arrives(&mut host, &mut model, &packets[0]);
        assert!(host.sends(&mut model, first, 9).is_empty());
        let others = [second, third].map(|id| data(&host.sends(&mut model, id, 9)));
        assert_eq!(others, [vec![7, 8, 9, 10], vec![11]]);
    }
}
