"""Files of HPCC and flow traces of NetSys: the published examples and round trips."""

from typing import Any

import pytest
from hypothesis import given, settings
from interchange_examples import FLOW, TOPOLOGY, entries, flows_of, source

import flowyard as fy
from flowyard import interchange
from flowyard.errors import UserError
from flowyard.interchange import hpcc_flow, hpcc_topology, netsys_trace
from flowyard.interchange.flows import Traffic
from flowyard.interchange.network import Cable
from flowyard.run_data import Run


def test_the_published_flows_on_the_published_topology(tmp_path):
    (tmp_path / "flow.txt").write_text(FLOW)
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    imported = interchange.read([tmp_path / "flow.txt", tmp_path / "topology.txt"])
    assert imported.scenario == {
        "topology": {
            "explicit": {
                "hosts": ["host 1", "host 2", "host 3"],
                "switches": [{"name": "switch 0"}],
                "rate": "100Gbps",
                "delay": "1us",
                "cables": [{"ends": ["switch 0", f"host {i}"]} for i in (1, 2, 3)],
            }
        },
        "transport": {"dcqcn": {}},
        "run": {"measure": {"from": "2s", "until": "end"}},
        "traffic": [
            {
                "name": "normal",
                "arrivals": {"times": {"at": ["2s", "2000001us"], "jitter": "0s"}},
                # Nodes 1, 2 and 3 are the hosts 0, 1 and 2.
                "matrix": {"pairs": [[1, 0], [2, 0]]},
                "sizes": {"list": [200000000, 200000000]},
            }
        ],
    }
    assert imported.complete
    assert imported.facts["total_bytes"] == 400_000_000


def test_results_are_of_the_time_from_the_first_flow_on(tmp_path):
    """300 KB within some 32 us are 75 Gbps, and not the 1.2 Mbps that 2 s of silence would make of them."""
    (tmp_path / "flow.txt").write_text("2\n0 1 3 100 200000 2\n2 3 3 100 100000 2.000001\n")
    network: dict[str, Any] = {"topology": "single-switch", "rate": "100Gbps", "delay": "1us"}
    imported = interchange.read([tmp_path / "flow.txt"], **network)
    run = Run.of(fy.run(imported.scenario))
    assert (run.window_ps[0], run.window_ps[1]) == (2 * 10**12, run.end_ps)
    assert run.end_ps - 2 * 10**12 < 60 * 10**6
    assert run.goodput_bps == pytest.approx(300_000 * 8e12 / (run.end_ps - 2 * 10**12))
    # Starts that follow each other from the beginning on leave nothing out; nor does a run that stops before.
    (tmp_path / "flow.txt").write_text("2\n0 1 3 100 200000 2\n2 3 3 100 100000 4\n")
    assert "run" not in interchange.read([tmp_path / "flow.txt"], **network).scenario


def test_ports_tell_normal_from_incast_flows():
    text = "3\n0 1 3 100 10 2\n2 1 3 200 20 2.5\n3 1 3 444 30 3\n"
    traffic = hpcc_flow.read(source(text))
    assert {entry.name: entry.size_bytes for entry in traffic.entries} == {
        "normal": [10],
        "incast": [20],
        "dport-444": [30],
    }
    many = "20\n" + "".join(f"0 1 3 {port} 10 2\n" for port in range(1000, 1020))
    traffic = hpcc_flow.read(source(many))
    assert [entry.name for entry in traffic.entries] == ["flows"]
    assert any("20 different dports" in note for note in traffic.notes)


def test_each_entry_has_a_port_of_its_own():
    names = ["aa", "dport-300", "dport-100", "normal", "dport-0"]
    text = "\n".join([str(len(names))] + [f"0 1 3 {900 + i} {i + 1} {i}" for i in range(len(names))]) + "\n"
    traffic = hpcc_flow.read(source(text))
    for entry, name in zip(traffic.entries, names, strict=True):
        entry.name = name
    written, _ = hpcc_flow.write(traffic)
    assert [line.split()[3] for line in written.splitlines()[1:]] == ["301", "300", "100", "302", "0"]


