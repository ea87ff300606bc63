"""The multipath thesis: paths that packets took. Verdicts on real tables, on tables with a change, and from CSV."""

import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Plan, execute
from flowyard.sweeps.tables import Sweep
from flowyard_papers.mp import _connections, ecmp, nix_vectors, searches

FIGURES = {module.FIGURE.id: module.FIGURE for module in (nix_vectors, searches, ecmp)}
CLAIMS = {claim: figure for figure in FIGURES.values() for claim in figure.claims}


@pytest.mark.parametrize("claim", CLAIMS)
def test_verdicts_at_quick_scale(claim, made):
    found = CLAIMS[claim].claims[claim](made(CLAIMS[claim]))
    assert found.verdict == PASS, found


# Claim, table, which rows, column, its new value: then the claim no longer holds.
CHANGES = [
    ("MP-T2.1.a", "example", pl.col("hop") == 7, "bits", 3),
    ("MP-T2.1.a", "example", pl.col("hop") == 10, "bits_in_all", 26),
    (
        "MP-T2.1.b",
        "connections",
        (pl.col("network") == "VL2") & (pl.col("connection") == 3),
        "decoded",
        "1 2",
    ),
    ("MP-T2.1.b", "connections", pl.col("network") == "random 2", "one_path", False),
    ("MP-T2.1.b", "connections", pl.col("network") == "BCube(4,2)", "fewest_hops", 1),
    ("MP-T2.1.c", "connections", pl.col("hops") == 6, "bits", 12),
    ("MP-P6", "trees", pl.col("m") == 64, "bits", 33),
    ("MP-P6", "connections", pl.col("network") == "CamCube", "words_a_hop", 2),
    ("MP-F2.1.a", "paths", pl.col("search") == "shuffled", "of_first_200", 0),
    ("MP-F2.1.b", "paths", pl.col("nodes").str.contains("core 2"), "connections", 20),
    ("MP-F1.5.a", "paths", pl.lit(True), "paths", 2),
    ("MP-F1.5.a", "flows", pl.col("connection") == 5, "one_path", False),
    ("MP-F1.5.a", "flows", pl.col("nodes").str.contains("blue"), "nodes", "elsewhere"),
    ("MP-F1.5.a", "flows", pl.col("nodes").str.contains("black"), "hops", 6),
]


@pytest.mark.parametrize(("claim", "table", "rows", "column", "value"), CHANGES)
def test_a_change_fails_the_claim(claim, table, rows, column, value, made):
    tables = made(CLAIMS[claim])
    if (claim, column) == ("MP-F1.5.a", "nodes"):
        # Not one flow by the blue branch: they are all on another one.
        value = tables["flows"].filter(pl.col("nodes").str.contains("red"))["nodes"][0]
    if (claim, column) == ("MP-F2.1.a", "of_first_200"):
        # All of the first 200 by one core.
        rows, value = rows & pl.col("nodes").str.contains("core 1"), 200
        other = pl.when(pl.col("search") == "shuffled").then(0).otherwise(pl.col(column)).alias(column)
        tables = {**tables, table: tables[table].with_columns(other)}
    assert tables[table].filter(rows).height > 0
    new = pl.when(rows).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    found = CLAIMS[claim].claims[claim]({**tables, table: tables[table].with_columns(new)})
    assert found.verdict == FAIL, found


def test_a_plain_search_with_two_ends_fails(made):
    rows = made(searches.FIGURE)["paths"]
    plain = rows.filter(search="plain", network=searches.TREE)
    second = plain.with_columns(nodes=pl.col("nodes").str.replace("core 0", "core 1"))
    found = searches.FIGURE.claims["MP-F2.1.a"]({"paths": pl.concat([rows, second])})
    assert found.verdict == FAIL


@pytest.mark.parametrize(
    ("claim", "table", "keep"),
    [
        ("MP-T2.1.b", "connections", pl.col("network") != "DCell(3,1)"),
        ("MP-T2.1.c", "connections", pl.col("hops") < 6),
        ("MP-P6", "trees", pl.col("m") < 64),
        ("MP-F2.1.a", "paths", pl.col("search") == "plain"),
        ("MP-F2.1.b", "paths", pl.col("search") == "plain"),
    ],
)
def test_what_is_not_there_is_not_judged(claim, table, keep, made):
    tables = made(CLAIMS[claim])
    found = CLAIMS[claim].claims[claim]({**tables, table: tables[table].filter(keep)})
    assert found.verdict == NOT_REACHED


@pytest.mark.parametrize(("counts", "p"), [([50] * 4, 1), ([60, 50, 50, 40], 0.2615), ([100, 100], 0)])
def test_chance_is_chi_square_with_three_degrees(counts, p):
    # 4 for [60, 50, 50, 40]: 0.2615 by the tables.
    assert searches.chance(counts) == pytest.approx(p, abs=1e-4)


def test_shuffled_search_is_not_uniform_where_paths_do_not_divide_evenly(made):
    rows = made(searches.FIGURE)["paths"].filter(network=searches.UNEVEN)
    alone = rows.filter(pl.col("nodes").str.contains("switch c"))
    share = {search: n / 400 for search, n in alone.select("search", "connections").iter_rows()}
    # Half of the connections by either neighbour of the source's switch; a quarter of the paths.
    assert share == pytest.approx({"shuffled": 0.5, "uniform": 0.25}, abs=0.08)


def test_a_connection_on_several_paths_is_told(tmp_path):
    base = _connections.scenario({"fat-tree": {"k": 4}}, [(0, 15)] * 3)
    plan = Plan(base, set={"routing.balancer": "per-packet"})
    assert not execute(plan, tmp_path / "runs").failed
    rows = _connections.paths(Sweep(tmp_path / "runs"))
    assert rows["connection"].to_list() == [0, 1, 2]
    assert not rows["one_path"].any()
    assert rows["hops"].min() > 6


@pytest.mark.parametrize("figure", FIGURES)
def test_verdicts_and_pictures_survive_csv(figure, made):
    assert drawn_from_csv(FIGURES[figure], made(FIGURES[figure])).axes
