"""Tables 3.1, 3.2, 5.1 and 5.2, row by row.

Tables 3.2 and 5.2 have two readings: "formula" is what the theorems give, "counted" what routings do on the tree.
Neither is what table 5.2 prints for k = 4/3 at level 1: 4, where both have 16/3. And the ratio of DNVR is that at this
one matrix; over all matrices definition 5.3 has another than equation 5.10 (see `bounds.dnvr_ratio`).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from flowyard.theory import bounds, routings
from flowyard.theory.assignments import Resource, search
from flowyard.theory.fat_tree import FatTree, Switch, digits
from flowyard.theory.loads import by_level, loads, most, switch_shares, worst_loads
from flowyard.theory.matrices import worst_stride
from flowyard.theory.optimum import optusw
from flowyard.theory.routings import Routing

HALF, THREE_QUARTERS = Fraction(2), Fraction(4, 3)
# Trees of table 3.2, and the one of table 5.2.
TREES = (FatTree(2, 2), FatTree(4, 2), FatTree(4, 3), FatTree(8, 3))
TREE = FatTree(4, 3)


def table_3_1(tree: FatTree, k: bounds.Number) -> dict[str, tuple[bounds.Number, bounds.Number]]:
    """Lower and upper bound of the maximum switch load, over base load, by scheme.

    Raises:
        ValueError: n is neither 2 nor 3, or k not between 1 and X.
    """
    upper = {
        "NR": bounds.any_switch(tree),
        "DNVR": bounds.dnvr_link(tree) * tree.m,
        "MDNVRk": bounds.mdnvrk_switch(tree, k),
        "MDNVR": bounds.mdnvr_switch(tree),
    }
    return {scheme: (1, bound) for scheme, bound in upper.items()}


def table_3_2() -> list[dict[str, Any]]:
    """Largest switch loads over base load: a row for each tree and scheme.

    `formula` is the bound of table 3.1, `counted` the largest load of any switch under its worst permutation; MDNVRk
    has all pairs on the same paths, DNVR those of `routings.link_optimal`. Rows where ceil(X/k) paths are all X have
    None, as the table has a dash.
    """
    rows = []
    for tree in TREES:
        schemes: list[tuple[str, bounds.Number, Routing | None]] = [
            ("NR", bounds.any_switch(tree), routings.normal(tree)),
            ("DNVR", bounds.dnvr_switch(tree), routings.link_optimal(tree)),
            ("MDNVR", bounds.mdnvr_switch(tree), routings.all_paths(tree)),
        ]
        for name, k in (("MDNVRk, 1/2 X paths", HALF), ("MDNVRk, 3/4 X paths", THREE_QUARTERS)):
            fewer = bounds.paths_used(tree, k) < tree.most_paths
            if fewer:
                schemes.append((name, bounds.mdnvrk_switch(tree, k), routings.first_paths(tree, k)))
            else:
                schemes.append((name, 0, None))
        for scheme, bound, routing in schemes:
            counted = max(worst_loads(tree.nodes, switch_shares(tree, routing)).values()) if routing else None
            formula = bound if routing else None
            rows.append({"tree": tree, "scheme": scheme, "formula": formula, "counted": counted})
    return rows


def table_5_1() -> list[tuple[str, str]]:
    """Stride(4) on FT(4,3): the labels of each node and of the one that it sends to."""
    labels = ["".join(map(str, digits(TREE, node))) for node in range(TREE.nodes)]
    return [(labels[i], labels[row.index(Fraction(1))]) for i, row in enumerate(worst_stride(TREE))]


def table_5_2() -> list[dict[str, Any]]:
    """Loads of levels 0 and 1 and the ratio under Stride(4) on FT(4,3), for each scheme and reading.

    DNVR has two rows of reading "counted": single paths with the least worst link load that do as badly here as these
    can, found by search; and those of `routings.link_optimal`. MDNVRk has all pairs on the same paths.

    Raises:
        UserError: scipy is not installed.
    """
    rows = [
        _formula("NR", lambda level: bounds.any_switch(TREE, level), bounds.nr_ratio(TREE)),
        _formula("DNVR", lambda level: bounds.dnvr_switch(TREE, level), bounds.dnvr_ratio(TREE)),
        _formula("MDNVR", lambda _: bounds.mdnvr_switch(TREE), 1),
        _counted("NR", routings.normal(TREE)),
        _counted("DNVR", bad_single_path()),
        _counted("DNVR, link_optimal", routings.link_optimal(TREE)),
        _counted("MDNVR", routings.all_paths(TREE)),
    ]
    for k in (Fraction(4), HALF, THREE_QUARTERS):
        name = f"MDNVRk, k = {k}"
        ratio = bounds.mdnvrk_ratio(TREE, k)
        rows.append(_formula(name, partial(bounds.mdnvrk_switch, TREE, k), ratio))
        rows.append(_counted(name, routings.first_paths(TREE, k)))
    return rows


def bad_single_path() -> Routing:
    """Single paths on FT(4,3) with worst link load 2, the least, that load a core and an aggregation switch with 8.

    Raises:
        UserError: scipy is not installed.
    """
    worst: dict[Resource, int] = {Switch(level, 0): bounds.dnvr_switch(TREE, level) for level in (0, 1)}
    found = search(TREE, links=bounds.dnvr_link(TREE), matrix=worst_stride(TREE), loads=worst)
    assert found is not None
    return found


def _formula(scheme: str, load: Callable[[int], bounds.Number], ratio: bounds.Number) -> dict[str, Any]:
    return {"scheme": scheme, "reading": "formula", "load_0": load(0), "load_1": load(1), "ratio": ratio}


def _counted(scheme: str, routing: Routing) -> dict[str, Any]:
    matrix = worst_stride(TREE)
    found = loads(switch_shares(TREE, routing), matrix)
    level = by_level(found)
    ratio = most(found) / optusw(TREE, matrix)[0]
    return {"scheme": scheme, "reading": "counted", "load_0": level[0], "load_1": level[1], "ratio": ratio}
