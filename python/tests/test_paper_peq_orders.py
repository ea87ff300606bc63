"""ALL-5 and PEQ-P9: disciplines that come down to SRPT, and RCP, which comes down to processor sharing."""

import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard import sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps.tables import Sweep
from flowyard_papers.across import _order_packets, orders
from flowyard_papers.peq import rcp

ALIKE = orders.FIGURE.claims["ALL-5"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "instances"
    assert orders.FIGURE.plans
    assert not sweeps.execute(orders.FIGURE.plans(Scale.QUICK)["instances"], folder).failed
    return orders.FIGURE.tables(Scale.QUICK, {"instances": Sweep(folder)})


def test_the_claim(tables):
    assert ALIKE(tables).verdict == PASS


def test_srjf_in_packets_by_hand():
    """3 and 1 packets; one of 1 that comes in slot 2 goes first; of equal ones either does."""
    flows = [{"arrival": at, "size": size, "deadline": 9 - at} for at, size in ((0, 3), (0, 1), (2, 1))]
    assert _order_packets.srjf(flows) == [1, 0, 2, 0, 0]
    sizes = {0: 3, 1: 1, 2: 1}
    assert _order_packets.left(sizes, [1, 0, -1, 2, 0, 0]) == [1, 3, -1, 1, 2, 1]
    for expected, ends, equal in (([1, 0, 2, 0, 0], [1, 3, 5], 5), ([0, 0, 0, 1, 2], [3, 4, 5], 2)):
        found = _order_packets.srjf_against(flows, sizes, expected, ends)
        assert found == (5, equal, 3, 3, equal == 5, equal == 5)
    # Oldest first is not SRPT.
    late = [{"arrival": 0, "size": 3, "deadline": 9}, {"arrival": 1, "size": 1, "deadline": 8}]
    assert _order_packets.srjf(late) == [0, 1, 0, 0]


@pytest.mark.parametrize("case", orders.CASES)
@pytest.mark.parametrize(
    ("discipline", "column"),
    [
        *(
            (name, column)
            for name in (*orders.EXACT, orders.SRJF)
            for column in ("slots_equal", "ends_equal")
        ),
        (orders.RACS, "slots_equal"),
    ],
)
def test_one_less_fails(case, discipline, column, tables):
    less = pl.col(column).cast(pl.Int64) - pl.when(case=case, discipline=discipline).then(1).otherwise(0)
    assert ALIKE({"sums": tables["sums"].with_columns(less)}).verdict == FAIL


def test_another_order_of_racs_fails_and_a_missing_case_is_not_judged(tables):
    sums = tables["sums"]
    less = pl.when(discipline=orders.RACS).then(pl.col("instances") - 1).otherwise("order_equal")
    assert ALIKE({"sums": sums.with_columns(order_equal=less)}).verdict == FAIL
    assert ALIKE({"sums": sums.remove(case=orders.CASES[1])}).verdict == NOT_REACHED


def test_flows_of_an_instance_are_due_together():
    for case in orders.CASES:
        flows = orders.instance(case, 3)
        assert len({flow["arrival"] + flow["deadline"] for flow in flows}) == 1
        assert len({flow["arrival"] for flow in flows}) > 1 or not case.startswith("staggered")


@pytest.mark.parametrize("name", ["fcfs", "edf"])
def test_other_deadlines_or_disciplines_would_show(name, monkeypatch):
    """The comparison is no tautology: a discipline that is not SRPT differs from it, EDF with other deadlines too."""
    if name == "edf":
        spread = [
            {**flow, "deadline": 400 - 10 * flow["size"]} for flow in orders.instance(orders.CASES[0], 0)
        ]
        monkeypatch.setattr(orders, "instance", lambda *_: spread)
    monkeypatch.setitem(orders.EXACT, "H (PEQ)", name)
    rows = orders.compare(orders.CASES[0], 0)
    own = rows.filter(discipline="H (PEQ)").row(0, named=True)
    assert own["slots_equal"] < own["slots"]


def test_orders_by_hand():
    flows = [{"size": 2, "deadline": 9}, {"size": 1, "deadline": 9}]
    assert orders.served(orders.run(flows, orders.SRPT)) == [1, 0, 0]
    assert orders.done_in_order(orders.run(flows, "tie-break (PDQ)")) == [(1, 1), (3, 0)]
    # 1/2 to 1: a third and two thirds; then 5/3 to 1/3 packets left.
    shares = (
        pl.DataFrame(orders.run(flows, orders.RACS).schedule).sort("start_slot", "flow")["share"].to_list()
    )
    assert shares[:4] == pytest.approx([1 / 3, 2 / 3, 1 / 6, 5 / 6])


def test_tables_survive_csv(tables, tmp_path):
    for name, table in tables.items():
        table.write_csv(tmp_path / name)
    again = {name: pl.read_csv(tmp_path / name) for name in tables}
    assert ALIKE(again) == ALIKE(tables)
    assert orders.FIGURE.draw
    assert len(orders.FIGURE.draw(again).axes) == 5


class TestRcp:
    figure = rcp.FIGURE

    def test_claim(self, made):
        found = self.figure.claims["PEQ-P9"](made(self.figure))
        assert {name: one.verdict for name, one in found.readings} == dict.fromkeys(rcp.GAINS, PASS)
        assert len(drawn_from_csv(self.figure, made(self.figure)).axes) == 4

    def test_one_rate_that_differs_fails(self, made):
        tables = made(self.figure)
        one = (pl.col("flow") == 0) & (pl.col("span") == 3)
        less = tables["rates"].with_columns(of_share=pl.when(one).then(0.8).otherwise(1.0))
        assert self.figure.claims["PEQ-P9"]({**tables, "rates": less}).verdict == FAIL
        even = less.with_columns(of_share=pl.lit(0.8))
        assert self.figure.claims["PEQ-P9"]({**tables, "rates": even}).verdict == PASS

    def test_a_queue_that_moves_fails(self, made):
        tables = made(self.figure)
        moved = tables["queues"].with_columns(queue_bytes=pl.col("span") * 500.0)
        assert self.figure.claims["PEQ-P9"]({**tables, "queues": moved}).verdict == FAIL
        none = tables["queues"].filter(pl.col("span") < 0)
        assert self.figure.claims["PEQ-P9"]({**tables, "queues": none}).verdict == NOT_REACHED
