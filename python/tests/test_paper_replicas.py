"""Replicas of one point differ in something that the seed draws; else their interval is 0 and says nothing."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from flowyard import results
from flowyard.papers import catalogue
from flowyard.papers.figure import Figure, Scale
from flowyard.sweeps import Plan

FIGURES = [figure for paper in catalogue.packaged() for figure in paper.figures if figure.plans]
# Paths that are drawn where there are several: by a hash with the seed, by packet, or when a connection opens.
DRAWN = {"per-flow", "per-packet", "permuted", "granted", "nix", "valiant"}
# Networks with one path between any two hosts.
ONE_PATH = {"single-switch", "dumbbell"}
# Plans in which nothing is drawn, though they have replicas: one run of the thesis, by fixed paths and starts.
NOTHING_DRAWN = {("MP-T5.4-5", "normal"), ("MP-T5.4-5", "normal-link")}


def plans(figure: Figure) -> Iterator[tuple[str, Plan]]:
    """Those that repeat their points."""
    assert figure.plans
    for name, plan in figure.plans(Scale.QUICK).items():
        if isinstance(plan, Plan) and plan.replicas > 1:
            yield name, plan


def is_drawn(point: results.Checked) -> bool:
    """Whether two replicas differ in their flows, or may differ in the packets of these or in their paths."""
    first, second = (pl.DataFrame(point.replica(number).flows()) for number in range(2))
    if not first.equals(second):
        return True
    scenario: dict[str, Any] = point.resolved()
    if "poisson" in (scenario["transport"].get("datagram", {}).get("pace") or ()):
        return True
    routing = scenario.get("routing") or {}
    return next(iter(routing.get("balancer", {})), "") in DRAWN and not ONE_PATH & scenario["topology"].keys()


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_replicas_differ(figure):
    """In one point of each plan at least: others may have nothing to draw, such as a scheme with fixed paths."""
    for name, plan in plans(figure):
        if (figure.id, name) in NOTHING_DRAWN:
            continue
        drawn = (is_drawn(results.Checked(scenario, changes)) for _, scenario, changes in plan._points())
        assert any(drawn), f"{name}: {plan.replicas} replicas of the same bytes"


def test_what_is_drawn():
    """As figure 4 of DAQ once was: five endless flows that start at one instant, of which each run is the same."""
    traffic = {
        "name": "long",
        "arrivals": {"at-once": {"jitter": "0s"}},
        "matrix": {"pairs": [[1, 0], [2, 0]]},
        "sizes": {"fixed": "100MB"},
    }
    scenario = {
        "topology": {"single-switch": {"hosts": 3}},
        "transport": "tcp",
        "traffic": [traffic],
        "routing": {"balancer": "per-flow"},
    }
    assert not is_drawn(results.Checked(scenario, {}))
    assert is_drawn(results.Checked(scenario, {"traffic.long.arrivals.at-once.jitter": "50us"}))
    assert is_drawn(results.Checked(scenario, {"traffic.long.matrix": "permutation"}))
    assert is_drawn(results.Checked(scenario, {"topology": {"leaf-spine": {}}}))
