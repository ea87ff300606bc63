//! Distributions: ports' occupancy over time by tier, and packets' latency by the number of links that they cross.
//!
//! Counted in the buckets of an HDR histogram with three digits: no value is off by more than one in a thousand.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::contract::observer::{Observer, PacketAt, Point, Points, View};
use crate::engine::contract::packet::flag;
use crate::ids::LinkId;
use crate::records::{Column, Table, Values, histograms};
use crate::topology::Fabric;
use crate::traffic::window::Window;
use crate::units::Time;

/// Sampling interval of ports; every packet's latency counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Histograms {
    /// Time from one sample of the ports to the next.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub every: Time,
}

impl Default for Histograms {
    fn default() -> Self {
        Histograms { every: Time::from_us(1) }
    }
}

/// Counts distributions.
pub struct Distributions {
    every: Time,
    next: Time,
    /// The measuring window: its start and its end.
    window: (Time, Time),
    tiers: Vec<String>,
    /// By link, which of the tiers.
    tier_of: Vec<u32>,
    /// By link, whether it ends at a host.
    ends_at_host: Vec<bool>,
    /// By tier, how many links it has.
    links: Vec<u64>,
    /// By tier.
    queues: Vec<Histogram<u64>>,
    /// By number of links: at the server, and in the network.
    latencies: Vec<Option<[Histogram<u64>; 2]>>,
}

/// The words of the column `metric`.
const METRICS: [&str; 3] = ["queue_bytes", "server_ps", "network_ps"];

fn empty() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are few enough")
}

impl Distributions {
    /// Before the run.
    pub fn new(wanted: &Histograms, fabric: &Fabric, window: &Window) -> Distributions {
        let mut tiers: Vec<String> = Vec::new();
        let mut index = |tier: String| match tiers.iter().position(|known| *known == tier) {
            Some(index) => index as u32,
            None => {
                tiers.push(tier);
                tiers.len() as u32 - 1
            }
        };
        let tier_of: Vec<u32> = fabric.links.iter().map(|link| index(fabric.tier_of(link))).collect();
        let mut links = vec![0; tiers.len()];
        tier_of.iter().for_each(|&tier| links[tier as usize] += 1);
        let queues = tiers.iter().map(|_| empty()).collect();
        Distributions {
            every: wanted.every,
            next: window.from.saturating_add(wanted.every),
            window: (window.from, window.until),
            tiers,
            tier_of,
            ends_at_host: fabric.links.iter().map(|link| fabric.is_host(link.to)).collect(),
            links,
            queues,
            latencies: Vec::new(),
        }
    }

    /// The time of a look if the window has it.
    fn within(&self, look: Time) -> Time {
        if look > self.window.1 { Time::NEVER } else { look }
    }

    /// Every bucket that holds something, by metric, class, value.
    pub fn into_table(self) -> Table {
        let mut rows = Rows::default();
        for (tier, histogram) in self.tiers.into_iter().zip(&self.queues) {
            rows.add(0, tier, histogram);
        }
        for part in 0..2 {
            for (links, histograms) in self.latencies.iter().enumerate() {
                if let Some(histograms) = histograms {
                    rows.add(1 + part as u32, format!("{links} links"), &histograms[part]);
                }
            }
        }
        rows.into_table()
    }
}

#[derive(Default)]
struct Rows {
    metrics: Vec<u32>,
    classes: Vec<u32>,
    words: Vec<String>,
    lows: Vec<u64>,
    highs: Vec<u64>,
    counts: Vec<u64>,
}

impl Rows {
    fn add(&mut self, metric: u32, class: String, histogram: &Histogram<u64>) {
        let known = self.words.iter().position(|word| *word == class);
        let class = known.unwrap_or_else(|| {
            self.words.push(class);
            self.words.len() - 1
        });
        for bucket in histogram.iter_recorded() {
            let value = bucket.value_iterated_to();
            self.metrics.push(metric);
            self.classes.push(class as u32);
            self.lows.push(histogram.lowest_equivalent(value));
            self.highs.push(histogram.highest_equivalent(value));
            self.counts.push(bucket.count_at_value());
        }
    }

