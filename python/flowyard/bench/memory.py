"""Memory of a simulation: the peak of two large ones, and bytes per item of numerous items.

Each figure comes from the peak of resident memory of processes that run one simulation each, tables included:
what a user sees. Bytes each are the difference between two runs that differ in nothing else, over the number
by which they differ:

- hosts and links: single switches have two links per host, fat-trees six, so that two pairs of empty networks
  give two equations (a fat-tree's switches and routes count with its links);
- live flows: as many flows, all at once or a few at a time;
- finished flows: twice as many flows, a few at a time. A flow that has finished still has its place among the
  live ones until its last timer has passed, so timers are short here; the million flows have the usual ones;
- packets in flight: on one long cable, and on one that is longer.
"""

from collections.abc import Callable
from typing import Any

from flowyard.bench import child
from flowyard.bench.checks import Check

GIB = 1 << 30

# A flow as drawn (56 bytes) and as counted (56), its row of the table, and what the row is computed from.
RECORD_LIMIT = 320


def network(topology: dict[str, Any], size: str, **more: Any) -> dict[str, Any]:
    """A permutation under NDP."""
    entry = {"name": "flows", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": size}}
    return {"topology": topology, "transport": "ndp", "traffic": [entry | more]}


def empty(topology: dict[str, Any]) -> dict[str, Any]:
    """A network that hardly begins."""
    return network(topology, "1KB", flows=1) | {"run": {"until": "1ps"}}


def fat_tree(k: int) -> dict[str, Any]:
    """A fat-tree of 100 Gbps."""
    return {"fat-tree": {"k": k, "rate": "100Gbps"}}


def short_flows(flows: int, arrivals: Any) -> dict[str, Any]:
    """Flows of three packets on k = 8, without others before or behind them."""
    scenario = network(fat_tree(8), "3KB", flows=flows, arrivals=arrivals, matrix="uniform")
    return scenario | {"run": {"measure": "all"}}


def few_or_all(flows: int, transport: str, live: bool) -> dict[str, Any]:
    """Short flows with short timers, all alive at once or a few thousand at a time."""
    timers = {"rto_min": "1ms", "rto_initial": "1ms"}
    arrivals = "at-once" if live else {"poisson": {"load": 0.01}}
    return short_flows(flows, arrivals) | {"transport": {transport: timers}}


def cable(delay: str) -> dict[str, Any]:
    """Two hosts at 100 Gbps, one of which sends for 50 ms whatever comes of it."""
    return {
        "topology": {"line": {"switches": 0, "rate": "100Gbps", "delay": delay}},
        "transport": "datagram",
        "traffic": [
            {"name": "long", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": "10GB"}}
        ],
        "run": {"until": "50ms"},
    }


def measure(tell: Callable[[str], None]) -> dict[str, Any]:
    """The figures as plain data."""

    def run(what: str, scenario: dict[str, Any]) -> dict[str, Any]:
        tell(f"memory: {what}")
        return child.run(scenario)

    def peak(what: str, scenario: dict[str, Any]) -> int:
        return int(run(what, scenario)["peak_memory_bytes"])

    large = run("k = 48", network(fat_tree(48), "200KB"))
    million = run("a million flows", short_flows(1_000_000, {"poisson": {"load": 0.3}}))
    more, fewer = (
        peak("finished flows", few_or_all(flows, "ndp", live=False)) for flows in (1_000_000, 500_000)
    )

    def star(hosts: int) -> int:
        return peak("a single switch", empty({"single-switch": {"hosts": hosts}}))

    def tree(k: int) -> int:
        return peak("an empty fat-tree", empty(fat_tree(k)))

    host_and_2_links = (star(20_000) - star(4_000)) / 16_000
    host_and_6_links = (tree(32) - tree(16)) / (32**3 / 4 - 16**3 / 4)
    link = (host_and_6_links - host_and_2_links) / 4

    live = {}
    for transport in ("ndp", "tcp"):
        flows = 128_000
        alive, after = (
            peak(f"live flows, {transport}", few_or_all(flows, transport, live=live))
            for live in (True, False)
        )
        live[transport] = (alive - after) / flows

    in_flight = 30e-3 * 100e9 / (8 * 1500)  # so many packets more on 40 ms than on 10 ms
    packet = (peak("a longer cable", cable("40ms")) - peak("a long cable", cable("10ms"))) / in_flight
    return {
        "k48": {key: large[key] for key in ("status", "peak_memory_bytes", "cpu_s", "packet_hops")},
        "million_flows": {key: million[key] for key in ("status", "peak_memory_bytes", "cpu_s")},
        "bytes_per": {
            "host": round(host_and_2_links - 2 * link),
            "link": round(link),
            "live flow, NDP": round(live["ndp"]),
            "live flow, TCP": round(live["tcp"]),
            "finished flow": round((more - fewer) / 500_000),
            "packet in flight": round(packet),
        },
    }


def checks(figures: dict[str, Any]) -> list[Check]:
    """Targets."""
    for name in ("k48", "million_flows"):
        if figures[name]["status"] != "complete":
            raise RuntimeError(f"{name} ended with status {figures[name]['status']}: nothing to measure")
    large, million = (figures[name]["peak_memory_bytes"] / GIB for name in ("k48", "million_flows"))
    record = figures["bytes_per"]["finished flow"]
    return [
        Check(5, "k = 48, one 200 KB flow per host, peak memory", "GiB", large, 1.5),
        Check(6, "a million short flows on k = 8, peak memory", "GiB", million, 1.0),
        Check(6, "a finished flow, its record in the tables included", "bytes", record, RECORD_LIMIT),
    ]
