"""Files of htsim: the published examples, the wiring, round trips."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interchange_examples import BUNDLED, CM, FOUR, TOPO, edges, entries, flows_of, k_ary, source, structure

import flowyard as fy
from flowyard import cli, interchange
from flowyard.errors import UserError
from flowyard.interchange import htsim_cm, htsim_topo
from flowyard.interchange.flows import Entry, Traffic, Triggers
from flowyard.interchange.network import Cable, Network


def test_the_published_connection_matrix():
    matrix = htsim_cm.read(source(CM), start_unit="ps")
    (entry,) = matrix.entries
    assert matrix.hosts == 16
    assert entry.traffic() == {
        "name": "flows",
        "arrivals": {
            "triggers": {
                "starts": ["0s", "1us", {"trigger": 1}],
                "fires": [{"flow": 0, "event": "acked", "trigger": 1}],
                "list": [{"id": 1, "kind": "once"}],
                "notify": "1ps",
            }
        },
        "matrix": {"pairs": [[0, 13], [4, 13], [13, 0]]},
        "sizes": {"list": [2000000, 150000, 64000]},
    }
    assert any("prio" in note for note in matrix.notes)


def test_starts_of_a_connection_matrix_have_the_unit_that_is_named():
    text = "Nodes 2\nConnections 1\n0->1 start 2.5 size 1\n"
    assert htsim_cm.read(source(text), start_unit="us").entries[0].start_ps == [2_500_000]
    # What it has of a picosecond is cut, as the conversion to htsim's whole numbers does.
    assert htsim_cm.read(source(text), start_unit="ps").entries[0].start_ps == [2]
    with pytest.raises(UserError, match=r"file, line 3: start is 2\.5.*--start-unit ps .* --start-unit us"):
        htsim_cm.read(source(text))
    # Zero is zero in every unit.
    assert htsim_cm.read(source(text.replace("2.5", "0"))).entries[0].start_ps == [0]


def test_flows_without_end_become_background():
    text = "Nodes 4\nConnections 3\n0->1 start 0 size 0\n1->2 start 0 size 9\n2->3 start 0\n"
    finite, endless = htsim_cm.read(source(text)).entries
    assert (finite.src, finite.size_bytes) == ([1], [9])
    assert endless.src == [0, 2]
    described = endless.traffic()
    assert (described["background"], described["sizes"]) == (True, "endless")


def test_kinds_of_triggers():
    text = """\
