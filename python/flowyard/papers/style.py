"""How the papers' figures look: one style, and files whose bytes depend on the data alone."""

import io
import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard import folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart by people who do not see red and green, on paper too (Okabe and Ito's palette, without yellow).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Inches of one panel.
PANEL = (4.2, 3.0)

# Any: matplotlib types the keys as a list of all its settings.
_RULES: Any = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "errorbar.capsize": 2.5,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "flowyard",
    "svg.fonttype": "none",
}


@contextmanager
def rules() -> "Iterator[None]":
    """While open, all that is drawn or saved follows the style."""
    from cycler import cycler
    from matplotlib import rc_context

    with rc_context({**_RULES, "axes.prop_cycle": cycler(color=COLOURS)}):
        yield


def panels(rows: int = 1, columns: int = 1, size: tuple[float, float] = PANEL) -> "tuple[Figure, list[Axes]]":
    """A picture with its panels in reading order.

    Args:
        rows: Of panels.
        columns: Of panels.
        size: Inches of one panel.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rules():
        # Without pyplot, which keeps every figure and asks for a screen.
        figure = Figure(figsize=(size[0] * columns, size[1] * rows))
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def curve(
    axes: "Axes",
    rows: "pl.DataFrame",
    x: str,
    y: str,
    place: int,
    label: str = "",
    *,
    within: tuple[float, float] = (-math.inf, math.inf),
    **look: Any,
) -> None:
    """Draws column y over column x, each point with the half width of its interval, if any, from column <y>_ci95.

    Points of two replicas, whose t is 12.7, have no bar.

    Args:
        axes: Where.
        rows: One row per point, in order.
        x: A column.
        y: A column.
        place: Which colour and marker.
        label: In the legend; without one it is not there.
        within: The least and the largest possible value, at which bars end.
        look: Passed on to matplotlib's `errorbar`.
    """
    # Of one replica each there is no interval, and a CSV file then has no type for the column.
    half = rows[f"{y}_ci95"].cast(float).fill_null(0)
    if "replicas" in rows.columns:
        half = half * (rows["replicas"] > 2).cast(float)
    values = rows[y].cast(float)
    room = [(values - within[0]).clip(lower_bound=0), (within[1] - values).clip(lower_bound=0)]
    axes.errorbar(
        rows[x].to_numpy(),
        rows[y].to_numpy(),
        [[min(bar, most) for bar, most in zip(half, side, strict=True)] for side in room],
        **{"color": COLOURS[place], "marker": MARKERS[place], "label": label or None, **look},
    )


def hollow(axes: "Axes", rows: "pl.DataFrame", x: str, y: str, place: int) -> None:
    """Empties the marks of a curve's points that were not in a steady state: those whose column `unstable` is true.

    Args:
        axes: Where.
        rows: One row per point.
        x: A column.
        y: A column.
        place: Which colour and marker, as the curve has them.
    """
    own = rows.filter("unstable")
    look: dict[str, Any] = {"color": COLOURS[place], "marker": MARKERS[place], "markerfacecolor": "white"}
    axes.plot(own[x].to_numpy(), own[y].to_numpy(), linestyle="", zorder=5, **look)


# In the head of every picture: a file without it is not ours, and is not written over.
MARK = "<dc:title>flowyard</dc:title>"


def svg(figure: "Figure") -> bytes:
    """A picture as SVG; the same data gives the same bytes."""
    file = io.BytesIO()
    with rules():
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "flowyard"})
    return file.getvalue()


def save(figure: "Figure", folder: Path) -> None:
    """Writes figure.svg and figure.png."""
    png = io.BytesIO()
    with rules():
        figure.savefig(png, format="png", dpi=160, metadata={"Software": "flowyard"})
    folders.replace(folder / "figure.svg", svg(figure))
    folders.replace(folder / "figure.png", png.getvalue())
