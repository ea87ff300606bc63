"""Central control: what its packets cost, what its controllers cost, and what they keep in memory.

Time: the 120 servers of SYN's paper at load 0.8, under SYN and under ASY, the cheapest of three runs each. The
controller's part is the share of the run's wall time from when it begins to decide until hosts have its orders: of a
slot under SYN, of an update of rates under ASY. That share of the run's CPU time is the controller's, the rest that of
packets. It is compared with the floor of a fat-tree of 128 hosts (`speed`), which is measured in turn with the runs.

Memory: peaks of processes as in `memory`. On 4,096 servers a million flows begin at once, nearly all between hosts of
their own, so that there are as many queues. And 100,000 flows wait on 120 servers, of 10 packets each, and of 1,000:
what a backlog takes beyond the empty network goes with its flows, so that both take the same.
"""

from collections.abc import Callable, Mapping
from typing import Any

from flowyard.bench import child
from flowyard.bench.cases import SCENARIOS
from flowyard.bench.checks import Check
from flowyard.bench.memory import GIB
from flowyard.bench.speed import FLOOR_HOPS

ROUNDS = 3
# ASY computes rates at most every 100 us where a million flows begin, each at a time of its own.
CONTROLLERS: Mapping[str, Mapping[str, Any]] = {"syn": {}, "asy": {"interval": "100us"}}
MANY, FEW = 1_000, 10
# What packets may cost as long as the limit has not been reached; docs/performance.md says why it has not.
FLOOR_GUARD: Mapping[str, float] = {"asy": 4.0}
FLOOR_LIMIT, SLOT_LIMIT, UPDATE_LIMIT, MEMORY_LIMIT, BACKLOG_LIMIT = 3.0, 30.0, 40.0, 2.0, 1.1


def measure(rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """The figures as plain data."""
    from flowyard import _native

    floors = []
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTROLLERS}
    for round_ in range(min(rounds, ROUNDS)):
        for name, runs in found.items():
            tell(f"central control: {name}, round {round_ + 1}")
            floors.append(_native.floor_seconds(8, FLOOR_HOPS) * 1e9 / FLOOR_HOPS)
            runs.append(run(SCENARIOS / "bench" / f"{name}-leaf-spine.toml", "complete"))
    memory = {}
    for name, fields in CONTROLLERS.items():
        tell(f"central control: 4,096 servers, {name}")
        memory[name] = run(burst(64, 64, 7, 1_000_000, "46KB", {name: fields}), "limit")["peak_memory_bytes"]
    tell("central control: a backlog")
    empty = run(burst(4, 30, 3, 1, "1500KB", "syn"), "limit")["peak_memory_bytes"]
    backlog = {
        packets: run(burst(4, 30, 3, 100_000, f"{1500 * packets}B", "syn"), "limit")["peak_memory_bytes"]
        - empty
        for packets in (FEW, MANY)
    }
    best = {name: parts(min(runs, key=lambda run: float(run["cpu_s"]))) for name, runs in found.items()}
    return {
        "floor_ns": round(min(floors), 2),
        "parts": best,
        "floor_ratio": {name: round(best[name]["ns_per_packet_hop"] / min(floors), 3) for name in best},
        "peak_memory_bytes": memory,
        "bytes_per_waiting_flow": round(backlog[MANY] / 100_000, 1),
        "backlog_ratio": round(backlog[MANY] / backlog[FEW], 3),
    }


def run(scenario: Any, status: str) -> dict[str, Any]:
    """A run that must end as it is meant to."""
    figures = child.run(scenario)
    if figures["status"] != status:
        raise RuntimeError(f"central control ended with status {figures['status']}: nothing to measure")
    return figures


def parts(figures: Mapping[str, Any]) -> dict[str, float]:
    """A packet-hop without the controller, and the controller each time that it decides."""
    control = figures["control"]
    decisions = figures["cpu_s"] * control["wall_s"] / figures["wall_s"]
    return {
        "ns_per_packet_hop": round((figures["cpu_s"] - decisions) * 1e9 / figures["packet_hops"], 2),
        "us_per_decision": round(decisions * 1e6 / control["acts"], 3),
    }


def burst(leaves: int, hosts: int, spines: int, flows: int, size: str, controller: Any) -> dict[str, Any]:
    """Flows that begin at once, of which next to nothing is sent before the end."""
    entry = {"name": "bursts", "arrivals": "at-once", "matrix": "uniform", "sizes": {"fixed": size}}
    rates = {"rate": "1Gbps", "spine": {"rate": "10Gbps"}}
    return {
        "topology": {"leaf-spine": {"leaves": leaves, "hosts": hosts, "spines": spines} | rates},
        "transport": "central",
        "controller": controller,
        "traffic": [entry | {"flows": flows}],
        "run": {"until": "200us"},
    }


def checks(figures: Mapping[str, Any]) -> list[Check]:
    """Targets."""
    decisions = {
        "syn": ("SYN, a slot's control", SLOT_LIMIT),
        "asy": ("ASY, an update of rates", UPDATE_LIMIT),
    }
    found = []
    for name, (what, limit) in decisions.items():
        packets = f"{name.upper()}, 120 servers, load 0.8, per packet-hop without the controller"
        peak = figures["peak_memory_bytes"][name] / GIB
        found += [
            Check(
                13, packets, "x floor", figures["floor_ratio"][name], FLOOR_LIMIT, guard=FLOOR_GUARD.get(name)
            ),
            Check(13, what, "us", figures["parts"][name]["us_per_decision"], limit),
            Check(13, f"{name.upper()}, 4,096 servers, a million flows", "GiB", peak, MEMORY_LIMIT),
        ]
    what = f"a backlog of {MANY:,} packets per flow"
    return [*found, Check(13, what, f"x that of {FEW}", figures["backlog_ratio"], BACKLOG_LIMIT)]
