"""The section Fairness of reports: its entries on each transport, against a lone flow of that transport."""

from functools import cache
from typing import Any

import pytest

import flowyard as fy
from flowyard import results, text
from flowyard.analysis import quantities
from flowyard.member_names import controls, members
from flowyard.prototypes import CongestionControl
from flowyard.report.run import fairness
from flowyard.run_data import Run

# Of a cable; a packet crosses two.
DELAY = 10_000_000
# Settings without which a member is refused.
NEEDS: dict[str, dict[str, Any]] = {
    "parallel-tcp": {"parallel-tcp": {"paths": {"count": 1}}},
    # Its copies of short flows are not alone.
    "repflow": {"repflow": {"below": "1B"}},
    "tcp bbr": {"tcp": {"congestion": "bbr", "sack": True}},
}
CONTROLLED = {"central": {"controller": "max-min"}}


def _transports() -> dict[str, Any]:
    """Every transport with every control, by a name; without members in Python, which are what their class is."""
    defined = results.schema()["$defs"]
    found: dict[str, Any] = {name: name for name in members(defined["Transport"])}
    for tag, names in controls(results.schema()["$defs"]).items():
        found |= {f"{tag} {name}": {tag: {"congestion": name}} for name in names}
    found |= {f"uet {name}": {"uet": {"control": name}} for name in members(defined["UetControl"])}
    return {name: NEEDS.get(name, each) for name, each in found.items() if not name.endswith("python")}


TRANSPORTS = _transports()


