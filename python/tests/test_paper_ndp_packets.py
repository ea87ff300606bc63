"""What is read from captured NDP packets: the file against the run, and each replay against packets made by hand."""

import numpy as np
import polars as pl
import pytest

import flowyard as fy
from flowyard_papers.ndp import _packets as packets
from flowyard_papers.ndp._packets import ACK, DATA, LAST, NACK, PULL

SLOT, BEFORE, SLACK = 12_000, 10_000, 1500


def cable(*rows):
    """Packets by time_ns, kind, flow, number; a fifth value says that it is trimmed."""
    return pl.DataFrame(
        [
            {"time_ns": time, "kind": kind, "flow": flow, "number": number, "trimmed": bool(trimmed)}
            | {"bytes": 64 if trimmed or kind > LAST else 1500}
            for time, kind, flow, number, *trimmed in rows
        ]
    )


def test_a_file_has_the_packets_of_the_run(tmp_path):
    scenario = {
        "topology": {"single-switch": {"hosts": 4, "rate": "1Gbps", "delay": "2us"}},
        "transport": {"ndp": {"initial_window": 16, "pull_ack": False}},
        "traffic": [
            {
                "name": "flows",
                "arrivals": "at-once",
                "matrix": {"pairs": [[1, 0], [2, 0], [3, 0]]},
                "sizes": {"fixed": f"{40 * 1436}B"},
            }
        ],
        "observe": {"capture": {"links": ["host 0 -> *", "* -> host 0"]}},
    }
    result = fy.run(scenario)
    result.save(tmp_path / "run")
    (file,) = (tmp_path / "run" / "pcap").glob("*.pcap")
    found = packets.read(file)
    flows = pl.DataFrame(result.flows)
    came = found.filter(packets.is_data())
    assert came["receiver"].unique().to_list() == [0]
    assert sorted(found.filter(kind=ACK)["receiver"].unique()) == [1, 2, 3]
    for flow in flows.iter_rows(named=True):
        own = came.filter(flow=flow["id"])
        assert own["sender"].unique().to_list() == [flow["src"]]
        assert own.filter("trimmed").height == flow["trims"] > 0
        assert sorted(own.filter(~pl.col("trimmed"))["number"]) == list(range(40))
        assert own.filter(kind=LAST)["number"].unique().to_list() == [39]
    assert set(came.filter("trimmed")["bytes"]) == {64}
    assert found["time_ns"].is_sorted()
    # The last packet completes the last flow.
    last = (flows["start_ps"] + flows["fct_ps"]).max() // 1000
    assert came["time_ns"].max() == last


@pytest.mark.parametrize(
    ("times", "ahead"),
    [
        ([0, 12_000, 24_000], 0),
        ([0, 12_000, 23_000], 1000),
        # One late PULL allows none to be early.
        ([0, 20_000, 31_000, 43_000], 1000),
        ([0, 20_000, 40_000], -8000),
        ([0, 11_500, 23_000, 34_500], 1500),
        ([5], 0),
    ],
)
def test_pulls_that_are_too_soon(times, ahead):
    assert packets.ahead(np.array(times), SLOT) == ahead


def replay(*rows, packets_each=3):
    return packets.pull_queue(cable(*rows), {1: packets_each, 2: packets_each}, BEFORE, SLACK)


def test_a_queue_of_pulls_that_is_served_in_time():
    in_time = replay(
        (0, DATA, 1, 0),
        (0 + BEFORE, PULL, 1, 0),
        (1000, DATA, 2, 0, True),
        (12_000 + BEFORE, PULL, 2, 0),
        # Idle, then another.
        (50_000, DATA, 1, 1),
        (50_000 + BEFORE, PULL, 1, 0),
    )
    assert in_time == {"unasked": 0, "late": 0}


def test_pulls_that_nothing_asked_for():
    assert replay((0, DATA, 1, 0), (BEFORE, PULL, 1, 0), (12_000 + BEFORE, PULL, 1, 0))["unasked"] == 1
    # Another flow's packet asks for nothing.
    assert replay((0, DATA, 1, 0), (BEFORE, PULL, 2, 0))["unasked"] == 1
    # With its last packet a flow's PULLs are gone, and the last itself asks for none.
    done = ((0, DATA, 1, 0), (10, DATA, 1, 1), (20, LAST, 1, 2), (12_000 + BEFORE, PULL, 1, 0))
    assert replay(*done)["unasked"] == 1
    assert replay(*done, packets_each=4)["unasked"] == 0
    # A header is no packet of the flow.
    assert replay(*done[:2], (20, LAST, 1, 2, True), done[3])["unasked"] == 0


def test_pulls_that_do_not_come():
    assert replay((0, DATA, 1, 0), (SLACK + 1 + BEFORE, PULL, 1, 0))["late"] == 1
    first = ((0, DATA, 1, 0), (10, DATA, 2, 0), (BEFORE, PULL, 1, 0))
    assert replay(*first, (12_000 + SLACK + BEFORE, PULL, 2, 0))["late"] == 0
    assert replay(*first, (12_000 + SLACK + 1 + BEFORE, PULL, 2, 0))["late"] == 1


def order(*rows):
    return packets.new_before_repeats(cable(*rows), window=2, sent_before_ns=BEFORE)


def test_new_packets_before_repeats():
    window = ((BEFORE, DATA, 1, 0), (100 + BEFORE, DATA, 1, 1), (200, NACK, 1, 0))
    assert order(*window, (300 + BEFORE, DATA, 1, 0), (400 + BEFORE, DATA, 1, 2)) == (1, 0)
    assert order(*window, (300 + BEFORE, DATA, 1, 2), (400 + BEFORE, DATA, 1, 0)) == (1, 1)
    # A NACK that comes while the packet begins to leave is too late for it.
    assert order(*window[:2], (300, NACK, 1, 0), (300 + BEFORE, DATA, 1, 2)) == (0, 0)
    # What the first window sends is not asked for.
    assert order((BEFORE, DATA, 1, 0), (50, NACK, 1, 0), (100 + BEFORE, DATA, 1, 1)) == (0, 0)


def test_turns_of_a_port():
    """Data of 12 us, headers of 512 ns, a cable without delay: whose turn it was while both waited."""
    starts = [(0, 0), (12_000, 3, True), (12_512, 4, True), (13_024, 1), (25_024, 2), (37_024, 5, True)]
    came = [(0, 0), (1, 1), (2, 2), (10, 3), (11, 4), (30_000, 5)]
    arrived = cable(*((time, DATA, 1, number) for time, number in came))
    left = cable(
        *((start + (512 if trimmed else SLOT), DATA, 1, n, *trimmed) for start, n, *trimmed in starts)
    )
    # The first finds nobody waiting; header 5 comes while data 2 is on the wire, and leaves when no data is left.
    assert packets.turns(arrived, left, 0) == {"headers": 2, "data": 0}
    # Had header 5 been there earlier, data 1 and 2 would have been chosen before it.
    came[-1] = (20, 5)
    arrived = cable(*((time, DATA, 1, number) for time, number in came))
    assert packets.turns(arrived, left, 0) == {"headers": 2, "data": 2}
