//! The port of a lossless fabric: a first-in first-out queue for each class, priority flow control towards
//! the upstream ports, and marks by the length of the queue.
//!
//! Sources: IEEE 802.1Qbb for the flow control, which is implemented in `engine/network/pause.rs`; Zhu et al.,
//! "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, section 3.1, for the marks of DCQCN's
//! congestion point.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ecn::MarkOn;
use super::waiting::Waiting;
use super::{Build, Feature, Queue, Settings};
use crate::advice::{Advice, size};
use crate::derived::{Derived, Environment, Longest, Values};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::gate::{CLASSES, FRAME_BYTES, Gate, Stops, Thresholds, class_of};
use crate::ids::{LinkId, PacketId};
use crate::problem::Problem;
use crate::topology::Link;
use crate::units::{Bytes, Rate, SECOND};

/// Classes in strict priority, 0 first. A class is paused at the upstream port before any of its packets has
/// to be dropped (priority flow control).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lossless {
    /// XOFF threshold: when more than this many bytes of a class that arrived on a link are queued, the
    /// upstream port is paused for that class. DCQCN's paper (section 4) has a threshold that shrinks as the
    /// switch fills: its switch of 12 MB and 32 ports leaves about this for each of 31 senders. "derived":
    /// 200 KB up to 40 Gbps, above in proportion to the rate of hosts.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub xoff: Derived<Bytes>,
    /// XON threshold: the upstream port resumes when no more than this is left. Absent: two full packets
    /// below XOFF.
    #[schemars(extend("x-maximum" = "1GB"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xon: Option<Bytes>,
    /// Headroom of a link and class above XOFF, for the bytes that arrive before the sender stops; more is
    /// dropped. Absent: the need of each link, by its rate and delay and the largest packet.
    #[schemars(extend("x-maximum" = "1GB"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// Up to this many queued bytes of its class, a packet is not marked. DCQCN's paper: 5 KB at 40 Gbps.
    /// "derived": that, above 40 Gbps in proportion to the rate of hosts, as the HPCC simulator's thresholds
    /// are. Where all transports that read marks are of DCTCP's kind, kmin and kmax are one threshold: 3 KB for
    /// each Gbps, as the HPCC simulator has them for DCTCP, and at least a seventh of the bandwidth-delay product.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub kmin: Derived<Bytes>,
    /// Above this many, each is marked. DCQCN's paper: 200 KB. "derived": as kmin.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub kmax: Derived<Bytes>,
    /// Between them the probability of a mark grows from 0 to this. DCQCN's paper: 0.01; the HPCC simulator: 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
    /// Thresholds of marks at ports of other rates, as the HPCC simulator has them; ports of rates that are not listed have
    /// the fields above.
    #[schemars(length(max = 100))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<RateMarks>,
    /// The time of marking: DCQCN's paper marks on arrival, the packet itself included; the HPCC simulator on
    /// departure, without the packet.
    pub mark: MarkOn,
}

/// Thresholds of marks at the ports of one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateMarks {
    /// Rate of the ports.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Up to this many queued bytes of its class, a packet is not marked.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub kmin: Bytes,
    /// Above this many, each is marked.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub kmax: Bytes,
    /// Between them the probability of a mark grows from 0 to this.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
}

impl Default for Lossless {
    fn default() -> Self {
        Lossless {
            xoff: Derived::FromNetwork,
            xon: None,
            headroom: None,
            kmin: Derived::FromNetwork,
            kmax: Derived::FromNetwork,
            pmax: 0.01,
            by_rate: Vec::new(),
            mark: MarkOn::Enqueue,
        }
    }
}

/// Values of DCQCN's paper, at this rate and below: XOFF, Kmin, Kmax.
const PAPER: (Rate, [Bytes; 3]) = (Rate(40_000_000_000), [Bytes(200_000), Bytes(5_000), Bytes(200_000)]);
/// The HPCC simulator's threshold for DCTCP: 75 KB at 25 Gbps, and in proportion.
const DCTCP_PER_GBPS: Bytes = Bytes(3_000);
/// The schema's bound.
const BYTES_MAX: Bytes = Bytes(1_000_000_000);

