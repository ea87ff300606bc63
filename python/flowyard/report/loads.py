"""The load of a run in words: offered, realised and carried, its measuring window, and whether its state is steady."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flowyard import text
from flowyard.run_json import has_window, window_of

if TYPE_CHECKING:
    import polars as pl

# What marks a point of a sweep or a run that was not in a steady state, in tables; charts have hollow points.
MARK = "\N{WHITE CIRCLE}"
UNSTABLE = "not in a steady state"
SHORT = "not carrying its load"
STEADY = "steady"
# Points whose reasons a footnote has.
MOST_REASONS = 3
KINDS = ("offered", "realised", "carried")
RULES = {"all": "the whole run", "chosen": "chosen", "given": "as run.measure gives it"}


def lines(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Lines on the run of a run.json, in ASCII; none of a run of before there was a window."""
    measured = summary.get("measured")
    if measured is None:
        return []
    rows = []
    start, end = map(plain, text.durations(*window_of(summary)))
    # Of a whole run loads are of the time of arrivals, and shares of all of it: see docs/measuring.md.
    apart = measured["carried_load"] is not None and not has_window(summary)
    if has_window(summary):
        rows.append(("measured", f"from {start} to {end}"))
    elif apart and measured.get("why_all"):
        rows.append(("measured", f"the whole run, because {measured['why_all']}"))
    if measured["carried_load"] is not None:
        rows.append(("load", plain(said(measured)) + (", while flows arrive" if apart else "")))
    shares = f"{text.percent(measured['hosts_payload'])} payload, {text.percent(measured['hosts_wire'])} wire"
    return [*rows, ("links to hosts", shares + (f", to the end at {end}" if apart else ""))]


def said(found: Mapping[str, Any]) -> str:
    """The loads of a traffic entry of run.json, or of all, as far as there are any."""
    shown = [
        f"{text.digits(found[f'{kind}_load'])}{_half(found) if kind == 'carried' else ''} {kind}"
        for kind in KINDS
        if found.get(f"{kind}_load") is not None
    ]
    return ", ".join(shown) or text.NONE


def reason(why: str) -> str:
    """A reason of run.json, which is ASCII, as a page has it."""
    return why.replace(" +- ", " \u00b1 ")


def plain(words: str) -> str:
    """Words for a table of ASCII alone, which needs no rich."""
    return words.replace("\u00a0", " ").replace("\u00b1", "+-").replace("µs", "us")


def state(row: Mapping[str, Any]) -> str:
    """The state of a point in words, by its row of Sweep.means, or of a run by that of Sweep.metrics."""
    if row.get("stable") is False:
        return UNSTABLE
    return SHORT if row.get("carries") is False else STEADY


def footnote(reasons: Iterable[tuple[str, str]], marked: str = UNSTABLE) -> str:
    """Footnote of the mark in a table, by the place and the reason of each marked point; empty without marks."""
    found = list(reasons)
    shown = [f"{place}: {why}" if place else why for place, why in found[:MOST_REASONS]]
    more = [f"and {len(found) - MOST_REASONS:,} more points"] if len(found) > MOST_REASONS else []
    return f"{marked}: {'; '.join([*shown, *more])}" if found else ""


def is_axis(means: "pl.DataFrame", axis: str) -> bool:
    """Whether the values of an axis of a sweep are the offered loads of its points, in Sweep.means."""
    offered, places = means["offered_load"], means[axis]
    if not places.dtype.is_numeric() or offered.null_count():
        return False
    return bool(((places - offered).abs() < 1e-9).all())


def is_about_steadiness(advice: Mapping[str, str]) -> bool:
    """Whether a piece of advice is that on a run that was not in a steady state."""
    return advice["message"].startswith(UNSTABLE)


def _half(found: Mapping[str, Any]) -> str:
    half = found.get("carried_ci95")
    return "" if half is None else f" \u00b1 {text.digits(half)}"
