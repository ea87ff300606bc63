"""Distributions cut down to what a chart can show."""

import polars as pl


def distribution(values: pl.Series, population: int | None = None, points: int = 400) -> pl.DataFrame:
    """The empirical distribution function at no more than `points` of its steps.

    Half of the steps are spread evenly over the ranks and half ever closer towards the last rank, so that the
    tail keeps its shape. Nulls are left out of the values, not of the population.

    Args:
        values: Numbers of any unit.
        population: What the shares refer to; default the number of values. A larger one makes the function end
            below 1, as for completion times when some flows have none.
        points: Most rows to return, at least 4.

    Returns:
        value and share (0 to 1), ascending: `share` of the population is at most `value`. No row if no value.
    """
    ordered = values.drop_nulls().sort().cast(pl.Float64)
    count = len(ordered)
    population = population or count
    if count <= points:
        ranks = list(range(1, count + 1))
    else:
        half = points // 2
        even = {1 + round(i * (count - 1) / (half - 1)) for i in range(half)}
        tail = {count + 1 - round(count ** (i / (half - 1))) for i in range(half)}
        ranks = sorted(even | tail)
    return pl.DataFrame(
        {"value": ordered.gather([rank - 1 for rank in ranks]), "share": [rank / population for rank in ranks]},
        schema={"value": pl.Float64, "share": pl.Float64},
    )


def strip(values: pl.Series, points: int) -> pl.Series:
    """At most `points` of the values, ascending: all, or evenly spread over the ranks with both ends."""
    ordered = values.drop_nulls().sort()
    count = len(ordered)
    if count <= points:
        return ordered
    return ordered.gather(sorted({round(i * (count - 1) / (points - 1)) for i in range(points)}))
