"""Files and graphs that users bring and that are not read as they are: the message says what to write instead."""

import re

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


class TestNamesOfHosts:
    """Tables of flows call hosts by names that the network does not have."""

    @pytest.fixture(autouse=True)
    def network(self, here):
        (here / "net.toml").write_text("[topology.single-switch]\nhosts = 3\n\n[transport.tcp]\n")

    @staticmethod
    def flows(here, *names):
        (here / "f.csv").write_text("src,dst,bytes\n" + "".join(f"{a},{b},1000\n" for a, b in names))

    @pytest.mark.parametrize("name", ["h1", "host1", "host_1", "server-1", "h01"])
    def test_a_word_and_a_number_may_mean_a_host(self, name, here, capsys):
        self.flows(here, (name, "h2"))
        said = refusal(["f.csv", "--topology", "net.toml"], capsys)
        assert f'src is "{name}", which is no host of the topology, such as host 0, host 1, host 2' in said
        assert 'did you mean "host 1"? --hosts-in-order takes names as hosts 0, 1, ...' in said

    @pytest.mark.parametrize("name", ["10.0.0.1", "web", "h3", "h" + "9" * 5000])
    def test_other_names_lead_to_the_option_alone(self, name, here, capsys):
        self.flows(here, (name, "host 1"))
        said = refusal(["f.csv", "--topology", "net.toml"], capsys)
        assert "did you mean" not in said
        assert (
            "--hosts-in-order takes names as hosts 0, 1, ... in the order of their first appearance" in said
        )

    @pytest.mark.parametrize("topology", ["net.toml", "single-switch"])
    def test_names_are_hosts_in_their_order(self, topology, here, capsys):
        self.flows(here, ("10.0.0.7", "10.0.0.1"), ("10.0.0.1", "10.0.0.3"))
        assert cli.main(["import", "f.csv", "--topology", topology, "--hosts-in-order", "-o", "s.toml"]) == 0
        order = '"10.0.0.7" is host 0, "10.0.0.1" is host 1, "10.0.0.3" is host 2'
        said = capsys.readouterr().out
        assert f"note: names are hosts in the order of their first appearance: {order}\n" in said
        assert "because the highest number" not in said
        assert "matrix.pairs = [[0, 1], [1, 2]]" in (here / "s.toml").read_text()

    def test_the_note_lists_the_first(self, here, capsys):
        self.flows(here, *((f"10.0.0.{i}", f"10.0.1.{i}") for i in range(9)))
        options = ["--topology", "single-switch", "--hosts-in-order"]
        assert cli.main(["import", "f.csv", *options, "-o", "s.toml"]) == 0
        assert '"10.0.0.1" is host 2; 18 names in all\n' in capsys.readouterr().out

    def test_no_more_names_than_hosts(self, here, capsys):
        self.flows(here, ("a", "b"), ("c", "d"))
        said = refusal(["f.csv", "--topology", "net.toml", "--hosts-in-order"], capsys)
        assert 'f.csv, line 3: dst is "d", one name more than the 3 hosts of the topology' in said

    def test_the_order_is_of_tables_alone(self, here, capsys):
        (here / "flow.txt").write_text("1\n0 1 3 100 1000 2\n")
        said = refusal(["flow.txt", "--topology", "net.toml", "--hosts-in-order"], capsys)
        assert "--hosts-in-order does not apply to flow.txt (hpcc-flow); it goes with flow-table" in said


class TestTransportOfTheNamedScenario:
    def imported(self, here, *options):
        (here / "f.csv").write_text("src,dst,bytes\n0,1,1000\n")
        (here / "fab.toml").write_text(
            '[topology.single-switch]\nhosts = 4\n\n[transport.tcp]\nmss = "1448B"\n\n[queue.drop-tail]\n'
        )
        imported = read([here / "f.csv"], topology=str(here / "fab.toml"), **dict(options))
        return imported.scenario["transport"], " ".join(imported.notes)

    def test_is_taken_with_its_fields(self, here):
        transport, notes = self.imported(here)
        assert transport == {"tcp": {"mss": "1448B"}}
        assert f"hosts run tcp, as in {here / 'fab.toml'}; not taken: its queue; --transport" in notes
        assert "no file names the transport" not in notes

    def test_is_not_taken_beside_the_option(self, here):
        transport, notes = self.imported(here, ("transport", "dctcp"))
        assert transport == {"tcp": {"congestion": "dctcp"}}
        assert "hosts run" not in notes

    def test_is_not_taken_with_files_of_htsim(self, here):
        self.imported(here)
        (here / "a.cm").write_text("Nodes 4\nConnections 1\n0->1 start 0 size 1000\n")
        imported = read([here / "a.cm"], topology=str(here / "fab.toml"))
        assert "ndp" in imported.scenario["transport"]
        assert any("fab.toml, tcp, is not taken" in note for note in imported.notes)

    def test_a_scenario_without_one_gives_none(self, here):
        self.imported(here)
        (here / "fab.toml").write_text("[topology.single-switch]\nhosts = 4\n")
        imported = read([here / "f.csv"], topology=str(here / "fab.toml"))
        assert any("no file names the transport: hosts run ndp" in note for note in imported.notes)


