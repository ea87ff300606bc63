"""The benchmark's harness: what it computes from figures, and that its pieces run. No test looks at a speed."""

import json
from typing import Any

import pytest

import flowyard as fy
import flowyard.bench as bench
from flowyard import _native
from flowyard.bench import (
    cases,
    child,
    control,
    cores,
    machine,
    members,
    memory,
    page,
    paths,
    ports,
    prototypes,
    slotted,
    speed,
    startup,
    threads,
)
from flowyard.bench.checks import Check
from flowyard.cli import main
from flowyard.errors import UserError

FIGURES: dict[str, Any] = {
    "floor_ns": {"k8": 20.0},
    "memory_latency_ns": 90.0,
    "machine": machine.describe(),
    "memory": {
        "k48": {"status": "complete", "peak_memory_bytes": 2 << 30},
        "million_flows": {"status": "complete", "peak_memory_bytes": 1 << 29},
        "bytes_per": {"host": 10, "finished flow": 290},
    },
    "cores": {
        "barrier_us": 0.5,
        "runs": {
            "ndp-permutation-k16": {
                "4": {"speed_up": 3.1, "alone_share": 0.1, "barrier_share": 0.02, "imbalance": 1.1},
            },
        },
    },
    "threads": {
        "run_scaling": 1.9,
        "floor_scaling": 1.95,
        "ratio": 0.974,
        "one_run": {
            "ndp-permutation-k16": {
                "speed_up": 1.7,
                "windows": 1_180,
                "crossing_share": 0.16,
                "imbalance": 1.02,
            }
        },
    },
    "startup_ms": dict.fromkeys(startup.LIMITS_MS, 99.0),
    "slotted": {
        "slot_by_slot_s": 2.6,
        "by_events_s": 0.8,
        "half_slot_by_slot_s": 1.3,
        "flows_present": 100.0,
    },
    "paths": {"ratio": 1.05, "drawing_ms": 60.0, "bytes_per_path": 80.0},
    "ports": {
        "growth": {"pdq": 1.4, "racs": 2.1},
        "bytes_per_port": dict.fromkeys(ports.AGENTS, 400.0),
        "bytes_per_flow": {"rcp": 0.0, "d3": 0.0, "pdq": 0.1, "racs": 65.0},
    },
    "control": {
        "floor_ratio": {"syn": 2.5, "asy": 3.1},
        "parts": {name: {"us_per_decision": 31.0} for name in control.CONTROLLERS},
        "peak_memory_bytes": dict.fromkeys(control.CONTROLLERS, 1 << 30),
        "backlog_ratio": 1.2,
    },
}
ROUND = {
    "cpu_s": 0.2,
    "packet_hops": 5_000_000,
    "events": 6_000_000,
    "full_packets": 500_000,
    "median_goodput": 0.7,
    "peak_memory_bytes": 50 << 20,
}


def some_checks():
    case = cases.CASES[0]
    figures = FIGURES | {"cases": [speed.row(case, [ROUND | {"cpu_s": 0.3}, ROUND], 20.0)]}
    checks = speed.checks([case], figures) + memory.checks(figures["memory"])
    checks += threads.checks(figures["threads"]) + startup.checks(figures["startup_ms"])
    checks += slotted.checks(figures["slotted"]) + paths.checks(figures["paths"])
    return figures, checks + ports.checks(figures["ports"]) + control.checks(figures["control"])


# With deadlines and rates: each on a fat-tree and on the rack of DAQ's paper.
RATES = ("daq", "rcp", "d3", "pdq", "racs")


def test_the_cases_are_the_ones_that_others_rely_on():
    assert {case.name for case in cases.CASES} == {
        *(f"ndp-permutation-k{k}" for k in (8, 16, 32)),
        *(f"tcp-permutation-k{k}" for k in (8, 16)),
        *(f"{transport}-web-search-k8" for transport in ("ndp", "tcp")),
        *(
            f"{transport}-permutation-k8"
            for transport in (
                "datagram",
                "dctcp",
                "d2tcp",
                "mptcp",
                "parallel-tcp",
                "pias",
                "pfabric",
                "homa",
                "phost",
                "expresspass",
                "sird",
                "dcqcn",
                *RATES,
            )
        ),
        *(f"{name}-rack" for name in RATES),
        "uet-permutation-k16",
    }
    assert all(case.path.exists() for case in cases.CASES)


def test_the_cheapest_round_counts():
    row = some_checks()[0]["cases"][0]
    assert row["ns_per_packet_hop"] == 40
    assert row["floor_ratio"] == 2
    assert row["ns_per_full_packet"] == 400
    assert row["events_per_packet_hop"] == 1.2
    assert row["within_limit"]


