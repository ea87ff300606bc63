"""Figure 5.1 and theorems 5.1 to 5.4: oblivious performance ratios, worst load over the least possible one.

By linear programs with exact answers on FT(4,2) and FT(4,3), by formula for the curves of figure 5.1.
"""

from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Tables
from flowyard.theory.fat_tree import FatTree
from flowyard_papers.mp._exact import exact, same, value
from flowyard_papers.mp._ratios import CURVES, DRAWN, PORTS, TREES, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def _ratio(tables: Tables, tree: FatTree, scheme: str, of: str, level: int | None) -> Fraction | None:
    rows = tables["ratios"].filter(pl.col.level.eq_missing(level), m=tree.m, n=tree.n, scheme=scheme)
    return exact(rows[of].item()) if len(rows) == 1 else None


def _best(tables: Tables) -> Judgement:
    return same(
        (
            (f"{of} of MDNVR on {tree}", _ratio(tables, tree, "MDNVR", of, None), 1)
            for tree in TREES
            for of in ("perf", "perfsw")
        ),
        "ratios",
    )


def _normal(tables: Tables) -> Judgement:
    return same(
        (
            (f"level {t} on {tree}", _ratio(tables, tree, "NR", "perfsw", t), tree.half ** (tree.n - 1 - t))
            for tree in TREES
            for t in range(tree.n)
        ),
        "ratios",
    )


def _single_links(tables: Tables) -> Judgement:
    rows = [(f"{tree}", _ratio(tables, tree, "DNVR", "perf", None), 2) for tree in TREES]
    less = [
        (f"a single path with link ratio 1 on {tree}", _exists(tables, tree, "perf", 1), "none")
        for tree in TREES
    ]
    searched = judge.all_exactly(less, "results of searches for a smaller ratio")
    return judge.together([same(rows, "ratios of DNVR"), searched])


def _single_switches(tables: Tables) -> Judgement:
    tree = FatTree(4, 3)
    rows = [
        (f"level {t}", _ratio(tables, tree, "DNVR", "perfsw", t), min(tree.half, tree.half ** (2 - t)))
        for t in range(3)
    ]
    return same(rows, "ratios")


def _lone_flow(tables: Tables) -> Judgement:
    """The ratio of one pair, and that no matrix has more: its switches' number, which a count confirms."""
    rows = []
    for tree in (*TREES, FatTree(8, 3)):
        for scheme in ("NR", "DNVR"):
            for t in range(tree.n):
                for of in ("ratio", "highest"):
                    found = value(tables["lone_flow"], of, m=tree.m, n=tree.n, scheme=scheme, level=t)
                    rows.append(
                        (f"{of} of {scheme}, level {t} of {tree}", found, tree.half ** (tree.n - 1 - t))
                    )
    return same(rows, "ratios")


def _all_levels(tables: Tables) -> Judgement:
    tree = FatTree(4, 3)
    drawn = tables["ratios"].filter(pl.col.scheme.str.starts_with(DRAWN), m=4, n=3)["scheme"].unique().sort()
    four = ["NR", "s-mod-k", "d-mod-k", "DNVR", *drawn]
    rows = [(scheme, _ratio(tables, tree, scheme, "perfsw", None), 4) for scheme in four]
    rows += [
        ("lower pod", _ratio(tables, tree, "lower pod", "perfsw", None), 2),
        ("its worst link", _ratio(tables, tree, "lower pod", "perf", None), 4),
    ]
    small, large = TREES
    least = [
        (f"a single path with ratio {limit} on {tree}", _exists(tables, tree, "perfsw", limit), said)
        for tree, limit, said in (
            (large, 1.5, "none"),
            (large, 2, "exists"),
            (small, 1, "none"),
            (small, 1.5, "exists"),
        )
    ]
    if drawn.is_empty():
        return judge.not_reached("no random paths")
    searched = judge.all_exactly(least, "results of searches for single paths")
    found = judge.together([same(rows, "ratios of schemes"), searched])
    return found.noted(
        "single paths with link load 2 and ratio 3, and with link load 3 and ratio 2, were not searched for"
    )


def _fewer_paths(tables: Tables) -> Judgement:
    """Where k is whole and divides the number of paths."""
    rows = []
    for tree in TREES:
        for k in (2, 4):
            if k <= tree.most_paths:
                scheme = f"MDNVRk, k = {k}"
                for t in range(tree.n):
                    expected = min(k, tree.half ** (tree.n - 1 - t))
                    rows += [
                        (
                            f"{of} of {scheme}, level {t} of {tree}",
                            _ratio(tables, tree, scheme, of, t),
                            expected,
                        )
                        for of in ("perf", "perfsw")
                    ]
    return same(rows, "ratios")