@pytest.mark.parametrize(
    "text", ["size,probability\n1000,0.5\n10000,0.3\n100000,0.2\n", "1000 50\n9000 30\n90000 20\n"]
)
@pytest.mark.parametrize("options", [[], ["--dialect", "fraction"]])
def test_shares_of_single_sizes_are_no_distribution(text, options, here, capsys):
    (here / "s.csv").write_text(text)
    said = refusal(["s.csv", "--format", "cdf", *options], capsys)
    assert "they are those of single sizes, and a CDF has those of all up to a size; write the sums, " in said
    assert re.search(r"write the sums, (0.5, 0.8, 1|50, 80, 100)\n", said)


@pytest.mark.parametrize("text", ["1000 0.5\n9000 0.8\n90000 0.7\n", "1000 0.2\n9000 0.5\n90000 0.9\n"])
def test_other_shares_are_no_density(text, here, capsys):
    (here / "s.txt").write_text(text)
    assert "single sizes" not in refusal(["s.txt", "--format", "cdf"], capsys)


class TestColumnsOfTables:
    """Columns that a scenario has fields for."""

    def test_cables_by_their_units_with_losses(self, here):
        (here / "c.csv").write_text("from,to,gbps,us,loss\na,s,10,1,0.001\nb,s,25,2,0\nc,s,10,1,1e-5\n")
        imported = read([here / "c.csv"], hosts="leaves")
        assert (imported.scenario["topology"]["explicit"]["rate"], imported.facts["faults"]) == ("10Gbps", 2)
        assert imported.scenario["faults"]["events"] == [
            {"at": "0s", "target": {"cable": ["a", "s"]}, "change": {"loss": 0.001}},
            {"at": "0s", "target": {"cable": ["c", "s"]}, "change": {"loss": 1e-05}},
        ]
        assert "losses without % read as shares of packets" in imported.notes

    @pytest.mark.parametrize(
        ("name", "cell"),
        [("loss (%)", "0.1"), ("loss_percent", "0.1"), ("loss", "0.1%"), ("Loss Rate", "0.1 %")],
    )
    def test_losses_in_percent(self, name, cell, here):
        (here / "c.csv").write_text(f"a,b,rate,lat,{name}\nx,s,10Gbps,1us,{cell}\ny,s,10Gbps,1us,\n")
        imported = read([here / "c.csv"], hosts="leaves")
        assert [event["change"] for event in imported.scenario["faults"]["events"]] == [{"loss": 0.001}]
        assert not any("losses" in note for note in imported.notes)

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            (
                "a,s,10Gbps,1us,5\n",
                'line 2: loss is "5"; must be a share of packets, 0 to 1, or percent as in 0.1%',
            ),
            ("a,s,10Gbps,1us,x\n", 'line 2: loss is "x"; must be'),
            ("a,s,10Gbps,1us,0.1\ns,a,10Gbps,1us,0.2\n", "line 3: loss is 0.2, but 0.1 for a parallel cable"),
        ],
    )
    def test_losses_that_are_none(self, rows, said, here, capsys):
        (here / "c.csv").write_text(f"a,b,rate,delay,loss\n{rows}")
        assert said in refusal(["c.csv", "--hosts", "leaves"], capsys)

    def test_a_cable_without_a_rate_leads_to_the_columns_that_are_not_read(self, here, capsys):
        (here / "c.csv").write_text("from,to,velocity,us\na,s,10,1\n")
        said = refusal(["c.csv", "--hosts", "leaves"], capsys)
        assert "give one for all such edges (--rate); columns not read: velocity" in said

    def test_deadlines(self, here):
        rows = "0,1,1000,50\n1,2,2000\n2,3,3000,50\n3,0,4000,0\n0,2,5000,7.5\n"
        (here / "f.csv").write_text("src,dst,bytes,deadline_us\n" + rows)
        imported = read([here / "f.csv"], topology="single-switch")
        found = [
            (entry["name"], entry["sizes"]["list"], entry.get("deadline"))
            for entry in imported.scenario["traffic"]
        ]
        assert found == [
            ("flows-due-50us", [1000, 3000], "50us"),
            ("flows", [2000, 4000], None),
            ("flows-due-7500ns", [5000], "7500ns"),
        ]
        assert any(note.startswith("deadlines read as times from the start") for note in imported.notes)
        assert fy.run(imported.scenario).status == "complete"

    def test_deadlines_have_units_and_not_too_many_values(self, here, capsys):
        (here / "f.csv").write_text("src,dst,bytes,deadline\n0,1,1000,50\n")
        said = refusal(["f.csv", "--topology", "single-switch"], capsys)
        assert 'line 2: deadline is "50", without a unit; name it, as in deadline_us or 50us' in said
        rows = "".join(f"0,1,1000,{i}us\n" for i in range(1, 1002))
        (here / "f.csv").write_text(f"src,dst,bytes,deadline\n{rows}")
        imported = read([here / "f.csv"], topology="single-switch")
        assert len(imported.scenario["traffic"]) == 1
        assert any("deadlines not read: there are 1,001 different ones" in note for note in imported.notes)
