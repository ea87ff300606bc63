"""Columns without names are told or refused, never guessed; tables with names; options that apply to nothing."""

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interchange_examples import TOPOLOGY, flows_of, source

from flowyard import interchange
from flowyard.errors import UserError
from flowyard.interchange import cabling, columns, flow_table, formats, orders
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, quantity
from flowyard.sweeps.members import Members

# Hosts 0 and 1.
TOPO = "3 1 2\n2\n0 2 10Gbps 0.001ms 0\n1 2 10Gbps 0.001ms 0\n"
OLD = "1\n0 1 3 10000 2 9.5\n"
TABLE = "0 1 0 3000 0\n1 2 0 3000 500\n2 3 0 3000 1000\n"


@pytest.fixture
def read(tmp_path):
    """Reads texts as files, by their names."""

    def read(texts, **options):
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return interchange.read([tmp_path / name for name in texts], **options)

    return read


def flows(imported):
    """(src, dst, bytes, start) of the flows of all entries."""
    rows = []
    for entry in imported.scenario["traffic"]:
        starts = [quantity(at, TIME_UNITS) for at in entry["arrivals"]["times"]["at"]]
        pairs = entry["matrix"]["pairs"]
        rows += [(*pair, *rest) for pair, *rest in zip(pairs, entry["sizes"]["list"], starts, strict=True)]
    return rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OLD, r"line 2: has 6 columns .* (hpcc-flow).*src,dst,pg,packets,start_s,end \(--format rdma-flow\)"),
        (TABLE, r"line 1: has 5 columns .* --columns id,src,dst,size,start"),
        # A trace of NetSys but for its starts, which could be sizes.
        ("0 3000 1 2 5\n1 3000 2 1 6\n", r"netsys-trace.*id,start,src,dst,size"),
        ("2\n0 2 3 1000 2.0\n1 2 3 2000 2.1\n", r"conweave-flow.*id,src,dst,size,start"),
        ("0 1 3000 0\n", "columns without names are not guessed: name them, such as --columns src,dst,size,start"),
        ("0,1,3000,0\n", "columns without names are not guessed"),
        ("0 1 2 3 4 5 6\n", "columns without known names are not guessed: name all 7, in their order"),
        ("0 1 0 0.5 0\n", "has 5 columns without names"),
    ],
)  # fmt: skip
def test_columns_that_could_be_several_are_refused(read, text, said):
    with pytest.raises(UserError, match=said):
        read({"flows.txt": text}, topology="single-switch")


@pytest.mark.parametrize("chosen", [(), ("flow-table",)])
def test_unknown_names_of_columns_lead_to_the_option_that_names_them(read, chosen):
    text = "client,server,amount,t\n0,1,3000,0\n1,2,3000,5\n"
    with pytest.raises(
        UserError, match='not known: "client", "server", "amount"; name all 4, in order'
    ) as told:
        read({"flows.csv": text}, topology="single-switch", formats=chosen)
    assert "--format" not in str(told.value)
    assert "known one for each NAME: --columns NAME,NAME,NAME,t;" in str(told.value)
    # The advice leads on.
    imported = read({"flows.csv": text}, topology="single-switch", columns="src,dst,size,start_us")
    assert flows(imported) == [(0, 1, 3000, 0), (1, 2, 3000, 5 * 10**6)]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("when,source_rack,to,amount", "--columns NAME,NAME,to,NAME;"),
        ("when,from rack,to", "--columns NAME,NAME,to;"),
        ("src,dst,size_foo,start_us", "a known one for each NAME: --columns src,dst,NAME,start_us"),
        (
            "flow,src,dst,size_foo,start_us",
            "a known one for each NAME: --columns ignored,src,dst,NAME,start_us",
        ),
    ],
)
def test_the_example_has_the_columns_of_the_file_in_their_order(read, head, said):
    row = ",".join(str(place) for place in range(head.count(",") + 1))
    with pytest.raises(UserError) as told:
        read({"flows.csv": f"{head}\n{row}\n"}, topology="single-switch")
    assert said in f"{told.value};"


