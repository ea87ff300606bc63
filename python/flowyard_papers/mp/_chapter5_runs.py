"""Results of the runs of chapter 5: completion times and throughputs of transfers and fragments, and losses."""

from collections.abc import Mapping, Sequence

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers.figure import Sweeps
from flowyard.sweeps import Sweep
from flowyard_papers.mp._chapter5 import FCT, FRAGMENT_FCT, FRAGMENT_THROUGHPUT, LOSS, RECEIVED, THROUGHPUT


def runs(sweep: Sweep, by: Sequence[str] = ("scheme", "buffer"), fragments: bool = False) -> pl.DataFrame:
    """One row per run: means over its transfers; times are null where not all of them are complete.

    A transfer is all that one host sends another, from its first request to the last acknowledgement, blocks and waits
    for others included: "the average time duration for each node's data transfer to complete" (5.3.4).

    Args:
        sweep: Its runs.
        by: Columns of its axes.
        fragments: Whether to add what a fragment of a block has, from its own request on.

    Returns:
        `by`, replica, fct_ms (to the last acknowledgement at the sender), received_ms (to the last byte at the
        receiver), throughput_mbs (of each transfer, its bytes over its fct), drops (of either direction),
        loss_percent (drops over data packets sent), timeouts; fragment_fct_ms, fragment_throughput_mbs.
    """
    keys = [*by, "replica"]
    start, acked = pl.col("start_ps"), pl.col("fct_acked_ps")
    fct = acked.cast(pl.Float64)
    transfers = sweep.flows.group_by(*keys, "src", "dst", maintain_order=True).agg(
        done=pl.col("completed").all(),
        size_bytes=pl.col("size_bytes").sum(),
        fct=((start + acked).max() - start.min()).cast(pl.Float64),
        received=((start + pl.col("fct_ps")).max() - start.min()).cast(pl.Float64),
        fragment_fct=fct.mean(),
        fragment_throughput=(pl.col("size_bytes") / fct).mean(),
        drops=pl.col("drops").sum(),
        packets_sent=pl.col("packets_sent").sum(),
        timeouts=pl.col("timeouts").sum(),
    )
    drops = pl.col("drops").sum()
    table = transfers.group_by(keys).agg(
        done=pl.col("done").all(),
        fct_ms=pl.col("fct").mean() / 1e9,
        received_ms=pl.col("received").mean() / 1e9,
        throughput_mbs=(pl.col("size_bytes") / pl.col("fct")).mean() * 1e6,
        fragment_fct_ms=pl.col("fragment_fct").mean() / 1e9,
        fragment_throughput_mbs=pl.col("fragment_throughput").mean() * 1e6,
        drops=drops.cast(pl.Int64),
        loss_percent=100 * drops / pl.col("packets_sent").sum(),
        timeouts=pl.col("timeouts").sum().cast(pl.Int64),
    )
    of_fragments = (FRAGMENT_FCT, FRAGMENT_THROUGHPUT) if fragments else ()
    measures = (FCT, RECEIVED, THROUGHPUT, *of_fragments)
    times = [pl.when("done").then(pl.col(name)).alias(name) for name in measures]
    return table.select(*keys, *times, "drops", LOSS, "timeouts").sort(keys).collect()


def of_patterns(sweeps: Sweeps, patterns: Mapping[str, str], fragments: bool = False) -> pl.DataFrame:
    """The runs of several sweeps, each of one pattern; `patterns` has its name by that of the sweep."""
    return pl.concat(
        [
            runs(sweeps[name], fragments=fragments).select(pl.lit(label).alias("pattern"), pl.all())
            for name, label in patterns.items()
        ]
    )


def of_setups(sweeps: Sweeps, setups: Mapping[str, tuple[str, str]], fragments: bool = False) -> pl.DataFrame:
    """The same where the set-up differs too: pattern and set-up by the name of the sweep."""
    return pl.concat(
        [
            _by_draw(sweeps[name], fragments).select(
                pl.lit(setup).alias("setup"), pl.lit(label).alias("pattern"), pl.all()
            )
            for name, (label, setup) in setups.items()
        ]
    )


def _by_draw(sweep: Sweep, fragments: bool) -> pl.DataFrame:
    """Where pairs are drawn, each draw counts as a replica."""
    if "draw" not in sweep.axes:
        return runs(sweep, fragments=fragments)
    table = runs(sweep, ("scheme", "buffer", "draw"), fragments)
    return table.drop("replica").rename({"draw": "replica"})


def points(table: pl.DataFrame) -> pl.DataFrame:
    """Means over the runs of each point, with their intervals."""
    return replica_means(table, ["pattern", "scheme", "buffer"], [FCT, THROUGHPUT, LOSS])
