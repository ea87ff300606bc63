"""SYN in packets: the data centre that its figures share, its loads and limits."""

import random

import polars as pl
import pytest

import flowyard as fy
from flowyard_papers.syn import _rack

SHORT = _rack.Window(warm_up_ms=1, counted_ms=4, flows=0, after_ms=1)


@pytest.mark.parametrize(
    ("lengths", "mean"),
    [(_rack.FIXED, 1500), (_rack.BIMODAL, 916), (_rack.FBW, 432.24), (_rack.IN_TURN, 770)],
)
def test_mean_lengths(lengths, mean):
    assert _rack.mean_bytes(lengths) == pytest.approx(mean)
    if lengths != _rack.IN_TURN:
        assert sum(share for *_, share in _rack.DRAWN[lengths]) == pytest.approx(1)


@pytest.mark.parametrize("lengths", [_rack.FIXED, _rack.BIMODAL, _rack.FBW])
@pytest.mark.parametrize("mean", [500, 46_000])
def test_offered_bytes_are_those_of_flows_that_are_drawn(lengths, mean):
    chance = random.Random(1)
    pieces = _rack.DRAWN[lengths]

    def drawn() -> float:
        left, sent = chance.expovariate(1 / mean), 0.0
        while sent < left:
            low, high, _ = chance.choices(pieces, [share for *_, share in pieces])[0]
            sent += chance.uniform(low, high)
        return sent

    count = 4000
    assert sum(drawn() for _ in range(count)) / count == pytest.approx(
        _rack.offered_bytes(lengths, mean), rel=0.06
    )


def test_offered_bytes_of_equal_lengths():
    """The closed form of the transport's page; of lengths in turn, those of one length."""
    assert _rack.offered_bytes(_rack.FIXED) == pytest.approx(46_754.08)
    # A flow that is far shorter than a packet has one.
    assert _rack.offered_bytes(_rack.IN_TURN, 1e-3) == pytest.approx(1500)
    assert _rack.offered_bytes(_rack.IN_TURN, 1e9) == pytest.approx(1e9, rel=1e-5)


@pytest.mark.parametrize("incast", [False, True])
@pytest.mark.parametrize("lengths", _rack.LENGTHS)
def test_what_a_run_offers(lengths, incast):
    """Bytes of IP that servers put on their links, for each byte of the flows; and flows for the time."""
    load, window = 0.2, _rack.Window(0, 20, 2000 if incast else 0, 0)
    plan = _rack.plan("x", [_rack.MAX_MIN], [load], window, replicas=1, lengths=lengths, incast=incast)
    scenario = plan.first()
    until_ms = window.until_ms(load, lengths, incast)
    scenario["run"]["until"] = f"{until_ms + 200}ms"
    done = fy.run(scenario)
    flows, links = pl.DataFrame(done.flows), pl.DataFrame(done.links).filter(tier="host-leaf")
    assert flows["completed"].all()
    assert not incast or set(flows["dst"]) == {_rack.HOT_SPOT}
    ip_bytes = links["bytes"].sum() - _rack.FRAME_BYTES * links["packets"].sum()
    assert ip_bytes / flows["size_bytes"].sum() == pytest.approx(
        _rack.offered_bytes(lengths) / _rack.MEAN_BYTES, rel=1e-3
    )
    assert len(flows) == pytest.approx(_rack.flows_per_s(load, lengths, incast) * until_ms / 1000, rel=0.08)


@pytest.mark.parametrize(
    ("system", "lengths", "frame", "load"),
    [
        (_rack.MMF, _rack.FIXED, 38, 0.975),
        (_rack.MMF, _rack.BIMODAL, 38, 0.5956),
        (_rack.MMF, _rack.BIMODAL, 0, 0.6107),
        (_rack.MMF, _rack.FBW, 38, 0.281),
        (_rack.MMF, _rack.FBW, 0, 0.288),
        (_rack.MMF, _rack.IN_TURN, 38, 0.5007),
        (_rack.MMF, _rack.IN_TURN, 0, 0.5133),
        (_rack.ASY, _rack.FIXED, 38, 0.975),
        (_rack.ASY, _rack.FBW, 38, 0.919),
        (_rack.ASY, _rack.FBW, 0, 1),
    ],
)
def test_limits(system, lengths, frame, load):
    assert _rack.limit(system, lengths, frame) == pytest.approx(load, abs=6e-4)


@pytest.mark.parametrize("system", _rack.CONTROLLERS)
@pytest.mark.parametrize("lengths", _rack.LENGTHS)
def test_each_system_is_accepted(system, lengths):
    plan = _rack.plan("x", [system], [0.05, 0.8], SHORT, replicas=1, lengths=lengths)
    checked = fy.check(plan.first())
    assert checked["controller"].keys() == _rack.CONTROLLERS[system].keys()


@pytest.mark.parametrize(("system", "idle"), [(_rack.PASSES, "passes"), (_rack.DRAINS, "drains")])
def test_readings_of_asy(system, idle):
    checked = fy.check(_rack.plan("x", [system], [0.05], SHORT, replicas=1).first())
    assert checked["controller"].keys() == {"asy"}
    assert checked["transport"]["central"]["idle"] == idle


def test_windows():
    window = _rack.Window(20, 60, 20_000, 10)
    # 1000 ms x 20 000 flows / (1 Gbps / 8 / 46 754 B): the hot spot's link is full.
    assert window.end_ms(1, _rack.FIXED, incast=True) == 20 + 7481
    assert window.until_ms(1, _rack.FIXED) == 20 + 63 + 10
    assert window.end_ms(2, _rack.FIXED) == 20 + 60


def test_systems_are_told_apart():
    assert len({_rack.look(name)["color"] for name in _rack.CONTROLLERS}) == len(_rack.CONTROLLERS)
    assert len({_rack.look(name)["marker"] for name in _rack.CONTROLLERS}) == len(_rack.CONTROLLERS)
