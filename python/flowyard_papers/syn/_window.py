"""Distributions of what happens while flows count, without the time before it.

Histograms of a run count from its start. So each run is made a second time, until the flows begin to count, and what
that one has counted is taken off: the two are the same until then.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _rack as rack

BEFORE, WHOLE = "before", "whole"
# From one look at the ports to the next.
HISTOGRAMS: dict[str, Any] = {"histograms": {"every": "10us"}}
_BUCKET = ["metric", "class", "low", "high"]


def plan(
    name: str,
    systems: Sequence[str],
    loads: Sequence[float],
    window: rack.Window,
    *,
    replicas: int,
    **more: Any,
) -> Plan:
    """The plan of the rack, whose window has no number of flows, with both runs of each: the axis "part"."""
    whole = rack.plan(name, systems, loads, window, replicas=replicas, **more)
    untils = [f"{window.warm_up_ms}ms", f"{window.until_ms(loads[0], rack.FIXED)}ms"]
    ends = {"run.until": untils, "run.warm_up": ["0ps", untils[0]]}
    axes = [
        replace(axis, set={key: values for key, values in axis.set.items() if key not in ends})
        for axis in whole.axes
    ]
    return replace(whole, axes=[*axes, Axis("part", ends, labels=(BEFORE, WHOLE))])


def histograms(sweep: Sweep, keys: Sequence[str]) -> pl.DataFrame:
    """What was counted in the windows: keys, metric, class, low, high, count.

    Raises:
        ValueError: The shorter run of a pair has counted what the longer one has not.
    """
    every = sweep.scan("histograms").with_columns(pl.col("metric", "class").cast(pl.String))
    columns = [*keys, *_BUCKET]
    parts = {part: every.filter(part=part).select(*columns, "count").collect() for part in (BEFORE, WHOLE)}
    joined = parts[WHOLE].join(parts[BEFORE], on=columns, how="full", coalesce=True, suffix="_before")
    counts = joined.with_columns(
        count=pl.col("count").fill_null(0).cast(pl.Int64) - pl.col("count_before").fill_null(0).cast(pl.Int64)
    ).drop("count_before")
    if (counts["count"] < 0).any():
        raise ValueError("a run is not the beginning of the longer one")
    return counts.filter(pl.col("count") > 0).sort(columns)


def mean() -> pl.Expr:
    """Of a histogram's values; a bucket counts by its middle."""
    return ((pl.col("low") + pl.col("high")) / 2 * pl.col("count")).sum() / pl.col("count").sum()


def quantile(share: float) -> pl.Expr:
    """The middle of the first bucket, by value, up to which that share of all is."""
    ordered = pl.struct("low", "high", "count").sort_by("low")
    middle = (ordered.struct.field("low") + ordered.struct.field("high")) / 2
    reached = ordered.struct.field("count").cum_sum() >= share * pl.col("count").sum()
    return middle.filter(reached).first()


def whole_flows(sweep: Sweep, window: rack.Window, until_ms: int) -> pl.LazyFrame:
    """The flows that start in the window, of the whole runs."""
    start_ms = pl.col("start_ps") / 1e9
    return sweep.flows.filter(pl.col("part") == WHOLE, start_ms >= window.warm_up_ms, start_ms < until_ms)
