"""LIT-HOMA: real quick tables, and numbers that make each claim fail."""

import polars as pl
import pytest
from conftest import quick_tables, through_csv

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import homa

SHORT, ORDER, QUEUE = (homa.FIGURE.claims[f"LIT-HOMA.{letter}"] for letter in "abc")


def test_verdicts_of_real_tables(tmp_path):
    tables = quick_tables(homa.FIGURE, tmp_path)
    again = through_csv(tables)
    for judge in homa.FIGURE.claims.values():
        found = judge(tables)
        assert found.verdict in (PASS, FAIL), found
        assert judge(again) == found
    assert homa.draw(again).axes
    runs = tables["runs"]
    assert set(runs["stack"]) == {homa.OURS, *homa.OTHERS}
    assert set(runs["workload"]) == set(homa.QUICK)
    # A message never takes less than its packets alone, and the median message of Homa little more.
    assert tables["sizes"]["median"].min() >= 1
    assert runs.filter(stack=homa.OURS)["short_median"].max() < 1.5
    assert runs.filter(stack=homa.OURS)["drops"].sum() == 0


def runs(tails=None, queue=100_000, unfinished=0, without=None):
    rows = [
        {
            "workload": workload,
            "stack": stack,
            "replica": replica,
            "short_p99": (tails or {}).get((workload, stack), 2.0 if stack == homa.OURS else 3.0),
            "queue_max_bytes": queue,
            "unfinished": unfinished,
        }
        for workload in homa.WORKLOADS
        for stack in (homa.OURS, *homa.OTHERS)
        if stack != without
        for replica in range(2)
    ]
    return {"runs": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("judge", "tables", "verdict"),
    [
        (SHORT, runs(), PASS),
        (SHORT, runs({("W4", homa.OURS): 2.41}), PASS),
        (SHORT, runs({("W4", homa.OURS): 2.43}), FAIL),
        (SHORT, runs(unfinished=1), NOT_REACHED),
        (SHORT, runs(without=homa.OURS), NOT_REACHED),
        (ORDER, runs(), PASS),
        (ORDER, runs({("W1", "pFabric"): 1.9}), PASS),
        (ORDER, runs({("W1", "pHost"): 1.9}), FAIL),
        (ORDER, runs({("W5", "NDP"): 2.0}), FAIL),
        (ORDER, runs(without="NDP"), NOT_REACHED),
        (QUEUE, runs(), PASS),
        (QUEUE, runs(queue=150_000), FAIL),
        (QUEUE, runs(without=homa.OURS), NOT_REACHED),
    ],
)
def test_verdicts(judge, tables, verdict):
    assert judge(tables).verdict == verdict
