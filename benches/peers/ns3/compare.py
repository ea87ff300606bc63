"""Compares Flowyard with ns-3: CPU time a packet-hop of the same flows, and whether the results agree.

The two programs take turns, and the best of the rounds counts, as in `flowyard bench`. README.md says what is
equal on both sides and what is not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from flowyard import results
from flowyard.bench import machine, tell
from flowyard.bench.cases import SCENARIOS
from flowyard.console import TextTable, show

LIMIT = 60.0
SCENARIO = SCENARIOS / "bench" / "tcp-permutation-k8.toml"
# ns-3 puts two bytes of PPP header before each packet, and without window scaling a window has 16 bits.
COMMON: dict[str, object] = {"transport.tcp.link_bytes": "2B", "transport.tcp.receive_window": "65535B"}
# From an empty network to the last flow; hosts under one switch, in one pod, and in two pods.
LONE = {"matrix": {"pairs": [[0, 1], [0, 4], [0, 16]]}, "arrivals": {"times": {"at": ["0s", "10ms", "20ms"]}}}


@dataclass
class Case:
    """The permutation with one choice of paths, and what is left to say when both sides have run."""

    name: str
    overrides: dict[str, object]
    arguments: list[str]
    same_paths: bool
    # How far the median completion times may be apart, as a share.
    tolerance: float
    flowyard: list[dict[str, Any]] = field(default_factory=list)
    ns3: list[dict[str, Any]] = field(default_factory=list)


CASES = [
    # Nix-vector routing and Flowyard's "single" both take the first of equal next hops: 16 hosts to a link, so
    # that the queues must be longer than in `make bench` to lose nothing.
    Case(
        "same paths",
        {"routing.balancer": "single", "queue.drop-tail.limit.packets": 2000},
        [],
        same_paths=True,
        tolerance=0.01,
    ),
    # Each side spreads the flows in its own way, with windows of 22 segments so that four flows fit on a link.
    Case(
        "own paths",
        {"transport.tcp.receive_window": "32120B"},
        ["--rotate=true"],
        same_paths=False,
        tolerance=0.1,
    ),
]


def main() -> int:
    """Measures, prints, writes the figures; 1 if the limit was missed or the results differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="tcp_permutation, as build.sh makes it")
    parser.add_argument("output", type=Path, help="the JSON file to write")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    arguments = parser.parse_args()

    lone = lone_flows(arguments.program)
    for turn in range(arguments.rounds):
        for case in CASES:
            tell(f"round {turn + 1} of {arguments.rounds}: {case.name}")
            ours, theirs = both(arguments.program, scenario(), COMMON | case.overrides, case.arguments)
            case.flowyard.append(ours)
            case.ns3.append(theirs)
    tell("")

    figures: dict[str, Any] = {
        "limit": LIMIT,
        "lone_flows": lone,
        "cases": [summary(case) for case in CASES],
        "problems": [],
        "ns3_libraries": libraries(arguments.program),
        "machine": {"processor": machine.processor()},
    }
    figures["problems"] = problems(figures)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print_tables(figures)
    for problem in figures["problems"]:
        print(f"error: {problem}", file=sys.stderr)
    print(f"figures in {arguments.output}")
    return 1 if figures["problems"] else 0


def scenario() -> dict[str, Any]:
    """The benchmark's scenario."""
    return tomllib.loads(SCENARIO.read_text(encoding="utf-8"))


def lone_flows(program: Path) -> list[dict[str, Any]]:
    """The completion times of flows that have the network to themselves."""
    lone = scenario()
    lone["traffic"][0] |= LONE
    ours, theirs = both(program, lone, COMMON, [])
    return [
        {"links": links, "flowyard_fct_ps": own, "ns3_fct_ps": other}
        for links, own, other in zip((2, 4, 6), ours["fct_ps"], theirs["fct_ps"], strict=True)
    ]


