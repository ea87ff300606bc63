//! Estimate of a run's memory and work before it runs, so that a run that is out of reach is refused at once.
//!
//! An estimate, not a bound: it supposes that flows share their hosts' links fairly and that nothing is
//! retransmitted. The engine checks the same limits again as it runs.

use serde::Serialize;

use crate::engine::contract::members::Members;
use crate::engine::run::memory::{
    CONN_BYTES, FLOW_BYTES, PACKET_BYTES, RECORD_BYTES, least_network_bytes, network_bytes,
};
use crate::ids::NodeId;
use crate::observe::events;
use crate::observe::samples::{ROW_BYTES, SERIES_OF_FLOW, SERIES_OF_LINK, Sampler};
use crate::observe::{Recorders, capture};
use crate::problem::Problem;
use crate::queue::Feature;
use crate::routing;
use crate::scenario::Scenario;
use crate::setup::Setup;
use crate::topology::Fabric;
use crate::traffic::{self, FLOWS_MAX, Flow};
use crate::transport::Profile;
use crate::units::{SECOND, Time};

/// A sender's memory for a packet of its window.
const SENT_BYTES: f64 = 32.0;

/// A flow is taken to last so many times as long as its bytes take on its host's wire.
const STRETCH: f64 = 3.0;
/// And no less than this, for timers that outlive it.
const LINGER: f64 = 1e-3;
/// Events of a packet at a link: it joins a port, starts and arrives; and one of its flow's windows, timers or marks.
const EVENTS_A_HOP: f64 = 4.0;
/// Loads above it are taken for this one.
const LOAD_MOST: f64 = 0.9;
/// Parts of the time for which active flows are counted.
const SLICES: usize = 1024;
/// A port to a receiver that is sent so many times what it holds loses most of it.
const CROWD: u64 = 8;
/// Pairs of hosts that stand for all when paths are measured.
const PATHS: usize = 1000;

/// Needs of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Memory at its peak, without the program itself.
    pub memory_bytes: u64,
    /// Links crossed by packets of any kind.
    pub packet_hops: u64,
    /// Simulated time.
    pub end_ps: u64,
    pub sample_rows: u64,
    /// Looks at ports, for samples and histograms.
    pub port_looks: u64,
}

impl Estimate {
    /// For a run that has been set up.
    pub fn new(scenario: &Scenario, setup: &Setup) -> Estimate {
        let asked = Asked::of(scenario, setup);
        let recorders = Recorders::new(&scenario.observe, &setup.fabric, &setup.carriers, &setup.traffic);
        let observe = &scenario.observe;
        let (mut sample_rows, mut port_looks) = (0, 0u64);
        if let (Some(samples), Some(sampler)) = (&observe.samples, &recorders.sampler) {
            let looks = span_of_looks(setup, asked.end).0 / samples.every.0;
            let backlogs = if setup.controller.is_some() { sampler.host_links() } else { 0 };
            let of_links = looks.saturating_mul(sampler.links() * SERIES_OF_LINK + backlogs);
            let of_flows = looks_at_flows(setup, sampler, samples.every, asked.end) * SERIES_OF_FLOW;
            sample_rows = of_links.saturating_add(of_flows).min(samples.rows_limit);
            port_looks = looks.saturating_mul(sampler.links()).min(samples.rows_limit);
        }
        if let Some(histograms) = &observe.histograms {
            let looks = asked.end.0 / histograms.every.0;
            port_looks = port_looks.saturating_add(looks.saturating_mul(setup.fabric.links.len() as u64));
        }
        let captured = observe.capture.as_ref().map_or(0, |capture| {
            u64::from(capture.packet_limit).min(asked.packet_hops as u64) * capture::PACKET_BYTES
        });
        let events = observe.events.as_ref().zip(recorders.recorder.as_ref());
        let recorded = events.map_or(0, |(wanted, recorder)| {
            let rows = (asked.packet_hops * EVENTS_A_HOP * recorder.share()) as u64;
            rows.min(wanted.rows_limit) * events::ROW_BYTES
        });
        let packet_bytes = PACKET_BYTES + if setup.has_records() { RECORD_BYTES } else { 0 };
        let memory = network_bytes(&setup.fabric, &setup.routes, setup.queue.port_bytes())
            + asked.flows * FLOW_BYTES
            + asked.connection_bytes
            + (asked.packets_under_way * packet_bytes as f64 + asked.windows * SENT_BYTES) as u64
            + sample_rows * ROW_BYTES
            + captured
            + recorded;
        Estimate {
            memory_bytes: memory,
            packet_hops: asked.packet_hops as u64,
            end_ps: asked.end.0,
            sample_rows,
            port_looks,
        }
    }

