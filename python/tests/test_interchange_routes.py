"""Paths of flows from a list beside a .cm file: where packets go, and lines that are refused."""

import polars as pl
import pytest

import flowyard as fy
from flowyard import interchange
from flowyard.errors import UserError

CM = """\
Nodes 16
Connections 4
0->2 id 7 start 5 size 2000
4->13 start 1 size 2000
0->2 id 8 start 2 size 4000
2->0 start 9
"""
OPTIONS = {"start_unit": "us", "topology": "fat-tree", "transport": "tcp"}


def imported(tmp_path, text, cm=CM, **options):
    for name, content in (("matrix.cm", cm), ("paths.txt", text)):
        (tmp_path / name).write_text(content)
    return interchange.read([tmp_path / "matrix.cm"], routes=tmp_path / "paths.txt", **OPTIONS | options)


def test_flows_take_the_paths_of_the_list(tmp_path):
    found = imported(
        tmp_path,
        """\
        # the same hosts, another aggregation switch
        id 7: host 0, pod 0 edge 0, pod 0 aggregation 1, pod 0 edge 1, host 2

        line 5: 0, 16, 24, 17, 2   # by numbers
        line 6: 2, 17, 25, 16, 0
        """,
    )
    first, second, endless = (
        (route["path"][2], route["taken_by"])
        for route in found.scenario["routing"]["balancer"]["explicit"]["routes"]
    )
    # By start, the connection at line 4 is flow 0, id 8 flow 1, id 7 flow 2.
    assert first == ("pod 0 aggregation 1", {"traffic": "flows", "flows": [2]})
    assert second == ("pod 0 aggregation 0", {"traffic": "flows", "flows": [1]})
    assert endless == ("pod 0 aggregation 1", {"traffic": "background", "flows": [0]})
    assert found.facts["routes"] == 3
    assert 'paths.txt go as under "per-flow": 1 of 4' in " ".join(found.notes)
    scenario = found.scenario | {"traffic": found.scenario["traffic"][:1]}
    scenario["routing"]["balancer"]["explicit"]["routes"].pop()
    links = pl.DataFrame(fy.run(scenario).links).filter(pl.col("from") == "pod 0 edge 0")
    packets = dict(links.select("to", "packets").iter_rows())
    # 2 and 3 segments of 1460 B, each with a SYN before it.
    assert (packets["pod 0 aggregation 1"], packets["pod 0 aggregation 0"]) == (3, 4)


def test_flows_that_wait_are_numbered_as_listed(tmp_path):
    cm = """\
Nodes 16
Connections 2
Triggers 1
0->2 id 1 trigger 1 size 2000
4->0 id 2 start 0 size 2000 send_done_trigger 1
trigger id 1 oneshot
"""
    found = imported(tmp_path, "id 1: 0, 16, 24, 17, 2\nid 1: 0, 16, 25, 17, 2\n", cm)
    routes = found.scenario["routing"]["balancer"]["explicit"]["routes"]
    assert [route["taken_by"]["flows"] for route in routes] == [[0], [0]]
    fy.check(found.scenario)


def test_a_path_that_several_flows_take_is_written_once(tmp_path):
    found = imported(tmp_path, "id 7: 0, 16, 24, 17, 2\nid 8: 0, 16, 24, 17, 2\n")
    (route,) = found.scenario["routing"]["balancer"]["explicit"]["routes"]
    assert route["taken_by"]["flows"] == [1, 2]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0, 16, 24, 17, 2", 'has no colon; must be such as "id 1: host 0, switch, host 2"'),
        ("flow 7: 0, 16, 24, 17, 2", '"flow 7" names no connection; must be such as "id 1" or "line 4"'),
        ("id x: 0, 16, 24, 17, 2", 'id is "x"; must be a whole number, 0 or more'),
        ("id 9: 0, 16, 24, 17, 2", r"in .*matrix.cm no connection has the id 9"),
        ("line 2: 0, 16, 24, 17, 2", r"in .*matrix.cm line 2 is no connection"),
        (
            "id 7: 0, 16, 24, 36, 2",
            '"36" is no node of the network; give a name, such as "core 3", or .* 0 to 35',
        ),
        ("id 7: 0, 16, , 17, 2", '"" is no node of the network'),
        ("id 7: 0", "a path of 1 nodes; a path has between 2 and 250"),
        (
            "id 7: 0, 16, 1",
            'the path leads from "host 0" to "host 1", the connection from "host 0" to "host 2"',
        ),
        ("id 7: 0, 16, 24, 16, 24, 17, 2", '"pod 0 edge 0" is on the path already'),
        (
            "id 7: 0, 16, 17, 2",
            'there is no cable from "pod 0 edge 0" to "pod 0 edge 1"; its cables lead to "host 0"',
        ),
        ("line 5: 0, 16, 24, 17, 2", "is the path of line 1 once more"),
    ],
)
def test_bad_lines_are_refused_by_file_and_line(tmp_path, line, said):
    with pytest.raises(UserError, match=rf"paths\.txt, line 2: {said}"):
        imported(tmp_path, f"id 8: 0, 16, 24, 17, 2\n{line}\n")


def test_a_list_needs_a_connection_matrix(tmp_path):
    with pytest.raises(UserError, match=r"paths\.txt: has no path"):
        imported(tmp_path, "# nothing\n")
    (tmp_path / "flow.txt").write_text("1\n0 1 3 100 1000 0.1\n")
    with pytest.raises(UserError, match=r"has the paths of a \.cm file's flows; name that file, too"):
        interchange.read([tmp_path / "flow.txt"], routes=tmp_path / "paths.txt", topology="single-switch")
