//! ConWeave: the switches of senders move flows away from paths that are slow, and those of receivers restore the order.
//!
//! Source: Song, Khooi, Joshi, Choi, Li and Chan, "Network load balancing with in-network reordering support for RDMA", SIGCOMM
//! 2023, and its public simulator (conweave-project/conweave-ns3, 2024), whose order of steps and constants are here: `sender.rs`
//! decides on paths, `receiver.rs` holds packets back. Data takes part; packets without payload go by a hash. Times in packets are
//! in ns, as there. The delay of held packets is in the round trips that a transport measures: not for TIMELY or HPCC.

mod fields;
mod receiver;
mod sender;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::fields::{Fields, Kind, clock};
use self::receiver::{Came, Held, Step, Waits};
use self::sender::Timing;
use super::Settings;
use super::leaves::{self, Leaves};
use super::wakes::Wakes;
use crate::engine::contract::packet::reverse_label;
use crate::engine::contract::path::{Acts, Choose, Hop, Passing, ReorderCounts, Tag, Verdict};
use crate::ids::{LinkId, NodeId, PacketId};
use crate::problem::Problem;
use crate::random::{Purpose, Stream, mix, salts, share};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Bytes, Rate, Time};

/// ConWeave: a flow whose round trip between the two leaves is late takes another path, and its packets are put in order at the
/// receiver's leaf. Defaults: the authors' for leaves and spines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConWeave {
    /// A reply is late after the round trip of an empty network between the two leaves and this time.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub extra_reply: Time,
    /// A path by which a packet came marked is not chosen for this time.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub path_pause: Time,
    /// Held packets go on this long after the time at which the last packet of the old path is expected.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub extra_flush: Time,
    /// The time for which they are held where no packet has shown when that one is expected.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub default_wait: Time,
    /// A flow that has been without packets for longer takes any path.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub tx_expiry: Time,
    /// Bytes on the wire of a packet from leaf to leaf.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub reply_bytes: Bytes,
}

impl Default for ConWeave {
    fn default() -> Self {
        ConWeave {
            extra_reply: Time::from_us(4),
            path_pause: Time::from_us(16),
            extra_flush: Time::from_us(16),
            default_wait: Time::from_us(200),
            tx_expiry: Time::from_us(300),
            reply_bytes: Bytes(64),
        }
    }
}

impl Settings for ConWeave {
    fn spreads(&self) -> bool {
        true
    }

    fn weighs(&self) -> bool {
        true
    }

    fn problems(&self, fabric: &Fabric) -> Vec<Problem> {
        leaves::problems(fabric)
    }
}

/// A flow without packets for so long is forgotten, as in the authors' simulator.
const IDLE: Time = Time::from_us(2000);

/// Flows of a switch before the idle ones are looked for.
const FLOWS_LEAST: usize = 1024;

/// A path between two leaves: its uplink, and the links up and down.
#[derive(Clone, Copy, Debug)]
struct Way {
    uplink: LinkId,
    number: u16,
    delay: Time,
    rates: [Rate; 2],
}

impl Way {
    /// The round trip in an empty network, of a packet of that size and its reply.
    fn round_trip(&self, size: u32, reply: Bytes) -> Time {
        let [up, down] = self.rates;
        let sends = |bytes: u64| up.transmission(bytes) + down.transmission(bytes);
        Time(2 * self.delay.0) + sends(u64::from(size)) + sends(reply.0)
    }
}

/// The flows of a leaf.
#[derive(Clone, Debug)]
struct Leaf {
    /// By label, of data.
    sent: FxHashMap<u32, sender::Flow>,
    received: FxHashMap<u32, receiver::Flow>,
    /// Entries at which the idle ones go.
    most: usize,
    stream: Stream,
}

/// The state of all leaves.
#[derive(Clone, Debug)]
pub struct Model {
    config: ConWeave,
    leaves: Leaves,
    flows: Vec<Leaf>,
    /// By leaf and other leaf.
    ways: Vec<Vec<Way>>,
    /// By leaf, other leaf and uplink: the path is not chosen until then.
    paused: Vec<Time>,
    /// Flows that wait to go on: the leaf and the label.
    wakes: Wakes<(usize, u32)>,
    counts: ReorderCounts,
    salts: Vec<u64>,
}

