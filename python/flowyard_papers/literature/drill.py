"""DRILL beside CONGA, Presto and ECMP on a symmetric network of leaves and spines.

Ghorbani et al., "DRILL: micro load balancing for low-latency data center networks", SIGCOMM 2017. Each packet takes the
shortest of two random queues and of the best of the last choice; packets of a flow may overtake each other.
"""

from typing import TYPE_CHECKING, Any

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _asymmetry
from flowyard_papers.literature._asymmetry import GAP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DRILL, CONGA, PRESTO, ECMP = "DRILL", "CONGA", "Presto", "ECMP"
BALANCERS: dict[str, Any] = {
    DRILL: "drill",
    CONGA: {"conga": {"gap": GAP}},
    PRESTO: {"presto": {"reorder_timeout": "100us"}},
    ECMP: "per-flow",
}
LOADS = (0.3, 0.5, 0.8)
GAIN = 1.1
KEYS = ["scheme", "load"]


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes at three loads, of the hosts' links and of the cables above the leaves alike."""
    hosts = scale.pick(2, 8)
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": 4,
                "spines": 4,
                "hosts": hosts,
                "rate": "10Gbps",
                "delay": "1us",
                "spine": {"rate": f"{hosts * 2500}Mbps"},
            }
        },
        "transport": {"tcp": _asymmetry.TCP},
        "queue": {"drop-tail": {"limit": {"bytes": "1MB"}}},
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"poisson": {"load": LOADS[0]}},
                # To any host in the same place of another leaf: all traffic goes by the spines.
                "matrix": {"stride": {"by": [hosts, 2 * hosts, 3 * hosts]}},
                "sizes": "web-search",
                "flows": scale.pick(60, 1000),
            }
        ],
        "run": {"measure": scale.pick("all", {"from": "30ms", "drain": "0s"})},
    }
    axes = [
        Axis("scheme", {"routing.balancer": list(BALANCERS.values())}, labels=list(BALANCERS)),
        Axis("load", {"traffic.flows.arrivals.poisson.load": list(LOADS)}, labels=list(LOADS)),
    ]
    return {"leaves": Plan(base, axes, scale.pick(1, 5), name="leaves")}


def tables(sweeps: Sweeps) -> Tables:
    """Completion times of each run, and their means."""
    return _asymmetry.completion(sweeps["leaves"], KEYS)


def _sooner(tables: Tables) -> Judgement:
    """The means of both others over DRILL's, at the highest load."""
    load = max(LOADS)
    means = {
        name: _asymmetry.mean_of(tables["runs"], "fct_mean_ms", scheme=name, load=load)
        for name in (DRILL, CONGA, PRESTO)
    }
    ours = means.pop(DRILL)
    ratios = {name: mean / ours for name, mean in means.items() if mean is not None and ours}
    if len(ratios) < len(means):
        return not_reached(_asymmetry.MISSING)
    said = ", ".join(f"{name} / {DRILL} {ratio:.2f}" for name, ratio in ratios.items())
    return judged(min(ratios.values()) >= GAIN, f"{said} at {load}", f"at least {GAIN} of each")


def draw(tables: Tables) -> "Picture":
    """Means of all flows, tails of short ones and means of long ones, by load."""
    picture, panels = style.panels(1, 3, size=(3.4, 2.8))
    measures = _asymmetry.MEASURES | {"long_mean_ms": "mean FCT above 1 MB (ms)"}
    for axes, (measure, words) in zip(panels, measures.items(), strict=True):
        _asymmetry.curves(axes, tables["points"], BALANCERS, measure)
        axes.set(xlabel="load", ylabel=words, yscale="log")
    handles = panels[0].get_legend_handles_labels()
    picture.legend(*handles, loc="outside upper center", ncols=len(BALANCERS))
    return picture


FIGURE = Figure(
    id="LIT-DRILL",
    title="DRILL beside CONGA, Presto and ECMP on a symmetric network",
    plans=plans,
    tables=tables,
    claims={"LIT-DRILL.a": _sooner},
    draw=draw,
    needs={"runs": Needs(5, by=tuple(KEYS), least={"flows": 1000})},
    assumed=(
        "Four leaves of 8 hosts of 10 Gbps, four spines, cables of 20 Gbps; web search flows, each to another leaf, so "
        "that loads of hosts and of cables are equal (quick scale: 2 hosts a leaf, cables of 5 Gbps).",
        "1000 flows are measured behind a warm-up of 30 ms, with arrivals that end with them (quick scale: 60, from an "
        "empty network).",
        "TCP with SACK and RACK-TLP, which takes packets out of order for lost only after a quarter of a round trip; "
        "ports of 1 MB. DRILL has no buffer that restores the order, Presto's hosts have one of 100 us. DRILL reads "
        "queues at the instant of the choice. Flowlets of CONGA end after 500 us.",
    ),
)
