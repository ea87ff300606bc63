"""How the figures of chapter 5 are judged: which scheme is better at every buffer, and by how much at the best ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from flowyard.papers.judge import PASS, Judgement, between, judged, not_less, not_reached, together
from flowyard_papers.mp._chapter5 import FCT, FRAGMENT_FCT, FRAGMENT_THROUGHPUT, THROUGHPUT

MEASURES = (FCT, THROUGHPUT)
NAMES = {
    FCT: "FCT",
    THROUGHPUT: "throughput",
    FRAGMENT_FCT: "FCT of a fragment",
    FRAGMENT_THROUGHPUT: "throughput of a fragment",
}
TIMES = (FCT, FRAGMENT_FCT)
# "The difference between them is small": percent.
SMALL_DIFFERENCE = 15


def better(
    runs: pl.DataFrame, a: str, b: str, measures: Sequence[str] = MEASURES, x: str = "buffer"
) -> Judgement:
    """Scheme a completes transfers no later than b at every buffer, and gives them no less throughput."""
    return together([_ahead(runs, a, b, measure, x) for measure in measures])


def _ahead(runs: pl.DataFrame, a: str, b: str, measure: str, x: str) -> Judgement:
    table = wide(runs, measure, x)
    if {a, b} - set(table.columns):
        return not_reached(f"there are no runs of {a} or {b}")
    names = {scheme: f"{NAMES[measure]} of {scheme}" for scheme in (a, b)}
    more, less = (b, a) if measure in TIMES else (a, b)
    return not_less(table.rename(names), names[more], names[less], x=x)


def all_hold(found: Mapping[str, Judgement]) -> Judgement:
    """Many conditions of a claim, in short: how many hold, and why the others do not."""
    worst = together(found.values())
    wrong = {name: one for name, one in found.items() if one.verdict != PASS}
    reasons = "; ".join(f"{name}: {one.reason}" for name, one in wrong.items())
    measured = (
        f"{len(found) - len(wrong)} of {len(found)} hold: {', '.join(n for n in found if n not in wrong)}"
    )
    expected = f"all {len(found)}, by the tolerance of orderings"
    return replace(worst, measured=measured, expected=expected, reason=reasons)


def wide(runs: pl.DataFrame, measure: str, x: str = "buffer") -> pl.DataFrame:
    """A column for each scheme, a row for each x and replica."""
    return runs.pivot(on="scheme", index=[x, "replica"], values=measure)


def gains(runs: pl.DataFrame, measure: str, a: str, b: str) -> dict[int, float]:
    """By how many percent of b scheme a is better, by buffer; empty if some point has no mean."""
    if runs.is_empty():
        return {}
    means = runs.group_by("scheme", "buffer").agg(pl.col(measure).mean(), missing=pl.col(measure).has_nulls())
    if means["missing"].any():
        return {}
    table = means.pivot(on="scheme", index="buffer", values=measure).sort("buffer")
    if {a, b} - set(table.columns) or table.select(a, b).null_count().sum_horizontal().item():
        return {}
    change = 100 * (pl.col(a) / pl.col(b) - 1)
    return dict(table.select("buffer", -change if measure in TIMES else change).iter_rows())


def best(
    found: Mapping[int, float], low: int, high: int, least: float, most: float = float("inf")
) -> Judgement:
    """At some buffer from low to high the gain is in bounds; the nearest one is reported."""
    near = {at: value for at, value in found.items() if low <= at <= high}
    if not near:
        return not_reached(f"no gain is known at buffers from {low} to {high}")
    at = min(near, key=lambda each: max(least - near[each], near[each] - most, 0.0))
    return between(near[at], least, most).because(f"{at} packets come nearest; {said(found)}")


def said(found: Mapping[int, float]) -> str:
    """All gains, by buffer."""
    return "gain by buffer: " + ", ".join(f"{value:.1f} % ({at})" for at, value in sorted(found.items()))


def largest(found: Mapping[int, float]) -> int:
    """The buffer with the largest gain."""
    return max(sorted(found), key=lambda at: found[at])


EVERY, GENERALLY = "at every buffer", "at most of the buffers"
# Why they differ where ports are small, from the loads without packets.
DRAWN_PATHS = (
    "with small ports the two paths that MDNVR draws matter: under Stride(4) they load some switch 1.35 times as much "
    "as Dual's fixed ones, which have the least load there is (MP-T5.2.c, MP-T5.2.d)"
)


def alike(runs: pl.DataFrame, a: str, b: str, which: str = EVERY) -> Judgement:
    """Two schemes differ by little in both measures, at every buffer or at more than half of them."""
    judgements = []
    for measure in MEASURES:
        found = gains(runs, measure, a, b)
        if not found:
            return not_reached(f"there are no runs of {a} or {b}")
        at = max(found, key=lambda each: abs(found[each]))
        small = sum(abs(gain) <= SMALL_DIFFERENCE for gain in found.values())
        measured = f"{NAMES[measure]} of {a} and {b}: {abs(found[at]):.3g} % at most, at {at} packets"
        measured += f"; {SMALL_DIFFERENCE} % or less at {small} of {len(found)}"
        holds = small == len(found) if which == EVERY else 2 * small > len(found)
        one = judged(holds, measured, f"at most {SMALL_DIFFERENCE} % {which}")
        judgements.append(one.because(f"{NAMES[measure]} of {a} against {b}: {said(found)}"))
    both = together(judgements)
    return both.because(f"{both.reason}; {DRAWN_PATHS}")


def mean(found: Mapping[int, float]) -> float | None:
    """Over the buffers."""
    return sum(found.values()) / len(found) if found else None


def above(name: str, larger: float | None, others: Mapping[str, float | None]) -> Judgement:
    """One mean gain is strictly larger than each of the others."""
    if larger is None or None in others.values():
        return not_reached("some gain is not known")
    listed = ", ".join(f"{other} {value:.4g} %" for other, value in others.items() if value is not None)
    holds = all(value is not None and larger > value for value in others.values())
    return judged(holds, f"{name} {larger:.4g} %, {listed}", f"{name} is the largest")
