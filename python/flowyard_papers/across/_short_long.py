"""Short and long flows of many runs: the tail of the short ones, what the long ones get, and rows of dots for both."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import loads
from flowyard.sweeps import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Short: the group of flows that pFabric reports, inclusive. Long: enough packets for a steady window or rate.
SHORT_BYTES, LONG_BYTES = 100_000, 1_000_000
# Digits of the ticks of a logarithmic axis of so many decades at most.
_DIGITS = {0.8: (1, 1.5, 2, 3, 4, 5, 7), 2: (1, 2, 5), 3: (1, 3), math.inf: (1,)}


def runs(sweep: Sweep, axes: Sequence[str]) -> pl.DataFrame:
    """One row per run of a sweep of Poisson arrivals.

    Columns: the axes, replica, short_flows, long_flows, unfinished (measured flows that have not ended),
    short_p99_slowdown, long_mean_slowdown, long_goodput_gbps (mean of the flows' own), reordered, retransmissions,
    timeouts, and the loads of `flowyard.papers.loads`. Values of a group are null where not all of its flows have
    ended: those that have would flatter.
    """
    keys = [*axes, "replica"]
    size, slowdown = pl.col("size_bytes"), pl.col("slowdown")
    short, long = size <= SHORT_BYTES, size > LONG_BYTES
    short_done, long_done = (pl.col("completed").filter(one).all() for one in (short, long))
    counters = ("reordered", "retransmissions", "timeouts")
    goodput = 8000 * size / pl.col("fct_ps")
    found = (
        sweep.flows.filter("measured")
        .group_by(keys)
        .agg(
            short_flows=short.sum().cast(pl.Int64),
            long_flows=long.sum().cast(pl.Int64),
            unfinished=pl.col("fct_ps").null_count().cast(pl.Int64),
            short_p99_slowdown=pl.when(short_done).then(slowdown.filter(short).quantile(0.99, "linear")),
            long_mean_slowdown=pl.when(long_done).then(slowdown.filter(long).mean()),
            long_goodput_gbps=pl.when(long_done).then(goodput.filter(long).mean()),
            **{name: pl.col(name).sum().cast(pl.Int64) for name in counters},
        )
        .collect()
    )
    return found.join(loads.of_runs(sweep, axes), on=keys, validate="1:1").sort(keys)


def dots(
    axes: "Axes", rows: pl.DataFrame, name: str, names: Sequence[str], measure: str, look: Mapping[str, Any]
) -> None:
    """A dot for each name that has a value, at its place from above: the mean of its rows, if none lacks a value.

    Args:
        axes: Where.
        rows: A row for each run.
        name: The column of names.
        names: All names, from above.
        measure: The column of values.
        look: Of the dots: color, marker, markerfacecolor, label, and `shift`, by how much they are below their place.
    """
    shift, drawn = look["shift"], {key: one for key, one in look.items() if key != "shift"}
    value = pl.col(measure).cast(pl.Float64)
    means = rows.group_by(name).agg(mean=pl.when(value.null_count() == 0).then(value.mean()))
    found = means.drop_nulls("mean")
    places = [names.index(one) + shift for one in found[name]]
    axes.plot(found["mean"].to_list(), places, linestyle="", **drawn)


def rows_of(axes: "Axes", names: Sequence[str], labelled: bool) -> None:
    """A line for each name, from above, with its label or without."""
    axes.set_yticks(range(len(names)), list(names) if labelled else [""] * len(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    for place in range(0, len(names), 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#f4f4f4", zorder=0, linewidth=0)
    axes.grid(axis="y", visible=False)


def round_numbers(axes: "Axes") -> None:
    """A logarithmic axis from left to right, with plain numbers at as many ticks as find room."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    decades = math.log10(high / low)
    digits = next(some for most, some in _DIGITS.items() if decades <= most)
    ticks = [digit * 10.0**power for power in range(-3, 7) for digit in digits]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(low, high)
    axes.tick_params(axis="x", labelsize=7.5)
