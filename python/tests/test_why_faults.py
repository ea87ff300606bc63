"""Losses to faults in `flowyard why`: the link, the fault and its times."""

import json

import pytest

import flowyard as fy
from flowyard import cli
from flowyard.why import LostTo, why
from flowyard.why.faults import Place, by_link

# A flow of 100 packets of 1,062 B takes 85 us: at 20 us packets are in flight on both links.
SCENARIO = {
    "topology": {"single-switch": {"hosts": 2, "rate": "10Gbps", "delay": "1us"}},
    "transport": {"roce": {"payload": "1000B", "timeout": "5ms"}},
    "traffic": [
        {
            "name": "reads",
            "arrivals": {"at-once": {"jitter": "0s"}},
            "matrix": {"incast": {"senders": 1, "receiver": 0}},
            "sizes": {"fixed": "100KB"},
        }
    ],
}
LAST = "switch -> host 0"


def run_with(**faults):
    return fy.run(SCENARIO | {"faults": faults})


def event(at, change="down", target=None, **more):
    return {"at": at, "target": target or {"cable": ["switch", "host 0"]}, "change": change, **more}


def at_last(answer):
    """The faults of all losses at the link to the receiver."""
    faults = {loss.fault for loss in answer.losses if answer.links[loss.link] == LAST}
    assert faults
    return faults


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([event("20us", lasts="30us")], LostTo("down", 20_000_000, 50_000_000)),
        ([event("20us"), event("50us", "up")], LostTo("down", 20_000_000, 50_000_000)),
        ([event("20us", target={"node": "host 0"}, lasts="30us")], LostTo("down", 20_000_000, 50_000_000)),
        ([event("20us", {"loss": 0.5}, lasts="30us")], LostTo("loss", 20_000_000, 50_000_000)),
        ([event("9ms"), event("20us", lasts="30us")], LostTo("down", 20_000_000, 50_000_000)),
    ],
)
def test_a_loss_names_its_fault(events, fault):
    assert at_last(why(run_with(events=events), 0)) == {fault}


def test_a_link_that_is_down_loses_what_a_loss_rate_would_have_let_through():
    events = [event("10us", "down", lasts="40us"), event("20us", {"loss": 0.5}, lasts="30us")]
    assert at_last(why(run_with(events=events), 0)) == {LostTo("down", 10_000_000, 50_000_000)}


def test_packets_that_the_scenario_names_are_told_apart_from_those_of_a_link():
    answer = why(
        run_with(
            events=[event("20us", lasts="30us")], packets=[{"traffic": "reads", "flow": 0, "numbers": [2, 3]}]
        ),
        0,
    )
    named = by_link([loss for loss in answer.losses if loss.fault is None])
    assert named == [
        Place(answer.links.index("host 1 -> switch"), "fault: named in faults.packets", data=2, control=0)
    ]


def test_losses_to_a_fault_are_told_before_a_list_that_does_not_reach_them(tmp_path, capsys):
    """Twelve packets are named in `faults.packets`, and the list has as many: the link goes down after these."""
    faults = {
        "events": [event("20us", lasts="30us")],
        "packets": [{"traffic": "reads", "flow": 0, "numbers": list(range(1, 13))}],
    }
    fy.run(SCENARIO | {"faults": faults}).save(tmp_path / "run")
    assert cli.main(["why", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out.split("Links that lost or trimmed its packets\n")[1]
    places, losses = told.split("Packets dropped or trimmed, the first 12 of ")
    (line,) = (line for line in places.splitlines() if LAST in line)
    assert line.split("   ")[-1].strip() == "fault: down from 20.000 us to 50.000 us"
    assert LAST not in losses
    assert cli.main(["why", str(tmp_path / "run"), "-o", str(tmp_path / "flow.html")]) == 0
    assert "fault: down from 20.000 us to 50.000 us" in (tmp_path / "flow.html").read_text(encoding="utf-8")


def test_programs_read_the_fault_of_a_loss(tmp_path, capsys):
    run_with(events=[event("20us", lasts="30us")]).save(tmp_path / "run")
    assert cli.main(["why", str(tmp_path / "run"), "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    faults = [loss["fault"] for loss in answer["lost"] if loss["reason"] == "fault"]
    assert {"change": "down", "from_ps": 20_000_000, "until_ps": 50_000_000} in faults


def test_a_fault_that_stays_lasts_to_the_end():
    """The cable of another pair of switches stays down: the flow goes round it once routes avoid it."""
    scenario = SCENARIO | {
        "topology": {"fat-tree": {"k": 4, "rate": "10Gbps", "delay": "1us"}},
        "routing": {"balancer": "per-packet"},
        "faults": {
            "detection_delay": "10us",
            "events": [event("20us", target={"cable": ["pod 0 edge 0", "pod 0 aggregation 0"]})],
        },
    }
    scenario["traffic"] = [SCENARIO["traffic"][0] | {"matrix": {"pairs": [[0, 12]]}}]
    places = by_link(why(fy.run(scenario), 0).losses)
    assert "fault: down from 20.000 us to the end of the run" in {place.cause for place in places}
