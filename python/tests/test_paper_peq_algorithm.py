"""PEQ-F1.15, A1, P13 and P17: the example by hand, algorithm 1 against the simulator; each claim can fail."""

from random import Random

import polars as pl
import pytest

from flowyard import slotted, sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps.tables import Sweep
from flowyard_papers.peq import _algorithm1 as plain
from flowyard_papers.peq import _lists as lists
from flowyard_papers.peq import algorithm, cost, example, memory
from flowyard_papers.peq._algorithm1 import Flow

F1, F2, F3, F4 = Flow(1, 10, 23), Flow(2, 13, 15), Flow(3, 4, 26), Flow(4, 3, 25)


def test_the_plain_algorithm_by_hand():
    assert plain.build([F1, F2, F3, F4]) == [F4, F3, F1]
    assert plain.ends([F1, F2, F3, F4], "text") == {4: 3, 3: 7, 1: 17}
    # c cannot be last; it may be before b, and before a as well.
    a, b, c = Flow(1, 2, 50), Flow(2, 3, 50), Flow(3, 10, 12)
    assert plain.build([a, b, c], "pseudo-code") == [c, a, b]
    assert plain.build([a, b, c], "text") == [a, c, b]
    # The check of the first flow.
    assert plain.build([Flow(1, 5, 4)]) == []


@pytest.mark.parametrize("walk", lists.WALKS)
def test_the_simulator_serves_as_the_plain_algorithm_does(walk):
    chance = Random(7)
    for _ in range(40):
        sizes = [chance.randint(1, 30) for _ in range(10)]
        listed = [{"size": size, "deadline": max(size + chance.randint(-3, 90), 1)} for size in sizes]
        result = slotted.run({"generation": {"list": listed}, "discipline": {"peq": {"walk": walk}}})
        ends = plain.ends([Flow(i, f["size"], f["deadline"]) for i, f in enumerate(listed)], walk)
        assert ends == dict(pl.DataFrame(result.flows).filter("done").select("flow", "end_slot").iter_rows())


def test_a_new_list_in_each_slot_may_break_what_the_old_one_promised():
    flows = [Flow(0, 2, 15), Flow(1, 2, 4), Flow(2, 1, 16), Flow(3, 2, 3)]
    queue = plain.build(flows)
    assert [flow.id for flow in queue] == [3, 1, 2, 0]
    assert all(end <= flow.time for flow, end in zip(queue, plain.aggregated(queue), strict=True))
    # After a slot flow 3 has one packet left, so that flow 2, which can wait, is considered before it and goes ahead.
    assert 1 not in plain.ends(flows, "pseudo-code")
    assert 1 in plain.ends(flows, "text")


def test_crowds_are_what_they_are_called():
    for workload in cost.WORKLOADS:
        listed = cost.crowd(12, workload)["list"]
        flows = [Flow(i, flow["size"], flow["deadline"]) for i, flow in enumerate(listed)]
        queue = [flow.id for flow in plain.build(flows)]
        if workload != "all move":
            # The smallest first, and as they arrived, or the other way round.
            assert queue == (list(range(12))[::-1] if workload.endswith("last first") else list(range(12)))
            continue
        # The larger ones in front, each ahead of all that came before it.
        first = len(queue) - queue.index(min(queue))
        moved = list(range(first, 12))
        assert queue == [*reversed(moved), *range(first)]
        assert len(moved) >= 3


def read_again(tables, folder):
    for name, table in tables.items():
        table.write_csv(folder / name)
    return {name: pl.read_csv(folder / name) for name in tables}


def change(table, column, value, **where):
    """A table with another value in some rows."""
    rows = pl.all_horizontal(pl.lit(True), *(pl.col(name) == is_ for name, is_ in where.items()))
    return table.with_columns(pl.when(rows).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))


@pytest.fixture(scope="module")
def four():
    return example.FIGURE.tables(Scale.QUICK, {})


def test_the_example_holds(four, tmp_path):
    again = read_again(four, tmp_path)
    for judge in example.FIGURE.claims.values():
        assert judge(four).verdict == PASS
        assert judge(again) == judge(four)
    assert example.FIGURE.draw
    assert len(example.FIGURE.draw(again).axes) == len(example.DRAWN)


