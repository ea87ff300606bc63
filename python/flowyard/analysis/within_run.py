"""Confidence intervals of a mean and of percentiles within one run, whose flows are correlated.

Flows that share a queue have similar delays, so that n flows carry less information than n independent ones. Both
intervals measure how much less by 20 batches of consecutive flows (B. Schmeiser, "Batch Size Effects in the Analysis of
Simulation Output", Operations Research 30(3), 1982: more than 30 hardly narrow an interval, and are shorter):

- of a mean: Student's t of the batch means, widened where consecutive means are correlated and shifted by their
  skewness. It is the interval of N-Skart for a fixed number of batches (A. Tafazzoli, N. M. Steiger, J. R. Wilson,
  "N-Skart: A Nonsequential Skewness- and Autocorrelation-Adjusted Batch-Means Procedure for Simulation Analysis", IEEE
  Transactions on Automatic Control 56(2), 2011).
- of a percentile: order statistics. Their ranks are those of independent flows, by the binomial distribution, moved
  apart as far as the variance of the share of flows up to the percentile, by the same batches, exceeds the binomial
  one (R. S. Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American
  Statistical Association 47(260), 1952).

Both assume a stationary window that is long against the correlation of its flows. docs/metrics.md states the formulas
and the coverage at one port, also of windows that are too short: such a window looks less correlated than it is, and
its intervals are too narrow. Only where consecutive batches are strongly correlated is it recognised as too short, or
as not stationary: then there is no interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

from flowyard.analysis.intervals import CONFIDENCE, student_t
from flowyard.forks import pl

BATCHES = 20
# Fewer observations give no interval: a batch has at least two. Nor do flows that start at fewer instants, in a burst.
FEWEST = 2 * BATCHES
# A larger correlation of consecutive batches tells of a trend, or of batches shorter than the correlation of flows.
# That of independent batches is larger in one of a thousand windows.
MOST_CORRELATED = 0.6
# A percentile with fewer independent observations above it takes the correlation of the next smaller one, if larger:
# a few clusters do not show how large clusters are.
ENOUGH_ABOVE = 20
NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class Interval(NamedTuple):
    """The ends of a 95 % confidence interval, in the unit of the observations.

    Without `high` there is no upper bound: too few observations lie above the percentile. Without both ends there is no
    interval: too few observations, or too short a window.
    """

    low: float | None
    high: float | None


NO_INTERVAL = Interval(None, None)


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
    values = values.drop_nulls().cast(pl.Float64)
    n = len(values)
    if n < FEWEST:
        return Intervals(NO_INTERVAL, [NO_INTERVAL] * len(shares))
    ordered = values.sort()
    cuts = [i * n // BATCHES for i in range(BATCHES + 1)]
    batches = [values.slice(cut, end - cut) for cut, end in pairwise(cuts)]
    means = [float(batch.mean()) for batch in batches]  # type: ignore[arg-type]
    # A few large observations hide a trend in means, not in shares.
    halves = _shares_up_to(ordered[math.ceil(n / 2) - 1], batches)
    if max(_lag_one(means), _lag_one(halves)) > MOST_CORRELATED:
        return Intervals(NO_INTERVAL, [NO_INTERVAL] * len(shares))
    found, factor = [], 1.0
    for share in shares:
        own = _shares_up_to(ordered[math.ceil(n * share) - 1], batches)
        # Of independent observations the share varies by share (1 - share) / n.
        alone = max(1.0, _variance(own) * n / (share * (1 - share)))
        factor = alone if n * (1 - share) / alone >= ENOUGH_ABOVE else max(factor, alone)
        found.append(_percentile(ordered, share, factor))
    return Intervals(_mean(float(values.mean()), means), found)  # type: ignore[arg-type]


def _mean(mean: float, batches: Sequence[float]) -> Interval:
    """The interval of a mean from the means of its batches."""
    spread = math.sqrt(_variance(batches))
    t = student_t(len(batches) - 1)
    beta = _skewness(batches) / (6 * math.sqrt(len(batches)))
    return Interval(mean - spread * _skewed(t, beta), mean - spread * _skewed(-t, beta))


def _skewed(t: float, beta: float) -> float:
    """The quantile of Student's t of a mean of skewed observations.

    R. Willink, "A Confidence Interval and Test for the Mean of an Asymmetric Distribution", Communications in
    Statistics: Theory and Methods 34(4), 2005.

    Args:
        t: The quantile without skewness.
        beta: Skewness of the mean over 6.
    """
    if abs(beta) < 1e-9:
        return t
    return (math.cbrt(1 + 6 * beta * (t - beta)) - 1) / (2 * beta)


def _percentile(ordered: pl.Series, share: float, factor: float) -> Interval:
    """The interval of a percentile from ordered observations.

    Args:
        ordered: Observations, the smallest first.
        share: The share of observations up to the percentile.
        factor: Variance of that share over the variance of independent observations; 1 if these are.
    """
    n = len(ordered)
    independent = math.sqrt(n * share * (1 - share))
    # The binomial distribution, whose variance is known, needs no t.
    away = independent * max(NORMAL, student_t(BATCHES - 1) * math.sqrt(factor) if factor > 1 else 0.0)
    low, high = math.floor(n * share - away), math.ceil(n * share + away)
    # The largest is a bound if it is above the percentile with the probability that an end needs.
    bounded = share ** (n / factor) <= (1 - CONFIDENCE) / 2
    return Interval(ordered[low - 1] if low >= 1 else None, ordered[min(high, n) - 1] if bounded else None)


def _shares_up_to(value: float, batches: Sequence[pl.Series]) -> list[float]:
    """The share of each batch's observations that are at most that value."""
    return [int((batch <= value).sum()) / len(batch) for batch in batches]


def _variance(batches: Sequence[float]) -> float:
    """The variance of the mean of batch means.

    That of independent batches, times (1 + r) / (1 - r) if consecutive ones have a correlation r above 0, as the batch
    means of a first-order autoregression would.
    """
    r = max(0.0, _lag_one(batches))
    return _moment(batches, 2) / (len(batches) - 1) * (1 + r) / (1 - r)


def _lag_one(batches: Sequence[float]) -> float:
    """The correlation of consecutive batch means; 0 if all are equal."""
    mean = math.fsum(batches) / len(batches)
    apart = [batch - mean for batch in batches]
    total = math.fsum(x * x for x in apart)
    return math.fsum(x * y for x, y in pairwise(apart)) / total if total else 0.0


def _skewness(batches: Sequence[float]) -> float:
    """The skewness of batch means, without its bias for normal ones; 0 if all are equal."""
    k, second = len(batches), _moment(batches, 2)
    return math.sqrt(k * (k - 1)) / (k - 2) * _moment(batches, 3) / second**1.5 if second else 0.0


def _moment(batches: Sequence[float], power: int) -> float:
    """The central moment of that power."""
    mean = math.fsum(batches) / len(batches)
    return math.fsum((batch - mean) ** power for batch in batches) / len(batches)