Nodes 8
Connections 4
Triggers 3
0->1 id 1 start 0 size 1 send_done_trigger 1 recv_done_trigger 2
1->2 id 2 trigger 1 size 1 recv_done_trigger 3
2->3 id 3 trigger 2 size 1
3->4 id 4 trigger 3 size 1
trigger id 1 oneshot
trigger id 2 multishot
trigger id 3 barrier count 1
"""
    triggers = htsim_cm.read(source(text)).entries[0].triggers
    assert triggers == Triggers(
        {1: "once", 2: "each", 3: {"barrier": 1}},
        {1: 1, 2: 2, 3: 3},
        [(0, "acked", 1), (0, "received", 2), (1, "received", 3)],
    )


def test_failures_are_cables_up_of_aggregation_switches():
    text = "Nodes 16\nConnections 1\nFailures 1\n0->1 start 0 size 1\nfailure switch_type AGG switch_id 3 link_id 1\n"
    network = htsim_topo.read(source(FOUR))
    matrix = htsim_cm.read(source(text))
    (event,) = htsim_cm.failed(matrix, network, source(text))
    # Switch 3 stands at place 1 of pod 1; its links go to the core switches 1 and 3.
    assert event == {"at": "0s", "target": {"cable": ["pod 1 aggregation 1", "core 3"]}, "change": "down"}


@given(entries(), st.data())
@settings(derandomize=True, max_examples=60, deadline=None)
def test_connection_matrices_come_back(entry, data):
    # The first flow fires what the others may wait for.
    kind = data.draw(st.sampled_from(["once", "each", {"barrier": 2}]))
    if len(entry) > 1 and data.draw(st.booleans()):
        entry.triggers = Triggers({7: kind}, {len(entry) - 1: 7}, [(0, "acked", 7), (0, "received", 7)])
    traffic = Traffic([entry])
    text, _ = htsim_cm.write(traffic, 16)
    again = htsim_cm.read(source(text), start_unit="ps")
    assert again.hosts == 16
    triggers = again.entries[0].triggers
    assert list(triggers.kinds.values()) == list(entry.triggers.kinds.values())
    assert [(flow, event) for flow, event, _ in triggers.fires] == [
        (flow, event) for flow, event, _ in entry.triggers.fires
    ]
    ours = [(*row[:4], row[4] is not None) for row in flows_of(traffic)]
    assert [(*row[:4], row[4] is not None) for row in flows_of(again)] == ours


def test_what_htsim_cannot_hold_is_refused_or_told():
    with pytest.raises(UserError, match="traffic entry big has a flow of 2147483648 bytes"):
        htsim_cm.write(Traffic([Entry("big", [0], [1], [2**31], [0])]), 2)
    _, notes = htsim_cm.write(Traffic([Entry("late", [0, 0], [1, 1], [1, 1], [2**24, 2**24 + 1])]), 2)
    assert any("1 of 2 will be off" in note for note in notes)


def test_the_published_leaf_spine():
    network = htsim_topo.read(source(TOPO))
    assert len(network.hosts) == 32
    assert [tier for _, tier in network.switches] == ["edge"] * 4 + ["aggregation"] * 2
    wired = [(host, 32 + host // 8) for host in range(32)] + [
        (32 + leaf, 36 + spine) for leaf in range(4) for spine in range(2)
    ]
    assert structure(network) == sorted((a, b, 100 * 10**9, 10**6) for a, b in wired)


def test_names_of_forks_are_skipped_with_a_note():
    plain = htsim_topo.read(source(TOPO))
    forked = TOPO.replace("Tier 0\n", "Tier 0\nQueue_Down 100\nQueue_Up 80\n").replace(
        "Tier 1\n", "Tier 1\nQueue_Down 90\n"
    )
    network = htsim_topo.read(source(forked))
    assert (network.hosts, network.switches, network.cables) == (plain.hosts, plain.switches, plain.cables)
    line = forked.splitlines().index("Queue_Down 100") + 1
    (note,) = [note for note in network.notes if note not in plain.notes]
    assert note.startswith(f"not read: Queue_Down (line {line}), Queue_Up (line {line + 1});")


def test_a_fat_tree_is_wired_by_its_definition():
    assert structure(htsim_topo.read(source(FOUR))) == structure(k_ary(4))


def test_bundles_are_parallel_cables():
    network = htsim_topo.read(source(BUNDLED))
    hosts, tiers = 432, [tier for _, tier in network.switches]
    assert (tiers.count("edge"), tiers.count("aggregation"), tiers.count("core")) == (72, 72, 12)
    ports = network.ports()
    # Every switch has all ports of its radices in use.
    degrees = {tier: {len(ports[hosts + i]) for i, t in enumerate(tiers) if t == tier} for tier in set(tiers)}
    assert degrees == {"edge": {12}, "aggregation": {12}, "core": {36}}
    cores = [cable for cable in network.cables if cable.b >= hosts + 144]
    assert {cables.count(cable) for cables in (cores,) for cable in cores} == {3}
    assert {cable.delay_ps for cable in cores} == {600 * 10**6}
    # In a scenario, parallel cables are counted.
    counts = {cable.get("count", 1) for cable in network.topology()["explicit"]["cables"]}
    assert counts == {1, 3}


def test_switch_latency_is_shared_by_the_cables_of_a_path():
    slow = FOUR.replace("Downlink_Latency_ns 1000", "Downlink_Latency_ns 1000\nSwitch_Latency_ns 501")
    network = htsim_topo.read(source(slow))
    delays = {cable[:2]: cable.delay_ps for cable in network.cables}
    edge, aggregation = 16, 24
    # Host 0 to host 2, over edge, aggregation, edge: four cables and three switches.
    path = [(0, edge), (edge, aggregation), (edge + 1, aggregation), (2, edge + 1)]
    assert sum(delays[hop] for hop in path) == 4 * 1_000_000 + 3 * 501_000
    assert any("Switch_Latency_ns" in note for note in network.notes)


@pytest.mark.parametrize("text", [TOPO, BUNDLED, FOUR], ids=["two-tier", "bundled", "fat-tree"])
def test_trees_come_back(text):
    network = htsim_topo.read(source(text))
    again = htsim_topo.read(source(htsim_topo.write(network)))
    assert edges(again) == edges(network)


def test_trees_with_other_numbers_come_back():
    # The same tree with its upper switches in another order.
    tree = k_ary(4)
    last = len(tree.names) - 1
    moved = [0, *range(1, 24), *range(last, 23, -1)]
    cables = [Cable(moved[a], moved[b], rate, delay) for a, b, rate, delay in tree.cables]
    turned = Network(tree.hosts, [("", "switch")] * 20, cables[::-1])
    assert structure(htsim_topo.read(source(htsim_topo.write(turned)))) == structure(tree)


def test_other_networks_are_refused_by_what_they_are():
    line = Network(["a", "b"], [("s", "switch")], [Cable(0, 2, 10**9, 1000), Cable(1, 2, 10**9, 1000)])
    pair = Network(["a", "b"], [], [Cable(0, 1, 10**9, 1000)])
    tree = k_ary(4)
    slow = Network(
        tree.hosts, tree.switches, [cable._replace(rate_bps=2_500_000_000) for cable in tree.cables]
    )
    uneven = Network(tree.hosts, tree.switches, [*tree.cables[1:], tree.cables[0]._replace(delay_ps=5000)])
    # Two cables between edge and aggregation switches change places, across pods.
    crossed = list(tree.cables)
    crossed[16] = crossed[16]._replace(b=crossed[-17].b)
    for network, why in [
        (line, "it has 1 tier of switches"),
        (pair, "a host has several cables, or one to another host"),
        (slow, "have 2500Mbps and 1us, not whole Gbps"),
        (uneven, "the edge switches, or the cables below them, differ"),
        (Network(tree.hosts, tree.switches, crossed), "pods"),
    ]:
        with pytest.raises(UserError, match=f"htsim .topo cannot hold this network: .*{why}"):
            htsim_topo.write(network)


# Of a packet of 9000 B and a header of 64 B, and of an answer, at 100 Gbps over six cables of 1 us, in picoseconds.
PACKET, ANSWER, CABLE = 725_120, 5_120, 1_000_000
ROUND_TRIP = 6 * (PACKET + CABLE) + 6 * (ANSWER + CABLE)


def alone(packets, window=15):
    """When a flow between two pods of an idle tree ends in htsim: by windows, whose pulls leave at 0.99 of the rate."""
    rounds, rest = divmod(packets - 1, window)
    pulls = round(PACKET / 0.99)
    assert window * pulls < ROUND_TRIP, "the window is less than the pipe"
    return 6 * (PACKET + CABLE) + rounds * ROUND_TRIP + rest * pulls


def imported(tmp_path, pairs, size=2_000_000, **options):
    lines = [f"Nodes 16\nConnections {len(pairs)}", *(f"{a}->{b} start 0 size {size}" for a, b in pairs)]
    (tmp_path / "matrix.cm").write_text("\n".join(lines) + "\n")
    return interchange.read(
        [tmp_path / "matrix.cm"], topology="fat-tree", rate="100Gbps", delay="1us", **options
    )


def test_what_is_imported_is_as_fast_as_in_htsim(tmp_path):
    # 2 MB are 223 packets, the last of them at full size.
    assert results(imported(tmp_path, [(0, 15)])) == [alone(223)]
    assert results(imported(tmp_path, [(0, 15)], cwnd=10)) == [alone(223, window=10)]
    # A permutation that crosses the core everywhere: no flow is faster, and half of them are not much slower. With the
    # simulator's own defaults, 30 packets of 1500 B on the way, a flow alone takes three times as long.
    flows = sorted(results(imported(tmp_path, [(n, (n + 4) % 16) for n in range(16)])))
    assert flows[0] >= alone(223)
    assert flows[8] < 1.5 * alone(223)


def results(found):
    run = fy.run(found.scenario, {"run.audit": True})
    assert (run.status, run.violations) == ("complete", [])
    return pl.DataFrame(run.flows)["fct_ps"].to_list()


def test_what_htsim_does_and_its_files_do_not_say_is_written_with_a_remark_each(tmp_path):
    found = imported(tmp_path, [(0, 15)])
    ndp, port = found.scenario["transport"]["ndp"], found.scenario["queue"]["ndp"]
    assert (ndp["mtu"], ndp["initial_window"], ndp["pull_rate"]) == ("9000B", 15, 0.99)
    # 15 x 9000 B, of which 14 packets of 9064 B fit; the scenario is checked with all of it.
    assert (port["data_limit"], port["header_limit"]) == ({"bytes": "135000B"}, {"bytes": "270000B"})
    assert fy.check(found.scenario)["routing"]["balancer"] == {"permuted": {}}
    for flag in ("-mtu", "-cwnd", "-q", "-strat perm"):
        assert sum(flag in note and "not in the file" in note for note in found.notes) == 1, flag
    assert any("14 packets with headers fit" in note for note in found.notes)


def test_htsims_command_line_can_be_given(tmp_path):
    found = imported(tmp_path, [(0, 15)], mtu=4000, cwnd=50, queue=8)
    ndp, port = found.scenario["transport"]["ndp"], found.scenario["queue"]["ndp"]
    assert (ndp["mtu"], ndp["initial_window"], port["data_limit"]) == ("4000B", 50, {"bytes": "32000B"})
    assert not any("-mtu is not" in note or "-cwnd is not" in note for note in found.notes)
    with pytest.raises(UserError, match="--cwnd is of htsim's NDP"):
        imported(tmp_path, [(0, 15)], cwnd=50, transport="tcp")
    notes = imported(tmp_path, [(0, 15)], transport="tcp").notes
    assert any("tcp and its ports have their defaults" in note for note in notes)


@pytest.mark.parametrize(
    ("flows", "triggers", "said"),
    [
        # Each waits for the other.
        ("1->2 id 2 trigger 1 size 9 send_done_trigger 2\n2->3 id 3 trigger 2 size 9 send_done_trigger 1\n",
         "trigger id 1 oneshot\ntrigger id 2 oneshot\n", "line 5: waits for trigger 1, .* wait for each other"),
        # Fired once, for two.
        ("1->2 id 2 trigger 1 size 9\n2->3 id 3 trigger 1 size 9\n", "trigger id 1 multishot\ntrigger id 2 oneshot\n",
         "line 6: waits for trigger 1, .* fire it 1 times, each time for one flow"),
        # The second firing would come from a flow that waits for it.
        ("1->2 id 2 trigger 1 size 9 send_done_trigger 1\n2->3 id 3 start 0 size 9\n",
         "trigger id 1 barrier count 2\ntrigger id 2 oneshot\n", "line 5: waits for trigger 1, .* needs 2"),
    ],
)  # fmt: skip
def test_triggers_that_cannot_fire_are_refused(flows, triggers, said):
    text = "Nodes 4\nConnections 3\nTriggers 2\n0->1 id 1 start 0 size 9 send_done_trigger {}\n{}{}"
    first = 1 if "cycle" not in said and "each other" not in said else 2
    if first == 2:
        # What starts by itself fires neither.
        text = text.replace(" send_done_trigger {}", "{}", 1)
    with pytest.raises(UserError, match=said):
        htsim_cm.read(source(text.format("" if first == 2 else first, flows, triggers)))


def test_triggers_that_fire_in_turn_are_read():
    text = "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 0 size 9 send_done_trigger 1\n"
    chain = (
        "1->2 id 2 trigger 1 size 9 send_done_trigger 1\n2->3 id 3 trigger 1 size 9\ntrigger id 1 multishot\n"
    )
    assert htsim_cm.read(source(text + chain)).flows == 3


def test_a_unit_that_no_cm_file_has_is_refused():
    with pytest.raises(UserError, match=r'--start-unit is "ns"; starts of a .cm file are in ps or us'):
        htsim_cm.read(source(CM), start_unit="ns")


def test_check_advises_on_triggers_that_cannot_fire(tmp_path, capsys):
    fires = [{"flow": 0, "event": "acked", "trigger": 1}]
    triggers = {
        "starts": ["0s", {"trigger": 1}, {"trigger": 1}],
        "fires": fires,
        "list": [{"id": 1, "kind": "each"}],
    }
    entry = {
        "name": "flows",
        "arrivals": {"triggers": triggers},
        "matrix": {"pairs": [[0, 1], [1, 2], [2, 3]]},
        "sizes": {"list": [9, 9, 9]},
    }
    scenario = {"topology": {"single-switch": {"hosts": 4}}, "transport": "ndp", "traffic": [entry]}
    (tmp_path / "s.json").write_text(json.dumps(scenario))
    assert cli.main(["check", str(tmp_path / "s.json")]) == 0
    said = capsys.readouterr().out
    assert (
        "advice: traffic.flows.arrivals.triggers.starts.2: waits for trigger 1, which never starts it" in said
    )
    fires.append({"flow": 1, "event": "acked", "trigger": 1})
    (tmp_path / "s.json").write_text(json.dumps(scenario))
    assert cli.main(["check", str(tmp_path / "s.json")]) == 0
    assert "waits for trigger" not in capsys.readouterr().out
