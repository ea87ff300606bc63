"""Shortest paths and their counts, against a walk through every path of small networks."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from flowyard import topology
from flowyard.topology import Cable, Network, Node
from flowyard.topology.paths import Paths, directed_links, distances, parts, path_counts, shares


def random_network(seed):
    """Some hosts and switches with cables drawn by lot: parallel ones, loose parts, hosts that forward."""
    chance = random.Random(seed)
    hosts, switches = chance.randint(2, 5), chance.randint(0, 5)
    nodes = [Node(f"host {i}", "host", True) for i in range(hosts)]
    nodes += [Node(f"switch {i}", "switch", False) for i in range(switches)]
    places = range(len(nodes))
    ends = [chance.sample(places, 2) for _ in range(chance.randint(1, 2 * len(nodes)))]
    return Network("explicit", {}, nodes, [Cable(a, b, 1, 1, 0) for a, b in ends])


def built(parameters):
    return topology.network({"topology": parameters})


NETWORKS = {
    "fat-tree": built({"fat-tree": {"k": 4}}),
    "FT(4,2)": built({"fat-tree": {"k": 4, "levels": 2}}),
    "leaf-spine": built({"leaf-spine": {"leaves": 3, "spines": 2, "hosts": 2}}),
    "BCube": built({"bcube": {"n": 3, "k": 1}}),
    "DCell": built({"dcell": {"n": 3, "k": 1}}),
    "CamCube": built({"camcube": {"x": 3, "y": 2, "z": 2}}),
    **{f"random {seed}": random_network(seed) for seed in range(40)},
}


@pytest.fixture(params=NETWORKS, scope="module")
def network(request):
    return NETWORKS[request.param]


def simple_paths(network, source, target):
    """Every way from source to target without a node twice, as directed links: depth-first, all of them."""
    out: dict[int, list[tuple[int, int]]] = {}
    for number, (start, end) in enumerate(directed_links(network).tolist()):
        out.setdefault(start, []).append((number, end))
    longest = len(network.nodes) if len(network.nodes) < 12 else 6

    def walk(node, seen, links):
        if node == target:
            yield links
        elif len(links) < longest:
            for number, end in out.get(node, []):
                if end not in seen:
                    yield from walk(end, seen | {end}, [*links, number])

    return list(walk(source, {source}, []))


def shortest(network, source, target):
    ways = simple_paths(network, source, target)
    least = min(map(len, ways), default=-1)
    return [way for way in ways if len(way) == least]


def some_pairs(network):
    """All pairs of hosts, or a dozen of those of a larger network."""
    pairs = [(s, t) for s in range(network.hosts) for t in range(network.hosts) if s != t]
    return pairs if len(pairs) <= 30 else random.Random(1).sample(pairs, 12)


def test_paths_are_those_that_a_walk_finds(network):
    paths, links = Paths.of(network), directed_links(network)
    distance, count = paths.between_hosts()
    on_link = [paths.through_link(link) for link in range(len(links))]
    on_node = [paths.through_node(node) for node in range(len(network.nodes))]
    for s, t in some_pairs(network):
        ways = shortest(network, s, t)
        assert count[s, t] == len(ways)
        assert distance[s, t] == (len(ways[0]) if ways else -1)
        used = Counter(link for way in ways for link in way)
        assert [through[s, t] for through in on_link] == [used[link] for link in range(len(links))]
        visited = Counter(end for way in ways for end in {s, *(links[link][1] for link in way)})
        assert [through[s, t] for through in on_node] == [visited[n] for n in range(len(network.nodes))]
        if ways:
            expected = [Fraction(used[link], len(ways)) for link in range(len(links))]
            assert shares(network, s, t) == expected
        else:
            with pytest.raises(ValueError, match="no path"):
                shares(network, s, t)


def test_the_short_forms_agree(network):
    paths = Paths.of(network)
    assert np.array_equal(distances(network), paths.distance)
    for short, long in zip(path_counts(network), paths.between_hosts(), strict=True):
        assert np.array_equal(short, long)


def test_traffic_is_conserved_at_every_node(network):
    links, known = directed_links(network), distances(network)
    for source, target in some_pairs(network):
        if known[source, target] < 0:
            continue
        balance = [Fraction(0)] * len(network.nodes)
        for (start, end), share in zip(links.tolist(), shares(network, source, target), strict=True):
            balance[start] -= share
            balance[end] += share
        assert (balance[source], balance[target]) == (-1, 1)
        assert not any(part for node, part in enumerate(balance) if node not in (source, target))


def test_parts_are_those_of_a_flood(network):
    chance = random.Random(7)
    keep = chance.sample(range(len(network.nodes)), len(network.nodes) * 2 // 3)
    expected, number = [-1] * len(network.nodes), 0
    for start in sorted(keep):
        if expected[start] < 0:
            flood = [start]
            for node in flood:
                expected[node] = number
                near = {c.b for c in network.cables if c.a == node} | {
                    c.a for c in network.cables if c.b == node
                }
                flood += [other for other in near & set(keep) if other not in flood]
            number += 1
    assert parts(network, keep).tolist() == expected


@pytest.mark.parametrize(
    "parameters",
    [
        {"fat-tree": {"k": 8}},
        {"fat-tree": {"k": 4, "levels": 4}},
        {"bcube": {"n": 4, "k": 2}},
        {"dcell": {"n": 4, "k": 1}},
        {"camcube": {"x": 4, "y": 4, "z": 3}},
        {"vl2": {}},
    ],
)
def test_distances_are_those_that_the_engine_finds(parameters):
    """Two implementations, of which one is in Rust."""
    distance, count = path_counts(built(parameters))
    found = topology.survey({"topology": parameters})["paths"]
    assert not found["sampled"]
    for row in found["distances"]:
        here = count[distance == row["hops"]]
        assert (len(here), here.min(), here.max()) == (row["pairs"], row["paths_min"], row["paths_max"])
    pairs = len(count) * (len(count) - 1)
    assert sum(row["pairs"] for row in found["distances"]) == pairs


def test_too_many_paths_are_not_counted_wrong():
    # A chain of 70 pairs of parallel cables.
    nodes = [Node(str(i), "host", True) for i in range(71)]
    doubled = [Cable(i, i + 1, 1, 1, 0) for i in range(70) for _ in range(2)]
    with pytest.raises(OverflowError):
        distances(Network("explicit", {}, nodes, doubled))
    assert path_counts(Network("explicit", {}, nodes[:61], doubled[:120]))[1][0, 60] == 2**60
