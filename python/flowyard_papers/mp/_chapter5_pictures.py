"""Pictures of chapter 5: completion time and throughput side by side, as the thesis has them, and beside them loss."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, FCT, LOSS, MDNVR, NR, THROUGHPUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

SHOWN = {FCT: "mean FCT (ms)", THROUGHPUT: "mean throughput (MB/s)", LOSS: "packets lost (%)"}
TITLES = {FCT: "completion time", THROUGHPUT: "throughput", LOSS: "loss"}
# As near to the thesis's colours as the palette comes: blue, red, gold, magenta, green.
PLACES = {NR: 0, ECMP: 1, DNVR: 5, MDNVR: 3, DUAL: 2}


def rows(points: pl.DataFrame, patterns: Sequence[str], schemes: Sequence[str] = tuple(PLACES)) -> "Picture":
    """A row for each pattern: completion time, throughput and loss over the buffer, a line for each scheme."""
    picture, panels = style.panels(len(patterns), len(SHOWN), size=(3.6, 2.7))
    for row, pattern in enumerate(patterns):
        for column, (measure, label) in enumerate(SHOWN.items()):
            axes = panels[row * len(SHOWN) + column]
            of_pattern = points.filter(pattern=pattern)
            for scheme in schemes:
                line(axes, of_pattern, scheme, measure)
            title = f"{pattern}: {TITLES[measure]}"
            axes.set(xlabel="buffer of a switch's port (packets)", ylabel=label, title=title)
            axes.set_ylim(bottom=0)
    legend(picture, panels[0], columns=len(schemes))
    return picture


def legend(picture: "Picture", axes: "Axes", columns: int) -> None:
    """One legend above all panels, of the lines of one of them, in place of what stood there."""
    for before in list(picture.legends):
        before.remove()
    picture.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=columns)


def line(axes: "Axes", points: pl.DataFrame, scheme: str, measure: str) -> None:
    """One scheme's measure over the buffer."""
    of_scheme = points.filter(scheme=scheme).sort("buffer")
    if len(of_scheme):
        style.curve(axes, of_scheme, "buffer", measure, PLACES[scheme], scheme)
