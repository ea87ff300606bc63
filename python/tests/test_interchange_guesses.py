"""Files and graphs that users bring and that are not read as they are: the message says what to write instead."""

import networkx
import pytest

import flowyard as fy
from flowyard import cli
from flowyard.errors import UserError
from flowyard.interchange import from_networkx, read

pytestmark = pytest.mark.usefixtures("here")


def refusal(words, capsys):
    assert cli.main(["import", *words]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("names", ["size,cdf", "bytes,probability", "size,share"])
def test_a_distribution_below_names_is_recognised(names, here):
    rows = ["1000,0.1", "10000,0.6", "100000,1"]
    (here / "s.csv").write_text("\n".join([names, *rows]) + "\n")
    assert read(["s.csv"]).scenario == read(["s.csv"], formats=["cdf"]).scenario
    assert read(["s.csv"]).facts["points"] == 3


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.txt", "1KB 10%\n10KB 60%\n1MB 100%\n", "write bytes and shares as numbers, as in 1000 10"),
        (
            "e.edgelist",
            "server1 leaf1 {'rate': '10Gbps'}\n",
            "give networkx.read_edgelist(FILE) to flowyard.",
        ),
        (
            "o.csv",
            "src,dst,gbps,duration_s\n0,1,1,0.01\n",
            'has no column of sizes, but rates and "duration_s"',
        ),
        ("x.xlsx", "PK\x03\x04rest", "x.xlsx: is a workbook or an archive; save the sheet as CSV"),
        (
            "x.parquet",
            "PAR1rest",
            "x.parquet: is a Parquet file; write it as CSV: flowyard show DIR --csv flows",
        ),
    ],
)
def test_a_file_that_is_nearly_one_names_the_way(name, text, said, here, capsys):
    (here / name).write_text(text)
    assert said in refusal([name], capsys)


def test_starts_in_minutes_are_not_left_out(here, capsys):
    (here / "r.csv").write_text("start_min,src,dst,bytes\n0,0,1,1000\n5,1,2,1000\n")
    said = refusal(["r.csv", "--topology", "single-switch"], capsys)
    assert (
        'has no column of starts, but "start_min"; units of starts are s, ms, us, ns, ps, as in start_us'
        in said
    )


def test_dates_are_no_starts(here, capsys):
    (here / "n.csv").write_text("timestamp,src,dst,bytes\n2024-01-01T00:00:00Z,0,1,1000\n")
    said = refusal(["n.csv", "--topology", "single-switch"], capsys)
    assert "n.csv, line 2" in said
    assert "a date; starts are times since the start of the run, as 5us: subtract the first one" in said


@pytest.mark.parametrize(
    "text", ["start_us,src,dst,bytes\n0,1,2,1000\n5,2,99,500\n", "2\n1 2 3 100 1000 0\n2 99 3 100 500 1\n"]
)
def test_a_host_that_the_network_has_not_is_named_with_its_line(text, here, capsys):
    (here / "net.toml").write_text("[topology.single-switch]\nhosts = 4\n")
    (here / "f.csv").write_text(text)
    said = refusal(["f.csv", "--topology", "net.toml"], capsys)
    assert "f.csv, line 3: dst is 99, which is not a host of the topology; it has 4 hosts" in said


def star(**data):
    graph = networkx.Graph()
    graph.add_node("s", kind="switch")
    for host in ("a", "b"):
        graph.add_node(host, kind="host")
        graph.add_edge(host, "s", **data)
    return graph


class TestGraphs:
    def test_messages_have_the_arguments_of_python(self):
        with pytest.raises(UserError, match=r'^rate is "1e10"; has no unit'):
            from_networkx(star(), rate="1e10", delay="1us")
        with pytest.raises(UserError, match=r"name the unit \(rate_unit\)"):
            from_networkx(star(rate=10), delay="1us")
        with pytest.raises(UserError, match=r"give one for all such edges \(rate\)"):
            from_networkx(star(), delay="1us")
        with pytest.raises(UserError, match=r'name each host, as hosts=\["h1", "h2"\], or .* hosts="leaves"'):
            from_networkx(networkx.path_graph(3), rate="10Gbps", delay="1us")

    @pytest.mark.parametrize(
        ("graph", "hosts", "said"),
        [
            ({"a": ["b"]}, None, "graph is a dict; must be a graph of networkx"),
            (star(), lambda node: node != "s", 'hosts is a function; must be "leaves" or a list of nodes'),
            (star(), {"a": True, "b": True}, 'hosts is a dict; must be "leaves" or a list of nodes'),
        ],
    )
    def test_other_objects_are_refused_in_words(self, graph, hosts, said):
        with pytest.raises(UserError) as refused:
            from_networkx(graph, hosts=hosts, rate="10Gbps", delay="1us")
        assert said in str(refused.value)

    def test_attributes_that_are_not_read_are_warned_of_where_a_default_stands_for_them(self):
        with pytest.warns(
            UserWarning, match="edges that are not read: gbit; a rate is read from rate, capacity, ban"
        ):
            topology = from_networkx(star(gbit=40), rate="10Gbps", delay="1us")
        assert topology["explicit"]["rate"] == "10Gbps"
        # Others are no trap: each edge has its own.
        assert from_networkx(star(rate="10Gbps", delay="1us", colour="red"))["explicit"]

    def test_a_graph_without_mistakes_runs(self):
        topology = from_networkx(star(rate="10Gbps", delay="1us"))
        entry = {"name": "one", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "1KB"}}
        assert fy.run({"topology": topology, "transport": "ndp", "traffic": [entry]}).status == "complete"


def test_a_topology_that_is_no_scenario_is_refused_with_all_that_is_allowed(here, capsys):
    (here / "f.csv").write_text("src,dst,bytes,start_us\n0,1,3000,0\n")
    said = refusal(["f.csv", "--topology", "leaf-spine"], capsys)
    assert '--topology "leaf-spine": is no scenario file, and no packaged scenario' in said
    assert "web-search-ndp" in said
    assert "single-switch and fat-tree are networks for as many hosts as the flows have" in said
