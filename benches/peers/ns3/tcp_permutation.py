"""A TCP permutation without losses: CPU time per packet-hop of the same flows, and whether the results agree.

The two programs take turns, and the best of the rounds counts, as in `flowyard bench`. README.md says what is
equal on both sides and what is not.
"""

import json
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from row import DoesNotHoldError, Row, ns3

from flowyard import results
from flowyard.bench import machine, tell
from flowyard.bench.cases import SCENARIOS

# So many times less CPU than ns-3 Flowyard needs at least, and so many rounds are run, of which the best counts.
LIMIT = 60.0
ROUNDS = 3
OUTPUT = Path("out/bench/ns3.json")
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
    arguments: dict[str, object]
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
        {},
        same_paths=True,
        tolerance=0.01,
    ),
    # Each side spreads the flows in its own way, with windows of 22 segments so that four flows fit on a link.
    Case(
        "own paths",
        {"transport.tcp.receive_window": "32120B"},
        {"rotate": "true"},
        same_paths=False,
        tolerance=0.1,
    ),
]


def rows(program: Path, folder: Path) -> list[Row]:
    """Measures, writes the figures to `OUTPUT`, and says how far the sides are apart.

    Raises:
        DoesNotHoldError: something was lost, paths differ where they should not, or Flowyard was too slow.
    """
    lone = lone_flows(program, folder)
    for turn in range(ROUNDS):
        for case in CASES:
            tell(f"tcp_permutation, round {turn + 1} of {ROUNDS}: {case.name}")
            ours, theirs = both(program, folder, scenario(), COMMON | case.overrides, case.arguments)
            case.flowyard.append(ours)
            case.ns3.append(theirs)

    figures: dict[str, Any] = {
        "limit": LIMIT,
        "lone_flows": lone,
        "cases": [summary(case) for case in CASES],
        "problems": [],
        "ns3_libraries": libraries(program),
        "machine": {"processor": machine.processor()},
    }
    figures["problems"] = problems(figures)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if figures["problems"]:
        raise DoesNotHoldError("; ".join(figures["problems"]))
    return table(figures)


def table(figures: dict[str, Any]) -> list[Row]:
    """Measurements as rows of the common table."""
    found = [
        Row(
            case=f"TCP, a lone flow over {flow['links']} links",
            measure="FCT",
            unit="us",
            ns3=flow["ns3_fct_ps"] / 1e6,
            flowyard=flow["flowyard_fct_ps"] / 1e6,
            # Nothing is left to chance: only the third packet of the handshake may show.
            within=0.001,
        )
        for flow in figures["lone_flows"]
    ]
    for case in figures["cases"]:
        name = f"TCP permutation, {case['name']}"
        # Order in the queues may differ over the same paths; other paths need not even agree on the median.
        medians = (case["ns3_median_fct_ps"] / 1e6, case["flowyard_median_fct_ps"] / 1e6)
        apart = (
            case["tolerance"],
            "" if case["same_paths"] else "each side spreads the flows in its own way",
        )
        found.append(Row(name, "median FCT", "us", *medians, *apart))
        costs = (case["ns3_ns_per_packet_hop"], case["flowyard_ns_per_packet_hop"])
        why = f"speed: {case['ratio']:.0f} times less, {LIMIT:.0f} are wanted"
        found.append(Row(name, "CPU a packet-hop", "ns", *costs, within=None, why=why))
    return found


def scenario() -> dict[str, Any]:
    """The benchmark's scenario."""
    return tomllib.loads(SCENARIO.read_text(encoding="utf-8"))


def lone_flows(program: Path, folder: Path) -> list[dict[str, Any]]:
    """The completion times of flows that have the network to themselves."""
    lone = scenario()
    lone["traffic"][0] |= LONE
    ours, theirs = both(program, folder, lone, COMMON, {})
    return [
        {"links": links, "flowyard_fct_ps": own, "ns3_fct_ps": other}
        for links, own, other in zip((2, 4, 6), ours["fct_ps"], theirs["fct_ps"], strict=True)
    ]


def both(
    program: Path,
    folder: Path,
    scenario: dict[str, Any],
    overrides: dict[str, object],
    arguments: dict[str, object],
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

    file = folder / "flows.txt"
    lines = (
        " ".join(map(str, row)) for row in flows.select("src", "dst", "size_bytes", "start_ps").iter_rows()
    )
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    theirs = ns3(program, flows=file, **parameters(resolved), **arguments)
    unfinished = sum(fct is None for fct in theirs["fct_ps"])
    theirs["lost"] = theirs["drops"] + theirs["repeated_bytes"] + theirs["packets_left"] + unfinished
    return ours, theirs


def parameters(resolved: dict[str, Any]) -> dict[str, object]:
    """The scenario's parameters as options of the ns-3 program."""
    tree = resolved["topology"]["fat-tree"]
    tcp = resolved["transport"]["tcp"]
    return {
        "k": tree["k"],
        "rate": tree["rate"],
        "delay": tree["delay"],
        "queue": f"{resolved['queue']['drop-tail']['limit']['packets']}p",
        "rtoMin": tcp["rto_min"],
        "window": tcp["receive_window"].removesuffix("B"),
        "initialWindow": tcp["initial_window"],
        "mss": tcp["mss"].removesuffix("B"),
    }


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
    """Reasons against the comparison's validity, or against Flowyard's speed."""
    found = []
    for case in figures["cases"]:
        if case["lost"]:
            found.append(f"{case['name']}: something was lost, repeated or left unfinished")
        if case["same_paths"] and case["links_used_by_one_side_only"]:
            found.append(
                f"{case['name']}: {case['links_used_by_one_side_only']} links are used by one side only"
            )
        if case["ratio"] < LIMIT:
            found.append(f"{case['name']}: {case['ratio']:.0f} times less CPU, wanted {LIMIT:.0f}")
    return found


def libraries(program: Path) -> str:
    """The ns-3 that the program runs with."""
    lines = subprocess.run(
        ["ldd", program], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    return next((line.split()[2] for line in lines if "ns3" in line and "-core" in line), "unknown")
