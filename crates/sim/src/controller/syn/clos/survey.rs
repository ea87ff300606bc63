//! Which switches of a network are the leaves, planes and stages of a Clos network, and whether it is one.

use std::iter::zip;

use super::{BITS, Beyond, PLACES, Stage, Way};
use crate::controller::syn::colouring::Colouring;
use crate::ids::{LinkId, NodeId};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::Rate;

/// A network of which the stages are found one by one.
pub(super) struct Survey<'a> {
    fabric: &'a Fabric,
    routes: &'a Routes,
    /// By node, the links that leave it, ascending.
    ports: Vec<Vec<LinkId>>,
    /// Bits per second of all hosts' links.
    host_rate: u64,
    /// Nodes that are below the stage that is looked at, or belong to another one that has been.
    below: Vec<bool>,
    sites: Vec<Site>,
    stages: Vec<Stage>,
}

/// Leaves that are to become a stage.
struct Site {
    height: usize,
    leaves: Vec<Leaf>,
}

struct Leaf {
    switch: NodeId,
    /// The most packets that come to it from below in a slot, and as many the other way.
    load: usize,
    /// A host of each lowest leaf below it.
    hosts: Vec<NodeId>,
}

impl Site {
    /// The most packets that a leaf sends to others in a slot.
    fn load(&self) -> u64 {
        self.leaves.iter().map(|leaf| leaf.load as u64).max().unwrap_or(0)
    }
}

/// A part of the network above a stage.
#[derive(Clone, Default)]
struct Plane {
    /// By leaf, its virtual links to the plane: each the cable that it is part of.
    links: Vec<Vec<LinkId>>,
    /// Where these lead, ascending.
    switches: Vec<NodeId>,
}

impl<'a> Survey<'a> {
    /// The leaf of each host, and all stages; or why there are none that carry each matching, and a network
    /// that would.
    pub(super) fn run(fabric: &'a Fabric, routes: &'a Routes) -> Result<(Vec<u32>, Vec<Stage>), String> {
        let mut survey = Survey::new(fabric, routes)?;
        let leaves = survey.hosts()?;
        while survey.stages.len() < survey.sites.len() {
            survey.stage()?;
        }
        survey.fits_labels()?;
        Ok((leaves, survey.stages))
    }

