//! The leaves of a network of leaves and spines, for balancers that choose among paths between leaves.

use crate::ids::NodeId;
use crate::problem::Problem;
use crate::topology::Fabric;

/// Most uplinks of a leaf, and most leaves: what a packet has room for.
const UPLINKS_MOST: usize = 254;
const LEAVES_MOST: usize = 65_534;

/// No leaf, or no uplink.
pub const NONE: u16 = u16::MAX;

/// The leaves of a network, with their uplinks.
#[derive(Clone, Debug)]
pub struct Leaves {
    /// By node: of a leaf its number, of a host that of its leaf; none for spines.
    pub number: Vec<u16>,
    /// By link: of a leaf's uplink its number there; none for others.
    pub uplink: Vec<u16>,
    pub count: usize,
    /// Most uplinks of a leaf.
    pub width: usize,
}

impl Leaves {
    /// Those of a network of leaves and spines; or why it is none.
    pub fn of(fabric: &Fabric) -> Result<Leaves, String> {
        let name = |node: NodeId| &fabric.nodes[node.index()].name;
        let mut number = vec![NONE; fabric.nodes.len()];
        let mut count = 0;
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            let (host, leaf) = (link.from, link.to);
            if fabric.is_host(leaf) || number[host.index()] != NONE {
                return Err(format!("\"{}\" has another cable than one to a leaf", name(host)));
            }
            if number[leaf.index()] == NONE {
                number[leaf.index()] = count as u16;
                count += 1;
            }
            number[host.index()] = number[leaf.index()];
        }
        let mut uplink = vec![NONE; fabric.links.len()];
        let mut uplinks = vec![0; count];
        for (at, link) in fabric.links.iter().enumerate() {
            let [from, to] =
                [link.from, link.to].map(|node| (fabric.is_host(node), number[node.index()] != NONE));
            match (from, to) {
                ((true, _), _) | (_, (true, _)) => {}
                ((_, true), (_, false)) => {
                    let own = &mut uplinks[usize::from(number[link.from.index()])];
                    uplink[at] = *own as u16;
                    *own += 1;
                }
                ((_, false), (_, true)) => {}
                _ => return Err(format!("\"{}\" and \"{}\" are joined", name(link.from), name(link.to))),
            }
        }
        let width = uplinks.iter().copied().max().unwrap_or(0);
        if width > UPLINKS_MOST || count > LEAVES_MOST {
            return Err(format!(
                "there are {count} leaves with up to {width} uplinks, more than {LEAVES_MOST} and {UPLINKS_MOST}"
            ));
        }
        Ok(Leaves { number, uplink, count, width })
    }

    /// The leaf that a node is, or a host hangs on.
    #[inline]
    pub fn number(&self, node: NodeId) -> Option<usize> {
        let number = self.number[node.index()];
        (number != NONE).then_some(usize::from(number))
    }
}

/// The problem of a balancer that is for such networks alone.
pub fn problems(fabric: &Fabric) -> Vec<Problem> {
    let problem = |why| {
        Problem::new("", format!("is for networks of leaves and spines, such as leaf-spine; here {why}"))
    };
    Leaves::of(fabric).err().map(problem).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::leaf_spine::LeafSpine;

    fn leaf_spine(leaves: u32, spines: u32, parallel: u32) -> Fabric {
        LeafSpine { leaves, spines, hosts: 2, parallel, ..LeafSpine::default() }.build()
    }

    /// Two leaves of two hosts below three spines, to which each has two cables: hosts have the number of their leaf, and a leaf
    /// has uplinks 0 to 5. Links downwards and those of hosts are no uplinks.
    #[test]
    fn leaves_by_hand() {
        let fabric = leaf_spine(2, 3, 2);
        let leaves = Leaves::of(&fabric).expect("a network of leaves and spines");
        assert_eq!((leaves.count, leaves.width), (2, 6));
        assert_eq!(
            [0, 1, 2, 3].map(|host| leaves.number(NodeId(host))),
            [Some(0), Some(0), Some(1), Some(1)]
        );
        for (tier, numbers) in [("leaf", vec![Some(0), Some(1)]), ("spine", vec![None; 3])] {
            let nodes = fabric.nodes.iter().enumerate().filter(|(_, node)| node.tier == tier);
            assert_eq!(
                nodes.map(|(node, _)| leaves.number(NodeId(node as u32))).collect::<Vec<_>>(),
                numbers
            );
        }
        for leaf in 0..2 {
            let ups = fabric.links.iter().zip(&leaves.uplink).filter(|(link, uplink)| {
                !fabric.is_host(link.from) && leaves.number(link.from) == Some(leaf) && **uplink != NONE
            });
            let mut numbers: Vec<_> = ups.map(|(_, uplink)| *uplink).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2, 3, 4, 5], "leaf {leaf}");
        }
        assert_eq!(leaves.uplink.iter().filter(|uplink| **uplink != NONE).count(), 12);
    }

    /// A packet has room for the numbers of 254 uplinks.
    #[test]
    fn a_leaf_has_at_most_254_uplinks() {
        assert!(Leaves::of(&leaf_spine(1, 254, 1)).is_ok());
        let why = Leaves::of(&leaf_spine(1, 255, 1)).expect_err("too many");
        assert_eq!(why, "there are 1 leaves with up to 255 uplinks, more than 65534 and 254");
    }
}
