//! Choice of path: the contract between the network and the load balancer that chooses among equal next hops.
//!
//! A balancer chooses at each node as the packet is there, or leaves that to the source: as a label from which each switch
//! reads its choice, or as a whole path (`paths.rs`), on any topology, longer than the shortest too. The balancers
//! themselves are in `balancer/`.
//!
//! One that looks at its ports returns [`LOOK`] and is shown their state as of now ([`PortLoad`]): bytes that wait there, the
//! same in both modes of ports. One whose switches tell each other by packets has [`Choose::tags`], and is shown each packet at
//! each switch with its [`Tag`]. The balancer itself counts the bytes that it sends by a port, as it chooses
//! ([`RateEstimator`]), so that no departure need be an event. One whose switches hold packets, or send packets to each other,
//! has [`Choose::acts`]: a held packet is beside the ports, and a packet of a switch belongs to the connection of the packet that
//! it answers. One that puts packets in order before the transport sees them has [`Choose::restores`]: it numbers them at the
//! host that sends them, and holds them at the host that they are for.

pub use crate::engine::data::finished::ReorderCounts;
pub use crate::engine::data::packet::Tag;
use crate::engine::data::paths::Paths;
use crate::ids::{ConnId, LinkId, NodeId, PacketId};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Rate, SECOND, Time};

/// A packet that has a choice.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    pub at: NodeId,
    /// The host that it is for.
    pub to: NodeId,
    /// Stands for the packet's 5-tuple; or says the source's choices, if the balancer leaves them to it.
    pub label: u32,
    /// Links that the packet has crossed; 0 where the port of a host's connection is chosen, not that of a packet.
    pub hops: u8,
    /// A number that no other hop of any packet has: the index of its random number, in whatever order hops come.
    pub ticket: u64,
    /// The next hops, ascending.
    pub next_hops: &'a [LinkId],
}

impl Hop<'_> {
    /// How many next hops there are.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.next_hops.len() as u32
    }
}

/// The choice of a balancer that first has to see the ports: see [`Choose::choose_by_load`].
pub const LOOK: u32 = u32::MAX;

/// The view of a balancer that looks at ports.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Bytes of the packet on the wire; 0 where the port of a host's connection is chosen.
    pub size: u32,
    /// The ports of all next hops, in their order.
    pub loads: &'a [PortLoad],
}

/// The port of a next hop at the instant of a choice, without the packet that is to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortLoad {
    /// Bytes that wait, without the packet on the wire.
    pub waiting: u64,
    /// Those of them that leave before a packet of the choosing packet's class would: of its class and of classes that are
    /// served before it; all of them at a port without classes.
    pub ahead: u64,
    /// Bytes of the packet on the wire, 0 if there is none.
    pub wire: u32,
    /// Present rate of the link.
    pub rate: Rate,
    /// The classes that stand still, a bit each.
    pub paused: u8,
}

impl PortLoad {
    /// All bytes at the port, with the packet on the wire.
    pub fn bytes(&self) -> u64 {
        self.waiting + u64::from(self.wire)
    }
}

/// A packet that passes a node, and the link that it takes: see [`Choose::passes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The node.
    pub at: NodeId,
    /// The host that it is for.
    pub to: NodeId,
    /// The next link, whether there was a choice or not.
    pub next: LinkId,
    /// Bytes of the packet on the wire.
    pub size: u32,
}

/// A packet that passes a switch whose balancer may hold it or answer it: see [`Choose::handle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Where it is, and where it would go.
    pub passage: Passage,
    /// The packet, which the balancer may hold.
    pub packet: PacketId,
    /// Its connection; of a message that of the kept connection.
    pub conn: ConnId,
    /// Stands for its 5-tuple.
    pub label: u32,
    /// Whether it has no payload: an acknowledgement, or a packet of a switch.
    pub control: bool,
    /// Whether a port has marked it.
    pub marked: bool,
}

