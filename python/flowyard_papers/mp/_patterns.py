"""Traffic patterns on FT(4,3), and what routing schemes make of Stride(4)."""

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers.figure import Scale, Tables
from flowyard.theory import bounds, matrices, ratios, routings
from flowyard.theory import tables as printed
from flowyard.theory.fat_tree import FatTree
from flowyard.theory.loads import by_level, channel_shares, loads, most, switch_shares, worst_loads

if TYPE_CHECKING:
    from flowyard.theory.routings import Routing

TREE = printed.TREE
LEVELS = ("I", "A", "E")
FORMULA, COUNTED = "formula", "counted"
DIGITS = "DNVR, link_optimal"
# Table 5.2: loads of levels 0 and 1, and the ratio.
PRINTED: dict[str, tuple[Fraction | int, ...]] = {
    "NR": (16, 8, 4),
    "DNVR": (8, 8, 2),
    "MDNVRk, k = 4": (16, 8, 4),
    "MDNVRk, k = 2": (8, 8, 2),
    "MDNVRk, k = 4/3": (Fraction(16, 3), 4, Fraction(4, 3)),
    "MDNVR": (4, 4, 1),
}
DRAWS = {1: 2000, 2: 1000}


def tables(scale: Scale) -> Tables:
    """Entries of patterns, their pairs by level; table 5.2, more routings, and random paths; theorem 5.5."""
    patterns = {f"Stride({step})": matrices.stride(16, step) for step in (2, 4)}
    patterns |= {f"{number} Senders": matrices.senders(number) for number in (3, 5, 7)}
    every = {"all pairs": [[Fraction(1)] * 16 for _ in range(16)]}
    entries = [
        {"pattern": name, "source": i, "target": j, "amount": float(amount)}
        for name, matrix in patterns.items()
        for i, row in enumerate(matrix)
        for j, amount in enumerate(row)
        if amount
    ]
    levels = [
        {"pattern": name, "pairs_of": letter, "pairs": int(sum(map(sum, part)))}
        for name, matrix in (every | patterns).items()
        for letter, part in zip(LEVELS, matrices.by_level(TREE, matrix), strict=True)
    ]
    more = {"d-mod-k": routings.d_mod_k(TREE), "s-mod-k": routings.s_mod_k(TREE), "Dual": routings.dual(TREE)}
    loaded = [
        *map(_plain, printed.table_5_2()),
        *({"scheme": name, "reading": COUNTED} | _loads(each) for name, each in more.items()),
    ]
    draws = [
        {"paths": paths, "draw": seed}
        | _loads(routings.random_paths(TREE, None if paths == 1 else 4 // paths, seed))
        for paths, number in DRAWS.items()
        for seed in range(scale.pick(number // 10, number))
    ]
    return {
        "entries": pl.DataFrame(entries),
        "levels": pl.DataFrame(levels),
        "table_5_1": pl.DataFrame(
            [{"source": f"P({s})", "target": f"P({d})"} for s, d in printed.table_5_1()]
        ),
        "loads": pl.DataFrame(loaded),
        "draws": pl.DataFrame(draws),
        "worst_stride": pl.DataFrame(list(_worst_stride())),
        "worst": pl.DataFrame(list(_worst())),
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: each if isinstance(each, str) else float(each) for name, each in row.items()}


def _loads(routing: "Routing") -> dict[str, float]:
    """Under Stride(4), where no routing has less than 4, the load of an edge switch, and MDNVR has that."""
    found = loads(switch_shares(TREE, routing), matrices.worst_stride(TREE))
    level = by_level(found)
    least = most(loads(switch_shares(TREE, routings.all_paths(TREE)), matrices.worst_stride(TREE)))
    return {"load_0": float(level[0]), "load_1": float(level[1]), "ratio": float(most(found) / least)}


def _worst_stride() -> Iterable[dict[str, Any]]:
    """Largest switch load under Stride((m/2)^(n-1)), and the bound of table 3.1."""
    for m, n in ((4, 2), (4, 3), (8, 2), (4, 4)):
        tree = FatTree(m, n)
        schemes: list[tuple[str, Routing, bounds.Number]] = [
            ("NR", routings.normal(tree), bounds.any_switch(tree)),
            ("MDNVR", routings.all_paths(tree), bounds.mdnvr_switch(tree)),
        ]
        schemes += [
            (f"MDNVRk, k = {k}", routings.first_paths(tree, k), bounds.mdnvrk_switch(tree, k))
            for k in (2, 4)
            if k <= tree.most_paths
        ]
        if tree == TREE:
            schemes.append(("DNVR", printed.bad_single_path(), bounds.dnvr_switch(tree)))
            schemes.append((DIGITS, routings.link_optimal(tree), bounds.dnvr_switch(tree)))
        for scheme, routing, bound in schemes:
            load = most(loads(switch_shares(tree, routing), matrices.worst_stride(tree)))
            yield {"m": m, "n": n, "scheme": scheme, "load": float(load), "bound": float(bound)}


def _worst() -> Iterable[dict[str, Any]]:
    """Worst loads of links and switches, and the ratio of definition 5.2, of Dual and of the DNVR row's paths."""
    for scheme, routing in (("Dual", routings.dual(TREE)), ("DNVR", printed.bad_single_path())):
        links = worst_loads(16, channel_shares(TREE, routing))
        nodes = worst_loads(16, switch_shares(TREE, routing))
        yield {
            "scheme": scheme,
            "link": float(max(links.values())),
            "core": float(nodes[0]),
            "aggregation": float(nodes[1]),
            "perfsw": float(ratios.perfsw(TREE, routing)),
        }
