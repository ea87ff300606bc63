"""Flow completion times and slowdowns, by size of the flow and by traffic entry."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowyard.analysis import within_run
from flowyard.analysis.frames import Arrow, frame
from flowyard.forks import pl

# Upper ends of the size groups in bytes, inclusive: short, middle and long flows, as pFabric cut them.
SIZE_GROUPS: tuple[tuple[int | None, str], ...] = (
    (100_000, "up to 100 KB"),
    (10_000_000, "100 KB to 10 MB"),
    (None, "above 10 MB"),
)
ALL = "all"
# A group of flows: the name of their traffic entry, None for those of all entries, and a group of sizes or ALL.
Key = tuple[str | None, str]
# Traffic entries that tables of completion show apart; of more, `flowyard show --csv by_entry` has them all.
MOST_ENTRIES = 8
# Upper ends of finer groups in bytes, inclusive: 1 and 3 of each decade from 1 KB on.
SIZE_STEPS = tuple(digit * 10**power for power in range(3, 18) for digit in (1, 3))
PERCENTILES: dict[str, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
# What completion is about, with the end of its columns' names.
UNITS = {"fct": "_ps", "slowdown": ""}


def measured(flows: Arrow) -> pl.DataFrame:
    """The flows that results are of: they start in the measuring window, and are not background.

    A flow that waited for others and never started counts, as one that is not complete, where the whole run is
    measured.

    Args:
        flows: With the column measured.
    """
    return frame(flows).filter("measured")


def background(summary: Mapping[str, Any]) -> list[str]:
    """The tags of the traffic entries that are background, as run.json has them."""
    return [entry["name"] for entry in summary["traffic"] if entry.get("background")]


def by_size(flows: Arrow, *more: pl.Expr, intervals: bool = False) -> pl.DataFrame:
    """Completion by size group: a row for each group that has flows, the last one for all flows.

    Columns: group (text), flows, completed (counts), completed_fraction (0 to 1), fct_mean_ps, fct_<p>_ps,
    slowdown_mean, slowdown_<p> for each p of PERCENTILES, and what else is asked for. Null where no flow of the group
    has a value.

    Args:
        flows: At least size_bytes, completed, fct_ps and slowdown.
        more: Further columns, as aggregations.
        intervals: Whether to add the ends of 95 % intervals of `within_run`, fct_<p>_low_ps, fct_<p>_high_ps,
            slowdown_<p>_low, slowdown_<p>_high, the mean as a p too; these need start_ps. A null low end: no
            interval. A null high end alone: no upper bound, for too few flows lie above the percentile.
    """
    flows = frame(flows)
    size = pl.col("size_bytes")
    group = pl.lit(SIZE_GROUPS[-1][1])
    for upper, name in reversed(SIZE_GROUPS[:-1]):
        group = pl.when(size <= upper).then(pl.lit(name)).otherwise(group)
    group = group.cast(pl.Enum([name for _, name in SIZE_GROUPS])).alias("group")
    groups = flows.group_by(group).agg(*_completion(), *more).sort("group")
    everything = flows.select(pl.lit(ALL).alias("group"), *_completion(), *more)
    if intervals:
        groups = _with_ends(groups, flows, group)
        everything = everything.hstack(_ends([flows]))
    return pl.concat([groups.with_columns(pl.col("group").cast(pl.String)), everything])


def by_entry(flows: Arrow, *more: pl.Expr, intervals: bool = False) -> pl.DataFrame:
    """Completion by traffic entry and size group: `by_size` of each entry, with its name as first column `tag`.

    Entries stand in the order in which their first flows do. More columns and intervals are those of `by_size`.
    """
    flows = frame(flows)
    tags = flows["tag"].cast(pl.String)
    parts = [
        by_size(flows.filter(tags == tag), *more, intervals=intervals).select(
            pl.lit(tag).alias("tag"), pl.all()
        )
        for tag in tags.unique(maintain_order=True)
    ]
    if parts:
        return pl.concat(parts)
    return by_size(flows, *more, intervals=intervals).select(pl.lit("").alias("tag"), pl.all()).clear()


def by_key(flows: Arrow, *more: pl.Expr, intervals: bool = False) -> dict[Key, dict[str, Any]]:
    """The rows of `by_size`, and those of `by_entry` where tables show entries apart."""
    flows = frame(flows)
    sizes = by_size(flows, *more, intervals=intervals)
    found: dict[Key, dict[str, Any]] = {(None, row["group"]): row for row in sizes.iter_rows(named=True)}
    if are_apart(flows["tag"].n_unique()):
        entries = by_entry(flows, *more, intervals=intervals)
        found |= {(row["tag"], row["group"]): row for row in entries.iter_rows(named=True)}
    return found


def are_apart(entries: int) -> bool:
    """Whether tables of completion show so many traffic entries apart."""
    return 1 < entries <= MOST_ENTRIES


def names(tables: Sequence[Iterable[Key]]) -> dict[Key, str]:
    """The groups that tables of completion show, in their order, each with its name.

    All flows come first, then their groups of sizes if there are several; then, if the flows are of several traffic
    entries, the same of each entry: "entry web", "entry web, up to 100 KB".

    Args:
        tables: The groups that there are in each run.
    """
    there = dict.fromkeys(key for table in tables for key in table)
    tags = dict.fromkeys(tag for tag, _ in there if tag is not None)
    found = {}
    for tag in (None, *(tags if are_apart(len(tags)) else ())):
        own = "all flows" if tag is None else f"entry {tag}"
        sizes = [size for _, size in SIZE_GROUPS if (tag, size) in there]
        found[tag, ALL] = own
        for size in sizes if len(sizes) > 1 else ():
            found[tag, size] = size if tag is None else f"{own}, {size}"
    return found


def over_size(flows: Arrow, *, intervals: bool = False) -> pl.DataFrame:
    """Completion in steps of size: a row for each of SIZE_STEPS that has flows.

    The steps are the same in every run, so that runs can be averaged, and each lies within one group of `by_size`.
    Columns: size_above_bytes, size_up_to_bytes (the step's ends, the upper one inclusive), then those of `overall`.
    Intervals are those of `by_size`.
    """
    flows = frame(flows)
    upper = pl.lit(pl.Series("upper", SIZE_STEPS, dtype=pl.UInt64))
    step = upper.search_sorted(pl.col("size_bytes").cast(pl.UInt64), side="left").alias("_step")
    table = flows.group_by(step).agg(_completion()).sort("_step")
    if intervals:
        table = _with_ends(table, flows, step)
    ends = [pl.Series(list(side), dtype=pl.UInt64) for side in ((0, *SIZE_STEPS), SIZE_STEPS)]
    place = table["_step"]
    above, up_to = (end.gather(place) for end in ends)
    return table.select(above.alias("size_above_bytes"), up_to.alias("size_up_to_bytes"), pl.exclude("_step"))


def overall(flows: Arrow, *, intervals: bool = False) -> pl.DataFrame:
    """Completion of all flows together: the last row of `by_size`, without its group."""
    flows = frame(flows)
    table = flows.select(_completion())
    return table.hstack(_ends([flows])) if intervals else table


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


def _with_ends(table: pl.DataFrame, flows: pl.DataFrame, group: pl.Expr) -> pl.DataFrame:
    """The table, a row a group, with the ends of its groups' intervals."""
    name = group.meta.output_name()
    parts = flows.select("start_ps", *_values(), group).partition_by(name, as_dict=True)
    return table.hstack(_ends([parts[value,] for value in table[name]]))


def _ends(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The ends of intervals, a row for each part of the flows: <metric>_low and <metric>_high, the unit last."""
    names = [
        f"{column}_{statistic}_{end}{unit}"
        for column, unit in UNITS.items()
        for statistic in ("mean", *PERCENTILES)
        for end in ("low", "high")
    ]
    rows = []
    for part in parts:
        by_start = part if part["start_ps"].is_sorted() else part.sort("start_ps", maintain_order=True)
        # Flows of a burst meet one state of the network, however many they are.
        starts = 1 + int((by_start["start_ps"].diff() > 0).sum())
        sample = by_start if starts >= within_run.FEWEST else by_start.clear()
        found = [within_run.intervals(sample[name], list(PERCENTILES.values())) for name in _values()]
        rows.append([end for own in found for interval in (own.mean, *own.percentiles) for end in interval])
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64), orient="row")


def _values() -> list[str]:
    return [column + unit for column, unit in UNITS.items()]


def _percentiles(column: str, unit: str = "") -> list[pl.Expr]:
    value = pl.col(column + unit)
    return [
        value.quantile(share, "linear").alias(f"{column}_{name}{unit}") for name, share in PERCENTILES.items()
    ]