@pytest.mark.parametrize(
    ("count", "said"), [(2, "--columns a,b (cables)"), (5, "src,dst,size,start_us,ignored")]
)
def test_the_example_has_as_many_columns_as_the_file(count, said):
    assert said in columns.example(count)
    assert all(columns.asked(word) for word in re.findall(r"--columns (\S+)", columns.example(count)))


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ("kib", 1536), ("KiB", 1536), ("ki", 1536), ("mib", 3 << 19), ("gib", 3 << 29), ("gi", 3 << 29), ("kb", 1500),
        ("MB", 1_500_000),
    ],
)  # fmt: skip
def test_sizes_have_binary_and_decimal_units(read, unit, size):
    named = read({"flows.csv": f"src,dst,size_{unit},start_ms\n0,1,1.5,2\n"}, topology="single-switch")
    in_cells = read({"flows.csv": f"src,dst,size,start_ms\n0,1,1.5{unit},2\n"}, topology="single-switch")
    assert flows(named) == flows(in_cells) == [(0, 1, size, 2 * 10**9)]


def test_a_part_of_a_byte_is_refused(read):
    # 0.3 KiB are 307.2 bytes.
    with pytest.raises(UserError, match=r'size is "0\.3"; must be a whole number of bytes'):
        read({"flows.csv": "src,dst,size_kib\n0,1,0.3\n"}, topology="single-switch")


@pytest.mark.parametrize("unit", ["kilo", "Kib", "words"])
def test_flows_with_an_unknown_unit_of_sizes_are_no_cables(read, unit):
    text = f"src,dst,size_{unit},start_ms\n0,1,3,0\n"
    for chosen in ((), ("flow-table",)):
        with pytest.raises(
            UserError, match=f'line 1: has no column of sizes, but "size_{unit}"; units of sizes are b,'
        ):
            read({"flows.csv": text}, topology="single-switch", formats=chosen)
    # A size of a cable is no size of a flow.
    assert columns.kind_of(["src", "dst", "rate", "delay"]) == columns.CABLES


@pytest.mark.parametrize(("name", "size"), [("KB", 1500), ("kB", 1500), ("MB", 1_500_000), ("KiB", 1536)])
def test_a_unit_alone_is_a_column_of_sizes(read, name, size):
    table = {"flows.csv": f"t_ms,src,dst,{name}\n2,0,1,1.5\n"}
    assert flows(read(table, topology="single-switch")) == [(0, 1, size, 2 * 10**9)]


@pytest.mark.parametrize("name", ["bits", "Kb", "Mbit", "amount"])
def test_flows_without_a_column_of_sizes_are_no_cables(read, name):
    with pytest.raises(
        UserError, match=f'line 1: has no column of sizes, but "{name}"; .* as in size_kb; name the'
    ):
        read({"flows.csv": f"timestamp,src,dst,{name}\n0,0,1,3\n"}, topology="single-switch")
    # Where a rate is known these are cables, whatever else there is of them.
    assert columns.kind_of(["time", "src", "dst", "rate", name]) in (columns.CABLES, columns.FLOWS)
    assert columns.kind_of(["time", "src", "dst", "rate", "owner"]) == columns.CABLES


@pytest.mark.parametrize("name", ["start_min", "start_hours", "time_ticks", "Arrival (min)"])
def test_starts_in_an_unknown_unit_are_refused(read, name):
    """Without them all flows would start at 0 s."""
    table = {"flows.csv": f"{name},src,dst,bytes\n1,0,1,1000\n"}
    units = "units of starts are s, ms, us, ns, ps, as in start_us; name the columns"
    with pytest.raises(UserError, match=re.escape(f'line 1: has no column of starts, but "{name}"; {units}')):
        read(table, topology="single-switch")
    named = read(table, topology="single-switch", columns="ignored,src,dst,size")
    assert "there is no column of starts: all flows start at 0 s" in named.notes


def test_columns_beside_a_start_are_not_starts(read):
    table = {"flows.csv": "start_us,time_zone,src,dst,bytes\n1,0,0,1,1000\n"}
    assert "starts read as us" in read(table, topology="single-switch").notes


