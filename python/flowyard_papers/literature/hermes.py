"""Hermes beside CONGA, LetFlow, Presto and ECMP: slow cables, a spine that loses packets, and a black hole.

Zhang et al., "Resilient datacenter load balancing in the wild", SIGCOMM 2017. A fifth of the cables between leaves and
spines has a fifth of its rate; or one spine loses a packet in fifty; or it passes nothing to one of the leaves, and
routes do not notice.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _asymmetry
from flowyard_papers.literature._asymmetry import GAP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

HERMES, CONGA, LETFLOW, PRESTO, ECMP = "Hermes", "CONGA", "LetFlow", "Presto", "ECMP"
# By the paper's rules for 10 Gbps, an empty round trip of 13 us and marks above 65 packets, which wait for 78 us.
FIELDS = {"rtt_low": "43us", "rtt_high": "130us", "rtt_better": "78us"}
BALANCERS: dict[str, Any] = {
    HERMES: {"hermes": FIELDS},
    CONGA: {"conga": {"gap": GAP}},
    LETFLOW: {"letflow": {"gap": GAP}},
    PRESTO: {"presto": {"weights": "capacity", "reorder_timeout": "100us"}},
    ECMP: "per-flow",
}
SLOW, LOSSES, BLACK_HOLE = "slow cables", "a spine loses 2 %", "a black hole"
CONDITIONS = (SLOW, LOSSES, BLACK_HOLE)
LOAD = 0.5
KEYS = ["scheme", "condition"]
MEAN = "mean_ms"


def _faults(leaves: int, gbps: float) -> list[list[dict[str, Any]]]:
    """The faults of each condition."""
    slow = {
        "target": {"random-cables": {"share": 0.2, "tier": "leaf-spine"}},
        "change": {"rate": f"{gbps * 200:g}Mbps"},
    }
    losses = [
        {"target": {"link": ["spine 1", f"leaf {leaf}"]}, "change": {"loss": 0.02}} for leaf in range(leaves)
    ]
    hole = {"target": {"link": ["spine 1", "leaf 1"]}, "change": "down"}
    return [
        [{"at": "0s"} | slow],
        [{"at": "0s"} | one for one in losses],
        # A fault at 0 s is known to routes.
        [{"at": "1ns"} | hole],
    ]


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes under each condition, for a given time."""
    leaves, hosts = scale.pick((2, 4), (4, 8))
    gbps = hosts * 10 / 8
    crossing = hosts * (leaves - 1) / (leaves * hosts - 1)
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": leaves,
                "spines": 4,
                "hosts": hosts,
                "rate": "10Gbps",
                "delay": "1us",
                "spine": {"rate": f"{gbps:g}Gbps"},
            }
        },
        "transport": {"tcp": _asymmetry.DCTCP},
        "queue": {"ecn": {"limit": {"packets": 250}, "threshold": {"packets": 65}}},
        "faults": {"detection_delay": "10s", "events": []},
        "traffic": [
            {
                "name": "flows",
                # Half as much goes up as the hosts of a leaf send.
                "arrivals": {"poisson": {"load": round(LOAD / 2 / crossing, 4)}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": scale.pick(60, 1000),
            }
        ],
        "run": {
            "until": scale.pick("200ms", "1s"),
            "measure": scale.pick("all", {"from": "30ms", "drain": "0s"}),
        },
    }
    axes = [
        Axis("scheme", {"routing.balancer": list(BALANCERS.values())}, labels=list(BALANCERS)),
        Axis("condition", {"faults.events": _faults(leaves, gbps)}, labels=list(CONDITIONS)),
    ]
    return {"leaves": Plan(base, axes, scale.pick(1, 5), name="leaves")}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Completion times of each run, in which flows that have not ended have lasted until its end; and means."""
    end_ps = scale.pick(0.2, 1.0) * 1e12
    keys = [*KEYS, "replica"]
    lasted_ms = pl.coalesce(pl.col("fct_ps"), end_ps - pl.col("start_ps")) / 1e9
    size = pl.col("size_bytes")
    runs = (
        sweeps["leaves"]
        .flows.filter("measured")
        .group_by(keys)
        .agg(
            lasted_ms.mean().alias(MEAN),
            short_p99_ms=lasted_ms.filter(size <= _asymmetry.SHORT_BYTES).quantile(0.99, "linear"),
            flows=pl.len().cast(pl.Int64),
            unfinished=pl.col("fct_ps").null_count().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
            retransmissions=pl.col("retransmissions").sum().cast(pl.Int64),
        )
        .collect()
        .sort(keys)
    )
    return {"runs": runs, "points": replica_means(runs, KEYS, [MEAN, "short_p99_ms", "unfinished"])}


def _best(tables: Tables, condition: str, others: tuple[str, ...]) -> Judgement:
    """Whether Hermes's mean is below those of all others under a condition."""
    means = {
        name: _asymmetry.mean_of(tables["runs"], MEAN, scheme=name, condition=condition)
        for name in (HERMES, *others)
    }
    known = {name: mean for name, mean in means.items() if mean is not None}
    if len(known) < len(means):
        return not_reached("there are not all schemes")
    ours = known.pop(HERMES)
    said = ", ".join(f"{mean:.2f} under {name}" for name, mean in known.items())
    return judged(ours < min(known.values()), f"{ours:.2f} ms against {said}", "less than all others")


