//! CONGA: leaves learn how full the paths to other leaves are, and send each flowlet by the least full one.
//!
//! Source: Alizadeh et al., "CONGA: distributed congestion-aware load balancing for datacenters", SIGCOMM 2014, section 3. A
//! packet notes the uplink that its leaf has chosen and the largest use of the links behind it; the destination's leaf returns
//! both with packets of the other direction, one uplink with each. Use is a discounting estimate of each link (DRE), which counts
//! a packet as its switch chooses the link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::flowlets::{Expiry, Flowlets};
use super::leaves::{self, Leaves};
use crate::engine::contract::path::{Choose, Forgetting, Hop, Passage, RateEstimator, Tag};
use crate::ids::LinkId;
use crate::problem::Problem;
use crate::random::{Purpose, Stream, mix, salts, share};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Rate, Time};

/// CONGA: each flowlet takes the uplink whose most used link to the destination's leaf is least used. For leaves and spines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conga {
    /// A pause longer than this between two packets of a flow ends a flowlet.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub gap: Time,
    /// The end of a flowlet: an exact time, or a bit as in CONGA's switch.
    pub expiry: Expiry,
    /// Time from one reduction of the estimates of use to the next, T of the DRE.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub dre_interval: Time,
    /// Share by which each reduces them, alpha of the DRE. Their time constant is interval / share.
    #[schemars(range(min = 0.001, max = 0.999))]
    pub dre_weight: f64,
    /// Bits of a use in packets and tables, Q: with 3, use is rounded down to eighths of the link.
    #[schemars(range(min = 1, max = 8))]
    pub bits: u32,
    /// Age at which the use of a path that a leaf has learnt counts as 0.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub ageing: Time,
    /// The choice among uplinks that are equally used.
    pub tie: Tie,
}

/// The choice of a new flowlet among the best uplinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// The uplink of the flow's last flowlet if it is one of the best, else a random one.
    #[default]
    Stay,
    /// A random one.
    Random,
}

impl Default for Conga {
    fn default() -> Self {
        Conga {
            gap: Time::from_us(500),
            expiry: Expiry::Exact,
            dre_interval: Time::from_us(16),
            dre_weight: 0.1,
            bits: 3,
            ageing: Time::from_us(10_000),
            tie: Tie::Stay,
        }
    }
}

impl Settings for Conga {
    fn spreads(&self) -> bool {
        true
    }

    fn weighs(&self) -> bool {
        true
    }

    fn gap(&self) -> Option<Time> {
        Some(self.gap)
    }

    fn problems(&self, fabric: &Fabric) -> Vec<Problem> {
        leaves::problems(fabric)
    }
}

/// The fields of a packet between two leaves: section 3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    /// The leaf that it comes from.
    leaf: u16,
    /// Its uplink there (LBTag).
    uplink: u8,
    /// Largest use of the links behind it (CE).
    use_: u8,
    /// An uplink of the leaf that it is for (FB_LBTag), and the use of the path behind it (FB_Metric).
    feedback: Option<(u8, u8)>,
}

impl Header {
    fn pack(self) -> Tag {
        let (known, (uplink, metric)) = (self.feedback.is_some(), self.feedback.unwrap_or_default());
        let bytes = [self.uplink, self.use_, u8::from(known), uplink, metric, 1];
        let low = u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], 0, 0]);
        Tag(low | u64::from(self.leaf) << 48)
    }

    /// None of a packet that has not left its leaf.
    fn of(Tag(word): Tag) -> Option<Header> {
        let [uplink, use_, known, at, metric, present, ..] = word.to_le_bytes();
        let feedback = (known != 0).then_some((at, metric));
        (present != 0).then_some(Header { leaf: (word >> 48) as u16, uplink, use_, feedback })
    }
}

/// The use of a path in the tables of a leaf.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    metric: u8,
    /// Since when; none before the first packet.
    at: Option<Time>,
    /// Of what is to be returned: whether that has come after the last return.
    changed: bool,
}

