"""Compares Flowyard's controls of RoCE with the simulator of HPCC's authors: the same files, flow by flow.

Builds the simulator from a checkout, of which nothing is in this repository. Each case is a topology.txt, flow.txt and
config.txt of that simulator: it runs them, and Flowyard runs what `flowyard import --ecmp hpcc` makes of them. Prints a
row for each lone flow, and the median and 99th percentile of others. Exit code 1 if a row is further apart than it may
be. `benches/peers/conweave` compares another simulator of the family with this.

    .venv/bin/python benches/peers/hpcc/flow_by_flow.py CHECKOUT --case lone
    .venv/bin/python benches/peers/hpcc/flow_by_flow.py CHECKOUT --control hp --control dctcp
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import hpcc_cases as cases
import polars as pl
from hpcc_build import HPCC
from ns3_build import Simulator

from flowyard import peers
from flowyard.bench import tell

# Bytes up to which a flow belongs to a bin.
BINS = (("to 30 KB", 30_000), ("to 200 KB", 200_000), ("to 2 MB", 2_000_000), ("more", 1 << 40))
HEADS = ("control", "case", "flows", "measure", "theirs", "Flowyard", "difference", "allowed")


@dataclass(frozen=True)
class Peer:
    """A simulator, and what is compared with it.

    Attributes:
        simulator: The simulator.
        options: The options of import of its files.
        listed: The cases.
        controls: Names of the controls.
        files: The texts of the files of a case and control by their names.
    """

    simulator: Simulator
    options: tuple[str, ...]
    listed: Sequence[cases.Case]
    controls: Sequence[str]
    files: Callable[[cases.Case, str], dict[str, str]]


@dataclass(frozen=True)
class Found:
    """The flows of a case on both sides, and the packets that each has lost."""

    flows: pl.DataFrame
    theirs_lost: int
    ours_lost: int


@dataclass(frozen=True)
class Row:
    """A number of both sides, and how far apart they are and may be, in `unit`."""

    measure: str
    flows: int
    theirs: float
    ours: float
    difference: float
    allowed: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether the sides are near enough."""
        return abs(self.difference) <= self.allowed


