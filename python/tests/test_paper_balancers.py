"""LIT-LB: numbers that make each claim fail, and a picture of all schemes."""

import polars as pl
import pytest

from flowyard.analysis.intervals import replica_means
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import balancers as lb

GAIN, NEAR, BEFORE, DRILL, HOSTS = (lb.FIGURE.claims[f"LIT-LB.{letter}"] for letter in "abcde")


def tables(means=None, short=None, unended=None):
    """Every scheme takes 10 ms, ECMP, WCMP and Presto 25 ms, and DRILL 8 ms; others where `means` says so."""
    usual = {lb.ECMP: 25.0, lb.WCMP: 25.0, lb.PRESTO: 25.0, lb.DRILL: 8.0}
    rows = [
        {
            "network": network,
            "scheme": scheme,
            "load": load,
            "replica": replica,
            "fct_mean_ms": None
            if scheme == unended
            else (means or {}).get((scheme, load), usual.get(scheme, 10.0)),
            "short_p99_ms": (short or {}).get(scheme, 2.0 if scheme == lb.ECMP else 1.0),
            "reordered": 0,
            "timeouts": 0,
        }
        for network in (lb.HEALTHY, lb.HALVED)
        for scheme in lb.SCHEMES
        for load in lb.LOADS
        for replica in range(2)
    ]
    runs = pl.DataFrame(rows, schema_overrides={"fct_mean_ms": pl.Float64})
    return {"runs": runs, "points": replica_means(runs, lb.KEYS, list(lb.MEASURES))}


@pytest.mark.parametrize(
    ("judge", "found", "verdict"),
    [
        (GAIN, tables(), PASS),
        (GAIN, tables({(lb.ECMP, 0.6): 19.9}), FAIL),
        (GAIN, tables(unended=lb.CONGA), NOT_REACHED),
        (NEAR, tables(), PASS),
        (NEAR, tables({(lb.LETFLOW, 0.2): 13.1}), FAIL),
        (NEAR, tables({(lb.LETFLOW, 0.4): 8.9}), FAIL),
        (BEFORE, tables(), PASS),
        (BEFORE, tables({(lb.WCMP, 0.6): 9.9}), FAIL),
        (BEFORE, tables({(lb.PRESTO, 0.6): 9.9}), FAIL),
        (BEFORE, tables({(lb.LETFLOW, 0.6): 22.1}), FAIL),
        (DRILL, tables(), PASS),
        (DRILL, tables({(lb.CONGA, 0.6): 8.7}), FAIL),
        (DRILL, tables({(lb.PRESTO, 0.6): 8.7}), FAIL),
        (HOSTS, tables(), PASS),
        (HOSTS, tables({(lb.FLOWBENDER, 0.4): 25.1}), FAIL),
        (HOSTS, tables(short={lb.FLOWBENDER: 2.1}), FAIL),
        (HOSTS, tables(unended=lb.ECMP), NOT_REACHED),
    ],
)
def test_verdicts(judge, found, verdict):
    assert judge(found).verdict == verdict


def test_the_picture_has_a_line_for_each_scheme():
    panels = lb.draw(tables()).axes
    assert len(panels) == 4
    legend = panels[0].get_legend()
    assert legend
    assert [text.get_text() for text in legend.get_texts()] == list(lb.SCHEMES)


def test_the_load_is_that_between_the_leaves():
    """Of the load L of 160 Gbps, 32 of 63 parts of what 32 hosts of 10 Gbps send cross: L 160 = load 320 32 / 63."""
    (plan,) = lb.plans(Scale.FULL).values()
    (axis,) = (axis for axis in plan.axes if axis.name == "load")
    (hosts,) = axis.set.values()
    assert hosts == pytest.approx([load * 160 / 320 * 63 / 32 for load in lb.LOADS], abs=1e-4)
