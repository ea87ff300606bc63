"""LIT-POWERTCP, LIT-TIMELY, LIT-ABM, LIT-ICTCP, LIT-FPQ: real quick tables, and numbers that make their claims fail."""

import polars as pl
import pytest
from figure_judges import check_real_tables, verdict

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.literature import _powertcp, _tails, abm, fpq, ictcp, powertcp, timely

MODULES = (powertcp, timely, abm, ictcp, fpq)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.FIGURE.id)
def test_verdicts_of_real_tables(module, made):
    check_real_tables(module, made(module.FIGURE))


def shares(off=0.0, steps=powertcp.JOINING):
    """Even shares under each law, but that the first flow of the last step is off by so much."""
    rows = [
        {"law": law, "replica": 0, "step": n, "flow": flow, "share": (1 + off * (n == 4 and not flow)) / n}
        for law in _powertcp.LAWS
        for n in range(1, steps + 1)
        for flow in range(n)
    ]
    return {"shares": pl.DataFrame(rows)}


def test_shares_of_flows_that_join():
    assert verdict(powertcp, "a", shares(0.09)) == PASS
    assert verdict(powertcp, "a", shares(-0.09)) == PASS
    assert verdict(powertcp, "a", shares(0.11)) == FAIL
    assert verdict(powertcp, "a", shares(steps=3)) == NOT_REACHED


def late(more, used=0.995):
    queue = _powertcp.expected_queue(_powertcp.SIMULATOR, 11) + more
    return {"late": pl.DataFrame({"law": [_powertcp.SIMULATOR], "queue_bytes": [queue], "used": [used]})}


def test_queue_of_an_incast_under_powertcp():
    assert _powertcp.expected_queue(_powertcp.SIMULATOR, 11) == pytest.approx(1550, abs=1)
    assert verdict(powertcp, "b", late(0)) == PASS
    assert verdict(powertcp, "b", late(2 * _powertcp.WIRE)) == PASS
    assert verdict(powertcp, "b", late(2 * _powertcp.WIRE + 1)) == FAIL
    assert verdict(powertcp, "b", late(-1)) == FAIL
    assert verdict(powertcp, "b", late(0, used=0.98)) == FAIL
    assert verdict(powertcp, "b", {"late": late(0)["late"].clear()}) == NOT_REACHED


def standing(factor=1.0, more=0.0, numbers=_powertcp.FLOWS):
    rows = [
        {
            "law": law,
            "senders": n,
            "replica": 0,
            "queue_bytes": _powertcp.expected_queue(law, n) * factor + more,
        }
        for law in _powertcp.LAWS
        for n in numbers[law]
    ]
    return {"standing": pl.DataFrame(rows)}


def test_standing_queues_under_powertcp():
    assert _powertcp.expected_queue(_powertcp.SIMULATOR, 97) == pytest.approx(115_000, rel=0.01)
    for letter in "ce":
        assert verdict(powertcp, letter, standing()) == PASS
    # In bytes of payload the queue is shorter by the headers.
    assert [verdict(powertcp, "d", standing(), reading) for reading in (0, 1)] == [PASS, PASS]
    assert [verdict(powertcp, "d", standing(1.13), reading) for reading in (0, 1)] == [PASS, FAIL]
    assert verdict(powertcp, "c", standing(1.3)) == FAIL
    assert verdict(powertcp, "c", standing(more=1.6 * _powertcp.WIRE)) == FAIL
    assert verdict(powertcp, "d", standing(0.9)) == FAIL
    assert verdict(powertcp, "e", standing(1.3)) == FAIL
    few = dict.fromkeys(_powertcp.LAWS, (2, 5))
    assert {verdict(powertcp, letter, standing(numbers=few)) for letter in "cde"} == {NOT_REACHED}


def two_flows(fast=0.46, slow=0.46, offsets=timely.OFFSETS_US):
    """Goodput of each flow as a share of the link."""
    rows = [
        {"network": name, "offset_us": offset, "replica": 0, "first_gbps": each, "second_gbps": each}
        for name, share in ((timely.FAST, fast), (timely.SLOW, slow))
        for offset in offsets
        for each in [share * timely.GBPS[name]]
    ]
    return {"shares": pl.DataFrame(rows)}


def test_the_sum_of_two_flows_under_timely():
    assert verdict(timely, "a", two_flows()) == PASS
    # Of 0.42 + 0.42 in payload 0.887 are on the wire.
    assert verdict(timely, "a", two_flows(fast=0.42)) == FAIL
    assert [verdict(timely, "a", two_flows(slow=0.42), reading) for reading in (0, 1)] == [PASS, FAIL]
    assert verdict(timely, "a", two_flows(offsets=(100,))) == NOT_REACHED


def tails(first=100.0, second=200.0, loads=timely.LOADS):
    rows = [
        {"control": name, "load": load, "replica": 0, "short_p99_us": tail}
        for load in loads
        for name, tail in zip(timely.CONTROLS, (first, second), strict=True)
    ]
    return {"tail": pl.DataFrame(rows, schema_overrides={"short_p99_us": pl.Float64})}


def test_the_tail_under_timely():
    assert verdict(timely, "b", tails()) == PASS
    assert verdict(timely, "b", tails(first=201)) == FAIL
    assert verdict(timely, "b", tails(second=None)) == NOT_REACHED
    assert verdict(timely, "b", tails(loads=(0.4,))) == NOT_REACHED


