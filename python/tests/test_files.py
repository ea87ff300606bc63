"""Files that a scenario names: seen from its folder, and put into what the run records."""

import json
from pathlib import Path

import pytest

import flowyard
from flowyard import _native

TABLE = "0 0\n1000 50\n3000 100\n"
SCENARIO = """
topology = "single-switch"
transport = "datagram"
[[traffic]]
name = "flows"
arrivals = "at-once"
matrix = "permutation"
sizes.cdf = { file = "tables/sizes.txt" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario in a folder that is not the current one, its table below it."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "sizes.txt").write_text(TABLE)
    path = tmp_path / "run.toml"
    path.write_text(SCENARIO)
    return path


def test_a_file_is_seen_from_the_folder_of_the_scenario(scenario: Path) -> None:
    result = flowyard.run(scenario)
    (entry,) = result.summary["scenario"]["traffic"]
    assert entry["sizes"] == {"cdf": {"points": [[0, 0.0], [1000, 50.0], [3000, 100.0]]}}
    assert result.summary["traffic"][0]["mean_size_bytes"] == 0.5 * 500 + 0.5 * 2000
    # What the run recorded runs alone, and is the same run.
    (scenario.parent / "tables" / "sizes.txt").unlink()
    assert flowyard.run(result.summary["scenario"]).summary["digest"] == result.summary["digest"]


def test_plain_data_sees_files_from_the_current_folder(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"cdf": {"file": "sizes.txt", "interpolation": "step"}}
    entry = {"name": "flows", "arrivals": "at-once", "matrix": "permutation", "sizes": sizes}
    data = {"topology": "single-switch", "transport": "datagram", "traffic": [entry]}
    with pytest.raises(flowyard.ScenarioError, match=r'sizes.cdf.file: "sizes.txt": No such file'):
        flowyard.check(data)
    monkeypatch.chdir(scenario.parent / "tables")
    points = flowyard.check(data)["traffic"][0]["sizes"]["cdf"]["points"]
    assert points == [[1000, 50.0], [3000, 50.0], [3000, 100.0]]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\xfe", "not UTF-8 text"),
        (b"0 0\n5 60\n4 100\n", "line 3: size 4 comes after 5; sizes ascend"),
        (b"0" * (16 << 20) + b"0", "has more than 16 MiB"),
    ],
)
def test_a_bad_file_is_named(scenario: Path, content: bytes, why: str) -> None:
    (scenario.parent / "tables" / "sizes.txt").write_bytes(content)
    with pytest.raises(flowyard.ScenarioError) as error:
        flowyard.check(scenario)
    assert str(error.value) == f'traffic.flows.sizes.cdf.file: "tables/sizes.txt": {why}'


def test_a_folder_is_no_file(scenario: Path) -> None:
    with pytest.raises(flowyard.ScenarioError, match=r'"tables": Is a directory'):
        flowyard.check(scenario, {"traffic.flows.sizes": {"cdf": {"file": "tables"}}})


def test_a_table_can_be_read_alone() -> None:
    read = json.loads(_native.read_cdf("6 1 0.5\n10 1 1", "a.cdf", packet_bytes=1460))
    points = [[8760, 50.0], [14600, 100.0]]
    mean = 0.5 * 8760 + 0.5 * 11680
    assert read == {"points": points, "mean_bytes": mean, "dialect": "ns2", "interpolation": "linear"}
    with pytest.raises(ValueError, match=r"a.cdf: line 1: .*give it: \"percent\""):
        _native.read_cdf("6 50", "a.cdf")
    with pytest.raises(ValueError, match=r'a.cdf: dialect is "hpcc"'):
        _native.read_cdf("6 50", "a.cdf", "hpcc")
