"""Medians over seeds against the outputs that another simulator ships, each against the range of its seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowyard.papers import judge, style
from flowyard.papers.figure import Judgement

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        name: For the sentence.
        median: Over our seeds.
        shipped: The other simulator's values, by its seeds.
        share: The tolerance: so far beyond the range of these, as a share.
    """

    name: str
    median: float
    shipped: tuple[float, ...]
    share: float

    @property
    def beyond(self) -> float:
        """The distance to the nearest end of the range, as a share of it; 0 within."""
        low, high = min(self.shipped), max(self.shipped)
        return max(1 - self.median / low, self.median / high - 1, 0.0)


def near(cases: Sequence[Case]) -> Judgement:
    """Whether each is within its tolerance, by the one that takes most of it."""
    if not cases:
        return judge.not_reached("no case of it has run, or flows have not ended")
    worst = max(cases, key=lambda case: case.beyond / case.share)
    ends = " to ".join(f"{end:g}" for end in sorted({min(worst.shipped), max(worst.shipped)}))
    return judge.at_most(worst.beyond, worst.share).because(
        f"furthest in {worst.name}: {worst.median:.6g} us, where the simulator has {ends} us; of {len(cases)} medians "
        "over seeds"
    )


def ratios(
    cases: Sequence[str], series: Sequence[str], found: Mapping[tuple[str, str], float], label: str
) -> "Picture":
    """A row for each case, with a mark for each series: its median over what the other simulator has."""
    picture, (axes,) = style.panels(1, 1)
    for marker, one in zip(style.MARKERS, series, strict=False):
        axes.plot([found.get((case, one), math.nan) for case in cases], range(len(cases)), marker, label=one)
    axes.axvline(1, color="#000000", linewidth=0.9, linestyle="--")
    axes.set_yticks(range(len(cases)), cases)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.legend()
    return picture
