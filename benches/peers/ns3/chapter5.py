"""Chapter 5 of Song's thesis: patterns, routing schemes and buffers of switches on a fat-tree of 16 hosts; mean FCT.

README.md says what is equal on both sides.
"""

import os
import random
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from row import DoesNotHoldError, Row, ns3

from flowyard import results
from flowyard.bench import tell

SCENARIO = Path(__file__).with_suffix(".toml")
HOSTS = 16
PODS = 4
HALF = 2
RATE_BPS = 1_000_000_000
DELAY_NS = 500_000
# Ethernet's clocks may be off by 100 ppm.
OFF_BPS = RATE_BPS // 10_000
# A full packet takes 11,952 ns.
LONGER_NS = 12_000
# Where nothing is left to chance both sides should lose nearly the same packets, and two or three decide a timeout.
# Paths by packet are left to chance: there the difference of means of ten runs has a standard error of 2.5 to 3.2 %.
WITHIN = 0.05
# Chance is in paths drawn packet by packet, and in the timeouts behind the smallest buffers.
RUNS = 3
RUNS_OF_CHANCE = 10
TURNS = (
    "a host has three connections: here they take turns, a device in ns-3 sends what it was given first, in bursts of "
    "one connection, of which half as many packets again are overtaken by three others. With duplicates = inflate the "
    "largest difference is -8.6 %; that the turns make all that is left was not shown"
)
ONE_RATE = (
    "packets of the flow that began a queue come at the very instants at which the port sends one. In ns-3 they come "
    "first, find the queue full and are lost; with ties that are drawn what is sent makes room, and the other flow "
    "loses. With rates that differ by 100 ppm, as above, the order is the same in both"
)
# Which packet of an instant goes first, in the rows on cables of one rate.
TIES = {"drawn": ONE_RATE, "arrival": ""}
HELD = (
    "the last segment of a block waits for its acknowledgement as long as for its timeout. At the acknowledgement that "
    "ends the recovery ns-3 counts only what lies beyond the recovery point: the window stays one segment, which waits "
    "for its acknowledgement until it times out again, and so each segment of the next block. With 40 ms, as above, "
    "there is no such timeout"
)


@dataclass(frozen=True)
class Pattern:
    """Flows: sender, receiver, size, and the buffers on the path."""

    name: str
    bytes: int
    blocks: int
    # For how long an acknowledgement is held back.
    held: str
    buffers: tuple[int, ...]
    # Of Stride(4).
    senders: int = HOSTS

    def pairs(self, draws: random.Random) -> list[tuple[int, int]]:
        """Source and destination."""
        if self.name == "Stride(4)":
            return [(host, (host + 4) % HOSTS) for host in range(self.senders)]
        if self.name == "Random":
            others = [[other for other in range(HOSTS) if other != host] for host in range(HOSTS)]
            return [(host, draws.choice(of)) for host, of in enumerate(others)]
        return [((host + ahead) % HOSTS, host) for host in range(HOSTS) for ahead in (4, 8, 12)]


PATTERNS = (
    Pattern("Stride(4)", 2_000_000, 1, "200ms", (10, 50, 90)),
    Pattern("Random", 2_000_000, 1, "200ms", (10, 50, 90)),
    Pattern("3 Senders", 262_144, 3, "40ms", (20, 80, 180)),
)
# Table 5.4 of the thesis.
SAMPLE = Pattern("Stride(4)", 5_000_000, 1, "200ms", (30,), senders=4)
# Flowyard's balancer, and the option of the ns-3 program.
SCHEMES = {
    "NR": ("single", "first"),
    "flow ECMP": ("explicit", "paths"),
    "packet ECMP": ("per-packet", "spray"),
    "NIX": ("nix", "nix"),
}


@dataclass(frozen=True)
class Cable:
    """Of the fat-tree."""

    ends: tuple[str, str]
    rate_bps: int = RATE_BPS
    delay_ns: int = DELAY_NS