@pytest.mark.parametrize(
    ("claim", "table", "column", "value", "where"),
    [
        ("PEQ-F1.15.a", "flows", "end_slot", 22, {"scheme": "PDQ", "name": "f1"}),
        ("PEQ-F1.15.a", "flows", "done", True, {"scheme": "PDQ", "name": "f3"}),
        ("PEQ-F1.15.b", "flows", "end_slot", 4, {"scheme": "PEQ", "name": "f4"}),
        ("PEQ-F1.15.b", "schedule", "start_slot", 99, {"scheme": "PEQ", "name": "f4"}),
        ("PEQ-F1.15.b", "counts", "in_time", 4, {"scheme": "all subsets"}),
        ("PEQ-F1.15.c", "urgency", "latest_start", 12, {"name": "f1"}),
        ("PEQ-F1.15.c", "flows", "end_slot", 8, {"scheme": "PEQ", "name": "f3"}),
        ("PEQ-F1.15.d", "urgency", "h", 2.464, {"name": "f3"}),
        ("PEQ-P8", "counts", "in_time", 3, {"scheme": "EDF, ties by flow number"}),
        ("PEQ-P8", "counts", "in_time", 2, {"scheme": "all subsets"}),
    ],
)
def test_the_example_can_fail(four, claim, table, column, value, where):
    made_up = {**four, table: change(four[table], column, value, **where)}
    assert example.FIGURE.claims[claim](made_up).verdict == FAIL


def test_edf_has_a_verdict_for_each_rule_for_ties(four):
    made_up = {**four, "counts": change(four["counts"], "in_time", 3, scheme="EDF, ties by size")}
    found = example.FIGURE.claims["PEQ-P8"](made_up)
    assert {name: one.verdict for name, one in found.readings} == {
        "ties by flow number": PASS,
        "ties by size": FAIL,
    }


def make(figure, tmp_path_factory):
    found = {}
    for name, plan in figure.plans(Scale.QUICK).items():
        folder = tmp_path_factory.mktemp("sweep") / name
        assert not sweeps.execute(plan, folder).failed
        found[name] = Sweep(folder)
    return figure.tables(Scale.QUICK, found)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return make(algorithm.FIGURE, tmp_path_factory)


def test_verdicts_on_the_algorithm(tables, tmp_path):
    again = read_again(tables, tmp_path)
    expected = dict.fromkeys(algorithm.FIGURE.claims, PASS) | {"PEQ-A1.a": FAIL}
    for claim, judge in algorithm.FIGURE.claims.items():
        assert judge(again) == judge(tables)
        assert judge(tables).verdict == expected[claim]
    assert algorithm.FIGURE.draw
    assert len(algorithm.FIGURE.draw(again).axes) == 2


def test_lists_keep_their_promise_where_the_text_is_followed(tables):
    found = algorithm.FIGURE.claims["PEQ-A1.a"](tables)
    assert {name: one.verdict for name, one in found.readings} == {"pseudo-code": FAIL, "text": PASS}


def test_a_list_that_is_made_anew_breaks_its_promise_by_hand(tables):
    # The first list is f1, f2, f0, f3. After a slot f0 has H = 0.7 and f1 0.8: f2 cannot wait for both, nor f1 for f2.
    flows = [Flow(number, *flow) for number, flow in enumerate(lists.BROKEN)]
    assert [flow.id for flow in plain.build(flows)] == [1, 2, 0, 3]
    later = [Flow(0, 1, 4), Flow(1, 1, 2), Flow(2, 2, 3), Flow(3, 2, 6)]
    assert [flow.id for flow in plain.build(later)] == [0, 1, 3]
    listed = [{"size": flow.left, "deadline": flow.time} for flow in flows]
    run = pl.DataFrame(slotted.run({"generation": {"list": listed}, "discipline": "peq"}).flows).sort("flow")
    assert run["done"].to_list() == [True, True, False, True]
    assert tables["broken"]["end"].to_list() == [2, 3, None, 5]
    assert tables["broken"]["listed_end"].to_list() == [5, 2, 4, 7]
    assert "f2 fits nowhere" in algorithm.FIGURE.claims["PEQ-A1.a"](tables).calculation


