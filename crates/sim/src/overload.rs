//! Advice on a load that the hosts' links carry together, and a tier of the fabric does not, as on an oversubscribed
//! leaf-spine, or some of the hosts.

use std::collections::BTreeMap;

use crate::advice::{Advice, NEARLY, Offer};
use crate::setup::Setup;
use crate::units::Rate;

/// A tier of links and its part of an entry's bits.
struct Tier {
    name: String,
    /// Bits per second that its links carry together.
    capacity: f64,
    /// Links of it that a flow's path has, on average over so many flows.
    crossed: f64,
    flows: usize,
}

impl Tier {
    /// Standard deviation of the crossed links, of a path with one of them or none, by their mean.
    fn deviation(&self) -> f64 {
        ((1.0 - self.crossed).max(0.0) / (self.crossed * self.flows as f64)).sqrt()
    }
}

/// Standard deviations by which the share of flows that cross a tier may be off.
const DEVIATIONS: f64 = 2.0;

/// Advice on an entry that offers a tier more than it carries.
///
/// The share of flows that cross a tier is one of flows drawn: a tier counts as overloaded by what is above its capacity
/// beyond two standard deviations of that share.
pub fn advice(offer: &Offer, setup: &Setup) -> Option<Advice> {
    let needs = |tier: &Tier| offer.bps * tier.crossed / tier.capacity;
    let tiers = tiers(setup, offer.entry);
    // Of both directions, if they need as much, the way up.
    let worst = tiers.iter().rev().max_by(|one, other| needs(one).total_cmp(&needs(other)))?;
    let need = needs(worst);
    (need > 1.0 + need * DEVIATIONS * worst.deviation()).then(|| {
        let message = format!(
            "a load of {} takes {need:.2} of what the {} links carry, which {:.0} % of the flows cross: queues grow as long \
             as flows come",
            offer.shown(),
            worst.name,
            100.0 * worst.crossed
        );
        // No more than the hosts' own links carry.
        offer.lower(message, (offer.load / need).min(1.0 / offer.taken))
    })
}

/// Advice on loads of several entries none of which is too much by itself for a tier: on the one that offers it most.
pub fn together(offers: &[Offer], setup: &Setup) -> Option<Advice> {
    if offers.len() < 2 {
        return None;
    }
    let own: Vec<Vec<Tier>> = offers.iter().map(|offer| tiers(setup, offer.entry)).collect();
    let need = |entry: usize, tier: usize| {
        let Tier { crossed, capacity, .. } = own[entry][tier];
        offers[entry].bps * crossed / capacity
    };
    let all = |tier: &usize| (0..offers.len()).map(|entry| need(entry, *tier)).sum::<f64>();
    let worst = (0..own[0].len()).rev().max_by(|one, other| all(one).total_cmp(&all(other)))?;
    let needs = all(&worst);
    if needs * NEARLY <= 1.0 {
        return None;
    }
    let most = (0..offers.len()).max_by(|one, other| need(*one, worst).total_cmp(&need(*other, worst)))?;
    let Offer { load, .. } = offers[most];
    // The share of the links that the other entries leave; if they leave none, all entries are to shrink alike.
    let left = 1.0 - (needs - need(most, worst));
    let fits = if left > 0.0 { load * left / need(most, worst) } else { load / needs };
    let message = format!(
        "the loads of all {} entries together take {needs:.2} of what the {} links carry: queues grow as long as flows come",
        offers.len(),
        own[most][worst].name
    );
    Some(offers[most].lower(message, fits))
}

/// Advice on a load that senders with slower links than others cannot offer: it is of the summed rate of all senders, and
/// most matrices give each of them as many flows.
pub fn slow_senders(offer: &Offer, setup: &Setup) -> Option<Advice> {
    // By the rate of a host's links: its flows, and the rates of all such hosts together.
    let mut groups: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    let mut rates = vec![0; setup.fabric.hosts as usize];
    for link in setup.fabric.links.iter().filter(|link| setup.fabric.is_host(link.from)) {
        rates[link.from.index()] += link.rate.0;
    }
    rates.iter().for_each(|&rate| groups.entry(rate).or_default().1 += rate as f64);
    if groups.len() < 2 {
        return None;
    }
    let own = setup.sampled_flows(offer.entry);
    for flow in &own {
        groups.entry(rates[flow.src.index()]).or_default().0 += 1.0;
    }
    let need = |(flows, rate): &(f64, f64)| offer.bps * flows / own.len() as f64 / rate;
    let (rate, worst) = groups.iter().max_by(|one, other| need(one.1).total_cmp(&need(other.1)))?;
    let need = need(worst);
    (need * NEARLY > 1.0).then(|| {
        let message = format!(
            "a load of {} is of the summed rate of all senders, whose links differ: those of {} are offered {need:.2} of \
             their links",
            offer.shown(),
            Rate(*rate)
        );
        offer.lower(message, offer.load / need)
    })
}

