"""Completion times divided by cause: closed forms, sums, and refusals."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

import flowyard as fy
from flowyard import cli
from flowyard.errors import UserError
from flowyard.prototypes.examples.aimd import Aimd
from flowyard.why import divided, why
from flowyard.why.losses import losses, times_out
from flowyard.why.packets import Hop, Packet
from flowyard.why.path import PARTS, Chain, totals
from flowyard.why.ports import ports
from flowyard.why.span import span

ROCE = {"payload": "1000B"}


def incast(senders, size="1KB", transport=None, **more):
    return {
        "topology": {"single-switch": {"hosts": senders + 1, "rate": "10Gbps", "delay": "1us"}},
        "transport": transport or {"roce": ROCE},
        "traffic": [
            {
                "name": "reads",
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"incast": {"senders": senders, "receiver": 0}},
                "sizes": {"fixed": size},
            }
        ],
        **more,
    }


def test_a_lone_packet_is_transmission_and_propagation():
    """1062 B at 10 Gbps, twice, and two cables of 1 us."""
    answer = why(fy.run(incast(1)), 0)
    assert answer.totals == {"transmission": 2 * 849_600, "propagation": 2_000_000}
    assert answer.fct_ps == answer.ideal_fct_ps == sum(answer.totals.values())
    assert [part.from_ps for part in answer.parts] == sorted(part.from_ps for part in answer.parts)


def test_packets_of_others_are_a_queue():
    """The last of four packets that come at once waits for three."""
    run = fy.run(incast(4))
    flows = run.flows.to_polars().sort("fct_ps")
    for place, flow in enumerate(flows["id"]):
        expected = {"transmission": 2 * 849_600, "propagation": 2_000_000, "queue": place * 849_600}
        assert why(run, flow).totals == {name: time for name, time in expected.items() if time}


def test_packets_of_the_flow_ahead_are_its_port():
    """The last of ten packets is sent when nine have been."""
    answer = why(fy.run(incast(1, "10KB")), 0)
    assert answer.totals == {
        "transmission": 2 * 849_600,
        "propagation": 2_000_000,
        "port of the sender": 9 * 849_600,
    }


def test_a_lost_packet_is_a_timeout():
    """The only packet is lost, and sent again after the timeout of 5 ms."""
    lost = [{"traffic": "reads", "flow": 0, "numbers": [1]}]
    scenario = incast(1, transport={"roce": ROCE | {"timeout": "5ms"}}, faults={"packets": lost})
    answer = why(fy.run(scenario), 0)
    assert answer.totals == {"transmission": 2 * 849_600, "propagation": 2_000_000, "timeout": 5 * 10**9}
    assert [packet.dropped[1] for packet in answer.lost] == ["fault"]


def test_a_timeout_while_the_port_is_busy_is_a_timeout():
    """Another flow's packet is sent from 100 ns before the timer is due: the repetition waits for it, 749.6 ns."""
    lost = [{"traffic": "reads", "flow": 0, "numbers": [1]}]
    scenario = incast(1, transport={"roce": ROCE | {"timeout": "5ms"}}, faults={"packets": lost})
    scenario["topology"]["single-switch"]["hosts"] = 3
    scenario["traffic"].append(
        {
            "name": "other",
            "arrivals": {"times": {"at": ["4999900ns"], "jitter": "0s"}},
            "matrix": {"pairs": [[1, 2]]},
            "sizes": {"fixed": "1KB"},
        }
    )
    answer = why(fy.run(scenario), 0)
    assert answer.totals == {
        "transmission": 2 * 849_600,
        "propagation": 2_000_000,
        "port of the sender": 749_600,
        "timeout": 5 * 10**9,
    }
    assert [loss.noticed for loss in answer.losses] == ["timeout"]


def packet(number, made_ps, *, data=True, forward=True, arrives_ps=None, repeats=False):
    """A packet of a flow by hand, lost at link 0 unless it arrives."""
    hop = Hop(0, made_ps, made_ps, arrives_ps, arrived_row=made_ps)
    return Packet(
        forward=forward,
        data=data,
        subflow=0,
        seq=number,
        number=number,
        payload_bytes=1000,
        made_ps=made_ps,
        made_row=made_ps,
        hops=[hop],
        dropped=None if arrives_ps else (0, "full"),
        repeats=repeats,
    )


def answer_at(made_ps, arrives_ps=None):
    return packet(None, made_ps, data=False, forward=False, arrives_ps=arrives_ps)


def test_a_span_ends_with_the_run():
    """From 1 us on, and until 1 s in a run that ended at 5 us."""
    assert span("1us", "1s", 5_000_000) == (1_000_000, 5_000_000)
    assert span(None, "2us", 5_000_000) == (0, 2_000_000)


