"""From the files of HPCC's simulator to a report, as the page for its users says."""

import copy
from collections import Counter
from typing import Any

import pages
import pytest
from interchange_examples import source

import flowyard as fy
from flowyard import cli
from flowyard.errors import UserError
from flowyard.interchange import hpcc_fct, hpcc_pfc, hpcc_qlen

PAGE = pages.ROOT / "docs" / "how-to" / "from-ns3-or-htsim.md"


def test_two_commands_lead_from_hpccs_files_to_a_report(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    pages.follow(PAGE, work, pages.environment(tmp_path / "bin"))
    assert "<html" in (work / "out" / "mine" / "report.html").read_text(encoding="utf-8")
    commands = [block for block in pages.blocks(PAGE) if "run" in block.words]
    assert [len(block.text.splitlines()) for block in commands] == [2]


# Four hosts send to a fifth through a switch with little memory.
INCAST = {
    "topology": {
        "explicit": {
            "hosts": [f"host {number}" for number in (1, 2, 3, 4, 5)],
            "switches": [{"name": "switch 0"}],
            "rate": "100Gbps",
            "delay": "1us",
            "cables": [{"ends": [f"host {number}", "switch 0"]} for number in (1, 2, 3, 4, 5)],
        }
    },
    "transport": {"roce": {"congestion": "dcqcn-hpcc"}},
    "queue": "lossless",
    "buffer": {"hpcc": {"size": "400KB"}},
    "observe": {"events": {"kinds": ["paused"], "links": ["*"], "from": "0s"}},
    "traffic": [
        {
            "name": "incast",
            "arrivals": "at-once",
            "matrix": {"incast": {"senders": 4, "receiver": 4}},
            "sizes": {"fixed": "300KB"},
        }
    ],
}


def test_pauses_are_those_of_hpccs_file(tmp_path):
    run = fy.run(INCAST, {"run.audit": True})
    assert (run.status, run.violations) == ("complete", [])
    (tmp_path / "run").mkdir()
    run.write(tmp_path / "run")
    path = tmp_path / "pfc.txt"
    assert cli.main(["export", str(tmp_path / "run"), "--to", "hpcc-pfc", "-o", str(path)]) == 0
    frames = hpcc_pfc.read(source(path.read_text(encoding="utf-8")))
    # Hosts 1 to 4 receive frames at their only port; host 5 receives none.
    assert {(frame.node, frame.is_switch, frame.port) for frame in frames} == {
        (number, False, 1) for number in (1, 2, 3, 4)
    }
    assert sum(frame.pauses for frame in frames) == run.summary["counters"]["pauses"] > 4
    links = {row["from"]: row for row in run.links.to_polars().to_dicts() if row["to"] == "switch 0"}
    for number in (1, 2, 3, 4):
        own = [frame for frame in frames if frame.node == number]
        assert [frame.pauses for frame in own] == [place % 2 == 0 for place in range(len(own))]
        still_ps = sum(on.time_ps - off.time_ps for off, on in zip(own[::2], own[1::2], strict=True))
        assert abs(still_ps - links[f"host {number}"]["paused_ps"]) < 1000 * len(own)


def test_a_run_without_pauses_in_its_events_is_refused():
    run = fy.run({key: value for key, value in INCAST.items() if key != "observe"})
    with pytest.raises(UserError, match="has not observed its pauses"):
        hpcc_pfc.write(run)


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 2 3 4", "five numbers"), ("1 2 2 4 1", 'type is "2"'), ("1 2 0 0 1", 'port is "0"')],
)
def test_other_files_of_pauses_are_refused(text, said):
    with pytest.raises(UserError, match=said):
        hpcc_pfc.read(source(text))


def test_queue_lengths_are_those_of_hpccs_file(tmp_path):
    run = fy.run(INCAST, {"observe": {"samples": {"every": "100ns", "links": ["*"]}}})
    (tmp_path / "run").mkdir()
    run.write(tmp_path / "run")
    path = tmp_path / "qlen.txt"
    assert cli.main(["export", str(tmp_path / "run"), "--to", "hpcc-qlen", "-o", str(path)]) == 0
    (block,) = hpcc_qlen.read(source(path.read_text(encoding="utf-8")))
    # The ports of the switch, node 0, in the order of their cables: the last one is that of the receiver.
    assert list(block.counts) == [(0, port) for port in (1, 2, 3, 4, 5)]
    assert run.samples
    samples = run.samples.to_polars().filter(series="queue_bytes")
    receiver = run.links.to_polars().filter(to="host 5")["id"][0]
    own = samples.filter(id=receiver)["value"]
    counts = block.counts[0, 5]
    assert sum(counts) == len(own)
    assert len(counts) == max(own.to_list()) // 1000 + 1 > 10
    assert counts[0] == (own < 1000).sum()
    assert block.time_ps == samples["time_ps"].max() // 1000 * 1000
    with pytest.raises(UserError, match="has no samples"):
        hpcc_qlen.write(fy.run(INCAST))


def test_completion_times_are_those_of_hpccs_file(tmp_path):
    scenario: dict[str, Any] = copy.deepcopy(INCAST)
    scenario["traffic"].append({**scenario["traffic"][0], "name": "again"})
    run = fy.run(scenario)
    (tmp_path / "run").mkdir()
    run.write(tmp_path / "run")
    path = tmp_path / "fct.txt"
    assert cli.main(["export", str(tmp_path / "run"), "--to", "hpcc-fct", "-o", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    found = hpcc_fct.read(source(text))
    rows = run.flows.to_polars().sort("id").to_dicts()
    # Host 0 is node 1, named "host 1".
    expected = [(row["src"] + 1, row["dst"] + 1, row["size_bytes"], row["start_ps"] // 1000) for row in rows]
    assert sorted((flow.src, flow.dst, flow.size_bytes, flow.start_ps // 1000) for flow in found) == sorted(
        expected
    )
    ends = [flow.end_ps for flow in found]
    assert ends == sorted(ends)
    assert max(ends) == pytest.approx(max(row["start_ps"] + row["fct_acked_ps"] for row in rows), abs=2000)
    # The second flow between two hosts has the next port.
    assert Counter(line.split()[2] for line in text.splitlines()) == {"10000": 4, "10001": 4}
    assert cli.main(["compare", str(tmp_path / "run"), str(path), "--json"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 2 3", 'must begin with "time:"'), ("time: x", 'time is "x"'), ("time: 5\n1 2", "counts")],
)
def test_other_files_of_queue_lengths_are_refused(text, said):
    with pytest.raises(UserError, match=said):
        hpcc_qlen.read(source(text))
