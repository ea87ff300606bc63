"""DeTail: tails of queries on a lossless network whose switches choose ports by bytes, against priorities and ECMP.

Zats et al., "DeTail: reducing the flow completion time tail in datacenter networks", SIGCOMM 2012. Queries are in the
first of eight classes, long flows in the last. The network is that of the paper's simulation, from memory: eight racks
of twelve servers, four spines, 1 Gbps.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _asymmetry

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PRIORITY, PAUSES, DETAIL = "priorities, ECMP", "priorities, ECMP, pauses", "DeTail"
SIZES_KB = (2, 8, 32)
# Of the hosts' links; cables between leaves and spines have 2.65 times as much of theirs.
QUERIES, LONG = 0.2, 0.08
LOWER, SAME = 0.7, (0.8, 1.25)
TAIL, MEDIAN = "p99_9_ms", "p50_ms"
_DROPS: dict[str, Any] = {"preset": "datacentre", "rto_min": "10ms"}
_WAITS: dict[str, Any] = {"preset": "datacentre", "rto_min": "50ms", "dupack_threshold": 1000}
_LOSSLESS = {"lossless": {"xoff": "11546B", "xon": "4838B"}}
# By name: balancer, queue and TCP.
SCHEMES: dict[str, tuple[Any, Any, Any]] = {
    PRIORITY: ("per-flow", {"strict-priority": {"limit": {"bytes": "128KB"}}}, _DROPS),
    PAUSES: ("per-flow", _LOSSLESS, _WAITS),
    DETAIL: ("detail", _LOSSLESS, _WAITS),
}


def plans(scale: Scale) -> dict[str, Plan]:
    """Queries of three sizes, equally many of each, beside long flows; for a given time."""
    leaves, hosts = scale.pick((2, 4), (8, 12))
    start, end = scale.pick(("2ms", "60ms"), ("50ms", "550ms"))

    def entry(name: str, of_class: int, load: float, size: str, **more: Any) -> dict[str, Any]:
        arrivals = {"poisson": {"load": round(load, 5)}}
        flows = {"name": name, "class": of_class, "arrivals": arrivals, "matrix": "uniform"}
        return flows | {"sizes": {"fixed": size}} | more

    base = {
        "topology": {
            "leaf-spine": {
                "leaves": leaves,
                "spines": 4,
                "hosts": hosts,
                "rate": "1Gbps",
                "delay": "5us",
                "spine": {"rate": f"{hosts * 1000 // 12}Mbps"},
            }
        },
        "traffic": [
            *(
                entry(f"queries-{size}KB", 0, QUERIES * size / sum(SIZES_KB), f"{size}KB")
                for size in SIZES_KB
            ),
            entry("long", 7, LONG, "1MB", background=True),
        ],
        "run": {"measure": {"from": start, "until": end}},
    }
    balancers, queues, tcp = zip(*SCHEMES.values(), strict=True)
    axis = Axis(
        "scheme",
        {
            "routing.balancer": list(balancers),
            "queue": list(queues),
            "transport": [{"tcp": one} for one in tcp],
        },
        labels=list(SCHEMES),
    )
    return {"racks": Plan(base, [axis], scale.pick(1, 5), name="racks")}


def tables(sweeps: Sweeps) -> Tables:
    """Percentiles of queries of each size and of all, of each run; and their means."""
    flows = sweeps["racks"].flows.filter("measured").collect()
    keys = ["scheme", "size_kb", "replica"]
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed").all()
    by_size = flows.with_columns(size_kb=pl.col("size_bytes") // 1000)
    every = pl.concat([by_size, by_size.with_columns(size_kb=pl.lit(0, by_size.schema["size_kb"]))])
    runs = every.group_by(keys).agg(
        pl.when(done).then(fct_ms.quantile(0.5, "linear")).alias(MEDIAN),
        pl.when(done).then(fct_ms.quantile(0.99, "linear")).alias("p99_ms"),
        pl.when(done).then(fct_ms.quantile(0.999, "linear")).alias(TAIL),
        flows=pl.len().cast(pl.Int64),
        drops=pl.col("drops").sum().cast(pl.Int64),
        timeouts=pl.col("timeouts").sum().cast(pl.Int64),
        reordered=pl.col("reordered").sum().cast(pl.Int64),
    )
    runs = runs.with_columns(pl.col("size_kb").cast(pl.Int64)).sort(keys)
    return {"runs": runs, "points": replica_means(runs, keys[:2], [MEDIAN, "p99_ms", TAIL])}


def _ratio(tables: Tables, column: str) -> tuple[float, float] | None:
    """DeTail's mean over seeds of a percentile of all queries, and that of priorities with ECMP."""
    pair = [_asymmetry.mean_of(tables["runs"], column, scheme=name, size_kb=0) for name in (DETAIL, PRIORITY)]
    return None if pair[0] is None or not pair[1] else (pair[0], pair[1])