@pytest.mark.parametrize("name", ["h1", "10.0.0.1", "fd00::1", "3com"])
def test_names_and_addresses_need_their_network(read, name):
    with pytest.raises(
        UserError, match="names need their network: give a list of cables, too, or --topology"
    ):
        read({"flows.csv": f"src,dst,size,start_us\n{name},h2,3000,0\n"}, topology="single-switch")


def test_a_number_that_is_no_host_is_no_name(read):
    with pytest.raises(UserError, match="must be a whole number"):
        read({"flows.csv": "src,dst,size,start_us\n1.5,2,3000,0\n"}, topology="single-switch")


def test_a_network_rules_orders_out(read):
    """Node 3 is no host: so it is a priority group."""
    text = "2\n0 1 3 1000 2.0\n1 0 3 2000 2.1\n"
    imported = read({"topo.txt": TOPO, "flows.txt": text})
    assert flows(imported) == [(0, 1, 1000, 2 * 10**12), (1, 0, 2000, 21 * 10**11)]
    assert "conweave-flow" in imported.formats.values()
    assert "columns read as src dst pg size start_s" in imported.notes


def test_flows_of_the_older_rdma_simulator(read):
    files = {"topo.txt": TOPO, "flows.txt": OLD}
    # Which packets it counts tells that it counts packets.
    imported = read(files, packet_bytes=1000)
    assert flows(imported) == [(0, 1, 10_000_000, 2 * 10**12)]
    assert any(note.startswith("end is not kept") for note in imported.notes)
    with pytest.raises(UserError, match=r"counts packets .*--packet-bytes"):
        read(files, formats=["hpcc-topology", "rdma-flow"])
    # A fraction is no number of bytes: so it is a start.
    with pytest.raises(UserError, match=r"counts packets .*--packet-bytes"):
        read(files | {"flows.txt": "1\n0 1 3 10000 2.5 9.5\n"})
    # More bytes than the seconds of its start: no end.
    assert flows(read(files | {"flows.txt": "1\n0 1 3 100 10000 2\n"})) == [(0, 1, 10000, 2 * 10**12)]
    with pytest.raises(UserError, match=r"--packet-bytes 1000 does not apply to .*hpcc-flow"):
        read(files | {"flows.txt": "1\n0 1 3 100 10000 2\n"}, packet_bytes=1000)


def test_the_user_names_the_columns(read):
    named = {"columns": "id,src,dst,size,start", "start_unit": "ns", "topology": "single-switch"}
    wanted = [(1, 0, 3000, 0), (2, 0, 3000, 500_000), (3, 0, 3000, 1_000_000)]
    assert flows(read({"flows.txt": TABLE}, **named)) == wanted
    assert flows(read({"flows.txt": TABLE.replace(" ", ",")}, **named)) == wanted
    units = named | {"columns": "id,src,dst,size_kb,start_ns", "start_unit": None}
    assert flows(read({"flows.txt": TABLE}, **units))[0] == (1, 0, 3_000_000, 0)
    for wrong, said in (
        ({"start_unit": None}, "start is .*500.*without a unit.*--start-unit"),
        ({"columns": "id,src,dst,size,start_us"}, "--start-unit ns: the column .*start_us.* has its unit"),
        ({"columns": "id,src,dst,size,colour"}, '"colour" is no name of a column'),
        ({"columns": "start_us,src,dst"}, '"start_us" is of flows, which need a size, too'),
        ({"columns": "id,src,dst,size,bytes"}, "are both the size"),
        ({"columns": "a,b,rate"}, "flow-table|which .* does not have|--start-unit"),
    ):
        with pytest.raises(UserError, match=said):
            read({"flows.txt": TABLE}, **(named | wrong))


