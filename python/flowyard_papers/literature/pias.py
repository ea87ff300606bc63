"""PIAS against DCTCP alone: web search flows on the leaf-spine network of its authors' simulation.

Bai et al., "Information-Agnostic Flow Scheduling for Commodity Data Centers", NSDI 2015, and their code for ns-2
(PIAS-NS2): 144 hosts of 10 Gbps in 9 racks, 4 spines, 240 packets per port, marks above 65 of them, thresholds for each
load. DCTCP alone is the same with one class, as there. Goodput is what all hosts together receive.

The flows are measured at the load, behind a warm-up and with arrivals that go on. By a second reading they are all
flows, from an empty network on: then the network carries little more than half of the load.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, loads, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DCTCP, PIAS = "DCTCP", "PIAS"
CLASSES = {DCTCP: 1, PIAS: 8}
SEGMENT = 1460
# PIAS-NS2, web search: full segments after which a flow sinks by a class, by load.
THRESHOLDS: Mapping[float, tuple[int, ...]] = {
    0.5: (1059, 1412, 1643, 1869, 2008, 2115, 2184),
    0.6: (956, 1381, 1718, 2028, 2297, 2551, 2660),
    0.7: (999, 1305, 1564, 1763, 1956, 2149, 2309),
    0.8: (909, 1329, 1648, 1960, 2143, 2337, 2484),
}
GOODPUT_KEPT = 0.97
HOST_BPS = 10_000_000_000
KEYS = ["reading", "scheme", "load"]


def plans(scale: Scale) -> dict[str, Plan]:
    """Four loads, by both readings of the number of flows."""
    leaves, spines, hosts = scale.pick((2, 2, 4), (9, 4, 16))
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": leaves,
                "spines": spines,
                "hosts": hosts,
                "host": {"rate": "10Gbps", "delay": "20.2us"},
                "spine": {"rate": "40Gbps", "delay": "200ns"},
            }
        },
        "routing": {"balancer": "per-packet"},
        "transport": {
            "tcp": {
                "congestion": "dctcp",
                "initial_window": 70,
                "receive_window": f"{239 * SEGMENT}B",
                "delayed_ack": 1,
                "dupack_threshold": 1000,
                "handshake": False,
                "rto_min": "2ms",
                "rto_initial": "2ms",
                "tagging": {},
            }
        },
        "queue": {"strict-priority": {"limit_counts_wire": False}},
        "traffic": [
            {
                "name": "web-search",
                "arrivals": {"poisson": {"load": 0.5}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": scale.pick(400, 5000),
            }
        ],
    }
    thresholds = [[f"{SEGMENT * count}B" for count in counts] for counts in THRESHOLDS.values()]
    axes = [
        loads.readings(),
        Axis("scheme", {"queue.strict-priority.classes": list(CLASSES.values())}, labels=list(CLASSES)),
        Axis(
            "load",
            {
                "traffic.web-search.arrivals.poisson.load": list(THRESHOLDS),
                "transport.tcp.tagging.thresholds": thresholds,
            },
            labels=list(THRESHOLDS),
        ),
    ]
    return {"racks": Plan(base, axes, scale.pick(1, 5), name="racks")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; null where not all measured flows have ended."""
    size, fct_ms, done = pl.col("size_bytes"), pl.col("fct_ps") / 1e9, pl.col("completed").all()
    ranges = {
        "short": size <= 100_000,
        "medium": size.is_between(100_001, 10_000_000),
        "long": size > 10_000_000,
    }
    measures = {f"fct_{name}_ms": fct_ms.filter(inside).mean() for name, inside in ranges.items()}
    measures["fct_short_p99_ms"] = fct_ms.filter(ranges["short"]).quantile(0.99, "linear")
    sweep, keys = sweeps["racks"], [*KEYS, "replica"]
    runs = (
        sweep.flows.filter("measured")
        .group_by(keys)
        .agg(
            *(pl.when(done).then(measure).alias(name) for name, measure in measures.items()),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
            drops=pl.col("drops").sum().cast(pl.Int64),
        )
        .collect()
    )
    built = next(iter(sweep.summaries().values()))["scenario"]["topology"]["leaf-spine"]
    gbps = built["leaves"] * built["hosts"] * HOST_BPS / 1e9
    own = loads.of_runs(sweep, KEYS)
    runs = runs.join(own, on=keys, validate="1:1").sort(keys)
    runs = runs.with_columns(goodput_gbps=gbps * pl.col("carried_load"))
    columns = [*measures, "goodput_gbps", *loads.COLUMNS]
    return {"runs": runs, "points": replica_means(runs, KEYS, columns)}


