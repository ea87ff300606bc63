"""The multipath thesis: loads on packets, other networks, source routes. Verdicts on real tables and with a change."""

import polars as pl
import pytest
from conftest import through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.theory import routings
from flowyard.theory.fat_tree import Channel, FatTree
from flowyard_papers.mp import _packet_loads, networks

FIGURE, JUDGE = networks.FIGURE, networks.FIGURE.claims["MP-P8"]


def test_the_verdict_at_quick_scale(made):
    found = JUDGE(made(FIGURE))
    assert found.verdict == PASS, found


def test_every_load_is_as_in_theory(made):
    loads = made(FIGURE)["loads"]
    assert (loads["measured"] == loads["theory"]).all()
    largest = {
        (tree, scheme): load
        for tree, scheme, load in loads.filter(
            pl.col("pattern").is_in(["Stride(4)", "Stride(16)"]), of="link"
        )
        .group_by("tree", "scheme")
        .agg(pl.col("measured").max())
        .iter_rows()
    }
    # Theorem 5.5: normal routing at its worst, MDNVR at base load.
    assert largest["FT(4,3)", "NR"] == 4
    assert largest["FT(8,3)", "NR"] == 16
    assert largest["FT(4,3)", "MDNVR"] == largest["FT(8,3)", "MDNVR"] == 1


CHANGES = [
    ("loads", (pl.col("scheme") == "Dual") & (pl.col("of") == "switch"), "measured", 99.0),
    ("draws", (pl.col("scheme") == "DNVR") & (pl.col("tree") == "FT(8,3)"), "link", 9.0),
    ("draws", (pl.col("scheme") == "Valiant") & (pl.col("tree") == "FT(4,3)"), "core", 1.0),
    ("routes", (pl.col("by") == "Nix-vector") & (pl.col("search") == "first"), "path", "elsewhere"),
    ("routes", pl.col("network") == "VL2", "hops", 7),
    ("farthest", pl.col("network") == "BCube(4,2)", "paths", 7),
    ("runs", pl.col("network") == "BCube(4,2)", "arrived", 63),
    ("runs", pl.col("scheme") == "MDNVR, 4 paths", "connections", 100),
    ("runs", pl.col("scheme") == "Dual", "data_hops", 100),
]


@pytest.mark.parametrize(("table", "rows", "column", "value"), CHANGES)
def test_a_change_fails_the_claim(table, rows, column, value, made):
    tables = made(FIGURE)
    assert tables[table].filter(rows).height > 0
    new = pl.when(rows).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    assert JUDGE({**tables, table: tables[table].with_columns(new)}).verdict == FAIL


@pytest.mark.parametrize(
    ("table", "keep"),
    [("loads", pl.col("scheme") != "s-mod-k"), ("runs", (pl.col("network") != "VL2"))],
)
def test_what_is_not_there_is_not_judged(table, keep, made):
    tables = made(FIGURE)
    assert JUDGE({**tables, table: tables[table].filter(keep)}).verdict == NOT_REACHED


def test_verdict_and_picture_survive_csv(made):
    tables = made(FIGURE)
    again = through_csv(tables)
    assert JUDGE(again) == JUDGE(tables)
    assert FIGURE.draw
    assert FIGURE.draw(again).axes


@pytest.mark.parametrize(
    ("start", "end", "channel"),
    [
        ("host 9", "pod 2 edge 0", Channel(2, 9, 4, True)),
        ("pod 2 edge 0", "host 9", Channel(2, 9, 4, False)),
        ("pod 1 edge 1", "pod 1 aggregation 0", Channel(1, 3, 2, True)),
        ("core 3", "pod 3 aggregation 1", Channel(0, 7, 3, False)),
    ],
)
def test_channels_by_name(start, end, channel):
    assert _packet_loads._channel(2, start, end) == channel


@pytest.mark.parametrize("tree", [FatTree(4, 3), FatTree(8, 2)])
def test_dual_is_its_two_families(tree):
    dual, families = routings.dual(tree), [routings.family(tree, number) for number in (0, 1)]
    for number in (0, 1):
        routings.check(tree, families[number])
    for pair, ways in dual.items():
        assert ways.keys() == families[0][pair].keys() | families[1][pair].keys()
