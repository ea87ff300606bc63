"""Figure 1.4, FT(4,3) and its paths, with definition 1.1; figures 3.2 to 3.4: FT(2,2), FT(4,2) and FT(4,3).

Sizes, heights and shortest paths are counted on generated trees. Figure 1.4 highlights the paths from node 010 to node
201: so does ours, in the labels of definition 1.1.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Scale, Tables
from flowyard.topology import Network
from flowyard.topology.paths import Paths, search
from flowyard_papers.mp._labels import labels, levels, sub_trees, tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

# Heights by ports.
QUICK = {2: range(1, 7), 4: range(1, 6), 8: range(1, 4), 16: range(1, 4), 32: range(3, 4)}
FULL = {2: range(1, 13), 4: range(1, 9), 8: range(1, 6), 16: range(1, 5), 32: range(3, 4)}
DRAWN = ((2, 2), (4, 2), (4, 3))
SOURCE, TARGET = "P(010)", "P(201)"
# Trees with more nodes are searched from their first node, not from all; and those with more, not core by core.
SEARCHED, CORE_BY_CORE = 1024, 512


def tables(scale: Scale) -> Tables:
    """Sizes of trees; ways from nodes to cores; cables and paths of the drawn trees."""
    sizes, ways, cables, pairs = [], [], [], []
    for m, heights in scale.pick(QUICK, FULL).items():
        for n in heights:
            key, built = {"m": m, "n": n}, tree(m, n)
            sizes.append(key | _size(built))
            if built.hosts <= CORE_BY_CORE and n > 1:
                ways.append(key | _ways(built))
            if (m, n) in DRAWN:
                cables += [key | row for row in _cables(built, m, n)]
            if (m, n) == (4, 3):
                pairs += [key | row for row in _pairs(built)]
    named = {"sizes": sizes, "ways": ways, "cables": cables, "pairs": pairs}
    return {name: pl.DataFrame(rows) for name, rows in named.items()}


def _size(built: Network) -> dict[str, int]:
    sources = range(built.hosts if built.hosts <= SEARCHED else 1)
    distance, count = (found[:, : built.hosts] for found in search(built, sources))
    ports = [(least, most) for tier, (_, least, most) in built.ports().items() if tier != "host"]
    farthest = int(distance.max())
    return {
        "nodes": built.hosts,
        "switches": len(built.nodes) - built.hosts,
        "ports_fewest": min(least for least, _ in ports),
        "ports_most": max(most for _, most in ports),
        # Half of the longest way goes up.
        "height": farthest // 2 + 1,
        "searched_from": len(sources),
        "paths_fewest": int(count[distance == farthest].min()),
        "paths_most": int(count[distance == farthest].max()),
    }


def _ways(built: Network) -> dict[str, int]:
    """Between nodes and cores, and between nodes of different top sub-fat-trees through a core: the paths."""
    paths, level = Paths.of(built), levels(built)
    top = sub_trees(built, level, int(level.max()) - 1)[: built.hosts]
    apart = top[:, None] != top[None, :]
    cores = np.flatnonzero(level == 0).tolist()
    down = paths.count[:, cores]
    through = [paths.through_node(core)[apart] for core in cores]
    return {
        "cores": len(cores),
        "node_to_core_fewest": int(down.min()),
        "node_to_core_most": int(down.max()),
        "through_core_fewest": int(min(each.min() for each in through)),
        "through_core_most": int(max(each.max() for each in through)),
    }


def _cables(built: Network, m: int, n: int) -> Iterable[dict[str, Any]]:
    """Lower and upper end of each cable, and how many paths from 010 to 201 use it."""
    names, level, paths = labels(m, n), levels(built), Paths.of(built)
    pair = (names.index(SOURCE), names.index(TARGET)) if SOURCE in names else None
    for place, cable in enumerate(built.cables):
        lower, upper = sorted((cable.a, cable.b), key=lambda end: -level[end])
        used = sum(int(paths.through_link(link)[pair]) for link in (2 * place, 2 * place + 1)) if pair else 0
        yield {
            "lower": names[lower],
            "lower_level": int(level[lower]),
            "upper": names[upper],
            "paths_010_201": used,
        }


def _pairs(built: Network) -> Iterable[dict[str, Any]]:
    """The paths from node 010 of FT(4,3) to all others."""
    names, (distance, count) = labels(4, 3), Paths.of(built).between_hosts()
    source = names.index(SOURCE)
    for target in set(range(built.hosts)) - {source}:
        yield {
            "source": SOURCE,
            "target": names[target],
            "links": int(distance[source, target]),
            "paths": int(count[source, target]),
        }


def _row(table: pl.DataFrame, **where: Any) -> dict[str, Any]:
    """The row with these values; nothing if there is no such row."""
    found = table.filter([pl.col(name) == value for name, value in where.items()])
    return found.row(0, named=True) if len(found) == 1 else {}


def _figure_1_4(tables: Tables) -> Judgement:
    size, pair = _row(tables["sizes"], m=4, n=3), _row(tables["pairs"], source=SOURCE, target=TARGET)
    rows = [
        ("nodes", size.get("nodes"), 16),
        ("switches", size.get("switches"), 20),
        (f"paths from {SOURCE} to {TARGET}", pair.get("paths"), 4),
    ]
    return judge.all_exactly(rows, "counts of FT(4,3)")


def _formulas(tables: Tables) -> Judgement:
    rows = []
    for m, heights in QUICK.items():
        known = tables["sizes"].filter(pl.col.m == m)["n"].to_list()
        for n in sorted({*heights, *known}):
            row, half = _row(tables["sizes"], m=m, n=n), m // 2
            expected = {
                "nodes": 2 * half**n,
                "switches": (2 * n - 1) * half ** (n - 1),
                "height": n + 1,
                **dict.fromkeys(("paths_fewest", "paths_most"), half ** (n - 1)),
                **dict.fromkeys(("ports_fewest", "ports_most"), m),
            }
            rows += [(f"{name} of FT({m},{n})", row.get(name), value) for name, value in expected.items()]
    largest = judge.exactly(_row(tables["sizes"], m=32, n=3).get("nodes"), 8192).called("nodes of FT(32,3)")
    return judge.together([judge.all_exactly(rows, "counts"), largest])


def _one_way_down(tables: Tables) -> Judgement:
    """From each core one way to each node, one path of a pair through each core, and as many cores as paths."""
    known = set(tables["ways"].select("m", "n").iter_rows())
    needed = {(m, n) for m, heights in QUICK.items() for n in heights if n > 1}
    trees = sorted(known | {(m, n) for m, n in needed if 2 * (m // 2) ** n <= CORE_BY_CORE})
    rows: list[tuple[str, int | None, int | None]] = []
    for m, n in trees:
        row, size = _row(tables["ways"], m=m, n=n), _row(tables["sizes"], m=m, n=n)
        ways = ("node_to_core_fewest", "node_to_core_most", "through_core_fewest", "through_core_most")
        rows += [(f"{name} of FT({m},{n})", row.get(name), 1) for name in ways]
        rows.append((f"cores of FT({m},{n})", row.get("cores"), size.get("paths_most", 0)))
    return judge.all_exactly(rows, "counts")


def _drawn(tables: Tables) -> Judgement:
    expected = {(2, 2): (2, 3), (4, 2): (8, 6), (4, 3): (16, 20)}
    rows = [
        (f"{name} of FT({m},{n})", _row(tables["sizes"], m=m, n=n).get(name), value)
        for (m, n), values in expected.items()
        for name, value in zip(("nodes", "switches"), values, strict=True)
    ]
    return judge.all_exactly(rows, "counts")


def draw(tables: Tables) -> "Picture":
    """The three trees, cores on top; in FT(4,3) the paths from 010 to 201."""
    figure, axes = style.panels(1, 3, size=(4.6, 3.2))
    for panel, (m, n) in zip(axes, DRAWN, strict=True):
        _draw_tree(panel, tables["cables"].filter(pl.col.m == m, pl.col.n == n), n)
        size = _row(tables["sizes"], m=m, n=n)
        panel.set_title(f"FT({m},{n}): {size['nodes']} nodes, {size['switches']} switches")
    return figure


def _draw_tree(panel: "Axes", cables: pl.DataFrame, n: int) -> None:
    levels = dict(cables.select("lower", "lower_level").iter_rows())
    levels |= {name: level - 1 for name, level in cables.select("upper", "lower_level").iter_rows()}
    places: dict[str, tuple[float, int]] = {}
    for level in range(n + 1):
        row = sorted(name for name, own in levels.items() if own == level)
        places |= {name: ((place + 0.5) / len(row), n - level) for place, name in enumerate(row)}
    for lower, upper, used in cables.select("lower", "upper", "paths_010_201").iter_rows():
        ends = zip(places[lower], places[upper], strict=True)
        panel.plot(
            *ends,
            color=style.COLOURS[1] if used else "#b9bec6",
            linewidth=0.8 + 0.6 * used,
            zorder=2 if used else 1,
        )
    for name, (x, y) in places.items():
        colour = style.COLOURS[0] if levels[name] == n else "#44474d"
        text = name[2:-1] if levels[name] == n else name[3:].split(",")[0]
        box = {"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": "none"}
        panel.text(x, y, text, ha="center", va="center", fontsize=6, color="white", bbox=box)
    panel.set_yticks(range(n + 1), ["nodes", *(f"level {n - row}" for row in range(1, n + 1))])
    panel.set(xticks=[], xlim=(0, 1), ylim=(-0.3, n + 0.3))
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)


FIGURE = Figure(
    id="MP-F1.4",
    title="Figures 1.4 and 3.2 to 3.4: the fat-trees FT(m,n)",
    tables=tables,
    claims={
        "MP-F1.4.a": _figure_1_4,
        "MP-F1.4.b": _formulas,
        "MP-F1.4.c": _one_way_down,
        "MP-F3.2.a": _drawn,
    },
    draw=draw,
    quick="FT(m,n) of fewer levels: n up to 6, 5, 3, 3 for 12, 8, 5, 4 with m = 2, 4, 8, 16",
    assumed=(
        f"In trees of more than {SEARCHED} nodes height and paths are counted from the first node only.",
    ),
)