/// The decision on a packet that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on by that link.
    Pass(LinkId),
    /// It stays at the switch, beside the ports: the balancer releases it later.
    Hold,
    /// It was for this switch, and ends here.
    Absorb,
}

/// Acts of a switch beside the decision on a packet.
#[derive(Debug, Default)]
pub struct Acts {
    /// Packets of the switch, back to the sender of the packet that passes: bytes on the wire, and the tag.
    pub replies: Vec<(u32, Tag)>,
    /// Packets that were held and go on now, in this order, each by that link; at the host that they are for to the transport,
    /// after the packet on which the balancer decides.
    pub released: Vec<(PacketId, LinkId)>,
    /// Times in the future at which [`Choose::wake`] is to be called, each for a port of the switch. One port has each time at
    /// most once.
    pub wakes: Vec<(LinkId, Time)>,
}

/// How a [`RateEstimator`] forgets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forgetting {
    /// Time from one reduction to the next, the first one after time zero.
    pub interval: Time,
    /// The share by which each reduces the bytes, above 0 and below 1.
    pub share: f64,
}

/// Discounting rate estimator of one port (DRE; Alizadeh et al., "CONGA", SIGCOMM 2014, section 3.2): packets add their bytes
/// as they are sent, and at each interval the bytes are reduced by a share. At a steady rate they are those of an interval
/// divided by the share.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateEstimator {
    bytes: f64,
    reduced: u64,
}

impl RateEstimator {
    /// A packet of so many bytes is sent now.
    pub fn add(&mut self, bytes: u32, now: Time, forgetting: Forgetting) {
        self.bytes = self.bytes(now, forgetting) + f64::from(bytes);
    }

    /// The bytes now.
    pub fn bytes(&mut self, now: Time, Forgetting { interval, share }: Forgetting) -> f64 {
        let due = now.0 / interval.0;
        // Less than a byte is nothing, so that a long silence takes few steps.
        while self.reduced < due && self.bytes >= 1.0 {
            self.bytes *= 1.0 - share;
            self.reduced += 1;
        }
        if self.reduced < due {
            (self.bytes, self.reduced) = (0.0, due);
        }
        self.bytes
    }

    /// The share of a link's rate that the bytes stand for; bursts exceed 1.
    pub fn utilisation(&mut self, now: Time, forgetting: Forgetting, rate: Rate) -> f64 {
        let Forgetting { interval, share } = forgetting;
        let at_rate = rate.0 as f64 / 8.0 * interval.0 as f64 / SECOND as f64 / share;
        self.bytes(now, forgetting) / at_rate
    }
}

/// Input of a source's choice of the path of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Trip<'a> {
    /// The packet's connection.
    pub conn: ConnId,
    /// Whether it goes to the connection's receiver.
    pub forward: bool,
    /// The port by which it leaves.
    pub port: LinkId,
    /// The host that it is for.
    pub to: NodeId,
    /// Bytes of the packet on the wire.
    pub size: u32,
    /// The present.
    pub now: Time,
    /// All shortest paths as they are now.
    pub routes: &'a Routes,
    /// Where each link ends.
    pub ends: &'a [NodeId],
}

/// The path that a source has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its number among the paths of this end of the connection, from 0.
    pub number: u32,
    /// Label from which [`Choose::choose`] finds it; or the number of a whole path.
    pub label: u32,
    /// Of a whole path [`flag::ROUTED`](crate::engine::data::packet::flag::ROUTED), and
    /// [`flag::BACKWARDS`](crate::engine::data::packet::flag::BACKWARDS) if its packets go it backwards; else 0.
    pub flags: u8,
}

/// News of the path of a connection's data that its sender has: see [`Choose::learn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// An acknowledgement, perhaps a duplicate one, of a packet that was sent then; whether it says that a port has marked
    /// the data.
    Acked { sent: Time, marked: bool },
    /// Data is sent again.
    SentAgain,
    /// A retransmission timer has expired.
    Timeout,
}

