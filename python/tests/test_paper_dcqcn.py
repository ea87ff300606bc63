"""LIT-DCQCN: real quick tables, and numbers that make its claim fail."""

import polars as pl
from conftest import quick_tables, through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import dcqcn

LOSSLESS = dcqcn.FIGURE.claims["LIT-DCQCN.a"]


def test_verdict_of_real_tables(tmp_path):
    tables = quick_tables(dcqcn.FIGURE, tmp_path)
    again = through_csv(tables)
    found = LOSSLESS(tables)
    assert found.verdict == PASS, found
    assert LOSSLESS(again) == found
    assert dcqcn.draw(again).axes


def made_up(drops=0, pauses=5, senders=dcqcn.SENDERS, last_ms=1.0):
    rows = [
        {"senders": n, "replica": 0, "drops": drops if n == 16 else 0, "pauses": pauses, "last_ms": last_ms}
        for n in senders
    ]
    return {"runs": pl.DataFrame(rows, schema_overrides={"last_ms": pl.Float64})}


def test_what_makes_it_fail():
    assert LOSSLESS(made_up()).verdict == PASS
    lossy = LOSSLESS(made_up(drops=1))
    assert (lossy.verdict, lossy.reason) == (FAIL, "16 senders 1 drops")
    assert LOSSLESS(made_up(pauses=0)).verdict == FAIL
    assert LOSSLESS(made_up(senders=(2, 4))).verdict == NOT_REACHED
    assert LOSSLESS(made_up(last_ms=None)).verdict == NOT_REACHED
