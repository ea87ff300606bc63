"""Runs as a report needs them."""

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from flowyard.analysis import background, measured, picoseconds
from flowyard.errors import UserError
from flowyard.folders import kept, reading
from flowyard.report import differing
from flowyard.table import read_frame

FLOW_COLUMNS = (
    "id tag src dst size_bytes start_ps completed fct_ps slowdown deadline_ps met_deadline delivered_bytes "
    "packets_sent retransmissions timeouts trims drops lost reordered"
)
# Those that older versions did not write.
LATER_FLOW_COLUMNS = ("abandoned",)
LINK_COLUMNS = (
    "id from to tier rate_bps packets utilisation drops lost trims marks "
    "queue_mean_bytes queue_max_bytes queue_max_packets pauses paused_ps"
)
WORDS = ("tag", "from", "to", "tier", "metric", "class")


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


@dataclass(frozen=True, eq=False)
class Run:
    """One run.

    Attributes:
        label: What the report calls it; no two runs have the same.
        summary: What run.json holds.
        flows: The columns FLOW_COLUMNS and LATER_FLOW_COLUMNS of flows.parquet.
        measured: Those flows that start after the warm-up, without background.
        links: The columns LINK_COLUMNS of links.parquet.
        samples: samples.parquet, not read yet, for it may be large; None if the run has none.
        histograms: histograms.parquet; None if the run has none.
    """

    label: str
    summary: dict[str, Any]
    flows: pl.DataFrame
    measured: pl.DataFrame
    links: pl.DataFrame
    samples: pl.LazyFrame | None = None
    histograms: pl.DataFrame | None = None

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
    def cut_off_ps(self) -> dict[str, int]:
        """For what was observed up to a limit only, samples or capture: the time from which on it is missing."""
        parts = self.summary.get("observed", {}).items()
        return {
            name: part["cut_off_ps"] for name, part in parts if part and part.get("cut_off_ps") is not None
        }

    @property
    def has_samples(self) -> bool:
        """Whether there is at least one sample."""
        return self.samples is not None and not self.samples.head(1).collect().is_empty()

    @property
    def abandoned(self) -> int:
        """Flows that their senders gave up."""
        return int(self.flows["abandoned"].sum())

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
        """What went wrong in the network."""
        return list(self.summary.get("faults", []))

    @property
    def warm_up_ps(self) -> int:
        """Flows that start earlier are left out of summaries."""
        return picoseconds(self.scenario["run"].get("warm_up", "0s"))

    @property
    def definitions(self) -> dict[str, dict[str, str]]:
        """What the columns of each table mean."""
        return dict(self.summary.get("definitions", {}))


def read(dirs: Sequence[Path]) -> list[Run]:
    """The runs in the folders, in their order."""
    summaries = [kept.summary(directory) for directory in dirs]
    names = labels(dirs, [summary["scenario"] for summary in summaries])
    runs = []
    for directory, label, summary in zip(dirs, names, summaries, strict=True):
        flows = _table(directory / "flows.parquet", FLOW_COLUMNS.split(), LATER_FLOW_COLUMNS)
        links = _table(directory / "links.parquet", LINK_COLUMNS.split())
        _check_faults(directory / "run.json", summary, links.height)
        observed = {"samples": _samples(directory), "histograms": _histograms(directory)}
        runs.append(run_of(label, summary, flows, links, **observed))
    return runs


def _check_faults(path: Path, summary: dict[str, Any], links: int) -> None:
    """Raises a UserError if faults were on links that the table does not have."""
    hit = max((link for fault in summary.get("faults", []) for link in fault["links"]), default=0)
    if hit >= max(links, 1):
        raise UserError(
            f"{path}: not as flowyard wrote it: faults name link {hit}; links.parquet has {links:,}"
        )


def run_of(
    label: str, summary: dict[str, Any], flows: pl.DataFrame, links: pl.DataFrame, **observed: Any
) -> Run:
    """A run from its tables."""
    if "abandoned" not in flows.columns:
        # Before there was the column no sender gave up.
        flows = flows.with_columns(abandoned=pl.lit(False))
    every = Run(label, summary, flows, flows, links, **observed)
    return replace(every, measured=measured(flows, every.warm_up_ps, background(summary)))


def plain(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its words as text: stored as a dictionary, they differ from file to file."""
    return table.cast({name: pl.String for name in WORDS if name in table.columns})


def labels(dirs: Sequence[Path], scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each run: its scenario's where that tells them apart, else what differs, else that of its folder."""
    folders = [reading.as_text(directory.resolve().name) for directory in dirs]
    named = [scenario.get("name") or folder for scenario, folder in zip(scenarios, folders, strict=True)]
    for candidates in (named, _by_fields(named, scenarios), folders):
        if len(set(candidates)) == len(candidates):
            return candidates
    # Numbered only where needed; a number may itself meet a name that is already there.
    taken, result = Counter(named), []
    for candidate in named:
        label, number = candidate, 0
        while label in result or (taken[candidate] > 1 and number == 0) or (number and label in taken):
            number += 1
            label = f"{candidate} ({number})"
        result.append(label)
    return result


def _by_fields(named: Sequence[str], scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names, those that several runs have with what differs; the name is left out if all have it."""
    found = list(named)
    for name in {name for name in named if named.count(name) > 1}:
        places = [i for i, other in enumerate(named) if other == name]
        told = differing.distinguishing([scenarios[i] for i in places]) or []
        for i, words in zip(places, told, strict=False):
            found[i] = words if len(places) == len(named) else f"{name}, {words}"
    return found


def _table(path: Path, columns: list[str] | None, if_there: Sequence[str] = ()) -> pl.DataFrame:
    try:
        return plain(read_frame(path, columns, if_there))
    except OSError as error:
        raise UserError(f"{path}: not a table that can be read ({error})") from None


def _samples(directory: Path) -> pl.LazyFrame | None:
    path = directory / "samples.parquet"
    return pl.scan_parquet(path).with_columns(pl.col("series").cast(pl.String)) if path.exists() else None


def _histograms(directory: Path) -> pl.DataFrame | None:
    path = directory / "histograms.parquet"
    return _table(path, None) if path.exists() else None