def _edge(tables: Tables) -> Judgement:
    rows = tables["ratios"].filter(pl.col.level == pl.col.n - 1)
    return same(
        (
            (f"{scheme} on FT({m},{n})", exact(ratio), 1)
            for scheme, m, n, ratio in rows.select("scheme", "m", "n", "perfsw").rows()
        ),
        "ratios",
    )


def _figure_5_1(tables: Tables) -> Judgement:
    rows = []
    for m in PORTS:
        paths = (m // 2) ** 2
        expected = dict(zip(CURVES, (1, min(2, paths), min(4, paths), m // 2, paths), strict=True))
        rows += [
            (f"{scheme}, m = {m}", value(tables["curves"], "ratio", m=m, scheme=scheme), ratio)
            for scheme, ratio in expected.items()
        ]
    return same(rows, "points")


def _fourfold(tables: Tables) -> Judgement:
    normal, fewer = (
        value(tables["curves"], "ratio", m=8, scheme=scheme) for scheme in ("NR", "MDNVRk, k = 4")
    )
    if normal is None or fewer is None:
        return judge.not_reached("no ratio at m = 8")
    return judge.together(
        [
            judge.exactly(f"{normal}/{fewer}", "16/4").called("ratios of NR and MDNVRk"),
            judge.exactly(float(normal / fewer), 4).called("their quotient"),
        ]
    ).noted("ceil(16/4) = 4 paths, where the text has 2")


def _exists(tables: Tables, tree: FatTree, of: str, limit: float) -> str | None:
    rows = tables["single_paths"].filter(m=tree.m, n=tree.n, of=of, limit=float(limit))
    return None if len(rows) != 1 else "exists" if rows["exists"].item() else "none"


def draw(tables: Tables) -> "Picture":
    """Figure 5.1; ratios by level as definitions 5.2 and 5.3 have them."""
    figure, (curves, levels) = style.panels(1, 2, size=(5.0, 3.2))
    for place, scheme in enumerate(CURVES):
        rows = tables["curves"].filter(scheme=scheme).sort("m")
        curves.plot(
            rows["m"], rows["ratio"], label=scheme, marker=style.MARKERS[place], color=style.COLOURS[place]
        )
    curves.set_xscale("log", base=2)
    curves.set_yscale("log", base=2)
    curves.set_xticks(PORTS, [str(m) for m in PORTS])
    curves.set(title="figure 5.1: FT(m,3), formulas", xlabel="ports m", ylabel="ratio at the core")
    shown = ("NR", "DNVR", "lower pod", "Dual", "MDNVRk, k = 2", "MDNVR")
    for place, scheme in enumerate(shown):
        rows = (
            tables["ratios"]
            .filter(m=4, n=3, scheme=scheme)
            .with_columns(pl.col.level.fill_null(-1))
            .sort("level")
        )
        levels.plot(
            rows["level"],
            rows["perfsw"],
            label=scheme,
            marker=style.MARKERS[place],
            linestyle="",
            fillstyle="none",
            markersize=12 - 1.6 * place,
            color=style.COLOURS[place],
        )
    levels.set_xticks(range(-1, 3), ["all levels", "core", "aggregation", "edge"])
    levels.set(title="FT(4,3), definitions 5.2 and 5.3", ylabel="ratio of switches")
    for panel in (curves, levels):
        panel.legend(fontsize=7)
    return figure


FIGURE = Figure(
    id="MP-F5.1",
    title="Figure 5.1 and theorems 5.1 to 5.4: oblivious performance ratios",
    tables=tables,
    claims={
        "MP-TH5.1.a": _best,
        "MP-TH5.2.a": _normal,
        "MP-TH5.3.a": _single_links,
        "MP-TH5.3.b": _single_switches,
        "MP-TH5.3.c": _lone_flow,
        "MP-TH5.3.d": _all_levels,
        "MP-TH5.4.a": _fewer_paths,
        "MP-E5.6.a": _edge,
        "MP-F5.1.a": _figure_5_1,
        "MP-F5.1.b": _fourfold,
    },
    draw=draw,
    quick="2 of 10 draws of random paths",
    assumed=(
        "The links' ratio of a level is its largest load over base load, which is the least possible maximum.",
        "MDNVRk has all pairs on the leftmost ceil(X/k) of their paths. With m = 2 there is one path, whatever k is.",
        "Which ratios single paths can have is settled at the cores, by trying all ways to share out the pairs of "
        "edge switches.",
    ),
)