def test_packets_under_asy_have_a_guard():
    (asy, over) = (
        next(check for check in control.checks(figures) if check.what.startswith("ASY, 120"))
        for figures in (FIGURES["control"], FIGURES["control"] | {"floor_ratio": {"syn": 2.5, "asy": 4.1}})
    )
    assert (asy.met, asy.kept, over.kept) == (False, True, False)


def test_limits_hold_from_their_side():
    met = {check.what: check.met for check in some_checks()[1]}
    assert met["ndp-permutation-k8"]
    assert not met["ndp-permutation-k8, median goodput"]
    assert not met["k = 48, one 200 KB flow per host, peak memory"]
    assert met["a million short flows on k = 8, peak memory"]
    assert met["two runs on two threads, of what two floor processes get"]
    assert met["TCP permutation, k = 16, paths by nix, per packet-hop"]
    assert not met["drawing the paths of this permutation, both ways"]
    assert met["pdq, 10,000 flows at a port, per packet-hop"]
    assert not met["racs, 10,000 flows at a port, per packet-hop"]
    assert not met["racs, a flow at a port"]
    assert met["SYN, 120 servers, load 0.8, per packet-hop without the controller"]
    assert not met["ASY, 120 servers, load 0.8, per packet-hop without the controller"]
    assert not met["SYN, a slot's control"]
    assert met["ASY, an update of rates"]
    assert met["SYN, 4,096 servers, a million flows"]
    assert not met["a backlog of 1,000 packets per flow"]


def test_growth_is_checked_when_both_ends_are_measured():
    small, large = (case for case in cases.CASES if case.name in cases.GROWTH)
    rows = [speed.row(small, [ROUND], 20.0), speed.row(large, [ROUND | {"cpu_s": 0.8}], 20.0)]
    growth = speed.checks([small, large], {"cases": rows})[-1]
    assert (growth.target, growth.measured, growth.met) == (5, 4.0, False)


def test_a_run_in_a_process_of_its_own(small):
    figures = child.run(small, {"traffic.few.sizes.fixed": "1436B"})
    assert figures["status"] == "complete"
    assert figures["full_packets"] == 4
    assert 0 < figures["median_goodput"] < 1
    assert figures["peak_memory_bytes"] is None or figures["peak_memory_bytes"] > 1 << 20


@pytest.mark.parametrize(
    ("transport", "payload"),
    [
        ("homa", 1440),
        ("phost", 1460),
        ("expresspass", 1460),
        ("sird", 1458),
        ("uet", 4086),
        ("dcqcn", 1000),
        ("roce", 1000),
        ("ndp", 1436),
        ("tcp", 1460),
        ("mptcp", 1460),
        ("rcp", 1460),
    ],
)
def test_the_payload_of_a_full_packet(transport, payload):
    """By the transports' pages: Homa's 1500 B have headers of 28 B and 32 B, NDP's one of 64 B."""
    queues = {
        "dcqcn": "lossless",
        "roce": "lossless",
        "ndp": "ndp",
        "uet": "trimming",
        "expresspass": "credit",
    }
    queues |= dict.fromkeys(("homa", "phost", "sird"), "strict-priority")
    flows = {"name": "a", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "10KB"}}
    document = {"topology": "single-switch", "transport": transport, "traffic": [flows]}
    run = fy.run(document | {"queue": queues.get(transport, "drop-tail")})
    assert child.payload(run.summary["scenario"]) == payload


def test_each_pair_of_members_runs():
    for pair in members.PAIRS:
        other, own = pair.documents()
        assert other != own
        for document in (other, own):
            fy.check(document)
    one = members.PAIRS[0].documents()[1]
    assert members.cost({**one, "topology": {"fat-tree": {"k": 4}}}) > 0
    ratios = {pair.name: pair.limit for pair in members.PAIRS}
    assert all(check.met for check in members.checks(ratios))
    assert not members.checks(dict.fromkeys(ratios, 10.0))[0].met


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="topology"):
        child.run({})


@pytest.mark.parametrize("transport", ["ndp", "tcp"])
def test_scenarios_of_the_memory_figures_run(transport):
    for live in (True, False):
        figures = child.run(memory.few_or_all(256, transport, live=live))
        assert figures["status"] == "complete"
    assert child.run(memory.cable("49.9ms"))["status"] == "limit"


def test_the_table_of_paths_is_filled():
    table_bytes, found = _native.path_bytes(4, 100)
    assert 100 < found <= 200
    # A path of six links has seven words of four bytes.
    assert table_bytes > 20 * found


