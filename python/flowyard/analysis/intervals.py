"""Means over replicas with confidence intervals."""

import math
from collections.abc import Sequence
from functools import cache

from flowyard.forks import pl

CONFIDENCE = 0.95


def replica_means(runs: pl.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Each point's mean over its replicas, with half the width of its 95 % confidence interval.

    The interval is Student's t of the replicas' values: it says how sure the mean is, not how far single flows
    spread. A replica without a value is left out; with fewer than two values there is no interval.

    Args:
        runs: One row per run.
        by: The columns that tell points apart.
        columns: Numbers to be averaged.

    Returns:
        One row per point in order of first appearance: `by`, replicas (rows of the point), then for each column its
        mean under its own name and <column>_ci95, null where there is none.
    """
    values = [pl.col(column).cast(pl.Float64) for column in columns]
    # Something to group by, even where all runs are of one point.
    keys = [pl.col(name) for name in by] or [pl.repeat(0, pl.len()).alias("_all")]
    table = runs.group_by(keys, maintain_order=True).agg(
        pl.len().alias("replicas"),
        *(value.mean() for value in values),
        *(value.std().alias(f"{name}_ci95") for name, value in zip(columns, values, strict=True)),
        *(value.count().alias(f"{name}_n") for name, value in zip(columns, values, strict=True)),
    )
    for name in columns:
        count = pl.col(f"{name}_n")
        factors = {n: student_t(n - 1) / n**0.5 if n > 1 else None for n in table[f"{name}_n"].unique()}
        factor = count.replace_strict(factors, return_dtype=pl.Float64)
        table = table.with_columns(pl.col(f"{name}_ci95") * factor).drop(f"{name}_n")
    ordered = [label for name in columns for label in (name, f"{name}_ci95")]
    return table.select(*by, "replicas", *ordered)


def half_width(values: pl.Series) -> float:
    """Half the width of the 95 % confidence interval of a mean; infinite with fewer than two values."""
    known = values.drop_nulls().cast(pl.Float64)
    spread = known.std()
    if len(known) < 2 or not isinstance(spread, float):
        return float("inf")
    return student_t(len(known) - 1) * spread / math.sqrt(len(known))


@cache
def student_t(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t distribution, by bisection."""
    low, high = 0.0, 13.0
    while low < (middle := (low + high) / 2) < high:
        if _within(middle, degrees) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _within(t: float, degrees: int) -> float:
    """The probability of values between -t and t: a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, odd = math.cos(angle), degrees % 2
    term, total = cosine if odd else 1.0, 0.0
    for i in range(1 + odd, degrees, 2):
        total += term
        term *= cosine**2 * i / (i + 1)
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
