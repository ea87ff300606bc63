"""Files that belong together, and scenarios that are exported."""

import json
from pathlib import Path

import pytest
from interchange_examples import EXAMPLES, FOUR

from flowyard import cli, interchange
from flowyard.errors import UserError
from flowyard.interchange import exporting, importing
from flowyard.interchange.flows import Triggers
from flowyard.interchange.network import Cable, Network


@pytest.fixture
def files(tmp_path):
    names = {
        "htsim-cm": "a.cm",
        "htsim-topo": "a.topo",
        "hpcc-flow": "flow.txt",
        "hpcc-topology": "topology.txt",
    }
    for kind, name in names.items():
        (tmp_path / name).write_text(EXAMPLES[kind])
    (tmp_path / "four.topo").write_text(FOUR)
    return tmp_path


def test_a_tree_and_its_connections(files):
    imported = interchange.read([files / "four.topo", files / "a.cm"], start_unit="ps", transport="tcp")
    assert set(imported.scenario) == {"topology", "transport", "traffic"}
    assert imported.scenario["transport"] == {"tcp": {}}
    assert imported.formats == {str(files / "four.topo"): "htsim-topo", str(files / "a.cm"): "htsim-cm"}
    assert imported.facts | {"flows": 3, "hosts": 16, "cables": 48} == imported.facts


def test_a_topology_alone_has_no_traffic(files):
    imported = interchange.read([files / "a.topo"])
    assert not imported.complete
    assert "traffic" not in imported.scenario


def test_a_run_of_endless_flows_ends(files):
    (files / "a.cm").write_text("Nodes 16\nConnections 1\n0->1 start 0 size 0\n")
    imported = interchange.read([files / "a.cm"], topology="fat-tree")
    assert imported.scenario["run"] == {"until": "1ms"}
    assert any("1ms, as htsim" in note for note in imported.notes)


def test_the_network_of_another_scenario(files, small):
    imported = interchange.read([files / "flow.txt"], topology=str(small))
    assert imported.scenario["topology"] == {"single-switch": {"hosts": 4}}
    named = interchange.read([files / "flow.txt"], topology="web-search-ndp")
    assert named.scenario["topology"]["fat-tree"]["k"] == 8


def test_a_named_network_has_the_hosts_of_the_file(files):
    imported = interchange.read([files / "flow.txt"], topology="single-switch", rate="100Gbps", delay="500ns")
    fields = {"hosts": 4, "rate": "100Gbps", "delay": "500ns"}
    assert imported.scenario["topology"] == {"single-switch": fields}
    assert any("4 hosts, because" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["flow.txt"], {}, "has flows, but no network: name its topology file too, or say --topology"),
        (["a.cm"], {"start_unit": "ps"}, "has flows, but no network for 16 hosts"),
        (["a.cm", "a.topo"], {"start_unit": "ps"}, "a.cm: says Nodes 16, but the topology has 32 hosts"),
        (["a.topo", "topology.txt"], {}, "a scenario has one topology"),
        (["a.cm", "flow.txt"], {}, "a scenario has one file of flows"),
        (["topology.txt"], {"topology": "fat-tree"}, "the network is already in"),
        (["flow.txt"], {"topology": "fat-tree"}, r"no fat-tree has 4 hosts \(k\^3/4\); the nearest have 2 or 16"),
        (["flow.txt"], {"topology": "single-switch", "rate": "fast"}, "--rate is \"fast\"; must be a number with"),
        (["nowhere"], {}, "nowhere: no such file"),
        (["flow.txt"], {"formats": ["excel"]}, '"excel" is not a format; formats are htsim-topo'),
        (["flow.txt"], {"formats": ["hpcc-flow", "cdf"]}, "2 formats for 1 files"),
        (["flow.txt"], {"formats": ["htsim-cm"]}, 'line 1: "2" does not begin a line of a .cm file'),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_together(files, names, options, message):
    with pytest.raises(UserError, match=message):
        interchange.read([files / name for name in names], **options)


def test_a_flow_of_a_node_that_is_no_host(files):
    (files / "flow.txt").write_text("1\n0 1 3 100 10 2\n")
    with pytest.raises(UserError, match=r"flow.txt, line 2: src is 0, which is not a host of the topology"):
        interchange.read([files / "flow.txt", files / "topology.txt"])