    /// Why the run is refused, if it is.
    pub fn refusal(&self, scenario: &Scenario) -> Option<Problem> {
        let run = &scenario.run;
        if let Some(problem) = run.too_much_memory(self.memory_bytes) {
            return Some(problem);
        }
        if self.packet_hops > run.work_limit {
            let what = format!(
                "{} packet-hops (some {} of computing, for {} simulated)",
                count(self.packet_hops as f64),
                span(self.packet_hops as f64 / HOPS_A_SECOND),
                span(Time(self.end_ps).seconds()),
            );
            let instead = "use fewer or shorter flows, or an earlier run.until";
            return Some(run.refused("work_limit", count(run.work_limit as f64), what, instead));
        }
        if self.port_looks > run.work_limit {
            let looks = count(self.port_looks as f64);
            let what = format!("{looks} looks at ports for {} simulated", span(Time(self.end_ps).seconds()));
            let instead = "observe fewer links or less often";
            return Some(run.refused("work_limit", count(run.work_limit as f64), what, instead));
        }
        None
    }
}

/// Memory that a run takes at least, known before its flows are drawn and its routes laid out.
pub fn least(scenario: &Scenario, fabric: &Fabric) -> u64 {
    let drawn = traffic::flows_drawn(&scenario.demands(), fabric).saturating_mul(FLOW_BYTES);
    least_network_bytes(fabric.counts()) + routing::cells(fabric) * size_of::<u32>() as u64 + drawn
}

/// Why a run takes more than is estimated, if that is known: retransmissions, which the estimate leaves out, or a load that
/// the network does not carry.
pub fn why_least(scenario: &Scenario, setup: &Setup, overloaded: bool) -> Option<String> {
    if overloaded {
        let why = "the network does not carry the load: flows pile up, so that they end later, and while they do others arrive";
        return Some(why.into());
    }
    let host = crowd(scenario, setup)?;
    let name = &setup.fabric.nodes[host.index()].name;
    Some(format!(
        "flows to {name} begin within a round trip and send more than its port holds: retransmissions and timeouts, which no \
         estimate has, come on top, and may take many times as long"
    ))
}

/// The first host to which several flows that begin within a round trip send more at once than the port to it holds, by the
/// first window of each. The largest of these windows alone would pass, at the rate of its sender.
fn crowd(scenario: &Scenario, setup: &Setup) -> Option<NodeId> {
    /// Flows to a host that begin within a round trip.
    #[derive(Clone, Copy, Default)]
    struct Group {
        first: Time,
        packets: u64,
        largest: u64,
    }
    // Where nothing is dropped a burst waits its turn; of trimmed packets the headers arrive.
    const SPARES: [Feature; 4] = [Feature::Trimming, Feature::Lossless, Feature::Credits, Feature::Unlimited];
    if setup.queue.offers().iter().any(|feature| SPARES.contains(feature)) {
        return None;
    }
    let holds = setup.queue.most_packets(scenario.full_packet())?;
    let profiles = setup.profiles.iter().zip(&setup.longest);
    let bursts: Vec<Option<(u64, u64, Time)>> = profiles
        .map(|(profile, longest)| {
            let burst = profile.initial_burst.or(profile.in_flight_max)?;
            Some((burst, profile.framing?.payload.max(1), longest.round_trip))
        })
        .collect();
    let mut groups = vec![Group::default(); setup.fabric.hosts as usize];
    let crowds = |flow: &&Flow| {
        let transport = setup.carriers[flow.entry as usize].transport;
        let Some((burst, payload, round_trip)) = bursts[usize::from(transport)] else { return false };
        let group = &mut groups[flow.dst.index()];
        if flow.start.saturating_sub(group.first) > round_trip {
            *group = Group { first: flow.start, ..Group::default() };
        }
        let packets = flow.size.div_ceil(payload).min(burst);
        group.packets += packets;
        group.largest = group.largest.max(packets);
        group.packets - group.largest > CROWD * holds
    };
    setup.traffic.flows[..setup.traffic.timed].iter().find(crowds).map(|flow| flow.dst)
}

/// A processor's work in a second, as docs/benchmarks.md has it, in round figures.
const HOPS_A_SECOND: f64 = 5e6;

/// Sums over the traffic.
struct Asked {
    flows: u64,
    /// Memory of the connections of the most flows that are active at a time.
    connection_bytes: u64,
    packets_under_way: f64,
    /// Packets that senders must keep.
    windows: f64,
    packet_hops: f64,
    end: Time,
}

