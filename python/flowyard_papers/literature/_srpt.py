"""Shortest remaining processing time on one link, worked out from starts and sizes alone (Schrage 1968)."""

import heapq
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

RATE_BPS, MSS, HEADER = 10_000_000_000, 1460, 40


def compared(run: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The mean completion time of a run's measured flows, in packets and as the oracle has it, which knows all flows.

    The oracle is the receiver's link; what a flow takes beyond its time there, alone, is its way to it.

    Args:
        run: Its flows.
        keys: Columns that tell runs apart.
    """
    size = run["size_bytes"].cast(pl.Int64).to_numpy()
    alone = (size + HEADER * -(-size // MSS)) * (8e12 / RATE_BPS)
    starts = run["start_ps"].to_numpy().astype(float)
    ends = ends_of(list(zip(starts.tolist(), alone.tolist(), strict=True)))
    fct = pl.Series(ends) - starts - alone + run["ideal_fct_ps"]
    return (
        run.with_columns(srpt_ps=fct)
        .filter("measured")
        .select(
            pl.col(keys).first(),
            fct_us=pl.col("fct_ps").mean() / 1e6,
            srpt_us=pl.col("srpt_ps").mean() / 1e6,
            unfinished=pl.col("fct_ps").null_count(),
            timeouts=pl.col("timeouts").sum(),
        )
    )


def ends_of(flows: list[tuple[float, float]]) -> list[float]:
    """When each flow ends on one server that always works on the one with the least left.

    Args:
        flows: When each starts, in any order, and how long it takes alone.
    """
    order = sorted(range(len(flows)), key=lambda flow: flows[flow][0])
    times = [flows[flow][0] for flow in order] + [float("inf")]
    ends = [float("nan")] * len(flows)
    waiting: list[tuple[float, int]] = []
    for flow, (now, until) in zip(order, pairwise(times), strict=True):
        heapq.heappush(waiting, (flows[flow][1], flow))
        while waiting and now < until:
            left, first = heapq.heappop(waiting)
            if now + left > until:
                heapq.heappush(waiting, (left - (until - now), first))
                break
            now += left
            ends[first] = now
    return ends
