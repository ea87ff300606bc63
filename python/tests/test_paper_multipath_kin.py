"""LIT-FUSO: real quick tables, and numbers that make their claims fail."""

import polars as pl
import pytest
from conftest import through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import fuso

MODULES = (fuso,)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.FIGURE.id)
def test_verdicts_of_real_tables(module, made):
    tables = made(module.FIGURE)
    again = through_csv(tables)
    for claim, judge in module.FIGURE.claims.items():
        judgement = judge(tables)
        assert judgement.verdict in (PASS, FAIL), claim
        assert judge(again) == judgement
    assert module.draw(again).axes


def verdict(module, letter, tables, reading=None):
    """Of a claim, or of one of its readings by number."""
    judgement = module.FIGURE.claims[f"{module.FIGURE.id}.{letter}"](tables)
    return judgement.verdict if reading is None else judgement.readings[reading][1].verdict


def tails(worst=0.5, losses=fuso.LOSSES):
    """MPTCP has 1 ms; FUSO has less, and at 3 % as much as given."""
    rows = [
        {
            "recovery": recovery,
            "loss": loss,
            "p99_ms": of if loss != 0.03 or recovery == fuso.MPTCP else worst,
        }
        for recovery, of in ((fuso.FUSO, 0.1), (fuso.MPTCP, 1.0))
        for loss in losses
    ]
    return {"points": pl.DataFrame(rows, schema_overrides={"p99_ms": pl.Float64})}


def test_tails_where_a_path_loses_packets():
    assert verdict(fuso, "a", tails()) == PASS
    assert verdict(fuso, "a", tails(0.51)) == FAIL
    assert verdict(fuso, "a", tails(None)) == NOT_REACHED
    assert verdict(fuso, "a", tails(losses=(0.01,))) == NOT_REACHED
