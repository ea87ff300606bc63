"""Counts of table 1 in a fat-tree: nodes by tier and pod, paths by nearness, worst loads of links."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flowyard.topology import Network
from flowyard.topology.paths import Paths, Whole, parts


def members(tree: Network, *tiers: str) -> list[int]:
    """The nodes of some tiers."""
    return [place for place, node in enumerate(tree.nodes) if node.tier in tiers]


def pods(tree: Network) -> Whole:
    """The pod of each node, -1 for a core: what hangs together without the cores."""
    return parts(tree, members(tree, "host", "edge", "aggregation"))


def nearness(tree: Network, pods: Whole) -> dict[str, NDArray[np.bool_]]:
    """Pairs of hosts by what they share, hosts x hosts each."""
    hosts = slice(tree.hosts)
    racks = parts(tree, members(tree, "host", "edge"))
    rack, pod = (part[hosts, None] == part[None, hosts] for part in (racks, pods))
    return {
        "one edge switch": rack & ~np.eye(tree.hosts, dtype=bool),
        "one pod": pod & ~rack,
        "different pods": ~pod,
    }


def numbers(tree: Network, pods: Whole, paths: Paths, apart: NDArray[np.bool_]) -> dict[str, Collection[int]]:
    """The rows of table 1, each with the value of every pod, switch or pair."""
    in_pods = {tier: Counter(pods[members(tree, tier)].tolist()) for tier in ("edge", "aggregation")}
    ports = Counter(paths.links[:, 0].tolist())
    return {
        "servers": [tree.hosts],
        "core switches": [len(members(tree, "core"))],
        "edge switches in a pod": in_pods["edge"].values(),
        "aggregation switches in a pod": in_pods["aggregation"].values(),
        "edge switches": [in_pods["edge"].total()],
        "aggregation switches": [in_pods["aggregation"].total()],
        "ports of a switch": [ports[place] for place, node in enumerate(tree.nodes) if not node.host],
        "paths between pods": paths.between_hosts()[1][apart].tolist(),
    }


def pairs(paths: Paths, nearness: dict[str, NDArray[np.bool_]]) -> Iterable[dict[str, Any]]:
    """Lengths and numbers of the shortest paths of pairs, by what these share."""
    distance, count = paths.between_hosts()
    for name, group in nearness.items():
        yield {
            "servers_in": name,
            "pairs": int(group.sum()),
            "links": int(distance[group].max()),
            "paths_fewest": int(count[group].min()),
            "paths_most": int(count[group].max()),
        }


def core_links(tree: Network, pods: Whole) -> dict[str, int]:
    """Links of a core switch to a pod, for all cores and pods."""
    cores = set(members(tree, "core"))
    ends = [(a, b) if a in cores else (b, a) for a, b, *_ in tree.cables if cores & {a, b}]
    links = Counter((core, int(pods[below])) for core, below in ends)
    number = [links[core, pod] for core in cores for pod in range(int(pods.max()) + 1)]
    return {"cores_x_pods": len(number), "links_fewest": min(number), "links_most": max(number)}


def worst_permutations(tree: Network, paths: Paths) -> Iterable[dict[str, Any]]:
    """For each kind of link the load by that link's worst permutation; a host that sends to itself loads nothing."""
    from scipy.optimize import linear_sum_assignment

    _, count = paths.between_hosts()
    # Shares in units of a whole part, so that sums are exact.
    unit = int(np.lcm.reduce(np.unique(count)))
    worst: dict[tuple[str, str], list[float]] = {}
    for link, (start, end) in enumerate(paths.links.tolist()):
        share = paths.through_link(link) * (unit // count)
        load = int(share[linear_sum_assignment(share, maximize=True)].sum())
        worst.setdefault((tree.nodes[start].tier, tree.nodes[end].tier), []).append(load / unit)
    for (start_tier, end_tier), loads in worst.items():
        yield {
            "from_tier": start_tier,
            "to_tier": end_tier,
            "links": len(loads),
            "load_least": min(loads),
            "load_most": max(loads),
        }
