"""Imported scenarios run; what is exported is what the engine builds and draws; the two verbs."""

import json

import polars as pl
import pytest
from interchange_examples import CM, EXAMPLES, FOUR, TRACE, edges, flows_of, source, structure

import flowyard as fy
from flowyard import _native, interchange
from flowyard._native import Checked
from flowyard.errors import UserError
from flowyard.interchange import (
    exporting,
    graphs,
    hpcc_flow,
    hpcc_topology,
    htsim_cm,
    htsim_topo,
    netsys_trace,
)

SCENARIO = """\
[topology.fat-tree]
k = 4
rate = "40Gbps"
delay = "700ns"

[transport.ndp]

[[traffic]]
name = "normal"
arrivals.poisson = { load = 0.5 }
matrix = "uniform"
sizes.uniform = { min = "1KB", max = "9KB" }
flows = 40

[[traffic]]
name = "incast"
arrivals = "at-once"
matrix.incast = { senders = 3 }
sizes.fixed = "20KB"
"""


@pytest.fixture
def files(tmp_path):
    for kind, text in EXAMPLES.items():
        (tmp_path / kind).write_text(text)
    (tmp_path / "four.topo").write_text(FOUR)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    return tmp_path


def test_connections_with_triggers_run(files):
    scenario = interchange.read([files / "four.topo", files / "htsim-cm"], start_unit="ps").scenario
    result = fy.run(scenario, {"run.audit": True})
    assert (result.status, result.violations) == ("complete", [])
    flows = pl.DataFrame(result.flows).sort("size_bytes")
    assert flows["size_bytes"].to_list() == [64000, 150000, 2000000]
    reply, _, first = flows.iter_rows(named=True)
    # The reply waits until the sender of the first flow knows it to be there.
    assert reply["start_ps"] > first["start_ps"] + first["fct_ps"]


@pytest.mark.parametrize("names", [["hpcc-topology", "hpcc-flow"], ["four.topo", "netsys-trace"]])
def test_published_flows_run(files, names):
    scenario = interchange.read([files / name for name in names]).scenario
    result = fy.run(scenario, {"run.audit": True})
    assert (result.status, result.violations) == ("complete", [])
    assert result.summary["counters"]["flows"] == 2


def test_an_error_rate_loses_packets(files):
    lossy = EXAMPLES["hpcc-topology"].replace("1000ns 0.000000", "1000ns 0.01")
    (files / "hpcc-topology").write_text(lossy)
    scenario = interchange.read([files / "hpcc-topology", files / "hpcc-flow"]).scenario
    resolved = fy.check(scenario)
    (event,) = resolved["faults"]["events"]
    assert (event["target"], event["change"]) == ({"cable": ["host 3", "switch 0"]}, {"loss": 0.01})


def test_a_failed_link_carries_nothing(files):
    failing = (
        CM.replace("Triggers 1", "Triggers 1\nFailures 1") + "failure switch_type AGG switch_id 0 link_id 0\n"
    )
    (files / "htsim-cm").write_text(failing)
    scenario = interchange.read([files / "four.topo", files / "htsim-cm"], start_unit="ps").scenario
    assert "faults not written: 1" in interchange.export(scenario, to="htsim-cm").notes
    result = fy.run(scenario, {"run.audit": True})
    assert result.status == "complete"
    links = pl.DataFrame(result.links).filter(
        (pl.col("from") == "pod 0 aggregation 0") & (pl.col("to") == "core 0")
    )
    assert links["packets"].to_list() == [0]


def test_the_network_goes_out_and_comes_back(files):
    network = exporting.fabric(files / "scenario.toml")
    assert (len(network.hosts), len(network.switches), len(network.cables)) == (16, 20, 48)
    export = interchange.export
    text = export(files / "scenario.toml", "hpcc-topology").text
    assert structure(hpcc_topology.read(source(text))) == structure(network)
    again = graphs.read(source(export(files / "scenario.toml", "graphml").text))
    assert edges(again) == edges(network)
    tree = htsim_topo.read(source(export(files / "scenario.toml", "htsim-topo").text))
    assert structure(tree) == structure(network)
    graph = interchange.to_networkx(files / "scenario.toml")
    assert graph.number_of_edges() == 48
    assert interchange.from_networkx(graph) == network.topology()


