"""Curves over load, as in the paper's figures 3 to 6."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard_papers.syn import _rack as rack

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curves(axes: "Axes", points: pl.DataFrame, value: str, systems: Sequence[str], *, log: bool) -> None:
    """A curve a system, with 95 % intervals; loads that are more than it can hold have empty marks.

    Args:
        axes: Where.
        points: Columns system, load, unstable, the value and <value>_ci95.
        value: The column over load.
        systems: In the order of the legend.
        log: Whether the values have a logarithmic axis.
    """
    for system in systems:
        own = points.filter(pl.col(value).is_not_null(), system=system).sort("load")
        if own.is_empty():
            continue
        look = rack.look(system)
        axes.errorbar(
            own["load"].to_numpy(),
            own[value].to_numpy(),
            own[f"{value}_ci95"].fill_null(0).to_numpy(),
            **look,
        )
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
    means = points.filter(pl.col("system").is_in(systems))[value].drop_nulls().to_list()
    if not means:
        return
    # The intervals of few replicas are wide: they do not decide what is seen.
    if log:
        axes.set_yscale("log")
        axes.set_ylim(min(means) / 1.3, max(means) * 1.5)
    else:
        axes.set_ylim(0, max(means) * 1.15)
    axes.set(xlabel="load", xlim=(0, 1))
