"""Tables of `flowyard topology`."""

from typing import Any

from flowyard.terminal.console import TextTable
from flowyard.text import count, duration, percent, rate
from flowyard.topology import Network


def tables(network: Network, survey: dict[str, Any]) -> list[TextTable]:
    """Nodes, cables, paths and capacity."""
    nodes = [
        (tier, count(nodes), count(least) if least == most else f"{count(least)} to {count(most)}")
        for tier, (nodes, least, most) in network.ports().items()
    ]
    cables = [
        (
            f"{a}-{b}",
            count(number),
            rate(there) if there == back else f"{rate(there)}, back {rate(back)}",
            duration(delay),
        )
        for (a, b, there, back, delay), number in network.cable_kinds().items()
    ]
    paths = survey["paths"]
    total = sum(row["pairs"] for row in paths["distances"])
    distances = [
        (
            count(row["hops"]),
            percent(row["pairs"] / total, 1),
            _range(row["paths_min"], row["paths_max"]),
        )
        for row in paths["distances"]
    ]
    sampled = f", from {paths['sources']} of {count(network.hosts)} hosts" if paths["sampled"] else ""
    return [
        TextTable(f"{network.kind}: nodes", ("tier", "nodes", "ports"), nodes),
        TextTable("cables", ("tier", "cables", "rate", "delay"), cables),
        TextTable(f"shortest paths between hosts{sampled}", ("links", "of pairs", "paths"), distances),
        TextTable("capacity", ("", ""), _capacity(network, survey)),
    ]


def _range(least: int, most: int) -> str:
    return count(least) if least == most else f"{count(least)} to {count(most)}"


def _capacity(network: Network, survey: dict[str, Any]) -> list[tuple[str, str]]:
    bisection = survey["bisection"]
    hosts = [0] * len(network.nodes)
    for cable in network.cables:
        hosts[cable.a] += cable.rate_bps
        hosts[cable.b] += cable.rate_back_bps
    sent = sum(bps for bps, node in zip(hosts, network.nodes, strict=True) if node.host)
    relation = "" if bisection["exact"] else "at most "
    rows = [
        ("hosts together send", rate(sent)),
        ("bisection", f"{relation}{rate(bisection['bps'])}"),
        ("", bisection["how"]),
        (
            "bisection per host",
            f"{relation}{rate(2 * bisection['bps'] / network.hosts)}, for half of the hosts",
        ),
    ]
    if survey["oversubscription"] is not None:
        rows.append(("oversubscription", f"{survey['oversubscription']:g}:1"))
    return rows
