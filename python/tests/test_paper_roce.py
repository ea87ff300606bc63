"""LIT-ROCE: real quick tables, and numbers that make its claims fail."""

import polars as pl
from conftest import quick_tables, through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import roce

QUEUE, PAUSES, IRN = (roce.FIGURE.claims[f"LIT-ROCE.{letter}"] for letter in "abc")


def test_verdicts_of_real_tables(tmp_path):
    tables = quick_tables(roce.FIGURE, tmp_path)
    again = through_csv(tables)
    assert (QUEUE(tables).verdict, PAUSES(tables).verdict) == (PASS, PASS), (QUEUE(tables), PAUSES(tables))
    assert IRN(tables).verdict in (PASS, FAIL)
    for claim in (QUEUE, PAUSES, IRN):
        assert claim(again) == claim(tables)
    assert roce.draw(again).axes


def incast(more=0, pauses=(0, 5), drops=0, senders=roce.SENDERS):
    rows = [
        {
            "memory": memory,
            "senders": n,
            "queue_max_bytes": ((n - 1) * roce.WINDOW + more) * roce.WIRE,
            "pauses": number,
            "drops": drops,
        }
        for memory, number in zip(roce.MEMORY, pauses, strict=True)
        for n in senders
    ]
    return {"incast": pl.DataFrame(rows)}


def test_what_makes_the_incast_fail():
    assert QUEUE(incast(more=8)).verdict == PASS
    assert QUEUE(incast(more=9)).verdict == FAIL
    assert QUEUE(incast(more=-2)).verdict == FAIL
    assert QUEUE(incast(senders=(2, 16))).verdict == NOT_REACHED
    assert PAUSES(incast()).verdict == PASS
    assert PAUSES(incast(pauses=(1, 5))).verdict == FAIL
    assert PAUSES(incast(pauses=(0, 0))).verdict == FAIL
    assert PAUSES(incast(drops=1)).verdict == FAIL
    assert PAUSES(incast(senders=(2,))).verdict == NOT_REACHED


def loss(irn=1.0, back=2.0, p99=5.0, completed=10):
    rows = [
        {
            "recovery": name,
            "replica": 0,
            "flows": 10,
            "completed": completed,
            "slowdown_mean": mean,
            "fct_mean_ms": mean,
            "slowdown_p99": tail,
            "retransmissions": 0,
        }
        for name, mean, tail in zip(roce.RECOVERIES, (irn, back), (p99, 10.0), strict=True)
    ]
    return {"loss": pl.DataFrame(rows)}


def test_what_makes_irn_fail():
    assert IRN(loss()).verdict == PASS
    assert IRN(loss(irn=2.5)).verdict == FAIL
    assert IRN(loss(p99=11.0)).verdict == FAIL
    assert IRN(loss(completed=9)).verdict == NOT_REACHED