@pytest.mark.parametrize(
    "text",
    [
        "src,dst,size,start\n0,1,3000,0us\n1,0,3KB,5us\n",
        "Source;Destination;Flow Size (KB);Start Time (µs)\n0;1;3;0\n1;0;3;5\n",
        "dst\tsrc\tbytes\tarrival_ns\n1\t0\t3000\t0\n0\t1\t3000\t5000\n",
        "# id src dst size start_us\n7 0 1 3000 0\n9 1 0 3000 5\n",
        "startTime_ms srcId dstId bytes\n0 0 1 3000\n0.005 1 0 3000\n",
        '"src","dst","size","start_s","remark"\n"0","1","3000","0","a, b"\n1,0,3000,0.000005\n',
    ],
)
def test_tables_go_by_the_names_of_their_columns(read, text):
    imported = read({"topo.txt": TOPO, "flows.csv": text})
    assert flows(imported) == [(0, 1, 3000, 0), (1, 0, 3000, 5_000_000)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("src,dst,size,start\n0,1,3000,5\n", 'line 2: start is "5", without a unit: name the unit'),
        ("src,dst,size,start_us\n0,1,0.5,5\n", 'line 2: size is "0.5"; must be a whole number of bytes'),
        ("src,dst,size,start_us\n0,1,0,5\n", "line 2: size is .* 1 to"),
        (
            "src,dst,size,start_us\n0,1\n",
            "line 2: .* has 2 columns .*; there are 4: src, dst, size, start_us",
        ),
        (
            "src,dst,size,start_us\n0,1,7,\n",
            'line 2: has no value in its column "start_us": has 3 columns that are',
        ),
        ("src,dst,size,start_us\n0,1,10,5,6\n", "line 2: has 5 columns"),
        ("src,dst,size,start_us\n0,0,10,5\n", "line 2: src and dst are the same host"),
        ("src,dst,size,start_us\n0,2,10,5\n", "line 2: dst is 2, which is not a host"),
        ("src,dst,size,start_us\n0,h1,10,5\n", 'line 2: dst is "h1", which is no host of the topology'),
        ("src,dst,size,start_us\n0,1,10,soon\n", 'line 2: start is "soon"'),
        ("src,dst,source,size\n0,1,1,5\n", '"src" and "source" are both the src'),
        ("src,dst,size,start_us\n", "has no flow"),
        ("src,dst,packets\n0,1,5\n", "counts packets"),
    ],
)
def test_tables_that_cannot_be_read_are_told_where_and_what(read, text, said):
    with pytest.raises(UserError, match=said):
        read({"topo.txt": TOPO, "flows.csv": text})


def test_flows_go_by_the_names_of_hosts(read):
    cables = "Side A Device,Side A Name,Side B Device,Speed\nsrv-1,eth0,leaf-1,25G\nsrv-2,eth0,leaf-1,25G\n"
    texts = {"cables.csv": cables, "flows.csv": "src,dst,size\nsrv-2,srv-1,3000\n"}
    imported = read(texts, hosts="leaves", delay="1us")
    assert flows(imported) == [("srv-2", "srv-1", 3000, 0)]
    assert imported.scenario["topology"]["explicit"]["rate"] == "25Gbps"
    assert "columns not read: Side A Name" in imported.notes
    # Hosts whose names are numbers: flows have these, not places.
    texts = {"edges.txt": "10 1 10Gbps 1us\n20 1 10Gbps 1us\n", "flows.csv": "src,dst,size\n20,10,3000\n"}
    assert flows(read(texts, hosts="leaves")) == [(1, 0, 3000, 0)]


@pytest.mark.parametrize(
    "text",
    [
        "a,b,rate,delay\nh0,s,10Gbps,1us\nh1,s,10Gbps,1us\n",
        "source target bandwidth_gbps latency_us\nh0 s 10 1\nh1 s 10 1\n",
        "h0 s 10Gbps 1us\nh1 s 10Gbps 1 µs\n".replace("1 µs", "1µs"),
        "h0,s,1us,10G\nh1,s,1000ns,10Gb\n",
        'graph [ node [ id 0 label "h0" ] node [ id 1 label "h1" ] node [ id 2 label "s" ]\n'
        '  edge [ source 0 target 2 rate "10Gbps" delay "1us" ]\n'
        '  edge [ source 1 target 2 rate "10 Gbit" delay "1us" ] ]\n',
    ],
)
def test_networks_as_lists_of_cables_and_gml(read, text):
    explicit = read({"net.txt": text}, hosts="leaves").scenario["topology"]["explicit"]
    assert (sorted(explicit["hosts"]), explicit["switches"]) == (["h0", "h1"], [{"name": "s"}])
    assert (explicit["rate"], explicit["delay"]) == ("10Gbps", "1us")


