"""SYN's leaf-spine of 120 servers, at several rates of its spines' links: its counts, and packets put on its links."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flowyard.topology import Network, network, survey

LEAVES, SERVERS_PER_LEAF, SPINES, FACTOR = 4, 30, 3, 10
SERVERS = LEAVES * SERVERS_PER_LEAF
GBPS = 10**9
# The packets of a slot: source and destination server of each.
Demand = Sequence[tuple[int, int]]


def topology(factor: int, equal_rate: bool) -> dict[str, Any]:
    """The paper's leaf-spine with links `factor` times as fast as the servers', or its equivalent at one rate."""
    return {
        "topology": {
            "leaf-spine": {
                "leaves": LEAVES,
                "hosts": SERVERS_PER_LEAF,
                "spines": SPINES * FACTOR // factor,
                "equal_rate": equal_rate,
                "host": {"rate": "1Gbps"},
                "spine": {"rate": f"{factor}Gbps"},
            }
        }
    }


class Fabric:
    """A generated leaf-spine: its counts, and what packets of one slot put on its links.

    Attributes:
        leaf: Of each server.
        room: Packets per slot that a leaf's uplinks take, of the leaf and the direction with the fewest.
    """

    def __init__(self, factor: int, equal: bool) -> None:
        self.factor, self.equal = factor, equal
        self.scenario = topology(factor, equal)
        self.network: Network = network(self.scenario)
        nodes = self.network.nodes
        # A server's link carries a packet per slot.
        self.capacity = Counter[tuple[int, int]]()
        for cable in self.network.cables:
            self.capacity[cable.a, cable.b] += cable.rate_bps // GBPS
            self.capacity[cable.b, cable.a] += cable.rate_back_bps // GBPS
        self.leaf = {a: b for a, b in self.capacity if nodes[a].host}
        self.spines = [place for place, node in enumerate(nodes) if node.tier == "spine"]
        self.up, self.into, self.down = Counter[int](), Counter[int](), Counter[int]()
        for (a, b), room in self.capacity.items():
            self.up[a] += room * (nodes[a].tier == "leaf" and nodes[b].tier == "spine")
            self.into[b] += room * (nodes[a].tier == "spine" and nodes[b].tier == "leaf")
            self.down[a] += room * (nodes[a].tier == "leaf" and nodes[b].host)
        self.room = min(min(self.up[leaf], self.into[leaf]) for leaf in self.leaf.values())

    def consists_of(self) -> dict[str, Any]:
        """A row of the table of networks."""
        tiers = Counter(node.tier for node in self.network.nodes)
        rates = {
            tier: {
                cable.rate_bps / GBPS
                for cable in self.network.cables
                if tier in (self.network.nodes[cable.a].tier, self.network.nodes[cable.b].tier)
            }
            for tier in ("host", "spine")
        }
        return {
            "factor": self.factor,
            "links": "one rate" if self.equal else "two rates",
            "servers": tiers["host"],
            "leaves": tiers["leaf"],
            "spines": tiers["spine"],
            "server_links_least_gbps": min(rates["host"]),
            "server_links_most_gbps": max(rates["host"]),
            "spine_links_least_gbps": min(rates["spine"]),
            "spine_links_most_gbps": max(rates["spine"]),
            "servers_per_leaf_least": min(Counter(self.leaf.values()).values()),
            "servers_per_leaf_most": max(Counter(self.leaf.values()).values()),
            "leaf_down_most_gbps": max(self.down[leaf] for leaf in self.leaf.values()),
            "leaf_up_least_gbps": self.room,
            "oversubscription": float(survey(self.scenario)["oversubscription"]),
        }

    def carry(self, demand: Demand, colours: Sequence[int]) -> tuple[int, int]:
        """Puts each packet on its links; those between leaves have a colour each, in order.

        A spine with links f times as fast takes f colours.

        Returns:
            Packets on the busiest link of the fabric, and links that have more than they can carry.
        """
        share = SERVERS_PER_LEAF // len(self.spines)
        load = Counter[tuple[int, int]]()
        colour = iter(colours)
        for source, target in demand:
            start, end = self.leaf[source], self.leaf[target]
            way = [source, start]
            if start != end:
                way += [self.spines[next(colour) // share], end]
            way.append(target)
            load.update(pairwise(way))
        assert load.keys() <= self.capacity.keys(), "a packet leaves the network"
        fabric = [count for (a, b), count in load.items() if a not in self.leaf and b not in self.leaf]
        return max(fabric, default=0), sum(count > self.capacity[link] for link, count in load.items())
