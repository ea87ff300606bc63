"""How figures 3.5 to 3.16 of the PEQ thesis look."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Tables
from flowyard.papers.peq._load import SCHEMES, THROUGHPUT, wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

# How modes are drawn.
LOOKS: Mapping[str, Mapping[str, Any]] = {
    "A": {"linestyle": "-"},
    "B": {"linestyle": "--", "linewidth": 0.9, "alpha": 0.75},
    "C": {"linestyle": ":", "linewidth": 0.9, "alpha": 0.75},
}


def draw(
    tables: Tables, by: str, figures: Mapping[str, float], titles: str, x: str, label: str, scale: float = 1.0
) -> "Picture":
    """Two panels for each figure: all schemes, and below it how far PEQ is above PDQ.

    Args:
        tables: Runs and points; ceilings, if the figure has them.
        by: The column that tells figures apart.
        figures: Its value by the number of the figure.
        titles: Of the panels, with {} for the value.
        x: The column of the axis.
        label: Of the axis.
        scale: What x is multiplied by.
    """
    picture, panels = style.panels(2, len(figures), size=(3.7, 2.8))
    top = tables["points"][THROUGHPUT].max()
    for place, (number, value) in enumerate(figures.items()):
        above, below = panels[place], panels[place + len(figures)]
        runs, points = (
            tables["runs"].filter(pl.col(by) == value),
            tables["points"].filter(pl.col(by) == value),
        )
        if "ceilings" in tables:
            rows = tables["ceilings"].sort(x)
            ceiling = rows["ceiling_rounded_up_percent"].to_numpy()
            at = scale * rows[x].to_numpy()
            above.fill_between(at, ceiling, 100, color="#eeeeee", linewidth=0, label="infeasible in A")
        _draw_curves(above, points, x, scale)
        _draw_gap(below, runs, points, x, scale)
        above.set(title=f"Figure {number}: {titles.format(value)}", ylim=(0, 1.03 * float(str(top))))
        below.set_xlabel(label)
    panels[0].set_ylabel("application throughput (%)")
    panels[len(figures)].set_ylabel("PEQ - PDQ (points)")
    _explain(panels[len(figures) - 1])
    return picture


def _draw_curves(axes: "Axes", points: pl.DataFrame, x: str, scale: float) -> None:
    """Every scheme over x: mode A with its intervals, B and C thin. PEQ is last, on top; PDQ around it."""
    places = dict(zip(SCHEMES, zip(style.COLOURS, style.MARKERS, strict=False), strict=False))
    for mode, look in LOOKS.items():
        for scheme, (colour, marker) in reversed(places.items()):
            rows = points.filter(mode=mode, scheme=scheme).sort(x)
            at, values = scale * rows[x].to_numpy(), rows[THROUGHPUT].to_numpy()
            if mode != "A":
                axes.plot(at, values, color=colour, **look)
                continue
            half = rows[f"{THROUGHPUT}_ci95"].cast(pl.Float64).fill_null(0).to_numpy()
            ring = {"markerfacecolor": "none", "markersize": 8} if scheme == "PDQ" else {}
            bars: dict[str, Any] = {"yerr": half, "marker": marker, "capsize": 2, "label": scheme, **ring}
            axes.errorbar(at, values, color=colour, **bars, **look)


def _draw_gap(axes: "Axes", runs: pl.DataFrame, points: pl.DataFrame, x: str, scale: float) -> None:
    """By how many points PEQ is above PDQ: mode A with the interval of the paired difference."""
    axes.axhline(0, color="#000000", linewidth=0.8)
    pairs = wide(runs).with_columns(gap=pl.col("PEQ") - pl.col("PDQ"))
    gaps = replica_means(pairs, [x], ["gap"]).sort(x)
    half = gaps["gap_ci95"].cast(pl.Float64).fill_null(0).to_numpy()
    bars: dict[str, Any] = {"yerr": half, "marker": "o", "capsize": 2, "color": style.COLOURS[0]}
    axes.errorbar(scale * gaps[x].to_numpy(), gaps["gap"].to_numpy(), **bars)
    for mode in ("B", "C"):
        rows = points.filter(mode=mode).pivot("scheme", index=x, values=THROUGHPUT).sort(x)
        gap = (rows["PEQ"] - rows["PDQ"]).to_numpy()
        axes.plot(scale * rows[x].to_numpy(), gap, color=style.COLOURS[0], **LOOKS[mode])


def _explain(axes: "Axes") -> None:
    """A legend of schemes, and of how modes are drawn, right of the panel."""
    from matplotlib.lines import Line2D

    own = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    order = [name for name in (*SCHEMES, *own) if name in own]
    handles: dict[str, Any] = {name: own[name] for name in dict.fromkeys(order)}
    for mode, name in {"A": "A: as drawn", "B": "B: size added", "C": "C: drawn anew"}.items():
        handles[name] = Line2D([], [], color="#555555", **LOOKS[mode])
    axes.legend(list(handles.values()), list(handles), loc="upper left", bbox_to_anchor=(1.02, 1.0))
