"""Figures of our own of SYN's data centre: clocks, links, delays, transports, leaky buckets, lost control, cost."""

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Plan
from flowyard_papers.syn import _ours as ours
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import clock_error, control_loss, cost, delays, late, transports


@pytest.fixture(autouse=True, scope="module")
def short():
    """A shorter warm-up and window than those of quick scale: what is compared here differs by more than its noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ours, "window", lambda _: rack.Window(5, 20, 0, 5))
        yield


FIGURES = (clock_error, delays, transports, late, control_loss, cost)


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("figure", FIGURES, ids=lambda module: module.FIGURE.id)
def test_plans_can_be_run(figure, scale):
    for plan in figure.FIGURE.plans(scale).values():
        assert isinstance(plan, Plan)
        assert plan.first()["run"]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda module: module.FIGURE.id)
def test_drawn_from_csv(figure, made):
    assert drawn_from_csv(figure.FIGURE, made(figure.FIGURE)).axes


def value(points, column, **where):
    return points.filter(**where)[column].item()


def test_clocks(made):
    """On links of one rate late packets wait for others; a guard of 20 us leaves 1500 B of 4038 B."""
    points = made(clock_error.FIGURE)["points"]
    equal = [
        value(points, "network_us", guard=clock_error.ONE_RATE, load=0.8, error_us=us) for us in (0, 4, 12)
    ]
    assert equal == sorted(equal)
    assert equal[2] > equal[0] + 1
    assert clock_error.limit(20, clock_error.WITH) == pytest.approx(1500 / 4038)
    beyond = points.filter("unstable").select("guard", "load", "error_us").rows()
    assert sorted(beyond) == [(clock_error.WITH, 0.8, 4), (clock_error.WITH, 0.8, 20)]


class TestFasterLinks:
    judge = staticmethod(clock_error.FIGURE.claims["SYN-P17"])

    def test_by_hand(self):
        """100 ns are 12.5 B at 1 Gbps, of a slot of 1538 B and that; at 100 Gbps 1250 B."""
        assert clock_error.lost(1, 100) == pytest.approx(12.5 / 1550.5)
        assert clock_error.lost(100, 100) == pytest.approx(1250 / 2788)

    def test_made(self, made):
        tables = made(clock_error.FIGURE)
        assert self.judge(tables).verdict == PASS
        faster = tables["faster"]
        assert (faster["lost_pct"] - faster["arithmetic_pct"]).abs().max() < 0.5
        same = tables["faster_points"].with_columns(lost_pct=pl.lit(5.0))
        assert self.judge({"faster_points": same}).verdict == FAIL
        assert self.judge({"faster_points": same.remove(rate_gbps=10)}).verdict == NOT_REACHED


def test_delays_by_arithmetic(made):
    """Of 29 in 119 pairs packets cross two links, of the others four: 5 us each is 3.51 links' worth on average."""
    points = made(delays.FIGURE)["points"]
    without, with_it = (
        value(points, "network_us", system=rack.MMF, load=0.2, delay_us=us) for us in (0.0, 5.0)
    )
    assert with_it - without == pytest.approx(5 * (2 * 29 + 4 * 90) / 119, rel=0.05)


def test_central_control_keeps_packets_out_of_the_network(made):
    points = made(transports.FIGURE)["points"].filter(load=0.8)
    by = dict(points.select("system", "network_us").iter_rows())
    assert by[transports.SYN] < by[transports.ASY] < by[transports.DCTCP] < by[transports.TCP]


def test_points_that_were_not_in_a_steady_state_are_hollow(made):
    tables = made(transports.FIGURE)
    assert set(tables["points"]["unstable"]) <= {True, False}
    marked = (pl.col("system") == transports.NDP) & (pl.col("load") > 0.5)
    points = tables["points"].with_columns(unstable=marked)
    for panel in transports.draw({**tables, "points": points}).axes:
        hollow = [line for line in panel.get_lines() if line.get_markerfacecolor() == "white"]
        drawn = [np.asarray(line.get_xdata()) for line in hollow]
        assert [len(each) for each in drawn] == [int(name == transports.NDP) for name in transports.SYSTEMS]


def test_lateness_that_is_lost_is_slower_and_a_wait_that_is_not_kept_faster(made):
    tables = made(late.FIGURE)
    made_up, lost, passes, drains = late.READINGS
    at_high = {name: value(tables["points"], "fct", system=name, load=0.8) for name in (made_up, lost)}
    assert at_high[lost] > 1.2 * at_high[made_up]
    at_low = {
        name: value(tables["points"], "fct", system=name, load=0.2) for name in (made_up, passes, drains)
    }
    assert max(at_low[passes], at_low[drains]) < at_low[made_up]
    assert set(tables["verdicts"]["reading"]) == set(late.ASYNCHRONOUS)
    assert len(tables["verdicts"]) == 4 * len(late.ASYNCHRONOUS)


def test_lost_control_costs_time(made):
    points = made(control_loss.FIGURE)["points"]
    for system in control_loss.CONTROLLERS:
        own = points.filter(system=system, load=0.3).sort("loss")["fct_ms"].to_list()
        assert own[-1] > 1.05 * own[0]


def test_cost(made):
    """Decisions of SYN are its slots; times are where no comparison reads them."""
    runs = made(cost.FIGURE)["runs"]
    slots = runs.filter(system=rack.MMF)["decisions_a_second"]
    assert slots.to_list() == pytest.approx([1e6 / cost.SLOT_US] * len(slots), rel=0.01)
    assert set(cost.FIGURE.measured) == {name for name in runs.columns if name.startswith("measured_")}
    measured = runs.select(cost.FIGURE.measured)
    assert min(measured.min().row(0)) > 0
    # Four times the servers match four times the pairs: whatever the machine, the figure tells the two apart.
    small, large = (value(runs, "measured_decision_us", system=rack.MMF, servers=size) for size in (120, 480))
    assert 1.5 * small < large