def both(
    program: Path, scenario: dict[str, Any], overrides: dict[str, object], arguments: list[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Runs Flowyard, then ns-3 with Flowyard's flows and parameters."""
    resolved = results.check(scenario, overrides)
    result = results.run(scenario, overrides)
    flows = pl.DataFrame(result.flows)
    counters = result.summary["counters"]
    ours = {
        "cpu_s": counters["cpu_s"],
        "packet_hops": counters["packet_hops"],
        "lost": counters["drops"] + counters["retransmissions"] + counters["unfinished_flows"],
        "fct_ps": flows["fct_ps"].to_list(),
        "link_packets": pl.DataFrame(result.links)["packets"].to_list(),
    }

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flows.txt"
        rows = flows.select("src", "dst", "size_bytes", "start_ps").iter_rows()
        file.write_text("".join(f"{' '.join(map(str, row))}\n" for row in rows), encoding="utf-8")
        command = [str(program), f"--flows={file}", *parameters(resolved), *arguments]
        ended = subprocess.run(command, stdout=subprocess.PIPE)
    if ended.returncode:
        sys.exit(f"error: ns-3 ended with code {ended.returncode}: {' '.join(command)}")
    theirs = json.loads(ended.stdout)
    unfinished = sum(fct is None for fct in theirs["fct_ps"])
    theirs["lost"] = theirs["drops"] + theirs["repeated_bytes"] + theirs["packets_left"] + unfinished
    return ours, theirs


def parameters(resolved: dict[str, Any]) -> list[str]:
    """The scenario's parameters as options of the ns-3 program."""
    tree = resolved["topology"]["fat-tree"]
    tcp = resolved["transport"]["tcp"]
    options = {
        "k": tree["k"],
        "rate": tree["rate"],
        "delay": tree["delay"],
        "queue": f"{resolved['queue']['drop-tail']['limit']['packets']}p",
        "rtoMin": tcp["rto_min"],
        "window": tcp["receive_window"].removesuffix("B"),
        "initialWindow": tcp["initial_window"],
        "mss": tcp["mss"].removesuffix("B"),
    }
    return [f"--{name}={value}" for name, value in options.items()]


def summary(case: Case) -> dict[str, Any]:
    """The figures of a case."""
    ours, theirs = (min(side, key=cost) for side in (case.flowyard, case.ns3))
    medians = [median(side["fct_ps"]) for side in (ours, theirs)]
    pairs = zip(ours["fct_ps"], theirs["fct_ps"], strict=True)
    links = zip(ours["link_packets"], theirs["link_packets"], strict=True)
    return {
        "name": case.name,
        "ratio": cost(theirs) / cost(ours),
        "ns3_ns_per_packet_hop": cost(theirs),
        "flowyard_ns_per_packet_hop": cost(ours),
        "ns3_rounds": [cost(side) for side in case.ns3],
        "flowyard_rounds": [cost(side) for side in case.flowyard],
        "ns3_packet_hops": theirs["packet_hops"],
        "flowyard_packet_hops": ours["packet_hops"],
        "ns3_events": theirs["events"],
        "ns3_median_fct_ps": medians[1],
        "flowyard_median_fct_ps": medians[0],
        "median_difference": medians[1] / medians[0] - 1,
        "tolerance": case.tolerance,
        "largest_flow_difference": max(abs(other / own - 1) for own, other in pairs if own and other),
        "same_paths": case.same_paths,
        "links_used_by_one_side_only": sum((own > 0) != (other > 0) for own, other in links),
        "lost": ours["lost"] + theirs["lost"],
    }


def cost(side: dict[str, Any]) -> float:
    """CPU nanoseconds a packet-hop."""
    return float(side["cpu_s"]) * 1e9 / float(side["packet_hops"])


def median(times: list[int | None]) -> float:
    """The median of the completion times that there are."""
    return float(pl.Series(times).drop_nulls().median())  # type: ignore[arg-type]


def problems(figures: dict[str, Any]) -> list[str]:
    """What keeps the comparison from being good."""
    found = []
    for flow in figures["lone_flows"]:
        own, other = flow["flowyard_fct_ps"], flow["ns3_fct_ps"]
        if own is None or other is None or abs(other / own - 1) > 0.001:
            found.append(f"a lone flow over {flow['links']} links takes {own} ps here, {other} ps in ns-3")
    for case in figures["cases"]:
        if case["lost"]:
            found.append(f"{case['name']}: something was lost, repeated or left unfinished")
        if case["same_paths"] and case["links_used_by_one_side_only"]:
            found.append(
                f"{case['name']}: {case['links_used_by_one_side_only']} links are used by one side only"
            )
        if abs(case["median_difference"]) > case["tolerance"]:
            found.append(f"{case['name']}: the medians differ by {case['median_difference']:.1%}")
        if case["ratio"] < LIMIT:
            found.append(f"{case['name']}: {case['ratio']:.0f} times less CPU, wanted {LIMIT:.0f}")
    return found


def libraries(program: Path) -> str:
    """The ns-3 that the program runs with."""
    lines = subprocess.run(
        ["ldd", program], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    return next((line.split()[2] for line in lines if "ns3" in line and "-core" in line), "unknown")


def print_tables(figures: dict[str, Any]) -> None:
    """Prints the figures."""
    title = f"{figures['machine']['processor']}; CPU ns a packet-hop; ns-3 from {figures['ns3_libraries']}"
    header = ["case", "ns-3", "flowyard", "ratio", "hops ns-3", "hops flowyard"]
    header += ["median FCT ns-3", "flowyard", "differ by", "flows by at most"]
    rows = []
    for case in figures["cases"]:
        rows.append([case["name"], f"{case['ns3_ns_per_packet_hop']:,.0f}"])
        rows[-1] += [f"{case['flowyard_ns_per_packet_hop']:.1f}", f"{case['ratio']:.0f}"]
        rows[-1] += [f"{case['ns3_packet_hops']:,}", f"{case['flowyard_packet_hops']:,}"]
        rows[-1] += [microseconds(case["ns3_median_fct_ps"]), microseconds(case["flowyard_median_fct_ps"])]
        rows[-1] += [f"{case['median_difference']:.2%}", f"{case['largest_flow_difference']:.1%}"]
    show(TextTable(title, header, rows))
    rows = [
        [str(flow["links"]), *(microseconds(flow[side], 5) for side in ("ns3_fct_ps", "flowyard_fct_ps"))]
        for flow in figures["lone_flows"]
    ]
    show(TextTable("Lone flows", ["links", "FCT ns-3", "flowyard"], rows))


def microseconds(time: float | None, digits: int = 1) -> str:
    """A time in picoseconds, for people."""
    return "none" if time is None else f"{time / 1e6:,.{digits}f} us"


if __name__ == "__main__":
    sys.exit(main())