impl Model {
    pub(super) fn new(config: &ConWeave, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        let leaves = Leaves::of(fabric).expect("the check has looked at the network");
        let pairs = leaves.count * leaves.count;
        let stream = |leaf: usize| Stream::new(seed, replica, Purpose::Balancer, 1 << 16 | leaf as u64);
        let leaf = |number| Leaf {
            sent: FxHashMap::default(),
            received: FxHashMap::default(),
            most: FLOWS_LEAST,
            stream: stream(number),
        };
        Model {
            config: config.clone(),
            flows: (0..leaves.count).map(leaf).collect(),
            ways: vec![Vec::new(); pairs],
            paused: vec![Time::ZERO; pairs * leaves.width],
            wakes: Wakes::default(),
            counts: ReorderCounts::default(),
            salts: salts(fabric.nodes.len(), seed, replica),
            leaves,
        }
    }

    /// Data leaves its leaf for another.
    fn leave(
        &mut self,
        (leaf, other): (usize, usize),
        passing: Passing,
        now: Time,
        tag: &mut Tag,
    ) -> Verdict {
        let pair = leaf * self.leaves.count + other;
        let Model { config, leaves, flows, ways, paused, .. } = self;
        let (ways, Leaf { sent, stream, most, .. }) = (&ways[pair], &mut flows[leaf]);
        if ways.is_empty() {
            return Verdict::Pass(passing.passage.next);
        }
        if sent.len() > *most {
            sent.retain(|_, flow| !flow.is_idle(now, IDLE));
            *most = (2 * sent.len()).max(FLOWS_LEAST);
        }
        let mut draw = || ways[stream.below(ways.len() as u64) as usize].number;
        let flow = sent.entry(passing.label).or_insert_with(|| sender::Flow::new(draw()));
        if ways.iter().all(|way| way.number != flow.uplink) {
            flow.uplink = draw();
        }
        let size = passing.passage.size;
        let reply = ways.iter().map(|way| way.round_trip(size, config.reply_bytes)).max().expect("a way");
        let timing = Timing { reply: reply + config.extra_reply, expiry: config.tx_expiry };
        let is_good = |uplink: &u16| paused[pair * leaves.width + usize::from(*uplink)] <= now;
        let left = flow.on_packet(now, timing, || [draw(), draw()].into_iter().find(is_good));
        *tag = Fields {
            kind: left.kind,
            moved: left.moved,
            epoch: left.epoch,
            uplink: left.uplink as u8,
            sent: clock(now),
            tail: clock(left.tail),
        }
        .pack();
        let way = ways.iter().find(|way| way.number == left.uplink).expect("a path that is there");
        Verdict::Pass(way.uplink)
    }

    /// Data has come to the leaf of its receiver.
    fn arrive(
        &mut self,
        leaf: usize,
        passing: Passing,
        fields: Fields,
        now: Time,
        acts: &mut Acts,
    ) -> Verdict {
        let Model { config, flows, wakes, counts, .. } = self;
        let reply = |kind, from: usize| {
            let fields = Fields::of_switch(kind, fields.epoch, fields.uplink, from as u32);
            (config.reply_bytes.0 as u32, fields.pack())
        };
        match fields.kind {
            Kind::Init => acts.replies.push(reply(Kind::ReplyInit, leaf)),
            Kind::Tail => acts.replies.push(reply(Kind::ReplyTail, leaf)),
            _ => {}
        }
        if passing.marked {
            acts.replies.push(reply(Kind::Notify, leaf));
        }
        let Leaf { received, most, .. } = &mut flows[leaf];
        if received.len() > *most {
            received
                .retain(|_, flow| !flow.held.is_empty() || flow.last.is_some_and(|last| last + IDLE >= now));
            *most = (2 * received.len()).max(FLOWS_LEAST);
        }
        let flow = received.entry(passing.label).or_default();
        let Fields { kind, moved, epoch, sent, tail, .. } = fields;
        let waits = Waits { extra: config.extra_flush, unknown: config.default_wait, idle: IDLE };
        let before = flow.flush_at;
        let step = flow.on_packet(Came { kind, epoch, moved, sent, tail }, now, waits);
        let next = passing.passage.next;
        match step {
            Step::PassAfterHeld => flow.release(now, counts, &mut acts.released),
            Step::Hold => {
                let Passing { packet, passage, .. } = passing;
                flow.keep(Held { packet, next, size: passage.size, arrived: now }, counts);
            }
            Step::Pass => {}
        }
        wakes.put_off((next, (leaf, passing.label)), before, flow.flush_at, now, acts);
        if step == Step::Hold { Verdict::Hold } else { Verdict::Pass(next) }
    }

