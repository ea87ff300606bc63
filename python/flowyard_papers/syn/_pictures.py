"""Curves over load, as in the paper's figures 3 to 6."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers.needs import COUNTED
from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curves(axes: "Axes", points: pl.DataFrame, value: str, systems: Sequence[str], *, log: bool) -> None:
    """A curve a system, with 95 % intervals; loads that are more than it can hold have empty marks.

    Of two replicas there is no interval: it would be 13 times as wide as their standard error, and tell nothing.

    Args:
        axes: Where.
        points: Columns system, load, replicas, unstable, the value and <value>_ci95.
        value: The column over load.
        systems: In the order of the legend.
        log: Whether the values have a logarithmic axis.
    """
    for system in systems:
        own = points.filter(pl.col(value).is_not_null(), system=system).sort("load")
        if own.is_empty():
            continue
        look = rack.look(system)
        own = own.with_columns(half=_half(value))
        axes.errorbar(own["load"].to_numpy(), own[value].to_numpy(), own["half"].to_numpy(), **look)
        beyond = own.filter("unstable")
        axes.plot(
            beyond["load"].to_numpy(),
            beyond[value].to_numpy(),
            linestyle="",
            marker=look["marker"],
            color=look["color"],
            markerfacecolor="white",
            zorder=5,
        )
    shown = points.filter(pl.col("system").is_in(systems), pl.col(value).is_not_null())
    if shown.is_empty():
        return
    # All of an interval is seen; on a logarithmic axis, one that reaches 0 goes to the edge.
    ends = shown.select(low=pl.col(value) - _half(value), high=pl.col(value) + _half(value), mean=value)
    if log:
        low = ends.select(pl.when(pl.col("low") > 0).then("low").otherwise("mean").min()).item()
        axes.set_yscale("log")
        axes.set_ylim(low / 1.3, ends.select(pl.col("high").max()).item() * 1.5)
    else:
        axes.set_ylim(0, ends.select(pl.col("high").max()).item() * 1.1)
    axes.set(xlabel="load", xlim=(0, 1))


def _half(value: str) -> pl.Expr:
    """Half of the interval of a mean of three replicas or more; else 0."""
    return pl.when(pl.col(COUNTED) > 2).then(pl.col(f"{value}_ci95").fill_null(0)).otherwise(0)
