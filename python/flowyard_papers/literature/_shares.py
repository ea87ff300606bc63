"""How evenly long DCTCP flows share a port of 1 Gbps, over numbers of flows, thresholds and cables.

In a network where nothing varies, packets of two senders come to the port at the very same instant, and those of one
sender are first in every such tie of a run. Where windows shrink at once, a flow's packets stand side by side in each
round trip, so that the flow behind gets more of the marks, for ever. Where they shrink in proportion, packets of all
flows stay mixed, and no order lasts.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from flowyard.papers.figure import Scale
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _port

PROPORTION, SEGMENTS, AT_ONCE = "in proportion", "and by whole segments", "at once"
DELAYED, LINUX = "delayed ACKs", "delayed ACKs, as in Linux"
REDUCTIONS: Mapping[str, Mapping[str, Any]] = {
    PROPORTION: {},
    SEGMENTS: {"growth": "segments"},
    AT_ONCE: {"congestion": {"dctcp": {"proportional_reduction": False}}},
    DELAYED: {"delayed_ack": 2},
    LINUX: {"delayed_ack": 2, "growth": "segments", "congestion": {"dctcp": {"echo": "exact-at-once"}}},
}
FLOWS = (2, 3, 8, 16)
THRESHOLDS = (10, 20, 40, 65)
DELAYS_US = (10, 25, 50, 100)
# Where the two flows of the picture's first point are: DCTCP's paper has 20 packets at 1 Gbps.
THRESHOLD, DELAY_US = 20, 25
LEAST = 0.95
POINT = ["reduction", "senders", "threshold", "delay_us"]


def plan(scale: Scale) -> Plan:
    """Every point of the grid with each reduction; at quick scale one threshold and one cable."""
    base = _port.scenario(scale.pick("200ms", "500ms"))
    base["topology"]["single-switch"]["rate"] = "1Gbps"
    tcp: dict[str, Any] = {"congestion": {"dctcp": {}}, "delayed_ack": 1}
    variants = [tcp | dict(own) for own in REDUCTIONS.values()]
    thresholds = scale.pick((THRESHOLD,), THRESHOLDS)
    delays = scale.pick((DELAY_US,), DELAYS_US)
    axes = [
        Axis("reduction", {"transport.tcp": variants}, labels=list(REDUCTIONS)),
        _port.senders(FLOWS),
        Axis("threshold", {"queue.ecn.threshold.packets": list(thresholds)}, labels=thresholds),
        Axis("delay_us", {"topology.single-switch.delay": [f"{delay}us" for delay in delays]}, labels=delays),
    ]
    return Plan(base, axes, scale.pick(2, 5), name="shares")


def runs(sweep: Sweep) -> pl.DataFrame:
    """One row per run: Jain's index of the bytes that its flows have delivered, and the least and the largest share."""
    delivered = pl.col("delivered_bytes").cast(pl.Float64)
    shares = sweep.flows.group_by(*POINT, "replica").agg(
        jain=delivered.sum() ** 2 / (pl.len() * (delivered**2).sum()),
        least_percent=100 * delivered.min() / delivered.sum(),
        most_percent=100 * delivered.max() / delivered.sum(),
    )
    return shares.sort(*POINT, "replica").collect()


def even(shares: pl.DataFrame) -> Judgement:
    """Jain's index at every point, as mean over seeds, under each of the variants; the default one first."""
    return by_reading({name: _even(shares.filter(reduction=name)) for name in REDUCTIONS})


def _even(shares: pl.DataFrame) -> Judgement:
    means = (
        shares.group_by("senders", "threshold", "delay_us").agg(pl.col("jain").mean()).sort("jain", "senders")
    )
    if set(means["senders"]) < set(FLOWS):
        return not_reached("there are not all numbers of flows")
    low = means.filter(pl.col("jain") < LEAST)
    worst = [f"{row['jain']:.3f} with {_where(row)}" for row in means.head(3).iter_rows(named=True)]
    measured = f"{len(means) - len(low)} of {len(means)} points, {worst[0]} at least"
    return judged(low.is_empty(), measured, f"{LEAST} at every point").because(", ".join(worst))


def _where(row: Mapping[str, int]) -> str:
    return f"{row['senders']} flows, K = {row['threshold']}, {row['delay_us']} us"
