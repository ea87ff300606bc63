"""Medians over seeds against the outputs that another simulator ships, each against the range of its seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

from flowyard.papers import judge
from flowyard.papers.figure import Judgement


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
