"""LIT-MPTCP: real quick tables, and numbers that make each claim fail."""

import polars as pl
import pytest
from conftest import quick_tables, through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import mptcp

AS_ONE_TCP, EIGHT, ONE = (mptcp.FIGURE.claims[f"LIT-MPTCP.{letter}"] for letter in "abc")


def test_verdicts_of_real_tables(tmp_path):
    tables = quick_tables(mptcp.FIGURE, tmp_path)
    again = through_csv(tables)
    for claim, judge in mptcp.FIGURE.claims.items():
        found = judge(tables)
        # Alpha goes by the largest of windows that swing: see the figure.
        assert found.verdict == (FAIL if claim == "LIT-MPTCP.a" else PASS), found
        assert judge(again) == found
    assert "largest window" in AS_ONE_TCP(tables).reason
    # The control: uncoupled subflows take several times as much.
    uncoupled = tables["shares"].filter(coupling=mptcp.UNCOUPLED, subflows=8)
    assert (uncoupled["beside_tcp"] > 4).all()
    assert mptcp.draw(again).axes


def test_the_rule_alone():
    """By hand: one window is itself; two that never differ have alpha = 1 / 2, and swings only add to that."""
    assert mptcp.beside_one(1, 2_000) == 1
    assert 1 < mptcp.beside_one(2) < mptcp.beside_one(4) < mptcp.beside_one(8)
    assert AS_ONE_TCP(shares(1.3, at=8)).calculation.startswith("the RFC's rule alone has 2: 1.1")


def shares(beside, at=2, subflows=mptcp.SHARING):
    rows = [
        {
            "coupling": coupling,
            "subflows": n,
            "replica": 0,
            "beside_tcp": float(n) if coupling == mptcp.UNCOUPLED else (beside if n == at else 1.0),
        }
        for coupling in (mptcp.LIA, mptcp.UNCOUPLED)
        for n in subflows
    ]
    return {"shares": pl.DataFrame(rows)}


def used(one, eight):
    rows = [
        {"subflows": n, "replica": 0, "utilisation": value}
        for n, values in ((1, one), (8, eight))
        for value in values
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("judge", "tables", "verdict"),
    [
        (AS_ONE_TCP, shares(1.0), PASS),
        (AS_ONE_TCP, shares(1.19), PASS),
        (AS_ONE_TCP, shares(1.21), FAIL),
        (AS_ONE_TCP, shares(0.79, at=8), FAIL),
        (AS_ONE_TCP, shares(1.0, subflows=(2, 4)), NOT_REACHED),
        (EIGHT, used([0.5], [0.881]), PASS),
        (EIGHT, used([0.5], [0.87, 0.84]), FAIL),
        (EIGHT, used([0.5], []), NOT_REACHED),
        (ONE, used([0.5, 0.61], [0.9]), PASS),
        (ONE, used([0.5, 0.66], [0.9]), FAIL),
        (ONE, used([0.41], [0.9]), FAIL),
        (ONE, used([], [0.9]), NOT_REACHED),
    ],
)
def test_what_is_far_off_fails(judge, tables, verdict):
    assert judge(tables).verdict == verdict
