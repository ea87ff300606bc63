"""Worst loads of links and switches on fat-trees, by scheme and level; of random paths; and what searches find."""

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers.figure import Scale, Tables
from flowyard.theory import assignments, routings
from flowyard.theory import tables as printed
from flowyard.theory.fat_tree import FatTree
from flowyard.theory.loads import channel_shares, switch_shares, worst_loads

if TYPE_CHECKING:
    from flowyard.theory.routings import Routing

THREE_QUARTERS = Fraction(4, 3)
DNVR, BAD, NR, DUAL = "DNVR", "DNVR, as bad as it can be", "NR", "Dual"
D_MOD_K, S_MOD_K = "d-mod-k", "s-mod-k"
LINK, SWITCH = "link", "switch"
DRAWS = 200
# Table 3.2: FT(2,2), FT(4,2), FT(4,3), FT(8,3); 5.33 and 10.67 are thirds.
PRINTED: dict[str, tuple[Fraction | int | None, ...]] = {
    "NR": (2, 8, 16, 128),
    "DNVR": (2, 8, 8, 32),
    "MDNVRk, 1/2 X paths": (None, 8, 8, 16),
    "MDNVRk, 3/4 X paths": (None, None, Fraction(16, 3), Fraction(32, 3)),
    "MDNVR": (2, 4, 4, 8),
}


def tables(scale: Scale) -> Tables:
    """Worst loads by tree, scheme and level; of random paths; what searches found; table 3.2."""
    worst = [
        {"m": tree.m, "n": tree.n, "scheme": scheme, "k": None if k is None else float(k)} | row
        for tree in printed.TREES
        for scheme, k, routing in _schemes(tree)
        for row in _worst(tree, routing)
    ]
    draws = [
        {"k": None if k is None else float(k), "draw": seed} | row
        for k in (None, Fraction(2), THREE_QUARTERS)
        for seed in range(scale.pick(20, DRAWS))
        for row in _worst(printed.TREE, routings.random_paths(printed.TREE, k, seed))
    ]
    rows = [
        {
            "m": row["tree"].m,
            "n": row["tree"].n,
            "scheme": row["scheme"],
            **{name: None if row[name] is None else float(row[name]) for name in ("formula", "counted")},
        }
        for row in printed.table_3_2()
    ]
    return {
        "worst": pl.DataFrame(worst, infer_schema_length=None),
        "draws": pl.DataFrame(draws, infer_schema_length=None),
        "table_3_2": pl.DataFrame(rows, infer_schema_length=None),
        "searches": pl.DataFrame(list(_searches())),
    }


def _schemes(tree: FatTree) -> "Iterable[tuple[str, Fraction | None, Routing]]":
    yield NR, None, routings.normal(tree)
    yield DNVR, None, routings.link_optimal(tree)
    yield D_MOD_K, None, routings.d_mod_k(tree)
    yield S_MOD_K, None, routings.s_mod_k(tree)
    if tree.nodes > 16:
        return
    yield "MDNVR", Fraction(1), routings.all_paths(tree)
    for k in (THREE_QUARTERS, Fraction(2), Fraction(4)):
        if k <= tree.most_paths:
            yield f"MDNVRk, k = {k}", k, routings.first_paths(tree, k)
    if tree == printed.TREE:
        yield BAD, None, printed.bad_single_path()
        yield DUAL, Fraction(2), routings.dual(tree)


def _worst(tree: FatTree, routing: "Routing") -> Iterable[dict[str, Any]]:
    for of, found in (
        (LINK, worst_loads(tree.nodes, channel_shares(tree, routing))),
        (SWITCH, worst_loads(tree.nodes, switch_shares(tree, routing))),
    ):
        for level, load in found.items():
            yield {"of": of, "level": level, "load": float(load)}


def _searches() -> Iterable[dict[str, Any]]:
    """Whether single paths exist whose worst loads keep to a limit."""
    for m, n, of, limit in (
        (4, 2, LINK, 1),
        (4, 3, LINK, 1),
        (4, 3, LINK, 2),
        (4, 3, SWITCH, 5),
        (4, 3, SWITCH, 6),
    ):
        tree = FatTree(m, n)
        # No limit of 5 can be kept at level 1 alone, which is decided sooner than all levels.
        limits: dict[str, Any] = {"links": limit} if of == LINK else {"switches": limit}
        if (of, limit) == (SWITCH, 5):
            limits["level"] = 1
        found = assignments.search(tree, **limits)
        highest = max(row["load"] for row in _worst(tree, found) if row["of"] == of) if found else None
        yield {"m": m, "n": n, "of": of, "limit": limit, "exists": found is not None, "load": highest}
