"""How evenly something is shared."""

from flowyard.errors import UserError
from flowyard.forks import pl


def jain(values: pl.Series) -> float | None:
    """Jain's index, (sum x)^2 / (n sum x^2): 1 if all have the same, 1/n if one has all.

    None if there is no value, or if all are zero.

    Args:
        values: A column, such as `flow_goodput(measured(result.flows))`.

    Raises:
        UserError: It is no column.
    """
    if not isinstance(values, pl.Series):
        raise UserError(
            f"jain: takes a column of polars, and not a {type(values).__name__}; of a result: "
            "jain(flow_goodput(measured(result.flows)))"
        )
    numbers = values.drop_nulls().cast(pl.Float64)
    largest = numbers.max()
    if not isinstance(largest, float) or largest <= 0.0:
        return None
    # Scaled first: squares of rates in bit/s would lose digits.
    scaled = numbers / largest
    total, squares = float(scaled.sum()), float((scaled * scaled).sum())
    return total * total / (len(scaled) * squares)
