"""LetFlow beside CONGA: on CONGA's testbed with one cable down, and where each leaf has one slow cable.

Vanini et al., "Let it flow: resilient asymmetric load balancing with flowlet switching", NSDI 2017. The second network
is this project's: the fabrics that the paper simulates are not known here beyond that they are highly asymmetric.
"""

from typing import TYPE_CHECKING, Any

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _asymmetry
from flowyard_papers.literature._asymmetry import GAP

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Picture

LETFLOW, CONGA, WCMP, PRESTO = "LetFlow", "CONGA", "WCMP", "Presto"
BALANCERS: dict[str, Any] = {
    LETFLOW: {"letflow": {"gap": GAP}},
    CONGA: {"conga": {"gap": GAP}},
    WCMP: "weighted",
    PRESTO: {"presto": {"weights": "capacity", "reorder_timeout": "100us"}},
}
TESTBED_LOADS, FABRIC_LOADS = (0.2, 0.4, 0.6), (0.3, 0.5, 0.7)
NEAR, FACTOR = (0.9, 1.3), 2.2
KEYS = ["scheme", "load"]
_STACK: dict[str, Any] = {
    "transport": {"tcp": _asymmetry.TCP},
    "queue": {"drop-tail": {"limit": {"bytes": "1MB"}}},
}


def _axes(schemes: tuple[str, ...], loads: tuple[float, ...], of_hosts: float) -> list[Axis]:
    """Schemes and loads, of which hosts have so much for one of the cables above the leaves."""
    return [
        Axis("scheme", {"routing.balancer": [BALANCERS[name] for name in schemes]}, labels=list(schemes)),
        Axis(
            "load",
            {"traffic.flows.arrivals.poisson.load": [round(load * of_hosts, 5) for load in loads]},
            labels=list(loads),
        ),
    ]


def _testbed(scale: Scale) -> Plan:
    hosts = scale.pick(8, 32)
    traffic = [_asymmetry.forward(hosts, TESTBED_LOADS[0], "web-search", scale.pick(40, 1000))]
    run = {"measure": scale.pick("all", "auto")}
    base = _asymmetry.testbed(hosts) | _STACK | {"traffic": traffic, "run": run}
    return Plan(base, _axes((LETFLOW, CONGA), TESTBED_LOADS, 0.5), scale.pick(1, 5), name="testbed")


def _fabric(scale: Scale) -> Plan:
    """Four leaves and four spines; leaf i's cable to spine i has a quarter of its rate."""
    hosts = scale.pick(2, 8)
    gbps = hosts * 2.5
    slow = [
        {
            "at": "0s",
            "target": {"cable": [f"leaf {place}", f"spine {place}"]},
            "change": {"rate": f"{gbps * 250:g}Mbps"},
        }
        for place in range(4)
    ]
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": 4,
                "spines": 4,
                "hosts": hosts,
                "rate": "10Gbps",
                "delay": "1us",
                "spine": {"rate": f"{gbps:g}Gbps"},
            }
        },
        "faults": {"events": slow},
        **_STACK,
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"poisson": {"load": 0.3}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": scale.pick(40, 1000),
            }
        ],
        "run": {"measure": scale.pick("all", {"from": "30ms", "drain": "0s"})},
    }
    # As many hosts as a leaf's cables have rate; of uniform traffic this part crosses them.
    crossing = 3 * hosts / (4 * hosts - 1)
    axes = _axes(tuple(BALANCERS), FABRIC_LOADS, 1 / crossing)
    return Plan(base, axes, scale.pick(1, 5), name="fabric")


def plans(scale: Scale) -> dict[str, Plan]:
    """Both networks, at three loads each."""
    return {"testbed": _testbed(scale), "fabric": _fabric(scale)}


def tables(sweeps: Sweeps) -> Tables:
    """Completion times of each run and their means, of both networks."""
    found: dict[str, pl.DataFrame] = {}
    for name in ("testbed", "fabric"):
        own = _asymmetry.completion(sweeps[name], KEYS)
        found |= {name: own["runs"], f"{name}-points": own["points"]}
    return found


