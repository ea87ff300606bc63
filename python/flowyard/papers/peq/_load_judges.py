"""How figures 3.5 to 3.16 of the PEQ thesis are judged: who is ahead, what rises and falls, and ceilings."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers.figure import Tables
from flowyard.papers.judge import Judgement, judged, not_less, not_reached, together
from flowyard.papers.peq._load import POINT, SCHEMES, THROUGHPUT, wide

OTHERS = tuple(SCHEMES)[1:]
# A series needs so many points to be judged.
POINTS_MIN = 3


def all_ahead(
    figures: Mapping[str, float], by: str, x: str, ends: tuple[float, float]
) -> dict[str, Callable[[Tables], Judgement]]:
    """The first claim of each figure: PEQ is nowhere below the others.

    Args:
        figures: The value of `by` that a figure has, by its number.
        by: The column that tells figures apart.
        x: Their axis.
        ends: Which must have been run from end to end.
    """
    return {
        f"PEQ-F{number}.a": partial(ahead, where={by: value}, x=x, ends=ends)
        for number, value in figures.items()
    }


def ahead(tables: Tables, where: Mapping[str, float], x: str, ends: tuple[float, float]) -> Judgement:
    """PEQ is nowhere below the others.

    Args:
        tables: Runs and points.
        where: What tells the figure's points from others.
        x: Its axis.
        ends: Which must have been run from end to end.
    """
    runs = tables["runs"].filter(**where)
    if reason := _missing(runs, x, ends):
        return not_reached(reason)
    series = wide(runs)
    found = together([not_less(series, "PEQ", other, x=x, points=True) for other in OTHERS])
    return found.because(f"{found.reason}: {_gaps(runs, tables['points'].filter(**where), x)}")


def _gaps(runs: pl.DataFrame, points: pl.DataFrame, x: str) -> str:
    """How near PEQ and PDQ are, and why; and what other modes have."""
    means = wide(runs).group_by(x).agg(pl.col("PEQ").mean(), pl.col("PDQ").mean())
    gaps: list[float] = (means["PEQ"] - means["PDQ"]).to_list()
    of_peq = (
        runs.filter(scheme="PEQ").group_by(x).agg(pl.col("feasible_percent", "present_mean_flows").mean())
    )
    feasible: list[float] = of_peq["feasible_percent"].to_list()
    present: list[float] = of_peq["present_mean_flows"].to_list()
    said = [
        f"PEQ - PDQ is {min(gaps):+.3f} to {max(gaps):+.3f} pp; {min(feasible):.0f} to {max(feasible):.0f} % of the "
        f"flows are feasible alone (PEQ-X2), and {min(present):.2g} to {max(present):.2g} are there at a time"
    ]
    for mode in ("B", "C"):
        other = points.filter(mode=mode).pivot("scheme", index=x, values=THROUGHPUT)
        if {"PEQ", "PDQ"} <= set(other.columns):
            above = other.filter(pl.col("PEQ") > pl.col("PDQ")).height
            said.append(f"in mode {mode} PEQ is above PDQ at {above} of {len(other)}")
    return "; ".join(said)


def moves(
    tables: Tables, x: str, ends: tuple[float, float], by: str, more: str, less: str, *, rising: bool
) -> Judgement:
    """Every scheme rises, or falls, along x on each of several curves; steps are paired by replica.

    Args:
        tables: Runs of all curves.
        x: Along which.
        ends: Which must have been run from end to end.
        by: The column that tells curves apart.
        more: What the larger x is, as in "with more servers".
        less: What the smaller x is.
        rising: Or falling.
    """
    runs = tables["runs"]
    for _, curve in runs.group_by(by):
        if reason := _missing(curve, x, ends):
            return not_reached(reason)
    series = wide(runs)
    judgements = []
    for scheme in SCHEMES:
        higher, lower = f"{scheme} with {more}", f"{scheme} with {less}"
        steps = []
        for (at,), curve in series.group_by(by, maintain_order=True):
            for one, two in pairwise(sorted(curve[x].unique())):
                before, after = (
                    curve.filter(pl.col(x) == value).select("replica", pl.col(scheme).alias(name))
                    for value, name in ((one, lower), (two, higher))
                )
                step = pl.lit(f"{one:g} to {two:g} ({by} {at:g})").alias("step")
                steps.append(before.join(after, on="replica").with_columns(step))
        a, b = (higher, lower) if rising else (lower, higher)
        judgements.append(not_less(pl.concat(steps), a, b, x="step", points=True))
    return together(judgements)


def _missing(runs: pl.DataFrame, x: str, ends: tuple[float, float]) -> str:
    """Why a series cannot be judged; empty if it can."""
    found = set(runs[x])
    if absent := sorted(set(SCHEMES) - set(runs["scheme"])):
        return f"there are no runs of {', '.join(absent)}"
    if not set(ends) <= found or len(found) < POINTS_MIN:
        return f"{x} was not run from {ends[0]:g} to {ends[1]:g} at {POINTS_MIN} points or more"
    return ""


# What rounding deadlines up may add to a ceiling, and the rounding of a printed digit, percentage points.
ROUNDING, DIGIT = 0.5, 0.05


def capped(tables: Tables, x: str, expected: Mapping[float, float]) -> Judgement:
    """The ceilings are those expected, up to the rounding of deadlines; and no scheme is above its ceiling."""
    rows = {row[x]: row for row in tables["ceilings"].iter_rows(named=True)}
    if absent := sorted(set(expected) - set(rows)):
        return not_reached(f"no ceiling at {x} {', '.join(f'{at:g}' for at in absent)}")
    formula, exact = (
        {at: rows[at][column] - value for at, value in expected.items()}
        for column in ("ceiling_percent", "ceiling_rounded_up_percent")
    )
    rounding = "rounding deadlines up multiplies the formula by exp(1/mean deadline)"
    parts = [
        _near("formula", formula, -DIGIT, DIGIT).because(
            "the last digit as stated is not that of the formula"
        ),
        _near("exact ceiling", exact, -DIGIT, ROUNDING + DIGIT).because(rounding),
        _below(tables),
    ]
    return together(parts)


def _near(what: str, off: Mapping[float, float], low: float, high: float) -> Judgement:
    """Ceilings differ from the expected values by no less and no more than so many points."""
    wrong = [f"{value:+.3f} at {at:g}" for at, value in off.items() if not low <= value <= high]
    measured = f"{what} off by {min(off.values()):+.3f} to {max(off.values()):+.3f} pp"
    more = f" (outside: {', '.join(wrong)})" if wrong else ""
    return judged(not wrong, measured + more, f"{low:+.2f} to {high:+.2f} pp")


def _below(tables: Tables) -> Judgement:
    """No run has more flows done than are feasible; no mean is above the exact ceiling by more than its interval."""
    runs, on = tables["runs"], ["deadline_mean_slots", "size_max_packets"]
    if runs.is_empty():
        return not_reached("there are no runs")
    means = replica_means(runs, [*POINT, "scheme"], [THROUGHPUT])
    known = means.join(tables["ceilings"], on=on).drop_nulls()
    if len(known) < len(means):
        return not_reached("some point has no ceiling, or no interval")
    above = pl.col(THROUGHPUT) - pl.col("ceiling_rounded_up_percent")
    known = known.with_columns(above=above, beyond=above - pl.col(f"{THROUGHPUT}_ci95")).sort("beyond")
    worst = known.row(-1, named=True)
    wrong = runs.filter(pl.col("done") > pl.col("feasible")).height
    at = f"{worst['scheme']} at {worst['servers']} servers, mean {worst['deadline_mean_slots']:g}"
    measured = f"nearest to its ceiling, by interval: {worst['above']:+.3f} pp ({at})"
    found = judged(worst["beyond"] <= 0 and not wrong, measured, "none above by more than its interval")
    return found.because(
        f"{wrong} runs have more flows done than were feasible" if wrong else f"{at} is above"
    )