def test_files_that_are_not_text(files):
    (files / "flow.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8 text"):
        interchange.read([files / "flow.txt"])
    with pytest.raises(UserError, match="is a folder"):
        importing.load(files)


def test_drawn_flows_with_triggers_find_their_places():
    described = {
        "starts": ["5us", {"trigger": 4}, "0s", "5us"],
        "fires": [
            {"flow": 0, "event": "acked", "trigger": 4},
            {"flow": 2, "event": "received", "trigger": 4},
        ],
        "list": [{"id": 4, "kind": {"barrier": 2}}],
    }
    resolved = {"traffic": [{"name": "flows", "sizes": {"list": []}, "arrivals": {"triggers": described}}]}
    # As the engine draws them: by start, those that wait last.
    columns: dict[str, list[object]] = {
        "tag": ["flows"] * 4,
        "src": [2, 0, 3, 1],
        "dst": [9] * 4,
        "size_bytes": [1] * 4,
        "start_ps": [0, 5_000_000, 5_000_000, None],
        "deadline_ps": [None, None, 7, None],
    }
    traffic, notes = exporting._traffic(resolved, columns)
    (entry,) = traffic.entries
    assert entry.src == [2, 0, 3, 1]
    assert entry.triggers == Triggers({4: {"barrier": 2}}, {3: 4}, [(0, "received", 4), (1, "acked", 4)])
    assert notes == ["1 deadlines are not written: the format has none"]
    resolved["traffic"][0]["arrivals"] = {"blocks": {}}
    with pytest.raises(
        UserError, match=r"traffic entry flows: arrivals\.blocks makes flows start during the run"
    ):
        exporting._traffic(resolved, columns)


def test_a_fabric_is_read_by_its_cables():
    nodes = [("h0", "host"), ("h1", "host"), ("s", "leaf")]
    fabric = {
        "nodes": [{"name": name, "tier": tier, "host": tier == "host"} for name, tier in nodes],
        "links": [[0, 2, 10**9, 5], [2, 0, 10**9, 5], [1, 2, 10**9, 5], [2, 1, 10**9, 5]],
    }
    network = Network.of_fabric(json.loads(json.dumps(fabric)))
    assert (network.hosts, network.switches) == (["h0", "h1"], [("s", "leaf")])
    assert network.cables == [Cable(0, 2, 10**9, 5), Cable(1, 2, 10**9, 5)]


def test_an_unknown_format_is_refused(small):
    with pytest.raises(UserError, match='"ns2" is not a format; formats are htsim-cm'):
        interchange.export(small, "ns2")


FILES_OF_TOOLS = {
    "flows.csv": ("src,dst,size,start_us\n0,1,15000,0\n", "flows", "flow-table"),
    "links.csv": ("a,b,rate,delay\nh0,s,10Gbps,1us\n", "network", "cable-table"),
    "flow.txt": ("1\n0 1 3 100 15000 2.0\n", "flows", "hpcc-flow"),
    "two.cm": ("Nodes 2\nConnections 1\n0->1 id 1 start 0 size 15000\n", "flows", "htsim-cm"),
    "tree.topo": ("Nodes 16\nTiers 2\nPodsize 4\n", "network", "htsim-topo"),
    "graph.graphml": ("<?xml version='1.0'?>\n<graphml\nxmlns='x'></graphml>\n", "network", "graphml"),
}


@pytest.mark.parametrize("verb", ["run", "check"])
@pytest.mark.parametrize("name", FILES_OF_TOOLS)
def test_a_file_of_another_tool_is_to_be_imported(name, verb, tmp_path, monkeypatch, capsys):
    text, kind, form = FILES_OF_TOOLS[name]
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    assert cli.main([verb, name]) == 2
    assert capsys.readouterr().err == (
        f"error: {name} is no scenario, but has {kind} as another tool writes them ({form}): flowyard import {name}\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "name 3\ntransport = 'ndp'\n",
        "[topology\n",
        "tiers 3\n[topology.three-tier]\n",
        "[[traffic]]\nname = 'a -> b'\nsizes.fixed = 1KB\n",
        "just words\n",
    ],
)
def test_a_mistake_in_toml_keeps_its_message(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text)
    assert cli.main(["run", "mine.toml"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: mine.toml cannot be run:\n  line ")
    assert "import" not in said