def test_a_packet_on_another_port_is_not_ahead():
    """A host of two ports: as the packet of 10 B leaves one of them after 10 ps, the next is made at the other."""
    first = packet(1, 0, arrives_ps=20)
    first.hops[0].link, first.hops[0].wire_bytes = 1, 10
    rates = {0: 8 * 10**12, 1: 8 * 10**12}
    parts = Chain([first, packet(2, 10, arrives_ps=30)], [], rates, 0).parts(30)
    assert totals(parts) == {"propagation": 20, "waiting at the sender": 10}
    first.hops[0].link = 0
    parts = Chain([first, packet(2, 10, arrives_ps=30)], [], rates, 0).parts(30)
    assert totals(parts) == {"propagation": 20, "port of the sender": 10}


def test_an_answer_at_the_instant_of_a_timer_is_the_cause():
    """Both come at 100 ps, when the lost packet is sent again: the answer asks for it."""
    sent = [packet(1, 0), answer_at(90, arrives_ps=100), packet(1, 100, arrives_ps=130, repeats=True)]
    assert [loss.noticed for loss in losses(sent, [(100, "sender")], "roce")] == ["NACK"]
    assert [loss.noticed for loss in losses(sent, [(101, "sender")], "roce")] == ["NACK"]
    sent[2] = packet(1, 101, arrives_ps=130, repeats=True)
    assert [loss.noticed for loss in losses(sent, [(101, "sender")], "roce")] == ["timeout"]


def test_a_pause_lasts_until_the_last_event():
    """A port stops at 10 ps and resumes at 20; it stops again at 30, and the events end at 50 ps."""
    events = [
        {"time_ps": time, "link": 4, "kind": "paused", "value": value, "made_ps": None}
        for time, value in ((10, 1.0), (20, 0.0), (30, 2.0))
    ]
    events.append({"time_ps": 50, "link": None, "kind": "timer", "value": 0.0, "made_ps": None})
    assert ports(events, {4: 10**9})[4].pauses == [(10, 20), (30, 50)]


def test_a_paced_request_is_paced_before_the_first_data_too():
    """A second request goes by a timer 100 ps after the first; its way and its answer's are of the start."""
    requests = [packet(None, made, data=False, arrives_ps=made + 10) for made in (0, 100)]
    sent = [*requests, answer_at(110, arrives_ps=120), packet(1, 120, arrives_ps=130)]
    parts = Chain(sent, [(100, "sender")], {0: 10**9}, 0).parts(130)
    assert totals(parts) == {"start-up": 20, "propagation": 10, "pacing": 100}


def test_a_lost_answer_is_noticed_by_the_next_or_by_a_timeout():
    sent = [packet(1, 0, arrives_ps=10), answer_at(10)]
    # Another packet's answer comes, or the only packet is sent again as a timer is due at 100.
    by_next = [*sent, packet(2, 11, arrives_ps=20), answer_at(20, 30)]
    by_timer = [*sent, packet(1, 100, arrives_ps=110, repeats=True), answer_at(110, 120)]
    assert [loss.noticed for loss in losses(by_next, [], "tcp")] == ["the next answer"]
    assert [(loss.noticed, loss.took_ps) for loss in losses(by_timer, [(100, "sender")], "tcp")] == [
        ("timeout", 90)
    ]
    assert [loss.noticed for loss in losses(sent, [], "tcp")] == ["not repeated"]


def test_a_lost_answer_to_a_request_is_noticed_as_the_timer_repeats_the_request():
    """The answer to a SYN is lost; the timer repeats it at 100 ps, which is lost, and at 300, which is answered."""
    requests = [
        packet(None, made, data=False, arrives_ps=end) for made, end in ((0, 10), (100, None), (300, 310))
    ]
    sent = [requests[0], answer_at(10), *requests[1:], answer_at(310, 320), packet(1, 320, arrives_ps=330)]
    found = losses(sent, [(100, "sender"), (300, "sender")], "tcp")
    assert [(loss.packet.forward, loss.noticed, loss.took_ps) for loss in found] == [
        (False, "timeout", 90),
        (True, "timeout", 200),
    ]


def test_packets_repeated_after_a_timeout_are_noticed_by_it():
    """Packets 1 and 2 are lost; 1 is repeated at the timer, and its answer lets 2 go. Packet 0 was repeated before."""
    made = [
        packet(0, 0),
        packet(9, 1, arrives_ps=10),
        answer_at(10, 20),
        packet(0, 20, arrives_ps=30, repeats=True),
        packet(1, 40),
        packet(2, 41),
        packet(1, 100, arrives_ps=110, repeats=True),
        answer_at(110, 120),
        packet(2, 120, arrives_ps=130, repeats=True),
    ]
    found = losses(made, [(100, "sender")], "tcp")
    assert [(loss.packet.number, loss.noticed) for loss in found] == [
        (0, "duplicates"),
        (1, "timeout"),
        (2, "timeout"),
    ]