/// The tiers of links between switches, and how many of their links an entry's flows cross.
fn tiers(setup: &Setup, entry: usize) -> Vec<Tier> {
    let Setup { fabric, routes, .. } = setup;
    let own = setup.sampled_flows(entry);
    let mut tiers: Vec<Tier> = Vec::new();
    let mut tier_of = Vec::with_capacity(fabric.links.len());
    for link in &fabric.links {
        if fabric.is_host(link.from) || fabric.is_host(link.to) {
            tier_of.push(None);
            continue;
        }
        let name = fabric.tier_of(link);
        let place = tiers.iter().position(|tier| tier.name == name).unwrap_or(tiers.len());
        if place == tiers.len() {
            tiers.push(Tier { name, capacity: 0.0, crossed: 0.0, flows: own.len() });
        }
        tiers[place].capacity += link.rate.0 as f64;
        tier_of.push(Some(place));
    }
    let share = 1.0 / own.len() as f64;
    for flow in own {
        let mut at = flow.src;
        while at != flow.dst {
            // Shortest paths of a pair of hosts cross the same tiers in a fabric of tiers.
            let link = routes.next_hops(at, flow.dst)[0];
            if let Some(tier) = tier_of[link.index()] {
                tiers[tier].crossed += share;
            }
            at = fabric.links[link.index()].to;
        }
    }
    tiers
}

