"""Paths by the ECMP of HPCC's code: its hash, the order of next hops, ports of flows, and where packets go."""

import polars as pl
import pytest

import flowyard as fy
from flowyard import interchange
from flowyard.errors import UserError
from flowyard.interchange.hpcc_ecmp import murmur3

# Hosts 0 and 1 at switch 4, 2 and 3 at switch 5, and two switches above.
TOPOLOGY = """\
8 4 8
4 5 6 7
0 4 100Gbps 1us 0
1 4 100Gbps 1us 0
2 5 100Gbps 1us 0
3 5 100Gbps 1us 0
4 6 100Gbps 1us 0
4 7 100Gbps 1us 0
5 6 100Gbps 1us 0
5 7 100Gbps 1us 0
"""
# Three flows of a pair with one of another entry between them, and one below one switch.
FLOWS = """\
5
0 2 3 100 10000 2
1 2 3 200 20000 2
0 2 3 100 30000 2.00001
0 2 3 100 40000 2.00002
0 1 3 100 50000 2.00003
"""


def imported(tmp_path, flows=FLOWS, ecmp="hpcc", **options):
    for name, text in (("topology.txt", TOPOLOGY), ("flow.txt", flows)):
        (tmp_path / name).write_text(text)
    return interchange.read([tmp_path / "topology.txt", tmp_path / "flow.txt"], ecmp=ecmp, **options)


def ways(found):
    """The upper switch of each flow and of its answers; none below one switch."""
    found = found.scenario["routing"]["balancer"]["explicit"]["routes"]
    return {
        (route["taken_by"]["traffic"], flow, *(int(route["path"][end].split()[1]) for end in (0, -1))): [
            int(node.split()[1]) for node in route["path"][2:-2]
        ]
        for route in found
        for flow in route["taken_by"]["flows"]
    }


def test_the_hash_is_that_of_the_code():
    """Values of its `EcmpHash`, compiled by itself: addresses and ports of data and answers, seeds 4 and 5."""
    words = [0x0B000001, 0x0B000201, 10000 | 100 << 16]
    assert [murmur3(words, seed) for seed in (4, 5)] == [65455076, 406177142]
    words = [0x0B000201, 0x0B000101, 200 | 10000 << 16]
    assert [murmur3(words, seed) for seed in (4, 5)] == [382501350, 1182959977]
    assert murmur3([0xFFFFFFFF] * 3, 0xFFFFFFFF) == 2423238658


def test_paths_of_hpcc(tmp_path):
    """By its values for the ports 10000, 10001 and 10002 of the pair: even ones take switch 7, which comes first."""
    data = {0: 65455076, 1: 4065090114, 2: 2526741446}
    answers = {0: 2453573984, 1: 3833559471, 2: 3419258299}
    upper = lambda value: [7 - value % 2]  # noqa: E731
    found = ways(imported(tmp_path))
    for number in data:
        assert found["normal", number, 0, 2] == upper(data[number])
        assert found["normal", number, 2, 0] == upper(answers[number])
    assert found["incast", 0, 1, 2] == upper(602968537)
    assert found["incast", 0, 2, 1] == upper(1182959977)
    assert found["normal", 3, 0, 1] == []
    assert len(found) == 10


def test_paths_of_conweave(tmp_path):
    """The first flow of a source has the same ports, and the first switch of the file stands first."""
    flows = "1\n0 2 3 10000 2\n"
    found = imported(tmp_path, flows, "conweave", formats=["hpcc-topology", "conweave-flow"])
    assert ways(found) == {("flows", 0, 0, 2): [6], ("flows", 0, 2, 0): [6]}


def test_packets_take_them(tmp_path):
    found = imported(tmp_path)
    run = fy.run(found.scenario, {"run.audit": True})
    assert (run.status, run.violations) == ("complete", [])
    links = pl.DataFrame(run.links).filter(pl.col("from") == "switch 4")
    packets = dict(links.select("to", "packets").iter_rows())
    # Of 1000 B each: three flows by switch 7, one by switch 6; answers of others come back by these.
    assert packets["switch 7"] == 10 + 30 + 40
    assert packets["switch 6"] == 20
    back = pl.DataFrame(run.links).filter((pl.col("from") == "switch 5") & (pl.col("to") == "switch 7"))
    assert back["packets"].to_list() == [10]


def test_what_it_needs(tmp_path):
    (tmp_path / "flow.txt").write_text(FLOWS)
    with pytest.raises(
        UserError, match=r"--ecmp hpcc: the hash is of the numbers of nodes; name the topology\.txt"
    ):
        interchange.read([tmp_path / "flow.txt"], ecmp="hpcc", topology="single-switch")
    with pytest.raises(UserError, match='--ecmp is "toeplitz"; it is one of hpcc, conweave'):
        imported(tmp_path, ecmp="toeplitz")
    (tmp_path / "matrix.cm").write_text("Nodes 2\nConnections 1\n0->1 start 0 size 9\n")
    with pytest.raises(UserError, match=r"--ecmp hpcc does not apply to .*matrix\.cm"):
        interchange.read([tmp_path / "matrix.cm"], ecmp="hpcc", topology="single-switch")
