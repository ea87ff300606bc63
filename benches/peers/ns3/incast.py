"""Reads over kept connections: goodput by number of servers, and where it collapses.

Each of N servers has one connection to the client, which asks all of them for 64 KiB, and again when it has everything.
README.md says what is equal on both sides. All curves are drawn into incast.svg.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from row import DoesNotHoldError, Row, ns3

from flowyard import results
from flowyard.bench import tell
from flowyard.papers import style

SCENARIO = Path(__file__).with_suffix(".toml")
PICTURE = SCENARIO.with_suffix(".svg")
LINK_MBPS = 1000.0
SENDERS = (1, 2, 4, 8, 16, 32, 64)
BLOCKS = 20
BLOCK_BYTES = 65536
# The cable of each server is so much longer than that of the one before, all within half a packet's time at 64 servers:
# two servers' packets never reach the switch at the same instant.
LONGER_NS = 90
# Goodput is collapsed below half of the link. Away from the onset the sides agree to within 15 %: beyond it a run lasts
# so many timeouts, of which it has a few dozen, and their number varies by chance.
COLLAPSED = LINK_MBPS / 2
WITHIN = 0.15
# From the onset to twice its number of servers, one timeout more or less is a large part of a run.
AT_THE_ONSET = "next to the onset"
# Over cables of one length, the order in which a simulator takes packets of the same instant decides which flows lose.
SAME_INSTANT = (
    "in slow start an acknowledgement releases two packets, and the full port has room for one. The second packet "
    "of one flow and the first of the next arrive at the same instant. ns-3 takes the one scheduled first: each "
    "flow loses every other packet and recovers. "
)
TIES = {
    "drawn": SAME_INSTANT + "Flowyard draws which is lost: some flows lose both, but few at their ends",
    "arrival": SAME_INSTANT
    + "So does Flowyard; which flows then lose the last packets of a block, and wait for a timeout, differs",
}


@dataclass(frozen=True)
class Case:
    """A buffer at the client's port, and the shortest timeout."""

    packets: int
    rto_min: str

    def __str__(self) -> str:
        return f"incast, {self.packets} packets, RTO {self.rto_min}"

    @property
    def timeout_s(self) -> float:
        """The timeout in seconds."""
        return float(self.rto_min.removesuffix("ms")) / 1e3

    def seeds(self, senders: int) -> range:
        """A seed for each run of which the mean is taken: the fewer timeouts a run has, the more runs."""
        return range(1, RUNS[senders] // (1 if self.timeout_s > 0.1 else 3) + 1)


CASES = [Case(packets, rto_min) for packets in (64, 256) for rto_min in ("200ms", "1ms")]
RUNS = {1: 3, 2: 3, 4: 12, 8: 12, 16: 6, 32: 6, 64: 3}
ONE_LENGTH = [(Case(64, "200ms"), 16), (Case(256, "200ms"), 32)]


def rows(program: Path, folder: Path) -> list[Row]:
    """Measures all cases on both sides, and draws them into incast.svg beside this file.

    Raises:
        DoesNotHoldError: a run ended before all blocks were there.
    """
    del folder
    scenario = tomllib.loads(SCENARIO.read_text(encoding="utf-8"))
    found: list[Row] = []
    curves: list[tuple[Case, list[float], list[float]]] = []
    for case in CASES:
        tell(f"{case}: up to {SENDERS[-1]} servers")
        theirs = [[theirs_s(program, case, n, seed) for seed in case.seeds(n)] for n in SENDERS]
        ours = [[ours_s(scenario, case, n, seed) for seed in case.seeds(n)] for n in SENDERS]
        found += compared(case, theirs, ours)
        curves.append((case, goodputs(theirs), goodputs(ours)))
    draw(curves)
    for case, n in ONE_LENGTH:
        tell(f"{case}: cables of one length")
        other = goodput(n, [theirs_s(program, case, n, seed, longer_ns=0) for seed in case.seeds(n)])
        for ties, why in TIES.items():
            runs = [ours_s(scenario, case, n, seed, longer_ns=0, ties=ties) for seed in case.seeds(n)]
            name = f"{case}, cables of one length, ties {ties}"
            found.append(Row(name, f"goodput, {n} servers", "Mbps", other, goodput(n, runs), None, why))
    return found


def goodputs(runs: list[list[list[float]]]) -> list[float]:
    """For each number of servers, from its runs."""
    return [goodput(n, of) for n, of in zip(SENDERS, runs, strict=True)]


def goodput(senders: int, runs: list[list[float]]) -> float:
    """Mbps over all runs together: of payload, from the first request to the last byte."""
    return 8e-6 * BLOCK_BYTES * senders * BLOCKS * len(runs) / sum(ends[-1] for ends in runs)


def stalls(runs: list[list[float]], timeout_s: float) -> float:
    """Blocks of a run that took longer than a timeout, on average."""
    blocks = [end - begin for ends in runs for begin, end in zip([0.0, *ends], ends, strict=False)]
    return sum(block > timeout_s for block in blocks) / len(runs)


def theirs_s(program: Path, case: Case, senders: int, seed: int, longer_ns: int = LONGER_NS) -> list[float]:
    """When each block of a run of ns-3 was there."""
    setting = {"senders": senders, "blocks": BLOCKS, "queue": case.packets, "rtoMin": case.rto_min}
    answer = ns3(program, **setting, longer=f"{longer_ns}ns", seed=seed)
    ends: list[float] = answer["block_ends_s"]
    if len(ends) < BLOCKS:
        raise DoesNotHoldError(f"{case}, {senders} servers: ns-3 did not end")
    return ends


def ours_s(
    scenario: dict[str, Any],
    case: Case,
    senders: int,
    seed: int,
    longer_ns: int = LONGER_NS,
    ties: str = "drawn",
) -> list[float]:
    """When each block of a run of Flowyard was there."""
    run = results.run(
        scenario | {"topology": network(scenario, senders, longer_ns)},
        {
            "traffic.reads.matrix.incast.senders": senders,
            "traffic.reads.arrivals.blocks.blocks": BLOCKS,
            "queue.drop-tail.limit.packets": case.packets,
            "transport.tcp.rto_min": case.rto_min,
            "run.seed": seed,
            "run.ties": ties,
        },
    )
    flows = pl.DataFrame(run.flows).sort("start_ps")
    if flows["fct_ps"].null_count():
        raise DoesNotHoldError(f"{case}, {senders} servers: Flowyard did not end")
    ends = [rows.max() for rows in ((flows["start_ps"] + flows["fct_ps"]) / 1e12).reshape((BLOCKS, senders))]
    return [float(end) for end in ends]


def network(scenario: dict[str, Any], senders: int, longer_ns: int) -> dict[str, Any]:
    """The scenario's switch, with the client and this many servers, of which each has a longer cable than the last."""
    switch = scenario["topology"]["single-switch"]
    delay_ns = int(switch["delay"].removesuffix("us")) * 1000
    return {
        "explicit": {
            "hosts": [f"host {host}" for host in range(senders + 1)],
            "switches": [{"name": "switch"}],
            "rate": switch["rate"],
            "cables": [
                {"ends": [f"host {host}", "switch"], "delay": f"{delay_ns + host * longer_ns}ns"}
                for host in range(senders + 1)
            ],
        }
    }


def onset(goodputs: list[float]) -> int:
    """The first number of servers with less than half of the link; 0 if there is none."""
    return next((n for n, mbps in zip(SENDERS, goodputs, strict=True) if mbps < COLLAPSED), 0)


def compared(case: Case, theirs: list[list[list[float]]], ours: list[list[list[float]]]) -> list[Row]:
    """The rows of a case."""
    others, own = goodputs(theirs), goodputs(ours)
    first = onset(others)
    found = [Row(str(case), "onset of collapse", "servers", first, onset(own), within=0.0)]
    for n, other, mbps, *runs in zip(SENDERS, others, own, theirs, ours, strict=True):
        within: float | None = WITHIN
        why = ""
        if other < COLLAPSED:
            there, here = (stalls(side, case.timeout_s) for side in runs)
            why = f"of {BLOCKS} blocks {there:.1f} wait for a timeout in ns-3, {here:.1f} here"
        if first <= n <= 2 * first:
            within, why = None, why or AT_THE_ONSET
        found.append(Row(str(case), f"goodput, {n} servers", "Mbps", other, mbps, within, why))
    return found


def draw(curves: list[tuple[Case, list[float], list[float]]]) -> None:
    """All curves on one panel."""
    picture, (axes,) = style.panels(size=(6.4, 4.0))
    with style.rules():
        for place, (case, theirs, ours) in enumerate(curves):
            look: dict[str, Any] = {"color": style.COLOURS[place], "marker": style.MARKERS[place]}
            axes.plot(SENDERS, ours, **look, label=f"{case.packets} packets, RTO {case.rto_min}: Flowyard")
            axes.plot(SENDERS, theirs, **look, linestyle="--", fillstyle="none", label="ns-3")
        axes.axhline(COLLAPSED, color="#000000", linewidth=0.7, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set_xticks(SENDERS, [str(n) for n in SENDERS])
        axes.set(xlabel="servers that answer at once", ylabel="goodput (Mbps)", ylim=(0, LINK_MBPS))
        axes.legend(ncols=2, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16))
        picture.savefig(PICTURE, format="svg", metadata={"Date": None, "Creator": "flowyard"})
