"""A run's network by the numbers that HPCC's ns-3 code gives it: nodes, kinds of nodes, ports from 1."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flowyard.results import Result

# Ports of transport of the first flow between two hosts, unless a file of flows names that of the destination.
FIRST_SOURCE_PORT, FIRST_TARGET_PORT = 10_000, 100
_NUMBER = re.compile(r"(?:.*\D)?(\d{1,9})", re.ASCII)


class Port(NamedTuple):
    """The head of a link: number of its node, whether that is a switch, and the port's number on it."""

    node: int
    is_switch: bool
    port: int


def address(node: int) -> int:
    """The address of a node as a number: 11.x.y.1, where x.y are the two bytes of the node's number."""
    return 0x0B000001 + (node << 8)


def ports_of(result: "Result") -> list[Port]:
    """The port of each link of a run, by the link's number."""
    links = result.links.to_polars().select("id", "from", "tier").sort("id").to_dicts()
    numbers = _numbers([link["from"] for link in links])
    taken: dict[str, int] = {}
    ports = []
    for link in links:
        name = link["from"]
        taken[name] = taken.get(name, 0) + 1
        ports.append(Port(numbers[name], not link["tier"].startswith("host-"), taken[name]))
    return ports


def hosts_of(result: "Result") -> list[int]:
    """The number of each host's node, by the number of the host."""
    numbers = _numbers(result.links.to_polars().sort("id")["from"].to_list())
    topology = result.summary["scenario"]["topology"]
    own = topology.get("explicit", {}).get("hosts") if isinstance(topology, Mapping) else None
    if isinstance(own, list):
        return [numbers[name] for name in own]
    named = (f"host {number}" for number in range(len(numbers)))
    return [numbers[name] for name in named if name in numbers]


def _numbers(names: list[str]) -> dict[str, int]:
    """The number at the end of each node's name, as import gives them; else its place among the nodes that send."""
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    found = {name: int(match[1]) for name in places if (match := _NUMBER.fullmatch(name))}
    return found if len(set(found.values())) == len(places) else places
