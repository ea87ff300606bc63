"""Distributions cut down to what a chart can show."""

from flowyard.forks import pl


def distribution(values: pl.Series, population: int | None = None, points: int = 400) -> pl.DataFrame:
    """The empirical distribution function at no more than `points` of its steps.

    Half of the steps are spread evenly over the ranks, the others ever closer towards the first and the last
    one, so that both tails keep their shape. Nulls are left out of the values, not of the population.

    Args:
        values: Numbers of any unit.
        population: What the shares refer to; default the number of values. A larger one makes the function end
            below 1, as for completion times when some flows have none.
        points: Most rows to return, at least 8.

    Returns:
        value and share (0 to 1), ascending: `share` of the population is at most `value`. No row if no value.
    """
    ordered = values.drop_nulls().sort().cast(pl.Float64)
    count = len(ordered)
    population = population or count
    if count <= points:
        ranks = list(range(1, count + 1))
    else:
        half, quarter = points // 2, points // 4
        even = {1 + round(i * (count - 1) / (half - 1)) for i in range(half)}
        tail = {round(count ** (i / quarter)) for i in range(quarter)}
        ranks = sorted(even | tail | {count + 1 - rank for rank in tail})
    return pl.DataFrame(
        {
            "value": ordered.gather([rank - 1 for rank in ranks]),
            "share": [rank / population for rank in ranks],
        },
        schema={"value": pl.Float64, "share": pl.Float64},
    )


def strip(values: pl.Series, points: int) -> pl.Series:
    """At most `points` of the values, ascending: all, or evenly spread over the ranks with both ends."""
    ordered = values.drop_nulls().sort()
    count = len(ordered)
    if count <= points:
        return ordered
    return ordered.gather(sorted({round(i * (count - 1) / (points - 1)) for i in range(points)}))
