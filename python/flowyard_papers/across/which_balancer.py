"""Which balancer for which fabric, load and failure: all that choose paths anew, on two fabrics, healthy or not.

A leaf-spine whose leaves send half as much up as their hosts can, and a full fat-tree; healthy, with one cable above
the leaves (or the aggregation switches) down, or at half its rate. The links of the tier with the fault carry a load of
0.4, so that a cable at half its rate has 0.8 under a balancer that sees nothing. Web search, data mining, and web
search with incasts; DCTCP as the transport, and for web search RoCE with selective retransmission (IRN) as well.

The picture has a row for each balancer. One run is a seed: read no differences below a third into it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.across import _short_long

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

HEALTHY, DOWN, SLOW = CONDITIONS = ("healthy", "one cable down", "one cable at half its rate")
LEAVES, TREE = "leaf-spine 2:1", "fat-tree"
WEB, MINING, INCASTS = WORKLOADS = ("web search", "data mining", "web search and incasts")
DCTCP, IRN = "DCTCP", "RoCE, IRN"
# Of the links between switches that one fault is among; of payload.
LOAD, INCAST_PART = 0.4, 0.2
# The authors' gap between flowlets, and one nearer to round trips here.
GAP, SHORT_GAP = "500us", "100us"
# Hermes's thresholds of time by its paper's rules: an empty round trip takes 13 us, 65 packets wait for 78 us.
HERMES = {"rtt_low": "43us", "rtt_high": "130us", "rtt_better": "78us"}
# By name: balancer and repathing. Those that know rates use them, as their papers do.
BALANCERS: Mapping[str, tuple[Any, Any]] = {
    "ECMP": ("per-flow", None),
    "WCMP": ("weighted", None),
    "FlowBender": ("per-flow", {"flow-bender": {}}),
    "PLB": ("per-flow", {"plb": {"suspend": "10ms"}}),
    "LetFlow": ({"letflow": {"gap": GAP}}, None),
    "LetFlow, 100 us": ({"letflow": {"gap": SHORT_GAP}}, None),
    "FLARE": ({"flare": {"gap": GAP}}, None),
    "CONGA": ({"conga": {"gap": GAP}}, None),
    "ConWeave": ("conweave", None),
    "Hermes": ({"hermes": HERMES}, None),
    "Presto": ({"presto": {"weights": "capacity", "reorder_timeout": "100us"}}, None),
    "DRB": ({"drb": {"weights": "capacity"}}, None),
    "permuted": ("permuted", None),
    "per packet": ("per-packet", None),
    "DRILL": ("drill", None),
    "DeTail": ("detail", None),
    "adaptive": ("adaptive", None),
}
QUICK = ("ECMP", "LetFlow", "CONGA", "per packet", "DRILL")
LEAVES_ALONE = ("CONGA", "ConWeave", "Hermes")
# Repathing is TCP's, and Hermes learns from marks that TCP's senders see.
TCP_ALONE = ("FlowBender", "PLB", "Hermes")
KEYS = ["condition", "workload", "balancer"]
MEASURES = {
    "short_p99_slowdown": "p99 slowdown, up to 100 KB",
    "long_mean_slowdown": "mean slowdown, above 1 MB",
}
# Colour, marker and place in the row.
LOOKS: Mapping[tuple[str, str], tuple[str, str, float]] = {
    (DCTCP, WEB): (style.COLOURS[0], "o", -0.27),
    (DCTCP, MINING): (style.COLOURS[1], "s", -0.09),
    (DCTCP, INCASTS): (style.COLOURS[2], "^", 0.09),
    (IRN, WEB): (style.COLOURS[3], "D", 0.27),
}
_TCP = {"preset": "datacentre", "congestion": "dctcp", "sack": True, "rack": True, "tail_loss_probe": True}
_IRN = {"roce": {"congestion": "dctcp", "recovery": "irn"}}


def _fabrics(scale: Scale) -> dict[str, tuple[dict[str, Any], float, list[str]]]:
    """By name: topology, load of the hosts for `LOAD` of the links between switches, and the cable with the fault."""
    leaves, hosts, k = scale.pick((2, 4, 4), (4, 8, 4))
    # Half as many spines as a leaf has hosts; of uniform traffic this much leaves the leaf, or the pod.
    crossing = hosts * (leaves - 1) / (leaves * hosts - 1)
    tree_hosts = k**3 // 4
    tree_crossing = (tree_hosts - k**2 // 4) / (tree_hosts - 1)
    spine = {"leaves": leaves, "spines": hosts // 2, "hosts": hosts, "rate": "10Gbps", "delay": "1us"}
    return {
        LEAVES: ({"leaf-spine": spine}, LOAD / 2 / crossing, ["leaf 0", "spine 0"]),
        TREE: (
            {"fat-tree": {"k": k, "rate": "10Gbps", "delay": "1us"}},
            LOAD / tree_crossing,
            ["pod 0 aggregation 0", "core 0"],
        ),
    }


def _faults(cable: list[str]) -> Axis:
    changes: list[Any] = [None, "down", {"rate": "5Gbps"}]
    events = [
        [] if change is None else [{"at": "0s", "target": {"cable": cable}, "change": change}]
        for change in changes
    ]
    return Axis("condition", {"faults.events": events}, labels=list(CONDITIONS))


def _entry(load: float, sizes: str, flows: int) -> dict[str, Any]:
    arrivals = {"poisson": {"load": round(load, 4)}}
    return {"name": "flows", "arrivals": arrivals, "matrix": "uniform", "sizes": sizes, "flows": flows}


def _workloads(scale: Scale, load: float, names: tuple[str, ...]) -> Axis:
    """Data mining is run from an empty network to an empty one: a warm-up of its largest flows would take seconds."""
    flows = scale.pick(40, 700)
    incasts = {
        "name": "incasts",
        "arrivals": {"poisson": {"load": round(INCAST_PART * load, 4), "each": "round"}},
        "matrix": {"incast": {"senders": 6, "receiver": "random"}},
        "sizes": {"fixed": "32KB"},
        "flows": flows,
    }
    web = _entry((1 - INCAST_PART) * load, "web-search", flows)
    made = {
        WEB: ([_entry(load, "web-search", flows)], scale.pick("all", "auto")),
        MINING: ([_entry(load, "data-mining", flows // 2)], "all"),
        INCASTS: ([web, incasts], scale.pick("all", "auto")),
    }
    traffic, measure = zip(*(made[name] for name in names), strict=True)
    return Axis("workload", {"traffic": list(traffic), "run.measure": list(measure)}, labels=list(names))


def _balancers(scale: Scale, fabric: str, transport: str) -> Axis:
    """Those that the fabric and the transport permit."""
    names = [
        name
        for name in BALANCERS
        if not (fabric == TREE and name in LEAVES_ALONE)
        and not (transport == IRN and name in TCP_ALONE)
        and name in scale.pick(QUICK, tuple(BALANCERS))
    ]
    transports: list[Any] = [
        _IRN if transport == IRN else {"tcp": _TCP | ({"repath": repath} if repath else {})}
        for repath in (BALANCERS[name][1] for name in names)
    ]
    return Axis(
        "balancer",
        {"routing.balancer": [BALANCERS[name][0] for name in names], "transport": transports},
        labels=names,
    )


def plans(scale: Scale) -> dict[str, Plan]:
    """A plan for each fabric and transport."""
    queue = {"ecn": {"limit": {"packets": 250}, "threshold": {"packets": 65}}}
    made = {}
    for fabric, (topology, load, cable) in _fabrics(scale).items():
        for transport, workloads in ((DCTCP, scale.pick((WEB, INCASTS), WORKLOADS)), (IRN, (WEB,))):
            base = {"topology": topology, "queue": queue, "run": {"until": "60s"}}
            axes = [
                _faults(cable),
                _workloads(scale, load, workloads),
                _balancers(scale, fabric, transport),
            ]
            name = f"{fabric}, {transport}"
            made[_folder(fabric, transport)] = Plan(base, axes, 1, name=name)
    return made


def _folder(fabric: str, transport: str) -> str:
    return f"{'leaves' if fabric == LEAVES else 'tree'}-{'roce' if transport == IRN else 'dctcp'}"


def tables(sweeps: Sweeps) -> Tables:
    """One row per run."""
    parts = [
        _short_long.runs(sweeps[_folder(fabric, transport)], KEYS).select(
            pl.lit(fabric).alias("fabric"), pl.lit(transport).alias("transport"), pl.all()
        )
        for fabric in (LEAVES, TREE)
        for transport in (DCTCP, IRN)
    ]
    return {"runs": pl.concat(parts)}


def draw(tables: Tables) -> "Picture":
    """Of each fabric a row of panels: both measures under each condition, a row of dots for each balancer."""
    picture, panels = style.panels(2, 6, size=(2.5, 4.6))
    runs = tables["runs"]
    names = [name for name in BALANCERS if name in set(runs["balancer"])]
    places = [
        (fabric, measure, one) for fabric in (LEAVES, TREE) for measure in MEASURES for one in CONDITIONS
    ]
    for place, (axes, (fabric, measure, condition)) in enumerate(zip(panels, places, strict=True)):
        own = runs.filter(fabric=fabric, condition=condition)
        for (transport, workload), (colour, marker, shift) in LOOKS.items():
            look = {
                "color": colour,
                "marker": marker,
                "shift": shift,
                "markersize": 3.8,
                "label": f"{workload}, {transport}",
            }
            rows = own.filter(transport=transport, workload=workload)
            _short_long.dots(axes, rows, "balancer", names, measure, look)
        _short_long.rows_of(axes, names, labelled=place % 6 == 0)
        axes.set_xscale("log")
        axes.set_title(f"{fabric}\n{condition}", fontsize=8.5)
        axes.set_xlabel(MEASURES[measure], fontsize=8.5)
    for start in range(0, 12, 3):
        _share(panels[start : start + 3])
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


def _share(panels: list[Any]) -> None:
    """The panels of one fabric and measure have one scale."""
    ends = [axes.get_xlim() for axes in panels]
    for axes in panels:
        axes.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
        _short_long.round_numbers(axes)


FIGURE = Figure(
    id="ALL-6",
    title="Which balancer for which fabric, load and failure",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        "32 hosts under 4 leaves with 4 spines, 2 to 1 oversubscribed, and a fat-tree of 16 hosts (k = 4); 10 Gbps and "
        "1 us a cable. One cable, leaf 0 to spine 0 or aggregation switch 0 of pod 0 to core 0, is down or at half its "
        "rate from before the run, so that routes know of the first.",
        "The load of the tier of that cable is 0.4 of payload in both, that of hosts 0.26 and 0.5. In the third "
        "workload a fifth of it is incasts: 6 hosts, drawn anew each time, send 32 KB each to another one.",
        "700 web-search flows are measured behind a warm-up, and as many of incasts; 350 of data mining from an empty "
        "network on, as a warm-up would take longer than they. One seed, the same flows under all balancers; the 99th "
        "percentile rests on the three or four slowest short flows, of incasts on 90.",
        "DCTCP with SACK and RACK-TLP, which takes packets out of order for lost after a quarter of a round trip, "
        "timeouts of 5 ms and a handshake; ports of 250 packets that mark above 65. RoCE with DCTCP's control and IRN, "
        "over the same ports.",
        "Flowlets end after 500 us, as in the authors' testbeds, and under LetFlow after 100 us as well; PLB counts "
        "round trips again 10 to 20 ms after a timeout. Presto and DRB weigh paths by capacity, Presto's hosts hold "
        "packets out of order for up to 100 us. DeTail is its choice of ports alone, without its lossless network. "
        "Hermes has the thresholds of time that its paper's rules give for this network, and no probes. All else are "
        "defaults. CONGA, ConWeave and Hermes are for leaves and spines; FlowBender, PLB and Hermes are TCP's.",
        "Balancers of fixed paths (single, nix, dual, mod-k, valiant, spain) are left out: none looks at load.",
    ),
)
