"""Confidence intervals of a mean and of percentiles within one run, whose flows are correlated.

The engine computes them (`crates/sim/src/results/intervals.rs`, with its sources): for run.json, of all measured flows
and of their size groups; here, of any observations. docs/metrics.md states the formulas and their coverage.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flowyard import _native
from flowyard.forks import pl

# Fewer observations give no interval: 20 batches of two. Nor do flows that start at fewer instants, in a burst.
FEWEST = 40


class Interval(NamedTuple):
    """The ends of a 95 % confidence interval, in the unit of the observations.

    Without `high` there is no upper bound: too few observations lie above the percentile. Without both ends there is no
    interval: too few observations, or too short a window.
    """

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Intervals:
    """Those of a mean and of some percentiles."""

    mean: Interval
    percentiles: list[Interval]


def intervals(values: pl.Series, shares: Sequence[float]) -> Intervals:
    """The intervals of the mean and of the percentiles of these shares.

    Args:
        values: Observations in order of time, such as the slowdowns of flows by their start; nulls are left out.
        shares: The shares of observations up to each percentile, ascending.
    """
    mean, percentiles = _native.intervals(values.drop_nulls().cast(pl.Float64).to_list(), shares)
    return Intervals(Interval(*mean), [Interval(*ends) for ends in percentiles])