def full(buffer, off, update=abm.UPDATES_US[0], numbers=abm.QUEUES):
    """Queues of the closed forms; with one of the updates the longest are off by so many bytes."""
    rows = [
        {
            "buffer": buffer,
            "update_us": us,
            "of_class": n,
            "replica": 0,
            "least_bytes": abm.expected(buffer, n),
            "most_bytes": abm.expected(buffer, n) + off * (us == update),
        }
        for us in abm.UPDATES_US
        for n in numbers
        if not (buffer == abm.TWO and n == max(abm.QUEUES))
    ]
    return {"full": pl.DataFrame(rows)}


@pytest.mark.parametrize(
    ("letter", "buffer", "packets"), [("a", _tails.DT, 1), ("b", _tails.ABM, 2), ("c", abm.TWO, 2)]
)
def test_full_queues(letter, buffer, packets):
    bound = 1500 * packets
    assert verdict(abm, letter, full(buffer, bound)) == PASS
    assert verdict(abm, letter, full(buffer, bound + 1)) == FAIL
    assert verdict(abm, letter, full(buffer, -bound - 1)) == FAIL
    assert verdict(abm, letter, full(buffer, bound + 1, update=30)) == PASS
    assert verdict(abm, letter, full(buffer, 0, numbers=(1, 2))) == NOT_REACHED


def test_closed_forms_of_full_queues():
    assert [round(abm.expected(_tails.DT, n)) for n in (1, 4, 8)] == [1_310_720, 655_360, 393_216]
    assert [round(4 * abm.expected(_tails.ABM, 4)), round(4 * abm.expected(abm.TWO, 4))] == [
        1_310_720,
        983_040,
    ]


def bursts(worst=1.0, transports=tuple(_tails.TRANSPORTS)):
    rows = [
        {
            "buffer": buffer,
            "protocol": name,
            "burst": burst,
            "replicas": 5,
            "short_p99_ms": worst if (buffer, name, burst) == (_tails.ABM, "TIMELY", 0.75) else 1.0,
        }
        for buffer in (_tails.DT, _tails.ABM)
        for name in transports
        for burst in _tails.BURSTS
    ]
    return {"points": pl.DataFrame(rows)}


def test_tails_beside_incasts():
    assert verdict(abm, "d", bursts()) == PASS
    assert verdict(abm, "d", bursts(1.01)) == FAIL
    assert verdict(abm, "d", bursts(None)) == NOT_REACHED
    assert verdict(abm, "d", bursts(transports=("TIMELY",))) == NOT_REACHED


def reads(ictcp_goodput=0.8, late=0.0, collapse=9, at=16, new=None):
    """Goodput and late rounds of ICTCP with so many senders; TCP has none from a number of senders on."""
    rows = [
        {
            "receiver": receiver,
            "rounds_on": connection,
            "size_kb": size,
            "senders": n,
            "replicas": 5,
            "goodput": (ictcp_goodput if n == at else 0.9)
            if receiver == ictcp.ICTCP
            else float(n < collapse),
            "late": late if n == at and connection != new else 0.0,
        }
        for receiver in (ictcp.ICTCP, ictcp.TCP)
        for connection in ictcp.CONNECTIONS
        for size in ictcp.SIZES_KB
        for n in ictcp.SENDERS
    ]
    return {"points": pl.DataFrame(rows, schema_overrides={"goodput": pl.Float64})}


def test_reads_under_ictcp():
    assert {verdict(ictcp, letter, reads()) for letter in "abc"} == {PASS}
    assert verdict(ictcp, "a", reads(0.72)) == PASS
    assert verdict(ictcp, "a", reads(0.71)) == FAIL
    assert verdict(ictcp, "a", reads(0.71, at=46)) == PASS
    assert verdict(ictcp, "a", reads(None)) == NOT_REACHED
    assert verdict(ictcp, "b", reads(late=0.11)) == PASS
    assert verdict(ictcp, "b", reads(late=0.12)) == FAIL
    by_connection = [verdict(ictcp, "b", reads(late=0.12, new=ictcp.NEW), reading) for reading in (0, 1)]
    assert by_connection == [FAIL, PASS]


@pytest.mark.parametrize(("first", "expected"), [(7, FAIL), (8, PASS), (11, PASS), (12, FAIL), (100, FAIL)])
def test_the_collapse_of_tcp(first, expected):
    assert verdict(ictcp, "c", reads(collapse=first)) == expected


def losses(factor=1.0, long=1.0, fixed=(0.06, 0.24), numbers=fpq.FLOWS):
    ports = ((fpq.FPQ, factor), (fpq.LONG, long))
    rows = [{"port": port, "number": n, "loss": fpq.TARGET * over} for port, over in ports for n in numbers]
    rows += [
        {"port": fpq.DROP_TAIL, "number": n, "loss": loss} for n, loss in zip((50, 100), fixed, strict=True)
    ]
    return {"points": pl.DataFrame(rows)}


def test_losses_by_the_number_of_flows():
    assert pytest.approx(0.021025) == fpq.TARGET
    assert {verdict(fpq, letter, losses()) for letter in "ab"} == {PASS}
    assert verdict(fpq, "a", losses(1.26)) == FAIL
    assert verdict(fpq, "a", losses(0.74)) == FAIL
    assert verdict(fpq, "a", losses(numbers=(50,))) == NOT_REACHED
    assert [verdict(fpq, "a", losses(long=1.26), reading) for reading in (0, 1)] == [PASS, FAIL]
    assert verdict(fpq, "b", losses(fixed=(0.06, 0.14))) == FAIL
    assert verdict(fpq, "b", losses(fixed=(0.06, 0.31))) == FAIL