def test_a_paced_repetition_is_no_timeout():
    """The sender's timer lets packets go at 0, 10, 20; packet 0's loss is shown by the answer to packet 1."""
    made = [
        packet(0, 0),
        packet(1, 10, arrives_ps=15),
        answer_at(15, 18),
        packet(0, 20, arrives_ps=25, repeats=True),
        answer_at(25, 28),
    ]
    timers = [(10, "sender"), (20, "sender")]
    assert not times_out(made, timers, "rcp", 0)
    assert times_out(made, timers, "rcp", 1)
    # TCP that sends new data at a timer is paced; else it repeats at one for a timeout, or to probe its tail.
    assert not times_out(made, timers, "tcp", 0)
    assert times_out(made, timers[1:], "tcp", 0)
    assert [loss.noticed for loss in losses(made, timers, "rcp", timed=False)] == ["an answer"]
    assert [loss.noticed for loss in losses(made, timers, "rcp", timed=True)] == ["timeout"]


TRANSPORTS = [
    ("ndp", {}),
    ("tcp", {"preset": "datacentre"}),
    ("tcp", {"preset": "datacentre", "congestion": "dctcp"}),
    ("mptcp", {}),
    ("pfabric", {}),
    ("dcqcn", {}),
    ("roce", {"congestion": "timely"}),
    ("rcp", {}),
    ("d3", {}),
    ("pdq", {}),
    ("daq", {}),
    ("racs", {}),
]


@pytest.mark.parametrize(("name", "fields"), TRANSPORTS, ids=[f"{n}-{len(f)}" for n, f in TRANSPORTS])
def test_parts_add_up_for_every_flow(name, fields):
    """Every flow of an incast beside a permutation on a fat-tree, under every transport."""
    scenario = {
        "topology": {"fat-tree": {"k": 4}},
        "transport": {name: fields},
        "traffic": [
            {"name": "all", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "60KB"}},
            {
                "name": "incast",
                "arrivals": "at-once",
                "matrix": {"incast": {"senders": 8, "receiver": 3}},
                "sizes": {"fixed": "20KB"},
            },
        ],
        "observe": {"events": {}},
    }
    run = fy.run(scenario)
    assert run.events is not None
    events, links = run.events.to_polars(), run.links.to_polars()
    flows = run.flows.to_polars()
    assert flows["fct_ps"].null_count() == 0
    for row in flows.iter_rows(named=True):
        rows = list(events.filter(events["flow"] == row["id"]).iter_rows(named=True))
        answer = divided(row, rows, links)
        assert sum(answer.totals.values()) == row["fct_ps"]
        assert set(answer.totals) <= set(PARTS)
        # The packet that completed the flow has crossed links.
        assert answer.totals["propagation"] > 0
        spans = [(part.from_ps, part.until_ps) for part in answer.parts]
        assert spans[0][0] == row["start_ps"]
        assert all(one[1] == other[0] for one, other in pairwise(spans))


def test_the_command_prints_the_slowest_flow(inside, tmp_path):
    scenario = tmp_path / "incast.json"
    scenario.write_text(json.dumps(incast(4)))
    assert inside("run", scenario, "-o", tmp_path / "run").returncode == 0
    done = inside("why", tmp_path / "run")
    assert done.returncode == 0
    assert "queue" in done.stdout
    assert "switch -> host 0" in done.stdout
    answers = json.loads(inside("why", tmp_path / "run", "0", "1", "--json").stdout)
    assert [answer["flow"] for answer in answers] == [0, 1]
    assert all(sum(answer["totals_ps"].values()) == answer["fct_ps"] for answer in answers)
    assert inside("why", tmp_path / "run", "9").returncode == 2


def test_refusals():
    run = fy.run(incast(1))
    with pytest.raises(UserError, match="flow 7: the run has 1 flow, numbered from 0"):
        why(run, 7)
    run.summary["digest"] = "0"
    with pytest.raises(UserError, match="comes out otherwise today"):
        why(run, 0)
    run.summary["scenario"] = None
    with pytest.raises(UserError, match=r"run\.json has no scenario"):
        why(run, 0)
    stopped = fy.run(incast(1, "1MB", run={"until": "20us"}))
    with pytest.raises(UserError, match="is not complete"):
        why(stopped, 0)
    scenario = incast(1, "1MB", run={"until": "20us"})
    scenario["traffic"][0]["background"] = True
    with pytest.raises(UserError, match="flow 0: is background and not complete"):
        why(fy.run(scenario), 0)


