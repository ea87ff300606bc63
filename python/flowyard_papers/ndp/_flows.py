"""Rows of a run of figure 6: its short flows, and when its background last carried something."""

import polars as pl

from flowyard.sweeps import Sweep
from flowyard_papers.ndp._scheduler import SHORT


def short_flows(flows: pl.DataFrame) -> pl.DataFrame:
    """A row for each short flow."""
    return flows.filter(tag=SHORT).select(
        "id",
        "src",
        "dst",
        "start_ps",
        "completed",
        "delivered_bytes",
        "fct_ps",
        headers="trims",
        goodput_gbps=8000 * pl.col("delivered_bytes") / pl.col("fct_ps"),
    )


def last_payload(long: pl.DataFrame, sweep: Sweep) -> pl.DataFrame:
    """When the payload of each flow of the background last reached its receiver, to a sample."""
    rates = sweep.scan("samples").filter(pl.col("series") == "rate_bps", pl.col("value") > 0)
    last = rates.group_by("id").agg(last_payload_ps=pl.col("time_ps").max()).collect()
    flows = long.select("id", "src", "dst", "delivered_bytes")
    return flows.join(last, on="id", how="left", maintain_order="left")