/// A value of DCQCN's paper in proportion to a rate, and not below it.
fn scaled(value: Bytes, rate: Rate) -> Bytes {
    let product = u128::from(value.0) * u128::from(rate.0.max(PAPER.0.0));
    Bytes(product.div_ceil(u128::from(PAPER.0.0)) as u64).min(BYTES_MAX)
}

impl Lossless {
    /// XOFF, Kmin and Kmax of DCQCN's paper in proportion to that rate.
    pub fn fitting(rate: Rate) -> [Bytes; 3] {
        PAPER.1.map(|value| scaled(value, rate))
    }

    /// The one threshold for transports of DCTCP's kind.
    fn threshold(longest: &Longest) -> Bytes {
        let by_rate = longest.rate.0.saturating_mul(DCTCP_PER_GBPS.0) / 1_000_000_000;
        Bytes(by_rate.max(longest.bdp.div_ceil(7))).min(BYTES_MAX)
    }

    /// The upstream port is paused when more than this is queued.
    pub fn xoff(&self) -> u64 {
        self.xoff.or(PAPER.1[0]).0
    }

    /// Up to this many bytes that wait, no packet is marked.
    pub fn kmin(&self) -> u64 {
        self.kmin.or(PAPER.1[1]).0
    }

    /// Above this many, each is marked.
    pub fn kmax(&self) -> u64 {
        self.kmax.or(PAPER.1[2]).0
    }

    /// Bytes that may come by a link after XOFF has been passed.
    ///
    /// The packet that passes it may do so with all but its first byte. The frame waits for a packet whose
    /// transmission has just begun in the reverse direction, and takes its own time and the delay of the
    /// link; meanwhile the sender goes on, and it finishes the packet that it has just begun when the frame
    /// arrives; its last bytes are then one more delay away. The first term is not in 802.1Qbb's worst case:
    /// there a frame goes out as soon as the threshold is passed, here when the packet has arrived.
    fn headroom(link: &Link, back: &Link, full_packet: u64) -> u64 {
        let frame_out = back.rate.transmission(full_packet) + back.rate.transmission(u64::from(FRAME_BYTES));
        let blind = frame_out + back.delay + link.delay;
        let meanwhile = (u128::from(blind.0) * u128::from(link.rate.0)).div_ceil(u128::from(8 * SECOND));
        2 * full_packet + meanwhile as u64
    }
}

