"""Tables 3.1 and 3.2: the largest loads of links and switches that any traffic makes, by routing scheme. Chapter 3.

Over base load, the most that a node sends or receives. For each link and switch the worst permutation is found by
matching; single-path routings with given worst loads by integer program.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Tables
from flowyard.theory import bounds
from flowyard.theory import tables as printed
from flowyard.theory.fat_tree import FatTree
from flowyard_papers.mp._bounded import as_searched, load_of, most_of, within_bounds
from flowyard_papers.mp._exact import exact, same, text
from flowyard_papers.mp._worst import (
    BAD,
    D_MOD_K,
    DNVR,
    DRAWS,
    DUAL,
    LINK,
    NR,
    PRINTED,
    S_MOD_K,
    SWITCH,
    THREE_QUARTERS,
    tables,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def _normal_routing(tables: Tables) -> Judgement:
    return same(
        (
            (
                f"level {t} of {tree}",
                load_of(tables, tree.m, tree.n, NR, SWITCH, t),
                bounds.any_switch(tree, t),
            )
            for tree in printed.TREES
            for t in range(tree.n)
        ),
        "worst loads",
    )


def _single_links(tables: Tables) -> Judgement:
    """Theorem 3.2, and the loads that the rule of digits has."""
    below = [
        (f"{tree}: link load", most_of(tables, tree, DNVR, LINK), bounds.dnvr_link(tree))
        for tree in printed.TREES
    ]
    return judge.together(
        [
            within_bounds(below),
            same(
                (
                    (f"FT({m},3)", most_of(tables, FatTree(m, 3), DNVR, LINK), load)
                    for m, load in ((4, 2), (8, 4))
                ),
                "worst link loads",
            ),
        ]
    )


def _no_lower_links(tables: Tables) -> Judgement:
    return as_searched(tables, [(4, 2, LINK, 1, False), (4, 3, LINK, 1, False), (4, 3, LINK, 2, True)])


def _random_single_paths(tables: Tables) -> Judgement:
    """In at least 195 of 200 draws, as a core's worst load is 14 now and then."""
    rows = tables["draws"].filter(pl.col.k.is_null())
    checks = []
    for name, of, level, allowed in (
        ("links", LINK, 0, {4}),
        ("cores", SWITCH, 0, {15, 16}),
        ("aggregation switches", SWITCH, 1, {8}),
    ):
        found = [Fraction(load) for load in rows.filter(of=of, level=level)["load"]]
        same_load = [load for load in found if load in allowed]
        others = [str(load) for load in found if load not in allowed]
        said = f"{name} {' or '.join(map(str, sorted(allowed)))}"
        checks.append(
            judge.judged(
                bool(found) and len(same_load) >= len(found) * 195 // 200,
                f"{said} in {len(same_load)} of {len(found)} draws",
                f"{said} in at least 195 of 200",
            ).because(f"{len(others)} of {len(found)} draws have {', '.join(sorted(set(others)))} at {name}")
        )
    return judge.together(checks)


def _single_switches(tables: Tables) -> Judgement:
    """Theorem 3.3, and the loads of the rule of digits and of the worst link-optimal paths that are known."""
    below = [
        (
            f"{scheme}, level {t} of FT({m},{n})",
            load_of(tables, m, n, scheme, SWITCH, t),
            bounds.dnvr_switch(FatTree(m, n), t),
        )
        for scheme, m, n in ((DNVR, 2, 2), (DNVR, 4, 2), (DNVR, 4, 3), (DNVR, 8, 3), (BAD, 4, 3))
        for t in range(n)
    ]
    rule = [((4, 0), 8), ((4, 1), 6), ((4, 2), 4), ((8, 0), 32), ((8, 1), 20)]
    return judge.together(
        [
            within_bounds(below),
            same(
                (
                    (f"level {t} of FT({m},3)", load_of(tables, m, 3, DNVR, SWITCH, t), load)
                    for (m, t), load in rule
                ),
                "worst switch loads",
            ),
        ]
    )


def _links_or_switches(tables: Tables) -> Judgement:
    loads = [
        (f"{scheme}: {of} level {level} of FT({m},3)", load_of(tables, m, 3, scheme, of, level), load)
        for scheme in (D_MOD_K, S_MOD_K)
        for m, of, level, load in (
            (4, LINK, 0, 3),
            (4, SWITCH, 0, 4),
            (4, SWITCH, 1, 6),
            (8, LINK, 0, 7),
            (8, SWITCH, 0, 8),
            (8, SWITCH, 1, 20),
        )
    ]
    return judge.together(
        [
            same(loads, "worst loads"),
            as_searched(tables, [(4, 3, SWITCH, 5, False), (4, 3, SWITCH, 6, True)]),
        ]
    )


def _fewer_paths(tables: Tables) -> Judgement:
    """Equations 3.24 and 3.25, for all pairs on the same paths and for paths drawn at random."""
    rows = tables["worst"].filter(pl.col.scheme.str.starts_with("MDNVRk"))
    drawn = (
        tables["draws"].filter(pl.col.k.is_not_null()).with_columns(m=4, n=3, scheme=pl.lit("random paths"))
    )
    below = []
    for row in [*rows.iter_rows(named=True), *drawn.iter_rows(named=True)]:
        tree, k = FatTree(row["m"], row["n"]), exact(row["k"]) or 1
        of = bounds.mdnvrk_link if row["of"] == LINK else bounds.mdnvrk_switch
        name = f"{row['scheme']}: {row['of']} level {row['level']} of {tree}"
        below.append((name, exact(row["load"]), of(tree, k, row["level"])))
    return within_bounds(below)