impl Asked {
    fn of(scenario: &Scenario, setup: &Setup) -> Asked {
        let Setup { fabric, traffic, .. } = setup;
        let rates = host_rates(fabric);
        let sources = Sources::of(scenario, setup, &rates);
        let end = end_of_run(setup, &rates, &sources);
        let last = Time((end * SECOND as f64) as u64);
        let started = || traffic.flows.iter().filter(|flow| flow.start == Time::NEVER || flow.start <= last);

        // Until then no host sends more than its wire takes.
        let mut payload = sources.payload[0].clone();
        payload.iter_mut().zip(&sources.payload[1]).for_each(|(own, background)| *own += background);
        let (mut bytes, mut packets) = (sources.bytes, sources.packets);
        for flow in started() {
            bytes += flow.size as f64;
            packets += packets_of(flow, setup);
            payload[flow.src.index()] += flow.size as f64;
        }
        let capped = |(rate, payload): (&f64, &f64)| payload.min(rate / 8.0 * end);
        let payload: f64 = rates.iter().zip(&payload).map(capped).sum();
        let drawn = sources.drawn;

        let shape = Shape::of(scenario, setup);
        // Of what is sent until then.
        let packets = if bytes > 0.0 { packets * payload / bytes } else { 0.0 };
        let flows = traffic.flows.len() as u64 + (drawn.min(FLOWS_MAX as f64)) as u64;
        let live = active_flows(started(), &rates, end) + drawn.min(traffic.chains.len() as f64) as u64;
        let mean_packets = (packets / (flows.max(1) as f64)).ceil();
        let wires = fabric.links.iter().map(|link| {
            let on_wire = link.rate.0 as f64 * link.delay.seconds() / 8.0 / shape.full_packet;
            on_wire + if fabric.is_host(link.from) { 0.0 } else { shape.queue.unwrap_or(0.0) }
        });
        let room: f64 = wires.sum();
        let windows = shape.window.map(|window| live as f64 * window.min(mean_packets));
        let packets_under_way = match (windows, shape.queue) {
            (Some(windows), Some(_)) => windows.min(room),
            (Some(windows), None) => windows,
            (None, _) => room.min(packets),
        };
        Asked {
            flows,
            connection_bytes: (live as f64 * shape.connection_bytes) as u64,
            packets_under_way,
            windows: windows.unwrap_or(0.0),
            packet_hops: packets * (1.0 + shape.answers) * shape.links,
            end: Time((end * 1e12) as u64),
        }
    }
}

/// Flows that sources draw during the run, in the time that it may take.
struct Sources {
    /// When the run stops at the latest, in seconds.
    limit: f64,
    /// Payload of each host, of flows that the run waits for, and in the background.
    payload: [Vec<f64>; 2],
    bytes: f64,
    packets: f64,
    drawn: f64,
}

impl Sources {
    fn of(scenario: &Scenario, setup: &Setup, rates: &[f64]) -> Sources {
        let chains = &setup.traffic.chains;
        let until = end_of_window(setup).into_iter().chain(scenario.run.until).min();
        let limit = until.map_or(f64::INFINITY, Time::seconds);
        let payload = [vec![0.0; rates.len()], vec![0.0; rates.len()]];
        let mut sources = Sources { limit, payload, bytes: 0.0, packets: 0.0, drawn: 0.0 };
        for chain in 0..chains.len() as u32 {
            let (host, entry) = (chains.host(chain).index(), chains.entry(chain));
            let mean = scenario.traffic[entry as usize].sizes.mean();
            let possible = rates[host] / 8.0 * limit / mean.max(1.0);
            let flows = chains.flows_max(chain).map_or(f64::INFINITY, |most| most as f64).min(possible);
            sources.drawn += flows;
            let counted = flows.min(FLOWS_MAX as f64);
            sources.bytes += counted * mean;
            sources.packets += counted * (mean / payload_of(entry, setup)).ceil();
            sources.payload[usize::from(is_background(setup, entry))][host] += flows * mean;
        }
        sources
    }
}

/// Whether the run does not wait for an entry's flows.
fn is_background(setup: &Setup, entry: u32) -> bool {
    setup.carriers[entry as usize].background || setup.traffic.window.ends()
}