def _tail(tables: Tables) -> Judgement:
    pair = _ratio(tables, TAIL)
    if pair is None:
        return not_reached(_asymmetry.MISSING)
    measured = f"{pair[0] / pair[1]:.2f}: {pair[0]:.2f} of {pair[1]:.2f} ms"
    return judged(pair[0] <= LOWER * pair[1], measured, f"at most {LOWER}")


def _median(tables: Tables) -> Judgement:
    pair = _ratio(tables, MEDIAN)
    if pair is None:
        return not_reached(_asymmetry.MISSING)
    ratio = pair[0] / pair[1]
    measured = f"{ratio:.2f}: {pair[0]:.3f} of {pair[1]:.3f} ms"
    return judged(SAME[0] <= ratio <= SAME[1], measured, f"{SAME[0]} to {SAME[1]}")


def draw(tables: Tables) -> "Picture":
    """Median, 99th and 99.9th percentile by size of the query."""
    picture, panels = style.panels(1, 3, size=(3.4, 2.8))
    columns = {MEDIAN: "median FCT (ms)", "p99_ms": "p99 of the FCT (ms)", TAIL: "p99.9 of the FCT (ms)"}
    for axes, (column, words) in zip(panels, columns.items(), strict=True):
        for place, scheme in enumerate(SCHEMES):
            rows = tables["points"].filter(pl.col("size_kb") > 0, scheme=scheme).sort("size_kb")
            style.curve(axes, rows, "size_kb", column, place, scheme)
        axes.set(xlabel="size of the query (KB)", ylabel=words, xscale="log", yscale="log")
        axes.set_xticks(SIZES_KB, [str(size) for size in SIZES_KB])
        axes.set_xticks([], minor=True)
    handles = panels[0].get_legend_handles_labels()
    picture.legend(*handles, loc="outside upper center", ncols=len(SCHEMES))
    return picture


FIGURE = Figure(
    id="LIT-DETAIL",
    title="DeTail: tails of queries against priorities with ECMP",
    plans=plans,
    tables=tables,
    claims={"LIT-DETAIL.a": _tail, "LIT-DETAIL.b": _median},
    draw=draw,
    needs={"runs": Needs(5, by=("scheme", "size_kb"))},
    assumed=(
        "Eight leaves of 12 hosts and four spines, 1 Gbps and 5 us a cable, three times oversubscribed (quick scale: "
        "two leaves of 4, cables of a third of a Gbps). Uniform queries of 2, 8 and 32 KB, equally many, carry 0.2 of "
        "the hosts' links, flows of 1 MB 0.08: together three quarters of the cables above the leaves. Half a second "
        "is measured.",
        "Priorities and ECMP: ports of 128 KB for eight classes, TCP with timeouts of 10 ms. DeTail: ports that pause "
        "a class above 11,546 B of an input and resume it at 4838, TCP that takes no duplicate acknowledgement for a "
        "loss, timeouts of 50 ms. All these are from memory of the paper.",
        "Switches queue at outputs, as if their crossbars had no limit, where DeTail's queue at inputs, too; they "
        "pause by bytes of a class, DeTail's by bytes of a class and those before it. Hosts have no other buffer that "
        "restores the order than TCP's.",
    ),
)