def _least_of_all(tables: Tables) -> Judgement:
    """Against other routings with as many paths on FT(4,3): d-mod-k with one, Dual with two."""
    tree, checks = printed.TREE, []
    for paths, scheme, other in ((1, "MDNVRk, k = 4", D_MOD_K), (2, "MDNVRk, k = 2", DUAL)):
        own, others = (most_of(tables, tree, each, SWITCH) for each in (scheme, other))
        if own is None or others is None:
            return judge.not_reached(f"no load of {scheme} or {other}")
        found = judge.judged(
            own <= others, f"{paths} of 4 paths: {own}", f"at most {others}, that of {other}"
        )
        checks.append(found.because(f"{other} has {others} where {scheme} has {own}"))
    return judge.together(checks)


def _table_3_1(tables: Tables) -> Judgement:
    below = []
    for tree in printed.TREES:
        for k in (Fraction(1), THREE_QUARTERS, Fraction(2), Fraction(4)):
            if k > tree.most_paths:
                continue
            for scheme, (low, high) in printed.table_3_1(tree, k).items():
                for name in (scheme, f"{scheme}, k = {k}", f"{scheme}, as bad as it can be"):
                    load = most_of(tables, tree, name, SWITCH)
                    if load is not None and load < low:
                        return judge.judged(False, f"{load} of {name} on {tree}", f"at least {low}")
                    if load is not None:
                        below.append((f"{name} on {tree}", load, high))
    return within_bounds(below)


def _table_3_2(tables: Tables) -> Judgement:
    def rows(reading: str) -> Iterable[tuple[str, str | None, str | None]]:
        for scheme, values in PRINTED.items():
            for tree, expected in zip(printed.TREES, values, strict=True):
                found = tables["table_3_2"].filter(m=tree.m, n=tree.n, scheme=scheme)
                load = exact(found[reading].item()) if len(found) == 1 else None
                yield f"{scheme} on {tree}", text(load), text(expected)

    return judge.by_reading(
        {name: judge.all_exactly(rows(name), "entries") for name in ("formula", "counted")}
    )


def draw(tables: Tables) -> "Picture":
    """Table 3.2 as bars; worst loads of FT(4,3) by level."""
    figure, (largest, levels) = style.panels(1, 2, size=(5.6, 3.2))
    names = [f"FT({tree.m},{tree.n})" for tree in printed.TREES]
    for place, scheme in enumerate(PRINTED):
        rows = tables["table_3_2"].filter(scheme=scheme)
        largest.bar(
            [tree + 0.16 * (place - 2) for tree in range(len(rows))],
            rows["counted"].fill_null(0).to_list(),
            0.15,
            label=scheme,
            color=style.COLOURS[place],
        )
    largest.set_xticks(range(len(names)), names)
    largest.set(title="table 3.2, counted", ylabel="largest switch load / base load")
    largest.set_yscale("log", base=2)
    rows = tables["worst"].filter(m=4, n=3, of=SWITCH)
    for place, scheme in enumerate((NR, DNVR, BAD, D_MOD_K, "MDNVRk, k = 2", DUAL, "MDNVR")):
        some = rows.filter(scheme=scheme).sort("level")
        levels.plot(
            some["level"], some["load"], label=scheme, marker=style.MARKERS[place], color=style.COLOURS[place]
        )
    levels.set_xticks(range(3), ["core", "aggregation", "edge"])
    levels.set(title="FT(4,3)", ylabel="worst switch load / base load")
    for panel in (largest, levels):
        panel.legend(fontsize=7)
    return figure


FIGURE = Figure(
    id="MP-T3.2",
    title="Tables 3.1 and 3.2: worst loads of links and switches",
    tables=tables,
    claims={
        "MP-TH3.1.a": _normal_routing,
        "MP-TH3.2.a": _single_links,
        "MP-TH3.2.b": _no_lower_links,
        "MP-TH3.2.c": _random_single_paths,
        "MP-TH3.3.a": _single_switches,
        "MP-TH3.3.b": _links_or_switches,
        "MP-TH3.6.a": _fewer_paths,
        "MP-TH3.6.b": _least_of_all,
        "MP-T3.1.a": _table_3_1,
        "MP-T3.2.a": _table_3_2,
    },
    draw=draw,
    quick=f"20 of {DRAWS} draws of random paths",
    needs={"draws": Needs(DRAWS, by=("of", "level"), column="draw")},
    assumed=(
        "DNVR takes the source's last digit up first, then the target's middle one: that link-optimal paths exist is "
        "cited. DNVR as bad as it can be is another such assignment, found by search for Stride(4).",
        "MDNVRk has all pairs on the leftmost ceil(X/k) of their paths, the worst choice, or paths drawn at random.",
        "That no single paths keep to a limit rests on the search of an integer program (HiGHS).",
    ),
)
