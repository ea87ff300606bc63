"""flowyard.theory: the tree against Flowyard's own, routings against definitions, matrices and their decompositions."""

from fractions import Fraction
from itertools import pairwise, permutations

import pytest

from flowyard.theory import matrices, routings
from flowyard.theory.fat_tree import (
    FatTree,
    Switch,
    channels_on,
    digits,
    pairs,
    siblings,
    switches,
    switches_on,
    turn,
    ways_up,
)
from flowyard.topology import network
from flowyard.topology.paths import Paths

TREES = [
    FatTree(2, 1),
    FatTree(2, 3),
    FatTree(4, 1),
    FatTree(4, 2),
    FatTree(4, 3),
    FatTree(6, 2),
    FatTree(4, 4),
]


def built(tree):
    """Flowyard's network of the tree, and the place of each of our switches in it."""
    found = network({"topology": {"fat-tree": {"k": tree.m, "levels": tree.n}}})
    order = sorted(switches(tree), key=lambda switch: (-switch.level, switch.place))
    return found, {switch: tree.nodes + number for number, switch in enumerate(order)}


@pytest.mark.parametrize("tree", TREES, ids=str)
class TestTree:
    def test_it_is_flowyards_fat_tree(self, tree):
        other, place = built(tree)
        assert other.hosts == tree.nodes
        assert len(other.nodes) == tree.nodes + (2 * tree.n - 1) * tree.most_paths
        cables = {frozenset((cable.a, cable.b)) for cable in other.cables}
        ours = set()
        for s, d in pairs(tree):
            for up in ways_up(tree, s, d):
                on = [s, *(place[switch] for switch in switches_on(tree, s, d, up)), d]
                ours |= {frozenset(ends) for ends in pairwise(on)}
        assert ours == cables

    def test_there_are_as_many_ways_as_a_search_finds(self, tree):
        distance, count = Paths.of(built(tree)[0]).between_hosts()
        for s, d in pairs(tree):
            ways = list(ways_up(tree, s, d))
            assert len({switches_on(tree, s, d, up) for up in ways}) == len(ways) == count[s, d]
            for up in ways:
                assert (
                    len(channels_on(tree, s, d, up)) == distance[s, d] == len(switches_on(tree, s, d, up)) + 1
                )

    def test_channels_join_the_switches_on_the_way(self, tree):
        for s, d in [(0, tree.nodes - 1), (0, 1), (1, tree.nodes // 2)]:
            for up in ways_up(tree, s, d) if s != d else []:
                on, channels = switches_on(tree, s, d, up), channels_on(tree, s, d, up)
                for channel, a, b in zip(channels[1:], on, on[1:], strict=False):
                    lower, upper = (a, b) if channel.up else (b, a)
                    assert (upper, lower) == (
                        Switch(channel.level, channel.upper),
                        Switch(channel.level + 1, channel.lower),
                    )
                assert (channels[0].lower, channels[-1].lower) == (s, d)

    def test_siblings_share_a_sub_tree(self, tree):
        for switch in switches(tree):
            group = siblings(tree, switch)
            assert switch in group
            assert len(group) == tree.half ** (tree.n - 1 - switch.level)
            assert all(siblings(tree, other) == group for other in group)


def test_labels_and_paths_of_figure_1_4():
    tree = FatTree(4, 3)
    label = {digits(tree, node): node for node in range(tree.nodes)}
    s, d = label[0, 1, 0], label[2, 0, 1]
    assert len(list(ways_up(tree, s, d))) == 4
    assert turn(tree, s, d) == 0
    # Core <c0 c1> is reached through aggregation switch <p, c1>.
    assert switches_on(tree, s, d, (1, 0)) == (
        Switch(2, 1),
        Switch(1, 1),
        Switch(0, 1),
        Switch(1, 5),
        Switch(2, 4),
    )


@pytest.mark.parametrize(("m", "n"), [(3, 2), (0, 2), (4, 0)])
def test_trees_that_are_none(m, n):
    with pytest.raises(ValueError, match="use"):
        FatTree(m, n)


ALL = {
    "normal": routings.normal,
    "all_paths": routings.all_paths,
    "d_mod_k": routings.d_mod_k,
    "s_mod_k": routings.s_mod_k,
    "lower_pod": routings.lower_pod,
    "dual": routings.dual,
    "first": lambda tree: routings.first_paths(tree, Fraction(4, 3)),
    "random": lambda tree: routings.random_paths(tree, 2, 1),
    "one": lambda tree: routings.random_paths(tree, None, 1),
}


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_routings_are_routings(name, tree):
    routings.check(tree, ALL[name](tree))


def test_check_finds_what_is_none():
    tree = FatTree(4, 2)
    wrong = routings.all_paths(tree)
    wrong[0, 2] = {(0,): Fraction(1, 2)}
    with pytest.raises(ValueError, match=r"\(0, 2\).*add up"):
        routings.check(tree, wrong)
    wrong[0, 2] = {(2,): Fraction(1)}
    with pytest.raises(ValueError, match=r"\(0, 2\).*shortest"):
        routings.check(tree, wrong)


def test_digits_decide_single_paths():
    tree = FatTree(4, 3)
    s, d = 2, 9  # 010 and 201
    assert list(routings.d_mod_k(tree)[s, d]) == [(1, 0)]
    assert list(routings.s_mod_k(tree)[s, d]) == [(0, 1)]
    assert list(routings.link_optimal(tree)[s, d]) == [(0, 0)]
    assert list(routings.normal(tree)[s, d]) == [(0, 0)]
    assert list(routings.d_mod_k(tree)[0, 3]) == [(1,)]
    assert routings.normal(tree)[0, 1] == {(): Fraction(1)}


def test_dual_has_two_paths_without_a_common_switch_above_the_edge():
    tree = FatTree(4, 3)
    for (s, d), ways in routings.dual(tree).items():
        climbs = tree.n - 1 - turn(tree, s, d)
        assert len(ways) == (2 if climbs else 1)
        above = [{on for on in switches_on(tree, s, d, up) if on.level < 2} for up in ways]
        assert not climbs or not above[0] & above[1]


@pytest.mark.parametrize(
    ("tree", "k", "number"), [((4, 3), 2, 2), ((4, 3), Fraction(4, 3), 3), ((8, 3), 8, 2)]
)
def test_k_leaves_so_many_paths(tree, k, number):
    tree = FatTree(*tree)
    far = tree.nodes - 1
    assert len(routings.first_paths(tree, k)[0, far]) == number


def test_random_paths_follow_the_seed():
    tree = FatTree(4, 3)
    first, again, other = (routings.random_paths(tree, 2, seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("tree", [(4, 4), (6, 2), (16, 2)])
def test_no_link_optimal_rule_is_made_up(tree):
    with pytest.raises(ValueError, match="link-optimal"):
        routings.link_optimal(FatTree(*tree))


def test_patterns():
    for step in (2, 4):
        for i, row in enumerate(matrices.stride(16, step)):
            assert row == [Fraction(j == (i + step) % 16) for j in range(16)]
    for number in (3, 5, 7):
        matrix = matrices.senders(number)
        assert {sum(line) for lines in (matrix, zip(*matrix, strict=True)) for line in lines} == {number}
        assert not any(matrix[i][i] for i in range(16))
        assert matrices.baseload(matrix) == number
    with pytest.raises(ValueError, match="permutation"):
        matrices.permutation([0, 0])


def test_the_base_load_leaves_out_the_diagonal():
    matrix = [[Fraction(9), Fraction(1)], [Fraction(2), Fraction(9)]]
    assert matrices.baseload(matrix) == 2


def test_decomposition_by_level():
    tree = FatTree(4, 3)
    ones = [[Fraction(1)] * 16 for _ in range(16)]
    counts = [sum(map(sum, part)) for part in matrices.by_level(tree, ones)]
    assert counts == [192, 32, 16]
    matrix = matrices.drawn(16, 3)
    parts = matrices.by_level(tree, matrix)
    assert [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)] == matrix
    shares = [
        [int(sum(map(sum, part))) for part in matrices.by_level(tree, matrices.stride(16, s))] for s in (2, 4)
    ]
    assert shares == [[8, 8, 0], [16, 0, 0]]


@pytest.mark.parametrize("seed", range(8))
def test_birkhoff_adds_up_to_the_matrix(seed):
    matrix = matrices.drawn(9, seed, share=0.5)
    full = matrices.filled(matrix)
    parts = matrices.birkhoff(full)
    again = matrices.empty(9)
    for weight, targets in parts:
        assert weight > 0
        assert sorted(targets) == list(range(9))
        for i, j in enumerate(targets):
            again[i][j] += weight
    assert again == full
    assert sum(weight for weight, _ in parts) == matrices.baseload(matrix)
    assert len(parts) <= 8**2 + 1
    assert all(full[i][j] >= matrix[i][j] for i in range(9) for j in range(9))


def test_birkhoff_of_a_mixture_finds_a_mixture():
    thirds = [(Fraction(1, 6), targets) for targets in permutations(range(3))]
    matrix = matrices.empty(3)
    for weight, targets in thirds:
        for i, j in enumerate(targets):
            matrix[i][j] += weight
    assert matrix == [[Fraction(1, 3)] * 3] * 3
    assert len(matrices.birkhoff(matrix)) == 3


@pytest.mark.parametrize("matrix", [[[1, 0], [1, 0]], [[2, -1], [-1, 2]]])
def test_birkhoff_refuses(matrix):
    with pytest.raises(ValueError, match="one sum"):
        matrices.birkhoff([[Fraction(each) for each in row] for row in matrix])