def test_error_rates_become_losses_and_come_back():
    network = hpcc_topology.read(source(TOPOLOGY.replace("1000ns 0.000000", "1000ns 1e-05")))
    assert network.faults() == [
        {"at": "0s", "target": {"cable": ["host 3", "switch 0"]}, "change": {"loss": 1e-05}}
    ]
    assert hpcc_topology.read(source(hpcc_topology.write(network))).loss == {(2, 3): 1e-05}


def test_the_first_line_of_simai():
    text = """\
5 2 1 1 4 H100
3 4
0 3 2880Gbps 0.000025ms 0
1 3 2880Gbps 0.000025ms 0
0 4 400Gbps 0.0005ms 0
2 4 400Gbps 0.0005ms 0
"""
    network = hpcc_topology.read(source(text))
    assert network.hosts == ["host 0", "host 1", "host 2"]
    assert network.switches == [("switch 3", "nvswitch"), ("switch 4", "switch")]
    assert network.cables[0] == Cable(0, 3, 2_880_000_000_000, 25_000)


@given(entries("normal"), entries("other"))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_flows_come_back(first, second):
    traffic = Traffic([first, second])
    text, _ = hpcc_flow.write(traffic)
    again = hpcc_flow.read(source(text))
    assert flows_of(Traffic([entry for entry in again.entries if entry.name == "normal"])) == flows_of(
        Traffic([first])
    )
    assert sorted(flows_of(again)) == sorted(flows_of(traffic))
    # Its reader takes the lines in their order.
    times = [float(line.split()[5]) for line in text.splitlines()[1:]]
    assert times == sorted(times)
    text, _ = netsys_trace.write(traffic)
    assert flows_of(netsys_trace.read(source(text))) == flows_of(traffic)


def test_what_follows_the_announced_records_is_not_read():
    prose = "First line: node # switch # link #\n3 1 3 100 9 2.5\n"
    traffic = hpcc_flow.read(source("1\n" + FLOW.partition("\n")[2] + prose))
    assert [entry.size_bytes for entry in traffic.entries] == [[200000000]]
    assert any(
        "the first line says 1 flows: 3 lines after those are not read" in note for note in traffic.notes
    )
    network = hpcc_topology.read(source(TOPOLOGY.replace("4 1 3", "4 1 2") + prose))
    assert len(network.cables) == 2
    assert any("2 links: 3 lines after those are not read" in note for note in network.notes)
    assert hpcc_topology.read(source(TOPOLOGY)).notes == []


@pytest.mark.parametrize(
    ("first", "tiers"),
    [
        ("5 2 3", ["switch", "switch"]),
        ("5 2 1 3", ["leaf", "spine"]),
        ("5 2 1 3 10000000000.0 10000000000.0", ["leaf", "spine"]),
        ("5 2 1 1 3 H100", ["nvswitch", "switch"]),
    ],
)
def test_the_first_lines_of_descendants(first, tiers):
    text = f"{first}\n3\n4\n0 3 10000000000.0 1us 0\n1 3 10000000000.0 1us 0\n2 4 1e10 1us 0\n"
    network = hpcc_topology.read(source(text))
    assert [tier for _, tier in network.switches] == tiers
    assert {cable.rate_bps for cable in network.cables} == {10**10}
    assert "3 rates without a unit are bits per second, as ns-3 reads them" in network.notes


def test_units_of_bare_rates_and_delays_are_named():
    text = TOPOLOGY.replace("100Gbps", "100").replace("0.001ms", "1").replace("1000ns", "1")
    network = hpcc_topology.read(source(text), rate_unit="Gbps", delay_unit="us")
    assert {(cable.rate_bps, cable.delay_ps) for cable in network.cables} == {(10**11, 10**6)}
    with pytest.raises(UserError, match='rate is "100"; has no unit'):
        hpcc_topology.read(source(text), delay_unit="us")
    with pytest.raises(UserError, match='delay is "1"; has no unit'):
        hpcc_topology.read(source(text), rate_unit="Gbps")
    with pytest.raises(UserError, match='--rate-unit is "Gigs"'):
        hpcc_topology.read(source(text), rate_unit="Gigs")