def test_what_is_said_of_no_cable_is_noted(read):
    text = "a,b,rate,delay\nh0,s,10Gbps,1us\nh1,s,10Gbps,1us\n"
    notes = read({"net.txt": text}, hosts="leaves", rate="1Gbps", delay_unit="us").notes
    assert "--rate is not used: all cables have a rate" in notes
    assert "--delay-unit is not used: no delay is without a unit" in notes


@pytest.mark.parametrize("sign", ["\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}", "u"])
def test_both_micro_signs_are_read(sign):
    assert quantity(f"1 {sign}s", TIME_UNITS) == 10**6
    assert quantity(f"1\xa0{sign}s", TIME_UNITS) == 10**6


@pytest.mark.parametrize("word", ["10GB/s", "10GBps", "10 m", "10X"])
def test_bytes_a_second_are_no_bits(word):
    with pytest.raises(ValueError, match="has the unit"):
        quantity(word, RATE_UNITS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3\n0 1 2\n", r"is a list of the nodes that HPCC's ns-3 code traces \(trace.txt\)"),
        ("4\n3\n5\n9\n1\n", "is a list of the nodes"),
        ("2\n0 1\n", "is a list of the nodes"),
        (
            "ENABLE_QCN 1\nCC_MODE 3\nKMAX_MAP 1 25000000000 400\n",
            "has settings only; name a TOPOLOGY_FILE and a FLOW_FILE, too",
        ),
        ("name: tiny\ntopology:\n  nodes:\n    h1: { kind: linux }\n", "is YAML.*from_networkx"),
        ('{"directed": false, "nodes": [{"id": 0}], "links": []}', "is a graph in JSON.*node_link_graph"),
        (
            json.dumps({"directed": False, "graph": {}, "edges": [{"source": 0, "target": 1}]}),
            "is a graph in JSON",
        ),
        (
            '{"PORT": {"Ethernet0": {"speed": "100000",\n "lanes": "1,2"}}}',
            "of JSON no format is read; write cables",
        ),
        ("graph {\n a -- b\n}\n", "is a DOT graph"),
        (
            "topology:\n  nodes:\n    h1: {kind: linux}\n    l1: {kind: sonic-vs}\n  links:\n"
            "    - endpoints: [h1:e1, l1:e1]\n",
            'kinds of containerlab are operating systems, also of hosts: node "h1" does not say',
        ),
        (
            "h1 s1\nh2 s1\n",
            r"pairs of names may be cables: --columns a,b with --rate 10Gbps .* or --hosts leaves",
        ),
        ("[General]\nnetwork = Tiny\n", "is an omnetpp.ini"),
        ("package x;\nnetwork Tiny extends Base {\n", "is a NED file"),
        ("0b000001 0b000101 10000 100 20000 2000000000 9164 8256\n", "has results.*flowyard compare"),
        ("0 1 10000 100 20000 2000000000 9164 8256\n", "has results.*flowyard compare"),
    ],
)
def test_files_that_are_known_but_not_read_are_named(read, text, said):
    with pytest.raises(UserError, match=said):
        read({"file.txt": text})


@pytest.mark.parametrize(
    ("stated", "note"), [("1360", None), ("1500", "states a mean of 1500, its points have 1360")]
)
def test_a_stated_mean_is_compared_with_the_points(read, stated, note):
    # A step each: a tenth of the flows has 100 B, the rest 1500 B.
    imported = read({"sizes.txt": f"{stated}\n100 0.1\n1500 1\n"})
    assert imported.facts["mean_bytes"] == 1360
    assert any(note in said for said in imported.notes) if note else not imported.notes
    with pytest.raises(UserError, match=r"line 1: states a mean of 9, .* 1360: sizes may be packets"):
        read({"sizes.txt": "9\n100 0.1\n1500 1\n"})
    assert read({"sizes.txt": "9\n100 0.1\n1500 1\n"}, dialect="homa").facts["mean_bytes"] == 1360


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("DCTCP", r"did you mean dctcp\?"),
        ("reactive", r"there are datagram, tcp"),
        ("rocev2", "the nearest is roce"),
        ("uec", "the nearest is uet"),
        ("eqds", "the nearest is uet"),
    ],
)
def test_transports_of_other_names_get_a_hint(read, name, said):
    with pytest.raises(UserError, match=said):
        read({"topo.txt": TOPO}, transport=name)


