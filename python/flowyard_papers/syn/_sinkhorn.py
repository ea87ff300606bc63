"""The rate normalisation of ASY as set-up SYN-S0 has it, in whole matrices: nothing of it is shared with the simulator.

Sources: Sviridov, Bianco and Giaccone, Globecom 2018, III-B; Sinkhorn, Annals of Mathematical Statistics 35 (1964).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
ROUNDS = 20
# A row or a column that lacks less than this is full.
SLACK = 1e-6


def normalised(offered: Matrix, order: Sequence[int] | None = None, rounds: int = ROUNDS) -> Matrix:
    """The rates W of offered rates R.

    Args:
        offered: R, by source and destination; 0 where nothing waits.
        order: In which what is left of rows and columns is handed out, as places in the flattened matrix; or it is not.
        rounds: So many times each row, then each column, is divided by its sum.
    """
    rates = scaled(offered, rounds)
    rates /= np.maximum(1.0, np.maximum(rates.sum(1)[:, None], rates.sum(0)))
    if order is None:
        return rates
    rows, columns = 1 - rates.sum(1), 1 - rates.sum(0)
    for place in order:
        i, j = divmod(place, offered.shape[1])
        slack = min(rows[i], columns[j])
        if offered[i, j] > 0 and slack > SLACK:
            rates[i, j] += slack
            rows[i] -= slack
            columns[j] -= slack
    return rates


def scaled(offered: Matrix, rounds: int, agreed: float = 0.0) -> Matrix:
    """R with rows, then columns, divided by their sums, up as well as down; until sums agree with 1 that well."""
    rates = offered.astype(np.float64)
    for _ in range(rounds):
        sums = rates.sum(1)
        rates /= np.where(sums > 0, sums, 1)[:, None]
        if np.abs(sums[sums > 0] - 1).max(initial=0) <= agreed:
            break
        sums = rates.sum(0)
        rates /= np.where(sums > 0, sums, 1)
    return rates


def most(support: NDArray[np.bool_]) -> float:
    """The highest sum of rates that any W has with these entries: a linear programme."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    rows, columns = np.nonzero(support)
    count = len(rows)
    places = np.concatenate([rows, support.shape[0] + columns])
    sums = csr_array(
        (np.ones(2 * count), (places, np.tile(np.arange(count), 2))), shape=(sum(support.shape), count)
    )
    answer = linprog(-np.ones(count), A_ub=sums, b_ub=np.ones(sum(support.shape)), method="highs")
    if answer.status != 0:
        raise ArithmeticError(f"the linear programme has no answer: {answer.message}")
    return -float(answer.fun)


def sparse(random: np.random.Generator, even: bool) -> Matrix:
    """A random R: 8 to 120 servers, 1 to 25 % of the pairs; all entries 1, or uniform."""
    hosts = int(random.integers(8, 121))
    there = random.random((hosts, hosts)) < random.uniform(0.01, 0.25)
    np.fill_diagonal(there, val=False)
    if not there.any():
        there[0, 1] = True
    entries: Matrix = np.ones((hosts, hosts)) if even else 1 - random.random((hosts, hosts))
    return np.where(there, entries, 0.0)
