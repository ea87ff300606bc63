"""Flows of the PEQ thesis's chapter 3 on the slotted link, and comparisons that its figures share."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.papers import style
from flowyard.papers.judge import Judgement, not_less, not_reached

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = {"uniform": {"min": 2, "max": 198}}
Classes = Sequence[Mapping[str, Any]]


def exponential(mean: float, infeasible: str) -> Classes:
    """Deadlines as the thesis draws them.

    Args:
        mean: Of the deadlines, slots.
        infeasible: What becomes of those shorter than the flow: "keep" (mode A), "shift" (B) or "redraw" (C).
    """
    return [{"sizes": SIZES, "deadlines": {"exponential": {"mean": mean, "infeasible": infeasible}}}]


# Schemes as columns have them, and as pictures do.
NAMES = {"peq": "PEQ", "pdq": "PDQ", "pdq_expired": "PDQ, no early termination"}

# Each larger flow is due earlier; the largest has no slot to spare.
ADVERSARIAL: Classes = [{"sizes": SIZES, "deadlines": {"linear": {"at_zero": 297, "slope": -0.5}}}]


def served(
    generation: Mapping[str, Any], classes: Classes, discipline: str | Mapping[str, Any], **run: Any
) -> pl.DataFrame:
    """The flows of a run, as `slotted.run` has them; `run` are fields of the configuration's `run`."""
    config = {"generation": generation, "classes": classes, "discipline": discipline, "run": run}
    return pl.DataFrame(slotted.run(config).flows)


def sets(flows: int, count: int) -> dict[str, Any]:
    """A generation: so many independent sets of flows that arrive together."""
    return {"sets": {"flows": flows, "sets": count}}


def draw_schemes(axes: "Axes", points: pl.DataFrame, x: str, value: str) -> None:
    """A curve for each scheme, with intervals.

    Args:
        axes: Where.
        points: One row per point, with columns <scheme>_<value> and <scheme>_<value>_ci95.
        x: The column of the axis.
        value: What is drawn.
    """
    for place, (scheme, name) in enumerate(NAMES.items()):
        line = "--" if scheme == "pdq_expired" else "-"
        style.curve(axes, points, x, f"{scheme}_{value}", place, name, linestyle=line)


def never_falls(runs: pl.DataFrame, column: str, *, x: str, points: bool = False) -> Judgement:
    """The standard ordering from each x to the next: the later value is at least the earlier one.

    Args:
        runs: A row for each x and replica.
        column: What should not fall.
        x: The column of the points.
        points: Whether values are percentages.
    """
    places = runs[x].unique().sort().to_list()
    own = runs.select(x, "replica", column)
    steps = [
        own.filter(pl.col(x) == low)
        .join(own.filter(pl.col(x) == high), on="replica", suffix="_next")
        .select("replica", pl.lit(high).alias(x), later=f"{column}_next", earlier=column)
        for low, high in pairwise(places)
    ]
    if not steps or not all(len(step) for step in steps):
        return not_reached(f"{column} is not there for two neighbouring {x}")
    return not_less(pl.concat(steps), "later", "earlier", x=x, points=points)


def most_in_time(sizes: Sequence[int], deadlines: Sequence[int]) -> int:
    """The most flows of one release that can all be done in time, by a search through all their subsets.

    The flows of a subset are served in order of their deadlines, which gets all of them done if any order does.
    """
    import numpy as np

    subsets = np.arange(1 << len(sizes))
    count, busy = np.zeros_like(subsets), np.zeros_like(subsets)
    possible = np.ones(len(subsets), dtype=bool)
    for place, (deadline, size) in enumerate(sorted(zip(deadlines, sizes, strict=True))):
        chosen = (subsets >> place) & 1
        count += chosen
        busy += chosen * size
        possible &= (chosen == 0) | (busy <= deadline)
    return int(count[possible].max())
