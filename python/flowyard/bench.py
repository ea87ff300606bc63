"""`flowyard bench`: the engine's speed on this machine, as ratios measured side by side.

Each case is a packaged scenario; its cost is CPU time of the run's thread, divided by packet-hops (one packet,
data or control, over one link). It is compared with the floor of the same fat-tree size: bare packets without
protocol, queue limits or statistics (crates/sim/src/floor.rs). Floor and cases take turns, and the best of the
rounds counts, so that the ratio survives a noisy machine better than either figure.
"""

import argparse
import json
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLOOR_HOPS = 4_000_000


@dataclass
class Case:
    """A scenario, the fat-tree size of its floor, and how many times the floor it may cost."""

    name: str
    k: int
    limit: float | None = None
    rounds: list[dict[str, Any]] = field(default_factory=list)

    def best(self) -> dict[str, Any]:
        """The counters of the cheapest round."""
        return min(self.rounds, key=lambda counters: float(counters["cpu_s"]))

    def ns_per_packet_hop(self) -> float:
        """CPU nanoseconds for each packet-hop in the cheapest round."""
        counters = self.best()
        return float(counters["cpu_s"]) * 1e9 / float(counters["packet_hops"])


CASES = [
    Case("ndp-permutation-k8", 8, limit=3.0),
    Case("ndp-permutation-k16", 16, limit=3.0),
    Case("tcp-permutation-k8", 8),
    Case("tcp-permutation-k16", 16),
]


def main(argv: list[str]) -> int:
    """Measures, prints and says by its exit code whether every limit was kept (0) or not (1)."""
    parser = argparse.ArgumentParser(prog="flowyard bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds, of which the best counts")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="default: all of them")
    arguments = parser.parse_args(argv)
    known = {case.name: case for case in CASES}
    unknown = [name for name in arguments.cases if name not in known]
    if unknown or arguments.rounds < 1:
        parser.error(
            f"no case {', '.join(unknown)}; there are {', '.join(known)}"
            if unknown
            else "--rounds: 1 or more"
        )
    cases = [known[name] for name in arguments.cases or known]
    floors = measure(cases, arguments.rounds)
    figures = summary(cases, floors)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        show(figures)
    return 1 if any(case["within_limit"] is False for case in figures["cases"]) else 0


def measure(cases: list[Case], rounds: int) -> dict[int, float]:
    """Runs floors and cases in turn; returns the best floor, in nanoseconds a packet-hop, by fat-tree size."""
    from flowyard import _native, results

    floors: dict[int, float] = {}
    for turn in range(rounds):
        for case in cases:
            print(f"\rround {turn + 1} of {rounds}: {case.name:<30}", end="", file=sys.stderr, flush=True)
            floor = _native.floor_seconds(case.k, FLOOR_HOPS) * 1e9 / FLOOR_HOPS
            floors[case.k] = min(floor, floors.get(case.k, floor))
            result = results.run(Path(__file__).parent / "scenarios" / "bench" / f"{case.name}.toml")
            if result.status != "complete":
                raise RuntimeError(f"{case.name} ended with status {result.status}: nothing to measure")
            case.rounds.append(result.summary["counters"] | quality(result))
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return floors


def quality(result: Any) -> dict[str, float]:
    """What shows that the run was worth measuring: the median flow's goodput over its host's rate."""
    import polars as pl

    flows = pl.DataFrame(result.flows)
    rate = pl.DataFrame(result.links)["rate_bps"][0]
    goodput = flows.select((pl.col("size_bytes") * 8e12 / pl.col("fct_ps") / rate).median()).item()
    return {"median_goodput": float(goodput)}


def summary(cases: list[Case], floors: dict[int, float]) -> dict[str, Any]:
    """The figures as plain data."""
    rows = []
    for case in cases:
        best, ns = case.best(), case.ns_per_packet_hop()
        ratio = ns / floors[case.k]
        rows.append(
            {
                "name": case.name,
                "ns_per_packet_hop": round(ns, 2),
                "floor_ratio": round(ratio, 3),
                "limit": case.limit,
                "within_limit": None if case.limit is None else ratio <= case.limit,
                "events_per_packet_hop": round(best["events"] / best["packet_hops"], 3),
                "packet_hops": best["packet_hops"],
                "cpu_s": round(best["cpu_s"], 4),
                "median_goodput": round(best["median_goodput"], 3),
            }
        )
    return {
        "floor_ns": {f"k{k}": round(floor, 2) for k, floor in sorted(floors.items())},
        "cases": rows,
        "machine": {
            "processor": processor(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
    }


def processor() -> str:
    """The processor's name, as far as the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def show(figures: dict[str, Any]) -> None:
    """Prints the figures as tables."""
    from flowyard.console import TextTable, show

    floors = ", ".join(f"{k}: {ns:.1f} ns" for k, ns in figures["floor_ns"].items())
    header = [
        "case",
        "ns/packet-hop",
        "x floor",
        "limit",
        "events/hop",
        "packet-hops",
        "cpu s",
        "median goodput",
    ]
    rows = []
    for case in figures["cases"]:
        limit = (
            ""
            if case["limit"] is None
            else f"{case['limit']:g}" + ("" if case["within_limit"] else " MISSED")
        )
        rows.append([case["name"], f"{case['ns_per_packet_hop']:.1f}", f"{case['floor_ratio']:.2f}", limit])
        rows[-1] += [f"{case['events_per_packet_hop']:.2f}", f"{case['packet_hops']:,}"]
        rows[-1] += [f"{case['cpu_s']:.2f}", f"{case['median_goodput']:.2f}"]
    show(TextTable(f"{figures['machine']['processor']}; floor {floors}", header, rows))
