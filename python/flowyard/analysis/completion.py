"""Flow completion times and slowdowns, by size of the flow."""

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from flowyard.analysis.frames import Arrow, frame

# Upper ends of the size groups in bytes, inclusive: short, middle and long flows, as pFabric cut them.
SIZE_GROUPS: tuple[tuple[int | None, str], ...] = (
    (100_000, "up to 100 KB"),
    (10_000_000, "100 KB to 10 MB"),
    (None, "above 10 MB"),
)
ALL = "all"
# Upper ends of finer groups in bytes, inclusive: 1 and 3 of each decade from 1 KB on.
SIZE_STEPS = tuple(digit * 10**power for power in range(3, 18) for digit in (1, 3))
PERCENTILES: dict[str, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


def measured(flows: Arrow, warm_up_ps: int, background: Collection[str] = ()) -> pl.DataFrame:
    """The flows that count: those that do not start before the end of the warm-up (in ps), without background.

    A flow that waited for others and never started counts, as one that is not complete.

    Args:
        flows: At least start_ps, and tag if there is background.
        warm_up_ps: The end of the warm-up.
        background: Tags of the traffic entries that are background.
    """
    flows = frame(flows)
    early = (pl.col("start_ps") < warm_up_ps).fill_null(False)
    # Tags may be stored as a dictionary of words, which is_in does not take.
    own = pl.col("tag").cast(pl.String).is_in(list(background)) if background else pl.lit(False)
    return flows.filter(~early & ~own)


def background(summary: Mapping[str, Any]) -> list[str]:
    """The tags of the traffic entries that are background, as run.json has them."""
    return [entry["name"] for entry in summary["traffic"] if entry.get("background")]


def by_size(flows: Arrow, *more: pl.Expr) -> pl.DataFrame:
    """Completion by size group: a row for each group that has flows, the last one for all flows.

    Columns: group (text), flows, completed (counts), completed_fraction (0 to 1), fct_mean_ps, fct_<p>_ps,
    slowdown_mean, slowdown_<p> for each p of PERCENTILES, and what else is asked for. Null where no flow of the group
    has a value.
    """
    flows = frame(flows)
    size = pl.col("size_bytes")
    group = pl.lit(SIZE_GROUPS[-1][1])
    for upper, name in reversed(SIZE_GROUPS[:-1]):
        group = pl.when(size <= upper).then(pl.lit(name)).otherwise(group)
    order = pl.Enum([name for _, name in SIZE_GROUPS])
    groups = flows.group_by(group.cast(order).alias("group")).agg(*_completion(), *more).sort("group")
    everything = flows.select(pl.lit(ALL).alias("group"), *_completion(), *more)
    return pl.concat([groups.with_columns(pl.col("group").cast(pl.String)), everything])


def by_entry(flows: Arrow) -> pl.DataFrame:
    """Completion by traffic entry and size group: `by_size` of each entry, with its name as first column `tag`.

    Entries stand in the order in which their first flows do.
    """
    flows = frame(flows)
    tags = flows["tag"].cast(pl.String)
    parts = [
        by_size(flows.filter(tags == tag)).select(pl.lit(tag).alias("tag"), pl.all())
        for tag in tags.unique(maintain_order=True)
    ]
    return pl.concat(parts) if parts else by_size(flows).select(pl.lit("").alias("tag"), pl.all()).clear()


def over_size(flows: Arrow) -> pl.DataFrame:
    """Completion in steps of size: a row for each of SIZE_STEPS that has flows.

    The steps are the same in every run, so that runs can be averaged, and each lies within one group of `by_size`.
    Columns: size_above_bytes, size_up_to_bytes (the step's ends, the upper one inclusive), then those of `overall`.
    """
    flows = frame(flows)
    upper = pl.lit(pl.Series("upper", SIZE_STEPS, dtype=pl.UInt64))
    step = upper.search_sorted(pl.col("size_bytes").cast(pl.UInt64), side="left")
    table = flows.group_by(step.alias("_step")).agg(_completion()).sort("_step")
    ends = [pl.Series(list(side), dtype=pl.UInt64) for side in ((0, *SIZE_STEPS), SIZE_STEPS)]
    place = table["_step"]
    above, up_to = (end.gather(place) for end in ends)
    return table.select(above.alias("size_above_bytes"), up_to.alias("size_up_to_bytes"), pl.exclude("_step"))


def overall(flows: Arrow) -> pl.DataFrame:
    """Completion of all flows together: the last row of `by_size`, without its group."""
    flows = frame(flows)
    return flows.select(_completion())


def by_decile(flows: Arrow, bins: int = 10) -> pl.DataFrame:
    """Slowdown against size: bins of nearly equal numbers of flows, cut at quantiles of the size.

    Flows of one size share a bin, so that few sizes give few bins. Columns: size_bytes (the largest of the bin),
    size_min_bytes, flows, completed_fraction, slowdown_<p> for each p of PERCENTILES.
    """
    flows = frame(flows)
    shares = [i / bins for i in range(1, bins + 1)]
    uppers = flows.select(pl.col("size_bytes").quantile(share, "lower").alias(str(share)) for share in shares)
    cuts = sorted({int(upper) for upper in uppers.row(0) if upper is not None})
    upper = pl.Series("upper", cuts, dtype=pl.UInt64)
    bin_of = pl.lit(upper).search_sorted(pl.col("size_bytes"), side="left")
    return (
        flows.group_by(bin_of.alias("bin"))
        .agg(
            pl.col("size_bytes").max(),
            pl.col("size_bytes").min().alias("size_min_bytes"),
            pl.len().alias("flows"),
            pl.col("completed").mean().alias("completed_fraction"),
            *_percentiles("slowdown"),
        )
        .sort("bin")
        .drop("bin")
    )


def _completion() -> list[pl.Expr]:
    return [
        pl.len().alias("flows"),
        pl.col("completed").sum().alias("completed"),
        pl.col("completed").mean().alias("completed_fraction"),
        pl.col("fct_ps").mean().alias("fct_mean_ps"),
        *_percentiles("fct", "_ps"),
        pl.col("slowdown").mean().alias("slowdown_mean"),
        *_percentiles("slowdown"),
    ]


def _percentiles(column: str, unit: str = "") -> list[pl.Expr]:
    value = pl.col(column + unit)
    return [
        value.quantile(share, "linear").alias(f"{column}_{name}{unit}") for name, share in PERCENTILES.items()
    ]
