//! Rates for all queues, computed anew when the offered rates change: shared parts of controllers of rates.
//!
//! Source: Sviridov, Bianco and Giaccone, "To sync or not to sync", Globecom 2018, section II-B. When a queue
//! fills or empties the controller reads the offered rates R, makes rates W of them whose rows and columns
//! sum to at most the rate of a host's link, and sends each host the new rates of its queues. The computation
//! of W is the [`Procedure`]. The paper leaves open how R is estimated: see [`Estimate`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cuts::{Narrow, narrow};
use super::rates::matrix::{Entry, HOSTS_MOST, Offered, Procedure};
use crate::engine::contract::controller::{Act, ControlContext, Controller, Order, Report};
use crate::ids::{NodeId, QueueId};
use crate::problem::Problem;
use crate::topology::{Fabric, Link};
use crate::units::Time;

/// The rate that a queue offers, as a share of its host's link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimate {
    /// 1 while it is not empty: its burst demands all of the link.
    #[default]
    Active,
    /// The bytes queued when the controller looks, over this time, at most 1.
    Backlog(#[schemars(extend("x-minimum" = "1us"))] Time),
    /// The rate at which bursts have arrived, averaged exponentially over this time, at most 1: as of the queue's last burst.
    Average(#[schemars(extend("x-minimum" = "1us"))] Time),
}

/// The least rate that a queue with something to send offers.
const OFFER_LEAST: f64 = 1e-6;

/// Why a network is not for rates that know of hosts' links alone: it has too many hosts for a matrix of them; or links of hosts
/// at different rates, of which a rate would be different shares; or links between switches that take less than hosts' rates may
/// sum to, so that what waits there would grow without end (section II of the paper: full bisection, no oversubscription).
pub fn unsuited(fabric: &Fabric) -> Vec<Problem> {
    let hosts = fabric.hosts as usize;
    let many = (hosts > HOSTS_MOST)
        .then(|| format!("is for at most {HOSTS_MOST} hosts, and the network has {hosts}"));
    let least = fabric.host_rate();
    let of_hosts = |link: &&Link| fabric.is_host(link.from) || fabric.is_host(link.to);
    let faster = fabric.links.iter().filter(of_hosts).find(|link| link.rate != least);
    let different = faster.map(|link| {
        let [from, to] = [link.from, link.to].map(|node| &fabric.nodes[node.index()].name);
        let rate = link.rate;
        format!("is for hosts whose links have one rate: {least} is the least, and from \"{from}\" to \"{to}\" it is {rate}")
    });
    let tight = || narrow(fabric, least).map(|narrow| too_narrow(fabric, &narrow));
    let tight = if many.is_none() && different.is_none() { tight() } else { None };
    many.into_iter().chain(different).chain(tight).map(|message| Problem::new("", message)).collect()
}

/// The message on a part of the network whose border is too narrow.
fn too_narrow(fabric: &Fabric, narrow: &Narrow) -> String {
    let Narrow { host, hosts, needs, has } = *narrow;
    let name = &fabric.nodes[host.index()].name;
    let who = if hosts == 1 {
        format!("\"{name}\"")
    } else {
        format!("\"{name}\" and the {} hosts beside it", hosts - 1)
    };
    format!(
        "is for networks that carry whatever hosts' links do: {who} may exchange up to {needs} with others, and the links between \
         have {has}; give these {needs}, or use flowtune, whose rates fit all links of a path"
    )
}

/// A queue that has had a burst.
#[derive(Clone, Copy, Debug)]
struct Queue {
    from: NodeId,
    to: NodeId,
    /// Factor of the offered rate.
    priority: f64,
    bytes: u64,
    /// The averaged rate of arrivals, as a share of the link, as of that time.
    average: f64,
    since: Time,
    /// Whether it is in the matrix.
    active: bool,
}

/// The rates of all queues.
pub struct Rates<P> {
    estimate: Estimate,
    interval: Time,
    offered: Offered,
    procedure: P,
    /// Of hosts' links, in bit/s.
    rates: Vec<f64>,
    queues: Vec<Option<Queue>>,
    /// Queues that may offer another rate than at the last computation.
    touched: Vec<QueueId>,
    /// When rates were last computed.
    computed: Option<Time>,
    /// Of rates, by destination: for the audit.
    sums: Vec<f64>,
}

impl<P: Procedure> Rates<P> {
    /// Of a network, before anything has happened; at least `interval` is from one computation to the next.
    pub fn new(procedure: P, estimate: Estimate, interval: Time, fabric: &Fabric) -> Rates<P> {
        let hosts = fabric.hosts as usize;
        let mut rates = vec![0.0; hosts];
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            rates[link.from.index()] = link.rate.0 as f64;
        }
        Rates {
            estimate,
            interval,
            offered: Offered::new(hosts),
            procedure,
            rates,
            queues: Vec::new(),
            touched: Vec::new(),
            computed: None,
            sums: vec![0.0; hosts],
        }
    }

    fn queue(&self, queue: QueueId) -> Option<&Queue> {
        self.queues.get(queue.index())?.as_ref()
    }

    fn on_report(&mut self, report: &Report, stream: u32) {
        match *report {
            Report::Burst { queue, from, to, bytes, priority, at, .. } => {
                if queue.index() >= self.queues.len() {
                    self.queues.resize(queue.index() + 1, None);
                }
                let priority = self.procedure.priority(usize::from(priority));
                let new = Queue { from, to, priority, bytes: 0, average: 0.0, since: at, active: false };
                let known = self.queues[queue.index()].get_or_insert(new);
                known.bytes += bytes;
                if let Estimate::Average(over) = self.estimate {
                    let share = bytes as f64 * 8.0 / (self.rates[from.index()] * over.seconds());
                    known.average = decayed(known, at, over) + share;
                    known.since = at;
                }
                if !known.active {
                    // The class of a queue is that of the flow that has made it active.
                    (known.active, known.priority) = (true, priority);
                    let offered = 1.0;
                    let entry = Entry {
                        order: stream,
                        queue: queue.0,
                        offered,
                        scaled: offered * priority,
                        rate: 0.0,
                    };
                    self.offered.insert(from.0 as u16, to.0 as u16, entry);
                }
                self.touched.push(queue);
            }
            Report::Sent { queue, bytes, .. } => {
                if let Some(Some(known)) = self.queues.get_mut(queue.index()) {
                    known.bytes = known.bytes.saturating_sub(u64::from(bytes));
                }
                self.touched.push(queue);
            }
            Report::Emptied { queue } => {
                if let Some(Some(known)) = self.queues.get_mut(queue.index())
                    && known.active
                {
                    known.active = false;
                    known.bytes = 0;
                    self.offered.remove(known.from.0 as u16, known.to.0 as u16);
                }
            }
            Report::Unused { .. } => {}
        }
    }

    /// Reads the offered rates that may have changed.
    fn estimate(&mut self, now: Time) {
        let touched = std::mem::take(&mut self.touched);
        if self.estimate != Estimate::Active {
            for &queue in &touched {
                let Some(known) = self.queue(queue).filter(|known| known.active) else { continue };
                let offered = match self.estimate {
                    Estimate::Active => 1.0,
                    Estimate::Backlog(over) => {
                        known.bytes as f64 * 8.0 / (self.rates[known.from.index()] * over.seconds())
                    }
                    Estimate::Average(over) => decayed(known, now, over),
                };
                let offered = offered.clamp(OFFER_LEAST, 1.0);
                let (from, to, scaled) = (known.from, known.to, offered * known.priority);
                self.offered.set(from.0 as u16, to.0 as u16, offered, scaled);
            }
        }
        self.touched = touched;
        self.touched.clear();
    }

    /// No host sends or receives more than its link takes.
    fn audit(&mut self, found: &mut Vec<String>, now: Time) {
        self.sums.fill(0.0);
        for row in 0..self.sums.len() {
            let of = self.offered.row(row as u16);
            let sum: f64 = of.entries.iter().map(|entry| entry.rate).sum();
            if !fits(sum) {
                found.push(format!("at {now}: the rates of host {row} sum to {sum}"));
            }
            for (entry, destination) in of.entries.iter().zip(&of.destinations) {
                self.sums[usize::from(*destination)] += entry.rate;
            }
        }
        for (column, sum) in self.sums.iter().enumerate().filter(|(_, sum)| !fits(**sum)) {
            found.push(format!("at {now}: the rates to host {column} sum to {sum}"));
        }
    }
}