    /// A packet of another leaf has come.
    fn take(&mut self, leaf: usize, label: u32, fields: Fields, now: Time) {
        let to_tail = fields.kind == Kind::ReplyTail;
        match fields.kind {
            Kind::Notify => {
                let pair = leaf * self.leaves.count + fields.sent as usize;
                self.paused[pair * self.leaves.width + usize::from(fields.uplink)] =
                    now + self.config.path_pause;
            }
            _ => {
                if let Some(flow) = self.flows[leaf].sent.get_mut(&label) {
                    flow.on_reply(fields.epoch, to_tail, now);
                }
            }
        }
    }
}

impl Choose for Model {
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        share(mix(u64::from(hop.label) ^ self.salts[hop.at.index()]), hop.count())
    }

    fn tags(&self) -> bool {
        true
    }

    fn acts(&self) -> bool {
        true
    }

    fn handle(&mut self, passing: Passing, now: Time, tag: &mut Tag, acts: &mut Acts) -> Verdict {
        let passage = passing.passage;
        let ends = (self.leaves.number(passage.at), self.leaves.number(passage.to));
        let (Some(leaf), Some(other)) = ends else { return Verdict::Pass(passage.next) };
        match Fields::of(*tag) {
            _ if leaf != other && passing.control => Verdict::Pass(passage.next),
            _ if leaf != other => self.leave((leaf, other), passing, now, tag),
            None => Verdict::Pass(passage.next),
            Some(fields) if passing.control => {
                self.take(leaf, reverse_label(passing.label), fields, now);
                Verdict::Absorb
            }
            Some(fields) => self.arrive(leaf, passing, fields, now, acts),
        }
    }

    fn wake(&mut self, port: LinkId, now: Time, acts: &mut Acts) {
        let Model { wakes, flows, counts, .. } = self;
        for (time, (leaf, label)) in wakes.come(port, now, acts) {
            let flow = flows[leaf].received.get_mut(&label);
            if let Some(flow) = flow.filter(|flow| flow.flush_at == time) {
                flow.flush();
                flow.release(now, counts, &mut acts.released);
            }
        }
    }

    fn held(&self, found: &mut dyn FnMut(PacketId)) {
        let flows = self.flows.iter().flat_map(|leaf| leaf.received.values());
        flows.flat_map(|flow| &flow.held).for_each(|held| found(held.packet));
    }

    fn reordering(&self) -> Option<ReorderCounts> {
        Some(self.counts)
    }

    fn routes_change(&mut self, routes: &Routes, fabric: &Fabric, rate: &dyn Fn(LinkId) -> Rate) {
        let Model { leaves, ways, .. } = self;
        // A host of each leaf, and the leaf.
        let mut hosts: Vec<Option<(NodeId, NodeId)>> = vec![None; leaves.count];
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            let number = leaves.number(link.from).expect("a host of a leaf");
            hosts[number].get_or_insert((link.from, link.to));
        }
        let pairs = (0..leaves.count).flat_map(|leaf| (0..leaves.count).map(move |other| (leaf, other)));
        for (leaf, other) in pairs.filter(|(leaf, other)| leaf != other) {
            let (Some((_, from)), Some((host, _))) = (hosts[leaf], hosts[other]) else { continue };
            let way = |&uplink: &LinkId| {
                let up = &fabric.links[uplink.index()];
                let down = *routes.next_hops(up.to, host).first()?;
                let delay = up.delay + fabric.links[down.index()].delay;
                let number = leaves.uplink[uplink.index()];
                Some(Way { uplink, number, delay, rates: [rate(uplink), rate(down)] })
            };
            ways[leaf * leaves.count + other] = routes.next_hops(from, host).iter().filter_map(way).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::leaf_spine::LeafSpine;

    /// A notification of leaf 2 that a packet came marked by uplink 1 pauses that path from leaf 0 to leaf 2, and no other.
    #[test]
    fn a_notification_pauses_the_path_to_its_leaf() {
        let fabric = LeafSpine { leaves: 3, spines: 2, hosts: 1, ..LeafSpine::default() }.build();
        let config = ConWeave { path_pause: Time::from_us(8), ..ConWeave::default() };
        let mut model = Model::new(&config, &fabric, 1, 0);
        model.take(0, 7, Fields::of_switch(Kind::Notify, 0, 1, 2), Time::from_us(10));
        let paused: Vec<_> =
            model.paused.iter().enumerate().filter(|(_, until)| **until > Time::ZERO).collect();
        // By leaf, by the other leaf, by uplink.
        assert_eq!(paused, [(2 * 2 + 1, &Time::from_us(18))]);
    }
}