impl Settings for Lossless {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn offers(&self) -> &'static [Feature] {
        &[Feature::Ecn, Feature::Lossless]
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["kmin", "kmax", "pmax", "by_rate", "mark"]
    }

    fn classes(&self) -> u32 {
        CLASSES as u32
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Ecn => Some("kmin"),
            Feature::Lossless => Some("xoff"),
            _ => None,
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let (Some(kmin), Some(kmax)) = (self.kmin.given(), self.kmax.given())
            && kmax < kmin
        {
            problems.push(Problem::new("kmax", format!("is below kmin, {kmin}")));
        }
        let crossed = (0..).zip(&self.by_rate).filter(|(_, marks)| marks.kmax < marks.kmin);
        problems.extend(crossed.map(|(place, marks): (usize, &RateMarks)| {
            Problem::new(format!("by_rate.{place}.kmax"), format!("is below kmin, {}", marks.kmin))
        }));
        if let (Some(xon), Some(xoff)) = (self.xon, self.xoff.given())
            && xon > xoff
        {
            problems.push(Problem::new("xon", format!("{xon} is above xoff, {xoff}")));
        }
        problems
    }

    /// None is put on the wrong side of one that is given.
    fn derived(&self, environment: &Environment, _full_packet: u64) -> Values {
        let [xoff, mut kmin, mut kmax] = Lossless::fitting(environment.longest.rate);
        if environment.marks_as_share {
            kmin = Lossless::threshold(&environment.longest);
            kmax = kmin;
        }
        let mut values = Vec::new();
        if self.xoff == Derived::FromNetwork {
            values.push(("xoff".into(), json!(xoff.max(self.xon.unwrap_or_default()))));
        }
        if self.kmin == Derived::FromNetwork {
            values.push(("kmin".into(), json!(kmin.min(self.kmax.given().unwrap_or(kmin)))));
        }
        if self.kmax == Derived::FromNetwork {
            values.push(("kmax".into(), json!(kmax.max(self.kmin.given().unwrap_or(kmax)))));
        }
        values
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        marking(path, self, longest).into_iter().collect()
    }

    fn at_rate(&self, rate: Rate) -> Option<Queue> {
        let RateMarks { kmin, kmax, pmax, .. } = *self.by_rate.iter().find(|marks| marks.rate == rate)?;
        let (kmin, kmax) = (Derived::Given(kmin), Derived::Given(kmax));
        Some(Lossless { kmin, kmax, pmax, by_rate: Vec::new(), ..self.clone() }.into())
    }

    fn pauses(&self) -> bool {
        true
    }

    fn port_bytes(&self) -> usize {
        size_of::<[Waiting; CLASSES]>() + size_of::<Gate>() + size_of::<Stops>()
    }

    fn thresholds(&self, link: &Link, back: &Link, full_packet: u64, longest_packet: u64) -> Thresholds {
        let headroom =
            self.headroom.map_or_else(|| Lossless::headroom(link, back, longest_packet), |given| given.0);
        let xon = self.xon.map_or(self.xoff().saturating_sub(2 * full_packet), |given| given.0);
        let limit = u32::try_from(self.xoff() + headroom).unwrap_or(u32::MAX);
        Thresholds { xoff: self.xoff() as u32, xon: xon as u32, limit }
    }
}

/// Thresholds of marks for DCQCN that were made for slower links, or that pauses forestall.
fn marking(path: &str, queue: &Lossless, longest: &Longest) -> Option<Advice> {
    let (kmin, kmax, xoff) = (queue.kmin(), queue.kmax(), queue.xoff());
    let [_, fitting_kmin, fitting_kmax] = Lossless::fitting(longest.rate).map(|bytes| bytes.0);
    if kmin >= xoff {
        return Some(Advice {
            path: format!("{path}.kmin"),
            message: format!(
                "a sender is stopped when {} wait, before any packet is marked at {}: DCQCN never acts",
                size(xoff),
                size(kmin)
            ),
            write: format!("{path}.kmin = \"derived\""),
        });
    }
    // One threshold is not DCQCN's.
    (kmin < kmax && kmax * 2 <= fitting_kmax).then(|| Advice {
        path: format!("{path}.kmax"),
        message: format!(
            "kmin {} and kmax {} are those of slower links; in proportion to {} they are {} and {}",
            size(kmin),
            size(kmax),
            longest.rate,
            size(fitting_kmin),
            size(fitting_kmax)
        ),
        write: format!("{path}.kmax = \"derived\""),
    })
}

impl Build for Lossless {
    type Model = Model;

    fn model(&self, _full_packet: u64) -> Model {
        // Steeper than any finite line where both are the same.
        let (kmin, kmax) = (self.kmin(), self.kmax());
        let slope = self.pmax / (kmax - kmin) as f64;
        let on_dequeue = self.mark == MarkOn::Dequeue;
        Model { queues: Box::default(), occupied: 0, kmin, kmax, slope, on_dequeue }
    }