def alone(transport: Any, size: str, controls: Any = None, **more: Any) -> Run:
    """A run of one flow at 10 Gbps."""
    entry = {"name": "a", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": size}}
    network = {"hosts": 3, "rate": "10Gbps", "delay": "10us"}
    scenario = {"topology": {"single-switch": network}, "transport": transport, "traffic": [entry], **more}
    return Run.of(fy.run(scenario, controls=controls))


@cache
def of_member(name: str, size: str) -> Run:
    """Such a run of a member of TRANSPORTS."""
    return alone(TRANSPORTS[name], size, **CONTROLLED.get(name, {}))


def said(run: Run, setting: str) -> str:
    """The text of the section on a setting."""
    return fairness.said(run.scenario, fairness.rates_of(run.links))[setting]


def ideal(run: Run) -> float:
    """The ideal completion time of the only flow."""
    ((fct, slowdown),) = run.flows.select("fct_ps", "slowdown").rows()
    return float(fct / slowdown)


def waited(run: Run) -> float:
    """By how many round trips the only flow took longer than its ideal."""
    return float(run.flows["fct_ps"].item() - ideal(run)) / (4 * DELAY)


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_handshake_is_the_round_trip_that_a_lone_packet_waits(name):
    run = of_member(name, "1000B")
    trips = waited(run)
    if said(run, "handshake") == fairness.ROUND_TRIP:
        assert trips == pytest.approx(1, abs=0.05)
    elif name in CONTROLLED:
        assert said(run, "handshake") == "as the controller decides"
    else:
        assert trips == pytest.approx(0, abs=0.05)
        assert said(run, "handshake").startswith("none")


@pytest.mark.parametrize(
    ("transport", "size", "trips"),
    [
        ({"tcp": {"handshake": False}}, "1000B", 0),
        ({"mptcp": {"tcp": {"handshake": False}}}, "1000B", 0),
        ({"sird": {"unscheduled": "0B"}}, "1000B", 1),
        ({"phost": {"free_tokens": 0}}, "1000B", 1),
    ],
)
def test_a_field_decides_it(transport, size, trips):
    run = alone(transport, size)
    assert waited(run) == pytest.approx(trips, abs=0.05)
    assert (said(run, "handshake") == fairness.ROUND_TRIP) is bool(trips)


def test_messages_that_wait_by_their_size_are_said():
    run = alone("sird", "50KB")
    assert said(run, "handshake") == "none up to 53.8\u00a0KB, else one round trip before data"
    assert waited(run) == pytest.approx(0, abs=0.05)
    assert waited(alone("sird", "60KB")) == pytest.approx(1, abs=0.05)
    run = alone("phost", "11680B")
    assert said(run, "handshake") == "none up to 8 packets, else one round trip before data"
    assert waited(run) == pytest.approx(0, abs=0.05)
    assert waited(alone("phost", "11681B")) > 1


# Of TCP, 1000 packets.
LONG = "1460KB"


def replies(run: Run) -> int:
    """Packets that are not data."""
    return int(run.counters["packets"] - run.flows["packets_sent"].sum())


@pytest.mark.parametrize("name", [name for name in TRANSPORTS if name not in CONTROLLED])
def test_acknowledgements_are_those_that_a_lone_flow_gets(name):
    run = of_member(name, LONG)
    sent, found = run.flows["packets_sent"].item(), replies(run)
    match said(run, "acknowledgements"):
        case "each packet":
            assert found == pytest.approx(sent, rel=0.01)
        case "none":
            assert found == 0
        case "every 16KiB":
            # Receivers that give credit send more.
            assert found >= 1_460_000 / 16_384 - 1
            assert found < 100 or name in ("uet rccc", "uet both", "uet eqds")
        case "the whole flow":
            # Of a short one, which needs no credit but under ExpressPass; a request may go before it.
            assert name == "expresspass" or replies(of_member(name, "8KB")) <= 2
        case delayed:
            assert delayed.startswith("every 2 packets, or after ")
            # A connection has its handshake, too.
            assert found == pytest.approx(sent / 2, abs=8 * 3)


@pytest.mark.parametrize(
    ("transport", "words", "number"),
    [
        ({"tcp": {"delayed_ack": 1}}, "each packet", 1000),
        ({"tcp": {"delayed_ack": 4}}, "every 4 packets, or after 40ms", 250),
        ({"tcp": {"preset": "linux"}}, "every 2 packets, or after 40ms, of the first 16 each", 508),
        ({"roce": {"ack_every": 4}}, "every 4 packets", 365),
        ({"dcqcn": {"ack_every": 0}}, "the last packet", 1),
        ({"uet": {"ack_bytes": "1B"}}, "each packet", 358),
    ],
)
def test_a_field_decides_them(transport, words, number):
    run = alone(transport, LONG)
    assert said(run, "acknowledgements") == words
    assert replies(run) == pytest.approx(number, abs=5)


@pytest.mark.parametrize(
    ("each", "words"), [(True, "each packet"), (False, "every 2 packets, or after 40ms")]
)
def test_a_control_in_python_may_ask_for_each(each, words):
    class Mine(CongestionControl):
        acknowledges_each_segment = each

        def on_ack(self, window, ack):
            window.cwnd += window.mss

    run = alone({"tcp": {"congestion": {"python": {"name": "Mine"}}}}, LONG, controls={"Mine": Mine})
    assert said(run, "acknowledgements") == words
    assert replies(run) == pytest.approx(1000 if each else 500, abs=5)


@pytest.mark.parametrize(
    "name", [f"roce {control}" for control in controls(results.schema()["$defs"])["roce"]]
)
def test_a_least_rate_that_follows_from_the_port_is_said_as_one(name):
    run = of_member(name, "8KB")
    # DCQCN's are numbers.
    assert said(run, "minimum rate") == ("100\u00a0Mbps" if "dcqcn" in name else "10.0\u00a0Mbps")


def test_rates_that_are_equal_are_no_difference():
    port = {"topology": {"single-switch": {"hosts": 3, "rate": "100Gbps"}}}
    runs = [alone(name, "8KB", **port) for name in ({"roce": {"congestion": "hpcc"}}, "dcqcn")]
    rates = [fairness.rates_of(run.links) for run in runs]
    assert rates == [{100_000_000_000}] * 2
    assert "minimum rate" in fairness.equal([run.scenario for run in runs], rates)
    # Without the network it is said in words.
    assert fairness.said(runs[0].scenario)["minimum rate"] == "1/1000 of the port's rate"


def test_a_share_of_credit_is_no_rate():
    controls = ("nscc", "rccc", "both", "eqds")
    runs = [of_member(f"uet {control}", "8KB") for control in controls]
    assert {said(run, "minimum rate") for run in runs} == {text.NONE}
    slow = alone(
        {"uet": {"control": {"rccc": {"oversubscription_control": True, "oversubscription": 2.0}}}}, "8KB"
    )
    assert said(slow, "minimum rate") == "credit at 45.0% of the port's rate"


def size(words: str) -> float:
    """The bytes of a text such as "1,460 B" or "54.0 KB"."""
    number, unit = words.replace(",", "").split()
    return float(number) * quantities.BYTES[unit]


@pytest.mark.parametrize("name", TRANSPORTS)
def test_payload_and_header_are_those_of_the_packets_that_a_lone_flow_sends(name):
    run = of_member(name, "1000B")
    payload, header = size(said(run, "payload")), size(said(run, "header"))
    runs = [of_member(name, f"{payload * packets:.0f}B") for packets in (4, 8)]
    assert [own.flows["packets_sent"].item() for own in runs] == [4, 8]
    # 1 B takes 0.8 ns at 10 Gbps; a controller may not have a host send all the time.
    if name not in CONTROLLED:
        wire = (ideal(runs[1]) - ideal(runs[0])) / 4 / 800
        assert wire == pytest.approx(payload + header, abs=0.01)


@pytest.mark.parametrize(
    ("transport", "payload", "header"),
    [
        ({"ndp": {"mtu_includes_header": False}}, "1,500 B", "64 B"),
        ({"tcp": {"link_bytes": "38B"}}, "1,460 B", "78 B"),
        ({"homa": {"frame_overhead": "38B"}}, "1,440 B", "98 B"),
        ({"d3": {"pacing": {"congestion_header": "16B"}}}, "1,460 B", "56 B"),
        ({"datagram": {"lengths": {"uniform": {"min": "100B", "max": "200B"}}}}, text.NONE, "28 B"),
    ],
)
def test_fields_of_packets_decide_them(transport, payload, header):
    run = alone(transport, "8KB")
    assert (said(run, "payload"), said(run, "header")) == (payload, header)


# A flow that is never answered sends its initial window; agents see the loss of replies.
UNANSWERED = {"d3": {"agent": {"d3": {"state": "flows"}}}}


def unanswered(name: str) -> Run:
    """A long flow of a member whose receiver is cut off after a handshake, up to a time before timeouts."""
    at = 30 if waited(of_member(name, "1000B")) < 0.5 or name == "expresspass" else 70
    cut = {"at": f"{at}us", "target": {"link": ["host 1", "switch"]}, "change": "down"}
    more = {"faults": {"events": [cut]}, "run": {"until": "125us"}, **UNANSWERED.get(name, {})}
    return alone(TRANSPORTS[name], "1MB", **more)


@pytest.mark.parametrize("name", [name for name in TRANSPORTS if name not in CONTROLLED])
def test_the_initial_window_is_what_a_flow_without_an_answer_sends(name):
    run = unanswered(name)
    words, sent = said(run, "initial window"), run.flows["packets_sent"].item()
    full = size(said(run, "payload")) + size(said(run, "header"))
    if words.startswith("no limit"):
        # RCP has its flows begin slowly.
        assert sent > (30 if name != "rcp" else 5)
    elif words.startswith("none"):
        assert sent <= 3
    elif "none" in words:
        assert sent == 0
    elif "packets" in words:
        assert sent == int(words.split()[0])
    else:
        # Some count payload, others all bytes; the last packet may be a part of one, or may go beyond.
        assert sent * size(said(run, "payload")) - full <= size(words) <= (sent + 1) * full


def test_short_flows_that_need_no_credit_have_one():
    assert said(alone("sird", "8KB"), "initial window") == "53.8\u00a0KB, of longer messages none"
    assert said(alone("phost", "8KB"), "initial window") == "8 packets, of longer flows none"
    assert said(alone({"phost": {"free_for": "all"}}, "8KB"), "initial window") == "8 packets"
    assert said(alone({"mptcp": {"subflows": 1}}, "8KB"), "initial window") == "10 packets"
    given = {"uet": {"initial_window": "20KB", "max_window": "40KB"}}
    assert said(alone(given, "8KB"), "initial window") == "20.0\u00a0KB"
    credit = {"uet": {"control": "rccc", **given["uet"]}}
    assert said(alone(credit, "8KB"), "initial window") == "40.0\u00a0KB"
    selective = {"roce": {"recovery": {"irn": {"bdp_cap": "30KB"}}}}
    assert said(alone(selective, "8KB"), "initial window") == "30.0\u00a0KB"


@pytest.mark.parametrize(
    ("transport", "words"),
    [
        ("homa", "1ms"),
        ({"homa": {"resend_interval": "2ms"}}, "2ms"),
        ("sird", "1ms"),
        ("phost", "9 packet times"),
        ({"roce": {"recovery": "irn"}}, "100us"),
        ("datagram", text.NONE),
    ],
)
def test_what_repairs_a_loss_is_the_timeout(transport, words):
    assert said(alone(transport, "8KB"), "minimum RTO") == words