    fn into_table(self) -> Table {
        let column = |definition, values| Column { definition, values, valid: None };
        let words = METRICS.map(String::from).to_vec();
        Table {
            name: "histograms",
            columns: vec![
                column(&histograms::metric, Values::Text { codes: self.metrics, words }),
                column(&histograms::class, Values::Text { codes: self.classes, words: self.words }),
                column(&histograms::low, Values::U64(self.lows)),
                column(&histograms::high, Values::U64(self.highs)),
                column(&histograms::count, Values::U64(self.counts)),
            ],
        }
    }
}

impl Observer for Distributions {
    fn next_look(&self) -> Time {
        self.next
    }

    fn look(&mut self, at: Time, view: &mut View) {
        if view.is_empty() {
            // As many looks as there are before anything happens find the same.
            let looks = (view.quiet_until().min(self.window.1) - at).0 / self.every.0 + 1;
            for (histogram, &links) in self.queues.iter_mut().zip(&self.links) {
                histogram.record_n(0, links * looks).expect("it grows as needed");
            }
            self.next = self.within(at.saturating_add(Time(looks.saturating_mul(self.every.0))));
            return;
        }
        for (link, &tier) in self.tier_of.iter().enumerate() {
            let bytes = view.port(LinkId(link as u32)).bytes;
            self.queues[tier as usize].record(bytes).expect("it grows as needed");
        }
        self.next = self.within(at.saturating_add(self.every));
    }

    fn points(&self) -> Points {
        Points::ARRIVED
    }

    fn watches_link(&self, link: LinkId) -> bool {
        self.ends_at_host[link.index()]
    }

    /// Data that has arrived whole.
    fn see(&mut self, at: Time, point: &Point) {
        let Point::Packet(_, PacketAt { packet, is_last, .. }) = *point else { return };
        let (from, until) = self.window;
        if at < from || at > until {
            return;
        }
        if !is_last || packet.has(flag::CONTROL) || packet.has(flag::TRIMMED) {
            return;
        }
        let links = packet.hops as usize;
        if self.latencies.len() <= links {
            self.latencies.resize_with(links + 1, || None);
        }
        let [server, network] = self.latencies[links].get_or_insert_with(|| [empty(), empty()]);
        let parts = [(server, packet.wire_at - packet.created_at), (network, at - packet.wire_at)];
        for (histogram, time) in parts {
            histogram.record(time.0).expect("it grows as needed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::FakeHost;
    use crate::engine::contract::host::{Host, Toward};
    use crate::engine::contract::observer::{ConnAt, Step};
    use crate::engine::contract::packet::{Header, Packet};
    use crate::ids::ConnId;

    /// A packet made at 10 us, on its host's wire from 17 us on, there at 40 us: 7 us at the server, 23 us in the
    /// network. Where it is not at its end, or comes without payload, it does not count.
    #[test]
    fn the_network_is_from_the_first_wire_to_the_last_bit() {
        let mut host = FakeHost::pair(1000);
        let mut found = Distributions::new(&Histograms::default(), &host.fabric(), &Window::whole(None));
        host.now = Time::from_us(10);
        let made = host.packet(ConnId(0), Toward::Receiver, 1500, 0, Header::default());
        let mut arrive = |hops, flags, is_last| {
            let packet = Packet { wire_at: Time::from_us(17), hops, flags, ..made };
            let conn = ConnAt::of(&host.conns, ConnId(0));
            let arrival = PacketAt { link: LinkId(0), packet, conn, queue: None, is_last };
            found.see(Time::from_us(40), &Point::Packet(Step::Arrived, arrival));
        };
        arrive(2, 0, false);
        arrive(3, flag::CONTROL, true);
        arrive(3, flag::TRIMMED, true);
        arrive(3, 0, true);
        let [None, None, None, Some([server, network])] = &found.latencies[..] else {
            panic!("not just packets over three links")
        };
        assert_eq!((server.len(), server.count_at(Time::from_us(7).0)), (1, 1));
        assert_eq!((network.len(), network.count_at(Time::from_us(23).0)), (1, 1));
    }
}
