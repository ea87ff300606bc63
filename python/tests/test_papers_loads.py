"""Loads of runs against sums by hand, verdicts by reading, and that every study says what it measures."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from flowyard import sweeps
from flowyard.papers import catalogue, loads
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, PASS, at_most
from flowyard.sweeps import Axis, Plan, Sweep

LINK_BPS, HOSTS = 10_000_000_000, 4


def entry(name: str, size: str, load: float) -> dict[str, Any]:
    return {
        "name": name,
        "arrivals": {"poisson": {"load": load}},
        "matrix": "uniform",
        "sizes": {"fixed": size},
        "flows": 300,
    }


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Two entries under NDP on one switch, by both readings."""
    scenario = {
        "topology": {"single-switch": {"hosts": HOSTS, "rate": "10Gbps", "delay": "1us"}},
        "transport": "ndp",
        "queue": "ndp",
        "traffic": [entry("small", "20KB", 0.1), entry("large", "100KB", 0.4)],
    }
    folder = tmp_path_factory.mktemp("loads")
    sweeps.execute(Plan(scenario, [loads.readings()], 2, name="loads"), folder)
    return Sweep(folder)


def test_all_flows_from_an_empty_network(sweep):
    found = loads.of_runs(sweep, ["reading"]).filter(reading=loads.FROM_EMPTY)
    for row in found.iter_rows(named=True):
        own = sweep.flows.filter(reading=loads.FROM_EMPTY, replica=row["replica"]).collect()
        assert own["measured"].all()
        assert own.group_by("tag").len()["len"].to_list() == [300, 300]
        end_ps = (own["start_ps"] + own["fct_ps"]).max()
        carried = 8e12 * own["size_bytes"].sum() / end_ps / LINK_BPS / HOSTS
        assert row["offered_load"] == pytest.approx(0.5)
        # The run ends when the last sender knows that it is done.
        assert row["carried_load"] == pytest.approx(carried, rel=0.01)


def test_measured_at_the_load(sweep):
    summaries = sweep.summaries()
    for entry_name in ("", "small", "large"):
        found = loads.of_runs(sweep, ["reading"], entry_name).filter(reading=loads.AT_LOAD)
        for row in found.iter_rows(named=True):
            runs = sweep.runs.filter(reading=loads.AT_LOAD, replica=row["replica"])
            window = summaries[runs["run"].item()]["measured"]
            length_ps = window["until_ps"] - window["from_ps"]
            own = sweep.flows.filter(reading=loads.AT_LOAD, replica=row["replica"]).collect()
            own = own.filter("measured", pl.lit(True) if not entry_name else pl.col("tag") == entry_name)
            realised = 8e12 * own["size_bytes"].sum() / length_ps / LINK_BPS / HOSTS
            assert row["realised_load"] == pytest.approx(realised, rel=1e-6)
            # What is open at one end of the window makes up for what is open at the other, nearly.
            assert row["carried_load"] == pytest.approx(realised, abs=0.03)


def test_a_verdict_for_each_reading():
    runs = pl.DataFrame({"reading": [loads.AT_LOAD, loads.FROM_EMPTY], "fct_ms": [3.0, 1.0]})
    judged = loads.by_reading(["runs"], lambda tables: at_most(max(tables["runs"]["fct_ms"]), 2))
    found = judged({"runs": runs})
    assert found.verdict == FAIL
    assert [(name, one.verdict) for name, one in found.readings] == [
        (loads.AT_LOAD, FAIL),
        (loads.FROM_EMPTY, PASS),
    ]


def poisson(value: Any) -> bool:
    """Whether there are arrivals of that kind in a part of a scenario."""
    if isinstance(value, dict):
        return "poisson" in (value.get("arrivals") or ()) or any(map(poisson, value.values()))
    return isinstance(value, list | tuple) and any(map(poisson, value))


def silent(plan: Plan) -> Iterator[Any]:
    """Base scenarios of a plan with Poisson arrivals that do not say what is measured of their runs."""
    keys = {*plan.set, *(key for axis in plan.axes for key in axis.set)}
    if any(key.startswith("run.measure") for key in keys):
        return
    moved = poisson([values for axis in plan.axes for values in axis.set.values()])
    bases: list[Any] = [plan.scenario, *(scenario for axis in plan.axes for scenario in axis.scenarios)]
    for base in filter(None, bases):
        if (poisson(base) or moved) and "measure" not in base.get("run", {}):
            yield base


def test_a_silent_plan_is_found():
    scenario: dict[str, Any] = {"traffic": [entry("small", "20KB", 0.1)]}
    assert list(silent(Plan(scenario, [Axis("seed", {"run.seed": [1, 2]})]))) == [scenario]
    assert not list(silent(Plan(scenario | {"run": {"measure": "all"}})))
    assert not list(silent(Plan(scenario, [loads.readings()])))
    assert not list(silent(Plan(scenario | {"traffic": [{"arrivals": "at-once"}]})))


@pytest.mark.parametrize("paper", catalogue.packaged(), ids=lambda paper: paper.id)
@pytest.mark.parametrize("scale", Scale)
def test_every_study_says_what_it_measures(paper, scale):
    """By default a number of flows at a load is that of measured flows: nobody leaves that to chance."""
    for figure in paper.figures:
        for name, plan in (figure.plans(scale) if figure.plans else {}).items():
            if isinstance(plan, Plan):
                assert not list(silent(plan)), f"{figure.id}, {name}"