def test_the_folder_of_a_sweep_is_not_that_of_a_run(inside, tmp_path):
    """Its runs are listed by their labels, up to 24 of those that are done."""
    swept = tmp_path / "swept"
    protocol = fy.Axis("protocol", {"transport": ["ndp", "roce"]})
    keys = list(fy.sweep(fy.Plan(incast(1), axes=[protocol], replicas=13), swept).runs["run"])
    shutil.rmtree(swept / "runs" / keys[1])
    refused = inside("why", swept)
    assert refused.returncode == 2
    head, *lines = refused.stderr.splitlines()
    assert head.endswith(f"{swept}: is the folder of a sweep; name one of its runs:")
    assert lines[0].split("  ")[1:] == [f"{swept / 'runs' / keys[0]}", "protocol = ndp, replica 0"]
    assert lines[1].split("  ")[1:] == [f"{swept / 'runs' / keys[2]}", "protocol = ndp, replica 1"]
    assert len(lines) == 25
    assert lines[24] == f"  and 1 more; flowyard show {swept} lists them"
    shutil.rmtree(swept / "runs")
    assert "is the folder of a sweep, of which no run is done" in inside("why", swept).stderr


def test_a_run_alone_is_required(inside):
    assert inside("why").stderr.endswith("the following arguments are required: RUN\n")


def test_a_flow_is_named_with_its_hosts_and_size(tmp_path, capsys):
    """Hosts have the names that the topology gives them, which flows.parquet has as numbers."""
    cables = [{"ends": [host, "tor1"]} for host in ("db1", "web1")]
    explicit = {"hosts": ["web1", "db1"], "switches": [{"name": "tor1"}], "cables": cables}
    topology = {"explicit": explicit | {"rate": "10Gbps", "delay": "1us"}}
    fy.run(incast(1, "30KB") | {"topology": topology}).save(tmp_path / "run")
    assert cli.main(["why", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.startswith("Flow 0, db1 -> web1, 30.0 KB: ")
    assert cli.main(["why", str(tmp_path / "run"), "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert (answer["from"], answer["to"], answer["size_bytes"]) == ("db1", "web1", 30_000)
    assert cli.main(["why", str(tmp_path / "run"), "-o", str(tmp_path / "flow.html")]) == 0
    page = (tmp_path / "flow.html").read_text(encoding="utf-8")
    assert "From db1 to web1, 30.0 KB, of reads." in page.replace("\N{NO-BREAK SPACE}", " ")


def test_lists_that_are_cut_say_of_how_many(tmp_path, capsys):
    fy.run(incast(9)).save(tmp_path / "run")
    assert cli.main(["why", str(tmp_path / "run")]) == 0
    assert "Flows for whose packets it waited, the first 5 of 8\n" in capsys.readouterr().out
    fy.run(incast(6)).save(tmp_path / "whole")
    assert cli.main(["why", str(tmp_path / "whole")]) == 0
    assert "Flows for whose packets it waited\n" in capsys.readouterr().out


def test_a_run_with_a_class_in_python_needs_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own = (
        "from flowyard.prototypes import CongestionControl\n\n\nclass Own(CongestionControl):\n"
        "    def on_loss(self, window, loss):\n        window.cwnd = window.mss\n"
    )
    Path("own.py").write_text(own)
    python = {"tcp": {"congestion": {"python": {"name": "Own"}}}}
    Path("one.json").write_text(json.dumps(incast(2, "30KB", python)))
    assert cli.main(["run", "one.json", "-o", "run", "--prototype", "own.py"]) == 0
    capsys.readouterr()
    assert cli.main(["why", "run", "0"]) == 2
    assert "--prototype own.py" in capsys.readouterr().err
    assert cli.main(["why", "run", "0", "--json", "--prototype", "own.py"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert sum(answer["totals_ps"].values()) == answer["fct_ps"]
    assert cli.main(["watch", "run", "-o", "page.html", "--prototype", "own.py"]) == 0
    capsys.readouterr()
    Path("own.py").write_text(own.replace("window.mss", "2 * window.mss"))
    assert cli.main(["why", "run", "0", "--prototype", "own.py"]) == 2
    assert "own.py has changed since then; run the scenario anew" in capsys.readouterr().err


def test_a_result_has_the_classes_of_its_run():
    python = {"tcp": {"congestion": {"python": {"name": "aimd"}}}}
    run = fy.run(incast(2, "30KB", python), controls={"aimd": Aimd})
    answer = why(run, 1)
    assert sum(answer.totals.values()) == answer.fct_ps
