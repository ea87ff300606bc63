//! The table of whole paths, filled for the benchmark.

use std::collections::HashSet;

use flowyard_sim::balancer::Balancer;
use flowyard_sim::balancer::nix::Nix;
use flowyard_sim::engine::contract::path::{Choose, Opening};
use flowyard_sim::engine::contract::paths::Paths;
use flowyard_sim::ids::{ConnId, NodeId};
use flowyard_sim::random::{Purpose, Stream};
use flowyard_sim::routing::Routes;
use flowyard_sim::topology::Generator;
use flowyard_sim::topology::fat_tree::FatTree;
use pyo3::prelude::*;

/// Bytes of the table of paths once so many connections between random hosts of a k-ary fat-tree have opened under "nix",
/// and how many different paths it has.
#[pyfunction]
pub fn path_bytes(k: u32, connections: u32) -> (u64, usize) {
    let fabric = FatTree { k, ..FatTree::default() }.build();
    let routes = Routes::build(&fabric).expect("a fat-tree is connected");
    let mut nix = Balancer::from(Nix::default()).model(&fabric, 1, 0);
    let mut stream = Stream::new(1, 0, Purpose::Matrix, 0);
    let (mut paths, mut seen) = (Paths::default(), HashSet::new());
    for label in 0..connections {
        let src = stream.below(u64::from(fabric.hosts)) as u32;
        let apart = 1 + stream.below(u64::from(fabric.hosts - 1)) as u32;
        let (src, dst) = (NodeId(src), NodeId((src + apart) % fabric.hosts));
        let ports = (routes.next_hops(src, dst)[0], routes.next_hops(dst, src)[0]);
        let id = ConnId(0);
        let opening = Opening {
            id,
            src,
            dst,
            label,
            flow_label: label,
            subflow: 0,
            key: u64::from(label),
            ports,
            routes: &routes,
        };
        nix.open(opening, &mut paths);
        for forward in [true, false] {
            seen.insert(nix.whole_path(id, forward).expect("a path for each direction").label);
        }
    }
    (paths.bytes(), seen.len())
}
