"""Formulas of chapters 3 and 5: worst loads over base load, and performance ratios.

`level` is that of the switches, or of the links' upper ends: 0 is the core.
"""

from fractions import Fraction
from math import ceil, isqrt

from flowyard.theory.fat_tree import FatTree

Number = Fraction | int


def any_switch(tree: FatTree, level: int = 0) -> int:
    """Of a switch under any routing, reached by NR: theorem 3.1, corollary 3.1; at the core lemma 3.1."""
    return int(2 * tree.half ** (tree.n - level))


def any_link(tree: FatTree, level: int = 0) -> int:
    """Of a link under any routing, reached by NR: property 5."""
    return int(tree.half ** (tree.n - 1 - level))


def dnvr_link(tree: FatTree) -> int:
    """Of a link under a link-optimal single path: theorem 3.2.

    Raises:
        ValueError: n is neither 2 nor 3.
    """
    if tree.n not in (2, 3):
        raise ValueError(f"{tree}: theorem 3.2 is about n = 2 and n = 3")
    return isqrt(tree.half - 1) + 1 if tree.n == 2 else tree.half


def dnvr_switch(tree: FatTree, level: int = 0) -> int:
    """Of a switch under a link-optimal single path: theorem 3.3.

    Raises:
        ValueError: n is neither 2 nor 3.
    """
    return min(dnvr_link(tree), any_link(tree, level)) * tree.m


def mdnvrk_link(tree: FatTree, k: Number, level: int = 0) -> Number:
    """Of a link under ceil(X/k) of X paths: equation 3.24.

    Raises:
        ValueError: k is not between 1 and X.
    """
    if not 1 <= k <= tree.most_paths:
        raise ValueError(f"k: {k} is not between 1 and the {tree.most_paths} paths of {tree}")
    return min(k, any_link(tree, level))


def mdnvrk_switch(tree: FatTree, k: Number, level: int = 0) -> Number:
    """Of a switch under ceil(X/k) of X paths: equation 3.25.

    Raises:
        ValueError: k is not between 1 and X.
    """
    return mdnvrk_link(tree, k, level) * tree.m


def mdnvr_switch(tree: FatTree) -> int:
    """Of a switch under all paths: theorem 3.4. That of a link is 1."""
    return tree.m


def nr_ratio(tree: FatTree, level: int = 0) -> int:
    """PERFSW_t(NR): theorem 5.2. By definition 5.3 that of every single path, see `ratios.one_flow`."""
    return any_link(tree, level)


def dnvr_ratio(tree: FatTree, level: int = 0) -> int:
    """PERFSW_t(DNVR) of theorem 5.3, equation 5.10.

    It divides the bound of theorem 3.3 by MDNVR's, which other matrices reach; definition 5.3 has `nr_ratio`.

    Raises:
        ValueError: n is neither 2 nor 3.
    """
    return min(dnvr_link(tree), any_link(tree, level))


def mdnvrk_ratio(tree: FatTree, k: Number, level: int = 0) -> Number:
    """PERF_t and PERFSW_t(MDNVRk): theorem 5.4.

    Raises:
        ValueError: k is not between 1 and X.
    """
    return mdnvrk_link(tree, k, level)


def paths_used(tree: FatTree, k: Number) -> int:
    """ceil(X/k), of a pair that has all X paths."""
    return ceil(tree.most_paths / Fraction(k))