/// A connection that opens, or one of its subflows.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The connection, or the subflow.
    pub id: ConnId,
    /// The host of its sender.
    pub src: NodeId,
    /// The host of its receiver.
    pub dst: NodeId,
    /// The label of packets to its receiver.
    pub label: u32,
    /// The label of the whole flow, which all its subflows share; without subflows, `label`.
    pub flow_label: u32,
    /// The subflow's number, from 0.
    pub subflow: u8,
    /// The flow's key, see [`flow_key`](crate::random::flow_key).
    pub key: u64,
    /// The ports by which its sender and its receiver send unless the balancer decides otherwise.
    pub ports: (LinkId, LinkId),
    /// All shortest paths as they are now.
    pub routes: &'a Routes,
}

/// The state of a balancer at all nodes: what a researcher writes.
pub trait Choose {
    /// Which of the next hops the packet takes, by its place among them, now that it is there; or [`LOOK`].
    fn choose(&mut self, hop: Hop, now: Time) -> u32;

    /// The choice of a balancer that looks at ports. Where the port of a host's connection is chosen, all are shown as idle.
    fn choose_by_load(&mut self, hop: Hop, now: Time, look: Look) -> u32 {
        let _ = (hop, now, look);
        unreachable!("this balancer does not look at ports");
    }

    /// Result of [`Choose::choose`], if it is known before the packet is there. It spares the engine a wait for memory.
    #[inline]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        let _ = hop;
        None
    }

    /// Whether its packets have a [`Tag`] each, and are shown at each node: only then [`Choose::passes`] is called. Packets of
    /// other balancers have neither.
    fn tags(&self) -> bool {
        false
    }

    /// A packet of this balancer has come to a node, its next link is chosen, and it is about to come to that port, which may
    /// drop it. Its tag is what the last node has written. Not called at the host that makes the packet, nor at the one that it is
    /// for: there, see [`Choose::restores`].
    fn passes(&mut self, passage: Passage, now: Time, tag: &mut Tag) {
        let _ = (passage, now, tag);
        unreachable!("this balancer has no tags");
    }

    /// Whether its switches hold packets or send packets of their own: then [`Choose::handle`] is called in place of
    /// [`Choose::passes`]. Such a balancer has tags.
    fn acts(&self) -> bool {
        false
    }

    /// As [`Choose::passes`]; decides whether the packet goes on, and by which link of the node.
    fn handle(&mut self, passing: Passing, now: Time, tag: &mut Tag, acts: &mut Acts) -> Verdict {
        let _ = (passing, now, tag, acts);
        unreachable!("the switches of this balancer do not act");
    }

    /// Whether the host that data is for may hold it before the transport gets it: a reordering buffer. Then
    /// [`Choose::number`] is called as a host sends data, and [`Choose::handle`] also as it comes to its host, with the host's
    /// port as the next link. Such a balancer acts.
    fn restores(&self) -> bool {
        false
    }

    /// Data of that connection, with that label, is sent by its host: writes its tag.
    fn number(&mut self, conn: ConnId, label: u32, tag: &mut Tag) {
        let _ = (conn, label, tag);
        unreachable!("this balancer does not restore the order");
    }

    /// A time that the balancer has asked for has come, at the node of that port; all else of the instant has happened.
    fn wake(&mut self, port: LinkId, now: Time, acts: &mut Acts) {
        let _ = (port, now, acts);
        unreachable!("the switches of this balancer do not act");
    }

    /// For the audit: the packets that it holds.
    fn held(&self, found: &mut dyn FnMut(PacketId)) {
        let _ = found;
    }

    /// Counters of the packets that it has held to restore their order, if it does so.
    fn reordering(&self) -> Option<ReorderCounts> {
        None
    }

    /// Routes hold from now on: called before the first event, and whenever faults change them. The rate of a link is the
    /// present one. For tables that follow from routes and rates, such as weights of next hops.
    fn routes_change(&mut self, routes: &Routes, fabric: &Fabric, rate: &dyn Fn(LinkId) -> Rate) {
        let _ = (routes, fabric, rate);
    }

    /// A connection opens, or one of its subflows. Says the ports by which its sender and its receiver send: the first
    /// links of their whole paths, if they have any.
    fn open(&mut self, opening: Opening, paths: &mut Paths) -> (LinkId, LinkId) {
        let _ = paths;
        opening.ports
    }

    /// Of a connection that has opened: the path of all packets of that end, if its source has one for it.
    fn whole_path(&self, id: ConnId, forward: bool) -> Option<Path> {
        let _ = (id, forward);
        None
    }

    /// Whether sources choose a path for each packet: only then [`Choose::next_path`] is asked.
    fn at_source(&self) -> bool {
        false
    }

    /// Whether senders are to tell it about the paths of their data: only then [`Choose::learn`] is called.
    fn learns(&self) -> bool {
        false
    }

    /// At the host of a connection's sender, which has news of the path of its data.
    fn learn(&mut self, conn: ConnId, news: News, now: Time) {
        let _ = (conn, news, now);
        unreachable!("this balancer does not learn from senders");
    }

    /// Whether switches hash the entropy value that a packet's source gives it: see
    /// [`Host::set_entropy`](super::host::Host::set_entropy).
    fn by_entropy(&self) -> bool {
        false
    }

    /// At the host that makes a packet: the path that is next, if the source chooses it.
    fn next_path(&mut self, trip: Trip) -> Option<Path> {
        let _ = trip;
        None
    }

    /// The number of the path that [`Choose::next_path`] has said last for that end of the connection, or of its whole path.
    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        let _ = (id, forward);
        None
    }
}

