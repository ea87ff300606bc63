"""Distributions of what happens in the measuring window, and the flows of it that count."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from flowyard.sweeps import Sweep

# From one look at the ports to the next.
HISTOGRAMS: dict[str, Any] = {"histograms": {"every": "10us"}}
_BUCKET = ["metric", "class", "low", "high"]


def histograms(sweep: Sweep, keys: Sequence[str]) -> pl.DataFrame:
    """Counts of the windows: keys, metric, class, low, high, count."""
    every = sweep.scan("histograms").with_columns(
        pl.col("metric", "class").cast(pl.String), pl.col("count").cast(pl.Int64)
    )
    columns = [*keys, *_BUCKET]
    return every.filter(pl.col("count") > 0).select(*columns, "count").sort(columns).collect()


def mean() -> pl.Expr:
    """Of a histogram's values; a bucket counts by its middle."""
    return ((pl.col("low") + pl.col("high")) / 2 * pl.col("count")).sum() / pl.col("count").sum()


def quantile(share: float) -> pl.Expr:
    """The middle of the first bucket, by value, up to which that share of all is."""
    ordered = pl.struct("low", "high", "count").sort_by("low")
    middle = (ordered.struct.field("low") + ordered.struct.field("high")) / 2
    reached = ordered.struct.field("count").cum_sum() >= share * pl.col("count").sum()
    return middle.filter(reached).first()


def flows(sweep: Sweep, until_ms: int) -> pl.LazyFrame:
    """The measured flows that start before a time: later ones only keep the load up."""
    return sweep.flows.filter("measured", pl.col("start_ps") / 1e9 < until_ms)
