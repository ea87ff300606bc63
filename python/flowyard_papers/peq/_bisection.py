"""The least number of cables between two halves of the servers: exactly where small, between two bounds elsewhere.

A split puts half of the servers on either side (of an odd number, one side has one more) and each switch wherever
fewer cables are cut. All cables count as one, so the network's rates should be equal.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from flowyard.topology import Network, survey
from flowyard.topology.paths import Paths

# So many servers have a million splits.
SERVERS_MAX = 20


class Bounds(NamedTuple):
    """The bisection, in cables, lies between these; equal if it is known."""

    least: int
    most: int
    how: str


def bounds(network: Network) -> Bounds:
    """The bisection of a network whose cables all have one rate."""
    if network.hosts <= SERVERS_MAX:
        cables = by_every_split(network)
        return Bounds(cables, cables, "every split")
    found = survey({"topology": {network.kind: network.parameters}})["bisection"]
    most = int(found["bps"]) // network.cables[0].rate_bps
    if found["exact"]:
        return Bounds(most, most, "closed form")
    return Bounds(by_uniform_traffic(network), most, "uniform traffic from below, a search from above")


def by_every_split(network: Network) -> int:
    """Tries all splits of the servers, each with the best places for the switches."""
    host = [node.host for node in network.nodes]
    if any(not host[cable.a] and not host[cable.b] for cable in network.cables):
        return _by_flows(network)
    hosts = network.hosts
    # Host 0 is on side 0: the other way round is the same split.
    sides = (np.arange(2 ** (hosts - 1))[:, None] >> np.arange(hosts)) & 1
    sides = sides.astype(np.int8)
    balanced = np.isin(sides.sum(1), (hosts // 2, hosts - hosts // 2))
    sides = sides[balanced]
    cut = np.zeros(len(sides), np.int64)
    below: dict[int, list[int]] = {}
    for cable in network.cables:
        if host[cable.a] and host[cable.b]:
            cut += sides[:, cable.a] != sides[:, cable.b]
        else:
            server, switch = (cable.a, cable.b) if host[cable.a] else (cable.b, cable.a)
            below.setdefault(switch, []).append(server)
    for servers in below.values():
        # A switch joins the side that most of its servers are on.
        there = sides[:, servers].sum(1)
        cut += np.minimum(there, len(servers) - there)
    return int(cut.min())


def _by_flows(network: Network) -> int:
    """Where switches have cables to each other, their best places are a minimum cut: a maximum flow for each split.

    Servers with the same neighbours are alike, so that only their numbers on either side matter.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    near: dict[int, list[int]] = {}
    for cable in network.cables:
        near.setdefault(cable.a, []).append(cable.b)
        near.setdefault(cable.b, []).append(cable.a)
    alike: dict[tuple[int, ...], list[int]] = {}
    for host in range(network.hosts):
        alike.setdefault(tuple(sorted(near[host])), []).append(host)
    links = Counter(ends for cable in network.cables for ends in ((cable.a, cable.b), (cable.b, cable.a)))
    source, sink = len(network.nodes), len(network.nodes) + 1
    best = len(network.cables)
    for counts in product(*(range(len(group) + 1) for group in alike.values())):
        if sum(counts) != network.hosts // 2:
            continue
        one = {host for group, count in zip(alike.values(), counts, strict=True) for host in group[:count]}
        ends = {(source, host): best for host in one}
        ends |= {(host, sink): best for host in range(network.hosts) if host not in one}
        (start, end), capacity = zip(*(links | ends), strict=True), list((links | ends).values())
        graph = coo_array((np.array(capacity, np.int32), (start, end)), shape=(sink + 1, sink + 1)).tocsr()
        best = min(best, int(maximum_flow(graph, source, sink).flow_value))
    return best


def by_uniform_traffic(network: Network) -> int:
    """Lower bound of the cut of every split.

    Let each ordered pair of servers send one unit, divided equally among its shortest paths. A link carries at most
    L, and floor(N/2) ceil(N/2) units cross any split, so that it has that many over L links or more.
    """
    paths = Paths.of(network)
    count = paths.between_hosts()[1].copy()
    # No server sends to itself.
    np.fill_diagonal(count, 0)
    most = Fraction(0)
    for link in range(len(paths.links)):
        through = paths.through_link(link)
        load = sum(
            (Fraction(int(through[count == ways].sum()), int(ways)) for ways in np.unique(count[count > 0])),
            Fraction(0),
        )
        most = max(most, load)
    half = network.hosts // 2
    return math.ceil(half * (network.hosts - half) / most)
