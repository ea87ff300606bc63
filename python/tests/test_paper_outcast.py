"""LIT-OUTCAST.a over its grid: made-up tables on either side of its rule."""

import polars as pl
import pytest

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import _outcast


def grid(factor=4.0, ahead=0, also=(_outcast.NOISE, _outcast.SILENCE), factors=None):
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
    mixed = pl.concat([grid(also=[_outcast.NOISE]), grid(ahead=4, also=[_outcast.SILENCE])])
    found = _outcast.outcast(mixed)
    assert found.verdict == PASS
    assert [(name, one.verdict) for name, one in found.readings] == [
        (_outcast.NOISE, PASS),
        (_outcast.SILENCE, FAIL),
    ]
    silent = dict(found.readings)[_outcast.SILENCE]
    assert "1us and 30 packets 20 Mbps, from afar 2" in silent.reason
    assert _outcast.outcast(grid(also=[_outcast.SILENCE])).verdict == NOT_REACHED
