"""How values and verdicts are worded, in one place for judges, summaries, the gallery, the terminal and the pages."""

import math
from collections.abc import Mapping
from typing import Any

from flowyard.text import NONE

# A value that was measured or that would pass.
Value = str | float | None

PASS, FAIL, NOT_REACHED = "PASS", "FAIL", "NOT-REACHED"

# What a FAIL is, as `fail` in claims.json has it.
PREDICTED, NOT_REPRODUCIBLE, OPEN, EXPECTATION = "predicted", "not reproducible", "open", "expectation"

# Significant digits of a fraction; of numbers that a judge compares with, those of claims.json.
DIGITS, BOUND = 5, 6


def worded(value: Value, unit: str | None = None, digits: int = DIGITS) -> str:
    """A number or a text with its unit if it has one: "0.5 s", "17,350 KB/s"; a dash if there is none.

    Args:
        value: Whole numbers keep all their digits, in groups of three.
        unit: Of the value.
        digits: Significant ones of a fraction; those before the point are written in any case.
    """
    if value is None:
        return NONE
    said = _number(value, digits) if isinstance(value, int | float) else value
    return f"{said} {unit}" if unit else said


def _number(value: float, digits: int) -> str:
    if isinstance(value, bool) or not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if 10 ** (digits - 1) <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}".replace("e-0", "e-")


def shown(entry: Mapping[str, Any], name: str) -> str:
    """The "measured" or "expected" value of an entry of claims.json, or of one of its readings."""
    return worded(entry[name], entry.get("unit"))


def marked(entry: Mapping[str, Any], *, quick: bool = False) -> str:
    """The verdict of such an entry with its distinctions.

    A PASS of arithmetic or of an expectation of ours says so, and so does each kind of FAIL.

    Args:
        entry: Of claims.json.
        quick: Whether it was judged at quick scale, and is to say so.
    """
    verdict: str = entry["verdict"]
    if verdict == NOT_REACHED:
        return verdict
    kind = entry.get("fail", "")
    if verdict == PASS:
        kind = EXPECTATION if entry.get("expectation") else "arithmetic" if entry.get("arithmetic") else ""
    return ", ".join([verdict, *([kind] if kind else []), *(["quick"] if quick else [])])


def readings(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The readings of such an entry, each with what the claim says of all of them."""
    of_all = {name: entry[name] for name in ("arithmetic", "expectation") if name in entry}
    return [one | of_all for one in entry.get("readings", [])]


def named(reading: Mapping[str, Any]) -> str:
    """The name of a reading; one that only a search found says so."""
    name: str = reading["reading"]
    return f"{name} (reachable)" if reading.get("reachable") else name
