"""Routings (definition 3.3): for each pair of nodes its paths, each with the fraction of traffic that it carries.

A routing is a dictionary from (source, target) to a dictionary from `Up` (see `fat_tree`) to a weight; those of a pair
add up to 1. Names in sections 2.3, 3.3.3 and 4.2: NR is `normal`, DNVR is `random_paths(tree, None, seed)` as simulated
and `link_optimal` as analysed, MDNVR `all_paths`, MDNVRk `first_paths` (its worst case) or `random_paths`.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil, isqrt

from flowyard.theory.fat_tree import FatTree, Up, digits, pairs, turn, ways_up

Routing = dict[tuple[int, int], dict[Up, Fraction]]


def normal(tree: FatTree) -> Routing:
    """NR: every pair takes the leftmost way up."""
    return single(tree, lambda _, __: (0,) * (tree.n - 1))


def all_paths(tree: FatTree) -> Routing:
    """MDNVR: all X shortest paths, 1/X each."""
    return {(s, d): _equal(ways_up(tree, s, d)) for s, d in pairs(tree)}


def first_paths(tree: FatTree, k: Fraction | int) -> Routing:
    """MDNVRk where all pairs take the leftmost ceil(X/k) of their X paths: the worst choice of paths."""
    return {(s, d): _equal(_first(list(ways_up(tree, s, d)), k)) for s, d in pairs(tree)}


def random_paths(tree: FatTree, k: Fraction | int | None, seed: int) -> Routing:
    """MDNVRk as simulated: ceil(X/k) of the X paths of each pair, drawn at random; k = None: one path, as in DNVR."""
    source = random.Random(f"paths {tree} {k} {seed}")
    found = {}
    for s, d in pairs(tree):
        ways = list(ways_up(tree, s, d))
        found[s, d] = _equal(source.sample(ways, 1 if k is None else ceil(len(ways) / Fraction(k))))
    return found


def d_mod_k(tree: FatTree) -> Routing:
    """One path: climbs by the target's last digit, then by the one before it, and so on."""
    return single(tree, lambda _, target: digits(tree, target)[:0:-1])


def s_mod_k(tree: FatTree) -> Routing:
    """One path: as `d_mod_k`, by the source's digits."""
    return single(tree, lambda source, _: digits(tree, source)[:0:-1])


def link_optimal(tree: FatTree) -> Routing:
    """One path with the least worst link load: ceil(sqrt(m/2)) for n = 2, m/2 for n = 3 (theorem 3.2).

    For n = 3 it climbs by the source's last digit, then by the target's middle one. For n = 2 nodes of an edge switch
    form groups of sqrt(m/2), and the core is that of the source's and the target's group.

    Raises:
        ValueError: n is not 2 or 3, or n = 2 and m/2 is neither 2 nor a square: we know no rule for these.
    """
    if tree.n == 3:
        return single(tree, lambda s, d: (digits(tree, s)[2], digits(tree, d)[1]))
    root = isqrt(tree.half)
    if tree.n != 2 or (root**2 != tree.half and tree.half != 2):
        raise ValueError(f"{tree}: a link-optimal path is known for n = 3, and n = 2 if m/2 is 2 or a square")
    group = root if root**2 == tree.half else 2
    return single(
        tree, lambda s, d: (digits(tree, s)[1] // group * (tree.half // group) + digits(tree, d)[1] // group,)
    )


def lower_pod(tree: FatTree) -> Routing:
    """One path: all up digits make the number of the core, which is the lower of the two pods' numbers, mod X.

    On FT(4,3) it has the least ratio of definition 5.2 among single-path routings.
    """

    def up(source: int, target: int) -> Up:
        core = min(digits(tree, source)[0], digits(tree, target)[0]) % tree.most_paths
        found = []
        for _ in range(tree.n - 1):
            core, digit = divmod(core, tree.half)
            found.append(digit)
        return tuple(found)

    return single(tree, up)


def dual(tree: FatTree) -> Routing:
    """Dual IPv4/IPv6 (section 2.3.2): the paths of both families, half each, if they are two."""
    return {
        (s, d): _equal({_follow(tree, s, turn(tree, s, d), family) for family in (0, 1)})
        for s, d in pairs(tree)
    }


def family(tree: FatTree, number: int) -> Routing:
    """Path of Dual's packets of one family: 0 is IPv4, 1 IPv6; the path of `default_up`."""
    return {(s, d): {_follow(tree, s, turn(tree, s, d), number): Fraction(1)} for s, d in pairs(tree)}


def default_up(tree: FatTree, digit: int, family: int) -> int:
    """The digit of the default switch above, of a switch whose last free digit is `digit`; family 0 is IPv4, 1 IPv6.

    Figure 2.2 is not in the text; its example of loads leaves this rule on FT(4,3). For wider trees it is ours.
    """
    return (digit + family * ceil(Fraction(tree.half, 2))) % tree.half


def single(tree: FatTree, up: Callable[[int, int], Iterable[int]]) -> Routing:
    """The routing with one path a pair, which takes as many digits of `up(source, target)` as it climbs."""
    return {(s, d): {tuple(up(s, d))[: tree.n - 1 - turn(tree, s, d)]: Fraction(1)} for s, d in pairs(tree)}


def check(tree: FatTree, routing: Mapping[tuple[int, int], Mapping[Up, Fraction]]) -> None:
    """Whether a routing has every pair, weights that add up to 1, and shortest paths only.

    Raises:
        ValueError: It has not; the text names the first pair.
    """
    for pair in pairs(tree):
        weights = routing.get(pair, {})
        if sum(weights.values()) != 1 or min(weights.values()) < 0:
            raise ValueError(f"pair {pair}: weights {list(weights.values())} do not add up to 1")
        if not weights.keys() <= set(ways_up(tree, *pair)):
            raise ValueError(f"pair {pair}: not a shortest path among {list(weights)}")


def _follow(tree: FatTree, source: int, level: int, family: int) -> Up:
    """The way up by the default tables: first by the edge switch's last digit, then by the digit chosen below."""
    digit, found = digits(tree, source)[tree.n - 2], []
    for _ in range(tree.n - 1 - level):
        digit = default_up(tree, digit, family)
        found.append(digit)
    return tuple(found)


def _equal(ways: Iterable[Up]) -> dict[Up, Fraction]:
    ways = list(ways)
    return dict.fromkeys(ways, Fraction(1, len(ways)))


def _first(ways: list[Up], k: Fraction | int) -> list[Up]:
    return ways[: ceil(len(ways) / Fraction(k))]