/// The tables of all leaves, and the estimates of all links.
#[derive(Clone, Debug)]
pub struct Model {
    config: Conga,
    forgetting: Forgetting,
    leaves: Leaves,
    flowlets: Flowlets,
    /// By link.
    sent: Vec<RateEstimator>,
    rates: Vec<Rate>,
    /// By leaf, other leaf and uplink of the first: use of the path from it to the other.
    to_leaf: Vec<Known>,
    /// By leaf, other leaf and uplink of the other: use of the path from there, to be returned.
    from_leaf: Vec<Known>,
    /// By leaf and other leaf: the uplink after the one returned last.
    turn: Vec<u8>,
    stream: Stream,
    salts: Vec<u64>,
}

impl Model {
    pub(super) fn new(config: &Conga, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        let leaves = Leaves::of(fabric).expect("the check has looked at the network");
        let pairs = leaves.count * leaves.count;
        Model {
            config: config.clone(),
            forgetting: Forgetting { interval: config.dre_interval, share: config.dre_weight },
            flowlets: Flowlets::new(config.gap, config.expiry, fabric.nodes.len()),
            sent: vec![RateEstimator::default(); fabric.links.len()],
            rates: fabric.links.iter().map(|link| link.rate).collect(),
            to_leaf: vec![Known::default(); pairs * leaves.width],
            from_leaf: vec![Known::default(); pairs * leaves.width],
            turn: vec![0; pairs],
            stream: Stream::new(seed, replica, Purpose::Balancer, 5),
            salts: salts(fabric.nodes.len(), seed, replica),
            leaves,
        }
    }

    /// Where the paths between two leaves begin in the tables of the first.
    fn pair(&self, leaf: usize, other: usize) -> usize {
        leaf * self.leaves.count + other
    }

    /// Use of a link, as a number of `bits` bits.
    fn metric(&mut self, link: LinkId, now: Time) -> u8 {
        let used = self.sent[link.index()].utilisation(now, self.forgetting, self.rates[link.index()]);
        let levels = f64::from(1u32 << self.config.bits);
        (used * levels).min(levels - 1.0) as u8
    }

    /// The best uplink of a leaf to another, for a new flowlet.
    fn best(&mut self, (leaf, other): (usize, usize), hop: &Hop, now: Time, old: Option<u32>) -> u32 {
        let pair = self.pair(leaf, other) * self.leaves.width;
        let (mut least, mut equals) = (u8::MAX, 0);
        let mut stays = false;
        let mut found = 0;
        for (place, &link) in (0..).zip(hop.next_hops) {
            let known = self.to_leaf[pair + usize::from(self.leaves.uplink[link.index()])];
            let learnt = known.at.is_some_and(|at| now.0 - at.0 <= self.config.ageing.0);
            let metric = self.metric(link, now).max(if learnt { known.metric } else { 0 });
            if equals == 0 || metric < least {
                (least, equals, stays) = (metric, 0, false);
            }
            if metric == least {
                equals += 1;
                stays |= old == Some(place);
                // One of those so far, each as likely.
                if share(mix(self.stream.bits_at(hop.ticket).wrapping_add(u64::from(place))), equals) == 0 {
                    found = place;
                }
            }
        }
        match old {
            Some(old) if stays && self.config.tie == Tie::Stay => old,
            _ => found,
        }
    }

    /// A packet leaves its leaf: it notes its uplink, and takes the use of one path from the other leaf along.
    fn leave(&mut self, (leaf, other): (usize, usize), uplink: u8) -> Tag {
        let (pair, width) = (self.pair(leaf, other), self.leaves.width);
        let from = usize::from(self.turn[pair]);
        let turns = || (0..width).map(|step| (from + step) % width);
        let entry = |uplink: &usize| self.from_leaf[pair * width + uplink];
        let changed = turns().find(|uplink| entry(uplink).changed);
        let chosen = changed.or_else(|| turns().find(|uplink| entry(uplink).at.is_some()));
        let feedback = chosen.map(|uplink| {
            self.turn[pair] = ((uplink + 1) % width) as u8;
            let entry = &mut self.from_leaf[pair * width + uplink];
            entry.changed = false;
            (uplink as u8, entry.metric)
        });
        Header { leaf: leaf as u16, uplink, use_: 0, feedback }.pack()
    }

