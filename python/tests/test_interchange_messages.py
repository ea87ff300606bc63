"""Messages on one connection in a .cm file (`msg`): kept connections here, and what is refused."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interchange_examples import flows_of, source

import flowyard as fy
from flowyard import cli, interchange
from flowyard.errors import UserError
from flowyard.interchange import htsim_cm, transports
from flowyard.member_names import members

# test_cr_1f10m1p.cm of ultraethernet/uet-htsim, with three messages, one of them with a number, and a flow beside them.
CM = """\
Nodes 4
Connections 4
Triggers 0
0->1 id 1 msg start 0 size 4086
0->1 id 1 msg 7 start 0 size 4086
2->3 id 2 start 0 size 4086
0->1 id 1 msg start 0 size 4086
"""


def read(tmp_path, text=CM, **given):
    (tmp_path / "m.cm").write_text(text)
    return interchange.read([tmp_path / "m.cm"], topology="single-switch", **given)


def test_messages_share_a_connection(tmp_path):
    found = read(tmp_path, transport="tcp")
    alone, messages = found.scenario["traffic"]
    assert (alone["name"], alone["matrix"], "connection" in alone) == ("flows", {"pairs": [[2, 3]]}, False)
    assert (messages["name"], messages["connection"]) == ("messages", "kept")
    assert messages["matrix"]["pairs"] == [[0, 1]] * 3
    assert any(note.startswith("3 messages (msg) share") for note in found.notes)
    # One handshake: the messages leave one behind the other.
    run = fy.run(found.scenario, {"run.audit": True})
    assert (run.status, run.violations) == ("complete", [])
    flows = pl.DataFrame(run.flows).filter(pl.col("tag") == "messages")
    assert flows["fct_ps"].is_sorted()
    assert flows["fct_ps"].n_unique() == 3


def test_nobody_guesses_the_transport_of_messages(tmp_path):
    with pytest.raises(
        UserError, match=r"line 4: msg is .* --transport tcp, mptcp, parallel-tcp or uet keeps"
    ):
        read(tmp_path)
    found = read(tmp_path, transport="ndp")
    (entry,) = found.scenario["traffic"]
    assert "connection" not in entry
    assert len(entry["matrix"]["pairs"]) == 4
    assert any("3 messages (msg) are flows of their own" in note for note in found.notes)


def test_the_transports_that_keep_connections_are_those_of_the_engine(tmp_path):
    found = read(tmp_path, transport="tcp").scenario
    for transport in members(fy.results.schema()["$defs"]["Transport"]):
        if transport == "python":
            continue
        problem = ""
        try:
            fy.check(found | {"transport": transport})
        except fy.ScenarioError as error:
            problem = str(error)
        assert ('"kept" is not for' in problem) == (transport not in transports.KEEPING), transport


def test_several_connections_of_a_pair_go_to_different_entries(tmp_path):
    text = (
        "Nodes 3\nConnections 5\n"
        "0->1 id 1 msg start 0 size 10\n0->1 id 2 msg start 0 size 20\n0->1 id 1 msg start 0 size 30\n"
        "0->1 id 2 msg start 0 size 40\n1->2 id 3 msg start 0 size 50\n"
    )
    first, second = read(tmp_path, text, transport="tcp").scenario["traffic"]
    assert (first["name"], first["sizes"]["list"]) == ("messages", [10, 30, 50])
    assert (second["name"], second["sizes"]["list"]) == ("messages-2", [20, 40])


TRIGGERED = """\
Nodes 4
Connections 4
Triggers 1
0->1 id 1 msg start 0 size 10 recv_done_trigger 1
1->2 id 2 trigger 1 size 20
0->1 id 1 msg start 0 size 30
{}
trigger id 1 oneshot
"""


def test_what_triggers_join_stays_in_one_entry(tmp_path):
    found = read(tmp_path, TRIGGERED.format("2->3 id 3 start 0 size 40"), transport="tcp")
    alone, messages = found.scenario["traffic"]
    assert (alone["sizes"]["list"], messages["sizes"]["list"]) == ([40], [10, 20, 30])
    run = fy.run(found.scenario, {"run.audit": True})
    assert (run.status, run.violations) == ("complete", [])
    with pytest.raises(
        UserError, match=r"line 7: is another connection from 0 to 1 than that of line 4, .* same id"
    ):
        read(tmp_path, TRIGGERED.format("0->1 id 3 trigger 1 size 40"), transport="tcp")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("0->1 msg start 0 size 9", 'line 3: a message needs the id of its connection, as in "0->1 id 1 msg'),
        ("0->1 id 1 msg start 0", "line 3: a message needs a size of a byte or more"),
        ("0->1 id 1 msg 0 start 0 size 9", 'line 3: msg is "0"; must be a whole number, 1 or more'),
        ("0->1 id 1 msg msg start 0 size 9", "line 3: msg is given a second time"),
        ("0->1 id 1 msg x start 0 size 9", 'line 3: "x" is not a part of a connection; parts are id, msg,'),
        ("0->1 id 1 msg start 0 size 9\n0->1 id 1 start 0 size 9",
         "line 4: id 1 is also that of line 3; ids are unique, but for messages"),
        ("0->1 id 1 msg start 0 size 9\n1->0 id 1 msg start 0 size 9",
         "line 4: the connection 1 of line 3 is 0->1, and a message on it goes the same way"),
        ("0->1 id 1 start 0\n0->1 id 1 msg start 0 size 9", "line 3: a message needs a size"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(lines, said):
    text = f"Nodes 2\nConnections {lines.count('->')}\n{lines}\n"
    with pytest.raises(UserError) as raised:
        htsim_cm.read(source(text))
    assert said in str(raised.value)


def test_the_line_that_opens_a_connection_may_do_without_msg():
    text = "Nodes 2\nConnections 2\n0->1 id 1 start 0 size 9\n0->1 id 1 msg start 0 size 8\n"
    (entry,) = htsim_cm.read(source(text)).entries
    assert (entry.kept, entry.size_bytes) == (True, [9, 8])


def test_a_path_is_that_of_all_messages_of_a_connection(tmp_path):
    text = CM.replace("Nodes 4", "Nodes 16").replace("2->3", "2->4")
    (tmp_path / "m.cm").write_text(text)
    for named, place in (("id 1", "messages"), ("line 5", "messages"), ("id 2", "flows")):
        ends = ("host 0", "host 1") if place == "messages" else ("host 2", "host 4")
        middle = (
            ", pod 0 edge 0, " if place == "messages" else ", pod 0 edge 1, pod 0 aggregation 0, core 0, "
        )
        if place == "flows":
            middle += "pod 1 aggregation 0, pod 1 edge 0, "
        (tmp_path / "paths.txt").write_text(f"{named}: {ends[0]}{middle}{ends[1]}\n")
        found = interchange.read(
            [tmp_path / "m.cm"], topology="fat-tree", transport="tcp", routes=tmp_path / "paths.txt"
        )
        (route,) = found.scenario["routing"]["balancer"]["explicit"]["routes"]
        assert route["taken_by"] == {"traffic": place, "flows": [0, 1, 2] if place == "messages" else [0]}


@st.composite
def matrices(draw):
    """A file with messages on up to four connections, and flows beside them."""
    lines = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        pair = draw(st.sampled_from(["0->1", "1->0", "2->3"]))
        alone = draw(st.booleans())
        for _ in range(1 if alone else draw(st.integers(1, 4))):
            start, size = draw(st.integers(0, 10**9)), draw(st.integers(1, 10**6))
            lines.append(f"{pair} id {number} {'' if alone else 'msg '}start {start} size {size}")
    return "\n".join(["Nodes 4", f"Connections {len(lines)}", *draw(st.permutations(lines))]) + "\n"


def connections(matrix):
    """The flows of each connection, without the names of entries."""
    found = []
    for entry in matrix.entries:
        pairs = sorted(set(zip(entry.src, entry.dst, strict=True)))
        rows = flows_of(htsim_cm.Matrix([entry]))
        found += (
            [[row for row in rows if row[:2] == pair] for pair in pairs]
            if entry.kept
            else [[row] for row in rows]
        )
    return sorted(found)


@given(matrices())
@settings(derandomize=True, max_examples=60, deadline=None)
def test_messages_come_back(text):
    matrix = htsim_cm.read(source(text), start_unit="ps")
    written, notes = htsim_cm.write(matrix, 4)
    unit = "us" if "msg" in written else "ps"
    assert any(f"--start-unit {unit}" in note for note in notes)
    assert connections(htsim_cm.read(source(written), start_unit=unit)) == connections(matrix)


def test_kept_connections_are_exported_as_messages(tmp_path, capsys):
    (tmp_path / "s.json").write_text(json.dumps(read(tmp_path, transport="tcp").scenario))
    assert (
        cli.main(["export", str(tmp_path / "s.json"), "--to", "htsim-cm", "-o", str(tmp_path / "again.cm")])
        == 0
    )
    assert "are written as messages (msg), for htsim_uec -conn_reuse" in capsys.readouterr().out
    assert (tmp_path / "again.cm").read_text().count(" msg start 0 size 4086") == 3
    notes = interchange.export(tmp_path / "s.json", "hpcc-flow").notes
    assert any(note.startswith("kept connections (messages) are not written") for note in notes)