    fn new(fabric: &'a Fabric, routes: &'a Routes) -> Result<Survey<'a>, String> {
        let mut ports = vec![Vec::new(); fabric.nodes.len()];
        for (link, ends) in (0..).map(LinkId).zip(&fabric.links) {
            ports[ends.from.index()].push(link);
        }
        let below = (0..fabric.nodes.len() as u32).map(|node| node < fabric.hosts).collect();
        let host_rate = match ports.first().and_then(|links| links.first()) {
            Some(link) => fabric.links[link.index()].rate.0,
            None => return Err("the network has no host with a cable".into()),
        };
        Ok(Survey { fabric, routes, ports, host_rate, below, sites: Vec::new(), stages: Vec::new() })
    }

    fn name(&self, node: NodeId) -> &str {
        &self.fabric.nodes[node.index()].name
    }

    fn head(&self, link: LinkId) -> NodeId {
        self.fabric.links[link.index()].to
    }

    /// The leaf of each host. The switches with hosts are the first stage, if there are several.
    fn hosts(&mut self) -> Result<Vec<u32>, String> {
        let mut leaf_of = vec![u32::MAX; self.fabric.nodes.len()];
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut of_hosts = Vec::new();
        for host in (0..self.fabric.hosts).map(NodeId) {
            let [port] = self.ports[host.index()][..] else {
                let (name, ports) = (self.name(host), self.ports[host.index()].len());
                return Err(format!("{name} has {ports} cables; give each host one, to a switch"));
            };
            let (switch, rate) = (self.head(port), self.fabric.links[port.index()].rate);
            if self.fabric.is_host(switch) {
                let names = [host, switch].map(|node| self.name(node));
                return Err(format!("{} is joined to {}; join hosts to switches", names[0], names[1]));
            }
            if rate.0 != self.host_rate {
                let [name, first] = [host, NodeId(0)].map(|host| self.name(host));
                let first_rate = Rate(self.host_rate);
                return Err(format!(
                    "the cable of {name} has {rate} and that of {first} {first_rate}, but a slot is one packet of each; \
                     give all hosts' cables one rate"
                ));
            }
            let leaf = &mut leaf_of[switch.index()];
            if *leaf == u32::MAX {
                *leaf = leaves.len() as u32;
                leaves.push(Leaf { switch, load: 0, hosts: vec![host] });
            }
            leaves[*leaf as usize].load += 1;
            of_hosts.push(*leaf);
        }
        self.add_site(0, leaves);
        Ok(of_hosts)
    }

    /// Between the leaves of a single one no packet needs a path.
    fn add_site(&mut self, height: usize, mut leaves: Vec<Leaf>) {
        let total: usize = leaves.iter().map(|leaf| leaf.load).sum();
        leaves.iter().for_each(|leaf| self.below[leaf.switch.index()] = true);
        // No leaf sends more to the others than these can receive.
        leaves.iter_mut().for_each(|leaf| leaf.load = leaf.load.min(total - leaf.load));
        if leaves.len() > 1 {
            self.sites.push(Site { height, leaves });
        }
    }

    /// Makes the next stage of its site, and sites of the planes above it.
    fn stage(&mut self) -> Result<(), String> {
        let site = &self.sites[self.stages.len()];
        let uplinks = self.uplinks(site);
        let back_to_back = uplinks.iter().flatten().any(|&link| self.is_between_leaves(link));
        let planes =
            if back_to_back { self.back_to_back(site, &uplinks)? } else { self.planes(site, &uplinks)? };
        self.is_regular(site, &planes)?;
        let colours = self.colours(site, &planes)?;
        self.follows_routes(site, &uplinks, back_to_back)?;

        let mut sites = Vec::new();
        let mut beyond_plane = Vec::new();
        for (number, plane) in planes.iter().enumerate() {
            beyond_plane.push(match plane.switches.len() {
                _ if back_to_back => Beyond::Leaf,
                1 => Beyond::Switch,
                _ => {
                    let share = colours.iter().filter(|&&(of, _)| of == number).count();
                    sites.push(self.leaves_of(site, plane, share));
                    Beyond::Stage(self.sites.len() + sites.len() - 1)
                }
            });
        }
        let stage = Stage {
            height: site.height,
            colouring: Colouring::new(site.leaves.len(), colours.len()),
            beyond: colours.iter().map(|&(plane, _)| beyond_plane[plane]).collect(),
            ways: self.ways(site, &uplinks, &planes, &colours),
            packets: Vec::new(),
        };
        let height = site.height + 1;
        self.stages.push(stage);
        sites.into_iter().for_each(|leaves| self.add_site(height, leaves));
        Ok(())
    }

    /// By leaf, its links to other leaves and upwards.
    fn uplinks(&self, site: &Site) -> Vec<Vec<LinkId>> {
        let mut goes_up: Vec<bool> = self.below.iter().map(|below| !below).collect();
        site.leaves.iter().for_each(|leaf| goes_up[leaf.switch.index()] = true);
        let of = |leaf: &Leaf| {
            let links = self.ports[leaf.switch.index()].iter().copied();
            links.filter(|&link| goes_up[self.head(link).index()]).collect()
        };
        site.leaves.iter().map(of).collect()
    }

    /// Of an uplink, whether it leads to another leaf: to nothing else that is not above.
    fn is_between_leaves(&self, uplink: LinkId) -> bool {
        self.below[self.head(uplink).index()]
    }

    /// The switches of a plane that are leaves in it, of which each leaf of the site uses so many virtual links.
    fn leaves_of(&self, site: &Site, plane: &Plane, share: usize) -> Vec<Leaf> {
        let mut leaves: Vec<Leaf> = Vec::new();
        leaves.extend(plane.switches.iter().map(|&switch| Leaf { switch, load: 0, hosts: Vec::new() }));
        for (leaf, links) in zip(&site.leaves, &plane.links) {
            let above = &mut leaves[self.above(plane, links)];
            above.load += leaf.load.min(share);
            above.hosts.extend(&leaf.hosts);
        }
        leaves
    }

    /// Which of a plane's switches a leaf's links lead to.
    fn above(&self, plane: &Plane, links: &[LinkId]) -> usize {
        plane.switches.binary_search(&self.head(links[0])).expect("one of them")
    }

    /// By leaf and colour, its virtual link.
    fn ways(
        &self,
        site: &Site,
        uplinks: &[Vec<LinkId>],
        planes: &[Plane],
        colours: &[(usize, usize)],
    ) -> Vec<Way> {
        let mut ways = Vec::with_capacity(site.leaves.len() * colours.len());
        for (number, (leaf, uplinks)) in zip(&site.leaves, uplinks).enumerate() {
            for &(plane, virtual_link) in colours {
                let links = &planes[plane].links[number];
                let link = links[virtual_link];
                let back = self.between(self.head(link), leaf.switch);
                let place =
                    |links: &[LinkId], link| links.iter().position(|&of| of == link).expect("one of them");
                ways.push(Way {
                    up: place(uplinks, link) as u8,
                    down: place(&back, link.reverse()) as u8,
                    above: self.above(&planes[plane], links) as u32,
                });
            }
        }
        ways
    }

    /// The cables from one node to another, ascending.
    fn between(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        self.ports[from.index()].iter().copied().filter(|&link| self.head(link) == to).collect()
    }

    /// The virtual links of which some cables of a leaf consist, none of more than `share`.
    fn virtual_links(&self, cables: &[LinkId], share: u64) -> Result<Vec<LinkId>, String> {
        let mut left = Vec::new();
        for cable in cables {
            let link = &self.fabric.links[cable.index()];
            if link.rate.0 < self.host_rate {
                let [from, to] = [link.from, link.to].map(|node| self.name(node));
                return Err(format!(
                    "the cable between {from} and {to} has {}, less than those of hosts, and carries no packet in a \
                     slot; make it as fast as these",
                    link.rate
                ));
            }
            left.push((link.rate.0 / self.host_rate).min(share));
        }
        // Of parallel cables in turn, so that consecutive colours are not of the same one.
        let mut links = Vec::new();
        while left.iter().any(|&left| left > 0) {
            for (cable, left) in zip(cables, &mut left) {
                if *left > 0 {
                    *left -= 1;
                    links.push(*cable);
                }
            }
        }
        Ok(links)
    }

    /// The virtual links that suffice of each cable. All cables have the same share, and the smallest one: so fewest
    /// packets of a slot meet at a link that is faster than the hosts'.
    fn share(&self, site: &Site, cables: &[LinkId]) -> u64 {
        let load = site.load();
        let room = |share: u64| -> u64 {
            let of = |cable: &LinkId| self.fabric.links[cable.index()].rate.0 / self.host_rate;
            cables.iter().map(|cable| of(cable).min(share)).sum()
        };
        let (mut low, mut high) = (1, load);
        while low < high {
            let middle = low.midpoint(high);
            if room(middle) >= load { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Two leaves without a switch above them.
    fn back_to_back(&self, site: &Site, uplinks: &[Vec<LinkId>]) -> Result<Vec<Plane>, String> {
        let [one, other] = &site.leaves[..] else {
            let direct = uplinks.iter().flatten().find(|&&link| self.is_between_leaves(link));
            let link = &self.fabric.links[direct.expect("two are joined").index()];
            let [one, other] = [link.from, link.to].map(|node| self.name(node));
            let count = site.leaves.len();
            return Err(format!(
                "{one} is joined to {other}, and both are among {count} switches of one level; join them by switches \
                 above, as in a leaf-spine"
            ));
        };
        let share = self.share(site, &uplinks[0]);
        let mut links = Vec::new();
        for (leaf, uplinks, to) in [(one, &uplinks[0], other), (other, &uplinks[1], one)] {
            if let Some(link) = uplinks.iter().find(|&&link| self.head(link) != to.switch) {
                let [from, to, up] = [leaf.switch, to.switch, self.head(*link)].map(|node| self.name(node));
                return Err(format!("{from} is joined to {to} and to {up}; join both of them to {up} alone"));
            }
            links.push(self.virtual_links(uplinks, share)?);
        }
        let mut switches = vec![one.switch, other.switch];
        switches.sort_unstable();
        Ok(vec![Plane { links, switches }])
    }

    /// The parts into which the network above a stage falls.
    fn planes(&self, site: &Site, uplinks: &[Vec<LinkId>]) -> Result<Vec<Plane>, String> {
        let mut plane_of = vec![None; self.fabric.nodes.len()];
        let mut count = 0;
        for &link in uplinks.iter().flatten() {
            let mut found = vec![self.head(link)];
            if plane_of[found[0].index()].is_some() {
                continue;
            }
            plane_of[found[0].index()] = Some(count);
            while let Some(node) = found.pop() {
                for to in self.ports[node.index()].iter().map(|&link| self.head(link)) {
                    if !self.below[to.index()] && plane_of[to.index()].is_none() {
                        plane_of[to.index()] = Some(count);
                        found.push(to);
                    }
                }
            }
            count += 1;
        }
        let share = self.share(site, &uplinks[0]);
        let mut planes = vec![Plane::default(); count];
        for (leaf, uplinks) in zip(&site.leaves, uplinks) {
            let mut cables = vec![Vec::new(); count];
            for &link in uplinks {
                let cables: &mut Vec<LinkId> =
                    &mut cables[plane_of[self.head(link).index()].expect("each is in a plane")];
                if let Some(other) =
                    cables.iter().map(|&cable| self.head(cable)).find(|&to| to != self.head(link))
                {
                    let [leaf, one, other] =
                        [leaf.switch, other, self.head(link)].map(|node| self.name(node));
                    return Err(format!(
                        "{leaf} is joined to {one} and to {other}, which share switches above them; give each of the \
                         two switches of its own, as in a fat-tree"
                    ));
                }
                cables.push(link);
            }
            for (plane, cables) in zip(&mut planes, cables) {
                plane.switches.extend(cables.first().map(|&cable| self.head(cable)));
                plane.links.push(self.virtual_links(&cables, share)?);
            }
        }
        for plane in &mut planes {
            plane.switches.sort_unstable();
            plane.switches.dedup();
        }
        Ok(planes)
    }

    /// Whether each leaf has the same virtual links as the others.
    fn is_regular(&self, site: &Site, planes: &[Plane]) -> Result<(), String> {
        for plane in planes {
            let first = plane.links[0].len();
            let Some(other) = plane.links.iter().position(|links| links.len() != first) else { continue };
            let [one, other] =
                [0, other].map(|leaf| (self.name(site.leaves[leaf].switch), &plane.links[leaf]));
            return Err(format!(
                "{} and {} are not joined alike to {} and what is around it: in a slot the cables of one have room for \
                 {}, those of the other for {} packets; give both the same cables",
                one.0,
                other.0,
                self.name(plane.switches[0]),
                one.1.len(),
                other.1.len()
            ));
        }
        Ok(())
    }

    /// The colours of a stage, each a plane and the number of a virtual link to it: of all planes in turn, so that
    /// consecutive colours are of different ones.
    fn colours(&self, site: &Site, planes: &[Plane]) -> Result<Vec<(usize, usize)>, String> {
        let most = planes.iter().map(|plane| plane.links[0].len()).max().unwrap_or(0);
        let mut colours = Vec::new();
        for link in 0..most {
            let has = |&plane: &usize| link < planes[plane].links[0].len();
            colours.extend((0..planes.len()).filter(has).map(|plane| (plane, link)));
        }
        let busiest = site.leaves.iter().max_by_key(|leaf| leaf.load).expect("a stage has leaves");
        if colours.len() < busiest.load {
            let (name, load, room) = (self.name(busiest.switch), busiest.load, colours.len());
            return Err(format!(
                "the network is oversubscribed: {name} can have {load} packets for others in a slot, and its cables \
                 carry {room}; use more or faster cables, or fewer hosts"
            ));
        }
        Ok(colours)
    }

    /// Whether the next hops of routing are the links that colours stand for.
    fn follows_routes(&self, site: &Site, uplinks: &[Vec<LinkId>], back_to_back: bool) -> Result<(), String> {
        let differs = |at: NodeId, host: NodeId| {
            let [at, host] = [at, host].map(|node| self.name(node));
            Err(format!(
                "shortest paths from {at} to {host} do not use all cables that lead there; make all paths between \
                 two leaves as long as each other"
            ))
        };
        for (leaf, links) in zip(&site.leaves, uplinks) {
            if links.len() > 1 << BITS {
                let (name, count, most) = (self.name(leaf.switch), links.len(), 1 << BITS);
                return Err(format!(
                    "{name} has {count} cables upwards, and a packet can choose among {most}; use fewer"
                ));
            }
            let others = site.leaves.iter().filter(|other| other.switch != leaf.switch);
            for &host in others.flat_map(|other| &other.hosts) {
                if self.routes.next_hops(leaf.switch, host) != links {
                    return differs(leaf.switch, host);
                }
            }
            if back_to_back {
                continue;
            }
            let mut above: Vec<NodeId> = links.iter().map(|&link| self.head(link)).collect();
            above.dedup();
            for switch in above {
                let down = self.between(switch, leaf.switch);
                if let Some(&host) =
                    leaf.hosts.iter().find(|&&host| self.routes.next_hops(switch, host) != down)
                {
                    return differs(switch, host);
                }
            }
        }
        Ok(())
    }

    /// Whether labels hold all choices on the longest way.
    fn fits_labels(&self) -> Result<(), String> {
        let highest = self.stages.iter().map(|stage| stage.height).max().unwrap_or(0);
        for stage in &self.stages {
            let up = stage.ways.iter().any(|way| way.up > 0) && stage.height >= PLACES;
            let down = stage.ways.iter().any(|way| way.down > 0) && 2 * highest + 1 - stage.height >= PLACES;
            if up || down {
                return Err(format!(
                    "packets have to choose a link at more than {PLACES} switches on their way; use fewer levels, or \
                     no parallel cables"
                ));
            }
        }
        Ok(())
    }
}
