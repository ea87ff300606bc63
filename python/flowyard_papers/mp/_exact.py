"""Fractions in tables: they are floating point there, with twelve digits, and exact again when judged."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import polars as pl

from flowyard.papers import judge
from flowyard.papers.judge import Judgement

# The loads and ratios here have denominators of at most a few hundred.
DENOMINATOR = 10_000


def exact(number: float | None) -> Fraction | None:
    """The fraction that a number of a table stands for."""
    return None if number is None else Fraction(number).limit_denominator(DENOMINATOR)


def value(table: pl.DataFrame, column: str, **where: Any) -> Fraction | None:
    """The fraction in the one row with these values; None if there is no such row."""
    found = table.filter([pl.col(name) == each for name, each in where.items()])
    return exact(found[column].item()) if len(found) == 1 else None


def text(number: Fraction | int | None) -> str | None:
    """How it is compared and shown, such as 16/3."""
    return None if number is None else str(number)


def same(rows: Iterable[tuple[str, Fraction | None, Fraction | int]], what: str) -> Judgement:
    """All of many fractions are what they should be."""
    return judge.all_exactly([(name, text(got), text(expected)) for name, got, expected in rows], what)