/// By how much a sum of rates may exceed 1: rounding.
const SUM_MOST: f64 = 1e-9;

/// Whether a link takes that sum of rates. One that is no number does not fit.
fn fits(sum: f64) -> bool {
    sum <= 1.0 + SUM_MOST
}

/// The averaged rate of a queue at a later time.
fn decayed(queue: &Queue, now: Time, over: Time) -> f64 {
    queue.average * libm::exp(-((now - queue.since).0 as f64) / over.0 as f64)
}

impl<P: Procedure> Controller for Rates<P> {
    fn is_urgent(&self, report: &Report) -> bool {
        match report {
            Report::Burst { queue, .. } => {
                self.estimate != Estimate::Active || !self.queue(*queue).is_some_and(|known| known.active)
            }
            Report::Emptied { .. } => true,
            Report::Sent { .. } | Report::Unused { .. } => false,
        }
    }

    fn counts_packets(&self) -> bool {
        matches!(self.estimate, Estimate::Backlog(_))
    }

    fn act(&mut self, reports: &[Report], cx: &mut ControlContext) {
        for report in reports {
            let stream =
                if matches!(report, Report::Burst { .. }) { (cx.stream.bits() >> 32) as u32 } else { 0 };
            self.on_report(report, stream);
        }
        let next = self.computed.map_or(Time::ZERO, |at| at + self.interval);
        if next > cx.now {
            return cx.put_off(next);
        }
        self.computed = Some(cx.now);
        self.estimate(cx.now);
        for &source in self.procedure.update(&mut self.offered) {
            let order = |entry: &Entry| Order {
                host: NodeId(u32::from(source)),
                queue: QueueId(entry.queue),
                act: Act::Rate { share: entry.rate, label: None },
            };
            cx.orders.extend(self.offered.row(source).entries.iter().map(order));
        }
        if let Some(found) = cx.found.as_deref_mut() {
            self.audit(found, cx.now);
        }
    }

