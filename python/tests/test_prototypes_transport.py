"""Transports that are written in Python: closed forms, the digest of a twin in Rust, and one message for a mistake."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flowyard as fy
from flowyard.prototypes import PrototypeError, Transport
from flowyard.prototypes.examples.datagrams import Datagrams
from flowyard.prototypes.examples.fixed_window import FixedWindow
from flowyard.prototypes.examples.pulls import Pulls

US = 1_000_000
# One switch, links of 1 Gbit/s and 1 us: a packet of 1500 B, one of 64 B, and the delay.
T, A, D = 12 * US, 512_000, US
PAYLOAD = 1436


def in_python(name: str = "own", **settings: object) -> dict[str, Any]:
    return {"python": {"name": name, "settings": settings}}


def flows(result: fy.Result) -> pl.DataFrame:
    return pl.DataFrame(result.flows)


def line(size: int, rate: str = "1Gbps", queue: dict[str, Any] | None = None) -> dict[str, Any]:
    """A flow over one switch, from a host of that rate."""
    scenario: dict[str, Any] = {
        "topology": {"line": {"rates": [rate, "1Gbps"]}},
        "transport": in_python(),
        "traffic": [
            {
                "name": "flow",
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"pairs": [[0, 1]]},
                "sizes": {"fixed": f"{size}B"},
            }
        ],
        "run": {"audit": True},
    }
    return scenario | ({"queue": queue} if queue else {})


def audited(scenario: dict[str, Any], own: type[Transport], **overrides: object) -> fy.Result:
    run = fy.run(scenario, overrides, transports={"own": own})
    assert not run.violations
    assert run.status == "complete"
    return run


@pytest.mark.parametrize("packets", [1, 2, 10])
def test_stop_and_wait(packets: int):
    """Every packet but the last takes a round trip."""
    scenario = line(packets * PAYLOAD) | {"transport": in_python(window=1)}
    run = audited(scenario, FixedWindow)
    round_trip = 2 * (T + D) + 2 * (A + D)
    row = flows(run).row(0, named=True)
    assert row["fct_ps"] == (packets - 1) * round_trip + 2 * (T + D)
    assert row["fct_acked_ps"] == packets * round_trip
    (cost,) = run.summary["prototypes"]
    assert (cost["kind"], cost["class"]) == ("transport", "FixedWindow")
    # An object at each host, and for each packet: its turn, its arrival, its acknowledgement, and a turn for nothing.
    assert cost["calls"] == 2 + 1 + 4 * packets


@pytest.mark.parametrize("own", [FixedWindow, Pulls])
def test_a_window_that_is_never_used_up(own: type[Transport]):
    """Packets follow each other on the wire, also where each is pulled."""
    for packets in (1, 10, 100):
        run = audited(line(packets * PAYLOAD - 500), own)
        last = T - 500 * 8000
        assert flows(run)["fct_ps"][0] == (packets - 1) * T + last + D + (T if packets > 1 else last) + D


def test_what_is_lost_is_retransmitted():
    queue = {"drop-tail": {"limit": {"packets": 2}}}
    run = audited(line(50 * PAYLOAD, "10Gbps", queue) | {"transport": in_python(window=8)}, FixedWindow)
    row = flows(run).row(0, named=True)
    assert row["drops"] == row["retransmissions"] > 0
    assert row["timeouts"] > 0
    assert (row["delivered_bytes"], row["packets_sent"]) == (50 * PAYLOAD, 50 + row["retransmissions"])


def shared(transport: object, sizes: str = "40KB") -> dict[str, Any]:
    """Flows of four hosts, two of each, over a port of 1 Gbit/s that holds ten packets."""
    return {
        "topology": {"dumbbell": {"hosts": 4, "bottleneck": {"rate": "1Gbps"}}},
        "transport": transport,
        "queue": {"drop-tail": {"limit": {"packets": 10}}},
        "traffic": [
            {
                "name": name,
                "arrivals": {"at-once": {"jitter": "20us"}},
                "matrix": {"pairs": [[0, 4], [1, 5], [2, 6], [3, 7]]},
                "sizes": {"fixed": sizes},
            }
            for name in ("a", "b")
        ],
        "run": {"audit": True},
    }


@pytest.mark.parametrize(
    ("pace", "settings"), [("line-rate", {}), ({"rate": "500Mbps"}, {"rate_bps": 500_000_000})]
)
def test_datagrams_have_the_results_of_their_twin(pace: object, settings: dict[str, Any]):
    twin = fy.run(shared({"datagram": {"pace": pace}}))
    runs = [fy.run(shared(in_python(**settings)), transports={"own": Datagrams}) for _ in range(2)]
    assert runs[0].summary["digest"] == runs[1].summary["digest"]
    # The tables are the same, but for the name of the transport in that of flows.
    assert flows(runs[0]).drop("transport").equals(flows(twin).drop("transport"))
    assert pl.DataFrame(runs[0].links).equals(pl.DataFrame(twin.links))
    assert twin.summary["counters"]["drops"] > 20
    assert not runs[0].violations
    assert runs[0].summary["features"]["traffic"]["a"]["retransmits"] is False


def incast(own: dict[str, Any], senders: int = 8) -> dict[str, Any]:
    return line(100 * PAYLOAD) | {
        "topology": {"single-switch": {"hosts": senders + 1, "rate": "1Gbps", "delay": "1us"}},
        "transport": own,
        "traffic": [
            {
                "name": "incast",
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"pairs": [[sender, senders] for sender in range(senders)]},
                "sizes": {"fixed": f"{100 * PAYLOAD}B"},
            }
        ],
    }


def test_pulls_share_a_link_without_a_loss():
    run = audited(incast(in_python()), Pulls)
    table = flows(run)
    assert table["trims"].sum() > 20
    assert table["drops"].sum() == 0
    assert table["delivered_bytes"].to_list() == [100 * PAYLOAD] * 8
    # All share the receiver's link from the first packet to the last: its headers are all that is lost of it.
    bare = 800 * T
    assert bare < table["fct_ps"].max() < 1.03 * bare
    assert table["fct_ps"].min() > 0.9 * bare
    assert run.summary["features"]["traffic"]["incast"]["needs"] == ["trimming"]


def test_a_lost_header_is_made_good_for():
    """The first packets of a flow are lost on the link, headers and all."""
    scenario = line(30 * PAYLOAD)
    scenario["faults"] = {
        "events": [{"at": "0s", "target": {"random-cables": {"share": 1.0}}, "change": {"loss": 0.2}}]
    }
    run = fy.run(scenario, transports={"own": Pulls})
    row = flows(run).row(0, named=True)
    assert (row["delivered_bytes"], row["lost"] > 0) == (30 * PAYLOAD, True)


def test_beside_others():
    scenario = shared("tcp")
    scenario["traffic"][1]["transport"] = in_python(timeout_us=2000)
    scenario["traffic"][1]["transport"]["python"]["payload"] = "1000B"
    run = audited(scenario, FixedWindow)
    table = flows(run)
    assert table["delivered_bytes"].to_list() == [40_000] * 8
    assert table.filter(tag="b")["packets_sent"].min() >= 40


def test_marks_reach_the_receiver():
    marked = []

    class Marked(FixedWindow):
        needs_marks = True

        def at_receiver(self, flow, packet):
            marked.append(packet.marked)
            super().at_receiver(flow, packet)

    queue = {"ecn": {"threshold": {"packets": 4}}}
    audited(line(40 * PAYLOAD, "10Gbps", queue), Marked)
    assert 4 < sum(marked) < 40
    with pytest.raises(fy.ScenarioError, match=r"has no ECN marking, which transport\.python needs"):
        fy.check(line(1000, queue={"drop-tail": {}}), transports={"own": Marked})
    with pytest.raises(fy.ScenarioError, match=r"has no trimming, which transport\.python needs"):
        fy.check(line(1000, queue={"drop-tail": {}}), transports={"own": Pulls})


def test_a_class_says_how_its_packets_are():
    class Small(FixedWindow):
        payload = 100
        header_bytes = 20

    member = fy.check(line(1000), transports={"own": Small})["transport"]["python"]
    assert (member["payload"], member["header_bytes"], member["retransmits"]) == ("100B", "20B", True)
    assert flows(audited(line(1000), Small))["packets_sent"][0] == 10
    run = audited(line(1000), Small, **{"transport.python.payload": "500B"})
    assert flows(run)["packets_sent"][0] == 2


def test_an_endpoint_sees_its_flow():
    seen = {}

    class Watches(FixedWindow):
        def start(self, flow):
            super().start(flow)
            assert (flow.number, flow.src, flow.dst, flow.host.number) == (0, 0, 1, 0)
            assert (flow.size, flow.packets, flow.payload, flow.header_bytes) == (3000, 3, PAYLOAD, 64)
            assert (flow.rate_bps, flow.deadline_ps, flow.priority) == (10**9, None, 0)
            assert flow.sends
            assert flow.start_ps == flow.now_ps
            seen["draw"] = flow.random()

        def accept(self, flow):
            assert not flow.sends
            assert flow.host.number == 1
            assert 0 <= flow.random() < 1
            assert not hasattr(flow, "tries"), "the sender's object"

        def at_receiver(self, flow, packet):
            assert (packet.number, packet.sent_ps, packet.hops) == (flow.next, packet.number * T, 2)
            assert (packet.payload, packet.size, packet.control) == (
                (128, 192, False) if packet.number == 2 else (PAYLOAD, 1500, False)
            )
            assert not flow.has(packet.number)
            assert flow.deliver(packet) == packet.payload
            assert flow.deliver(packet) == 0, "each byte counts once"
            assert flow.has(packet.number)
            flow.send(7, number=packet.number, seq=2**64 - 1, ack=5, size=100, priority=3)

        def at_sender(self, flow, ack):
            assert (ack.kind, ack.seq, ack.ack, ack.size, ack.priority) == (7, 2**64 - 1, 5, 100, 3)
            assert ack.control
            super().at_sender(flow, ack)

    audited(line(3000), Watches)
    first = seen.pop("draw")
    audited(line(3000), Watches)
    assert seen["draw"] == first
    audited(line(3000), Watches, **{"run.seed": 2})
    assert seen["draw"] != first


class Plain(Transport):
    """Sends all packets once, and ends with the last acknowledgement."""

    def next_packet(self, flow):
        return flow.data(flow.next) if flow.next < flow.packets else None

    def at_receiver(self, flow, packet):
        flow.deliver(packet)
        flow.send()

    def at_sender(self, flow, packet):
        flow.acks = getattr(flow, "acks", 0) + 1
        if flow.acks == flow.packets:
            flow.finish()


class Beyond(Plain):
    def next_packet(self, flow):
        return flow.data(flow.next)


class Negative(Plain):
    def next_packet(self, flow):
        return flow.data(-1)


class Fraction(Plain):
    def next_packet(self, flow):
        return flow.data(0.0)


class Bare(Plain):
    def next_packet(self, flow):
        return flow.next


class Turns(Plain):
    def next_packet(self, flow):
        flow.ready()


class Large(Plain):
    def at_receiver(self, flow, packet):
        flow.send(size=1501)


class Priority(Plain):
    def at_receiver(self, flow, packet):
        flow.send(priority=8)


class Delivers(Plain):
    def at_receiver(self, flow, packet):
        flow.deliver(1000)


class Sender(Plain):
    def at_sender(self, flow, packet):
        flow.deliver(packet)


class Receiver(Plain):
    def at_receiver(self, flow, packet):
        flow.ready()


class Early(Plain):
    def start(self, flow):
        flow.finish()


class Late(Plain):
    def next_packet(self, flow):
        flow.finish(acknowledged=False)
        return flow.data(0)


class Returns(Plain):
    def at_receiver(self, flow, packet):
        return flow.deliver(packet)


class Raises(Plain):
    def at_sender(self, flow, packet):
        return self.window  # type: ignore[attr-defined]


class Timer(Plain):
    def start(self, flow):
        flow.set_timer(-5)

    on_timer = Plain.at_sender


class Kind(Plain):
    def start(self, flow):
        flow.set_timer(5, 8)

    on_timer = Plain.at_sender


class Unwritten(Plain):
    def start(self, flow):
        flow.set_timer(5 * US)


class UnwrittenToo(Plain):
    def start(self, flow):
        flow.host.set_timer(5 * US)


class Stands(Plain):
    def start(self, flow):
        flow.set_timer(0)

    def on_timer(self, flow, kind):
        flow.set_timer(0)


class Elsewhere(Plain):
    known: list[Any] = []  # noqa: RUF012

    def start(self, flow):
        self.known.append(flow)
        flow.ready()

    def at_receiver(self, flow, packet):
        self.known[-1].ready()


class Unborn(Plain):
    def __init__(self):
        raise RuntimeError("not today")


SENDER = "ValueError: {} is for the sender: see flow.sends"
MISTAKES = [
    (Beyond, "next_packet", "ValueError: number = 3: use a whole number from 0 to 2"),
    (Negative, "next_packet", "ValueError: number = -1: use a whole number from 0 to 2"),
    (Fraction, "next_packet", "ValueError: number = 0.0: use a whole number from 0 to 2"),
    (Bare, "next_packet", "it returns 0; return flow.data(...), or None"),
    (Turns, "next_packet", "it requests a turn (flow.ready) and returns nothing to send"),
    (Large, "at_receiver", "ValueError: size = 1501: use a whole number from 1 to 1500"),
    (Priority, "at_receiver", "ValueError: priority = 8: use a whole number from 0 to 7"),
    (Delivers, "at_receiver", "TypeError: deliver takes a packet that has arrived, not 1000"),
    (Sender, "at_sender", "ValueError: deliver is for the receiver: see flow.sends"),
    (Receiver, "at_receiver", SENDER.format("ready")),
    (
        Early,
        "start",
        "ValueError: finish() when 0 of 3000 bytes have been delivered: finish(acknowledged=False) if that is meant",
    ),
    (Late, "next_packet", "ValueError: data after finish: the sender is done"),
    (Returns, "at_receiver", "it returns 1436; it is to return nothing"),
    (Raises, "at_sender", "AttributeError: 'Raises' object has no attribute 'window'"),
    (Timer, "start", "ValueError: after_ps = -5: use a whole number from 0 to 1000000000000000"),
    (Kind, "start", "ValueError: kind = 8: use a whole number from 0 to 7"),
    (
        Unwritten,
        "start",
        "NotImplementedError: a timer without on_timer, which is called when it is due: write it",
    ),
    (
        UnwrittenToo,
        "start",
        "NotImplementedError: a timer without on_host_timer, which is called when it is due: write it",
    ),
    (Stands, "on_timer", "ValueError: after_ps = 0 for the 10000th time at this instant: time stands still"),
    (
        Elsewhere,
        "at_receiver",
        "ValueError: this event is at another host than 0: information travels in packets",
    ),
    (Unborn, "__init__", "RuntimeError: not today"),
]


@pytest.mark.parametrize(("own", "verb", "what"), MISTAKES)
def test_a_mistake_is_told_with_its_line(own: type[Transport], verb: str, what: str):
    with pytest.raises(PrototypeError) as told:
        fy.run(line(3000), transports={"own": own})
    here = Path(__file__)
    found = re.fullmatch(
        r"(.+), line (\d+), in (\w+)\.(\w+): (.+?)(, [\d.,]+ us into the run)?", str(told.value)
    )
    assert found, str(told.value)
    file, number, cls, method, message, _ = found.groups()
    assert Path(file).name == here.name
    assert (cls, method, message) == (own.__name__, verb, what)
    # The line that did it, or, where an answer is wrong, that of the method.
    text = here.read_text().splitlines()[int(number) - 1]
    assert ("def " in text) == what.startswith("it ")


class Forgets(Plain):
    def at_sender(self, flow, packet):
        pass


def test_a_flow_that_is_never_finished_is_told():
    with pytest.raises(PrototypeError) as told:
        fy.run(incast(in_python()) | {"queue": "infinite"}, transports={"own": Forgets})
    said = re.fullmatch(
        r".*test_prototypes_transport.py, line \d+, in Forgets.next_packet: flow 0 from host 0 to 8, 143600 of 143600 "
        r"bytes delivered, is not finished, and no timer is set \(one of 8 such flows\): a sender has to call "
        r"flow.finish\(\), [\d.,]+ us into the run",
        str(told.value),
    )
    assert said, str(told.value)
    # What is lost and not retransmitted is as stuck; the run that ends before that is none of it.
    lossy = line(50 * PAYLOAD, "10Gbps", {"drop-tail": {"limit": {"packets": 2}}})
    with pytest.raises(PrototypeError, match=r"of 71800 bytes delivered, is not finished"):
        fy.run(lossy, transports={"own": Plain})
    run = fy.run(lossy, {"run.until": "50us"}, transports={"own": Plain})
    assert run.status == "limit"


def test_a_sender_that_goes_on_for_ever_stalls():
    """Its timers show that it still tries: that is a result, not a mistake."""
    scenario = line(50 * PAYLOAD)
    scenario["faults"] = {
        "events": [{"at": "0s", "target": {"random-cables": {"share": 1.0}}, "change": {"loss": 1.0}}]
    }
    run = fy.run(scenario, {"run.stall": "50ms"}, transports={"own": FixedWindow})
    assert run.status == "stalled"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"at_receiver": Plain.at_receiver}, "Mine has no method next_packet, which selects the packet"),
        ({"next_packet": Plain.next_packet}, "Mine has no method at_receiver, which delivers data"),
        (
            {**vars(Plain), "payload": 70_000},
            "Mine.payload = 70000: use a whole number of bytes from 1 to 65000",
        ),
        ({**vars(Plain), "header_bytes": "64B"}, "Mine.header_bytes = '64B': use a whole number of bytes"),
    ],
)
def test_a_class_that_cannot_work_is_refused(written: dict[str, Any], says: str):
    body = {name: value for name, value in written.items() if not name.startswith("__")}
    with pytest.raises(fy.errors.UserError, match=re.escape(says)):
        fy.run(line(1000), transports={"own": type("Mine", (Transport,), body)})


def test_a_name_that_was_not_handed_in_is_refused():
    with pytest.raises(fy.ScenarioError) as refused:
        fy.check(line(1000))
    (problem,) = refused.value.problems
    assert problem["path"] == "transport.python.name"
    assert problem["message"] == '"own": no transport in Python was handed in'
    assert 'transports={"own": ...}' in problem["hint"]