    /// A packet comes to its destination's leaf.
    fn arrive(&mut self, leaf: usize, header: Header, now: Time) {
        let pair = self.pair(leaf, usize::from(header.leaf)) * self.leaves.width;
        if let Some((uplink, metric)) = header.feedback {
            self.to_leaf[pair + usize::from(uplink)] = Known { metric, at: Some(now), changed: false };
        }
        let known = Known { metric: header.use_, at: Some(now), changed: true };
        self.from_leaf[pair + usize::from(header.uplink)] = known;
    }
}

impl Choose for Model {
    fn choose(&mut self, hop: Hop, now: Time) -> u32 {
        let ends = (self.leaves.number(hop.at), self.leaves.number(hop.to));
        let (Some(leaf), Some(other)) = ends else {
            // Of several cables from a spine to a leaf, by a hash.
            return share(mix(u64::from(hop.label) ^ self.salts[hop.at.index()]), hop.count());
        };
        let mut flowlets = std::mem::take(&mut self.flowlets);
        let place = flowlets.place(&hop, now, |old| self.best((leaf, other), &hop, now, old));
        self.flowlets = flowlets;
        place
    }

    fn tags(&self) -> bool {
        true
    }

    fn passes(&mut self, passage: Passage, now: Time, tag: &mut Tag) {
        let Passage { at, to, next, size } = passage;
        let header = Header::of(*tag);
        match (self.leaves.number(at), self.leaves.number(to)) {
            (Some(leaf), Some(other)) if leaf == other => {
                if let Some(header) = header {
                    self.arrive(leaf, header, now);
                    *tag = Tag::default();
                }
            }
            (Some(leaf), Some(other)) => {
                *tag = self.leave((leaf, other), self.leaves.uplink[next.index()] as u8);
                self.sent[next.index()].add(size, now, self.forgetting);
            }
            _ => {
                self.sent[next.index()].add(size, now, self.forgetting);
                if let Some(header) = header {
                    let use_ = header.use_.max(self.metric(next, now));
                    *tag = Header { use_, ..header }.pack();
                }
            }
        }
    }

