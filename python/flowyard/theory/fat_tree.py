"""The m-port n-tree FT(m,n): definition 1.1. It is `topology.fat-tree` with k = m and levels = n.

Nodes, and the switches of a level, are numbered in the order of their labels' digits, as Flowyard numbers hosts and
switches. Level 0 is the core, level n - 1 the edge. Switches SW<w, l> and SW<w', l+1> have a cable if w and w' agree in
all digits but the l-th (Lin, Chung and Huang, "A multiple LID routing scheme for fat-tree-based InfiniBand networks",
IPDPS 2004).

A shortest path is settled by its way up: at each switch that it climbs from, the digit 0 ... m/2 - 1 of the switch
above. `Up` is the tuple of these digits from the edge on; empty within one edge switch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

Up = tuple[int, ...]


@dataclass(frozen=True)
class FatTree:
    """FT(m,n): n levels of switches with m ports, 2 (m/2)^n nodes.

    Raises:
        ValueError: m is odd or below 2, or n is below 1.
    """

    m: int
    n: int

    def __post_init__(self) -> None:
        if self.m < 2 or self.m % 2:
            raise ValueError(f"m: {self.m} ports; use an even number, 2 or more")
        if self.n < 1:
            raise ValueError(f"n: {self.n} levels; use 1 or more")

    @property
    def half(self) -> int:
        """Ports of a switch that lead up, m/2."""
        return self.m // 2

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(2 * self.half**self.n)

    @property
    def most_paths(self) -> int:
        """Shortest paths between nodes that meet at the core only: X."""
        return int(self.half ** (self.n - 1))


class Switch(NamedTuple):
    """A switch by its level and its number within the level."""

    level: int
    place: int


class Channel(NamedTuple):
    """One direction of a link, which has the level of its upper switch.

    `upper` is that switch's place; `lower` the place of the switch below, of level `level` + 1, or at the lowest level
    the node. `up` is true if traffic leaves the lower end.
    """

    level: int
    lower: int
    upper: int
    up: bool


def digits(tree: FatTree, node: int) -> tuple[int, ...]:
    """The label p0 ... p(n-1) of a node."""
    found: list[int] = []
    for _ in range(tree.n - 1):
        node, digit = divmod(node, tree.half)
        found.append(digit)
    return (node, *reversed(found))


def turn(tree: FatTree, source: int, target: int) -> int:
    """The highest level that shortest paths between two nodes reach, by number the least."""
    level = tree.n - 1
    source, target = source // tree.half, target // tree.half
    while level and source != target:
        source, target, level = source // tree.half, target // tree.half, level - 1
    return level


def ways_up(tree: FatTree, source: int, target: int) -> Iterator[Up]:
    """All shortest paths between two nodes, the leftmost first."""
    return product(range(tree.half), repeat=tree.n - 1 - turn(tree, source, target))


def switches_on(tree: FatTree, source: int, target: int, up: Up) -> tuple[Switch, ...]:
    """The switches of a path in order."""
    return _between_edges(tree, _edge(tree, source), _edge(tree, target), up)


# All nodes of an edge switch have the same paths, and each routing asks for them again: FT(8,3) has 14,000.
@lru_cache(maxsize=1 << 16)
def _between_edges(tree: FatTree, source: int, target: int, up: Up) -> tuple[Switch, ...]:
    """As `switches_on`, by the places of both edge switches."""
    level, place = tree.n - 1, source
    found = [Switch(level, place)]
    for digit in up:
        level -= 1
        place = _with_digit(tree, place, level, digit)
        found.append(Switch(level, place))
    for _ in up:
        place = _with_digit(tree, place, level, _digit(tree, target, level))
        level += 1
        found.append(Switch(level, place))
    return tuple(found)


def channels_on(tree: FatTree, source: int, target: int, up: Up) -> tuple[Channel, ...]:
    """The channels of a path in order, those of both nodes included."""
    switches, edge = switches_on(tree, source, target, up), tree.n - 1
    found = [Channel(edge, source, switches[0].place, True)]
    for a, b in pairwise(switches):
        climbs = b.level < a.level
        upper, lower = (b, a) if climbs else (a, b)
        found.append(Channel(upper.level, lower.place, upper.place, climbs))
    return (*found, Channel(edge, target, switches[-1].place, False))


def switches(tree: FatTree) -> list[Switch]:
    """All switches, the core first: (2n - 1) (m/2)^(n-1)."""
    return [
        Switch(level, place)
        for level in range(tree.n)
        for place in range(tree.most_paths * (1 if level == 0 else 2))
    ]


def siblings(tree: FatTree, switch: Switch) -> list[Switch]:
    """The switches of its level in its sub-fat-tree SUBFT(m,n-t), itself included; all cores for a core."""
    size = tree.half ** (tree.n - 1 - switch.level)
    first = switch.place - switch.place % size
    return [Switch(switch.level, first + place) for place in range(size)]


def pairs(tree: FatTree) -> list[tuple[int, int]]:
    """All ordered pairs of different nodes."""
    return [(s, d) for s in range(tree.nodes) for d in range(tree.nodes) if s != d]


def _edge(tree: FatTree, node: int) -> int:
    """The place of a node's edge switch; with one level there is but one switch."""
    return node // tree.half if tree.n > 1 else 0


def _digit(tree: FatTree, place: int, level: int) -> int:
    """The digit w_level of a switch's label; the first may be m/2 or more."""
    rest: int = place // tree.half ** (tree.n - 2 - level)
    return rest % tree.half if level else rest


def _with_digit(tree: FatTree, place: int, level: int, digit: int) -> int:
    weight: int = tree.half ** (tree.n - 2 - level)
    return place + (digit - _digit(tree, place, level)) * weight