@dataclass(frozen=True)
class Draw:
    """The random draws of a run, the same for both sides and all schemes."""

    cables: list[Cable]
    pairs: list[tuple[int, int]]
    # For each direction of each pair the ports upwards, at the edge switch and at the aggregation switch.
    ups: dict[tuple[int, int], tuple[int, int]]

    def file(self) -> str:
        """As the ns-3 program reads it."""
        lines = [f"{cable.rate_bps} {1000 * cable.delay_ns}" for cable in self.cables]
        for s, d in self.pairs:
            lines.append(" ".join(map(str, (s, d, *self.ups[s, d], *self.ups[d, s]))))
        return "\n".join(lines) + "\n"

    def topology(self) -> dict[str, Any]:
        """The fat-tree of these cables."""
        tiers = {"edge": PODS * HALF, "aggregation": PODS * HALF, "core": HALF * HALF}
        return {
            "explicit": {
                "hosts": [f"host {host}" for host in range(HOSTS)],
                "switches": [
                    {"name": f"{tier} {i}"} for tier, number in tiers.items() for i in range(number)
                ],
                "cables": [
                    {"ends": cable.ends, "rate": f"{cable.rate_bps}bps", "delay": f"{cable.delay_ns}ns"}
                    for cable in self.cables
                ],
            }
        }

    def routes(self) -> list[dict[str, Any]]:
        """The paths that the ports upwards make."""
        return [{"path": path(s, d, *ups)} for (s, d), ups in self.ups.items()]


def path(source: int, destination: int, up: int, over: int) -> list[str]:
    """The nodes from one host to another."""
    first, last = source // HALF, destination // HALF
    switches = [f"edge {first}"]
    if first != last:
        switches.append(f"aggregation {first // HALF * HALF + up}")
        if first // HALF != last // HALF:
            switches += [f"core {over * HALF + up}", f"aggregation {last // HALF * HALF + up}"]
        switches.append(f"edge {last}")
    return [f"host {source}", *switches, f"host {destination}"]


def fat_tree() -> list[tuple[str, str]]:
    """The ends of its cables, in the order of `topology.fat-tree`."""
    found = [(f"host {host}", f"edge {host // HALF}") for host in range(HOSTS)]
    switches = [(switch, up) for switch in range(PODS * HALF) for up in range(HALF)]
    found += [(f"edge {edge}", f"aggregation {edge // HALF * HALF + up}") for edge, up in switches]
    return found + [(f"aggregation {a}", f"core {up * HALF + a % HALF}") for a, up in switches]


def draw(pattern: Pattern, run: int, off_bps: int = OFF_BPS, longer_ns: int = LONGER_NS) -> Draw:
    """The same at each call."""
    draws = random.Random(f"{pattern.name} {run}")
    cables = [
        Cable(
            ends,
            RATE_BPS + round(off_bps * draws.uniform(-1, 1)),
            DELAY_NS + draws.randrange(LONGER_NS) * longer_ns // LONGER_NS,
        )
        for ends in fat_tree()
    ]
    pairs = pattern.pairs(draws)
    ups: dict[tuple[int, int], tuple[int, int]] = {}
    for s, d in pairs:
        for ends in ((s, d), (d, s)):
            ups.setdefault(ends, (draws.randrange(HALF), draws.randrange(HALF)))
    return Draw(cables, pairs, ups)


@dataclass(frozen=True)
class Case:
    """One run of one cell of the table."""

    pattern: Pattern
    scheme: str
    buffer: int
    run: int
    drawn: Draw
    ties: str = "drawn"


@dataclass(frozen=True)
class Outcome:
    """The results of a case on one side: FCTs in ms, drops, and the packets of each link in the order of its number."""

    fct_ms: list[float]
    drops: int
    packets: list[int]


