"""flowyard.theory: loads, optima and ratios against brute force, closed forms and each other."""

import random
import sys
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from flowyard.errors import UserError
from flowyard.theory import assignments, bounds, matrices, optimum, probabilities, ratios, routings
from flowyard.theory.fat_tree import FatTree, Switch, pairs, switches, turn
from flowyard.theory.loads import (
    by_level,
    channel_shares,
    loads,
    most,
    switch_shares,
    worst_loads,
    worst_permutation,
)

SMALL, TREE = FatTree(4, 2), FatTree(4, 3)
SINGLE = {
    "normal": routings.normal,
    "d_mod_k": routings.d_mod_k,
    "s_mod_k": routings.s_mod_k,
    "link_optimal": routings.link_optimal,
    "random": lambda tree: routings.random_paths(tree, None, 7),
}
SPLIT = {
    "all": routings.all_paths,
    "dual": routings.dual,
    "half": lambda tree: routings.first_paths(tree, 2),
}


def worst(tree, routing):
    """Worst loads by level: links, switches."""
    links, switches = channel_shares(tree, routing), switch_shares(tree, routing)
    return [list(worst_loads(tree.nodes, links).values()), list(worst_loads(tree.nodes, switches).values())]


# The permutations of FT(4,2)'s 8 nodes: their targets, a row each.
ORDERS = np.array(list(permutations(range(8))))


@pytest.mark.parametrize("name", [*SINGLE, *SPLIT])
def test_a_matching_finds_the_worst_of_all_permutations(name):
    routing = (SINGLE | SPLIT)[name](SMALL)
    for shares in (channel_shares(SMALL, routing), switch_shares(SMALL, routing)):
        for of in shares.values():
            halves = np.zeros((8, 8), dtype=int)
            for pair, share in of.items():
                halves[pair] = share * 2
            found, targets = worst_permutation(8, of)
            assert sorted(targets) == list(range(8))
            assert found == Fraction(int(halves[np.arange(8), ORDERS].sum(axis=1).max()), 2)


@pytest.mark.parametrize("name", [*SINGLE, *SPLIT])
def test_loads_are_what_a_walk_adds_up(name):
    routing = (SINGLE | SPLIT)[name](TREE)
    matrix = matrices.drawn(16, 5, share=0.3)
    links, nodes = (loads(shares(TREE, routing), matrix) for shares in (channel_shares, switch_shares))
    # All that enters a switch leaves it, and what is sent crosses as many links as there are hops.
    for switch, load in nodes.items():
        ways = [
            each
            for channel, each in links.items()
            if ((channel.level, channel.upper) == switch and channel.up)
            or (channel.level == switch.level - 1 and channel.lower == switch.place and not channel.up)
        ]
        assert sum(ways) == load
    hops = sum(matrix[s][d] * 2 * (TREE.n - turn(TREE, s, d)) for s, d in pairs(TREE))
    assert sum(links.values()) == hops
    assert sum(nodes.values()) == hops - sum(matrix[s][d] for s, d in pairs(TREE))


def test_worst_loads_of_chapter_3():
    assert worst(TREE, routings.normal(TREE)) == [[4, 2, 1], [16, 8, 4]]
    assert worst(TREE, routings.all_paths(TREE)) == [[1, 1, 1], [4, 4, 4]]
    assert worst(TREE, routings.link_optimal(TREE)) == [[2, 2, 1], [8, 6, 4]]
    assert worst(TREE, routings.dual(TREE)) == [[2, 1, 1], [4, 4, 4]]
    for mod in (routings.d_mod_k, routings.s_mod_k):
        assert worst(TREE, mod(TREE)) == [[3, 2, 1], [4, 6, 4]]


def test_random_single_paths_are_as_bad_as_normal_routing():
    for seed in range(10):
        links, nodes = worst(TREE, routings.random_paths(TREE, None, seed))
        assert (links[0], nodes[1]) == (4, 8)
        assert nodes[0] in (15, 16)


@pytest.mark.parametrize("m", [4, 8, 32])
def test_two_levels_have_the_square_root(m):
    """With m = 32 there are 512 nodes; one channel each way stands for all, which differ in names only."""
    tree = FatTree(m, 2)
    routing = routings.link_optimal(tree)
    of = {(m - 1) * tree.half + i: j for i, j in enumerate(range(tree.half))}
    carried: dict[int, dict[tuple[int, int], Fraction]] = {up: {} for up in range(tree.half)}
    for s in of:
        for d in range(tree.nodes):
            if s // tree.half != d // tree.half:
                (up,) = next(iter(routing[s, d]))
                carried[up][s, d] = Fraction(1)
    assert max(worst_permutation(tree.nodes, each)[0] for each in carried.values()) == bounds.dnvr_link(tree)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tree", [SMALL, TREE], ids=str)
def test_optima_are_those_of_the_theorems(tree, seed):
    matrix = matrices.drawn(tree.nodes, seed, share=random.Random(seed).random())
    base = matrices.baseload(matrix)
    routing = routings.all_paths(tree)
    link, best = optimum.optu(tree, matrix)
    switch, best_for_switches = optimum.optusw(tree, matrix)
    assert link == base == most(loads(channel_shares(tree, best), matrix))
    assert switch == most(loads(switch_shares(tree, best_for_switches), matrix))
    assert switch == most(loads(switch_shares(tree, routing), matrix))
    assert base <= link <= switch <= base * bounds.any_switch(tree)
    for level, load in by_level(loads(switch_shares(tree, routing), matrix)).items():
        assert optimum.optusw(tree, matrix, level)[0] == load
    for found in (best, best_for_switches):
        routings.check(tree, found)


