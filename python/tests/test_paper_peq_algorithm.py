"""PEQ-F1.15, A1, P13 and P17: the example by hand, algorithm 1 against the simulator; each claim can fail."""

from random import Random

import polars as pl
import pytest

from flowyard import slotted, sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.papers.peq import _algorithm1 as plain
from flowyard.papers.peq import algorithm, cost, example, memory
from flowyard.papers.peq._algorithm1 import Flow
from flowyard.sweeps.results import Sweep

F1, F2, F3, F4 = Flow(1, 10, 23), Flow(2, 13, 15), Flow(3, 4, 26), Flow(4, 3, 25)


def run_alone(flows, walk):
    """When flows of one release are done: slot after slot by the plain algorithm, without the simulator."""
    left = {flow.id: flow.left for flow in flows}
    ends: dict[int, int] = {}
    now = 0
    while True:
        there = [Flow(flow.id, left[flow.id], flow.time - now) for flow in flows if flow.id not in ends]
        queue = plain.build(there, walk)
        if not queue:
            return ends
        now += 1
        left[queue[0].id] -= 1
        if not left[queue[0].id]:
            ends[queue[0].id] = now


def test_the_plain_algorithm_by_hand():
    assert plain.build([F1, F2, F3, F4]) == [F4, F3, F1]
    assert run_alone([F1, F2, F3, F4], "text") == {4: 3, 3: 7, 1: 17}
    # c cannot be last; it may be before b, and before a as well.
    a, b, c = Flow(1, 2, 50), Flow(2, 3, 50), Flow(3, 10, 12)
    assert plain.build([a, b, c], "pseudo-code") == [c, a, b]
    assert plain.build([a, b, c], "text") == [a, c, b]
    # The check of the first flow.
    assert plain.build([Flow(1, 5, 4)]) == []


@pytest.mark.parametrize("walk", algorithm.WALKS)
def test_the_simulator_serves_as_the_plain_algorithm_does(walk):
    chance = Random(7)
    for _ in range(40):
        sizes = [chance.randint(1, 30) for _ in range(10)]
        listed = [{"size": size, "deadline": max(size + chance.randint(-3, 90), 1)} for size in sizes]
        result = slotted.run({"generation": {"list": listed}, "discipline": {"peq": {"walk": walk}}})
        ends = run_alone([Flow(i, f["size"], f["deadline"]) for i, f in enumerate(listed)], walk)
        assert ends == dict(pl.DataFrame(result.flows).filter("done").select("flow", "end_slot").iter_rows())


def test_a_new_list_in_each_slot_may_break_what_the_old_one_promised():
    flows = [Flow(0, 2, 15), Flow(1, 2, 4), Flow(2, 1, 16), Flow(3, 2, 3)]
    queue = plain.build(flows)
    assert [flow.id for flow in queue] == [3, 1, 2, 0]
    assert all(end <= flow.time for flow, end in zip(queue, plain.aggregated(queue), strict=True))
    # After a slot flow 3 has one packet left, so that flow 2, which can wait, is considered before it and goes ahead.
    assert 1 not in run_alone(flows, "pseudo-code")
    assert 1 in run_alone(flows, "text")


def test_crowds_are_what_they_are_called():
    for workload, order in (("all wait", range(12)), ("all move", None)):
        listed = cost.crowd(12, workload)["list"]
        flows = [Flow(i, flow["size"], flow["deadline"]) for i, flow in enumerate(listed)]
        queue = [flow.id for flow in plain.build(flows)]
        assert sorted(queue) == list(range(12))
        if order:
            assert queue == list(order)
        else:
            # The larger ones in front, each ahead of all that came before it.
            moved = [i for i, flow in enumerate(listed) if flow["deadline"] < 1_000_000_000]
            assert queue == [*reversed(moved), *(i for i in range(12) if i not in moved)]
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
        ("PEQ-P8", "counts", "in_time", 3, {"scheme": "EDF"}),
        ("PEQ-P8", "counts", "in_time", 2, {"scheme": "all subsets"}),
    ],
)
def test_the_example_can_fail(four, claim, table, column, value, where):
    made_up = {**four, table: change(four[table], column, value, **where)}
    assert example.FIGURE.claims[claim](made_up).verdict == FAIL


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
    by_text = {**tables, "queues": tables["queues"].filter(walk="text")}
    assert algorithm.FIGURE.claims["PEQ-A1.a"](by_text).verdict == PASS


@pytest.mark.parametrize(
    ("claim", "table", "column", "value", "where"),
    [
        ("PEQ-E2.1.a", "order", "pairs_otherwise", 1, {"beta": 0.4}),
        ("PEQ-A1.a", "queues", "late", 1, {"walk": "text"}),
        ("PEQ-A1.a", "queues", "late_when_served", 1, {"walk": "text"}),
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
    if claim == "PEQ-A1.a":
        # It fails as it is: only the text's lists are looked at.
        made_up["queues"] = made_up["queues"].filter(walk="text")
    assert judge(made_up).verdict == FAIL
    assert judge({**tables, table: tables[table].clear()}).verdict == NOT_REACHED


@pytest.mark.parametrize(
    ("power", "verdict"), [(1.0, PASS), (1.25, PASS), (1.35, FAIL), (2.0, FAIL), (0.6, FAIL)]
)
def test_what_a_slot_costs(power, verdict):
    rows = [
        {
            "workload": workload,
            "scheme": scheme,
            "flows": n,
            "slot_us": 0.1 * n ** (power if (scheme, workload) == ("peq", "all move") else 1.0),
        }
        for workload in cost.WORKLOADS
        for scheme in cost.NAMES
        for n in cost.PRESENT
    ]
    times = pl.DataFrame(rows)
    assert cost.slope(times, "all move", "peq") == pytest.approx(power)
    assert cost.FIGURE.claims["PEQ-P13"]({"times": times}).verdict == verdict


def test_real_times_can_be_judged(tmp_path):
    # Not which way: that depends on a clock.
    real = cost.FIGURE.tables(Scale.QUICK, {})
    again = read_again(real, tmp_path)
    judge = cost.FIGURE.claims["PEQ-P13"]
    assert judge(real).verdict in (PASS, FAIL)
    assert judge(again) == judge(real)
    assert real["times"]["slot_us"].min() > 0
    assert judge({"times": real["times"].clear()}).verdict == NOT_REACHED
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
