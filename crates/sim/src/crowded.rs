//! Advice on links that the flows of given pairs of hosts crowd: a load is a share of the links of all senders, or of all
//! receivers, and one link may be offered much more of it.

use rustc_hash::FxHashMap;

use crate::advice::{Advice, NEARLY, Offer};
use crate::balancer::Balancer;
use crate::ids::{LinkId, NodeId};
use crate::observe::link_name;
use crate::scenario::Scenario;
use crate::setup::Setup;
use crate::units::Rate;

/// Pairs of hosts whose paths are looked up; where there are more, no pair has much of the load.
const PAIRS: usize = 2_000;
/// Standard deviations by which a link's share may be more than it is, as one of the flows drawn.
const DEVIATIONS: f64 = 4.0;

/// Bits per second of one link, and by how many of the flows drawn that is known.
#[derive(Clone, Copy, Default)]
struct Share {
    bps: f64,
    flows: f64,
}

/// Advice on the link that is offered the largest share of its rate, if that is more than all of it. All entries count
/// together; the advice names the entry that offers the link most.
pub fn advice(scenario: &Scenario, offers: &[Offer], setup: &Setup) -> Option<Advice> {
    let own: Vec<FxHashMap<LinkId, Share>> = offers.iter().map(|offer| shares(offer, setup)).collect();
    let mut all: FxHashMap<LinkId, Share> = FxHashMap::default();
    for (link, share) in own.iter().flatten() {
        let sum = all.entry(*link).or_default();
        *sum = Share { bps: sum.bps + share.bps, flows: sum.flows + share.flows };
    }
    let slowed = slowed(setup);
    let rate = |link: &LinkId| slowed.get(link).unwrap_or(&setup.fabric.links[link.index()].rate).0 as f64;
    // At least so much of its rate, but for the randomness of the draws.
    let sure = |(link, share): &(&LinkId, &Share)| {
        share.bps / rate(link) * (1.0 - DEVIATIONS / share.flows.max(1.0).sqrt())
    };
    let worst = all.iter().max_by(|one, other| sure(one).total_cmp(&sure(other)).then(other.0.cmp(one.0)))?;
    if sure(&worst) * NEARLY <= 1.0 {
        return None;
    }
    let (link, share) = worst;
    let need = share.bps / rate(link);
    let of = |index: &usize| own[*index].get(link).map_or(0.0, |share| share.bps);
    let most = (0..offers.len()).max_by(|one, other| of(one).total_cmp(&of(other)))?;
    let load = offers[most].load;
    let name = link_name(&setup.fabric, &setup.fabric.links[link.index()]);
    if let Some(rate) = slowed.get(link) {
        let path = scenario.balancer_path(&scenario.traffic[offers[most].entry]);
        let message = format!(
            "a fault leaves the link {name} {rate}, and flows, which choose among paths of equal cost without regard to their \
             rates, offer it {need:.2} of that: queues grow as long as flows come"
        );
        return Some(Advice { write: format!("{path} = \"weighted\""), path, message });
    }
    let message = format!(
        "a load of {} is of the links of all hosts that it counts, and the link {} is offered {need:.2} of its rate: \
             queues grow as long as flows come; `of` says whose links a load is of",
        offers[most].shown(),
        name
    );
    Some(offers[most].lower(message, load / need))
}

/// The least rate of each link that a fault slows down, if no balancer has regard to rates: each flow keeps one of its shortest
/// paths, whichever.
fn slowed(setup: &Setup) -> FxHashMap<LinkId, Rate> {
    let blind = |balancer: &Balancer| balancer.one_path() && balancer.among_shortest() && !balancer.weighs();
    let mut least = FxHashMap::default();
    if !setup.balancers.iter().all(blind) {
        return least;
    }
    let states = setup.faults.steps.iter().map(|step| (step.link, step.state));
    for (link, state) in states.chain(setup.faults.links.iter().copied()) {
        let rate = least.entry(link).or_insert(state.rate);
        *rate = state.rate.min(*rate);
    }
    least.retain(|link, rate| *rate < setup.fabric.links[link.index()].rate);
    least
}

/// The load that the flows of an entry offer each link, each pair of hosts over all its shortest paths alike.
fn shares(offer: &Offer, setup: &Setup) -> FxHashMap<LinkId, Share> {
    let flows = setup.sampled_flows(offer.entry);
    let mut pairs: FxHashMap<(NodeId, NodeId), f64> = FxHashMap::default();
    flows.iter().for_each(|flow| *pairs.entry((flow.src, flow.dst)).or_default() += 1.0);
    let mut shares: FxHashMap<LinkId, Share> = FxHashMap::default();
    let each = offer.bps / flows.len().max(1) as f64;
    let whole = pairs.len() <= PAIRS;
    for ((src, dst), count) in pairs {
        let mut note = |link: LinkId, part: f64| {
            let share = shares.entry(link).or_default();
            *share = Share { bps: share.bps + each * count * part, flows: share.flows + count * part };
        };
        spread(setup, src, dst, whole, &mut note);
    }
    shares
}

