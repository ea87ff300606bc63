"""CPU time per packet-hop, as a multiple of the floor's.

A packet-hop is one packet, data or control, over one link. A case's cost is the CPU time of its whole run,
from reading the scenario to the finished tables, over its packet-hops. It is compared with the floor of the
same fat-tree size: bare packets without protocol, queue limits or statistics (crates/yardstick).
Floors and cases take turns, and the best round counts, so that the ratio survives a noisy machine better
than either figure. The latency of memory (there too) is there to compare machines by.
"""

from collections.abc import Callable, Sequence
from typing import Any

from flowyard.bench import child
from flowyard.bench.cases import GROWTH, Case
from flowyard.bench.checks import Check

FLOOR_HOPS = 4_000_000
CHASE_STEPS = 2_000_000
CHASE_ROUNDS = 5


def measure(cases: Sequence[Case], most_rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs floors and cases in turn; returns the figures of both as plain data."""
    from flowyard import _native

    tell("memory latency")
    chase = min(_native.chase_seconds(CHASE_STEPS) for _ in range(CHASE_ROUNDS)) * 1e9 / CHASE_STEPS
    floors: dict[int, float] = {}
    rounds: dict[str, list[dict[str, Any]]] = {case.name: [] for case in cases}
    last = min(most_rounds, max((case.rounds for case in cases), default=0))
    for turn in range(last):
        for case in cases:
            if turn >= case.rounds:
                continue
            tell(f"round {turn + 1} of {min(case.rounds, last)}: {case.name}")
            floor = _native.floor_seconds(case.k, FLOOR_HOPS) * 1e9 / FLOOR_HOPS
            floors[case.k] = min(floor, floors.get(case.k, floor))
            figures = child.run(case.path)
            if figures["status"] != "complete":
                raise RuntimeError(f"{case.name} ended with status {figures['status']}: nothing to measure")
            rounds[case.name].append(figures)
    return {
        "floor_ns": {f"k{k}": round(floor, 2) for k, floor in sorted(floors.items())},
        "memory_latency_ns": round(chase, 1),
        "cases": [row(case, rounds[case.name], floors[case.k]) for case in cases],
    }


def row(case: Case, rounds: Sequence[dict[str, Any]], floor: float) -> dict[str, Any]:
    """The figures of a case's cheapest round."""
    best = min(rounds, key=lambda figures: float(figures["cpu_s"]))
    hops, cpu_ns = best["packet_hops"], best["cpu_s"] * 1e9
    ratio = cpu_ns / hops / floor
    return {
        "name": case.name,
        "ns_per_packet_hop": round(cpu_ns / hops, 2),
        "floor_ratio": round(ratio, 3),
        "limit": case.limit,
        "within_limit": ratio <= case.limit,
        "events_per_packet_hop": round(best["events"] / hops, 3),
        "ns_per_full_packet": round(cpu_ns / best["full_packets"], 1),
        "median_goodput": round(best["median_goodput"], 3),
        "goodput_limit": case.goodput,
        "peak_memory_bytes": best["peak_memory_bytes"],
        "packet_hops": hops,
        "cpu_s": round(best["cpu_s"], 4),
        "rounds": len(rounds),
    }


def checks(cases: Sequence[Case], figures: dict[str, Any]) -> list[Check]:
    """Targets of these cases."""
    found = []
    rows = {row["name"]: row for row in figures["cases"]}
    for case in cases:
        measured = rows[case.name]
        cost, goodput = measured["floor_ratio"], measured["median_goodput"]
        found.append(
            Check(case.target, case.name, "x floor", cost, case.limit, case.stretch, guard=case.guard)
        )
        if case.goodput is not None:
            what = f"{case.name}, median goodput"
            guard = case.goodput_guard
            found.append(
                Check(case.target, what, "of the link", goodput, case.goodput, at_least=True, guard=guard)
            )
    small, large, limit, guard = GROWTH
    if small in rows and large in rows:
        growth = rows[large]["ns_per_packet_hop"] / rows[small]["ns_per_packet_hop"]
        found.append(Check(5, f"{large}, ns per packet-hop", f"x {small}", growth, limit, guard=guard))
    return found
