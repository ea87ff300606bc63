"""Nix-vectors: a whole path in a few bits of the packet. Section 2.2, table 2.1.

At each hop as many bits as it takes to number the node's neighbours, at least one, name the next; hop after hop they
make the vector, the first hop in its highest bits. A counter of used bits, which the packet has too, tells a node where
its own are. Section 2.2 after Riley, Ammar and Fujimoto, "Stateless routing in network simulations", MASCOTS 2000.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# What a switch reads at once.
WORD = 64


class Vector(NamedTuple):
    """A number and how many bits it has, leading zeros included."""

    value: int
    bits: int


def width(neighbours: int) -> int:
    """Bits of a hop from a node: B = max(1, ceil(log2 C)).

    Raises:
        ValueError: The node has no neighbour.
    """
    if neighbours < 1:
        raise ValueError(f"neighbours: {neighbours}; a node on a path has 1 or more")
    return max(1, (neighbours - 1).bit_length())


def encode(hops: Iterable[tuple[int, int]]) -> Vector:
    """The vector of a path.

    Args:
        hops: For each node but the last, the number of the next one among its neighbours, and how many it has.

    Raises:
        ValueError: A node has no such neighbour.
    """
    value = bits = 0
    for next_one, neighbours in hops:
        if not 0 <= next_one < neighbours:
            raise ValueError(f"neighbour {next_one} of {neighbours}")
        value = value << width(neighbours) | next_one
        bits += width(neighbours)
    return Vector(value, bits)


def read(vector: Vector, used: int, neighbours: int) -> tuple[int, int]:
    """Forwarding at a node: the number of the next node, and the packet's counter from there on."""
    used += width(neighbours)
    return vector.value >> vector.bits - used & (1 << width(neighbours)) - 1, used


def decode(vector: Vector, source: int, neighbours: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """For each node that sends the packet on, in order, the node and the number of the neighbour that it sends it to.

    Args:
        vector: What the packet carries.
        source: Where it starts.
        neighbours: For each node its neighbours in their order, one twice if there are two cables.
    """
    hops, node, used = [], source, 0
    while used < vector.bits:
        next_one, used = read(vector, used, len(neighbours[node]))
        hops.append((node, next_one))
        node = neighbours[node][next_one]
    return hops


def words(neighbours: Iterable[int]) -> int:
    """The most words of 64 bits that a node on a path looks at, where the path's nodes have so many neighbours."""
    most = used = 0
    for number in neighbours:
        last = used + width(number) - 1
        most, used = max(most, last // WORD - used // WORD + 1), last + 1
    return most
