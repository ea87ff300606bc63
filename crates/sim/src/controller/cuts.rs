//! Whether a network carries all rates that hosts' links allow: for controllers that look at these links alone.
//!
//! Such rates sum to at most a link at each host (the hose model). A part of the network with a hosts inside and b outside
//! then sends up to min(a, b) links' worth across its border. The parts that are looked at are those of a tree of switches:
//! each switch with its hosts, and what hangs together below each level above, such as the pods of a fat-tree.

use crate::ids::NodeId;
use crate::topology::Fabric;
use crate::units::Rate;

/// A part whose border is narrower than what its hosts may send to others, or get from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// The first of its hosts.
    pub host: NodeId,
    /// How many hosts it has.
    pub hosts: u32,
    /// The rate that they may send to hosts outside, or get from them.
    pub needs: Rate,
    /// The links across its border, of the direction that has less.
    pub has: Rate,
}

/// The first part that is too narrow, lower levels first, for hosts whose links all have that rate.
pub fn narrow(fabric: &Fabric, rate: Rate) -> Option<Narrow> {
    let levels = levels(fabric);
    let most = levels.iter().copied().filter(|level| *level != FAR).max()?;
    (1..=most).find_map(|level| narrow_below(fabric, rate, &levels, level))
}

/// The level of a node that no host reaches.
const FAR: u32 = u32::MAX;

/// By node, the links from it to the next host.
fn levels(fabric: &Fabric) -> Vec<u32> {
    let mut levels: Vec<u32> =
        (0..fabric.nodes.len() as u32).map(|node| if node < fabric.hosts { 0 } else { FAR }).collect();
    for level in 0.. {
        let mut found = false;
        for link in &fabric.links {
            if levels[link.from.index()] == level && levels[link.to.index()] == FAR {
                levels[link.to.index()] = level + 1;
                found = true;
            }
        }
        if !found {
            break;
        }
    }
    levels
}

/// The same of the parts that nodes up to a level make. A link between two of one level joins no parts: it crosses a border.
fn narrow_below(fabric: &Fabric, rate: Rate, levels: &[u32], level: u32) -> Option<Narrow> {
    let mut part: Vec<u32> = (0..fabric.nodes.len() as u32).collect();
    for link in &fabric.links {
        let [from, to] = [link.from, link.to].map(|node| levels[node.index()]);
        if from < to && to <= level {
            let [a, b] = [link.from, link.to].map(|node| root(&mut part, node.0));
            // The lower number stays: a host, where there is one.
            part[a.max(b) as usize] = a.min(b);
        }
    }
    let roots: Vec<u32> = (0..part.len() as u32).map(|node| root(&mut part, node)).collect();
    let mut hosts = vec![0u32; roots.len()];
    roots[..fabric.hosts as usize].iter().for_each(|root| hosts[*root as usize] += 1);
    let (mut out, mut back) = (vec![0u64; roots.len()], vec![0u64; roots.len()]);
    for link in &fabric.links {
        let [from, to] = [link.from, link.to].map(|node| roots[node.index()] as usize);
        if from != to {
            out[from] += link.rate.0;
            back[to] += link.rate.0;
        }
    }
    (0..fabric.hosts).find_map(|host| {
        let (own, place) = (hosts[host as usize], host as usize);
        let needs = rate.0 * u64::from(own.min(fabric.hosts - own));
        let has = out[place].min(back[place]);
        (own > 0 && has < needs).then_some(Narrow {
            host: NodeId(host),
            hosts: own,
            needs: Rate(needs),
            has: Rate(has),
        })
    })
}