def main(peer: Peer, about: str) -> int:
    """Builds, runs, prints; 1 if a row is too far apart.

    Args:
        peer: What is compared with.
        about: The text of its help.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help=f"a checkout of {peer.simulator.repository}")
    parser.add_argument("--case", action="append", help="only cases that have this in their name")
    parser.add_argument(
        "--control", action="append", choices=peer.controls, help="only that one; again for more"
    )
    given = parser.parse_args()
    program = peer.simulator.built(given.checkout)
    print("| " + " | ".join((*HEADS, "")) + " |\n|---|---|--:|---|--:|--:|--:|--:|---|")
    good = True
    for case in peer.listed:
        if given.case and not any(part in case.name for part in given.case):
            continue
        for control in case.controls:
            if given.control and control not in given.control:
                continue
            tell(f"{case.name}, {control}")
            found = compared(peer, program, case, control)
            tell("")
            for row in rows(found, case, control):
                good &= row.holds
                print(line(row, case, control), flush=True)
    return 0 if good else 1


def compared(peer: Peer, program: Path, case: cases.Case, control: str) -> Found:
    """Runs a case on both sides, with as many random streams as its marks need."""
    folder = peer.simulator.build / "work" / f"{case.name.replace(' ', '-')}-{control}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = peer.files(case, control)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    read = [name for name in texts if name != "trace.txt"]
    flowyard(folder, "import", *read, *peer.options, "-o", "case.toml")
    seeds = 1 if case.kind == "lone" else cases.runs(control)
    found = [one_run(program, folder, seed) for seed in range(1, 1 + seeds)]
    together = Found(
        pl.concat(run.flows for run in found),
        sum(run.theirs_lost for run in found),
        sum(run.ours_lost for run in found),
    )
    if together.flows.height < len(found) * len(case.flows):
        missing = f"{together.flows.height} of {len(found) * len(case.flows)} flows completed on both sides"
        print(f"note: {case.name}, {control}: {missing}", file=sys.stderr)
    return together


def one_run(program: Path, folder: Path, seed: int) -> Found:
    """A run of both sides with the files of a folder."""
    # The seed of ns-3's streams.
    environment = os.environ | {"NS_GLOBAL_VALUE": f"RngRun={seed}"}
    with (folder / "theirs.log").open("w", encoding="utf-8") as log:
        subprocess.run(
            [program, "config.txt"], cwd=folder, env=environment, stdout=log, stderr=log, check=True
        )
    own = f"ours-{seed}"
    flowyard(folder, "run", "case.toml", "-o", own, "--seed", str(seed))
    summary = json.loads((folder / own / "run.json").read_text(encoding="utf-8"))
    return Found(
        peers.compare(folder / own, folder / "fct.txt").flows,
        (folder / "theirs.log").read_text(encoding="utf-8").count(" Drop: "),
        int(summary["counters"]["drops"]),
    )


def flowyard(folder: Path, *words: str) -> None:
    """Runs a command of Flowyard in a folder."""
    command = [sys.executable, "-m", "flowyard", *words]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"error: {' '.join(command)} in {folder}:\n{ended.stdout}{ended.stderr}")


def rows(found: Found, case: cases.Case, control: str) -> Iterator[Row]:
    """The rows of a case."""
    flows, allowed = found.flows, case.allowed(control)
    if case.kind == "lone":
        for size, theirs, ours in (
            flows.sort("size_bytes").select("size_bytes", "peer_fct_ps", "fct_ps").rows()
        ):
            pair = (theirs / 1000, ours / 1000)
            yield Row(f"{size:,} B", 1, *pair, pair[1] - pair[0], cases.LONE_NS, "ns")
    elif case.kind == "fabric":
        low = 0
        for name, high in BINS:
            own = flows.filter(pl.col("size_bytes").is_between(low + 1, high))
            yield from by_quantile(own, "slowdown", f"{name}, slowdown ", 1, allowed)
            low = high
    elif cases.runs(control) > 1:
        yield from by_quantile(flows, "fct_ps", "us, ", 1e6, allowed)
    else:
        yield from by_flow(flows, allowed)
    if case.kind == "losses":
        lost = (found.theirs_lost, found.ours_lost)
        yield Row("packets lost", flows.height, *lost, lost[1] - lost[0], cases.LOST_PACKETS, "packets")


def by_flow(flows: pl.DataFrame, allowed: tuple[float, float]) -> Iterator[Row]:
    """Percentiles of the differences of single flows, beside those of times."""
    theirs, ours = (flows[name].to_list() for name in ("peer_fct_ps", "fct_ps"))
    apart = [abs(own / peer - 1) for own, peer in zip(ours, theirs, strict=True)]
    for share, within in zip((0.5, 0.99), allowed, strict=True):
        measure = f"us, flow by flow, p{share * 100:.0f}"
        peer, own = (percentile(side, share) / 1e6 for side in (theirs, ours))
        yield Row(measure, len(apart), peer, own, percentile(apart, share), within, "")


def by_quantile(
    flows: pl.DataFrame, column: str, measure: str, unit: float, allowed: tuple[float, float]
) -> Iterator[Row]:
    """The differences of percentiles of a column."""
    for share, within in zip((0.5, 0.99), allowed, strict=True):
        theirs, ours = (
            percentile(flows[side].to_list(), share) / unit for side in (f"peer_{column}", column)
        )
        name = f"{measure}p{share * 100:.0f}"
        yield Row(name, flows.height, theirs, ours, ours / theirs - 1, within, "")


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least a share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def line(row: Row, case: cases.Case, control: str) -> str:
    """A row of the table, in Markdown."""
    if row.unit:
        figures = (
            f"{row.theirs:.0f}",
            f"{row.ours:.0f}",
            f"{row.difference:+.0f} {row.unit}",
            f"{row.allowed:.0f} {row.unit}",
        )
    else:
        figures = (
            f"{row.theirs:.4g}",
            f"{row.ours:.4g}",
            f"{100 * row.difference:+.2f} %",
            f"{100 * row.allowed:.0f} %",
        )
    verdict = "PASS" if row.holds else "MISSED"
    return "| " + " | ".join((control, case.name, str(row.flows), row.measure, *figures, verdict)) + " |"


if __name__ == "__main__":
    sys.exit(main(Peer(HPCC, ("--ecmp", "hpcc"), cases.CASES, cases.ALL, cases.files), __doc__ or ""))
