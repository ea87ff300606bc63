"""A run beside a peer's results on the same flows: `flowyard compare`.

    file of a peer -> interchange (hpcc_fct, htsim_log) -> matching -> Comparison -> terminal, report/run/compared.py

Both peers take the time at the sender, up to the last acknowledgement: so it is compared with fct_acked_ps, if the
run's transport acknowledges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders import reading, run_files
from flowyard.forks import pl
from flowyard.interchange import hpcc_fct, htsim_log
from flowyard.interchange.text import Source
from flowyard.peers.matching import Flow, Matched, match
from flowyard.table import read_frame
from flowyard.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flowyard.interchange.finished import Finished

FORMATS = {"HPCC": hpcc_fct, "htsim": htsim_log}
COLUMNS = ("id", "tag", "src", "dst", "size_bytes", "start_ps", "completed", "fct_ps", "ideal_fct_ps")
# Those that older versions did not write.
LATER_COLUMNS = ("fct_acked_ps",)
# htsim prints much beside what is read.
MOST_BYTES = 2**30

_NUMBERED = re.compile(r"host (\d+)", re.ASCII)


@dataclass(frozen=True)
class Comparison:
    """The flows that a run and a peer's file both have, and how many only one has.

    Attributes:
        run: The run's folder.
        file: The peer's file.
        peer: The simulator that wrote it.
        scenario: What the run's run.json says of its scenario.
        definitions: What the columns of its tables mean.
        flows: A row for each flow that both finished, by its number in the run: id, tag, src, dst, size_bytes,
            start_ps, fct_ps, peer_fct_ps, ratio (the peer's time over ours), ideal_fct_ps, slowdown, peer_slowdown
            (both over ideal_fct_ps), peer_ideal_fct_ps.
        acked: Whether our times end with the last acknowledgement at the sender, as the peer's.
        ours: Flows of the run that are complete.
        theirs: Flows in the file.
        matched: How those were matched.
    """

    run: Path
    file: Path
    peer: str
    scenario: dict[str, Any]
    definitions: dict[str, Any]
    flows: pl.DataFrame
    acked: bool
    ours: int
    theirs: int
    matched: Matched

    def notes(self) -> list[str]:
        """Remarks on the comparison."""
        ends = "" if self.acked else ", ours with the last byte at the receiver"
        whose = "times" if self.acked else f"times of {self.peer}"
        notes = [f"{whose} end with the last acknowledgement at the sender{ends}"]
        if self.peer == "htsim":
            notes.append(
                "starts and sizes are those of the run, since htsim prints ends and whole packets; flows of as many "
                "packets between the same hosts are taken in the order in which they end"
            )
        ideals = (self.flows["peer_ideal_fct_ps"] / self.flows["ideal_fct_ps"]).drop_nulls().to_list()
        if ideals:
            ends = f"{min(ideals):.3f} to {max(ideals):.3f}"
            notes.append(f"{self.peer}'s own ideal time is {ends} of ours; slowdowns are over ours")
        for count, what in (
            (self.ours - self.flows.height, "complete in the run alone"),
            (self.matched.unknown, f"of {self.peer} that the run does not have, or has not completed"),
            (self.matched.ambiguous, f"of {self.peer} that could be one of several"),
        ):
            if count:
                notes.append(f"{counted(count, 'flow')} {what}: left out")
        return notes


def compare(folder: Path, file: Path, shift_ps: int = 0) -> Comparison:
    """The flows of a run beside those of a peer's file.

    Args:
        folder: Of the run.
        file: What HPCC's ns-3 code left (fct.txt), or what htsim printed.
        shift_ps: What is added to the peer's times.

    Raises:
        UserError: One of them cannot be read, or they have no flow in common.
    """
    if folder.suffix in (".toml", ".json") and folder.is_file():
        raise UserError(
            f"{folder}: is a file; name the folder of its run. Several transports are compared by "
            f"flowyard run {folder} --compare ndp,dctcp"
        )
    run_files.require_run(folder, ("flows",))
    summary = run_files.summary(folder)
    if file.is_dir():
        raise UserError(
            f"{file}: is a folder; name a file of another simulator's results, or see both runs side by side: "
            f"flowyard report {folder} {file}"
        )
    source = Source(reading.as_text(file), reading.text(file, MOST_BYTES))
    peer = next((name for name, form in FORMATS.items() if form.is_it(source)), None)
    if peer is None:
        raise source.wrong(
            0,
            "neither a fct.txt of HPCC's ns-3 code nor what htsim printed: no line of a finished flow. A table of your "
            f"own is joined in Python, by the columns of fy.open_run({str(folder)!r}).flows.to_polars()",
        )
    read: Callable[[Source], list[Finished]] = FORMATS[peer].read
    theirs = read(source)
    every = read_frame(folder / "flows.parquet", COLUMNS, LATER_COLUMNS)
    own = every.filter("completed").with_row_index("row")
    nodes = numbers(summary["scenario"])
    rows = own.select("row", "src", "dst", "size_bytes", "start_ps").iter_rows()
    found = match(
        (Flow(row, nodes.get(src, src), nodes.get(dst, dst), *rest) for row, src, dst, *rest in rows),
        theirs,
        shift_ps,
    )
    if not found.pairs:
        raise UserError(_nothing_shared(folder, source.name, found))
    flows, acked = _side_by_side(own, found, shift_ps)
    return Comparison(
        folder,
        file,
        peer,
        summary["scenario"],
        summary.get("definitions", {}),
        flows,
        acked,
        own.height,
        len(theirs),
        found,
    )


def numbers(scenario: dict[str, Any]) -> dict[int, int]:
    """The number of each host in a peer's files, where it has one of its own: names of an imported network keep it."""
    names = scenario["topology"].get("explicit", {}).get("hosts", []) if scenario.get("topology") else []
    if not isinstance(names, list):
        return {}
    found = [_NUMBERED.fullmatch(str(name)) for name in names]
    return {host: int(name[1]) for host, name in enumerate(found) if name} if all(found) else {}


def _side_by_side(own: pl.DataFrame, found: Matched, shift_ps: int) -> tuple[pl.DataFrame, bool]:
    """The flows that both have, and whether our times end at the sender."""
    pairs = found.pairs
    flows = own[[row for row, _ in pairs]].drop("row", "completed")
    acked = "fct_acked_ps" in flows.columns and flows["fct_acked_ps"].null_count() == 0
    own_fct = pl.col("fct_acked_ps" if acked else "fct_ps")
    ends = pl.Series([flow.end_ps + shift_ps for _, flow in pairs], dtype=pl.Int64)
    starts = pl.Series(
        [None if flow.start_ps is None else flow.start_ps + shift_ps for _, flow in pairs], dtype=pl.Int64
    )
    ideals = pl.Series([flow.ideal_fct_ps for _, flow in pairs], dtype=pl.Int64)
    flows = flows.with_columns(
        pl.col("tag").cast(pl.String),
        fct_ps=own_fct,
        peer_fct_ps=ends - starts.fill_null(flows["start_ps"].cast(pl.Int64)),
        peer_ideal_fct_ps=ideals,
    ).with_columns(
        ratio=pl.col("peer_fct_ps") / pl.col("fct_ps"),
        slowdown=pl.col("fct_ps") / pl.col("ideal_fct_ps"),
        peer_slowdown=pl.col("peer_fct_ps") / pl.col("ideal_fct_ps"),
    )
    return flows.select(
        "id",
        "tag",
        "src",
        "dst",
        "size_bytes",
        "start_ps",
        "fct_ps",
        "peer_fct_ps",
        "ratio",
        "ideal_fct_ps",
        "slowdown",
        "peer_slowdown",
        "peer_ideal_fct_ps",
    ), acked


def _nothing_shared(folder: Path, file: str, found: Matched) -> str:
    why = "no flow is in both, by source, destination and size"
    if found.nearest_ps is not None:
        why = (
            f"flows of the same hosts and sizes start {abs(found.nearest_ps) / 1e12:g} s "
            f"{'later' if found.nearest_ps > 0 else 'earlier'} in the file; if the clock alone differs, "
            f"--shift={-round(found.nearest_ps / 1e6)}us"
        )
    elif found.ambiguous:
        why = "some flows of as many packets between the same hosts have not finished: which is which is not told"
    return f"{file} and {folder}: {why}"
