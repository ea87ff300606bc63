"""Hosts with names of their own: imported scenarios have the names, and so have flows as CSV."""

import pytest

import flowyard as fy
from flowyard import cli
from flowyard.run_json import host_names

CABLES = "a,b,rate,delay\nweb1,leaf1,10Gbps,1us\nweb2,leaf1,10Gbps,1us\ndb1,leaf1,10Gbps,1us\n"
FLOWS = "src,dst,size,start\nweb1,db1,5KB,0us\ndb1,web2,1KB,10us\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cables.csv").write_text(CABLES)
    (tmp_path / "flows.csv").write_text(FLOWS)
    return tmp_path


def test_an_imported_scenario_has_the_names(here, capsys):
    assert cli.main(["import", "cables.csv", "flows.csv", "--hosts", "leaves", "-o", "net.toml"]) == 0
    assert 'matrix.pairs = [["web1", "db1"], ["db1", "web2"]]' in (here / "net.toml").read_text()
    assert cli.main(["import", "flows.csv", "--topology", "net.toml", "-o", "again.toml"]) == 0
    assert '["web1", "db1"]' in (here / "again.toml").read_text()
    assert fy.run("net.toml").summary["traffic_digest"] == fy.run("again.toml").summary["traffic_digest"]
    # The table on disk has numbers, and its CSV has the names besides.
    fy.run("net.toml").save("run")
    assert "src_name" not in fy.open_run("run").flows.columns
    capsys.readouterr()
    assert cli.main(["show", "run", "--csv", "flows"]) == 0
    head, *rows = (line.split(",") for line in capsys.readouterr().out.splitlines())
    assert head[-2:] == ["src_name", "dst_name"]
    assert [row[-2:] for row in rows] == [["web1", "db1"], ["db1", "web2"]]


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        ({"explicit": {"hosts": ["web1", "7"]}}, ["web1", "7"]),
        ({"explicit": {"hosts": ["host 0", "host 4"]}}, None),
        ({"explicit": {"hosts": ["0", "1"]}}, None),
        ({"explicit": {"hosts": 4}}, None),
        ({"single-switch": {"hosts": 4}}, None),
        ("fat-tree", None),
    ],
)
def test_names_that_say_no_more_than_numbers_are_none(topology, expected):
    assert host_names({"topology": topology}) == expected


def test_flows_of_hosts_without_names_have_no_more_columns(tmp_path, capsys):
    entry = {"name": "a", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": "1KB"}}
    scenario = {"topology": {"single-switch": {"hosts": 2}}, "transport": "ndp", "traffic": [entry]}
    folder = fy.run(scenario).save(tmp_path / "run")
    assert cli.main(["show", str(folder), "--csv", "flows"]) == 0
    assert "src_name" not in capsys.readouterr().out