def test_a_rehearsal_in_parts_times_the_same_run():
    """Its slowest lanes take at least an equal share of all and no more than all; results are those of one part."""
    scenario = {
        "topology": {"fat-tree": {"k": 8, "rate": "100Gbps", "delay": "1us"}},
        "transport": {"ndp": {}},
        "queue": {"ndp": {}},
        "traffic": [
            {"name": "all", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "50KB"}}
        ],
    }
    whole, parts = (_native.rehearse(json.dumps(scenario), count) for count in (1, 4))
    assert parts["digest"] == whole["digest"] == fy.run(scenario).summary["digest"]
    assert whole["windows"] == 0
    assert parts["windows"] > 10
    assert parts["lanes_s"] / 4 <= parts["slowest_s"] <= parts["lanes_s"] <= parts["run_s"]


def test_the_estimate_adds_one_threads_work_the_slowest_parts_and_barriers():
    times = {"run_s": 10.0, "lanes_s": 8.0, "slowest_s": 3.0, "windows": 1000}
    found = cores.estimate(9.0, times, 0.001, 4)
    # Alone 10 - 8, slowest 3, barriers 1000 x 1 ms x 3 further threads.
    assert found == {"speed_up": 1.12, "alone_share": 0.25, "barrier_share": 0.375, "imbalance": 1.5}


@pytest.mark.parametrize("name", ports.AGENTS)
def test_agents_take_as_much_as_they_keep(name):
    empty, found = _native.agent_bytes(json.dumps(ports.burst(name, 200, "1ps")))
    full, _ = _native.agent_bytes(json.dumps(ports.burst(name, 200, "1ms")))
    assert found == 202
    assert 0 < empty / found <= ports.PORT_LIMIT
    # RACS keeps every flow at each of its two ports, 24 bytes each.
    assert full - empty >= (2 * 200 * 24 if name == "racs" else 0)


def test_scenarios_of_many_flows_at_a_port_run():
    for name in ports.TIMED:
        for flows in (ports.MANY, ports.FEW):
            file = cases.SCENARIOS / "bench" / f"{name}-port-{flows}.toml"
            assert child.run(file, {"run.until": "1ms"})["status"] == "limit"


def test_the_page_keeps_what_is_written_by_hand(tmp_path):
    path = tmp_path / "benchmarks.md"
    path.write_text(f"by hand\n\n{page.BEGIN}\nold\n{page.END}\n\nmore\n")
    for _ in range(2):
        page.write(path, *some_checks())
    text = path.read_text()
    assert text.startswith("by hand\n\n")
    assert text.endswith("\n\nmore\n")
    assert "old" not in text
    assert "| ndp-permutation-k8 | at most 2 x floor | 1.6 x floor | 2 x floor | met |" in text
    assert "at most 1.5 GiB |  | 2 GiB | MISSED |" in text


def test_a_page_without_a_place_for_the_tables_is_left_alone(tmp_path):
    path = tmp_path / "other.md"
    path.write_text("by hand")
    with pytest.raises(UserError, match="has no lines"):
        page.write(path, *some_checks())
    assert path.read_text() == "by hand"


def test_json_and_exit_code(monkeypatch, capsys):
    figures, checks = some_checks()
    monkeypatch.setattr(bench, "measure", lambda *_: (figures, checks))
    assert main(["bench", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["cases"][0]["name"] == "ndp-permutation-k8"
    monkeypatch.setattr(bench, "measure", lambda *_: (figures, [Check(1, "a", "", 1.0, 2.0)]))
    assert main(["bench"]) == 0
    assert "MISSED" in capsys.readouterr().out


def test_mistakes_on_the_command_line(flowyard):
    done = flowyard("bench", "ndp-permutation-k9")
    assert done.returncode == 2
    assert "there is no ndp-permutation-k9; there are ndp-permutation-k8" in done.stderr
    assert "--write: a file has all" in flowyard("bench", "threads", "--write", "x.md").stderr


def test_the_parts_of_central_control():
    # Half of the wall time was somebody else's: a third of 0.3 s is the controller's.
    times = {"cpu_s": 0.3, "wall_s": 0.6, "control": {"wall_s": 0.2, "acts": 10_000}}
    parts = control.parts(times | {"packet_hops": 1_000_000})
    assert parts == {"ns_per_packet_hop": pytest.approx(200), "us_per_decision": pytest.approx(10)}


@pytest.mark.parametrize("name", control.CONTROLLERS)
def test_scenarios_of_central_control_run(name):
    rack = control.burst(2, 2, 1, 4, "1500KB", {name: control.CONTROLLERS[name]})
    figures = child.run(rack)
    assert figures["status"] == "limit"
    assert figures["control"]["acts"] > 0
    assert figures["control"]["wall_s"] > 0
    assert figures["full_packets"] < 100
    with pytest.raises(RuntimeError, match="status limit"):
        control.run(rack, "complete")


def test_members_in_python_run():
    # A congestion control, a queue and a balancer are in test_prototypes.py.
    assert prototypes.once("fixed_window") > 0
    (check,) = prototypes.checks({"Slow": 199_999})
    assert not check.met
