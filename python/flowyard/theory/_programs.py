"""Linear programs, by scipy in floating point: what is exact about an answer is proved by those who ask.

A row is its coefficients by column, and its bound.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from flowyard.errors import UserError

Row = tuple[Mapping[int, Fraction | int], Fraction | int]
# Largest denominators tried for the solver's numbers.
DENOMINATORS = (12, 720, 5040, 10**6)


def minimise(
    cost: Sequence[Fraction | int], at_most: Sequence[Row], exactly: Sequence[Row] = ()
) -> tuple[list[float], list[float]]:
    """The least cost . x where x >= 0 and all rows are kept.

    Returns:
        x; and for each row of `at_most` its price: how much less the cost were if its bound were one more.

    Raises:
        UserError: scipy is not installed.
        ArithmeticError: There is no least value.
    """
    try:
        from scipy.optimize import linprog
    except ImportError:
        raise UserError("linear programs need a package that is not here: pip install scipy") from None
    upper, equal = (_matrix(rows, len(cost)) for rows in (at_most, exactly))
    answer: Any = linprog([float(each) for each in cost], *upper, *equal, method="highs-ds")
    if answer.status != 0:
        raise ArithmeticError(f"the linear program has no answer: {answer.message}")
    return list(answer.x), [-price for price in answer.ineqlin.marginals]


def near(values: Sequence[float]) -> Iterator[list[Fraction]]:
    """The values, none below 0, as fractions with small denominators; then with larger ones."""
    different = {float(value) for value in values}
    for denominator in DENOMINATORS:
        found = {
            value: max(Fraction(0), Fraction(value).limit_denominator(denominator)) for value in different
        }
        yield [found[value] for value in values]


def _matrix(rows: Sequence[Row], columns: int) -> tuple[Any, Any]:
    from scipy.sparse import csr_array

    if not rows:
        return None, None
    entries = [(i, j, float(value)) for i, (row, _) in enumerate(rows) for j, value in row.items()]
    i, j, values = zip(*entries, strict=True)
    matrix = csr_array((values, (i, j)), shape=(len(rows), columns))
    return matrix, [float(bound) for _, bound in rows]