/// A balancer whose choice depends on nothing but the packet.
pub trait Stateless {
    /// Which of the next hops the packet takes, by its place among them.
    fn pick(&self, hop: Hop) -> u32;
}

impl<T: Stateless> Choose for T {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.pick(hop)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(self.pick(hop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half is forgotten each 16 us: of 1000 B sent at 1 us 500 are left at 16 us; with 500 more at 17 us there are 1000, and at
    /// 48 us, after two more reductions, 250. A link of 1 Gbps sends 2000 B in an interval, which stand for 4000.
    #[test]
    fn an_estimator_forgets_by_halves() {
        let (us, half) = (Time::from_us, Forgetting { interval: Time::from_us(16), share: 0.5 });
        let mut port = RateEstimator::default();
        port.add(1000, us(1), half);
        assert_eq!(port.bytes(Time(us(16).0 - 1), half), 1000.0);
        assert_eq!(port.bytes(us(16), half), 500.0);
        port.add(500, us(17), half);
        assert_eq!(port.bytes(us(31), half), 1000.0);
        assert_eq!(port.bytes(us(48), half), 250.0);
        assert_eq!(port.utilisation(us(48), half, Rate(1_000_000_000)), 0.0625);
        // A reading forgets nothing by itself, and a long silence everything.
        assert_eq!(port.bytes(us(48), half), 250.0);
        assert_eq!(port.bytes(Time(u64::MAX - 1), half), 0.0);
        port.add(700, Time(u64::MAX - 1), half);
        assert_eq!(port.bytes(Time(u64::MAX - 1), half), 700.0);
    }

    /// At a steady 1 Gbps 2000 B come in an interval: x + 2000 B, reduced by a tenth, are x = 18000 B, nine tenths of the 20000 B
    /// that stand for the rate. Packets of 1500 B are one or two in an interval.
    #[test]
    fn a_steady_rate_is_found() {
        let forgetting = Forgetting { interval: Time::from_us(16), share: 0.1 };
        let mut port = RateEstimator::default();
        for packet in 0..1000 {
            port.add(1500, Time::from_us(12 * packet), forgetting);
        }
        let found = port.utilisation(Time::from_us(12_000), forgetting, Rate(1_000_000_000));
        assert!((found - 0.9).abs() < 0.05, "{found}");
    }
}
