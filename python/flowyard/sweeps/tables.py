"""The results of a sweep: lazy tables over all its runs, with the axes as columns, and means over replicas."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from flowyard.analysis import (
    PERCENTILES,
    by_entry,
    by_size,
    over_size,
    overall,
    timeliness,
)
from flowyard.analysis.completion import ALL, SIZE_GROUPS
from flowyard.analysis.intervals import replica_means
from flowyard.display import Displayed
from flowyard.errors import UserError
from flowyard.folders import run_files
from flowyard.forks import pl, require_threads
from flowyard.run_data import Run
from flowyard.run_json import can_pause
from flowyard.sweeps.carrying import carries

# Of run.json's counters, those that are told for each data packet that flows sent, too: <name>_per_packet.
OF_PACKETS = ("drops", "trims", "marks", "lost", "retransmissions", "timeouts")
# Those of flow control: a counter, and the sum of a column of links.
PAUSES = ("pauses", "paused_ps")
# Of a table of means, in the order of a run's summary.
COUNTED = ("drops", "trims", "marks", "lost", *PAUSES, "retransmissions", "timeouts")
# Those that compare runs.
COUNTERS = (*OF_PACKETS, *PAUSES, "packet_hops", "wall_s", "cpu_s")
PER_PACKET = tuple(f"{name}_per_packet" for name in OF_PACKETS)
# What metrics are made from, besides run.json.
FLOW_COLUMNS = (
    *("tag", "start_ps", "completed", "fct_ps", "slowdown", "delivered_bytes"),
    *("deadline_ps", "met_deadline", "packets_sent"),
)
# What goodput in a measuring window and times of pauses are made from, besides run.json.
LINK_COLUMNS = ("tier", "rate_bps", "paused_ps")
# What completion by size is made from.
SIZE_COLUMNS = ("tag", "size_bytes", "start_ps", "completed", "fct_ps", "slowdown")
# What flows of a run have together, from analysis.overall.
COMPLETION = (
    "completed_fraction",
    "fct_mean_ps",
    *(f"fct_{name}_ps" for name in PERCENTILES),
    "slowdown_mean",
    *(f"slowdown_{name}" for name in PERCENTILES),
)
# What those with a deadline have, from analysis.timeliness; null if there are none.
DEADLINES = ("application_throughput", "lateness_p50_ps", "lateness_p99_ps")
# Of run.json's block measured; the loads are null where no flows arrive at a load.
LOADS = ("offered_load", "realised_load", "carried_load", "hosts_wire")
METRICS = (*COMPLETION, *DEADLINES, *LOADS, "goodput_bps", "end_ps", *COUNTERS, "packets_sent", *PER_PACKET)
# What tells groups of flows apart, in tables by group.
ORDER = {name: place for place, name in enumerate([*(name for _, name in SIZE_GROUPS), ALL])}
GROUPS = ("tag", "size_group", "size_above_bytes", "size_up_to_bytes")
# Runs that a page shows side by side: as many as colours and dashes tell apart.
MOST_SIDE_BY_SIDE = 24
# Columns that a sweep's tables have besides the axes and those of flows and links.
COLUMNS = {
    "run",
    "replica",
    "replicas",
    "done",
    "status",
    "flows",
    "flows_ci95",
    "stable",
    "carries",
    *GROUPS,
    *METRICS,
    *(f"{name}_ci95" for name in METRICS),
}


class Sweep(Displayed):
    """The runs of a sweep that are there.

    Attributes:
        folder: Where they are.
        name: What the sweep is called.
        axes: The values of each axis, in their order.
        replicas: Repetitions asked for.
        engine: The engine that made them.
        chosen: The metrics that the plan asks to be shown, of METRICS; empty if it leaves that open.
        side_by_side: Whether the plan asks for a page of its points side by side.
        statuses: How each run ended that is done, by its key.
        damaged: What is wrong with each run that is there but not whole, by its key. It counts as not done.
    """

    _view = "of_sweep"

    def __init__(self, folder: str | PathLike[str]) -> None:
        folder = Path(folder)
        plan = run_files.plan(folder)
        self.folder = folder
        self.name = str(plan.get("name", folder.name))
        self.engine = str(plan["engine"])
        self.axes: dict[str, list[Any]] = {axis["name"]: axis["values"] for axis in plan["axes"]}
        self.replicas = int(plan["replicas"])
        self.chosen: tuple[str, ...] = tuple(plan.get("metrics", ()))
        self.side_by_side = bool(plan.get("side_by_side"))
        self.statuses: dict[str, str] = {}
        self.damaged: dict[str, str] = {}
        for key in dict.fromkeys(run["key"] for run in plan["runs"]):
            if os.path.lexists(self.path(key)):
                try:
                    self.statuses[key] = run_files.whole(self.path(key))["status"]
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
        self._runs = pl.DataFrame(rows, schema=schema)

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run of the plan: run (its key), the axes, replica, done."""
        # All other tables begin with this one, some by its own methods.
        require_threads()
        return self._runs

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
            raise self._none_done()
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
        """One row per completed run: run, the axes, replica, status, flows, stable, and METRICS, which the docs define.

        Completion is that of the flows that are measured: those that start in the measuring window, without background.
        A run is stable if nothing shows that it was not in a steady state at its load; null where none was observed.
        """
        done = self.runs.filter("done").drop("done")
        # Reading waits for the disk, and polars lets other threads run meanwhile.
        with ThreadPoolExecutor() as threads:
            rows = list(threads.map(self._metrics, done["run"]))
        kinds = dict.fromkeys(METRICS, pl.Float64)
        own = {"status": pl.String, "flows": pl.Int64, "stable": pl.Boolean}
        columns = pl.DataFrame(rows, schema={**own, **kinds})
        return done.hstack(columns)

    @property
    def means(self) -> pl.DataFrame:
        """One row per point: the axes, replicas, stable, carries, and each of METRICS with its interval, <metric>_ci95.

        A point is stable if all its runs are. It carries its load by the mean over its replicas (carrying.py).
        """
        axes, metrics = list(self.axes), self.metrics
        means = replica_means(metrics, axes, METRICS)
        known = pl.when(pl.col("stable").count() > 0).then(pl.col("stable").all())
        keys: list[Any] = [*axes] or [pl.repeat(0, pl.len()).alias("_all")]
        stable = metrics.group_by(keys, maintain_order=True).agg(known)["stable"]
        return means.insert_column(len(axes) + 1, stable).insert_column(len(axes) + 2, carries(means))

    @cached_property
    def by_size(self) -> pl.DataFrame:
        """One row per point and group of sizes: the axes, size_group, replicas, flows, and COMPLETION with intervals.

        Groups are those of `analysis.by_size`, the last one "all". Replicas are those that have flows of the group.

        Raises:
            UserError: No run is done yet.
        """
        return self._by_group("by_size", ("size_group",))

    @cached_property
    def by_entry(self) -> pl.DataFrame:
        """As `by_size`, for each traffic entry: the axes, tag (the entry's name), size_group and so on."""
        return self._by_group("by_entry", ("tag", "size_group"))

    @cached_property
    def over_size(self) -> pl.DataFrame:
        """As `by_size`, in finer steps: the axes, size_above_bytes, size_up_to_bytes and so on."""
        return self._by_group("over_size", ("size_above_bytes", "size_up_to_bytes"))

    def _by_group(self, table: str, groups: Sequence[str]) -> pl.DataFrame:
        """Means over replicas of a table by group, points and groups in their order."""
        rows, points = self._groups[table], self.runs.select(list(self.axes)).unique(maintain_order=True)
        means = replica_means(rows, [*self.axes, *groups], ("flows", *COMPLETION))
        # A group may first appear in a later replica.
        columns = means.columns
        order = [
            pl.col(name).replace_strict(ORDER, default=len(ORDER)) if name == "size_group" else name
            for name in groups
        ]
        if self.axes:
            means = means.join(points.with_row_index("_point"), on=list(self.axes), nulls_equal=True)
            order = ["_point", *order]
        return means.sort(order).select(columns)

    @cached_property
    def _groups(self) -> dict[str, pl.DataFrame]:
        """One row per run and group of flows, by the name of the table."""
        done = self.runs.filter("done").drop("done")
        if done.is_empty():
            raise self._none_done()
        with ThreadPoolExecutor() as threads:
            # Places that are the same run share it.
            made = list(threads.map(self._groups_of, done["run"].unique(maintain_order=True)))
        tables = {name: pl.concat([of_run[name] for of_run in made]) for name in made[0]}
        return {
            name: done.join(table, on="run", maintain_order="left_right") for name, table in tables.items()
        }

    def _groups_of(self, key: str) -> dict[str, pl.DataFrame]:
        own = self._read(key, SIZE_COLUMNS).measured
        tables = {
            "by_size": by_size(own).rename({"group": "size_group"}),
            "by_entry": by_entry(own).rename({"group": "size_group"}),
            "over_size": over_size(own),
        }
        return {name: table.select(pl.lit(key).alias("run"), pl.all()) for name, table in tables.items()}

    def _metrics(self, key: str) -> dict[str, Any]:
        run = self._read(key, FLOW_COLUMNS, LINK_COLUMNS)
        total = overall(run.measured).row(0, named=True)
        in_time = timeliness(run.measured).row(0, named=True)
        counters: dict[str, Any] = {name: run.counters.get(name) for name in COUNTERS}
        counters["paused_ps"] = int(run.links["paused_ps"].sum())
        sent = int(run.flows["packets_sent"].sum())
        return {
            "status": run.status,
            "flows": total["flows"],
            "stable": _stable(run),
            **{name: total[name] for name in COMPLETION},
            **{name: in_time[name] for name in DEADLINES},
            **{name: (run.loads or {}).get(name) for name in LOADS},
            "goodput_bps": run.goodput_bps,
            "end_ps": run.end_ps,
            **counters,
            "packets_sent": sent,
            **{
                f"{name}_per_packet": None if counters[name] is None or not sent else counters[name] / sent
                for name in OF_PACKETS
            },
        }

    def _read(self, key: str, columns: Sequence[str], links: Sequence[str] = ()) -> Run:
        folder = self.path(key)
        try:
            return Run.read(folder, columns, links)
        except UserError as error:
            raise UserError(
                f"{folder}: not the folder of a run ({error}); remove it, and flowyard sweep makes the run again"
            ) from None

    def _none_done(self) -> UserError:
        return UserError(f"{self.folder}: no run is done yet; the sweep's own command goes on with it")

    def summaries(self) -> dict[str, dict[str, Any]]:
        """The run.json of each run."""
        keys = self.runs.filter("done")["run"]
        return {key: run_files.status(self.path(key)) for key in keys}

    def __repr__(self) -> str:
        done = int(self.runs["done"].sum())
        return f"<flowyard.Sweep {self.name}: {done} of {len(self.runs)} runs, axes {', '.join(self.axes) or 'none'}>"


def _stable(run: Run) -> bool | None:
    """Whether the run was in a steady state; None where no load was observed."""
    observed = run.loads is not None and run.loads["carried_load"] is not None
    return not run.unstable if observed or run.unstable else None


def uncounted(summaries: Iterable[Mapping[str, Any]]) -> set[str]:
    """The names in COUNTED that do not apply to these runs: pauses where no port pauses, losses where nothing fails."""
    runs = list(summaries)
    pauses, faults = any(map(can_pause, runs)), any(run.get("faults") for run in runs)
    return {*(() if pauses else PAUSES), *(() if faults else ("lost",))}


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
