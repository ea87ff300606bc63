"""SYN-P8, P3, F1.a: the two leaf-spines and what they route; the colouring; that each claim can fail."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.syn._colouring import colouring
from flowyard_papers.syn._leaf_spine import Fabric
from flowyard_papers.syn.equivalence import BEYOND, FIGURE, MATCHINGS, _demands


@pytest.fixture(scope="module")
def tables():
    return FIGURE.tables(Scale.QUICK, {})


def changed(tables, name, where, column, value):
    """The tables with one column changed in some rows."""
    assert not tables[name].filter(where).is_empty()
    new = pl.when(where).then(pl.lit(value)).otherwise(pl.col(column))
    return {**tables, name: tables[name].with_columns(new.alias(column))}


@pytest.mark.parametrize("claim", FIGURE.claims)
def test_each_claim_holds(tables, claim):
    assert FIGURE.claims[claim](tables).verdict == PASS


PAPER = (pl.col("factor") == 10) & (pl.col("links") == "two rates")
EQUAL = (pl.col("factor") == 10) & (pl.col("links") == "one rate")
MATCHING = (pl.col("factor") == 10) & (pl.col("kind") == MATCHINGS[0]) & (pl.col("number") == 3)
TOO_MANY = (pl.col("factor") == 10) & (pl.col("kind") == BEYOND[0]) & (pl.col("number") == 3)


@pytest.mark.parametrize(
    ("claim", "name", "where", "column", "value"),
    [
        ("SYN-F1.a", "networks", PAPER, "servers", 119),
        ("SYN-F1.a", "networks", PAPER, "leaf_up_least_gbps", 20),
        ("SYN-F1.a", "networks", PAPER, "oversubscription", 1.5),
        ("SYN-P8", "networks", EQUAL, "spines", 29),
        ("SYN-P8", "networks", EQUAL, "spine_links_most_gbps", 10.0),
        ("SYN-P8", "networks", EQUAL, "servers", 119),
        ("SYN-P8", "slots", MATCHING, "overfull_links_fast", 1),
        ("SYN-P8", "slots", MATCHING, "overfull_links_equal", 1),
        ("SYN-P8", "slots", MATCHING, "busiest_link_fast", 11),
        ("SYN-P8", "slots", MATCHING, "busiest_link_equal", None),
        ("SYN-P8", "slots", TOO_MANY, "room_of_a_leaf_equal", 31),
        ("SYN-P8", "slots", TOO_MANY, "most_at_a_leaf", 30),
        ("SYN-P3", "slots", MATCHING, "busiest_link_equal", 2),
        ("SYN-P3", "slots", MATCHING, "colours", 31),
        ("SYN-P3", "slots", MATCHING, "colours", None),
        ("SYN-P3", "slots", MATCHING, "overfull_links_equal", 1),
    ],
)
def test_one_wrong_value_fails(tables, claim, name, where, column, value):
    assert FIGURE.claims[claim](changed(tables, name, where, column, value)).verdict == FAIL


def test_missing_slots_are_not_passed_over(tables):
    for kind in (*MATCHINGS, *BEYOND):
        slots = {**tables, "slots": tables["slots"].remove(kind=kind)}
        assert FIGURE.claims["SYN-P8"](slots).verdict == NOT_REACHED
    none = {**tables, "slots": tables["slots"].filter(pl.col("kind").is_in(BEYOND))}
    assert FIGURE.claims["SYN-P3"](none).verdict == NOT_REACHED


def test_verdicts_and_picture_survive_csv(tables):
    assert len(drawn_from_csv(FIGURE, tables).axes) == 3


def test_demands_are_what_they_are_called():
    for kind, number, demand in _demands(6):
        out, into = (Counter(pair[end] for pair in demand) for end in (0, 1))
        assert all(a != b for a, b in demand)
        twice = [count for degrees in (out, into) for count in degrees.values() if count > 1]
        if kind in MATCHINGS:
            assert not twice, (kind, number)
            continue
        assert twice == [2]
        degrees = Counter((end, pair[end] // 30) for pair in demand for end in (0, 1))
        assert len(demand) == 120
        assert max(degrees.values()) == 31
        assert all(a // 30 != b // 30 for a, b in demand)


@pytest.mark.parametrize("seed", range(20))
def test_colourings_are_proper(seed):
    random = np.random.default_rng(seed)
    vertices, count = int(random.integers(1, 8)), int(random.integers(0, 120))
    edges = [tuple(edge) for edge in random.integers(0, vertices, (count, 2)).tolist()]
    degree = max([*Counter(a for a, _ in edges).values(), *Counter(b for _, b in edges).values(), 1])
    for colours in (degree, degree + 3):
        found = colouring(edges, colours)
        assert found is not None
        assert len(found) == count
        assert all(0 <= colour < colours for colour in found)
        for end in (0, 1):
            assert len({(edge[end], colour) for edge, colour in zip(edges, found, strict=True)}) == count
    if degree > 1:
        assert colouring(edges, degree - 1) is None


def test_loads_are_counted_on_the_links():
    # Two packets from leaf 0 to leaf 1 by one spine, one within leaf 0.
    demand = [(0, 30), (1, 31), (2, 3)]
    assert Fabric(10, True).carry(demand, [7, 7]) == (2, 2)
    assert Fabric(10, False).carry(demand, [7, 7]) == (2, 0)
    # Colours 0 and 9 are one spine at 10 Gbps; one server's link has both packets then.
    assert Fabric(10, False).carry([(0, 30), (0, 31)], [0, 9]) == (2, 1)
    assert Fabric(10, True).carry([(0, 30), (1, 31)], [0, 9]) == (1, 0)
