"""Load balancers on two leaves and two spines, of which one passes half as much on: CONGA's testbed.

Alizadeh et al., "CONGA: distributed congestion-aware load balancing for datacenters", SIGCOMM 2014, section 5: 64 hosts
of 10 Gbps, two cables of 40 Gbps from each leaf to each spine, one of them down. Vanini et al., "Let it flow", NSDI
2017, has LetFlow on the same network; Ghorbani et al., "DRILL", SIGCOMM 2017, and Kabbani et al., "FlowBender", CoNEXT
2014, judge their schemes on whole networks. Load is the share of the 160 Gbps between the leaves.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

HEALTHY, HALVED = "healthy", "one cable down"
ECMP, WCMP, LETFLOW, FLARE, CONGA = "ECMP", "WCMP", "LetFlow", "FLARE", "CONGA"
PRESTO, DRILL, ADAPTIVE, FLOWBENDER, PLB = "Presto", "DRILL", "adaptive", "FlowBender", "PLB"
# By scheme: balancer and repathing.
SCHEMES: dict[str, tuple[object, object]] = {
    ECMP: ("per-flow", None),
    WCMP: ("weighted", None),
    LETFLOW: ({"letflow": {"gap": "500us"}}, None),
    FLARE: ({"flare": {"gap": "500us"}}, None),
    CONGA: ({"conga": {"gap": "500us"}}, None),
    PRESTO: ("presto", None),
    DRILL: ("drill", None),
    ADAPTIVE: ("adaptive", None),
    FLOWBENDER: ("per-flow", {"flow-bender": {}}),
    PLB: ("per-flow", {"plb": {"suspend": "10ms"}}),
}
LOADS = (0.2, 0.4, 0.6)
HIGH = 0.6
# Of uniform traffic between 64 hosts, 32 of 63 parts cross the spines: load of the hosts for a load between the leaves.
CROSSING = 32 / 63
KEYS = ["network", "scheme", "load"]
MEASURES = {"fct_mean_ms": "mean FCT (ms)", "short_p99_ms": "p99 of the FCT up to 100 KB (ms)"}
CONGA_GAIN, LETFLOW_LEAST, LETFLOW_MOST, LETFLOW_HIGH, DRILL_GAIN = 2.0, 0.9, 1.3, 2.2, 1.1


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes at three loads on both networks."""
    hosts = scale.pick(4, 32)
    spine_gbps = hosts * 10 // 4
    tcp = {"preset": "datacentre", "congestion": "dctcp", "sack": True, "rack": True, "tail_loss_probe": True}
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": 2,
                "spines": 2,
                "hosts": hosts,
                "rate": "10Gbps",
                "delay": "1us",
                "spine": {"rate": f"{spine_gbps}Gbps"},
            }
        },
        "queue": "ecn",
        "run": {"measure": "auto"},
        "traffic": [
            {
                "name": "web-search",
                "arrivals": {"poisson": {"load": HIGH}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": scale.pick(300, 3000),
            }
        ],
    }
    halved = {
        "at": "0s",
        "target": {"cable": ["leaf 1", "spine 1"]},
        "change": {"rate": f"{spine_gbps * 500}Mbps"},
    }
    axes = [
        Axis("network", {"faults.events": [[], [halved]]}, labels=[HEALTHY, HALVED]),
        Axis(
            "scheme",
            {
                "routing.balancer": [balancer for balancer, _ in SCHEMES.values()],
                "transport.tcp": [
                    tcp | ({} if repath is None else {"repath": repath}) for _, repath in SCHEMES.values()
                ],
            },
            labels=list(SCHEMES),
        ),
        Axis(
            "load",
            {
                "traffic.web-search.arrivals.poisson.load": [
                    # A quarter of the rate of all hosts of a leaf goes by each spine.
                    round(load * 0.5 / CROSSING, 4)
                    for load in LOADS
                ]
            },
            labels=list(LOADS),
        ),
    ]
    return {"leaves": Plan(base, axes, scale.pick(1, 4), name="leaves")}


def tables(sweeps: Sweeps) -> Tables:
    """Per run the mean FCT, the tail of short flows, and packets out of order; null where flows did not end."""
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed").all()
    short = pl.col("size_bytes") <= 100_000
    measures = {
        "fct_mean_ms": fct_ms.mean(),
        "short_p99_ms": fct_ms.filter(short).quantile(0.99, "linear"),
    }
    keys = [*KEYS, "replica"]
    runs = (
        sweeps["leaves"]
        .flows.filter("measured")
        .group_by(keys)
        .agg(
            *(pl.when(done).then(measure).alias(name) for name, measure in measures.items()),
            reordered=pl.col("reordered").sum().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
        )
        .collect()
        .sort(keys)
    )
    return {"runs": runs, "points": replica_means(runs, KEYS, list(MEASURES))}


def _value(
    tables: Tables, network: str, scheme: str, load: float, measure: str = "fct_mean_ms"
) -> float | None:
    values = tables["runs"].filter(network=network, scheme=scheme, load=load)[measure]
    if values.is_empty() or values.null_count():
        return None
    mean = values.mean()
    return mean if isinstance(mean, float) else None


