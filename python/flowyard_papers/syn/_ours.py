"""Runs of our own figures of SYN's data centre: flows that start in a window, and packets, with more axes than load."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from flowyard.papers.figure import Scale
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard.table import read_frame
from flowyard_papers.syn import _completion as completion
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _window as windows

# Columns of `runs` that are means of a run.
VALUES = ["fct_ms", "fct_p99_ms", "fct", "carried", "network_us", "network_p99_us"]
REPLICAS = 3


def window(scale: Scale) -> rack.Window:
    """A tenth of what the paper's figures have: there is nothing rare in these."""
    return scale.pick(rack.Window(10, 25, 0, 5), rack.Window(100, 300, 0, 50))


def plan(
    name: str, systems: Sequence[str], loads: Sequence[float], scale: Scale, axes: Sequence[Axis] = ()
) -> Plan:
    """The paper's data centre with further axes, and what its packets take in the network."""
    whole = rack.plan(
        name,
        systems,
        loads,
        window(scale),
        replicas=scale.pick(1, REPLICAS),
        observe=windows.HISTOGRAMS,
    )
    return replace(whole, axes=[*whole.axes, *axes])


def runs(sweep: Sweep, scale: Scale) -> pl.DataFrame:
    """One row per run: its axes and replica, `flows` that count, `unfinished` ones among them, and VALUES.

    fct is over that of the empty network; carried is over the rate of all servers' links. Times in the network are of
    packets that arrive after the warm-up.
    """
    own = window(scale)
    rows: list[dict[str, Any]] = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        folder = sweep.path(run["run"])
        flows = read_frame(folder / "flows.parquet", completion.COLUMNS)
        ends = [ms(run["load"], rack.FIXED) * 10**9 for ms in (own.end_ms, own.until_ms)]
        start_ps = own.warm_up_ms * 10**9
        found = completion.measured(flows, start_ps, *ends, lengths=rack.FIXED, incast=False)
        start = pl.col("start_ps").cast(pl.Int64)
        age = pl.col("fct_ps").cast(pl.Int64).fill_null(ends[1] - start)
        counted = flows.filter(start.is_between(start_ps, ends[0], closed="left")).select(age / 1e9)
        network = read_frame(folder / "histograms.parquet").filter(
            pl.col("metric").cast(pl.String) == "network_ps"
        )
        rows.append(
            {name: run[name] for name in (*sweep.axes, "replica")}
            | {name: found[name] for name in ("flows", "unfinished", "fct", "fct_cv", "carried", "raw_ms")}
            | {"fct_p99_ms": counted.to_series().quantile(0.99, "linear")}
            | network.select(
                network_us=windows.mean() / 1e6, network_p99_us=windows.quantile(0.99) / 1e6
            ).row(0, named=True)
        )
    return pl.DataFrame(rows).rename({"raw_ms": "fct_ms"}).sort(*sweep.axes, "replica")


ASSUMED = (
    "Flows that start in 300 ms after 100 ms count, at quick scale in 25 ms after 10 ms, and are under way for 50 ms, "
    "at quick scale 5 ms, after it; one that is not over then counts with its age. Times in the network are of all "
    "packets that arrive after the warm-up.",
)
