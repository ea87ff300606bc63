"""PEQ-F1.2: the counts and bisections of six networks, and that each claim can fail."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.topology import network
from flowyard_papers.peq import _bisection
from flowyard_papers.peq.topologies import FIGURE


@pytest.fixture(scope="module")
def tables():
    return FIGURE.tables(Scale.QUICK, {})


def changed(tables, name, where, column, by):
    """The tables with one number changed."""
    new = pl.when(where).then(pl.col(column) + by).otherwise(pl.col(column))
    assert tables[name].filter(where).height == 1
    return {**tables, name: tables[name].with_columns(new.alias(column))}


@pytest.mark.parametrize("claim", FIGURE.claims)
def test_each_claim_holds(tables, claim):
    assert FIGURE.claims[claim](tables).verdict == PASS


FIRST = {
    "PEQ-F1.2.a": ("three-tier", (pl.col("cores") == 4), "uplinks_of_access_most"),
    "PEQ-F1.3.a": ("fat-tree", (pl.col("k") == 12), "core_switches"),
    "PEQ-F1.4.a": ("vl2", (pl.col("servers") == 300), "top_of_rack_switches"),
    "PEQ-F1.5.a": ("camcube", (pl.col("z") == 5), "neighbours_least"),
    "PEQ-F1.6.a": ("dcell", (pl.col("n") == 4), "cables_between_two_cells_most"),
    "PEQ-F1.7.a": ("bcube", (pl.col("servers") == 16) & (pl.col("k") == 1), "switches"),
    "PEQ-F1.8.a": ("bcube", (pl.col("servers") == 625), "ports_of_server_least"),
}


@pytest.mark.parametrize("claim", FIRST)
def test_a_wrong_count_fails_its_claim(tables, claim):
    name, where, column = FIRST[claim]
    assert FIGURE.claims[claim](changed(tables, name, where, column, 1)).verdict == FAIL


@pytest.mark.parametrize("claim", FIRST)
def test_a_missing_instance_is_not_passed_over(tables, claim):
    name, where, _ = FIRST[claim]
    assert FIGURE.claims[claim]({**tables, name: tables[name].remove(where)}).verdict == NOT_REACHED


@pytest.mark.parametrize(
    ("kind", "ports", "columns", "by", "verdict"),
    [
        ("fat-tree", 8, ("at_least_cables",), -1, FAIL),
        ("fat-tree", 4, ("at_most_cables",), 1, FAIL),
        # 3 cables for 16 servers are fewer than 6 for 20.
        ("bcube", 4, ("at_least_cables", "at_most_cables"), -5, FAIL),
        # 9 for 20 are more than BCube has at most, 11 for 25.
        ("dcell", 4, ("at_least_cables", "at_most_cables"), 3, FAIL),
        # Between the bounds of a BCube of 36 servers, 11 and 16: not decided.
        ("dcell", 6, ("at_most_cables",), 4, NOT_REACHED),
    ],
)
def test_bisections_decide(tables, kind, ports, columns, by, verdict):
    where = (pl.col("network") == kind) & (pl.col("ports") == ports)
    for column in columns:
        tables = changed(tables, "bisection", where, column, by)
    assert FIGURE.claims["PEQ-F1.7.b"](tables).verdict == verdict


def test_without_a_bcube_to_compare_nothing_is_judged(tables):
    rows = tables["bisection"].remove(network="bcube", ports=5)
    assert FIGURE.claims["PEQ-F1.7.b"]({**tables, "bisection": rows}).verdict == NOT_REACHED


def test_verdicts_survive_csv(tables, tmp_path):
    for name, table in tables.items():
        table.write_csv(tmp_path / name)
    again = {name: pl.read_csv(tmp_path / name) for name in tables}
    for claim, judge in FIGURE.claims.items():
        assert judge(again) == judge(tables), claim


def test_the_picture_is_drawn_from_tables_that_were_files(tables, tmp_path):
    for name, table in tables.items():
        table.write_csv(tmp_path / name)
    assert FIGURE.draw
    picture = FIGURE.draw({name: pl.read_csv(tmp_path / name) for name in tables})
    assert [axes.get_title()[:5] for axes in picture.axes][:2] == ["Three", "Fat-t"]


def brute_force(built):
    """The least cut over all places of all nodes, with the servers halved."""
    nodes, hosts = len(built.nodes), built.hosts
    best = len(built.cables)
    ends = np.array([(cable.a, cable.b) for cable in built.cables])
    switches = (np.arange(2 ** (nodes - hosts))[:, None] >> np.arange(nodes - hosts)) & 1
    for half in combinations(range(hosts), hosts // 2):
        servers = np.isin(np.arange(hosts), half).astype(int)
        sides = np.hstack([np.tile(servers, (len(switches), 1)), switches])
        best = min(best, int((sides[:, ends[:, 0]] != sides[:, ends[:, 1]]).sum(1).min()))
    return best


@pytest.mark.parametrize(
    "topology",
    [
        {"bcube": {"n": 2, "k": 2}},
        {"bcube": {"n": 3, "k": 1}},
        {"dcell": {"n": 3, "k": 1}},
        {"dcell": {"n": 2, "k": 1}},
        {"single-switch": {"hosts": 5}},
        {"leaf-spine": {"leaves": 4, "spines": 1, "hosts": 2}},
        {"leaf-spine": {"leaves": 3, "spines": 2, "hosts": 3, "parallel": 2}},
        {"three-tier": {"cores": 2, "aggregations": 2, "accesses": 4, "hosts": 2}},
        {"fat-tree": {"k": 2}},
    ],
    ids=str,
)
def test_every_split_finds_the_least_cut_and_uniform_traffic_stays_below(topology):
    built = network({"topology": topology})
    least = brute_force(built)
    assert _bisection.by_every_split(built) == least
    assert 0 < _bisection.by_uniform_traffic(built) <= least


@pytest.mark.parametrize("k", [1, 2, 3])
def test_uniform_traffic_is_tight_on_hypercubes(k):
    # In BCube_k of 2-port switches, half of the 2^(k+1) servers have a switch each to the other half.
    built = network({"topology": {"bcube": {"n": 2, "k": k}}})
    assert _bisection.by_uniform_traffic(built) == 2**k


def test_bounds_hold_for_a_network_with_a_known_bisection():
    # A 4 x 4 x 4 torus: 2 N / side (Dally and Towles), all from the closed form.
    built = network({"topology": {"camcube": {"x": 4, "y": 4, "z": 4}}})
    found = _bisection.bounds(built)
    assert found.least == found.most == 32
    assert _bisection.by_uniform_traffic(built) <= 32
