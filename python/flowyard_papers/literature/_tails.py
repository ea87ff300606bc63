"""Tails of web search flows beside incasts, where the ports of a switch share memory, under three transports.

The network is that of the simulator of ABM's authors (inet-tub/ns3-datacenter): two leaves of 32 hosts, and 3.93 MB for
the 40 ports of a leaf.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Scale, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEMORY, ALPHA = 3_932_160, 0.5
DT, ABM = "dynamic thresholds", "ABM"
MEMBERS = {DT: "dynamic", ABM: "abm"}
# Bursts by shares of the memory; an incast has so many senders.
BURSTS, SENDERS = (0.125, 0.75), 32
# Incasts a second for each of 64 hosts.
RATE, HOSTS = 2, 64
SHORT_BYTES = 100_000
# Timeouts of TCP and of IRN alike.
_TIMEOUT = "5ms"
_LOSSY = {"recovery": {"irn": {"rto_low": _TIMEOUT, "rto_high": _TIMEOUT}}}
TRANSPORTS: dict[str, dict[str, Any]] = {
    "DCTCP": {"tcp": {"preset": "datacentre", "congestion": "dctcp", "sack": True, "rto_min": _TIMEOUT}},
    "TIMELY": {"roce": {"congestion": "timely", **_LOSSY}},
    "PowerTCP": {"roce": {"congestion": "powertcp", "header_bytes": "90B", "ack_bytes": "88B", **_LOSSY}},
}
KEYS = ["buffer", "protocol", "burst"]


def plan(scale: Scale) -> Plan:
    """Web search flows at 40 % load beside incasts."""
    leaf, senders = scale.pick(8, HOSTS // 2), scale.pick(SENDERS // 4, SENDERS)
    memory = MEMORY * leaf * 2 // HOSTS
    traffic = [
        {
            "name": "web",
            "arrivals": {"poisson": {"load": 0.4}},
            "matrix": "uniform",
            "sizes": "web-search",
            "flows": scale.pick(20, 600),
        },
        {
            "name": "burst",
            "background": True,
            "arrivals": {"poisson": {"rate": RATE * HOSTS * senders, "each": "round", "until": "10s"}},
            "matrix": {"incast": {"senders": senders, "receiver": "random"}},
            "sizes": {"fixed": "1B"},
        },
    ]
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": 2,
                "hosts": leaf,
                "spines": 2,
                "parallel": leaf // 8,
                "rate": "10Gbps",
                "delay": "10us",
            }
        },
        "queue": {"ecn": {"limit": {"bytes": f"{memory}B"}, "threshold": {"packets": 65}}},
        "traffic": traffic,
        "run": {"measure": "all", "until": "1s"},
    }
    rules = [{member: {"size": f"{memory}B", "alpha": ALPHA}} for member in MEMBERS.values()]
    sizes = [f"{round(share * memory / senders)}B" for share in BURSTS]
    axes = [
        Axis("buffer", {"buffer": rules}, labels=list(MEMBERS)),
        Axis("protocol", {"transport": list(TRANSPORTS.values())}, labels=list(TRANSPORTS)),
        Axis("burst", {"traffic.burst.sizes.fixed": sizes}, labels=BURSTS),
    ]
    return Plan(base, axes, scale.pick(1, 5), name="tails")


def runs(sweep: Sweep) -> pl.DataFrame:
    """One row per run: tails of short web search flows, null if some have not ended, and of flows of incasts."""
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed")
    web = pl.col("tag") == "web"
    tail = fct_ms.filter(web & (pl.col("size_bytes") <= SHORT_BYTES)).quantile(0.99, "linear")
    return (
        sweep.flows.group_by(*KEYS, "replica")
        .agg(
            flows=web.sum().cast(pl.Int64),
            short_p99_ms=pl.when((done | ~web).all()).then(tail),
            burst_p99_ms=fct_ms.filter((pl.col("tag") == "burst") & done).quantile(0.99, "linear"),
            drops=pl.col("drops").sum().cast(pl.Int64),
        )
        .collect()
        .sort(*KEYS, "replica")
    )


def no_longer(tables: Tables) -> Judgement:
    """The means over seeds of the 99th percentile, ABM over dynamic thresholds, with each transport and burst."""
    points = tables["points"]
    if points.filter(pl.col("short_p99_ms").is_not_null()).height != 2 * len(TRANSPORTS) * len(BURSTS):
        return not_reached("there are not all transports, or flows have not ended")
    ratios = {}
    for transport in TRANSPORTS:
        for burst in BURSTS:
            of = points.filter(protocol=transport, burst=burst)
            active, dynamic = (of.filter(buffer=name)["short_p99_ms"].item() for name in (ABM, DT))
            ratios[f"{transport} at {burst:g}"] = active / dynamic
    measured = ", ".join(f"{name} {ratio:.3g}" for name, ratio in ratios.items())
    return judged(max(ratios.values()) <= 1, measured, f"at most 1 times that under {DT}")


def draw(points: pl.DataFrame, panels: Sequence["Axes"]) -> None:
    """Tails by burst: of web search flows in the first panel, of incasts in the second."""
    measures = {"short_p99_ms": "web search, up to 100 KB", "burst_p99_ms": "flows of incasts"}
    for axes, (measure, title) in zip(panels, measures.items(), strict=True):
        for place, transport in enumerate(TRANSPORTS):
            for buffer, dash in ((DT, "--"), (ABM, "-")):
                rows = points.filter(protocol=transport, buffer=buffer).sort("burst")
                style.curve(axes, rows, "burst", measure, place, f"{transport}, {buffer}", linestyle=dash)
        axes.set(xlabel="burst / memory", ylabel="p99 of the FCT (ms)", yscale="log", title=title)
    panels[0].set(ylim=(0.02, None))
    panels[0].legend(loc="lower center", ncols=2, fontsize=7)
