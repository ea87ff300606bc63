"""Oblivious performance ratios of routing schemes, those that single paths can have, and the curves of figure 5.1."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers.figure import Scale, Tables
from flowyard.theory import assignments, bounds, ratios, routings
from flowyard.theory.fat_tree import FatTree, pairs, turn

if TYPE_CHECKING:
    from flowyard.theory.routings import Routing

TREES = (FatTree(4, 2), FatTree(4, 3))
THREE_QUARTERS = Fraction(4, 3)
DRAWN = "DNVR, random path"
PORTS = (2, 4, 8, 16, 32)
CURVES = ("MDNVR", "MDNVRk, k = 2", "MDNVRk, k = 4", "DNVR", "NR")


def tables(scale: Scale) -> Tables:
    """Ratios by tree and scheme; those of a lone flow; what single paths can have; the curves of figure 5.1."""
    rows = [
        {"m": tree.m, "n": tree.n, "scheme": scheme} | row
        for tree in TREES
        for scheme, routing in _schemes(tree, scale.pick(2, 10))
        for row in _ratios(tree, routing)
    ]
    lone = [
        {
            "m": tree.m,
            "n": tree.n,
            "scheme": scheme,
            "level": level,
            "ratio": float(ratios.one_flow(tree, routing, level)),
            "highest": ratios.spread(tree, level),
        }
        for tree in (*TREES, FatTree(8, 3))
        for scheme, routing in (("NR", routings.normal(tree)), ("DNVR", routings.link_optimal(tree)))
        for level in range(tree.n)
    ]
    curves = [
        {"m": m, "scheme": scheme, "ratio": float(ratio)}
        for m in PORTS
        for scheme, ratio in _curves(FatTree(m, 3))
    ]
    return {
        "ratios": pl.DataFrame(rows),
        "lone_flow": pl.DataFrame(lone),
        "single_paths": pl.DataFrame(list(_single_paths())),
        "curves": pl.DataFrame(curves),
    }


def _schemes(tree: FatTree, draws: int) -> "Iterable[tuple[str, Routing]]":
    yield "NR", routings.normal(tree)
    yield "DNVR", routings.link_optimal(tree)
    yield "d-mod-k", routings.d_mod_k(tree)
    yield "s-mod-k", routings.s_mod_k(tree)
    yield "lower pod", routings.lower_pod(tree)
    yield "Dual", routings.dual(tree)
    yield "MDNVR", routings.all_paths(tree)
    for k in (Fraction(2), THREE_QUARTERS, Fraction(4)):
        if k <= tree.most_paths:
            yield f"MDNVRk, k = {k}", routings.first_paths(tree, k)
    for draw in range(draws):
        yield f"{DRAWN} {draw}", routings.random_paths(tree, None, draw)


def _ratios(tree: FatTree, routing: "Routing") -> Iterable[dict[str, Any]]:
    """Of definition 5.2 without a level, of definition 5.3 with one; `perf` is that of links."""
    links = ratios.perf_by_level(tree, routing)
    yield {"level": None, "perf": float(max(links.values())), "perfsw": float(ratios.perfsw(tree, routing))}
    for level in range(tree.n):
        yield {
            "level": level,
            "perf": float(links[level]),
            "perfsw": float(ratios.perfsw_level(tree, routing, level)),
        }


def _single_paths() -> Iterable[dict[str, Any]]:
    """Ratios of definition 5.2 that single paths can have or cannot, and worst link loads likewise."""
    for tree in TREES:
        found = assignments.search(tree, links=1)
        yield {"m": tree.m, "n": tree.n, "of": "perf", "limit": 1.0, "exists": found is not None}
        for halves in (2, 3, 4):
            exists = _coverable(tree, halves)
            yield {"m": tree.m, "n": tree.n, "of": "perfsw", "limit": halves / 2, "exists": exists}


def _coverable(tree: FatTree, halves: int) -> bool:
    """Whether the cores can share the pairs of edge switches such that none has a ratio of more than `halves` / 2.

    Under single paths the pairs that meet at a core make a graph of edge switches, each of which carries at most 1. The
    most that the core carries is the least sum of weights 0, 1/2 or 1 of edge switches that give each pair 1: a pair
    with both weights 1/2, or one weight 1. Pods and cores never limit more than their edge switches do.
    """
    edge = {node: node // tree.half for node in range(tree.nodes)}
    needed = {frozenset((edge[s], edge[d])) for s, d in pairs(tree) if turn(tree, s, d) == 0}
    switches = sorted(set(edge.values()))
    covers = set()
    for ones in range(halves // 2 + 1):
        for whole in combinations(switches, ones):
            for half in combinations([each for each in switches if each not in whole], halves - 2 * ones):
                covers.add(frozenset(pair for pair in needed if pair & set(whole) or pair <= set(half)))
    largest = [cover for cover in covers if not any(cover < other for other in covers)]
    return any(
        frozenset().union(*several) == needed
        for several in combinations_with_replacement(largest, tree.most_paths)
    )


def _curves(tree: FatTree) -> Iterable[tuple[str, bounds.Number]]:
    """As theorems 5.1 to 5.4 have it; a scheme of k has all paths where k would be more than these."""
    yield "MDNVR", 1
    for k in (2, 4):
        yield f"MDNVRk, k = {k}", bounds.mdnvrk_ratio(tree, min(k, tree.most_paths))
    yield "DNVR", bounds.dnvr_ratio(tree)
    yield "NR", bounds.nr_ratio(tree)
