"""One port under Poisson arrivals, and the interval in which a formula must lie; shared by figures.

A source of 8 Tbps, on which 1500 B take 1.5 ns, feeds a port of 1 Gbps, on which they take 12 us: the source delays and
smooths arrivals by some 10^-4 of a packet's time at the port. Times are in the mean time of a packet at the port.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext

import polars as pl

from flowyard.papers.judge import Judgement, judged, not_reached

PACKET_BYTES = 1500
PORT_BPS = 1_000_000_000
SOURCE_PS_PER_BYTE, PORT_PS_PER_BYTE = 1, 8000
PACKET_PS = PACKET_BYTES * PORT_PS_PER_BYTE
TOPOLOGY = {"line": {"switches": 1, "rates": ["8Tbps", "1Gbps"], "delay": "0s"}}

MD1, MM1 = "M/D/1", "M/M/1"
LENGTHS = {MD1: {"fixed": f"{PACKET_BYTES}B"}, MM1: {"exponential": {"mean": f"{PACKET_BYTES}B"}}}

CONFIDENCE = 0.99


def intervals(runs: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """The mean of replicas at each point, and half the width of an interval around it.

    Student's t over the replicas, which are independent. The confidence of 99 % is that of all points together:
    each gets its share of the 1 % (Bonferroni's inequality, which needs no independence between points).

    Args:
        runs: A row for each point and replica.
        by: The columns that tell points apart.
        value: The column to be averaged.

    Returns:
        One row per point: `by`, replicas, mean, half_width.
    """
    from scipy.stats import t

    points = runs.group_by(by, maintain_order=True).agg(
        replicas=pl.len(), mean=pl.col(value).mean(), half_width=pl.col(value).std() / pl.len().sqrt()
    )
    alone = 1 - (1 - CONFIDENCE) / max(len(points), 1)
    factors = [float(t.ppf((1 + alone) / 2, n - 1)) if n > 1 else None for n in points["replicas"]]
    return points.with_columns(half_width=pl.col("half_width") * pl.Series(factors, dtype=pl.Float64))


def agree(points: pl.DataFrame, by: Sequence[str]) -> Judgement:
    """The column `formula` lies in the interval at every point."""
    if points.is_empty() or points["half_width"].null_count():
        return not_reached("an interval needs at least two replicas at every point")
    distance = (pl.col("mean") - pl.col("formula")).abs() / pl.col("half_width")
    rows = points.with_columns(distance=distance.fill_nan(0.0)).sort("distance", descending=True)
    outside = rows.filter(pl.col("distance") > 1)
    worst = rows.row(0, named=True)
    found = judged(
        outside.is_empty(),
        f"{len(rows) - len(outside)} of {len(rows)} intervals hold the formula; the farthest mean is "
        f"{worst['distance']:.2f} half widths off",
        f"all {len(rows)}",
    )
    said = [
        f"at {', '.join(str(row[name]) for name in by)}: {row['mean']:.5g} +- {row['half_width']:.2g}, "
        f"not {row['formula']:.5g}"
        for row in outside.head(3).iter_rows(named=True)
    ]
    return found.because("; ".join(said))


def erlang(load: float, time: float) -> float:
    """The share of waits of M/D/1 that are at most `time`, in packet times.

    A. K. Erlang, "The Theory of Probabilities and Telephone Conversations", Nyt Tidsskrift for Matematik B 20, 1909.
    """
    # The terms alternate and are as large as exp(load * time): floats would lose what is left of their sum.
    with localcontext(prec=40 + math.ceil(load * time)):
        r, t = Decimal(load), Decimal(time)
        terms = (
            (-r * (t - k)) ** k / math.factorial(k) * (r * (t - k)).exp() for k in range(math.floor(time) + 1)
        )
        # 0 ** 0, which Decimal refuses, is only in the first term at time 0.
        return float((1 - r) * sum(terms)) if time > 0 else 1 - load
