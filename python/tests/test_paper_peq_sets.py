"""PEQ figures 3.1 to 3.4, shortest job first and RACS: verdicts at quick scale, and that each claim can fail."""

from itertools import permutations
from random import Random

import polars as pl
import pytest

from flowyard import slotted, sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps.tables import Sweep
from flowyard_papers.peq import _edf, _served, _sets, intervals, one_shot, optimal, racs, sjf
from flowyard_papers.peq._sets import most_in_time, never_falls

FIGURES = {module.FIGURE.id: module.FIGURE for module in (one_shot, intervals, optimal, sjf, racs)}
# All others pass.
FAILS = {"PEQ-F3.3.d", "PEQ-F3.4.d", "PEQ-P14"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The tables of each figure, by its id."""
    found = {}
    for name, figure in FIGURES.items():
        results = {}
        for plan_name, plan in figure.plans(Scale.QUICK).items():
            folder = tmp_path_factory.mktemp("sweep") / plan_name
            assert not sweeps.execute(plan, folder).failed
            results[plan_name] = Sweep(folder)
        found[name] = figure.tables(Scale.QUICK, results)
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_verdicts_also_from_csv(made, name, tmp_path):
    figure, tables = FIGURES[name], made[name]
    for table, rows in tables.items():
        rows.write_csv(tmp_path / table)
    again = {table: pl.read_csv(tmp_path / table, infer_schema_length=None) for table in tables}
    for claim, judge in figure.claims.items():
        assert judge(tables).verdict == (FAIL if claim in FAILS else PASS), claim
        assert judge(again) == judge(tables)
    assert figure.draw(again).axes


ALL = pl.lit(True)
PEQ, PDQ, EXPIRED = (pl.col(f"{scheme}_percent") for scheme in ("peq", "pdq", "pdq_expired"))
LINE, MOST = pl.col("scenario") == "line", pl.col("flows") == 64
ADD, KEEP = pl.col("busy") == "add", pl.col("mode") == "keep"
LAST = pl.col("interval") == 30


# Claim, table, its rows, the column to change, its value there, the verdict then.
CHANGES = [
    ("PEQ-F3.1.a", "runs", LINE & (pl.col("flows") == 16), "peq_percent", PDQ - 3, FAIL),
    ("PEQ-F3.1.a", "runs", LINE, "peq_percent", PDQ, FAIL),
    ("PEQ-F3.1.b", "points", LINE & MOST, "peq_percent", PDQ * 1.9, FAIL),
    ("PEQ-F3.1.b", "points", LINE & MOST, "flows", pl.lit(50), NOT_REACHED),
    ("PEQ-F3.1.c", "runs", LINE & MOST, "peq_percent", PDQ * 1.5, FAIL),
    ("PEQ-F3.2.a", "points", LINE, "peq_fct_slots", pl.col("pdq_expired_fct_slots") / 3, FAIL),
    ("PEQ-F3.2.a", "points", LINE, "peq_fct_slots", pl.col("pdq_expired_fct_slots") * 0.7, FAIL),
    ("PEQ-F3.2.a", "points", LINE, "peq_last_slots", pl.col("pdq_expired_last_slots") * 2, PASS),
    ("PEQ-F3.2.b", "runs", LINE & MOST, "peq_percent", EXPIRED - 1, FAIL),
    # It widens, but is none at the end.
    ("PEQ-F3.3.a", "points", ADD & LAST, "lead_points", pl.lit(-0.1), FAIL),
    ("PEQ-F3.3.a", "runs", ADD, "lead_points", 10 - pl.col("interval") / 10, FAIL),
    ("PEQ-F3.3.b", "points", ADD & LAST, "pdq_percent", pl.lit(1.0), FAIL),
    ("PEQ-F3.3.c", "points", ADD & (pl.col("interval") == 1000), "peq_percent", PEQ + 4, FAIL),
    ("PEQ-F3.3.c", "points", pl.col("interval") == 1000, "interval", pl.lit(999), NOT_REACHED),
    ("PEQ-F3.3.d", "runs", ALL, "pdq_in_part_percent", 50 - pl.col("interval"), FAIL),
    ("PEQ-F3.3.d", "runs", ALL, "peq_in_part_percent", pl.col("interval") * 1.0, FAIL),
    ("PEQ-F3.4.a", "runs", pl.col("flows") == 12, "optimal_percent", pl.lit(99.9), FAIL),
    ("PEQ-F3.4.b", "runs", KEEP, "pdq_flows", pl.col("optimal_flows"), FAIL),
    ("PEQ-F3.4.b", "runs", KEEP, "pdq_flows", pl.col("optimal_flows") * 0.97, FAIL),
    ("PEQ-F3.4.c", "runs", KEEP, "peq_flows", pl.col("optimal_flows") * 0.97, FAIL),
    ("PEQ-F3.4.d", "runs", KEEP, "peq_percent", PDQ / 2 + 50.1, FAIL),
    ("PEQ-F3.4.d", "runs", KEEP, "pdq_percent", PEQ - 1, PASS),
    ("PEQ-F3.4.a", "runs", ALL, "optimal_percent", pl.lit(None, pl.Float64), FAIL),
    ("PEQ-F3.4.e", "runs", pl.col("replica") == 0, "agreeing", pl.col("agreeing") - 1, FAIL),
    ("PEQ-F3.4.f", "runs", pl.col("full") > 0, "full_by_pdq", pl.col("full_by_pdq") - 1, FAIL),
    ("PEQ-F3.4.g", "runs", pl.col("flows") == 5, "pdq_flows", pl.col("optimal_flows") * 0.97, FAIL),
    ("PEQ-P7", "waits", pl.col("flows") == 7, "sets_best", pl.col("sets") - 1, FAIL),
    ("PEQ-P7", "waits", pl.col("flows") == 7, "flows", pl.lit(8), NOT_REACHED),
    ("PEQ-P6", "deadlines", ALL, "inverted", pl.lit(0), FAIL),
    ("PEQ-P14", "deadlines", ALL, "edf_over_srpt", pl.lit(1.2), PASS),
    ("PEQ-P14", "deadlines", ALL, "edf_over_srpt", pl.lit(1.26), FAIL),
    ("PEQ-P14", "deadlines", ALL, "full_sets", pl.lit(_edf.ENOUGH - 1), NOT_REACHED),
    ("PEQ-P15", "requests", pl.col("flows") == 16, "asked_more", pl.col("unserved_slots") - 1, FAIL),
    ("PEQ-P10", "sets", pl.col("flows") == 8, "racs_slots", pl.col("srpt_slots") * 0.9, FAIL),
    ("PEQ-P10", "random", pl.col("load") == 0.8, "racs_slots", pl.col("ps_slots") * 1.1, FAIL),
]


@pytest.mark.parametrize(("claim", "table", "rows", "column", "value", "verdict"), CHANGES)
def test_other_tables_have_other_verdicts(made, claim, table, rows, column, value, verdict):
    figure = next(figure for figure in FIGURES.values() if claim in figure.claims)
    tables = made[figure.id]
    changed = tables[table].with_columns(pl.when(rows).then(value).otherwise(pl.col(column)).alias(column))
    assert figure.claims[claim]({**tables, table: changed}).verdict == verdict


def test_a_lead_must_widen_and_be_one(made):
    tables, judge = made["PEQ-F3.3"], FIGURES["PEQ-F3.3"].claims["PEQ-F3.3.a"]

    def verdict(lead):
        changed = {name: tables[name].with_columns(lead_points=lead) for name in ("runs", "points")}
        return judge({**tables, **changed}).verdict

    assert verdict(pl.col("interval") / 10) == PASS
    assert verdict(pl.col("interval") / 10 - 10) == FAIL
    assert verdict(10 - pl.col("interval") / 10) == FAIL
    assert judge({**tables, "points": tables["points"].filter(~LAST)}).verdict == NOT_REACHED


def test_a_share_of_zero_cannot_fall_and_it_is_said(made):
    tables = made["PEQ-F3.3"]
    assert (tables["runs"].filter(busy="add")["pdq_in_part_percent"] == 0).all()
    found = FIGURES["PEQ-F3.3"].claims["PEQ-F3.3.d"](tables)
    assert "0 at every interval and cannot fall" in found.reason
    assert "12 readings of servers, units and PDQ's rule were tried: it holds for" in found.reason


def test_pdqs_flows_are_served_in_part_only_at_the_start():
    """By hand: after 66 slots a flow of 154 is due in 154 slots, one of 66 in 198, as the largest newcomer.

    From 66 to 96 slots 69 sizes of 197 are spared; at most one of 24 flows: 0.6497^24 + 24 x 0.3503 x 0.6497^23.
    """
    assert _served.spared(66) == range(66, 155)
    assert _served.spared(96) == range(6, 135)
    assert _served.spared(0) == range(198, 199)
    assert _served.interrupted(30) == pytest.approx(3.20e-5 * (1 + 24 * 0.3503 / 0.6497), rel=0.01)
    generation = {"interval": {"servers": 24, "slots": 5, "sets": 120, "busy": "add"}}
    runs = [_sets.served(generation, _sets.ADVERSARIAL, {"pdq": {}}, replica=n) for n in range(60)]
    in_part = pl.concat(runs).filter(~pl.col("done"), pl.col("sent") > 0)
    assert len(in_part) > 0
    assert (in_part["arrival_slot"] + in_part["sent"]).max() < 96


def test_the_smallest_flows_are_the_share_that_is_served(made):
    """By hand: 24 x^2 / 2 / 197 slots are 30 with sizes up to x = 22.2, 11.3 % of 197."""
    assert _served.smallest_served(30) == pytest.approx(11.3, abs=0.05)
    rows = made["PEQ-F3.3"]["points"].filter(busy="add", interval=30)
    served = rows["peq_percent"].item() + rows["peq_in_part_percent"].item()
    assert served == pytest.approx(_served.smallest_served(30), rel=0.1)


def test_only_what_pdq_cannot_have_is_not_reproducible(made):
    found = FIGURES["PEQ-F3.3"].claims["PEQ-F3.3.d"](made["PEQ-F3.3"])
    assert "0.0004 of the sets (interrupted)" in found.calculation
    shown = {reading for reading, one in found.readings if one.calculation}
    assert shown == {
        f"every server adds a flow; {unit}; PDQ with early termination" for unit in intervals.IN_PART.values()
    }


@pytest.mark.parametrize("unit", ["in_part_percent", "in_vain_percent"])
def test_each_reading_of_flows_served_in_part(made, unit):
    tables, judge = made["PEQ-F3.3"], FIGURES["PEQ-F3.3"].claims["PEQ-F3.3.d"]
    falls = pl.when(busy="add").then(50 - pl.col("interval"))
    runs = tables["runs"].with_columns(
        falls.otherwise(pl.col(name)).alias(name) for name in (f"peq_{unit}", f"pdq_{unit}")
    )
    found = judge({**tables, "runs": runs})
    name = f"every server adds a flow; {intervals.IN_PART[unit]}; PDQ with early termination"
    verdicts = {reading: one.verdict for reading, one in found.readings}
    assert verdicts[name] == PASS
    assert verdicts[name.replace("every server adds a flow", "busy servers pass their turn")] == FAIL
    assert found.verdict == (PASS if unit == "in_part_percent" else FAIL)


def test_flows_served_in_part_in_each_unit(made):
    row = made["PEQ-F3.3"]["runs"].filter(busy="add", interval=30).row(0, named=True)
    # 4000 slots, of which a set takes 30: 133 sets.
    assert row["peq_flows"] == 133 * _served.SERVERS
    in_part = row["peq_in_part_percent"] / 100 * row["peq_flows"]
    done = row["peq_percent"] / 100 * row["peq_flows"]
    assert row["peq_in_part_flows"] == pytest.approx(in_part / 4000)
    assert row["peq_in_vain_percent"] == pytest.approx(100 * in_part / (in_part + done))


def f32(place, verdict):
    """The verdicts of figure 3.2 by reading, mean completion times first, with another one at a place."""
    verdicts = [PASS] * 4 + [FAIL] * 4
    return [*verdicts[:place], verdict, *verdicts[place + 1 :]]


# Claim, table, rows, column and value that change one reading, its name, the verdicts of all readings then.
READINGS = [
    ("PEQ-F3.2.a", "points", LINE, "pdq_last_slots", 2 * pl.col("peq_last_slots"), f32(5, PASS)),
    ("PEQ-F3.2.a", "points", ~LINE, "pdq_expired_last_slots", 2 * pl.col("peq_last_slots"), f32(6, PASS)),
    ("PEQ-F3.2.a", "points", LINE, "pdq_fct_slots", pl.col("peq_fct_slots"), f32(1, FAIL)),
    ("PEQ-F3.2.a", "points", ~LINE, "pdq_expired_fct_slots", pl.col("peq_fct_slots"), f32(2, FAIL)),
    ("PEQ-F3.4.d", "runs", pl.col("mode") == "shift", "peq_percent", PDQ - 1, [FAIL, FAIL, FAIL]),
    ("PEQ-F3.4.d", "runs", pl.col("mode") == "redraw", "peq_percent", PDQ / 2 + 49.9, [FAIL, PASS, PASS]),
    ("PEQ-P14", "deadlines", ALL, "edf_by_size_over_srpt", pl.lit(1.2), [FAIL, PASS, FAIL, FAIL]),
    ("PEQ-P14", "deadlines", ALL, "edf_over_srpt_all", pl.lit(1.2), [FAIL, FAIL, PASS, FAIL]),
    ("PEQ-P14", "deadlines", ALL, "edf_by_size_over_srpt_all", pl.lit(1.2), [FAIL, FAIL, FAIL, PASS]),
]


@pytest.mark.parametrize(("claim", "table", "rows", "column", "value", "verdicts"), READINGS)
def test_each_reading_has_its_own_verdict(made, claim, table, rows, column, value, verdicts):
    figure = next(figure for figure in FIGURES.values() if claim in figure.claims)
    tables = made[figure.id]
    changed = tables[table].with_columns(pl.when(rows).then(value).otherwise(pl.col(column)).alias(column))
    found = figure.claims[claim]({**tables, table: changed})
    assert [one.verdict for _, one in found.readings] == verdicts


def test_completion_times_are_compared_over_the_same_flows():
    # Two flows due at once. EDF completes both, at 4 and 12; SRPT the small one at 4 too, then the other at 12: equal.
    table = _edf.compare(slack=400, flows=2, count=50, replica=0)
    row = table.row(0, named=True)
    assert row["both_done"] <= row["srpt_done"] <= row["edf_done"] == 2 * row["full_sets"]
    assert row["edf_by_size_done"] == row["edf_done"]
    # No order has a smaller sum than SRPT without deadlines.
    assert row["edf_all_fct_sum_slots"] >= row["srpt_all_fct_sum_slots"]
    assert row["edf_fct_sum_slots"] >= row["srpt_fct_sum_slots"]


def test_every_claim_is_made_to_differ():
    assert {change[0] for change in CHANGES} == {
        claim for figure in FIGURES.values() for claim in figure.claims
    }


def test_the_search_for_the_most_flows_in_time():
    chance = Random(3)
    assert most_in_time([10, 13, 4, 3], [23, 15, 26, 25]) == 3
    for _ in range(30):
        flows = [(chance.randint(1, 20), chance.randint(1, 60)) for _ in range(5)]
        best = 0
        # In some order, those that would be late are left out.
        for order in permutations(flows):
            busy = done = 0
            for size, deadline in order:
                if busy + size <= deadline:
                    busy, done = busy + size, done + 1
            best = max(best, done)
        assert most_in_time(*zip(*flows, strict=True)) == best


def test_waits_by_hand():
    # 1 first, then 2, then 5: waits of 0, 1 and 3.
    assert sjf.smallest_wait([5, 1, 2]) == 4


def test_srpt_of_a_release_is_the_sum_over_sizes_in_ascending_order():
    sizes = [50, 3, 20, 3]
    listed = [{"size": size, "deadline": 1000} for size in sizes]
    flows = pl.DataFrame(slotted.run({"generation": {"list": listed}, "discipline": "sjf"}).flows)
    assert sorted(flows["end_slot"]) == [3, 6, 26, 76]


def test_a_step_down_shows():
    def runs(values):
        rows = [
            {"x": x, "replica": replica, "value": value + 0.1 * replica}
            for x, value in enumerate(values)
            for replica in range(3)
        ]
        return pl.DataFrame(rows)

    for values, verdict in (
        ((1, 2, 3, 4), PASS),
        ((1, 2, 1.5, 4), FAIL),
        ((2, 2, 2, 2), FAIL),
        ((4,), NOT_REACHED),
    ):
        assert never_falls(runs([float(value) for value in values]), "value", x="x").verdict == verdict