/// The part of a pair's traffic that each link has; only at both hosts if not as a `whole`.
fn spread(setup: &Setup, src: NodeId, dst: NodeId, whole: bool, note: &mut dyn FnMut(LinkId, f64)) {
    let mut at: Vec<(NodeId, f64)> = vec![(src, 1.0)];
    while at.iter().any(|(node, _)| *node != dst) {
        let mut next: Vec<(NodeId, f64)> = Vec::new();
        for (node, part) in at {
            let links = setup.routes.next_hops(node, dst);
            let links = if whole || node == src { links } else { &links[..1] };
            for &link in links {
                let (to, part) = (setup.fabric.links[link.index()].to, part / links.len() as f64);
                if whole || node == src || to == dst {
                    note(link, part);
                }
                match next.iter_mut().find(|(known, _)| *known == to) {
                    Some((_, known)) => *known += part,
                    None => next.push((to, part)),
                }
            }
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};

    fn advised(matrix: &str, arrivals: &str) -> Option<(String, String)> {
        let text = format!(
            r#"
            topology.single-switch = {{ hosts = 22, rate = "1Gbps" }}
            transport.datagram = {{ header_bytes = "0B" }}
            traffic = [{{ name = "a", arrivals.poisson = {{ {arrivals} }}, {matrix}, sizes.fixed = "100KB", flows = 3000 }}]
            "#
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let advice = checked.outlook().expect("a small run").advice;
        let found = advice.into_iter().find(|advice| advice.path.ends_with(".load"));
        found.map(|advice| (advice.message, advice.write))
    }

    /// Twenty senders of one receiver: 0.6 of their links is 12 of its own.
    #[test]
    fn twenty_senders_of_one_receiver() {
        let pairs: Vec<[u32; 2]> = (1..=20).map(|src| [src, 0]).collect();
        let pairs = format!("matrix.pairs = {pairs:?}");
        let (message, write) = advised(&pairs, "load = 0.6").expect("too much");
        assert!(message.contains("the link switch -> host 0 is offered 12.00 of its rate"), "{message}");
        // A twentieth of 0.95.
        assert_eq!(write, "traffic.a.arrivals.poisson.load = 0.04");
        assert_eq!(advised(&pairs, "load = 0.04"), None);
        assert_eq!(advised(&pairs, "load = 0.6, of = \"receivers\""), None);
        // An incast's load is the receiver's, unless it is of the sources.
        assert_eq!(advised("matrix.incast.senders = 20", "load = 0.6"), None);
        let (message, _) =
            advised("matrix.incast.senders = 20", "load = 0.6, of = \"sources\"").expect("too much");
        assert!(message.contains("12.00"), "{message}");
    }

    /// A cable of 40 Gbps that a fault leaves 5: of eight hosts of a leaf at a load of 0.6 eight fifteenths of the flows cross the
    /// spines, half of them by it: 12.8 Gbps. At 20 Gbps it carries its half.
    #[test]
    fn a_slowed_link_is_named() {
        let advised = |rate: &str, balancer: &str| {
            let text = format!(
                r#"
                transport.datagram = {{ header_bytes = "0B" }}
                routing.balancer = "{balancer}"
                topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 8, rate = "10Gbps", spine.rate = "40Gbps" }}
                run.measure.from = "20ms"
                [[faults.events]]
                at = "0s"
                target.cable = ["leaf 0", "spine 1"]
                change.rate = "{rate}"
                [[traffic]]
                name = "a"
                arrivals.poisson.load = 0.6
                matrix = "uniform"
                sizes.fixed = "100KB"
                flows = 20000
                "#
            );
            let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
            let advice = checked.outlook().expect("a small run").advice;
            advice.into_iter().find(|advice| advice.path == "routing.balancer")
        };
        let advice = advised("5Gbps", "per-flow").expect("too much");
        assert!(
            advice.message.starts_with("a fault leaves the link leaf 0 -> spine 1 5Gbps, and "),
            "{}",
            advice.message
        );
        assert!(advice.message.contains("offer it 2.5"), "{}", advice.message);
        assert_eq!(advice.write, "routing.balancer = \"weighted\"");
        assert_eq!(advised("20Gbps", "per-flow"), None);
        assert_eq!(advised("5Gbps", "weighted"), None);
        assert_eq!(advised("5Gbps", "letflow"), None);
    }

    /// No host is offered more than another by a uniform matrix, although the flows drawn differ.
    #[test]
    fn chance_is_no_reason() {
        assert_eq!(advised("matrix = \"uniform\"", "load = 0.93"), None);
    }
}
