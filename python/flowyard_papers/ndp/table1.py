"""Table 1: the numbers of a k-ary fat-tree, for k = 4, 8 and 10, and what section 2 says of its paths.

All is counted on generated networks: nodes and cables, shortest paths by breadth-first search. That the tree does not
block is shown link by link: traffic that each pair divides equally among its shortest paths, and for every link the
permutation that loads it most, which is an assignment of targets to sources of the greatest weight. All pairs and links
are there, none stands for others.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Tables
from flowyard.topology import network
from flowyard.topology.paths import Paths
from flowyard_papers.ndp import _fat_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Those of the table, of the experiments, and of the claims on loads.
SIZES = (4, 6, 8, 10, 12)
LOADED = (4, 6, 8)

# What table 1 prints for k = 4, 8 and 10; the total stands for edge and for aggregation switches.
PRINTED = {
    "servers": (16, 128, 250),
    "core switches": (4, 16, 25),
    "edge switches in a pod": (2, 4, 5),
    "aggregation switches in a pod": (2, 4, 5),
    "edge switches": (8, 24, 50),
    "aggregation switches": (8, 24, 50),
    "ports of a switch": (4, 8, 10),
    "paths between pods": (4, 16, 50),
}


def tables() -> Tables:
    """The same at both scales: all is exact."""
    numbers, pairs, cores, loads = [], [], [], []
    for k in SIZES:
        tree = network({"topology": {"fat-tree": {"k": k}}})
        paths, pods = Paths.of(tree), _fat_tree.pods(tree)
        nearness = _fat_tree.nearness(tree, pods)
        for name, values in _fat_tree.numbers(tree, pods, paths, nearness["different pods"]).items():
            printed = dict(zip((4, 8, 10), PRINTED[name], strict=True)).get(k)
            row = {"k": k, "quantity": name, "fewest": min(values), "most": max(values), "printed": printed}
            numbers.append(row)
        pairs += [{"k": k} | row for row in _fat_tree.pairs(paths, nearness)]
        cores.append({"k": k} | _fat_tree.core_links(tree, pods))
        if k in LOADED:
            loads += [{"k": k} | row for row in _fat_tree.worst_permutations(tree, paths)]
    return {
        "numbers": pl.DataFrame(numbers),
        "pairs": pl.DataFrame(pairs),
        "core_links": pl.DataFrame(cores),
        "worst_permutations": pl.DataFrame(loads),
    }


def _counted(tables: Tables, k: int, quantity: str, which: str = "most") -> int | None:
    found = tables["numbers"].filter(pl.col.k == k, pl.col.quantity == quantity)
    return int(found[which].item()) if len(found) == 1 else None


def _are(tables: Tables, k: int, expected: Mapping[str, int]) -> Judgement:
    rows = [
        (f"{quantity} ({which})", _counted(tables, k, quantity, which), value)
        for quantity, value in expected.items()
        for which in ("fewest", "most")
    ]
    return judge.all_exactly(rows, f"counts at k = {k}")


def _column(k: int, *expected: int) -> Callable[[Tables], Judgement]:
    """The claim on a column of table 1: servers, cores, both kinds in a pod, either in all, ports, paths."""
    servers, cores, edge, aggregation, total, ports, paths = expected
    values = (servers, cores, edge, aggregation, total, total, ports, paths)
    return lambda tables: _are(tables, k, dict(zip(PRINTED, values, strict=True)))


def _experiments(tables: Tables) -> Judgement:
    six, ten = (_counted(tables, k, "servers") or 0 for k in (6, 10))
    rounded = [
        ("15 % of the servers at k = 6", round(0.15 * six), 8),
        ("30 % of the servers at k = 10", round(0.30 * ten), 75),
    ]
    return judge.together(
        [
            _are(tables, 6, {"servers": 54}),
            _are(tables, 12, {"core switches": 36, "ports of a switch": 12}),
            judge.all_exactly(rounded, "shares of servers"),
        ]
    )


def _numbers_of_paths(tables: Tables) -> Judgement:
    found = {(row["k"], row["servers_in"]): row for row in tables["pairs"].iter_rows(named=True)}
    rows = [
        (f"k = {k}, {near} ({which})", found.get((k, near), {}).get(f"paths_{which}"), expected)
        for k in SIZES
        for near, expected in (("one edge switch", 1), ("one pod", k // 2), ("different pods", k * k // 4))
        for which in ("fewest", "most")
    ]
    return judge.all_exactly(rows, "numbers of paths")


def _one_link(tables: Tables) -> Judgement:
    found = {row["k"]: row for row in tables["core_links"].iter_rows(named=True)}
    rows = [
        (f"k = {k}, {column}", found.get(k, {}).get(column), expected)
        for k in SIZES
        for column, expected in (("cores_x_pods", k * k // 4 * k), ("links_fewest", 1), ("links_most", 1))
    ]
    return judge.all_exactly(rows, "numbers of links")


def _non_blocking(tables: Tables) -> Judgement:
    loads = tables["worst_permutations"]
    links = {k: loads.filter(pl.col.k == k)["links"].sum() for k in LOADED}
    # Three tiers of k^3/4 cables, both ways.
    missing = [f"k = {k}" for k in LOADED if links[k] != 6 * k**3 // 4]
    if missing:
        return judge.not_reached(f"loads of some links are missing at {', '.join(missing)}")
    over = [
        f"{row['from_tier']} to {row['to_tier']} at k = {row['k']}"
        for row in loads.filter(pl.col.load_most > 1).iter_rows(named=True)
    ]
    return judge.at_most(max(loads["load_most"]), 1).because(f"links with more: {', '.join(over)}")


def draw(tables: Tables) -> "Picture":
    """Table 1 as curves, with its misprints; paths by nearness; the loads of the worst permutations."""
    figure, (counts, pairs, loads) = style.panels(1, 3)
    numbers = tables["numbers"].filter(~pl.col.quantity.str.contains("aggregation|ports|in a pod"))
    for place, ((name,), rows) in enumerate(numbers.group_by("quantity", maintain_order=True)):
        name = "edge, or aggregation, switches" if name == "edge switches" else name
        counts.plot(rows["k"], rows["most"], marker=style.MARKERS[place], label=name)
    wrong = numbers.filter(pl.col.printed != pl.col.most)
    counts.plot(wrong["k"], wrong["printed"], "kx", markersize=7)
    for row in wrong.iter_rows(named=True):
        said, at = f"table 1 prints\n{row['printed']} {row['quantity']}", (row["k"], row["printed"])
        aside = (row["k"], 6 if row["k"] == 10 else 1)
        counts.annotate(said, at, aside, ha="center", va="center", arrowprops={"arrowstyle": "-"})
    counts.set(xlabel="k, pods and ports", title="size", yscale="log", ylim=(0.5, 20000))
    for place, ((name,), rows) in enumerate(tables["pairs"].group_by("servers_in", maintain_order=True)):
        pairs.plot(rows["k"], rows["paths_most"], marker=style.MARKERS[place], label=f"servers in {name}")
    pairs.set(xlabel="k", title="shortest paths of a pair")
    kinds = tables["worst_permutations"].with_columns(pl.concat_str("from_tier", "to_tier", separator=" to "))
    for place, ((k,), rows) in enumerate(kinds.group_by("k", maintain_order=True)):
        height = [row + 0.25 * (1 - place) for row in range(len(rows))]
        loads.barh(height, rows["load_most"], 0.22, label=f"k = {k}", color=style.COLOURS[place])
        loads.set_yticks(range(len(rows)), rows["from_tier"])
    loads.axvline(1, color="black", linestyle=":")
    loads.set(xlim=(0, 1.6), xlabel="load / rate of a link", title="worst permutation, equal shares")
    loads.grid(axis="y", visible=False)
    for panel in (counts, pairs, loads):
        panel.legend(loc="upper left" if panel is not loads else "center right")
    for panel in (counts, pairs):
        panel.set_xticks(SIZES)
    return figure


FIGURE = Figure(
    id="NDP-T1",
    title="Table 1: a fat-tree of k pods, and its paths",
    tables=tables,
    claims={
        "NDP-T1.a": _column(4, 16, 4, 2, 2, 8, 4, 4),
        "NDP-T1.b": _column(8, 128, 16, 4, 4, 32, 8, 16),
        "NDP-T1.c": _column(10, 250, 25, 5, 5, 50, 10, 25),
        "NDP-T1.d": _experiments,
        "NDP-T1.e": _numbers_of_paths,
        "NDP-T1.g": _non_blocking,
        "NDP-T1.f": _one_link,
    },
    draw=draw,
    assumed=(
        "Shares of servers are rounded to whole ones: 15 % of 54 are 8.1.",
        "A permutation may leave servers out: one that it maps to itself sends nothing.",
    ),
)