def _asymmetric(tables: Tables) -> Judgement:
    return _best(tables, SLOW, (CONGA,))


def _failures(tables: Tables) -> Judgement:
    others = (CONGA, LETFLOW, PRESTO, ECMP)
    return by_reading({condition: _best(tables, condition, others) for condition in (LOSSES, BLACK_HOLE)})


def draw(tables: Tables) -> "Picture":
    """Means and tails of short flows by scheme, under each condition."""
    picture, panels = style.panels(1, 2, size=(5.0, 3.0))
    columns = {MEAN: "mean FCT (ms)", "short_p99_ms": "p99 FCT to 100 KB (ms)"}
    width = 0.8 / len(BALANCERS)
    for axes, (column, words) in zip(panels, columns.items(), strict=True):
        for place, scheme in enumerate(BALANCERS):
            own = tables["points"].filter(scheme=scheme)
            values = dict(own.select("condition", column).iter_rows())
            shown = [name for name in CONDITIONS if name in values]
            at = [CONDITIONS.index(name) + width * (place - (len(BALANCERS) - 1) / 2) for name in shown]
            heights = [values[name] for name in shown]
            axes.bar(at, heights, width, color=style.COLOURS[place], label=scheme)
        axes.set_xticks(range(len(CONDITIONS)), CONDITIONS)
        axes.set(ylabel=words, yscale="log")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(BALANCERS))
    return picture


FIGURE = Figure(
    id="LIT-HERMES",
    title="Hermes beside CONGA, LetFlow, Presto and ECMP with slow cables and failures of a spine",
    plans=plans,
    tables=tables,
    claims={"LIT-HERMES.a": _asymmetric, "LIT-HERMES.b": _failures},
    draw=draw,
    needs={"runs": Needs(5, by=tuple(KEYS), least={"flows": 1000})},
    assumed=(
        "Four leaves of 8 hosts and four spines, 10 Gbps and 1 us a cable, two times oversubscribed, a load of 0.5 of "
        "the cables above the leaves (quick scale: two leaves of 4 hosts, cables of 5 Gbps). The paper's network is "
        "larger, from memory, and so are the faults: a fifth of these cables has a fifth of its rate, drawn anew for "
        "each seed; spine 1 loses a packet in fifty on the way down; or all packets to leaf 1. Routes know of none.",
        "1000 web search flows behind a warm-up of 30 ms, with arrivals that end with them (quick scale: 60, from an "
        "empty network). Flows that have not ended after a second have lasted until then (quick scale: 200 ms).",
        "DCTCP with SACK and RACK-TLP under all. Hermes has the paper's rules for its thresholds of time, and no "
        "probes. Flowlets end after 500 us. Presto weighs paths by capacity, and knows rates but not losses.",
    ),
)
