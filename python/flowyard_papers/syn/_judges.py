"""Judges that the figures over load share: orders, ratios and trends of systems where all of them are stable."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import polars as pl

from flowyard.analysis.intervals import half_width
from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables

Judge = Callable[[Tables], Judgement]
Judged = Callable[[pl.DataFrame], Judgement]
# More than this share of unfinished flows at a point is told with the verdict.
UNFINISHED = 0.01


def compared(runs: pl.DataFrame, systems: Sequence[str], *, unstable: bool = False) -> pl.DataFrame:
    """The runs of some systems at the loads at which none of them is offered more than it can hold.

    Args:
        runs: Columns system, load, unstable.
        systems: Which.
        unstable: Whether loads beyond the limits are kept.
    """
    own = runs.filter(pl.col("system").is_in(systems))
    return own if unstable else own.filter(~pl.col("unstable").any().over("load"))


def lacking(runs: pl.DataFrame, systems: Sequence[str]) -> Judgement | None:
    """NOT-REACHED where a system has no runs that could be compared."""
    there = set(runs["system"])
    if missing := [name for name in systems if name not in there]:
        return judge.not_reached(f"no runs of {', '.join(missing)} to compare")
    return None


def ordered(
    runs: pl.DataFrame, pairs: Sequence[tuple[str, str]], value: str, *, unstable: bool = False
) -> Judgement:
    """The first system of each pair has no less than the other at every load, by the standard tolerance."""
    found = []
    for pair in pairs:
        own = compared(runs, pair, unstable=unstable)
        if missing := lacking(own, pair):
            return missing
        wide = own.pivot("system", index=["load", "replica"], values=value).drop_nulls(list(pair))
        found.append(noted(judge.not_less(wide, *pair, x="load"), own))
    return judge.together(found)


def means(runs: pl.DataFrame, value: str) -> Mapping[str, Mapping[float, float]]:
    """The mean over replicas, by system and load."""
    found: dict[str, dict[float, float]] = {}
    for system, load, mean in (
        runs.group_by("system", "load").agg(pl.col(value).mean()).sort("system", "load").iter_rows()
    ):
        found.setdefault(system, {})[load] = mean
    return found


def ratios(
    runs: pl.DataFrame, more: str, less: str, value: str, *, unstable: bool = False
) -> Mapping[float, float]:
    """One system's mean over the other's, by load."""
    own = means(compared(runs, (more, less), unstable=unstable), value)
    return {load: mean / own[less][load] for load, mean in own.get(more, {}).items() if load in own[less]}


def alike(runs: pl.DataFrame, a: str, b: str, value: str, low: float, high: float) -> Judgement:
    """The ratio of two systems' means is within bounds at every load; the one farthest from 1 is reported."""
    if missing := lacking(compared(runs, (a, b)), (a, b)):
        return missing
    by_load = ratios(runs, a, b, value)
    load, worst = max(by_load.items(), key=lambda item: max(item[1], 1 / item[1]))
    found = judge.between(worst, low, high).because(f"{value} of {a} over that of {b} at load {load:g}")
    return noted(found, compared(runs, (a, b)))


def trend(
    values: pl.DataFrame, value: str, *, rising: bool, x: str = "load", relative: float = 0.01
) -> Judgement:
    """From one x to the next the mean never moves the wrong way, and over all of them it moves the right one.

    A step may go the wrong way by half its 95 % interval, paired by replica, or by a share of the value.
    """
    wide = values.pivot(x, index="replica", values=value).drop_nulls()
    places = sorted(values[x].unique())
    if len(places) < 2 or wide.is_empty():
        return judge.not_reached(f"fewer than two values of {x} to compare")
    sign, wrong = 1.0 if rising else -1.0, []
    for before, after in pairwise(places):
        step = sign * (wide[str(after)] - wide[str(before)])
        moved, width = _mean(step), half_width(step)
        slack = max(relative * abs(_mean(wide[str(before)])), width if width != float("inf") else 0.0)
        if moved < -slack:
            wrong.append(f"from {x} = {before:g} to {after:g} by {sign * moved:+.3g}")
    first, last = (_mean(wide[str(place)]) for place in (places[0], places[-1]))
    said = f"{value} from {first:.4g} at {x} = {places[0]:g} to {last:.4g} at {places[-1]:g}"
    way = "rises" if rising else "falls"
    found = judge.judged(
        not wrong and sign * (last - first) > 0,
        f"{said}, {len(wrong)} of {len(places) - 1} steps the wrong way",
        f"{way}, each step within {100 * relative:g} % or half its 95 % interval",
    )
    return found.because("the wrong way " + "; ".join(wrong[: judge.SHOWN]) if wrong else f"it never {way}")


def readings(tables: Tables, table: str, judged: Mapping[str, Judged]) -> Judgement:
    """A verdict for each reading, the default one first."""
    return judge.by_reading({name: one(tables[table]) for name, one in judged.items()})


def noted(found: Judgement, runs: pl.DataFrame) -> Judgement:
    """With a note if many flows of a point were active at the end: their times are at least what is counted."""
    shares = runs.group_by("system", "load").agg(share=pl.col("unfinished").sum() / pl.col("flows").sum())
    worst = shares.filter(pl.col("share") > UNFINISHED).sort("share", "load", "system")
    if worst.is_empty():
        return found
    system, load, share = worst.row(-1)
    return found.noted(
        f"{100 * share:.2g} % of the flows of {system} at load {load:g} were under way at the end"
    )


def _mean(values: pl.Series) -> float:
    mean = values.cast(pl.Float64).mean()
    assert isinstance(mean, float)
    return mean