    /// Nothing is marked.
    fn at_host(&self, _full_packet: u64) -> Option<Model> {
        let (kmin, kmax) = (u64::MAX, u64::MAX);
        Some(Model { queues: Box::default(), occupied: 0, kmin, kmax, slope: 0.0, on_dequeue: false })
    }
}

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model {
    queues: Box<[Waiting; CLASSES]>,
    /// Classes of which something waits, a bit each.
    occupied: u8,
    kmin: u64,
    kmax: u64,
    /// Growth of the probability of a mark, for each byte above `kmin`.
    slope: f64,
    on_dequeue: bool,
}

impl Model {
    /// Marks a packet of a class in which so many bytes wait.
    #[inline]
    fn mark(&self, id: PacketId, waiting: u64, cx: &mut PortContext) {
        if waiting > self.kmin
            && (waiting > self.kmax || cx.stream.unit() < (waiting - self.kmin) as f64 * self.slope)
        {
            cx.mark(id);
        }
    }

    /// A packet that need not wait, where ports share memory.
    #[inline(never)]
    fn pass_shared(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        self.enqueue(id, cx);
        self.dequeue(cx)
    }
}

impl PortContext<'_> {
    /// A packet is to wait that came in by that link. False if not even the headroom has room for it.
    #[inline]
    pub fn take_in(&mut self, ingress: LinkId, class: usize, size: u32) -> bool {
        let Some(gate) = self.control.pauses.gates.get_mut(ingress.index()) else {
            // It is where it was made.
            return true;
        };
        let waiting = gate.waiting[class] + size;
        let above = if self.port.shares {
            let (memory, link) = (&mut self.control.memory, ingress.index());
            if !memory.take_in(link, class, size) {
                return false;
            }
            memory.is_above(link, class)
        } else if waiting > gate.thresholds.limit {
            return false;
        } else {
            waiting > gate.thresholds.xoff
        };
        gate.waiting[class] = waiting;
        if above && gate.wanted & 1 << class == 0 {
            gate.wanted |= 1 << class;
            self.after.pause(ingress);
        }
        true
    }

    /// A packet that was taken in goes on.
    #[inline]
    pub fn let_out(&mut self, packet: PacketId, class: usize, size: u32) {
        let ingress = self.arena[packet].ingress;
        let Some(gate) = self.control.pauses.gates.get_mut(ingress.index()) else {
            return;
        };
        gate.waiting[class] -= size;
        let below = if self.port.shares {
            self.control.memory.let_out(ingress.index(), class, size);
            self.control.memory.is_below(ingress.index(), class)
        } else {
            gate.waiting[class] <= gate.thresholds.xon
        };
        if gate.wanted & 1 << class != 0 && below {
            gate.wanted &= !(1 << class);
            self.after.pause(ingress);
        }
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let packet = &cx.arena[id];
        let (ingress, size, class) = (packet.ingress, packet.size, class_of(packet.header.class));
        if !cx.take_in(ingress, class, size) {
            return cx.drop(id, DropReason::Full);
        }
        cx.keep(size);
        self.queues[class].push(Queued { id, size });
        self.occupied |= 1 << class;
        if !self.on_dequeue {
            self.mark(id, self.queues[class].bytes(), cx);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let free = self.occupied & !cx.port.paused;
        if free == 0 {
            return None;
        }
        let class = free.trailing_zeros() as usize;
        let packet = self.queues[class].pop()?;
        if self.queues[class].is_empty() {
            self.occupied &= !(1 << class);
        }
        if self.on_dequeue {
            self.mark(packet.id, self.queues[class].bytes(), cx);
        }
        cx.let_out(packet.id, class, packet.size);
        Some(packet)
    }

    /// A packet that need not wait is not counted and not marked, except by memory that ports share: there it is counted
    /// on arrival, as it may have to pause its link.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        if cx.port.shares {
            return self.pass_shared(id, cx);
        }
        let packet = &cx.arena[id];
        let (size, class) = (packet.size, class_of(packet.header.class));
        if cx.port.paused & 1 << class != 0 {
            self.enqueue(id, cx);
            return None;
        }
        cx.keep(size);
        Some(Queued { id, size })
    }

    fn ahead(&self, class: u8) -> Option<u64> {
        Some(self.queues[..=class_of(class)].iter().map(Waiting::bytes).sum())
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.queues.iter().flat_map(Waiting::iter).for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::tests::FABRIC;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;
    use crate::units::Time;

    #[test]
    fn thresholds_of_dcqcn_fit_the_rate() {
        let queue = |fields: serde_json::Value| Lossless::deserialize(&fields).expect("a queue");
        let paper = queue(json!({"xoff": "200KB", "kmin": "5KB", "kmax": "200KB"}));
        let advice = marking("queue.lossless", &paper, &FABRIC).expect("those of 40 Gbps");
        assert!(
            advice.message.contains("in proportion to 100Gbps they are 12.5 KB and 500 KB"),
            "{}",
            advice.message
        );
        let slower = Longest { rate: Rate(40_000_000_000), ..FABRIC };
        assert_eq!(marking("queue.lossless", &paper, &slower), None);
        let late = queue(json!({"xoff": "200KB", "kmin": "400KB", "kmax": "1600KB"}));
        assert_eq!(marking("queue.lossless", &late, &FABRIC).expect("no marks").path, "queue.lossless.kmin");
    }

    /// For DCTCP one threshold: 75 KB at 25 Gbps (HPCC's run.py) and in proportion, 300 KB at 100 Gbps; a seventh of the
    /// bandwidth-delay product where that is more, 700 KB / 7. A step is no advice's business.
    #[test]
    fn dctcp_has_one_threshold() {
        for (gbps, bdp, kb) in [(25, 1_000, 75), (100, 154_000, 300), (10, 700_000, 100)] {
            let longest = Longest { rate: Rate(gbps * 1_000_000_000), bdp, ..FABRIC };
            let environment = |marks_as_share| Environment {
                longest,
                nearest_delay: Time::ZERO,
                marks_last_hop: true,
                marks_as_share,
                port_bytes: None,
                oversubscription: 1.0,
                demands: Vec::new(),
            };
            let values = Lossless::default().derived(&environment(true), 1500);
            let at =
                |field: &str| values.iter().find(|(name, _)| name == field).map(|(_, value)| value.clone());
            let step = Bytes(1000 * kb);
            assert_eq!((at("kmin"), at("kmax")), (Some(json!(step)), Some(json!(step))));
            let (kmin, kmax) = (Derived::Given(step), Derived::Given(step));
            let settled =
                Lossless { kmin, kmax, xoff: Derived::Given(Bytes(500_000)), ..Lossless::default() };
            assert_eq!(marking("queue.lossless", &settled, &longest), None);
            let ramp = Lossless::default().derived(&environment(false), 1500);
            assert!(ramp.iter().all(|(_, value)| *value != json!(step)));
        }
    }

    /// Between kmin and kmax packets are marked in proportion to the bytes above kmin (DCQCN paper, figure 5): of 3000 B
    /// between 1500 and 4500 half are, of one byte above kmin hardly any, above kmax all, at kmin none.
    #[test]
    fn marks_grow_from_kmin_on() {
        for (kmin, kmax, marks) in
            [(1500, 4500, 430..570), (2999, 5999, 0..5), (3000, 6000, 0..1), (1000, 2999, 1000..1001)]
        {
            let queue = Lossless {
                kmin: Derived::Given(Bytes(kmin)),
                kmax: Derived::Given(Bytes(kmax)),
                pmax: 1.0,
                ..Lossless::default()
            };
            let (mut model, mut at) = (queue.model(1500), FakePort::new(Rate(1_000_000_000)));
            at.comes(&mut model, 0);
            for _ in 0..1000 {
                at.comes(&mut model, flag::ECN_CAPABLE);
                at.leaves(&mut model);
            }
            assert!(
                marks.contains(&at.losses.marks),
                "{} marks between {kmin} and {kmax} B",
                at.losses.marks
            );
        }
    }
}
