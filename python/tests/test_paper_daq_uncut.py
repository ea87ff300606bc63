"""DAQ's windows without cuts: small rounds by hand, and the simulator's own with a Q that is never passed."""

import polars as pl
import pytest

from flowyard import sweeps
from flowyard.sweeps import Plan, Sweep
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _uncut as uncut
from flowyard_papers.daq._models import FLOORED, PLAIN, UNIFORM

# SYN and SYN/ACK: four links of 68.84 us and 0.32 us each; then a full packet over two links.
OPEN_US, WAY_US = 4 * (68.84 + 0.32), 2 * (68.84 + 12)


def ends_us(sizes, due_ms, **how):
    found = uncut.ends([0.0] * len(sizes), sizes, [due / 1e3 for due in due_ms], **how)
    return [1e6 * end for end in found]


def test_a_packet_alone():
    assert ends_us([1460], [1.0]) == pytest.approx([OPEN_US + WAY_US])


def test_urgent_packets_go_first():
    """Six full packets each, in step. Of the flow due in 30 ms, though it is first, one is sent before the other's.

    A packet that is due in 9 ms has 277 us less when it is sent, and is urgent.
    """
    later, urgent = ends_us([6 * 1460, 6 * 1460], [30.0, 9.0])
    assert urgent == pytest.approx(OPEN_US + WAY_US + 6 * 12)
    assert later == pytest.approx(OPEN_US + WAY_US + 11 * 12)


@pytest.mark.parametrize(("by_rounds", "gap_us"), [(False, 0), (True, 60)])
def test_a_window_is_six_packets_at_first(by_rounds, gap_us):
    """The seventh goes when the first has been acknowledged, 300 us after it was sent, or the sixth, 60 us later."""
    (end,) = ends_us([7 * 1460], [30.0], by_rounds=by_rounds)
    assert end == pytest.approx(OPEN_US + 300 + gap_us + WAY_US)


def test_a_window_grows_by_a_packet_a_round_trip():
    """By rounds: 6 packets, then 7; these take 300 + 5 x 12 and 300 + 6 x 12 us; the 14th begins the third round."""
    (end,) = ends_us([14 * 1460], [30.0], by_rounds=True)
    assert end == pytest.approx(OPEN_US + 360 + 372 + WAY_US)


def test_shares():
    """The text's 99 % needs 20 to 40 ms; windows that go as a whole make no difference."""
    assert uncut.share(40, 20, UNIFORM, rounds=20) == 100
    for by_rounds in (False, True):
        assert 96 < uncut.share(40, 20, FLOORED, by_rounds=by_rounds) < 98
        assert 89 < uncut.share(40, 20, PLAIN, by_rounds=by_rounds) < 92


@pytest.mark.parametrize("scheme", [rack.DAQ_LARGE, rack.DAQ_MET])
def test_the_simulator_has_the_same_where_nothing_is_cut(scheme, tmp_path):
    flows = rack.incast(20_000, 60, "100ms", FLOORED, 40)
    plan = Plan(axes=[rack.schemes((scheme,), [flows], 41)], replicas=3, name="uncut")
    assert not sweeps.execute(plan, tmp_path / "sweep").failed
    met = Sweep(tmp_path / "sweep").flows.select(100 * pl.col("met_deadline").mean()).collect().item()
    assert met == pytest.approx(uncut.share(40, 20, FLOORED), abs=1.0)