def _pairs(tables: Tables, column: str) -> list[tuple[float, float, float]] | None:
    """At each load the means under DCTCP and PIAS; None if some are missing."""
    runs = tables["runs"]
    found = []
    for load in THRESHOLDS:
        pair = [runs.filter(scheme=scheme, load=load)[column] for scheme in CLASSES]
        dctcp, pias = (None if values.null_count() else values.mean() for values in pair)
        if not isinstance(dctcp, float) or not isinstance(pias, float):
            return None
        found.append((load, dctcp, pias))
    return found


MISSING = "not all flows of all loads have ended"


def _short_sooner(tables: Tables) -> Judgement:
    pairs = _pairs(tables, "fct_short_ms")
    if pairs is None:
        return judge.not_reached(MISSING)
    measured = ", ".join(f"{100 * (pias / dctcp - 1):+.0f} % at {load:g}" for load, dctcp, pias in pairs)
    return judge.judged(all(pias < dctcp for _, dctcp, pias in pairs), measured, "less at every load")


def _goodput_kept(tables: Tables) -> Judgement:
    pairs = _pairs(tables, "goodput_gbps")
    if pairs is None:
        return judge.not_reached(MISSING)
    return judge.at_least(min(pias / dctcp for _, dctcp, pias in pairs), GOODPUT_KEPT)


def draw(tables: Tables) -> "Picture":
    """Mean FCT of short, medium and long flows, by load; measured at it."""
    picture, panels = style.panels(1, 4, size=(3.0, 2.8))
    shown = {
        "fct_short_ms": ("up to 100 KB", "mean FCT (ms)"),
        "fct_short_p99_ms": ("up to 100 KB", "p99 of the FCT (ms)"),
        "fct_medium_ms": ("up to 10 MB", "mean FCT (ms)"),
        "fct_long_ms": ("above 10 MB", "mean FCT (ms)"),
    }
    for axes, (column, (title, label)) in zip(panels, shown.items(), strict=True):
        for place, scheme in enumerate(CLASSES):
            rows = tables["points"].filter(scheme=scheme, reading=loads.AT_LOAD).sort("load")
            style.curve(axes, rows, "load", column, place, scheme)
        axes.set(xlabel="load", ylabel=label, title=title, ylim=(0, None))
    panels[0].legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="LIT-PIAS",
    title="PIAS: short flows end sooner than under DCTCP alone",
    plans=plans,
    tables=tables,
    claims={
        "LIT-PIAS.a": loads.by_reading(["runs"], _short_sooner),
        "LIT-PIAS.b": loads.by_reading(["runs"], _goodput_kept),
    },
    draw=draw,
    needs={"runs": Needs(5, by=("scheme", "load"))},
    assumed=(
        "As in PIAS-NS2: 20 us in each host, which its cable has here, and 0.2 us a cable; packets sprayed, so that "
        "duplicate acknowledgements say nothing; a window of 70 packets at first and 239 at most; a timeout of at "
        "least 2 ms; every segment acknowledged; the packet on the wire does not count as one in the queue.",
        "Unlike there, what is lost is sent again from the first lost packet on: TCP has no selective "
        "acknowledgements here. Hosts serve their own flows in turns, not by class.",
        "Full scale has 5000 flows on 144 hosts; quick scale 400 on 8. By the second reading they are all flows.",
        *loads.ASSUMED,
    ),
)
