"""LIT-OUTCAST.a over its grid: made-up tables on either side of its rule."""

from dataclasses import replace

import polars as pl
import pytest

from flowyard import sweeps
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.sweeps import Axis, Sweep
from flowyard_papers.literature import _outcast


def grid(factor=4.0, ahead=0, also=(_outcast.NOISE, _outcast.SILENCE, _outcast.SOON), factors=None):
    """The far senders get `factor` times as much as the near one, but a tenth in some set-ups."""
    places = [(delay, buffer) for delay in _outcast.DELAYS for buffer in _outcast.BUFFERS]
    rows = [
        {
            "also": name,
            "delay": delay,
            "buffer": buffer,
            "replica": replica,
            "near_mbps": 20.0,
            # Replicas differ; it is their mean that counts.
            "far_mbps": 20.0
            * (0.1 if place < ahead else factors[place] if factors else factor)
            * (0.5 + replica),
        }
        for name in also
        for place, (delay, buffer) in enumerate(places)
        for replica in range(2)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        (grid(), PASS),
        (grid(ahead=2), PASS),
        (grid(ahead=3), FAIL),
        (grid(ahead=20), FAIL),
        (grid(1.26), PASS),
        (grid(1.24), FAIL),
        (grid(9.9), PASS),
        (grid(10.1), FAIL),
        # The median is of the set-ups in the middle: 10 of 20 locked out are too many.
        (grid(factors=[4.0] * 11 + [1000.0] * 9), PASS),
        (grid(factors=[4.0] * 10 + [1000.0] * 10), FAIL),
        (grid().filter(pl.col("delay") != "5us"), NOT_REACHED),
        (grid().filter((pl.col("delay") != "5us") | (pl.col("buffer") != 64)), NOT_REACHED),
        (grid().with_columns(far_mbps=pl.lit(None, pl.Float64)), NOT_REACHED),
    ],
)
def test_the_rule(runs, verdict):
    assert _outcast.outcast(runs).verdict == verdict


def test_readings():
    """The one with random packets is the claim's own."""
    mixed = pl.concat([grid(also=[_outcast.NOISE, _outcast.SOON]), grid(ahead=4, also=[_outcast.SILENCE])])
    found = _outcast.outcast(mixed)
    assert found.verdict == PASS
    assert [(name, one.verdict) for name, one in found.readings] == [
        (_outcast.NOISE, PASS),
        (_outcast.SILENCE, FAIL),
        (_outcast.SOON, PASS),
    ]
    silent = dict(found.readings)[_outcast.SILENCE]
    assert "1us and 30 packets 20 Mbps, from afar 2" in silent.reason
    assert _outcast.outcast(grid(also=[_outcast.SILENCE])).verdict == NOT_REACHED


def test_who_comes_first_by_the_cables():
    """By hand, with cables of d: 4 d + 12.64 us over 2 links, 12 d + 61.92 us over 6, less whole packets of 12 us.

    At 9.5 us that is 2.64 and 7.92 us after a departure, at 10 us 4.64 and 1.92.
    """
    found = {delay: [_outcast.comes_after_us(links, delay) for links in (2, 6)] for delay in (9.5, 10.0)}
    assert found == {9.5: pytest.approx([2.64, 7.92]), 10.0: pytest.approx([4.64, 1.92])}
    assert [_outcast.near_gives_way(delay) for delay in (1, 2, 5, 9.5, 10)] == [True, True, True, False, True]
    # x against 3 x on a circle of 12 us: from 4 to 6 and from 8 to 12.
    assert _outcast.share_of_cables() == pytest.approx(0.5, abs=0.001)


def test_what_the_cables_rule_out_is_not_reproducible():
    found = _outcast.outcast(grid(ahead=4))
    assert "16 of these set-ups, and at 50% of all cables" in found.calculation
    # Where the near sender gets less nearly everywhere, cables are no reason for a size that is not the source's.
    assert _outcast.outcast(grid(10.1)).calculation == ""


@pytest.mark.parametrize(
    ("delay", "less"), [("500ns", False), ("2500ns", True), ("3us", False), ("8us", True)]
)
def test_the_simulator_locks_out_who_comes_second(delay, less, tmp_path):
    """Cables that are in no figure."""
    plan = _outcast.plan(Scale.QUICK)
    axes = [
        Axis("also", {"traffic": [plan.axes[0].set["traffic"][1]]}, labels=[_outcast.SILENCE]),
        Axis("delay", {"topology.fat-tree.delay": [delay]}),
        Axis("buffer", {"queue.drop-tail.limit.packets": [50]}),
    ]
    assert not sweeps.execute(replace(plan, axes=axes), tmp_path / "sweep").failed
    (factor,) = _outcast.means(_outcast.runs(Sweep(tmp_path / "sweep")))["factor"]
    assert factor > 10 if less else factor < 0.1, factor