@pytest.mark.parametrize(
    ("claim", "table", "column", "value", "where"),
    [
        ("PEQ-E2.1.a", "order", "pairs_otherwise", 1, {"beta": 0.4}),
        ("PEQ-A1.a", "queues", "late", 1, {}),
        ("PEQ-A1.a", "queues", "late_when_served", 1, {}),
        ("PEQ-A1.b", "queues", "made_late", 1, {"walk": "text"}),
        ("PEQ-A1.c", "order", "pairs_otherwise", 1, {"beta": 0.05}),
        ("PEQ-A1.c", "order", "sets_otherwise", 1, {"beta": 0.49}),
        ("PEQ-A1.c", "order", "pairs_otherwise", 0, {}),
        ("PEQ-A1.d", "walks", "text_percent", 0.0, {"mode": "keep", "servers": 40, "mean": 120}),
    ],
)
def test_claims_on_the_algorithm_can_fail(tables, claim, table, column, value, where):
    made_up = {**tables, table: change(tables[table], column, value, **where)}
    judge = algorithm.FIGURE.claims[claim]
    found = judge(made_up)
    assert found.verdict == FAIL
    # By the text PEQ-A1.a holds but for the change.
    assert all(one.verdict == FAIL for _, one in found.readings)
    assert judge({**tables, table: tables[table].clear()}).verdict == NOT_REACHED


def counted(powers, times=1.0):
    """Operations that grow with these powers of the number of flows, by scheme."""
    rows = [
        {"workload": workload, "scheme": scheme, "flows": n, "slot": slot}
        | {"operations": times * n ** powers[scheme]}
        for workload in cost.WORKLOADS
        for scheme in cost.SCHEMES
        for n in cost.RELEASED
        for slot in cost.SLOTS
    ]
    return {"operations": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("peq", "search", "kept", "verdict"),
    [
        (2.0, 1.0, 2.0, PASS),
        (2.05, 1.0, 1.8, PASS),
        (2.15, 1.0, 2.0, FAIL),
        (2.0, 2.15, 2.0, FAIL),
        (2.0, 1.0, 2.15, FAIL),
        (2.0, 1.0, 1.65, FAIL),
        (1.65, 1.0, 2.0, FAIL),
    ],
)
def test_what_a_slot_costs(peq, search, kept, verdict):
    powers = {"PEQ": peq, "PDQ, search": search, "PDQ, list": kept}
    tables = counted(powers)
    assert cost.slope(cost.worst(tables["operations"], "PEQ")) == pytest.approx(peq)
    assert cost.FIGURE.claims["PEQ-P13"](tables).verdict == verdict


def test_a_slot_without_operations_is_not_judged():
    judge = cost.FIGURE.claims["PEQ-P13"]
    powers = dict.fromkeys(cost.SCHEMES, 2.0)
    for tables in (counted(powers, 0), counted(powers, -1)):
        assert judge(tables).verdict == NOT_REACHED
    some = counted(powers)["operations"]
    assert judge({"operations": some.remove(scheme="PDQ, list")}).verdict == NOT_REACHED
    assert judge({"operations": some.clear()}).verdict == NOT_REACHED


def test_operations_by_hand(tmp_path):
    real = cost.FIGURE.tables(Scale.QUICK, {})
    again = read_again(real, tmp_path)
    judge = cost.FIGURE.claims["PEQ-P13"]
    assert judge(real).verdict == PASS
    assert judge(again) == judge(real)
    rows = real["operations"]
    count = {row[:4]: row[4] for row in rows.iter_rows()}
    for n in cost.RELEASED:
        # A search goes through all flows.
        for workload in cost.WORKLOADS:
            for slot in cost.SLOTS:
                assert count[workload, "PDQ, search", n, slot] == n
        # One after the other: each flow is compared with the last one or goes to the end; then the head is taken.
        assert count["all wait", "PDQ, list", n, "first"] == n + 1
        # Each passes all that came before it, in PEQ's order by H as in PDQ's list.
        passed = n * (n - 1) // 2
        assert count["all wait, last first", "PDQ, list", n, "first"] == n + passed + 1
        assert (
            count["all wait, last first", "PEQ", n, "first"] - count["all wait", "PEQ", n, "first"] == passed
        )
        # In the next slot the order is there.
        assert count["all wait, last first", "PEQ", n, "second"] == count["all wait", "PEQ", n, "second"]
        assert count["all wait, last first", "PDQ, list", n, "second"] == 1
    assert cost.FIGURE.draw
    assert cost.FIGURE.draw(again).axes


def test_a_memory_would_show(tmp_path_factory, tmp_path):
    made = make(memory.FIGURE, tmp_path_factory)
    again = read_again(made, tmp_path)
    judge = memory.FIGURE.claims["PEQ-P17"]
    assert judge(made).verdict == PASS
    assert judge(again) == judge(made)
    assert made["runs"]["slots"].min() > 1000
    assert judge({"runs": change(made["runs"], "slots_otherwise", 1, walk="text")}).verdict == FAIL
    assert judge({"runs": made["runs"].clear()}).verdict == NOT_REACHED
    assert memory.FIGURE.draw
    assert memory.FIGURE.draw(again).axes