def test_a_network_alone_goes_from_format_to_format(flowyard, files):
    assert flowyard("import", "hpcc-topology", "-o", "network.toml").returncode == 0
    done = flowyard("export", "network.toml", "--to", "graphml", "-o", "network.graphml")
    assert (done.returncode, done.stderr) == (0, "")
    network = graphs.read(source((files / "network.graphml").read_text()))
    assert edges(network) == edges(hpcc_topology.read(source(EXAMPLES["hpcc-topology"])))


def test_an_imported_network_is_the_one_that_is_built(files):
    scenario = interchange.read([files / "four.topo"]).scenario
    traffic = [{"name": "a", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "1KB"}}]
    network = exporting.fabric(scenario | {"traffic": traffic})
    assert edges(network) == edges(htsim_topo.read(source(FOUR)))


@pytest.mark.parametrize(
    ("to", "read"),
    [
        ("htsim-cm", lambda text: htsim_cm.read(text, start_unit="ps")),
        ("hpcc-flow", hpcc_flow.read),
        ("netsys-trace", netsys_trace.read),
    ],
)
def test_flows_go_out_as_they_run(files, to, read):
    traffic = read(source(interchange.export(files / "scenario.toml", to).text))
    ran = pl.DataFrame(fy.run(files / "scenario.toml").flows).sort("start_ps", "src", "size_bytes")
    rows = ran.select("src", "dst", "size_bytes", "start_ps").rows()
    assert sorted(row[:4] for row in flows_of(traffic)) == sorted(rows)


def test_triggers_go_out_and_come_back(files):
    scenario = interchange.read([files / "four.topo", files / "htsim-cm"], start_unit="ps").scenario
    text = interchange.export(scenario, "htsim-cm").text
    again = htsim_cm.read(source(text), start_unit="ps")
    assert flows_of(again) == flows_of(htsim_cm.read(source(CM), start_unit="ps"))
    assert again.entries[0].triggers.kinds == {1: "once"}
    with pytest.raises(UserError, match=r"has flows that wait for others; a flow.txt has neither"):
        interchange.export(scenario, "hpcc-flow")


def test_sizes_go_out(files):
    with pytest.raises(UserError, match="several traffic entries; choose one with --entry: normal, incast"):
        interchange.export(files / "scenario.toml", "cdf-percent")
    exported = interchange.export(files / "scenario.toml", "cdf-percent", entry="normal")
    assert "measured from the 40 flows drawn" in exported.notes[0]
    points = [[1000, 0], [2000, 50], [4000, 100]]
    given = {"traffic.normal.sizes": json.dumps({"cdf": {"points": points}})}
    exported = interchange.export(files / "scenario.toml", "cdf-fraction", given, entry="normal")
    assert exported.text == "1000 0\n2000 0.5\n4000 1\n"


@pytest.mark.parametrize("to", interchange.FORMATS)
def test_an_export_reads_and_checks_once(files, monkeypatch, to):
    read = []
    # Not a cdf: its sizes are measured from drawn flows.
    entry = "normal" if to.startswith("cdf-") else None
    for kind in (_native.Checked, _native.Fabric):

        def made(*arguments, kind=kind):
            read.append(kind)
            return kind(*arguments)

        monkeypatch.setattr(_native, kind.__name__, made)
    interchange.export(files / "scenario.toml", to, entry=entry)
    assert read == [Checked]


def test_a_cdf_becomes_sizes(files):
    imported = interchange.read([files / "cdf"])
    assert imported.scenario == {"sizes": {"cdf": {"points": [[0, 0], [10000, 15], [30000000, 100]]}}}
    # By hand: 15 % of the flows have 5,000 B in the mean, 85 % have 15,005,000 B.
    assert imported.facts["mean_bytes"] == pytest.approx(0.15 * 5_000 + 0.85 * 15_005_000)


