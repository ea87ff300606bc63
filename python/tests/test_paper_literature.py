"""Figures that compare transports: all of them finish; and MPTCP's increase, with numbers that make the claim fail."""

import polars as pl
import pytest
from conftest import quick_tables, through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import _compare, incast, lia, permutation, web_search

(AS_FORMULA,) = lia.FIGURE.claims.values()


@pytest.mark.parametrize(
    ("module", "x"),
    [(permutation, []), (incast, ["senders"]), (web_search, ["load"])],
    ids=["permutation", "incast", "web search"],
)
def test_every_transport_finishes_the_same_flows(module, x, tmp_path):
    tables = quick_tables(module.FIGURE, tmp_path)
    runs = tables["runs"]
    assert set(runs["by"]) == set(_compare.TRANSPORTS)
    assert runs["completed"].to_list() == runs["flows"].to_list()
    # Slowdown is against what no transport can beat.
    assert (runs["slowdown_mean"] >= 1).all()
    per_point = runs.group_by(*x, "replica", "group").agg(pl.col("flows").n_unique(), pl.len())
    assert per_point["flows"].unique().to_list() == [1]
    assert per_point["len"].unique().to_list() == [len(_compare.TRANSPORTS)]
    assert module.draw(tables).axes


def many(worst=1.1, at=4000, numbers=incast.MANY):
    rows = [{"senders": n, "last_over_ideal": worst if n == at else 1.01} for n in numbers]
    return {"many": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("tables", "verdict"),
    [
        (many(), PASS),
        (many(1.199), PASS),
        (many(1.201), FAIL),
        (many(1.201, at=8000), FAIL),
        (many(None), FAIL),
        (many(numbers=incast.MANY[:3]), NOT_REACHED),
    ],
)
def test_the_last_of_many_is_judged_by_the_worst_run(tables, verdict):
    (judge,) = incast.FIGURE.claims.values()
    assert judge(tables).verdict == verdict


def test_windows_grow_by_the_formula(tmp_path):
    tables = quick_tables(lia.FIGURE, tmp_path)
    again = through_csv(tables)
    assert AS_FORMULA(tables).verdict == PASS
    assert AS_FORMULA(again) == AS_FORMULA(tables)
    assert lia.draw(again).axes
    # The control: TCP's increase is another one.
    other = tables["growth"].filter(coupling=lia.UNCOUPLED, subflows=8)["segments_a_round_trip"].item()
    assert other > 40 / 8


def growth(factor, at=4, subflows=lia.SUBFLOWS):
    rows = [
        {
            "coupling": lia.LIA,
            "subflows": n,
            "segments_a_round_trip": (factor if n == at else 1) / n,
            "formula": 1 / n,
        }
        for n in subflows
    ]
    return {"growth": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("tables", "verdict"),
    [
        (growth(1.0), PASS),
        (growth(1.019), PASS),
        (growth(1.021), FAIL),
        (growth(0.979, at=1), FAIL),
        (growth(1.0, subflows=(1, 2)), NOT_REACHED),
    ],
)
def test_what_is_off_fails(tables, verdict):
    assert AS_FORMULA(tables).verdict == verdict
