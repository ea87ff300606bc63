"""FlowBender and PLB beside ECMP on a fat-tree: completion times by load, and how evenly links are used.

Kabbani et al., "FlowBender: flow-level adaptive routing for improved latency and throughput in datacenter networks",
CoNEXT 2014. Qureshi et al., "PLB: congestion signals are simple and effective for network load balancing", SIGCOMM
2022, whose numbers are of a fleet: their signs are tested here.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _asymmetry

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ECMP, FLOWBENDER, PLB = "ECMP", "FlowBender", "PLB"
REPATHING: dict[str, Any] = {
    ECMP: {},
    FLOWBENDER: {"repath": {"flow-bender": {}}},
    PLB: {"repath": {"plb": {"suspend": "10ms"}}},
}
LOADS, PLB_LOAD = (0.4, 0.5, 0.6), 0.5
KEYS = ["scheme", "load"]
IMBALANCE = "imbalance"
SIGNS = {
    IMBALANCE: "median imbalance",
    "drops": "packets dropped",
    "short_p99_ms": "p99 FCT to 100 KB (ms)",
}


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes at three loads."""
    tcp = [_asymmetry.DCTCP | repath for repath in REPATHING.values()]
    base = {
        "topology": {"fat-tree": {"k": scale.pick(4, 8), "rate": "10Gbps", "delay": "1us"}},
        "routing": {"balancer": "per-flow"},
        "queue": {"ecn": {"limit": {"packets": 250}, "threshold": {"packets": 65}}},
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"poisson": {"load": LOADS[0]}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": scale.pick(60, 1000),
            }
        ],
        "run": {"measure": scale.pick("all", {"from": "15ms", "drain": "0s"})},
    }
    axes = [
        Axis("scheme", {"transport.tcp": tcp}, labels=list(REPATHING)),
        Axis("load", {"traffic.flows.arrivals.poisson.load": list(LOADS)}, labels=list(LOADS)),
    ]
    return {"tree": Plan(base, axes, scale.pick(1, 5), name="tree")}


def _uplinks(sweep: Sweep) -> pl.DataFrame:
    """Of each run the median over switches of the difference between their most and least used links upwards."""
    keys = [*KEYS, "replica"]
    above = sweep.links.filter(
        (pl.col("tier") == "edge-aggregation") | (pl.col("tier") == "aggregation-core")
    ).with_columns(pl.col("from").cast(pl.String))
    return (
        above.group_by([*keys, "from"])
        .agg(range=pl.col("utilisation").max() - pl.col("utilisation").min())
        .group_by(keys)
        .agg(pl.col("range").median().alias(IMBALANCE))
        .collect()
    )


def tables(sweeps: Sweeps) -> Tables:
    """Completion times, imbalance and drops of each run, and their means."""
    runs = _asymmetry.completion(sweeps["tree"], KEYS)["runs"]
    runs = runs.join(_uplinks(sweeps["tree"]), on=[*KEYS, "replica"]).sort([*KEYS, "replica"])
    columns = [*_asymmetry.MEASURES, "long_mean_ms", IMBALANCE, "drops", "timeouts"]
    return {"runs": runs, "points": replica_means(runs, KEYS, columns)}


def _less(tables: Tables, scheme: str, places: list[tuple[str, str, float]]) -> Judgement:
    """Whether a scheme has less than ECMP, or both nothing, of each measure at a load.

    Args:
        tables: With the runs.
        scheme: FlowBender or PLB.
        places: Column, its words, load.
    """
    said, holds = [], True
    for column, words, load in places:
        own, ecmp = (
            _asymmetry.mean_of(tables["runs"], column, scheme=name, load=load) for name in (scheme, ECMP)
        )
        if own is None or ecmp is None:
            return not_reached(_asymmetry.MISSING)
        holds = holds and (own < ecmp or own == ecmp == 0)
        said.append(f"{own:.3g} against {ecmp:.3g} ({words}, {load})")
    return judged(holds, "; ".join(said), "less than under ECMP in each")


def _flowbender(tables: Tables) -> Judgement:
    measures = _asymmetry.MEASURES.items()
    return _less(tables, FLOWBENDER, [(column, words, load) for load in LOADS for column, words in measures])


def _plb(tables: Tables) -> Judgement:
    return _less(tables, PLB, [(column, words, PLB_LOAD) for column, words in SIGNS.items()])


def draw(tables: Tables) -> "Picture":
    """Completion times, imbalance and drops by load."""
    picture, panels = style.panels(1, 4, size=(3.0, 2.8))
    measures = _asymmetry.MEASURES | {IMBALANCE: "imbalance of uplinks", "drops": "packets dropped"}
    for axes, (measure, words) in zip(panels, measures.items(), strict=True):
        _asymmetry.curves(axes, tables["points"], REPATHING, measure)
        axes.set(xlabel="load", ylabel=words, ylim=(0, None))
    handles = panels[0].get_legend_handles_labels()
    picture.legend(*handles, loc="outside upper center", ncols=len(REPATHING))
    return picture


FIGURE = Figure(
    id="LIT-FLOWBENDER",
    title="FlowBender and PLB beside ECMP on a fat-tree",
    plans=plans,
    tables=tables,
    claims={"LIT-FLOWBENDER.a": _flowbender, "LIT-FLOWBENDER.b": _plb},
    draw=draw,
    needs={"runs": Needs(5, by=tuple(KEYS), least={"flows": 1000})},
    assumed=(
        "A fat-tree of 128 hosts (k = 8), 10 Gbps and 1 us a cable; uniform web search flows, 1000 of them measured "
        "behind a warm-up of 15 ms, with arrivals that end with them (quick scale: k = 4, 60 from an empty network).",
        "DCTCP with SACK and RACK-TLP under all three, ports of 250 packets that mark above 65. FlowBender changes the "
        "path after one round trip with more than 5 % of marks, PLB after 12 with at least half of them, or 3 if "
        "nothing is in flight; it counts again 10 to 20 ms after a timeout, in place of a minute.",
        "Imbalance is the difference between the use of the most and of the least used link upwards of a switch, while "
        "flows are measured; its median is over switches. Drops are those of measured flows.",
    ),
)
