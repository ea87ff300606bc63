//! The memory of the switches of a network: so many bytes each, less those that belong to single queues or links.

use crate::engine::contract::memory::{QueueShare, Shared};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::topology::{Fabric, Link};
use crate::units::Bytes;

/// By node, the bytes that belong to single links: the sum of `own` over its ports.
fn owned(fabric: &Fabric, own: impl Fn(&Link) -> u64) -> Vec<u64> {
    let mut owned = vec![0u64; fabric.nodes.len()];
    for link in fabric.links.iter().filter(|link| !fabric.is_host(link.to)) {
        owned[link.to.index()] = owned[link.to.index()].saturating_add(own(link));
    }
    owned
}

/// By node, the memory that all its ports may use; `own` is what belongs to the port at the end of a link.
pub fn shared(fabric: &Fabric, size: Bytes, own: impl Fn(&Link) -> u64) -> Vec<Shared> {
    let shared = |owned: u64| Shared { size: size.0.saturating_sub(owned), ..Shared::default() };
    owned(fabric, own).into_iter().map(shared).collect()
}

/// By link, an empty queue at its head.
pub fn queues(fabric: &Fabric) -> Vec<QueueShare> {
    let queue = |link: &Link| QueueShare::of(link.from);
    fabric.links.iter().map(queue).collect()
}

/// A switch whose ports have more memory of their own than it has, if there is one.
pub fn too_small(fabric: &Fabric, size: Bytes, own: impl Fn(&Link) -> u64) -> Option<Problem> {
    let owned = owned(fabric, own);
    let most = (0..owned.len()).max_by_key(|&node| owned[node])?;
    (owned[most] > size.0).then(|| {
        let ports = fabric.links.iter().filter(|link| link.to == NodeId(most as u32)).count();
        let message = format!(
            "is too small: the {ports} ports of \"{}\" have {} bytes of their own",
            fabric.nodes[most].name, owned[most]
        );
        Problem::new("size", message)
    })
}