#[cfg(test)]
mod tests {
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};

    /// Advice on a leaf-spine of 4 leaves of 8 hosts, where a flow crosses the spine with probability 24/31.
    fn advised(spines: u32, matrix: &str, load: f64) -> Option<(String, String)> {
        let text = format!(
            r#"
            topology.leaf-spine = {{ leaves = 4, spines = {spines}, hosts = 8, rate = "10Gbps" }}
            transport.ndp = {{}}
            traffic = [{{ name = "a", arrivals.poisson.load = {load}, matrix = {matrix}, sizes.fixed = "100KB", flows = 20000 }}]
            "#
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let advice = checked.outlook().expect("a small run").advice;
        advice
            .into_iter()
            .find(|advice| advice.path.ends_with(".load"))
            .map(|advice| (advice.message, advice.write))
    }

    #[test]
    fn a_load_beyond_an_oversubscribed_tier() {
        // 8:2 oversubscribed: 0.8 x 4 x 24/31 = 2.48, and headers take some of it.
        let (message, write) = advised(2, "\"uniform\"", 0.8).expect("too much");
        let need: f64 = message.split_whitespace().nth(5).expect("a number").parse().expect("a number");
        assert!((2.48..2.65).contains(&need), "{message}");
        assert!(message.contains("leaf-spine links"), "{message}");
        assert!(message.contains(" 77 % ") || message.contains(" 78 % "), "{message}");
        let fits: f64 = write.rsplit(' ').next().expect("a number").parse().expect("a number");
        assert!((0.9 * 0.8 / 2.65 - 0.01..0.9 * 0.8 / 2.48).contains(&fits), "{write}");
        assert_eq!(advised(2, "\"uniform\"", fits), None);
        // Beyond what the hosts' links carry, that is the limit.
        let (_, write) = advised(8, "\"uniform\"", 1.6).expect("too much for the spine, too");
        let fits: f64 = write.rsplit(' ').next().expect("a number").parse().expect("a number");
        assert!((0.81..0.9).contains(&fits), "{write}");
        // As many uplinks as hosts carry what the hosts do.
        assert_eq!(advised(8, "\"uniform\"", 0.8), None);
    }

    /// Half as many uplinks as hosts, of which 24/31 of the flows take one: 0.6 x 2 x 24/31 = 0.929 of them, 0.969 with headers of
    /// 64 B in 1500 B; 0.65 of the hosts' links take 1.05.
    #[test]
    fn headers_count_at_a_tier() {
        assert_eq!(advised(4, "\"uniform\"", 0.6), None);
        let (message, _) = advised(4, "\"uniform\"", 0.65).expect("1.05");
        assert!(message.contains("a load of 0.65 takes 1.0"), "{message}");
    }

    /// A rate of arrivals is advised on as the load that it is: 400,000 flows of 100 KB a second are a load of 1 of 32 hosts of
    /// 10 Gbps, twice what the spine of half as many links carries: 1 x 2 x 24/31 = 1.55.
    #[test]
    fn a_rate_is_a_load() {
        let text = r#"
            topology.leaf-spine = { leaves = 4, spines = 4, hosts = 8, rate = "10Gbps" }
            transport.ndp = {}
            traffic = [{ name = "a", arrivals.poisson.rate = 4e5, matrix = "uniform", sizes.fixed = "100KB", flows = 20000 }]
        "#;
        let checked = Checked::read(text, Format::Toml, &[], &no_files).expect("a scenario");
        let outlook = checked.outlook().expect("a small run");
        let advice = outlook.advice.iter().find(|advice| advice.path.ends_with(".rate")).expect("too much");
        assert!(advice.message.contains("a load of 1 takes 1.6"), "{}", advice.message);
        let rate: f64 = advice.write.rsplit(' ').next().expect("a number").parse().expect("a number");
        assert!((0.9 * 2.4e5..0.9 * 2.6e5).contains(&rate), "{rate}");
        assert!(outlook.why_least.expect("flows pile up").contains("does not carry the load"));
    }

    /// Loads of 0.2 and 0.3 on the same leaf-spine, 4:1 oversubscribed: 0.5 x 4 x 24/31 = 1.55, and headers take some of it. The
    /// other entry takes 0.62 of the links, so that 0.3 x 0.38 / 0.93 = 0.12 are left.
    #[test]
    fn loads_of_entries_add_up() {
        let entries = |loads: [f64; 2]| {
            let entry = |(name, load)| {
                format!(
                    "[[traffic]]\nname = \"{name}\"\narrivals.poisson.load = {load}\nmatrix = \"uniform\"\n\
                     sizes.fixed = \"100KB\"\nflows = 20000\n"
                )
            };
            let text = format!(
                "transport.ndp = {{}}\n\
                 topology.leaf-spine = {{ leaves = 4, spines = 2, hosts = 8, rate = \"10Gbps\" }}\n{}{}",
                entry(("a", loads[0])),
                entry(("b", loads[1]))
            );
            let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
            let advice = checked.outlook().expect("a small run").advice;
            advice.into_iter().find(|advice| advice.path.ends_with(".load"))
        };
        let advice = entries([0.2, 0.3]).expect("too much together");
        assert_eq!(advice.path, "traffic.b.arrivals.poisson.load");
        let need: f64 =
            advice.message.split_whitespace().nth(8).expect("a number").parse().expect("a number");
        assert!((1.55..1.66).contains(&need), "{}", advice.message);
        let fits: f64 = advice.write.rsplit(' ').next().expect("a number").parse().expect("a number");
        assert!((0.08..=0.11).contains(&fits), "{fits}");
        assert!(entries([0.2, fits]).is_none());
    }

    /// One host of four has a tenth of the others' rate: of 0.5 of 31 Gbps, 15.5, it is offered a quarter, 3.9 times its link.
    #[test]
    fn a_load_beyond_the_links_of_slow_senders() {
        let advised = |rate: &str, load: f64| {
            let text = format!(
                r#"
                transport.ndp = {{}}
                [topology.explicit]
                hosts = ["0", "1", "2", "3"]
                switches = [{{ name = "s" }}]
                cables = [
                    {{ ends = ["0", "s"], rate = "{rate}" }},
                    {{ ends = ["1", "s"] }}, {{ ends = ["2", "s"] }}, {{ ends = ["3", "s"] }},
                ]
                rate = "10Gbps"
                [[traffic]]
                name = "a"
                arrivals.poisson.load = {load}
                matrix = "uniform"
                sizes.fixed = "100KB"
                flows = 9000
                "#
            );
            let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
            checked
                .outlook()
                .expect("a small run")
                .advice
                .into_iter()
                .find(|advice| advice.path.ends_with(".load"))
        };
        let advice = advised("1Gbps", 0.5).expect("too much for host 0");
        let need: f64 =
            advice.message.split_whitespace().rev().nth(3).expect("a number").parse().expect("a number");
        assert!((3.8..4.2).contains(&need), "{}", advice.message);
        assert!(advice.message.contains("those of 1Gbps"), "{}", advice.message);
        let fits: f64 = advice.write.rsplit(' ').next().expect("a number").parse().expect("a number");
        assert!(advised("1Gbps", fits).is_none());
        assert!(advised("10Gbps", 0.5).is_none());
    }
}
