"""Loads of the rack's links: the throughput of long flows, and the loads of short ones."""

from collections.abc import Sequence

import polars as pl

from flowyard.papers import loads
from flowyard.sweeps import Sweep
from flowyard_papers.daq._rack import LINK_BPS, LONG, SHORT


def long_share(sweep: Sweep, axes: Sequence[str]) -> pl.DataFrame:
    """One row per run: what long flows together deliver, as a percentage of the link's rate."""
    ends = pl.DataFrame(
        [(key, summary["end_ps"]) for key, summary in sweep.summaries().items()],
        schema={"run": pl.String, "end_ps": pl.Int64},
        orient="row",
    )
    delivered = (
        sweep.flows.filter(pl.col("tag") == LONG)
        .group_by("run", *axes, "replica")
        .agg(bytes=pl.col("delivered_bytes").sum().cast(pl.Float64))
        .collect()
    )
    share = 100 * 8e12 * pl.col("bytes") / pl.col("end_ps") / LINK_BPS
    return delivered.join(ends, on="run").select(*axes, "replica", long_pct=share).sort(*axes, "replica")


def long_at_load(sweep: Sweep, axes: Sequence[str], workers: int) -> pl.DataFrame:
    """One row per run: what long flows together deliver in the measuring window, as a percentage of the link's rate.

    All payload that hosts receive, without that of the short flows.
    """
    every = {
        run: summary["measured"]["hosts_payload"] * summary["scenario"]["topology"]["single-switch"]["hosts"]
        for run, summary in sweep.summaries().items()
    }
    payload = sweep.runs.with_columns(payload=pl.col("run").replace_strict(every, return_dtype=pl.Float64))
    keys = [*axes, "replica"]
    long = 100 * (pl.col("payload") - pl.col("carried_load"))
    return payload.join(of_short(sweep, axes, workers), on=keys).select(*keys, long_pct=long).sort(keys)


def of_short(sweep: Sweep, axes: Sequence[str], workers: int) -> pl.DataFrame:
    """One row per run: the loads of the short flows, of payload, over the rate of the aggregator's link.

    A run's own loads are over the links of all workers.
    """
    found = loads.of_runs(sweep, axes, SHORT)
    return found.with_columns(pl.col(loads.COLUMNS) * workers)
