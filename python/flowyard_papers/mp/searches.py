"""Figure 2.1: breadth-first search for the path of a Nix-vector, as it is and with neighbours in random order.

Connections from node 010 to node 201 of FT(4,3), whose 4 shortest paths figure 1.4 shows; and, where it matters which
random order, from host 0 to host 1 of a network with 4 shortest paths that do not divide evenly: 3 by one neighbour, 1
by the other.
"""

from collections.abc import Mapping
from functools import partial
from math import erfc, exp, pi, sqrt
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import _connections

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SEARCHES = {"plain": "first", "shuffled": "shuffled", "uniform": "uniform"}
TREE, UNEVEN = "FT(4,3)", "3 + 1"
PATHS, DRAWS, SIGNIFICANT = 4, 200, 0.01
_CABLES = (
    *(("host 0", "switch a"), ("switch a", "switch b"), ("switch a", "switch c"), ("switch d", "host 1")),
    *(
        edge
        for middle in "123"
        for edge in (("switch b", f"switch {middle}"), (f"switch {middle}", "switch d"))
    ),
    *(("switch c", "switch 4"), ("switch 4", "switch d")),
)
NETWORKS: Mapping[str, tuple[dict[str, Any], tuple[int, int]]] = {
    TREE: ({"fat-tree": {"k": 4}}, (2, 9)),
    UNEVEN: (
        {
            "explicit": {
                "hosts": ["host 0", "host 1"],
                "switches": [{"name": f"switch {name}"} for name in "abcd1234"],
                "cables": [{"ends": list(ends)} for ends in _CABLES],
            }
        },
        (0, 1),
    ),
}


def plans(scale: Scale) -> dict[str, Plan]:
    """Each search in both networks."""
    number = scale.pick(400, 2000)
    scenarios = [_connections.scenario(topology, [pair] * number) for topology, pair in NETWORKS.values()]
    axes = [
        Axis("network", scenarios=scenarios, labels=list(NETWORKS)),
        Axis("search", {"routing.balancer.nix.search": list(SEARCHES.values())}, labels=list(SEARCHES)),
    ]
    return {"paths": Plan(None, axes, 1, name="paths")}


def tables(sweeps: Sweeps) -> Tables:
    """For each search the connections that took each path, all of them and those of the first 200."""
    found = _connections.paths(sweeps["paths"])
    counts = found.group_by("network", "search", "nodes", "one_path", "hops").agg(
        connections=pl.len().cast(pl.Int64),
        of_first_200=(pl.col("connection") < DRAWS).sum().cast(pl.Int64),
    )
    return {"paths": counts.sort("network", "search", "nodes")}


def _counts(tables: Tables, search: str, column: str = "connections") -> list[int]:
    """How many connections took each path of the fat-tree, most first; those that took none are not there."""
    rows = tables["paths"].filter(pl.col(column) > 0, network=TREE, search=search, one_path=True, hops=6)
    return sorted(rows[column].to_list(), reverse=True)


def chance(counts: list[int]) -> float:
    """Probability that four equally likely paths differ as much in number: chi-square with 3 degrees of freedom."""
    expected = sum(counts) / PATHS
    x = sum((count - expected) ** 2 for count in [*counts, *[0] * (PATHS - len(counts))]) / expected
    return erfc(sqrt(x / 2)) + sqrt(2 * x / pi) * exp(-x / 2)


def _same_or_all(tables: Tables) -> Judgement:
    """The plain search finds one path, however often; the shuffled one all, and nothing else, in 200 draws."""
    plain, shuffled = _counts(tables, "plain"), _counts(tables, "shuffled", "of_first_200")
    if sum(plain) < DRAWS or sum(shuffled) < DRAWS:
        return judge.not_reached("fewer than 200 connections on shortest paths")
    return judge.together(
        [
            judge.exactly(len(plain), 1).called("paths of the plain search"),
            judge.exactly(len(shuffled), PATHS).called("of the shuffled one"),
        ]
    )


def _equal(tables: Tables, search: str) -> Judgement:
    counts = _counts(tables, search)
    if sum(counts) < DRAWS:
        return judge.not_reached("fewer than 200 connections on shortest paths")
    p = chance(counts)
    found = judge.judged(p > SIGNIFICANT, f"p = {p:.3g} of {', '.join(map(str, counts))}", "p > 0.01")
    return found.because("the paths are not equally likely")


def _quarter(tables: Tables) -> Judgement:
    return judge.by_reading({f"{name} search": _equal(tables, name) for name in ("shuffled", "uniform")})


def draw(tables: Tables) -> "Picture":
    """Share of connections on each path."""
    picture, panels = style.panels(1, 2)
    for panel, network in zip(panels, NETWORKS, strict=True):
        paths = tables["paths"].filter(network=network, one_path=True)["nodes"].unique().to_list()
        paths.sort(key=partial(_name, network))
        for place, search in enumerate(SEARCHES):
            rows = tables["paths"].filter(network=network, search=search)
            of = dict(rows.select("nodes", "connections").iter_rows())
            shares = [100 * of.get(path, 0) / sum(of.values()) for path in paths]
            where = [path + 0.27 * (place - 1) for path in range(len(paths))]
            panel.bar(where, shares, 0.25, label=f"{search} search")
        panel.axhline(100 / PATHS, color="#000000", linewidth=0.9, linestyle="--")
        names = [_name(network, path) for path in paths]
        panel.set_xticks(range(len(paths)), names, fontsize=8)
        panel.set(ylim=(0, 105), ylabel="share of connections (%)")
    panels[0].set_title("FT(4,3), node 010 to node 201")
    panels[1].set_title("3 paths by switch b, 1 by switch c")
    panels[0].legend()
    return picture


def _name(network: str, path: str) -> str:
    nodes = path.split(" > ")
    return nodes[3] if network == TREE else f"{nodes[2][-1]} > {nodes[3][-1]}"


FIGURE = Figure(
    id="MP-F2.1",
    title="Figure 2.1: paths that breadth-first search finds, plain and randomised",
    plans=plans,
    tables=tables,
    claims={"MP-F2.1.a": _same_or_all, "MP-F2.1.b": _quarter},
    draw=draw,
    assumed=(
        "Each draw is a connection of its own, which opens after the one before has ended; its path is what the links' "
        "use shows.",
        "The randomised search shuffles the neighbours of each node that it visits. Where paths do not divide evenly "
        "it favours some, as the second network shows; the simulator's own choice, uniform over all shortest paths, "
        "does not.",
    ),
)