def _ratio(tables: Tables, network: str, other: str, load: float) -> float | None:
    """Of LetFlow's mean over that of another scheme, as means over seeds."""
    means = [
        _asymmetry.mean_of(tables[network], "fct_mean_ms", scheme=name, load=load)
        for name in (LETFLOW, other)
    ]
    return None if means[0] is None or not means[1] else means[0] / means[1]


def _near_conga(tables: Tables) -> Judgement:
    ratios = {load: _ratio(tables, "testbed", CONGA, load) for load in TESTBED_LOADS}
    known = {load: ratio for load, ratio in ratios.items() if ratio is not None}
    if len(known) < len(ratios):
        return not_reached(_asymmetry.MISSING)
    said = ", ".join(f"{ratio:.2f} at {load}" for load, ratio in known.items())
    holds = all(NEAR[0] <= ratio <= NEAR[1] for ratio in known.values())
    return judged(holds, said, f"{NEAR[0]} to {NEAR[1]} at each load")


def _resilient(tables: Tables) -> Judgement:
    load = max(FABRIC_LOADS)
    ratios = {other: _ratio(tables, "fabric", other, load) for other in (CONGA, WCMP, PRESTO)}
    known = {other: ratio for other, ratio in ratios.items() if ratio is not None}
    if len(known) < len(ratios):
        return not_reached(_asymmetry.MISSING)
    said = ", ".join(f"{ratio:.2f} of {other}" for other, ratio in known.items())
    holds = known[CONGA] <= FACTOR and known[WCMP] < 1 and known[PRESTO] < 1
    return judged(holds, f"{said} at {load}", f"at most {FACTOR} of CONGA, less than WCMP and Presto")


def draw(tables: Tables) -> "Picture":
    """Mean completion times and tails of short flows by load, of both networks."""
    picture, panels = style.panels(1, 4, size=(3.0, 2.8))
    titles = {"testbed": "one cable down", "fabric": "a cable of each leaf at a quarter"}
    places = [(network, measure) for network in titles for measure in _asymmetry.MEASURES]
    for axes, (network, measure) in zip(panels, places, strict=True):
        _asymmetry.curves(axes, tables[f"{network}-points"], BALANCERS, measure)
        axes.set(xlabel="load", ylabel=_asymmetry.MEASURES[measure], title=titles[network], yscale="log")
    handles = panels[2].get_legend_handles_labels()
    picture.legend(*handles, loc="outside upper center", ncols=len(BALANCERS))
    return picture


FIGURE = Figure(
    id="LIT-LETFLOW",
    title="LetFlow beside CONGA, WCMP and Presto on two asymmetric networks",
    plans=plans,
    tables=tables,
    claims={"LIT-LETFLOW.a": _near_conga, "LIT-LETFLOW.b": _resilient},
    draw=draw,
    needs={
        "testbed": Needs(5, by=tuple(KEYS), least={"flows": 1000}),
        "fabric": Needs(5, by=tuple(KEYS), least={"flows": 1000}),
    },
    assumed=(
        "Testbed: that of LIT-CONGA, 64 hosts of 10 Gbps, two cables of 40 Gbps between a leaf and a spine, one of "
        "spine 1 down, each host of leaf 0 to one of leaf 1; loads are of leaf 0's 160 Gbps (quick scale: 16 hosts).",
        "Fabric: four leaves of 8 hosts, four spines, cables of 20 Gbps, of which leaf i's to spine i has 5; uniform "
        "flows, loads are of a leaf's 80 Gbps, of which 65 are left (quick scale: 2 hosts a leaf).",
        "1000 web search flows behind a warm-up, on the fabric of 30 ms, with arrivals that end with them (quick "
        "scale: 40, from an empty network). TCP with SACK and RACK-TLP, ports of 1 MB. Flowlets end after 500 us, as "
        "on the testbeds, from memory of the papers.",
        "Presto weighs paths by capacity and its hosts hold packets out of order for up to 100 us; WCMP has weights "
        "by capacity.",
    ),
)
