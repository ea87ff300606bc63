"""The data of a run that has ended: run.json and its tables, from its folder or from memory.

Reports, lists, summaries and sweeps read runs here, each the columns that it needs.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from flowyard.analysis import background, goodput_bps, measured
from flowyard.errors import UserError
from flowyard.folders import run_files
from flowyard.forks import pl
from flowyard.results import Result
from flowyard.run_json import has_window, unstable_of, window_of
from flowyard.table import read_frame

# What older versions did not write.
LATER_FLOW_COLUMNS = ("abandoned", "measured")
WORDS = ("tag", "from", "to", "tier", "metric", "class")


@dataclass(frozen=True, eq=False)
class Run:
    """One run.

    Attributes:
        summary: What run.json holds.
        flows: The columns of flows.parquet that were asked for, and abandoned.
        measured: Those flows that results are of: they start in the measuring window and are not background.
        links: The columns of links.parquet that were asked for.
        label: What a report calls it; no two runs of one have the same.
        samples: samples.parquet, not read yet, for it may be large; None if the run has none.
        histograms: histograms.parquet; None if the run has none.
    """

    summary: dict[str, Any]
    flows: pl.DataFrame
    measured: pl.DataFrame
    links: pl.DataFrame
    label: str = ""
    samples: pl.LazyFrame | None = None
    histograms: pl.DataFrame | None = None

    @classmethod
    def read(
        cls,
        folder: Path,
        flows: Sequence[str],
        links: Sequence[str] = (),
        *,
        observed: bool = False,
    ) -> Self:
        """The run in a folder, with these columns; of links none are read if none are asked for.

        Raises:
            UserError: It is not whole, or not as it was written.
        """
        summary = run_files.summary(folder)
        table = _plain(read_frame(folder / "flows.parquet", flows, LATER_FLOW_COLUMNS))
        network = _plain(read_frame(folder / "links.parquet", links)) if links else pl.DataFrame()
        if links:
            _check_faults(folder / "run.json", summary, network.height)
        run = cls._of(summary, table, network)
        if not observed:
            return run
        return replace(run, samples=_samples(folder), histograms=_histograms(folder))

    @classmethod
    def of(cls, result: Result) -> Self:
        """A run in memory."""
        flows, links = _plain(pl.DataFrame(result.flows)), _plain(pl.DataFrame(result.links))
        return cls._of(result.summary, flows, links)

    @classmethod
    def _of(cls, summary: dict[str, Any], flows: pl.DataFrame, links: pl.DataFrame) -> Self:
        if "abandoned" not in flows.columns:
            # Before there was the column no sender gave up.
            flows = flows.with_columns(abandoned=pl.lit(False))
        if "measured" not in flows.columns:
            # Before there was the column a warm-up was all that was left out.
            early = (pl.col("start_ps") < window_of(summary)[0]).fill_null(False)
            own = pl.col("tag").is_in(background(summary))
            flows = flows.with_columns(measured=~early & ~own)
        return cls(summary, flows, measured(flows), links)

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario as run, with the values of what it left to the network."""
        return with_derived(self.summary)

    @property
    def counters(self) -> dict[str, Any]:
        """Totals over the run."""
        return dict(self.summary["counters"])

    @property
    def status(self) -> str:
        """complete, interrupted, stalled or limit."""
        return str(self.summary["status"])

    @property
    def pauses(self) -> bool:
        """Whether flow control stopped a port."""
        return bool(self.counters.get("pauses"))

    @property
    def end_ps(self) -> int:
        """Simulated time at the end."""
        return int(self.summary["end_ps"])

    @property
    def limit(self) -> str:
        """Which limit ended the run: until, flows, memory or work; empty if none did."""
        return str(self.summary.get("limit") or "")

    @property
    def has_samples(self) -> bool:
        """Whether there is at least one sample."""
        return self.samples is not None and not self.samples.head(1).collect().is_empty()

    @property
    def abandoned(self) -> int:
        """Measured flows that their senders gave up."""
        return int(self.measured["abandoned"].sum())

    @property
    def one_size(self) -> bool:
        """Whether all flows that are measured are of one size."""
        return self.measured["size_bytes"].n_unique() == 1

    @property
    def has_deadlines(self) -> bool:
        """Whether a flow that is measured has a deadline."""
        return self.measured["deadline_ps"].count() > 0

    @property
    def faults(self) -> list[dict[str, Any]]:
        """Faults of the network."""
        return list(self.summary.get("faults", []))

    @property
    def window_ps(self) -> tuple[int, int]:
        """Start and end of the measuring window, of which results are."""
        return window_of(self.summary)

    @property
    def has_window(self) -> bool:
        """Whether results are of less than the whole run."""
        return has_window(self.summary)

    @property
    def window_length_ps(self) -> int:
        """Length of the measuring window."""
        start, end = self.window_ps
        return max(0, end - start)

    @property
    def loads(self) -> dict[str, Any] | None:
        """The window and the load carried in it, from run.json; None in files of earlier versions."""
        return self.summary.get("measured")

    @property
    def unstable(self) -> list[str]:
        """Why the run was not in a steady state at its load; empty if it was, as far as can be seen."""
        return unstable_of(self.summary)

    @cached_property
    def goodput_bps(self) -> float:
        """Payload that all flows together delivered a second in the measuring window.

        Where that is less than the whole run, links must have the columns tier and rate_bps.
        """
        if not self.has_window or self.loads is None:
            return goodput_bps(self.flows, self.end_ps)
        to_hosts = self.links.filter(pl.col("tier").str.ends_with("-host"))
        return float(self.loads["hosts_payload"] * to_hosts["rate_bps"].cast(pl.Float64).sum())

    @property
    def definitions(self) -> dict[str, dict[str, str]]:
        """Meaning of the columns of each table."""
        return dict(self.summary.get("definitions", {}))


