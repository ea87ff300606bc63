"""Figure 1.5: equal-cost multi-path routing, three paths of cost 5 from a source to a destination.

The text does not have the picture. Ours: the source's router, three branches of two routers, the destination's router;
a path is five cables long.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard.topology import network
from flowyard.topology.paths import path_counts
from flowyard_papers.mp import _connections

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BRANCHES = ("red", "blue", "black")
COST = 5
TOPOLOGY = {
    "explicit": {
        "hosts": ["host 0", "host 1"],
        "switches": [{"name": name} for name in ("first", "last")]
        + [{"name": f"{name} {place}"} for name in BRANCHES for place in (1, 2)],
        "cables": [{"ends": ends} for ends in (["host 0", "first"], ["last", "host 1"])]
        + [
            {"ends": list(ends)}
            for name in BRANCHES
            for ends in (("first", f"{name} 1"), (f"{name} 1", f"{name} 2"), (f"{name} 2", "last"))
        ],
    }
}


def plans(scale: Scale) -> dict[str, Plan]:
    """Flows from the source to the destination, one after another."""
    base = _connections.scenario(TOPOLOGY, [(0, 1)] * scale.pick(100, 600))
    return {"flows": Plan(base, set={"routing.balancer": "per-flow"}, name="flows")}


def tables(sweeps: Sweeps) -> Tables:
    """The paths of equal cost; one row per flow, with the links that its packets used."""
    distance, count = path_counts(network({"topology": TOPOLOGY}))
    flows = _connections.paths(sweeps["flows"]).select("connection", "nodes", "hops", "one_path")
    return {
        "paths": pl.DataFrame([{"cost": int(distance[0, 1]), "paths": int(count[0, 1])}]),
        "flows": flows,
    }


def _all_used(tables: Tables) -> Judgement:
    """Three paths of cost 5; each is some flow's; each flow has one."""
    flows = tables["flows"]
    one = flows.filter(hops=COST, one_path=True)
    paths = tables["paths"].row(0, named=True)
    return judge.all_exactly(
        [
            ("the cost", paths["cost"], COST),
            ("the number of paths of that cost", paths["paths"], len(BRANCHES)),
            ("the number of paths in use", one["nodes"].n_unique(), len(BRANCHES)),
            ("the number of flows on one path", len(one), len(flows)),
        ],
        "numbers",
    )


def draw(tables: Tables) -> "Picture":
    """The network, each branch as wide as its share of the flows."""
    picture, (panel,) = style.panels()
    places: dict[str, tuple[int, int]] = {"host 0": (0, 0), "first": (1, 0), "last": (4, 0), "host 1": (5, 0)}
    places |= {f"{name} {at}": (at + 1, 1 - row) for row, name in enumerate(BRANCHES) for at in (1, 2)}
    flows = tables["flows"].filter("one_path")
    for name, colour in zip(BRANCHES, (style.COLOURS[1], style.COLOURS[0], "#000000"), strict=True):
        share = flows["nodes"].str.contains(f"{name} 1").mean()
        assert isinstance(share, float)
        along = [places[node] for node in ("first", f"{name} 1", f"{name} 2", "last")]
        panel.plot(*zip(*along, strict=True), color=colour, linewidth=15 * share, alpha=0.75, zorder=1)
        panel.text(2.5, along[1][1] + 0.2, f"{100 * share:.1f} % of flows", ha="center", fontsize=8.5)
    for ends in (("host 0", "first"), ("last", "host 1")):
        panel.plot(
            *zip(*(places[node] for node in ends), strict=True), color="#999999", linewidth=15, zorder=1
        )
    for node, (x, y) in places.items():
        host = node.startswith("host")
        panel.scatter(
            [x], [y], s=170, marker="s" if host else "o", color="#ffffff", edgecolor="#000000", zorder=2
        )
    panel.text(0, -0.25, "source", ha="center")
    panel.text(5, -0.25, "destination", ha="center")
    panel.set(xlim=(-0.5, 5.6), ylim=(-1.4, 1.5), title=f"{len(flows)} flows, by the hash of their headers")
    panel.axis("off")
    return picture


FIGURE = Figure(
    id="MP-F1.5",
    title="Figure 1.5: per-flow ECMP over three paths of cost 5",
    plans=plans,
    tables=tables,
    claims={"MP-F1.5.a": _all_used},
    draw=draw,
    assumed=(
        "The cost of a path is its number of cables. Flows differ in their ports, and have ten packets each; one runs "
        "at a time, so that the links' use shows its path.",
    ),
)
