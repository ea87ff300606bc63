"""The results of a sweep: lazy tables over all its runs, with the axes as columns, and means over replicas."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from flowyard import kept
from flowyard.analysis import (
    background,
    goodput_bps,
    measured,
    overall,
    picoseconds,
    timeliness,
)
from flowyard.analysis.intervals import replica_means
from flowyard.errors import UserError
from flowyard.table import read_frame

# Of run.json's counters, those that compare runs.
COUNTERS = (
    "drops",
    "trims",
    "marks",
    "lost",
    "retransmissions",
    "timeouts",
    "packet_hops",
    "wall_s",
    "cpu_s",
)
# What metrics are made from, besides run.json.
FLOW_COLUMNS = (
    *("tag", "start_ps", "completed", "fct_ps", "slowdown", "delivered_bytes"),
    *("deadline_ps", "met_deadline"),
)
# What all flows of a run have, from analysis.overall.
COMPLETION = (
    "completed_fraction",
    "fct_mean_ps",
    "fct_p50_ps",
    "fct_p99_ps",
    "slowdown_mean",
    "slowdown_p50",
    "slowdown_p99",
)
# What those with a deadline have, from analysis.timeliness; null if there are none.
DEADLINES = ("application_throughput", "lateness_p50_ps", "lateness_p99_ps")
METRICS = (*COMPLETION, *DEADLINES, "goodput_bps", "end_ps", *COUNTERS)
# Columns that a sweep's tables have besides the axes and those of flows and links.
COLUMNS = {
    "run",
    "replica",
    "replicas",
    "done",
    "status",
    "flows",
    *METRICS,
    *(f"{name}_ci95" for name in METRICS),
}


class Sweep:
    """The runs of a sweep that are there.

    Attributes:
        folder: Where they are.
        name: What the sweep is called.
        axes: The values of each axis, in their order.
        replicas: Repetitions asked for.
        engine: The engine that made them.
        runs: A row a run of the plan: run (its key), the axes, replica, done.
        statuses: How each run ended that is done, by its key.
        damaged: What is wrong with each run that is there but not whole, by its key. It counts as not done.
    """

    def __init__(self, folder: Path) -> None:
        plan = kept.plan(folder)
        self.folder = folder
        self.name = str(plan.get("name", folder.name))
        self.engine = str(plan["engine"])
        self.axes: dict[str, list[Any]] = {axis["name"]: axis["values"] for axis in plan["axes"]}
        self.replicas = int(plan["replicas"])
        self.statuses: dict[str, str] = {}
        self.damaged: dict[str, str] = {}
        for key in dict.fromkeys(run["key"] for run in plan["runs"]):
            if os.path.lexists(self.path(key)):
                try:
                    self.statuses[key] = kept.whole(self.path(key))["status"]
                except UserError as error:
                    self.damaged[key] = str(error)
        types = {name: _type(values) for name, values in self.axes.items()}
        rows = [
            {
                "run": run["key"],
                **{name: _as(types.get(name), value) for name, value in run["values"].items()},
                "replica": run["replica"],
                "done": run["key"] in self.statuses,
            }
            for run in plan["runs"]
        ]
        schema = {"run": pl.String, **types, "replica": pl.Int64, "done": pl.Boolean}
        self.runs = pl.DataFrame(rows, schema=schema)

    def path(self, key: str) -> Path:
        """The folder of a run, which `fy.open` and `flowyard report` take as that of any other."""
        return self.folder / "runs" / key

    def require_whole(self) -> None:
        """Refuses damaged runs.

        Raises:
            UserError: There are some; the text names the first, and what to do.
        """
        if not self.damaged:
            return
        number, (key, why) = len(self.damaged), next(iter(self.damaged.items()))
        runs = "1 run is" if number == 1 else f"{number:,} runs are"
        raise UserError(
            f"{self.folder}: {runs} damaged; {why}; flowyard sweep with its plan makes "
            f"{'it' if number == 1 else 'them'} again, or remove {self.path(key)} to go without"
        )

    @property
    def complete(self) -> bool:
        """Whether all runs of the plan are there."""
        return bool(self.runs["done"].all())

    def scan(self, table: str) -> pl.LazyFrame:
        """A table of all runs: run, the axes and replica, then the table's own columns.

        Args:
            table: flows or links; of a model's sweep, table.

        Raises:
            UserError: No run is done yet, or runs have no such table.
        """
        done = self.runs.filter("done")
        if done.is_empty():
            raise UserError(f"{self.folder}: no run is done yet; the sweep's own command goes on with it")
        files = {str(self.path(key) / f"{table}.parquet"): key for key in done["run"]}
        if not Path(next(iter(files))).exists():
            raise UserError(f"{self.folder}: its runs have no table {table}")
        where = pl.LazyFrame({"_file": list(files), "run": list(files.values())})
        about = done.drop("done").lazy()
        own = pl.scan_parquet(list(files), include_file_paths="_file")
        return about.join(where.join(own, on="_file").drop("_file"), on="run", maintain_order="left_right")

    @property
    def flows(self) -> pl.LazyFrame:
        """All flows of all runs."""
        return self.scan("flows")

    @property
    def links(self) -> pl.LazyFrame:
        """All links of all runs."""
        return self.scan("links")

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """A row a run that is done: run, the axes, replica, status, flows, and METRICS, which the docs define.

        Completion is that of the flows that are measured: those after the warm-up, without background.
        """
        done = self.runs.filter("done").drop("done")
        # Reading waits for the disk, and polars lets other threads run meanwhile.
        with ThreadPoolExecutor() as threads:
            rows = list(threads.map(self._metrics, done["run"]))
        kinds = dict.fromkeys(METRICS, pl.Float64)
        columns = pl.DataFrame(rows, schema={"status": pl.String, "flows": pl.Int64, **kinds})
        return done.hstack(columns)

    @property
    def means(self) -> pl.DataFrame:
        """A row a point: the axes, replicas, and each of METRICS with its 95 % interval, <metric>_ci95."""
        return replica_means(self.metrics, list(self.axes), METRICS)

    def _metrics(self, key: str) -> dict[str, Any]:
        folder = self.path(key)
        try:
            flows = read_frame(folder / "flows.parquet", FLOW_COLUMNS)
        except OSError as error:
            raise UserError(
                f"{folder}: not the folder of a run ({error}); remove it, and flowyard sweep makes the run again"
            ) from None
        summary = kept.summary(folder)
        warm_up = picoseconds(summary["scenario"]["run"].get("warm_up", "0s"))
        own = measured(flows, warm_up, background(summary))
        total = overall(own).row(0, named=True)
        in_time = timeliness(own).row(0, named=True)
        return {
            "status": summary["status"],
            "flows": total["flows"],
            **{name: total[name] for name in COMPLETION},
            **{name: in_time[name] for name in DEADLINES},
            "goodput_bps": goodput_bps(flows, summary["end_ps"]),
            "end_ps": summary["end_ps"],
            **{name: summary["counters"].get(name) for name in COUNTERS},
        }

    def summaries(self) -> dict[str, dict[str, Any]]:
        """What run.json says, by run."""
        keys = self.runs.filter("done")["run"]
        return {key: kept.status(self.path(key)) for key in keys}

    def __repr__(self) -> str:
        done = int(self.runs["done"].sum())
        return f"<flowyard.Sweep {self.name}: {done} of {len(self.runs)} runs, axes {', '.join(self.axes) or 'none'}>"


def is_sweep(directory: str | PathLike[str]) -> bool:
    """Whether a folder is that of a sweep."""
    return (Path(directory) / "sweep.json").exists()


def _as(kind: Any, value: Any) -> Any:
    """An axis's value as its column holds it: integers among texts and floats as one of these."""
    if type(value) is int and kind in (pl.String, pl.Float64):
        return str(value) if kind == pl.String else float(value)
    return value


def _type(values: list[Any]) -> Any:
    if all(type(value) is bool for value in values):
        return pl.Boolean
    if all(type(value) is int for value in values):
        # Seeds may need all 64 bits.
        if max(values) < 2**63:
            return pl.Int64
        if min(values) >= 0:
            return pl.UInt64
    if all(type(value) in (int, float) for value in values):
        return pl.Float64
    return pl.String