    fn heap_bytes(&self) -> usize {
        let own = self.queues.capacity() * size_of::<Option<Queue>>()
            + self.touched.capacity() * size_of::<QueueId>()
            + self.rates.capacity() * 2 * size_of::<f64>();
        own + self.offered.heap_bytes() + self.procedure.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::rates::sinkhorn::{Normaliser, Sinkhorn};
    use crate::engine::contract::controller::tests::FakeControl;
    use crate::ids::FlowId;
    use crate::topology::Generator;
    use crate::topology::single_switch::SingleSwitch;
    use crate::units::Rate;

    /// Time over which rates are averaged or a backlog is sent, and the bytes of a host's link in it: 1 Gbps.
    const OVER: Time = Time::from_us(100);
    const WHOLE: u64 = 12_500;

    fn rates(estimate: Estimate, interval: Time) -> (Rates<Normaliser>, FakeControl) {
        let fabric = SingleSwitch { hosts: 4, rate: Rate(1_000_000_000), ..SingleSwitch::default() }.build();
        let procedure = Normaliser::new(Sinkhorn::default(), 4);
        (Rates::new(procedure, estimate, interval, &fabric), FakeControl::new(Vec::new()))
    }

    /// A burst of queue 0, from host 0 to host 1.
    fn burst(bytes: u64, at: Time) -> Report {
        Report::Burst {
            queue: QueueId(0),
            from: NodeId(0),
            to: NodeId(1),
            flow: FlowId(0),
            bytes,
            packets: 1,
            link_bytes: 0,
            priority: 0,
            at,
        }
    }

    /// Offered load of queue 0 after it was read.
    fn offered(rates: &Rates<Normaliser>) -> f64 {
        rates.offered.row(0).entries[0].offered
    }

    /// Bursts of a quarter of what the link carries in T, at 0 and at T. By hand, averaged over T: at T it is a
    /// quarter of 1 + 1/e, and at 2T of (1 + 1/e) / e, to which a third burst adds 1: bursts count by their age, as of whenever
    /// the average was last brought up to date.
    #[test]
    fn the_average_forgets_by_age() {
        let (mut rates, mut room) = rates(Estimate::Average(OVER), Time::ZERO);
        let quarter = WHOLE / 4;
        let decay = libm::exp(-1.0);
        let mut reads = |time: Time, bursts: &[Report]| {
            room.now = time;
            room.act(&mut rates, bursts);
            offered(&rates)
        };
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        let twice = Time(2 * OVER.0);
        close(reads(Time::ZERO, &[burst(quarter, Time::ZERO)]), 0.25);
        close(reads(OVER, &[burst(quarter, OVER)]), 0.25 * (1.0 + decay));
        let sent = Report::Sent { queue: QueueId(0), flow: FlowId(0), bytes: 1, granted: None };
        close(reads(twice, &[sent]), 0.25 * (1.0 + decay) * decay);
        close(reads(twice, &[burst(quarter, twice)]), 0.25 * (1.0 + (1.0 + decay) * decay));
    }

    /// A backlog of 5000 B takes 40 % of 100 us; when 1250 B have gone, 30 %. More than 100 us take is 1, nothing the least.
    #[test]
    fn the_backlog_is_what_waits() {
        let (mut rates, mut room) = rates(Estimate::Backlog(OVER), Time::ZERO);
        let sent = |bytes| Report::Sent { queue: QueueId(0), flow: FlowId(0), bytes, granted: None };
        for (report, expected) in [
            (burst(5000, Time::ZERO), 0.4),
            (sent(1250), 0.3),
            (burst(100_000, Time::ZERO), 1.0),
            (sent(103_750), OFFER_LEAST),
        ] {
            room.act(&mut rates, &[report]);
            assert!((offered(&rates) - expected).abs() < 1e-12, "{report:?}: {}", offered(&rates));
        }
    }

    /// A queue that has emptied is out of the matrix, and its next burst counts alone.
    #[test]
    fn a_queue_is_in_the_matrix_while_it_has_something() {
        let (mut rates, mut room) = rates(Estimate::Backlog(OVER), Time::ZERO);
        room.act(&mut rates, &[burst(5000, Time::ZERO)]);
        room.act(&mut rates, &[Report::Emptied { queue: QueueId(0) }]);
        assert!(rates.offered.row(0).entries.is_empty());
        room.act(&mut rates, &[burst(2500, Time::ZERO)]);
        assert!((offered(&rates) - 0.2).abs() < 1e-12, "{}", offered(&rates));
    }

    /// From one computation to the next is an interval; reports received before count then.
    #[test]
    fn computations_are_an_interval_apart() {
        let (mut rates, mut room) = rates(Estimate::Active, OVER);
        assert_eq!(room.act(&mut rates, &[burst(1, Time::ZERO)]).len(), 1);
        room.now = Time(OVER.0 - 1);
        assert_eq!(room.act(&mut rates, &[Report::Emptied { queue: QueueId(0) }]), []);
        assert_eq!((room.wake, rates.computed), (OVER, Some(Time::ZERO)));
        room.now = OVER;
        room.act(&mut rates, &[]);
        assert_eq!((room.wake, rates.computed), (Time::NEVER, Some(OVER)));
    }
}
