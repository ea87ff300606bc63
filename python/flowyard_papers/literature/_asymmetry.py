"""Networks with one cable down, and completion times of web search flows on them, for the figures of balancers.

Alizadeh et al., "CONGA: distributed congestion-aware load balancing for datacenters", SIGCOMM 2014, section 5: 64 hosts
of 10 Gbps under two leaves, two cables of 40 Gbps from each leaf to each of two spines, one of them down. A load is the
share of the 160 Gbps that leaf 0 has to the spines, sent to the hosts of leaf 1.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Tables
from flowyard.sweeps import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = "500us"
SHORT_BYTES, LONG_BYTES = 100_000, 1_000_000
# TCP that finds losses by time, so that packets out of order are no losses at once.
TCP: dict[str, Any] = {"preset": "datacentre", "sack": True, "rack": True, "tail_loss_probe": True}
DCTCP = TCP | {"congestion": "dctcp"}
MEASURES = {
    "fct_mean_ms": "mean FCT (ms)",
    "short_p99_ms": "p99 FCT to 100 KB (ms)",
}
MISSING = "not all flows of all points have ended"


def testbed(hosts: int) -> dict[str, Any]:
    """Topology and fault, with so many hosts under each leaf; 32 are CONGA's."""
    return {
        "topology": {
            "leaf-spine": {
                "leaves": 2,
                "spines": 2,
                "hosts": hosts,
                "parallel": 2,
                "rate": "10Gbps",
                "delay": "1us",
                "spine": {"rate": f"{hosts * 1250}Mbps"},
            }
        },
        "faults": {
            "events": [
                {"at": "0s", "target": {"cable": ["leaf 1", "spine 1"]}, "parallel": 0, "change": "down"}
            ]
        },
    }


def forward(hosts: int, load: float, sizes: Any, flows: int | None = None) -> dict[str, Any]:
    """Flows from each host of leaf 0 to one of leaf 1; of half a host's rate is the load of a leaf's cables."""
    entry = {
        "name": "flows",
        "arrivals": {"poisson": {"load": round(load / 2, 5)}},
        "matrix": {"pairs": [[host, hosts + host] for host in range(hosts)]},
        "sizes": sizes,
    }
    return entry if flows is None else entry | {"flows": flows}


def completion(sweep: Sweep, keys: list[str]) -> Tables:
    """Per run mean and tail of measured flows, null where some did not end; and means over replicas.

    Args:
        sweep: Its runs.
        keys: Its axes.
    """
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed").all()
    size = pl.col("size_bytes")
    measures = {
        "fct_mean_ms": fct_ms.mean(),
        "short_mean_ms": fct_ms.filter(size <= SHORT_BYTES).mean(),
        "short_p99_ms": fct_ms.filter(size <= SHORT_BYTES).quantile(0.99, "linear"),
        "long_mean_ms": fct_ms.filter(size > LONG_BYTES).mean(),
    }
    runs = (
        sweep.flows.filter("measured")
        .group_by([*keys, "replica"])
        .agg(
            *(pl.when(done).then(measure).alias(name) for name, measure in measures.items()),
            flows=pl.len().cast(pl.Int64),
            unfinished=pl.col("fct_ps").null_count().cast(pl.Int64),
            reordered=pl.col("reordered").sum().cast(pl.Int64),
            drops=pl.col("drops").sum().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
        )
        .collect()
        .sort([*keys, "replica"])
    )
    return {"runs": runs, "points": replica_means(runs, keys, list(measures))}


def mean_of(table: pl.DataFrame, column: str, **point: Any) -> float | None:
    """The mean over replicas of a column of runs, None if there is none or one is missing."""
    values = table.filter(**point)[column]
    mean = None if values.is_empty() or values.null_count() else values.mean()
    return mean if isinstance(mean, float) else None


def curves(axes: "Axes", points: pl.DataFrame, schemes: Iterable[str], measure: str) -> None:
    """A curve over the load for each scheme that has points."""
    for place, scheme in enumerate(schemes):
        rows = points.filter(scheme=scheme).sort("load")
        if not rows.is_empty():
            style.curve(axes, rows, "load", measure, place, scheme)