def test_imported_sizes_go_into_an_entry(flowyard, files):
    assert flowyard("import", "cdf", "-o", "sizes.toml").returncode == 0
    with (files / "scenario.toml").open("a") as scenario:
        scenario.write('\n[[traffic]]\nname = "more"\narrivals = "at-once"\nmatrix = "uniform"\nflows = 5\n')
        scenario.write((files / "sizes.toml").read_text())
    assert "cdf" in fy.check(files / "scenario.toml")["traffic"][2]["sizes"]


def test_import_writes_a_scenario_that_runs(flowyard, files):
    done = flowyard("import", "htsim-cm", "four.topo", "--start-unit", "ps", "-o", "mine.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "htsim-cm (htsim-cm), four.topo (htsim-topo) -> mine.toml" in done.stdout
    assert "2,214,000" in done.stdout
    assert "note: 1 x prio ignored" in done.stdout
    assert flowyard("run", "mine.toml").returncode == 0
    done = flowyard("import", "hpcc-flow", "hpcc-topology", "--json", "-o", "mine.json")
    answer = json.loads(done.stdout)
    assert (answer["scenario"], answer["flows"], answer["hosts"]) == ("mine.json", 2, 3)
    assert flowyard("check", "mine.json").returncode == 0


def test_import_of_a_topology_alone_says_what_is_missing(flowyard, files):
    done = flowyard("import", "four.topo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "note: four.toml has no traffic yet: add [[traffic]] entries" in done.stdout


def test_export_writes_a_file(flowyard, files):
    done = flowyard("export", "scenario.toml", "--to", "hpcc-flow", "-o", "flow.out", "--seed", 3)
    assert (done.returncode, done.stderr) == (0, "")
    assert "note: dport 100 is the entry normal" in done.stdout
    text = (files / "flow.out").read_text()
    assert text == interchange.export(files / "scenario.toml", "hpcc-flow", {"run.seed": 3}).text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["import", "htsim-cm"],
            "htsim-cm, line 5: start is 1000000 without a unit; .cm files do not state one",
        ),
        (["import", "hpcc-flow"], "hpcc-flow has flows, but no network"),
        (["import", "nowhere"], "nowhere: no such file"),
        (["import", "."], ".: is a folder; name the files in it"),
        (["import", "scenario.toml"], "scenario.toml: is a scenario already: flowyard run scenario.toml"),
        (
            ["import", "scenario.toml", "-o", "x.toml"],
            "scenario.toml: is a scenario already: flowyard run scenario.toml",
        ),
        (
            ["import", "four.topo", "-o", "scenario.toml"],
            "scenario.toml: is already there; name another file",
        ),
        (["import", "four.topo", "--transport", "smoke"], '--transport "smoke": is no transport here'),
        (
            ["export", "scenario.toml", "--to", "ns2", "-o", "x"],
            '"ns2" is not a format; formats are htsim-cm',
        ),
        (["export", "scenario.toml", "--to", "graphml", "-o", "cdf"], "cdf: is already there"),
        (["export", "scenario.toml", "--to", "graphml", "-o", "no/x"], "no/x: cannot write here"),
        (["export", "nowhere", "--to", "graphml", "-o", "x"], "nowhere: no such file"),
        (["export", "scenario.toml", "--to", "graphml", "-o", "x", "--set", "run.sead=3"], "run.sead"),
    ],
)
def test_mistakes_leave_nothing_behind(flowyard, files, arguments, message):
    before = {path: path.read_text() for path in files.iterdir()}
    done = flowyard(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.read_text() for path in files.iterdir()} == before


def test_a_trace_on_a_named_network(flowyard, files):
    assert TRACE in (files / "netsys-trace").read_text()
    done = flowyard(
        "import", "netsys-trace", "--topology", "single-switch", "--rate", "40Gbps", "-o", "t.toml"
    )
    assert (done.returncode, done.stderr) == (0, "")
    resolved = fy.check(files / "t.toml")
    assert (
        resolved["topology"]["single-switch"]["hosts"],
        resolved["topology"]["single-switch"]["rate"],
    ) == (8, "40Gbps")
