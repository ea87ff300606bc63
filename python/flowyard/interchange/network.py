"""A network between formats: hosts, switches and cables, as `[topology.explicit]` has them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flowyard.errors import UserError
from flowyard.interchange.text import rate_text, time_text

# What keeps a slip of the pen in a file from eating the memory; an explicit topology holds no more.
NODES_MAX = 400_000
CABLES_MAX = 2_000_000


class Cable(NamedTuple):
    """A cable between two nodes, numbered hosts first."""

    a: int
    b: int
    rate_bps: int
    delay_ps: int


@dataclass
class Network:
    """Nodes and cables; hosts are numbered before switches, parallel cables are listed singly.

    Attributes:
        hosts: The names of the hosts.
        switches: (name, tier) of the switches.
        cables: The cables, in the order that the ports of their nodes take.
        loss: Share of packets that a cable loses, by its ends.
        host_of: The host of each node's number in the peer's file, if the file numbers nodes otherwise.
        notes: What was assumed or left out.
    """

    hosts: list[str]
    switches: list[tuple[str, str]]
    cables: list[Cable]
    loss: dict[tuple[int, int], float] = field(default_factory=dict)
    host_of: dict[int, int] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of all nodes, by their numbers."""
        return self.hosts + [name for name, _ in self.switches]

    @classmethod
    def of_fabric(cls, fabric: Mapping[str, Any]) -> "Network":
        """From what the engine built: {"nodes": [...], "links": [[from, to, rate_bps, delay_ps], ...]}."""
        nodes, links = fabric["nodes"], fabric["links"]
        hosts = [node["name"] for node in nodes if node["host"]]
        switches = [(node["name"], node["tier"]) for node in nodes if not node["host"]]
        # Links i and i ^ 1 are the two directions of a cable.
        return cls(hosts, switches, [Cable(*link) for link in links[::2]])

    def topology(self) -> dict[str, Any]:
        """As a scenario's `topology`; the commonest rate and delay are said once."""
        rate = _commonest([cable.rate_bps for cable in self.cables])
        delay = _commonest([cable.delay_ps for cable in self.cables])
        names = self.names
        cables: list[dict[str, Any]] = []
        last = None
        for cable in self.cables:
            if cable == last:
                cables[-1]["count"] = cables[-1].get("count", 1) + 1
                continue
            last = cable
            entry: dict[str, Any] = {"ends": [names[cable.a], names[cable.b]]}
            if cable.rate_bps != rate:
                entry["rate"] = rate_text(cable.rate_bps)
            if cable.delay_ps != delay:
                entry["delay"] = time_text(cable.delay_ps)
            cables.append(entry)
        return {
            "explicit": {
                "hosts": list(self.hosts),
                "switches": [
                    {"name": name} if tier == "switch" else {"name": name, "tier": tier}
                    for name, tier in self.switches
                ],
                "rate": rate_text(rate),
                "delay": time_text(delay),
                "cables": cables,
            }
        }

    def faults(self) -> list[dict[str, Any]]:
        """The losses as events of a scenario's `faults`, from the start on."""
        names = self.names
        return [
            {"at": "0s", "target": {"cable": [names[a], names[b]]}, "change": {"loss": share}}
            for (a, b), share in self.loss.items()
        ]

    def ports(self) -> list[list[int]]:
        """The neighbours of each node, by its ports; one for each parallel cable."""
        ports: list[list[int]] = [[] for _ in range(len(self.hosts) + len(self.switches))]
        for cable in self.cables:
            ports[cable.a].append(cable.b)
            ports[cable.b].append(cable.a)
        return ports


def _commonest(values: Sequence[int]) -> int:
    if not values:
        raise UserError("the network has no cable")
    # Of equally common ones the first, so that the same file always gives the same scenario.
    return Counter(values).most_common(1)[0][0]