@pytest.mark.parametrize("name", ["ndp", "hpcc", "timely", "powertcp", "swift", "dctcp", "dcqcn", "roce"])
def test_import_takes_the_transports_that_compare_takes(read, name):
    (tag, fields), *others = read({"topo.txt": TOPO}, transport=name).scenario["transport"].items()
    assert not others
    assert Members().transport(name) == ({tag: fields} if fields else tag)


def test_a_transport_that_nobody_named_is_noted(read):
    note = "no file names the transport: hosts run dcqcn, one of the controls of HPCC's ns-3 code"
    found = read({"topo.txt": TOPO})
    assert any(note in said for said in found.notes)
    assert found.scenario["transport"] == {"dcqcn": {}}
    assert read({"topo.txt": TOPO}, transport="ndp").notes == []


NETWORK_OPTIONS = {"rate": "1Gbps", "delay": "1us"}


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ({"topo.txt": TOPO, "flow.txt": "1\n0 1 3 100 10000 2\n"}, NETWORK_OPTIONS),
        ({"topo.txt": TOPO}, NETWORK_OPTIONS | {"columns": "src,dst,size", "hosts": "leaves", "start_unit": "us"}),
        ({"topo.txt": TOPO}, {"dialect": "percent", "packet_bytes": 1, "interpolation": "step", "topology": "mesh"}),
        ({"topo.txt": TOPO}, {"routes": "x", "mtu": 1, "cwnd": 1, "queue": 1}),
        ({"a.cdf": "0 0\n9 100\n"}, {"transport": "tcp", "topology": "fat-tree", "rate": "1Gbps", "mtu": 9}),
        ({"flow.txt": "1\n0 1 3 100 10000 2\n"}, {"rate_unit": "bps", "start_unit": "us", "interpolation": "step"}),
        ({"a.csv": "src,dst,size\n0,1,5\n"}, {"start_unit": "us", "packet_bytes": 9, "dialect": "ns2"}),
        ({"a.csv": "src,dst,size\n0,1,5\n"}, {"columns": "a,b,rate"}),
    ],
)  # fmt: skip
def test_options_that_apply_to_nothing_are_refused(read, texts, options):
    for name, value in options.items():
        # Flows of their own need the name of a network.
        more = {} if name == "topology" or len(texts) > 1 else {"topology": "single-switch"}
        more = more if not {"topo.txt", "a.cdf"} & set(texts) else {}
        with pytest.raises(UserError, match=f"--{name.replace('_', '-')} "):
            read(texts, **({name: value} | more))


def test_a_network_that_is_taken_keeps_its_cables(read):
    with pytest.raises(UserError, match="--rate 1Gbps: the network is that of web-search-ndp"):
        read({"flow.txt": "1\n0 1 3 100 10000 2\n"}, topology="web-search-ndp", rate="1Gbps")


def test_the_page_has_the_table_of_formats():
    page = (Path(__file__).parents[2] / "docs" / "interchange.md").read_text(encoding="utf-8")
    assert "\n".join(formats.page()) in page


rows = st.lists(
    st.tuples(st.integers(0, 7), st.integers(8, 15), st.integers(1, 10**9), st.integers(0, 10**15)),
    min_size=1,
    max_size=8,
)


@given(rows, st.permutations(["src", "dst", "size", "start_ps"]), st.sampled_from(",;\t "))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_a_table_is_read_whatever_the_order_of_its_columns(flows, order, sign):
    places = [["src", "dst", "size", "start_ps"].index(name) for name in order]
    lines = [sign.join(order), *(sign.join(str(row[place]) for place in places) for row in flows)]
    reading = flow_table.Reading(columns.named(order, columns.FLOWS), skip=1)
    traffic = flow_table.read(source("\n".join(lines)), reading)
    assert sorted(row[:4] for row in flows_of(traffic)) == sorted(flows)