def test_no_traffic_no_load():
    assert optimum.optu(SMALL, matrices.empty(8))[0] == 0


def test_unequal_switches_make_unequal_shares():
    matrix = matrices.worst_stride(SMALL)
    # 8 units over two cores, one of which counts for three; the other switches are wide enough.
    capacity = {Switch(0, 0): 3} | {switch: 9 for switch in switches(SMALL) if switch.level}
    load, routing = probabilities.for_matrices(SMALL, [matrix], capacity)
    cores = loads(switch_shares(SMALL, routing), matrix)
    assert [load, cores[Switch(0, 0)], cores[Switch(0, 1)]] == [2, 6, 2]


def test_paths_by_loads_and_by_capacity():
    some = {Switch(0, 0): Fraction(3), Switch(0, 1): Fraction(1)}
    assert probabilities.by_loads(SMALL, some)[0, 7] == {(0,): Fraction(1, 4), (1,): Fraction(3, 4)}
    assert probabilities.by_capacity(SMALL, {Switch(0, 0): Fraction(1, 3)})[0, 7] == {
        (0,): Fraction(1, 4),
        (1,): Fraction(3, 4),
    }
    assert probabilities.by_loads(SMALL, {Switch(0, 0): Fraction(3)})[0, 7] == {(0,): 0, (1,): 1}
    for routing in (probabilities.by_loads(TREE, some), probabilities.by_capacity(TREE, some)):
        routings.check(TREE, routing)
    with pytest.raises(ValueError, match="capacity"):
        probabilities.by_capacity(SMALL, dict.fromkeys(switches(SMALL), 0))


def test_for_a_set_of_matrices_all_paths_alike_are_best():
    several = [matrices.drawn(8, seed, share=0.4) for seed in range(4)]
    alike = switch_shares(SMALL, routings.all_paths(SMALL))
    assert probabilities.for_matrices(SMALL, several)[0] == max(most(loads(alike, each)) for each in several)


def test_what_needs_scipy_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    matrix = matrices.stride(8, 2)
    for needs_it in (
        lambda: optimum.optu(SMALL, matrix),
        lambda: assignments.search(SMALL, links=2),
        lambda: worst_permutation(2, {(0, 1): Fraction(1)}),
    ):
        with pytest.raises(UserError, match="pip install scipy"):
            needs_it()


class TestRatios:
    @pytest.mark.parametrize("name", SINGLE)
    def test_every_single_path_has_the_same_by_level(self, name):
        routing = SINGLE[name](TREE)
        for level in range(3):
            expected = bounds.nr_ratio(TREE, level)
            assert ratios.perfsw_level(TREE, routing, level) == expected
            assert ratios.one_flow(TREE, routing, level) == expected == ratios.spread(TREE, level)

    def test_over_all_levels(self):
        assert ratios.perfsw(TREE, routings.normal(TREE)) == 4
        assert ratios.perfsw(TREE, routings.lower_pod(TREE)) == 2
        assert ratios.perfsw(TREE, routings.dual(TREE)) == 2
        assert ratios.perfsw(TREE, routings.all_paths(TREE)) == 1

    @pytest.mark.parametrize("k", [2, 4, Fraction(4, 3)])
    def test_of_k(self, k):
        routing = routings.first_paths(TREE, k)
        for level in range(3):
            expected = bounds.mdnvrk_ratio(TREE, k, level)
            assert ratios.perfsw_level(TREE, routing, level) == expected
            assert ratios.perf_by_level(TREE, routing)[level] == expected
        assert ratios.perf(TREE, routing) == k

    def test_no_random_matrix_has_a_higher_one(self):
        routing = routings.random_paths(SMALL, None, 3)
        limit = ratios.perfsw(SMALL, routing)
        shares = switch_shares(SMALL, routing)
        for seed in range(20):
            matrix = matrices.drawn(8, seed, share=0.2)
            assert most(loads(shares, matrix)) <= limit * optimum.optusw(SMALL, matrix)[0]


class TestAssignments:
    @pytest.mark.parametrize("tree", [SMALL, TREE], ids=str)
    def test_worst_link_load_2_exists_and_1_does_not(self, tree):
        assert assignments.search(tree, links=1) is None
        found = assignments.search(tree, links=2)
        assert found is not None
        routings.check(tree, found)
        assert max(worst(tree, found)[0]) == 2

    def test_worst_switch_load_6_exists(self):
        found = assignments.search(TREE, switches=6)
        assert max(worst(TREE, found)[1]) == 6

    def test_worst_switch_load_5_does_not(self):
        assert assignments.search(TREE, switches=5, level=1) is None

    def test_loads_that_are_asked_for(self):
        matrix = matrices.worst_stride(SMALL)
        found = assignments.search(SMALL, links=2, matrix=matrix, loads={Switch(0, 1): 8})
        assert found is not None
        assert loads(switch_shares(SMALL, found), matrix)[Switch(0, 1)] == 8
        assert assignments.search(SMALL, switches=4, matrix=matrix, loads={Switch(0, 1): 5}) is None
