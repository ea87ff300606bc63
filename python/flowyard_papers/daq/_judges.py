"""Judges that several figures of the rack share: orders of schemes and trends, each by every reading."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from flowyard.analysis.intervals import half_width
from flowyard.papers import judge
from flowyard.papers.figure import Judgement
from flowyard.papers.words import worded
from flowyard_papers.daq._readings import Reading

# What a step of a percentage may go the wrong way: the standard tolerance of an ordering, percentage points.
SLACK_PP = 0.5
# As near to 100 % all flows are in time.
FULL_PP = 0.1


def by_reading(
    runs: pl.DataFrame, readings: Iterable[Reading], judged: Callable[[pl.DataFrame], Judgement]
) -> Judgement:
    """A verdict for each reading, the default one first."""
    found = {}
    for reading in readings:
        own = reading.of(runs)
        one = judged(own) if len(own) else judge.not_reached("not run with these deadlines")
        found[reading.name] = one.reachable() if reading.searched else one
    return judge.by_reading(found)


def missing(runs: pl.DataFrame, schemes: Iterable[str]) -> Judgement | None:
    """NOT-REACHED where a scheme has no runs."""
    there = set(runs["scheme"])
    if lacking := [name for name in schemes if name not in there]:
        return judge.not_reached(f"no runs of {', '.join(lacking)}")
    return None


def ordered(
    runs: pl.DataFrame, pairs: Sequence[tuple[str, str]], value: str, x: str, *, points: bool
) -> Judgement:
    """The first scheme of each pair is no worse than the other at every x, by the standard tolerance."""
    if lacking := missing(runs, {name for pair in pairs for name in pair}):
        return lacking
    wide = runs.pivot("scheme", index=[x, "replica"], values=value)
    return judge.together(judge.not_less(wide, more, less, x=x, points=points) for more, less in pairs)


def told_apart(runs: pl.DataFrame, schemes: Sequence[str], value: str, x: str) -> pl.DataFrame:
    """Without the points at which all of these schemes have 100 %, to 0.1 points: they do not tell them apart."""
    means = runs.filter(pl.col("scheme").is_in(schemes)).group_by(x, "scheme").agg(pl.col(value).mean())
    least = means.group_by(x).agg(pl.col(value).min())
    return runs.join(least.filter(pl.col(value) < 100 - FULL_PP).select(x), on=x, how="semi")


def mean(runs: pl.DataFrame, value: str, **where: str | float) -> float | None:
    """The mean over replicas at one point."""
    found = runs.filter([pl.col(name) == each for name, each in where.items()])[value].mean()
    return float(found) if isinstance(found, int | float) else None


class Words(NamedTuple):
    """How a verdict calls the two columns of a trend.

    Attributes:
        value: The values.
        unit: Of the values.
        x: The points.
        place: A point in words.
    """

    value: str
    unit: str
    x: str
    place: Callable[[float], str] = "{:,.6g}".format


def trend(
    runs: pl.DataFrame, x: str, value: str, words: Words, *, rising: bool, slack: float = SLACK_PP
) -> Judgement:
    """From one x to the next the mean never moves the wrong way, and over all of them it moves the right one.

    A step may go the wrong way by half its 95 % interval, paired by replica, or the slack.
    """
    wide = runs.pivot(x, index="replica", values=value)
    places = sorted(runs[x].unique())
    if len(places) < 2 or wide.null_count().sum_horizontal().item():
        return judge.not_reached(f"some {x} has no {value} of some replica")
    sign = 1.0 if rising else -1.0
    wrong, worst = [], 0.0
    for before, after in pairwise(places):
        step = sign * (wide[str(after)] - wide[str(before)])
        moved, width = float(step.mean() or 0.0), half_width(step)  # type: ignore[arg-type]
        worst = min(worst, moved)
        if moved < -max(slack, width if width != float("inf") else 0.0):
            wrong.append(
                f"from {words.x} {words.place(before)} to {words.place(after)} by {sign * moved:+.3g} {words.unit}"
            )
    ends = [mean(runs, value, **{x: place}) or 0.0 for place in (places[0], places[-1])]
    holds = not wrong and sign * (ends[1] - ends[0]) > 0
    way = "rises" if rising else "falls"
    first, last = (
        f"{_digits(end)} {words.unit} at {words.x} {words.place(place)}"
        for end, place in zip(ends, (places[0], places[-1]), strict=True)
    )
    steps = f"largest step the other way {_digits(-worst)} {words.unit}" if worst else "no step the other way"
    found = judge.judged(
        holds,
        f"{words.value}: {first}, {last}; {steps}",
        f"{way}, each step within {_digits(slack)} {words.unit} or half its 95 % interval",
    )
    return found.because("the wrong way " + "; ".join(wrong[: judge.SHOWN]) if wrong else f"it never {way}")


def _digits(value: float) -> str:
    """Four digits that count, without an exponent."""
    return worded(float(f"{value:.4g}"))


def largest_gain(
    means: Mapping[str, Mapping[float, float]], own: str, others: Sequence[str], *, points: bool = False
) -> tuple[float, str]:
    """The largest gain of one scheme over any other at the same point, and where it is: in percent, or in points."""
    gains = [
        (means[own][x] - value if points else 100 * (means[own][x] / value - 1), f"over {other} at {x:g}")
        for other in others
        for x, value in means[other].items()
        if x in means[own] and value > 0
    ]
    return max(gains)