@given(st.lists(st.tuples(*[st.integers(0, 3000)] * 5), min_size=1, max_size=4))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_rows_are_told_only_if_no_other_order_fits(numbers):
    text = "\n".join(" ".join(map(str, row)) for row in numbers)
    try:
        told = orders.settle(source(text), None)
    except UserError:
        return
    words = [[str(number) for number in row] for row in numbers]
    fitting = [
        order
        for order in orders.ORDERS
        if order.columns.count(",") == 4 and orders._fits(order, words, None, False)
    ]
    assert [order.format for order in fitting if order.counted is not True] == [told]


def test_a_mixture_of_files_says_which_is_which(read):
    imported = read({"t.txt": TOPOLOGY, "f.csv": "src,dst,size\n2,1,30\n"})
    assert sorted(imported.formats.values()) == ["flow-table", "hpcc-topology"]
    # Nodes 1 and 2 are the hosts 0 and 1.
    assert flows(imported) == [(1, 0, 30, 0)]


def test_the_page_has_names_of_the_table_and_of_nothing_else():
    page = (Path(__file__).parents[2] / "docs" / "interchange.md").read_text(encoding="utf-8")
    section = page.partition("## Tables of flows")[2].partition("## Lists of cables")[0]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line[:1] == "|"
    ]
    shown = {
        name for row in rows[2:] for name in row[1].replace("`_id`, `_host`, `_node`", "").split("`")[1::2]
    }
    known = {name for names in columns.NAMES[columns.FLOWS].values() for name in names}
    assert shown - {"--packet-bytes"} <= known
    for names in columns.NAMES[columns.FLOWS].values():
        assert names[0] in shown


def test_hosts_go_by_their_names_in_a_list_of_cables_or_in_a_scenario(read, tmp_path):
    cables = "a,b,rate,delay\nsrv1,leaf,10Gbps,1us\nsrv2,leaf,10Gbps,1us\nsrv3,leaf,10Gbps,1us\n"
    named = "src,dst,bytes,start_us\nsrv1,srv3,3000,12.5\nsrv2,srv1,50000,20\n"
    beside = read({"links.csv": cables, "flows.csv": named}, hosts="leaves")
    assert flows(beside) == [("srv1", "srv3", 3000, 12_500_000), ("srv2", "srv1", 50000, 20_000_000)]
    (tmp_path / "net.json").write_text(json.dumps(read({"links.csv": cables}, hosts="leaves").scenario))
    of_scenario = read({"flows.csv": named}, topology=str(tmp_path / "net.json"))
    assert flows(of_scenario) == flows(beside)
    assert of_scenario.scenario["topology"] == beside.scenario["topology"]
    with pytest.raises(
        UserError, match='line 2: src is "srv1"; names need their network: give a list of cables'
    ):
        read({"flows.csv": named}, topology="single-switch")
    with pytest.raises(
        UserError, match='line 2: dst is "srv9", which is no host of the topology, such as srv1'
    ):
        read({"flows.csv": named.replace("srv3", "srv9")}, topology=str(tmp_path / "net.json"))


def test_cables_need_no_package(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    cables = "a,b,rate,delay\nh0,s,10Gbps,1us\nh1,s,10Gbps,1us\nh1,s,10Gbps,1us\n"
    explicit = read({"links.csv": cables}, hosts=["h0", "h1"]).scenario["topology"]["explicit"]
    assert explicit["hosts"] == ["h0", "h1"]
    assert explicit["cables"] == [{"ends": ["h0", "s"]}, {"ends": ["s", "h1"], "count": 2}]
    with pytest.raises(
        UserError, match="GraphML and GML need a package that is not here: pip install networkx"
    ):
        read({"network.graphml": "<graphml></graphml>"})


def test_a_table_gives_the_network_of_its_graph():
    graph = pytest.importorskip("networkx").MultiGraph()
    table = cabling.Cabling()
    ends = [("a", "b"), ("c", "d"), ("b", "d"), ("b", "a"), ("a", "c"), ("a", "b"), ("d", "c"), ("d", "b")]
    for number, (a, b) in enumerate(ends):
        graph.add_edge(a, b, rate=number)
        table.join(a, b, {"rate": number})
    assert table.by_node().edges == list(graph.edges(data=True))