def _ratios(tables: Tables, pairs: list[tuple[str, str, str, float]]) -> dict[str, float] | None:
    """By words, of two schemes on a network at a load: the ratio of their means; None if one is missing."""
    found = {}
    for network, one, other, load in pairs:
        values = [_value(tables, network, scheme, load) for scheme in (one, other)]
        if values[0] is None or not values[1]:
            return None
        found[f"{one} / {other} at {load:g}"] = values[0] / values[1]
    return found


def _said(ratios: dict[str, float]) -> str:
    return ", ".join(f"{ratio:.2f} {name}" for name, ratio in ratios.items())


MISSING = "not all flows of all schemes have ended"


def _conga_halves_ecmp(tables: Tables) -> Judgement:
    ratios = _ratios(tables, [(HALVED, ECMP, CONGA, HIGH)])
    if ratios is None:
        return not_reached(MISSING)
    return judged(min(ratios.values()) >= CONGA_GAIN, _said(ratios), f"at least {CONGA_GAIN:g}")


def _letflow_near_conga(tables: Tables) -> Judgement:
    ratios = _ratios(tables, [(HALVED, LETFLOW, CONGA, load) for load in LOADS])
    if ratios is None:
        return not_reached(MISSING)
    holds = all(LETFLOW_LEAST <= ratio <= LETFLOW_MOST for ratio in ratios.values())
    return judged(holds, _said(ratios), f"{LETFLOW_LEAST:g} to {LETFLOW_MOST:g} at each load")


def _letflow_before_oblivious(tables: Tables) -> Judgement:
    ratios = _ratios(tables, [(HALVED, LETFLOW, other, HIGH) for other in (CONGA, WCMP, PRESTO)])
    if ratios is None:
        return not_reached(MISSING)
    bounds = (LETFLOW_HIGH, 1.0, 1.0)
    holds = all(ratio < bound for ratio, bound in zip(ratios.values(), bounds, strict=True))
    return judged(holds, _said(ratios), f"below {LETFLOW_HIGH:g} of CONGA, below WCMP and Presto")


def _drill(tables: Tables) -> Judgement:
    ratios = _ratios(tables, [(HEALTHY, other, DRILL, HIGH) for other in (CONGA, PRESTO)])
    if ratios is None:
        return not_reached(MISSING)
    return judged(min(ratios.values()) >= DRILL_GAIN, _said(ratios), f"at least {DRILL_GAIN:g} of each")


def _hosts_gain(tables: Tables) -> Judgement:
    said, holds = [], True
    for load in (0.4, HIGH):
        for measure in MEASURES:
            values = [_value(tables, HALVED, scheme, load, measure) for scheme in (FLOWBENDER, ECMP)]
            if values[0] is None or values[1] is None:
                return not_reached(MISSING)
            holds = holds and values[0] < values[1]
            said.append(f"{values[0]:.3g} against {values[1]:.3g} ms ({MEASURES[measure]}, {load:g})")
    return judged(holds, "; ".join(said), "less than ECMP in each")


def draw(tables: Tables) -> "Picture":
    """Both measures by load, on the healthy network and with a cable down."""
    picture, panels = style.panels(1, 4, size=(3.0, 2.8))
    places = [(network, measure) for network in (HEALTHY, HALVED) for measure in MEASURES]
    for axes, (network, measure) in zip(panels, places, strict=True):
        for place, scheme in enumerate(SCHEMES):
            rows = tables["points"].filter(network=network, scheme=scheme).sort("load")
            again, colour = divmod(place, len(style.COLOURS))
            style.curve(axes, rows, "load", measure, colour, scheme, linestyle=("-", "--")[again])
        axes.set(xlabel="load", ylabel=MEASURES[measure], title=network, yscale="log")
    panels[0].legend(loc="upper left", ncols=2)
    return picture


FIGURE = Figure(
    id="LIT-LB",
    title="Load balancers on two leaves and two spines, healthy and with one cable down",
    plans=plans,
    tables=tables,
    claims={
        "LIT-LB.a": _conga_halves_ecmp,
        "LIT-LB.b": _letflow_near_conga,
        "LIT-LB.c": _letflow_before_oblivious,
        "LIT-LB.d": _drill,
        "LIT-LB.e": _hosts_gain,
    },
    draw=draw,
    needs={"runs": Needs(4, by=tuple(KEYS))},
    assumed=(
        "64 hosts (quick scale: 8). The two cables of 40 Gbps between a leaf and a spine are one of 80; the failed one "
        "halves its rate both ways, so that ECMP does not see it and WCMP does.",
        "DCTCP with SACK and RACK-TLP under every scheme, which takes packets out of order for lost only after a "
        "quarter of a round trip; the papers' testbeds have TCP, DRILL and Presto a buffer that restores the order.",
        "Flowlets end after 500 us, as on the testbeds. DRILL has no decomposition of the network, Presto no weights. "
        "PLB counts round trips again 10 to 20 ms after a timeout, in place of a minute.",
        "Uniform web search flows, measured at the load: half of them between the leaves.",
    ),
)
