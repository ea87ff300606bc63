"""The compiled half: what the stubs promise is there, and nothing else."""

import ast
import json

import pytest
from conftest import ROOT

from flowyard import _native


def test_the_stubs_name_what_is_there():
    stubs = ast.parse((ROOT / "python" / "flowyard" / "_native.pyi").read_text())
    named = {node.name for node in stubs.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert named == {name for name in dir(_native) if not name.startswith("_")}


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match='format is "yaml"; use "toml" or "json"'):
        _native.Checked("", "yaml", ".", [])


SCENARIO = json.dumps(
    {
        "topology": {"dumbbell": {"hosts": 2}},
        "transport": "tcp",
        "traffic": [
            {"name": "few", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "10KB"}}
        ],
    }
)
LINK = json.dumps(
    {"generation": {"list": [{"size": 2, "deadline": 9}, {"size": 3, "deadline": 9}]}, "discipline": "fcfs"}
)


def test_a_fabric_needs_the_topology_alone_and_names_what_is_wrong_there():
    alone = json.dumps({"topology": json.loads(SCENARIO)["topology"], "transport": "no such"})
    fabric = _native.Fabric(alone, "json", [])
    whole = _native.Checked(SCENARIO, "json", ".", []).fabric()
    assert fabric.graph() == whole.graph()
    assert fabric.survey() == whole.survey()
    graph = json.loads(fabric.graph())
    assert [node["name"] for node in graph["nodes"] if node["host"]] == [f"host {i}" for i in range(4)]
    # Four hosts' cables, and the one in the middle.
    assert len(graph["links"]) == 2 * 5
    with pytest.raises(_native.ScenarioError) as raised:
        _native.Fabric(alone, "json", [("topology.dumbbell.hosts", "0")])
    assert [problem["path"] for problem in raised.value.problems] == ["topology.dumbbell.hosts"]


def test_a_slotted_configuration_is_one_object_for_check_and_run():
    link = _native.Slotted(LINK, "json", [])
    resolved = json.loads(link.resolved())
    assert list(resolved["discipline"]) == ["fcfs"]
    flows, schedule, summary = link.run()
    assert (len(flows), len(schedule), json.loads(summary)["config"]) == (2, 0, resolved)
    # Two flows without a gap: a segment each.
    assert len(link.run(schedule=True)[1]) == 2
    assert json.loads(link.resolved()) == resolved, "a run changes nothing"
    with pytest.raises(_native.ScenarioError, match="discipline"):
        _native.Slotted(LINK, "json", [("discipline", "none")])
