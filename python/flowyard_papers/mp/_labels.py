"""The m-port n-tree FT(m,n), its levels, sub-fat-trees and labels, as definition 1.1 and section 3.3.1 have them.

Nodes are P(p0 ... p(n-1)), switches SW<w0 ... w(n-2), l>. The first digit is below m, the others are below m/2; for
cores (l = 0) all are. Edge switches are at level n - 1; we call the nodes' level n.
"""

from flowyard.topology import Network, network
from flowyard.topology.paths import Whole, distances, parts


def tree(m: int, n: int) -> Network:
    """FT(m,n), as the simulator generates it."""
    return network({"topology": {"fat-tree": {"k": m, "levels": n}}})


def levels(fat_tree: Network) -> Whole:
    """The level of each node, by its distance from the nearest host; cores, the farthest, have 0."""
    nearest = distances(fat_tree).min(axis=0)
    level: Whole = nearest.max() - nearest
    return level


def sub_trees(fat_tree: Network, level: Whole, t: int) -> Whole:
    """For each node the number of its SUBFT(m,t), -1 above them: what hangs together below level n - t."""
    return parts(fat_tree, [place for place, own in enumerate(level) if own >= level.max() - t])


def labels(m: int, n: int) -> list[str]:
    """The label of each node of a generated tree, where hosts, and switches of a level, come in digits' order."""
    half = m // 2
    edges = 2 * half ** (n - 1)
    nodes = [f"P({_digits(number, n, m)})" for number in range(edges * half)]
    below = [
        f"SW<{_digits(number, n - 1, m)}, {level}>"
        for level in range(n - 1, 0, -1)
        for number in range(edges)
    ]
    return nodes + below + [f"SW<{_digits(number, n - 1, m)}, 0>" for number in range(half ** (n - 1))]


def _digits(number: int, digits: int, m: int) -> str:
    """All digits but the first are of base m/2; a comma between them where they may have two figures."""
    found: list[str] = []
    for place in range(digits):
        number, digit = divmod(number, m // 2) if place < digits - 1 else (0, number)
        found.insert(0, str(digit))
    return ("," if m > 10 else "").join(found)