    fn routes_change(&mut self, _routes: &Routes, _fabric: &Fabric, rate: &dyn Fn(LinkId) -> Rate) {
        self.rates.iter_mut().zip(0..).for_each(|(own, link)| *own = rate(LinkId(link)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;

    #[test]
    fn fields_fit_into_a_tag() {
        for feedback in [None, Some((0, 0)), Some((253, 255))] {
            let header = Header { leaf: 65_533, uplink: 253, use_: 255, feedback };
            assert_eq!(Header::of(header.pack()), Some(header));
        }
        assert_eq!(Header::of(Tag::default()), None);
    }

    /// Two leaves of two hosts, two spines.
    fn fabric() -> Fabric {
        LeafSpine { leaves: 2, spines: 2, hosts: 2, rate: Rate(10_000_000_000), ..LeafSpine::default() }
            .build()
    }

    fn node(fabric: &Fabric, name: &str) -> NodeId {
        NodeId(fabric.nodes.iter().position(|node| node.name == name).expect("a node") as u32)
    }

    fn link(fabric: &Fabric, from: &str, to: &str) -> LinkId {
        let (from, to) = (node(fabric, from), node(fabric, to));
        LinkId(fabric.links.iter().position(|link| (link.from, link.to) == (from, to)).expect("a link") as u32)
    }

    /// A packet of 1500 B passes a node towards a host.
    fn pass(model: &mut Model, fabric: &Fabric, (at, next): (&str, &str), to: u32, now: Time, tag: &mut Tag) {
        let next = link(fabric, at, next);
        let passage = Passage { at: node(fabric, at), to: NodeId(to), next, size: 1500 };
        model.passes(passage, now, tag);
    }

    /// LIT-LB-DRE: 10 Gbps, T = 16 us, alpha 0.1: 200,000 B stand for the link. At half of it, 10,000 B in each interval, X is
    /// between 90,000 and 100,000 B, and the use of three bits is 3.
    #[test]
    fn half_of_a_link_is_three_eighths_and_some() {
        let fabric = fabric();
        let mut model = Model::new(&Conga::default(), &fabric, 1, 0);
        let up = link(&fabric, "leaf 0", "spine 0");
        let mut seen = Vec::new();
        for packet in 0..2000u64 {
            // 1000 B each 1.6 us.
            let now = Time(1_600_000 * packet);
            model.sent[up.index()].add(1000, now, model.forgetting);
            if packet > 1000 {
                seen.push((model.sent[up.index()].bytes(now, model.forgetting), model.metric(up, now)));
            }
        }
        assert!(seen.iter().all(|(bytes, metric)| (89_999.0..=100_001.0).contains(bytes) && *metric == 3
            || *metric == 4 && *bytes > 99_999.0));
        // A burst of a whole window is as much as there are bits for.
        (0..400).for_each(|_| model.sent[up.index()].add(1500, Time::from_us(4000), model.forgetting));
        assert_eq!(model.metric(up, Time::from_us(4000)), 7);
    }

    /// A packet from leaf 0 by spine 1, whose link down is half used, tells leaf 1 so; a packet back tells leaf 0, which then
    /// prefers spine 0; ten milliseconds later both are equal again.
    #[test]
    fn leaves_learn_of_each_other() {
        let fabric = fabric();
        let mut model = Model::new(&Conga { tie: Tie::Random, ..Conga::default() }, &fabric, 1, 0);
        let now = Time::from_us(1);
        let down = link(&fabric, "spine 1", "leaf 1");
        model.sent[down.index()].add(100_000, now, model.forgetting);
        let mut data = Tag::default();
        pass(&mut model, &fabric, ("leaf 0", "spine 1"), 2, now, &mut data);
        assert_eq!(Header::of(data).map(|it| (it.uplink, it.use_, it.feedback)), Some((1, 0, None)));
        pass(&mut model, &fabric, ("spine 1", "leaf 1"), 2, now, &mut data);
        assert_eq!(Header::of(data).expect("it is between leaves").use_, 4);
        pass(&mut model, &fabric, ("leaf 1", "host 2"), 2, now, &mut data);
        assert_eq!(data, Tag::default());
        let mut answer = Tag::default();
        pass(&mut model, &fabric, ("leaf 1", "spine 0"), 0, now, &mut answer);
        assert_eq!(Header::of(answer).expect("it is between leaves").feedback, Some((1, 4)));
        pass(&mut model, &fabric, ("spine 0", "leaf 0"), 0, now, &mut answer);
        pass(&mut model, &fabric, ("leaf 0", "host 0"), 0, now, &mut answer);
        let routes = Routes::build(&fabric).expect("a connected network");
        let leaf = node(&fabric, "leaf 0");
        let next_hops = routes.next_hops(leaf, NodeId(2));
        let mut spines = |now: Time| {
            let hop =
                |label| Hop { at: leaf, to: NodeId(2), label, hops: 1, ticket: u64::from(label), next_hops };
            let places =
                (0..100).map(|label| model.choose(hop(label + now.0 as u32), now)).collect::<Vec<_>>();
            places.iter().filter(|&&place| place == 1).count()
        };
        assert_eq!(spines(now), 0);
        let later = spines(Time(now.0 + Time::from_us(10_001).0));
        assert!((30..=70).contains(&later), "{later}");
    }

    /// Feedback is that of each uplink in turn, of those that have changed first.
    #[test]
    fn feedback_takes_turns() {
        let fabric = fabric();
        let mut model = Model::new(&Conga::default(), &fabric, 1, 0);
        let come = |model: &mut Model, uplink, use_| {
            model.arrive(0, Header { leaf: 1, uplink, use_, feedback: None }, Time::from_us(1));
        };
        let next = |model: &mut Model| Header::of(model.leave((0, 1), 0)).expect("a header").feedback;
        assert_eq!(next(&mut model), None);
        come(&mut model, 0, 2);
        come(&mut model, 1, 5);
        assert_eq!([0; 3].map(|_| next(&mut model)), [Some((0, 2)), Some((1, 5)), Some((0, 2))]);
        come(&mut model, 0, 3);
        assert_eq!([0; 2].map(|_| next(&mut model)), [Some((0, 3)), Some((1, 5))]);
    }

    #[test]
    fn other_networks_are_none() {
        assert!(Leaves::of(&FatTree { k: 4, levels: 2, ..FatTree::default() }.build()).is_ok());
        let why = Leaves::of(&FatTree { k: 4, ..FatTree::default() }.build()).expect_err("three tiers");
        assert!(why.ends_with("are joined"), "{why}");
    }
}