fn root(part: &mut [u32], mut node: u32) -> u32 {
    while part[node as usize] != node {
        let above = part[part[node as usize] as usize];
        part[node as usize] = above;
        node = above;
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::Checked;
    use crate::scenario::{Format, no_files};

    fn of(topology: &str) -> Option<(u32, u32, u64, u64)> {
        let text = format!(
            r#"
            topology.{topology}
            transport.ndp = {{}}
            traffic = [{{ name = "a", arrivals = "at-once", matrix = "uniform", sizes.fixed = "10KB", flows = 10 }}]
            "#
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        let fabric = &checked.setup().expect("it is in order").fabric;
        let gbps = |rate: Rate| rate.0 / 1_000_000_000;
        narrow(fabric, fabric.host_rate()).map(|one| (one.host.0, one.hosts, gbps(one.needs), gbps(one.has)))
    }

    /// By hand: of 8 hosts at each of 4 leaves all may send to other leaves, and of 6 at one of two leaves no more than
    /// the 6 others receive.
    #[test]
    fn leaves_need_uplinks_for_their_hosts() {
        let leaves = |spines: u32, hosts: u32, leaves: u32| {
            of(&format!(
                r#"leaf-spine = {{ leaves = {leaves}, spines = {spines}, hosts = {hosts}, rate = "1Gbps" }}"#
            ))
        };
        assert_eq!(leaves(8, 8, 4), None);
        assert_eq!(leaves(2, 8, 4), Some((0, 8, 8, 2)));
        assert_eq!(leaves(6, 6, 2), None);
        assert_eq!(leaves(5, 6, 2), Some((0, 6, 6, 5)));
    }

    /// A fat-tree of 2 : 1 has twice the hosts at its edges; one switch has no border; a bottleneck between two switches is
    /// the border of either.
    #[test]
    fn trees_and_bottlenecks() {
        assert_eq!(of("fat-tree = { k = 4, rate = \"1Gbps\" }"), None);
        assert_eq!(of("fat-tree = { k = 4, rate = \"1Gbps\", oversubscription = 2 }"), Some((0, 4, 4, 2)));
        assert_eq!(of("single-switch = { hosts = 9, rate = \"1Gbps\" }"), None);
        let [enough, narrow] = [3, 2].map(|count| {
            of(&format!(
                r#"explicit = {{ rate = "1Gbps", hosts = ["a", "b", "c", "d", "e", "f"], switches = [{{ name = "s" }}, {{ name = "t" }}],
                cables = [
                    {{ ends = ["a", "s"] }}, {{ ends = ["b", "s"] }}, {{ ends = ["c", "s"] }},
                    {{ ends = ["d", "t"] }}, {{ ends = ["e", "t"] }}, {{ ends = ["f", "t"] }},
                    {{ ends = ["s", "t"], count = {count} }},
                ] }}"#
            ))
        });
        assert_eq!((enough, narrow), (None, Some((0, 3, 3, 2))));
    }

    /// Pods are looked at, too: edges of 2 hosts and 2 uplinks, but 2 aggregation switches with one uplink each for 4 hosts.
    #[test]
    fn pods_need_uplinks_for_their_hosts() {
        let pod = |p: u32| {
            let hosts =
                (0..4).map(move |host| format!(r#"{{ ends = ["h{p}{host}", "e{p}{}"] }},"#, host / 2));
            let up = ["00", "01", "10", "11"].map(|at| {
                let (edge, above) = at.split_at(1);
                format!(r#"{{ ends = ["e{p}{edge}", "a{p}{above}"] }},"#)
            });
            let core = (0..2).map(move |above| format!(r#"{{ ends = ["a{p}{above}", "c{above}"] }},"#));
            hosts.chain(up).chain(core).collect::<String>()
        };
        let hosts = (0..2).flat_map(|p| (0..4).map(move |host| format!("\"h{p}{host}\",")));
        let switches = ["e00", "e01", "a00", "a01", "e10", "e11", "a10", "a11", "c0", "c1"];
        let switches = switches.map(|name| format!(r#"{{ name = "{name}" }},"#)).concat();
        let text = format!(
            r#"explicit = {{ rate = "1Gbps", hosts = [{}], switches = [{switches}], cables = [{}{}] }}"#,
            hosts.collect::<String>(),
            pod(0),
            pod(1)
        );
        assert_eq!(of(&text), Some((0, 4, 4, 2)));
    }
}