/// When the run ends, in seconds: with the last flow that it waits for, which is taken to start last and to be the last of its
/// host's, to send or to receive.
fn end_of_run(setup: &Setup, rates: &[f64], sources: &Sources) -> f64 {
    let (mut sent, mut received) = (sources.payload[0].clone(), vec![0.0; rates.len()]);
    let until = Time((sources.limit * SECOND as f64) as u64);
    let mut last_start = Time::ZERO;
    for flow in setup.traffic.flows.iter().filter(|flow| !is_background(setup, flow.entry)) {
        if flow.start != Time::NEVER {
            if flow.start > until {
                continue;
            }
            last_start = last_start.max(flow.start);
        }
        sent[flow.src.index()] += flow.size as f64;
        received[flow.dst.index()] += flow.size as f64;
    }
    if sent.iter().all(|bytes| *bytes <= 0.0) {
        return sources.limit;
    }
    let busy =
        |bytes: &[f64]| bytes.iter().zip(rates).map(|(bytes, rate)| bytes * 8.0 / rate).fold(0.0, f64::max);
    sources.limit.min(last_start.seconds() + busy(&sent).max(busy(&received)))
}

/// When the last measured flow ends, where the run does not wait for others: no sooner than the window, each flow with its
/// share of the links of its hosts at that load, of which headers and answers are a part.
fn end_of_window(setup: &Setup) -> Option<Time> {
    let Setup { fabric, traffic, .. } = setup;
    if !traffic.window.ends() {
        return None;
    }
    let rates = host_rates(fabric);
    let loads = traffic.entries.iter().filter_map(|entry| entry.offered_load);
    let flows = &traffic.flows[..traffic.timed];
    let bytes: f64 = flows.iter().map(|flow| flow.size as f64).sum();
    let on_wire: f64 = flows.iter().map(|flow| bytes_on_wire(flow, setup)).sum();
    let stretch = stretch(loads.sum::<f64>() * on_wire / bytes.max(1.0));
    let ends = flows
        .iter()
        .filter(|flow| traffic.window.has(flow.start))
        .map(|flow| flow.start.seconds() + 8.0 * flow.size as f64 / rates[flow.src.index()] * stretch);
    let last = ends.fold(traffic.window.until.seconds(), f64::max);
    Some(Time((last * SECOND as f64) as u64))
}

/// How many times as long flows take as alone, if they share the links of their source and of their destination.
///
/// By processor sharing, N others are at a link of load r with probability (1 - r) r^N; of two such links the one with more
/// others counts, and the mean of the greater number is 2 r / (1 - r) - r^2 / (1 - r^2).
fn stretch(load: f64) -> f64 {
    let load = load.min(LOAD_MOST);
    1.0 + 2.0 * load / (1.0 - load) - load * load / (1.0 - load * load)
}

/// Payload of a full packet of an entry's transport; where lengths are drawn, of one of the mean length.
fn payload_of(entry: u32, setup: &Setup) -> f64 {
    let profile = &setup.profiles[usize::from(setup.carriers[entry as usize].transport)];
    profile.framing.map_or(profile.packet_mean, |framing| framing.payload).max(1) as f64
}

/// Data packets of a flow.
fn packets_of(flow: &Flow, setup: &Setup) -> f64 {
    (flow.size as f64 / payload_of(flow.entry, setup)).ceil()
}

/// A flow's packets and their answers, which other flows have in the same direction.
fn bytes_on_wire(flow: &Flow, setup: &Setup) -> f64 {
    let profile = &setup.profiles[usize::from(setup.carriers[flow.entry as usize].transport)];
    let packets = packets_of(flow, setup);
    let data = match profile.framing {
        Some(framing) if framing.pad_last => packets * profile.full_packet as f64,
        Some(framing) => flow.size as f64 + packets * framing.header as f64,
        None => packets * profile.packet_mean as f64,
    };
    data + packets * profile.answers_per_packet * profile.answer_bytes as f64
}

/// The part of a run that ends then in which samples are taken.
fn span_of_looks(setup: &Setup, end: Time) -> Time {
    let window = &setup.traffic.window;
    end.min(window.until).saturating_sub(window.from)
}

/// How often samples find one of the flows that they follow, each from its start for so long as it is taken to last.
fn looks_at_flows(setup: &Setup, sampler: &Sampler, every: Time, end: Time) -> u64 {
    let Setup { fabric, traffic, .. } = setup;
    let rates = host_rates(fabric);
    let (from, until) = (traffic.window.from, end.min(traffic.window.until));
    let looks = |flow: &Flow| {
        let start = if flow.start == Time::NEVER { from } else { flow.start };
        let over = start.saturating_add(lasts(flow, &rates));
        let open = over.min(until).saturating_sub(start.max(from));
        (over >= from && start <= until).then_some(open.0 / every.0 + 1)
    };
    let wanted = traffic.flows.iter().filter(|flow| sampler.wants(flow.entry));
    let most = usize::try_from(sampler.flows_max()).unwrap_or(usize::MAX);
    let drawn = wanted.filter_map(looks).take(most).fold(0, u64::saturating_add);
    // Sources that draw their flows during the run have one open most of the time.
    let sources =
        (0..traffic.chains.len() as u32).filter(|&chain| sampler.wants(traffic.chains.entry(chain)));
    let sources = (sources.count() as u64).min(sampler.flows_max());
    drawn.saturating_add(sources.saturating_mul(span_of_looks(setup, end).0 / every.0))
}