def with_derived(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario of a run.json with the values that were used in place of "bdp" and "derived"."""
    scenario, derived = dict(summary["scenario"]), summary.get("derived") or {}
    shared = scenario["transport"]

    def filled(part: Any, path: str) -> Any:
        part = copy.deepcopy(part)
        for at, value in derived.items():
            if at.startswith(f"{path}."):
                _put(part, at.removeprefix(f"{path}.").split("."), value)
        return part

    def entry(given: dict[str, Any]) -> dict[str, Any]:
        own = given.get("transport")
        path = "transport" if own == shared else f"traffic.{given['name']}.transport"
        return given | {"transport": filled(own, path)} if own else given

    return {
        **scenario,
        "transport": filled(shared, "transport"),
        "queue": filled(scenario.get("queue"), "queue"),
        "traffic": [entry(given) for given in scenario["traffic"]],
    }


def _put(within: Any, steps: Sequence[str], value: Any) -> None:
    """Puts a value at a path, if all above it is there."""
    for step in steps[:-1]:
        within = within.get(step) if isinstance(within, dict) else None
    if isinstance(within, dict) and steps[-1] in within:
        within[steps[-1]] = value


def _check_faults(path: Path, summary: dict[str, Any], links: int) -> None:
    """Raises a UserError if faults were on links that the table does not have."""
    hit = max((link for fault in summary.get("faults", []) for link in fault["links"]), default=0)
    if hit >= max(links, 1):
        raise UserError(
            f"{path}: not as flowyard wrote it: faults name link {hit}; links.parquet has {links:,}"
        )


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its words as text: stored as a dictionary, they differ from file to file."""
    return table.cast({name: pl.String for name in WORDS if name in table.columns})


def _samples(folder: Path) -> pl.LazyFrame | None:
    path = folder / "samples.parquet"
    return pl.scan_parquet(path).with_columns(pl.col("series").cast(pl.String)) if path.exists() else None


def _histograms(folder: Path) -> pl.DataFrame | None:
    path = folder / "histograms.parquet"
    return _plain(read_frame(path)) if path.exists() else None
