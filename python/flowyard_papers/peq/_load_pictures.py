"""How figures 3.5 to 3.16 of the PEQ thesis look."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Tables
from flowyard_papers.peq._load import MODE_TITLES, MODES, RULES, SCHEMES, THROUGHPUT, wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

# Of a mode in the last rows, where colours do not stand for schemes.
GAP_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "A": {"linestyle": "-", "marker": "o"},
    "B": {"linestyle": "--", "marker": "s"},
    "C": {"linestyle": ":", "marker": "^"},
}
INFEASIBLE = "infeasible alone (A)"


def draw(
    tables: Tables, by: str, figures: Mapping[str, float], titles: str, x: str, label: str, scale: float = 1.0
) -> "Picture":
    """A column for each figure: all schemes in each mode, a row each, and PEQ's lead over PDQ by either rule of it.

    Args:
        tables: Runs and points; ceilings, if the figure has them.
        by: The column that tells figures apart.
        figures: Its value by the number of the figure.
        titles: Of the columns, with {0} for the number and {1} for the value.
        x: The column of the axis.
        label: Of the axis.
        scale: What x is multiplied by.
    """
    columns, rows = len(figures), len(MODES) + len(RULES)
    picture, panels = style.panels(rows, columns, size=(3.1, 2.3))
    for row, (mode, title) in enumerate(MODE_TITLES.items()):
        points = tables["points"].filter(mode=mode)
        top = 1.08 * float(str(points[THROUGHPUT].max()))
        for axes, value in zip(panels[row * columns :], figures.values(), strict=False):
            if mode == "A" and "ceilings" in tables:
                ceilings = tables["ceilings"].sort(x)
                above = ceilings["ceiling_rounded_up_percent"].to_numpy()
                at = scale * ceilings[x].to_numpy()
                axes.fill_between(at, above, 100, color="#e4e4e4", linewidth=0, label=INFEASIBLE)
            draw_curves(axes, points.filter(pl.col(by) == value), x, scale)
            axes.set_ylim(0, top)
        panels[row * columns].set_ylabel(f"{title}\napplication\nthroughput (%)")
    for axes, (number, value) in zip(panels, figures.items(), strict=False):
        axes.set_title(titles.format(number, value))
    for row, scheme in enumerate(RULES.values(), len(MODES)):
        lead = panels[row * columns : (row + 1) * columns]
        gaps = [draw_gaps(axes, tables["runs"].filter(pl.col(by) == value), x, scale, scheme)
                for axes, value in zip(lead, figures.values(), strict=True)]  # fmt: skip
        low, high = min(gap[0] for gap in gaps), max(gap[1] for gap in gaps)
        for axes in lead:
            axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        lead[0].set_ylabel(f"PEQ - {scheme}\n(percentage points)")
    for axes in panels[-columns:]:
        axes.set_xlabel(label)
    _explain(picture, panels[0], panels[-columns])
    return picture


def draw_curves(axes: "Axes", points: pl.DataFrame, x: str, scale: float) -> None:
    """Every scheme over x with its intervals. PEQ is last, on top; PDQ is a ring around it, the strict one dotted."""
    places = dict(zip(SCHEMES, zip(style.COLOURS, style.MARKERS, strict=False), strict=False))
    for scheme, (colour, marker) in reversed((places | {RULES["strict"]: places["PDQ"]}).items()):
        rows = points.filter(scheme=scheme).sort(x)
        half = rows[f"{THROUGHPUT}_ci95"].cast(pl.Float64).fill_null(0).to_numpy()
        ring: dict[str, Any] = {"markerfacecolor": "none", "markersize": 8} if scheme == "PDQ" else {}
        if scheme == RULES["strict"]:
            ring = {"linestyle": ":", "marker": ""}
        axes.errorbar(
            scale * rows[x].to_numpy(),
            rows[THROUGHPUT].to_numpy(),
            half,
            **{"color": colour, "marker": marker, "capsize": 2, "linewidth": 1.2, "label": scheme, **ring},
        )


def draw_gaps(axes: "Axes", runs: pl.DataFrame, x: str, scale: float, scheme: str) -> tuple[float, float]:
    """By how many points PEQ is above a scheme in each mode, with the interval of the paired difference; both ends."""
    axes.axhline(0, color="#000000", linewidth=0.8)
    ends = [0.0]
    for mode, look in GAP_LOOKS.items():
        pairs = wide(runs.filter(mode=mode)).with_columns(gap=pl.col("PEQ") - pl.col(scheme))
        gaps = replica_means(pairs, [x], ["gap"]).sort(x)
        half = gaps["gap_ci95"].cast(pl.Float64).fill_null(0).to_numpy()
        values = gaps["gap"].to_numpy()
        colour = style.COLOURS[4 + list(GAP_LOOKS).index(mode)]
        axes.errorbar(
            scale * gaps[x].to_numpy(),
            values,
            half,
            **{"capsize": 2, "linewidth": 1.2, "color": colour, "label": MODE_TITLES[mode], **look},
        )
        ends += [*(values - half), *(values + half)]
    return min(ends), max(ends)


def _explain(picture: "Picture", schemes: "Axes", modes: "Axes") -> None:
    """A legend above all panels: schemes in the first rows, modes in the last ones."""
    own = dict(zip(*reversed(schemes.get_legend_handles_labels()), strict=True))
    handles: dict[str, Any] = {
        name: own[name] for name in (*SCHEMES, RULES["strict"], INFEASIBLE) if name in own
    }
    handles |= {
        f"last rows, {name}": handle for handle, name in zip(*modes.get_legend_handles_labels(), strict=True)
    }
    picture.legend(
        list(handles.values()), list(handles), loc="outside upper center", ncols=(len(handles) + 1) // 2
    )
