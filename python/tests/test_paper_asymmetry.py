"""Figures of balancers on asymmetric networks: real quick tables, and numbers that make their claims fail."""

import polars as pl
import pytest
from conftest import through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import conga

MODULES = (conga,)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.FIGURE.id)
def test_verdicts_of_real_tables(module, made):
    tables = made(module.FIGURE)
    again = through_csv(tables)
    for claim, judge in module.FIGURE.claims.items():
        judgement = judge(tables)
        assert judgement.verdict in (PASS, FAIL), claim
        assert judge(again) == judgement
    assert module.draw(again).axes


def verdict(module, letter, tables):
    return module.FIGURE.claims[f"{module.FIGURE.id}.{letter}"](tables).verdict


def shares(off=1.0, schemes=tuple(conga.PASSED_GBPS)):
    rows = [{"scheme": name, "passed_gbps": conga.PASSED_GBPS[name] * off} for name in schemes]
    return {"shares": pl.DataFrame(rows)}


def test_what_two_spines_pass():
    assert verdict(conga, "a", shares()) == PASS
    assert verdict(conga, "a", shares(0.96)) == PASS
    assert verdict(conga, "a", shares(0.94)) == FAIL
    assert verdict(conga, "a", shares(1.06)) == FAIL
    assert verdict(conga, "a", shares(schemes=(conga.ECMP, conga.CONGA))) == NOT_REACHED


def growth(below=0.0, above=1.6, high=0.0):
    points = ((conga.ECMP, 0.48, below), (conga.ECMP, 0.52, above), (conga.CONGA, 0.7, high))
    rows = [
        {"scheme": scheme, "load": load, "replica": replica, "growth_gbps": value}
        for scheme, load, value in points
        for replica in range(2)
    ]
    return {"saturation": pl.DataFrame(rows)}


def test_saturation():
    assert verdict(conga, "b", growth()) == PASS
    assert verdict(conga, "b", growth(below=0.81)) == FAIL
    assert verdict(conga, "b", growth(above=0.79)) == FAIL
    assert verdict(conga, "b", growth(high=0.81)) == FAIL
    assert verdict(conga, "b", {"saturation": growth()["saturation"].filter(load=0.48)}) == NOT_REACHED


def completion(means, **point):
    """Two runs of each scheme at a point, with its mean completion time."""
    rows = [
        {"scheme": scheme, "replica": replica, "fct_mean_ms": mean, **point}
        for scheme, mean in means.items()
        for replica in range(2)
    ]
    return pl.DataFrame(rows, schema_overrides={"fct_mean_ms": pl.Float64})


@pytest.mark.parametrize(
    ("ecmp", "expected"), [(19.0, FAIL), (20.0, PASS), (100.0, PASS), (101.0, FAIL), (None, NOT_REACHED)]
)
def test_completion_under_conga(ecmp, expected):
    runs = completion({conga.ECMP: ecmp, conga.CONGA: 10.0})
    assert verdict(conga, "c", {"runs": runs}) == expected
