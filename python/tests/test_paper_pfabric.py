"""LIT-PFABRIC: real quick tables, numbers that make each claim fail, and the oracle by hand."""

import polars as pl
import pytest
from conftest import quick_tables, through_csv

from flowyard.papers import loads
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import _srpt, pfabric

LOWEST, NEAR_SRPT = (pfabric.FIGURE.claims[f"LIT-PFABRIC.{letter}"] for letter in "ab")


def test_verdicts_of_real_tables(tmp_path):
    tables = quick_tables(pfabric.FIGURE, tmp_path)
    again = through_csv(tables)
    for judge in pfabric.FIGURE.claims.values():
        found = judge(tables)
        assert [(name, one.verdict) for name, one in found.readings] == [
            (reading, PASS) for reading in loads.READINGS
        ], found
        assert judge(again) == found
    assert pfabric.draw(again).axes
    # Behind a warm-up, and with others behind them, the same number of flows finds the load.
    means = tables["fabric"].group_by("reading", "load").agg(pl.col("carried_load").mean())
    carried = {(reading, load): value for reading, load, value in means.iter_rows()}
    for load in pfabric.LOADS:
        assert carried[loads.AT_LOAD, load] > 0.9 * load > carried[loads.FROM_EMPTY, load]


def by_reading(rows):
    """Rows of both readings; they are the same."""
    return pl.concat(pl.DataFrame(rows).with_columns(reading=pl.lit(name)) for name in loads.READINGS)


def fabric(changes=None, unfinished=0, without=None):
    rows = [
        {
            "stack": name,
            "load": load,
            "replica": replica,
            "p99_small_us": (changes or {}).get((name, load), 100.0 if name == pfabric.OURS else 200.0),
            "unfinished": unfinished,
        }
        for name in pfabric.TRANSPORTS
        if name != without
        for load in pfabric.LOADS
        for replica in range(2)
    ]
    return {"fabric": by_reading(rows)}


@pytest.mark.parametrize(
    ("tables", "verdict"),
    [
        (fabric(), PASS),
        (fabric({(pfabric.OURS, 0.8): 199.0}), PASS),
        (fabric({(pfabric.OURS, 0.8): 201.0}), FAIL),
        (fabric({("D2TCP", 0.6): 99.0}), FAIL),
        (fabric({("NDP", 0.8): 100.0}), FAIL),
        (fabric(unfinished=1), NOT_REACHED),
        (fabric(without="TCP"), NOT_REACHED),
    ],
)
def test_a_tail_that_is_not_the_lowest_fails(tables, verdict):
    assert LOWEST(tables).verdict == verdict


def test_readings_are_told_apart():
    good, bad = fabric(), fabric({(pfabric.OURS, 0.8): 201.0})
    kept = {"fabric": good["fabric"].filter(reading=loads.FROM_EMPTY)}
    mixed = pl.concat([bad["fabric"].filter(reading=loads.AT_LOAD), kept["fabric"]])
    assert [one.verdict for _, one in LOWEST({"fabric": mixed}).readings] == [FAIL, PASS]
    assert [one.verdict for _, one in LOWEST(kept).readings] == [NOT_REACHED, PASS]


def link(ratios, unfinished=0, loads=pfabric.LOADS, patient=1.0, variants=tuple(pfabric.LINKS)):
    rows = [
        {
            "variant": variant,
            "load": load,
            "replica": replica,
            "fct_us": 500.0 * (ratio if variant == pfabric.PUBLISHED else patient),
            "srpt_us": 500.0,
            "unfinished": unfinished,
            "timeouts": 7,
        }
        for variant in variants
        for load, pair in zip(loads, ratios, strict=False)
        for replica, ratio in enumerate(pair)
    ]
    return {"link": by_reading(rows)}


@pytest.mark.parametrize(
    ("tables", "verdict"),
    [
        (link([(1.019, 1.019), (0.981, 0.981)]), PASS),
        (link([(1.03, 1.0), (1.0, 1.0)]), PASS),
        (link([(1.0, 1.0), (1.021, 1.021)]), FAIL),
        (link([(0.979, 0.979), (1.0, 1.0)]), FAIL),
        (link([(1.0, 1.0), (1.0, 1.0)], unfinished=1), NOT_REACHED),
        (link([(1.0, 1.0)]), NOT_REACHED),
        (link([(1.0, 1.0), (1.0, 1.0)], patient=1.5), PASS),
        (link([(1.0, 1.0), (1.03, 1.03)], patient=1.0), FAIL),
        (link([(1.0, 1.0), (1.0, 1.0)], variants=[pfabric.PUBLISHED]), NOT_REACHED),
    ],
)
def test_a_mean_that_is_far_off_fails(tables, verdict):
    assert NEAR_SRPT(tables).verdict == verdict


def test_the_reason_has_what_it_would_be_without_timeouts():
    found = NEAR_SRPT(link([(1.0, 1.0), (1.03, 1.03)], patient=1.001))
    assert found.measured == "+0.00 % at load 0.6, +3.00 % at load 0.8"
    assert "7 times a run" in found.reason
    assert "+0.10 % at load 0.6, +0.10 % at load 0.8" in found.reason


def test_the_reason_has_each_seed_with_its_own_load():
    """The reason names the seed whose flows happen to be more; tables without loads name none."""
    tables = link([(1.0, 1.0), (1.05, 1.018)])
    own = pl.when(replica=0).then(0.88).otherwise(0.79).alias(pfabric.REALISED)
    found = NEAR_SRPT({"link": tables["link"].with_columns(own)})
    assert found.reason.endswith("+1.8 % at 0.790, +5.0 % at 0.880.")
    assert "seeds" not in NEAR_SRPT(tables).reason


def test_the_oracle_by_hand():
    # The second of 2 goes before the 7 that are left of the first; then the third of 8.
    assert _srpt.ends_of([(0, 10), (3, 2), (4, 8)]) == [12, 5, 20]
    # Idle from 1 to 5; two at once, the shorter one first; any order of the list.
    assert _srpt.ends_of([(5, 3), (0, 1), (5, 2)]) == [10, 1, 7]
