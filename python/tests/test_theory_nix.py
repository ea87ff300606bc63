"""Nix-vectors: table 2.1 by hand, and any path through any network unchanged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowyard.theory import nix


@pytest.mark.parametrize(
    ("neighbours", "bits"),
    [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (13, 4), (27, 5), (65, 7)],
)
def test_bits_of_a_hop(neighbours, bits):
    assert nix.width(neighbours) == bits


def test_a_vector_by_hand():
    # 1 of 2, 2 of 3, 0 of 6: 1, 10, 000.
    vector = nix.encode([(1, 2), (2, 3), (0, 6)])
    assert vector == (0b110000, 6)
    assert nix.read(vector, 0, 2) == (1, 1)
    assert nix.read(vector, 1, 3) == (2, 3)
    assert nix.read(vector, 3, 6) == (0, 6)


def test_two_cables_to_a_neighbour_are_two_hops():
    neighbours = [[1, 1], [0, 0]]
    assert nix.decode(nix.encode([(1, 2), (0, 2)]), 0, neighbours) == [(0, 1), (1, 0)]


@st.composite
def walks(draw):
    """A network and a walk on it, each step by one of the node's cables."""
    nodes = draw(st.integers(2, 40))
    node = st.integers(0, nodes - 1)
    neighbours = draw(st.lists(st.lists(node, min_size=1, max_size=70), min_size=nodes, max_size=nodes))
    source = at = draw(node)
    hops = []
    for _ in range(draw(st.integers(0, 30))):
        number = draw(st.integers(0, len(neighbours[at]) - 1))
        hops.append((at, number))
        at = neighbours[at][number]
    return neighbours, source, hops


@given(walks())
def test_any_path_comes_out_unchanged(walk):
    neighbours, source, hops = walk
    degrees = [len(neighbours[node]) for node, _ in hops]
    vector = nix.encode((number, degree) for (_, number), degree in zip(hops, degrees, strict=True))
    assert vector.bits == sum(map(nix.width, degrees))
    assert nix.decode(vector, source, neighbours) == hops


@pytest.mark.parametrize(
    ("neighbours", "words"),
    [([2] * 64, 1), ([2] * 65, 1), ([4] * 32, 1), ([8] * 22, 2), ([4] * 31 + [8], 2), ([], 0)],
)
def test_words_that_a_node_looks_at(neighbours, words):
    assert nix.words(neighbours) == words


def test_what_is_no_hop_is_refused():
    with pytest.raises(ValueError, match="neighbours: 0"):
        nix.width(0)
    with pytest.raises(ValueError, match="neighbour 3 of 3"):
        nix.encode([(3, 3)])