/// How long a flow is taken to last.
fn lasts(flow: &Flow, rates: &[f64]) -> Time {
    let seconds = STRETCH * flow.size as f64 * 8.0 / rates[flow.src.index()];
    Time((seconds * SECOND as f64) as u64)
}

/// Flows at most that are active together, if each takes its share of its host's link.
fn active_flows<'a>(flows: impl Iterator<Item = &'a Flow>, rates: &[f64], end: f64) -> u64 {
    let mut changes = vec![0i64; SLICES + 1];
    let slice = |seconds: f64| ((seconds / end.max(1e-12) * SLICES as f64) as usize).min(SLICES);
    let mut waiting = 0;
    for flow in flows {
        if flow.start == Time::NEVER {
            waiting += 1;
            continue;
        }
        let lasts = lasts(flow, rates).seconds().max(LINGER);
        let start = flow.start.seconds();
        changes[slice(start)] += 1;
        if start + lasts < end {
            // A flow that ends in a slice was active in it.
            changes[(slice(start + lasts) + 1).min(SLICES)] -= 1;
        }
    }
    let mut now = 0;
    let most = changes.iter().map(|change| {
        now += change;
        now
    });
    // The number of active ones among flows that wait for others is unknown: those of one round, an assumed
    // tenth.
    most.max().unwrap_or(0) as u64 + waiting / 10
}

/// Bits per second that each host can send.
pub fn host_rates(fabric: &Fabric) -> Vec<f64> {
    let mut rates = vec![0.0; fabric.hosts as usize];
    for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
        rates[link.from.index()] += link.rate.0 as f64;
    }
    rates
}

/// Average packets over the entries.
struct Shape {
    full_packet: f64,
    answers: f64,
    /// Memory of a flow's connections.
    connection_bytes: f64,
    /// Full packets that a flow may have in flight.
    window: Option<f64>,
    /// Full packets that a port holds.
    queue: Option<f64>,
    /// Links of a path.
    links: f64,
}

impl Shape {
    fn of(scenario: &Scenario, setup: &Setup) -> Shape {
        let profiles = setup.carriers.iter().map(|carrier| &setup.profiles[carrier.transport as usize]);
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let connections =
            |profile: &Profile| (1 + profile.subflows) * (CONN_BYTES + profile.connection_bytes);
        let full_packet = scenario.full_packet();
        let windows: Option<Vec<f64>> =
            profiles.clone().map(|profile| profile.in_flight_max.map(|most| most as f64)).collect();
        Shape {
            full_packet: full_packet as f64,
            answers: mean(profiles.clone().map(|profile| profile.answers_per_packet).collect()),
            connection_bytes: mean(profiles.map(|profile| connections(profile) as f64).collect()),
            window: windows.map(mean),
            queue: setup.queue.most_packets(full_packet).map(|most| most as f64),
            links: mean_links(setup),
        }
    }
}

/// Links of a shortest path between the hosts of a flow, on average over some flows; of all hosts if there is none yet.
fn mean_links(setup: &Setup) -> f64 {
    let Setup { fabric, routes, traffic, .. } = setup;
    let step = (traffic.flows.len() / PATHS).max(1);
    let pairs: Vec<_> = match traffic.flows.is_empty() {
        false => traffic.flows.iter().step_by(step).map(|flow| (flow.src, flow.dst)).collect(),
        true => (1..fabric.hosts.min(PATHS as u32)).map(|host| (NodeId(0), NodeId(host))).collect(),
    };
    let lengths = pairs.iter().map(|&(from, to)| routes.distance(fabric, from, to));
    lengths.sum::<u32>() as f64 / pairs.len().max(1) as f64
}

fn count(number: f64) -> String {
    match number {
        ..1e6 => format!("{number:.0}"),
        ..1e9 => format!("{:.1} million", number / 1e6),
        ..1e12 => format!("{:.1} billion", number / 1e9),
        ..1e15 => format!("{:.0} trillion", number / 1e12),
        _ => format!("{number:.0e}"),
    }
}

fn span(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.0} us", seconds * 1e6),
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..180.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        ..172_800.0 => format!("{:.0} hours", seconds / 3600.0),
        ..1e8 => format!("{:.0} days", seconds / 86_400.0),
        _ => format!("{:.0} years", seconds / 3.156e7),
    }
}
