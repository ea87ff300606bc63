"""RepFlow and RepSYN: completion times of short web search flows among long ones, beside TCP.

Xu and Li, "RepFlow: minimizing flow completion times with replicated flows in data centers", INFOCOM 2014, abstract: a
flow of up to 100 KB over two connections, which ECMP mostly gives two paths, takes 50 to 70 % less time on average and
in the 99th percentile, at all loads. Liu et al., "RepNet: cutting tail latency in data center networks with flow
replication", 2014, abstract: RepSYN, of whose two handshakes the faster one carries the data, halves the tail, too.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TCP, REPFLOW, REPSYN = "TCP", "RepFlow", "RepSYN"
_TCP = {"preset": "datacentre"}
STACKS: dict[str, dict[str, Any]] = {
    TCP: {"tcp": _TCP},
    REPFLOW: {"repflow": {"tcp": _TCP}},
    REPSYN: {"repflow": {"tcp": _TCP, "replicate": "syn"}},
}
LOADS = (0.4, 0.6, 0.8)
SHORT_BYTES = 100_000
# At most so much of TCP's time: the paper's 50 to 70 % less are of k = 16.
MOST = 0.7
KEYS = ["stack", "load"]
MEASURES = {"mean_ms": "mean FCT (ms)", "p99_ms": "p99 of the FCT (ms)"}


def plans(scale: Scale) -> dict[str, Plan]:
    """Each transport at each load; a run ends when its short flows have, long ones may go on."""
    begin, end, until = scale.pick((100, 200, 300), (300, 500, 600))
    base = {
        "topology": {"fat-tree": {"k": scale.pick(4, 8), "rate": "1Gbps", "delay": "5us"}},
        "queue": {"drop-tail": {"limit": {"packets": 100}}},
        "traffic": [
            {
                "name": "web-search",
                "arrivals": {"poisson": {"load": LOADS[0], "until": f"{until}ms"}},
                "matrix": "uniform",
                "sizes": "web-search",
            }
        ],
        "run": {"until": f"{until}ms", "measure": {"from": f"{begin}ms", "until": f"{end}ms"}},
    }
    axes = [
        Axis("stack", {"transport": list(STACKS.values())}, labels=list(STACKS)),
        Axis("load", {"traffic.web-search.arrivals.poisson.load": list(LOADS)}, labels=LOADS),
    ]
    return {"web-search": Plan(base, axes, scale.pick(1, 5), name="web search")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: times of its short flows, null where some have not ended; and means."""
    keys = [*KEYS, "replica"]
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed").all()
    runs = (
        sweeps["web-search"]
        .flows.filter("measured", pl.col("size_bytes") <= SHORT_BYTES)
        .group_by(keys)
        .agg(
            flows=pl.len().cast(pl.Int64),
            unfinished=(~pl.col("completed")).sum().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
            mean_ms=pl.when(done).then(fct_ms.mean()),
            p99_ms=pl.when(done).then(fct_ms.quantile(0.99, "linear")),
        )
        .collect()
        .sort(keys)
    )
    return {"runs": runs, "points": replica_means(runs, KEYS, list(MEASURES))}


def _ratios(tables: Tables, stack: str, column: str) -> dict[float, float] | None:
    """By load, of the means over seeds, those under a transport over those under TCP; None if some are missing."""
    points = tables["points"]
    if points.filter(pl.col(column).is_not_null()).height < len(STACKS) * len(LOADS):
        return None
    mean = {(name, load): value for name, load, value in points.select(*KEYS, column).iter_rows()}
    return {load: mean[stack, load] / mean[TCP, load] for load in LOADS}


def _at_most(tables: Tables, stack: str, column: str, bound: float) -> Judgement:
    ratios = _ratios(tables, stack, column)
    if ratios is None:
        return not_reached("there are not all loads, or short flows have not ended")
    measured = ", ".join(f"{100 * (ratio - 1):+.0f} % at {load:g}" for load, ratio in ratios.items())
    expected = "less at every load" if bound == 1 else f"{100 * (bound - 1):+.0f} % or less at every load"
    return judged(all(ratio <= bound for ratio in ratios.values()), measured, expected)


def _mean(tables: Tables) -> Judgement:
    return _at_most(tables, REPFLOW, "mean_ms", MOST)


def _tail(tables: Tables) -> Judgement:
    return _at_most(tables, REPFLOW, "p99_ms", MOST)


def _syn(tables: Tables) -> Judgement:
    return _at_most(tables, REPSYN, "p99_ms", 1)


def draw(tables: Tables) -> "Picture":
    """Mean and 99th percentile by load."""
    picture, panels = style.panels(1, len(MEASURES))
    for axes, (column, label) in zip(panels, MEASURES.items(), strict=True):
        for place, stack in enumerate(STACKS):
            rows = tables["points"].filter(stack=stack).sort("load")
            style.curve(axes, rows, "load", column, place, stack)
        axes.set(xlabel="load", ylabel=label, ylim=(0, None), title="web search, up to 100 KB")
    panels[0].legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="LIT-REPFLOW",
    title="RepFlow and RepSYN: completion times of short web search flows by load",
    plans=plans,
    tables=tables,
    claims={"LIT-REPFLOW.a": _mean, "LIT-REPFLOW.b": _tail, "LIT-REPFLOW.c": _syn},
    draw=draw,
    needs={"points": Needs(5, by=tuple(KEYS))},
    assumed=(
        "A fat-tree of k = 8 (quick scale: 4) at 1 Gbps with 5 us a cable; the paper has k = 16, from memory. NewReno "
        "with a first window of 10 segments and no timeout below 5 ms, ports of 100 packets, a path for each "
        "connection by its hash.",
        "Short flows are those that start from 300 to 500 ms (quick scale: 100 to 200 ms); the network still fills at "
        "a load of 0.8, where a steady state takes seconds.",
        "The slower copy is sent to its end, as in the paper's simulations.",
    ),
)