def rows(program: Path, folder: Path) -> list[Row]:
    """Mean FCTs by pattern, scheme and buffer; then with cables of one rate, and with long-held acknowledgements.

    Raises:
        DoesNotHoldError: a flow did not end, or took other links.
    """
    scenario = tomllib.loads(SCENARIO.read_text(encoding="utf-8"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def compared(name: str, cases: list[Case], why: str = "") -> Row:
            tell(f"{name}: {len(cases)} runs")
            others = list(pool.map(lambda case: theirs(program, folder, case), cases))
            own = [ours(scenario, case) for case in cases]
            for other, mine, case in zip(others, own, cases, strict=True):
                if case.scheme != "packet ECMP" and [n > 0 for n in other.packets] != [
                    n > 0 for n in mine.packets
                ]:
                    raise DoesNotHoldError(
                        f"{name}: links are used that ns-3 does not use, or the other way round"
                    )
            within = None if why else WITHIN
            return Row(name, "mean FCT", "ms", mean(others), mean(own), within, why or drops(others, own))

        found = []
        for pattern in PATTERNS:
            for scheme in SCHEMES:
                for buffer in pattern.buffers:
                    numbers = range(1, runs(pattern, scheme, buffer) + 1)
                    cases = [Case(pattern, scheme, buffer, run, draw(pattern, run)) for run in numbers]
                    several = pattern.blocks > 1 and scheme == "packet ECMP"
                    found.append(compared(title(pattern, scheme, buffer), cases, TURNS if several else ""))
        stride, _, senders = PATTERNS
        cases = [
            Case(stride, "flow ECMP", 10, run, draw(stride, run, off_bps=0)) for run in range(1, RUNS + 1)
        ]
        for ties, why in TIES.items():
            cases = [replace(case, ties=ties) for case in cases]
            name = f"{title(stride, 'flow ECMP', 10)}, cables of one rate, ties {ties}"
            found.append(compared(name, cases, why))
        drawn = draw(SAMPLE, 1, off_bps=0, longer_ns=0)
        cases = [Case(SAMPLE, "NR", 30, 1, drawn, "arrival")]
        found.append(compared("chapter 5, table 5.4, NR, 30 packets, ties arrival", cases))
        held = replace(senders, held="200ms")
        cases = [Case(held, "NR", 80, run, draw(held, run)) for run in range(1, RUNS + 1)]
        found.append(compared(title(held, "NR", 80) + ", ACKs held for 200 ms", cases, HELD))
    return found


def runs(pattern: Pattern, scheme: str, buffer: int) -> int:
    """How many runs the mean is taken of."""
    if scheme == "packet ECMP":
        # Three blocks of 48 pairs are more flows than ten runs have otherwise.
        return RUNS_OF_CHANCE if pattern.blocks == 1 else RUNS
    if buffer == min(pattern.buffers):
        return RUNS_OF_CHANCE
    # The paths of NR again.
    return 1 if scheme == "NIX" else RUNS


def title(pattern: Pattern, scheme: str, buffer: int) -> str:
    """The case's name in the table."""
    return f"chapter 5, {pattern.name}, {scheme}, {buffer} packets"


def mean(outcomes: list[Outcome]) -> float:
    """Of all flows of all runs, in ms."""
    return fmean(time for outcome in outcomes for time in outcome.fct_ms)


def drops(others: list[Outcome], own: list[Outcome]) -> str:
    """How many packets a run drops, if any."""
    there, here = (fmean(outcome.drops for outcome in side) for side in (others, own))
    return f"drops {there:.1f} packets in ns-3, {here:.1f} here" if there or here else ""


def theirs(program: Path, folder: Path, case: Case) -> Outcome:
    """A run of ns-3."""
    # An option of ns-3 has no spaces.
    given = folder / f"{case.pattern.name}-{case.run}".replace(" ", "-")
    given.write_text(case.drawn.file(), encoding="utf-8")
    setting: dict[str, object] = {
        "given": given,
        "scheme": SCHEMES[case.scheme][1],
        "queue": f"{case.buffer}p",
        "bytes": case.pattern.bytes,
        "blocks": case.pattern.blocks,
        "run": case.run,
        "mss": 1452,
        # The send buffer limits the window: README.md.
        "window": 1_000_000,
        "sendBuffer": 45 * 1452,
        "timestamps": "false",
        "limitedTransmit": "false",
        "delayedAckTimeout": case.pattern.held,
        "initialWindow": 1,
        "initialSsthresh": 65535,
    }
    answer = ns3(program, **setting)
    return Outcome([time / 1e9 for time in answer["fct_ps"]], answer["drops"], answer["link_packets"])


def ours(scenario: dict[str, Any], case: Case) -> Outcome:
    """A run of Flowyard.

    Raises:
        DoesNotHoldError: a flow did not end.
    """
    balancer: Any = SCHEMES[case.scheme][0]
    if balancer == "explicit":
        balancer = {"explicit": {"routes": case.drawn.routes()}}
    elif balancer == "nix":
        balancer = {"nix": {"search": "first"}}
    (blocks,) = scenario["traffic"]
    traffic = blocks | {"matrix": {"pairs": case.drawn.pairs}}
    run = results.run(
        scenario
        | {"topology": case.drawn.topology(), "routing": {"balancer": balancer}, "traffic": [traffic]},
        {
            "queue.drop-tail.limit.packets": case.buffer,
            "traffic.blocks.arrivals.blocks.blocks": case.pattern.blocks,
            "traffic.blocks.sizes.fixed": f"{case.pattern.bytes}B",
            "transport.tcp.delayed_ack_timeout": case.pattern.held,
            "run.seed": case.run,
            "run.ties": case.ties,
        },
    )
    times = pl.DataFrame(run.flows)["fct_ps"]
    if times.null_count():
        raise DoesNotHoldError(f"{case.pattern.name}, {case.scheme}: Flowyard did not end")
    links = pl.DataFrame(run.links)
    return Outcome(
        [time / 1e9 for time in times], run.summary["counters"]["drops"], links["packets"].to_list()
    )
