"""`flowyard topology`: counts and picture of a network."""

import json
import re
import resource
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from flowyard import topology
from flowyard.cli import main
from flowyard.errors import UserError
from flowyard.folders import write_new
from flowyard.topology import picture
from flowyard.topology.picture import svg


def test_counts_follow_the_graph():
    network = topology.network({"topology": {"fat-tree": {"k": 4}}})
    assert network.kind == "fat-tree"
    assert network.tiers() == ["host", "edge", "aggregation", "core"]
    assert network.ports() == {
        "host": (16, 1, 1),
        "edge": (8, 4, 4),
        "aggregation": (8, 4, 4),
        "core": (4, 4, 4),
    }
    kinds = {kind[:2]: number for kind, number in network.cable_kinds().items()}
    assert kinds == {("host", "edge"): 16, ("edge", "aggregation"): 16, ("aggregation", "core"): 16}
    assert sum(network.cable_kinds().values()) == len(network.cables) == 48


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the limit holds")
@pytest.mark.parametrize(("words", "code"), [((), 0), (("--json",), 0), (("-o", "x.svg"), 2)])
def test_counts_need_no_picture(words, code, small):
    # Below such a limit the engine that draws ends the process.
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # noqa: E731
    done = subprocess.run(
        [sys.executable, "-m", "flowyard", "topology", str(small), *words],
        cwd=small.parent,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert (done.returncode, list(small.parent.iterdir())) == (code, [small]), done.stderr
    assert (
        "no picture: its engine reserves 72.0 GiB of address space, and this process may have 4.0"
        in done.stderr
    )
    if "--json" in words:
        assert json.loads(done.stdout)["picture"] is None
    else:
        assert "single-switch" in done.stdout


def test_survey_says_what_is_exact():
    found = topology.survey({"topology": {"fat-tree": {"k": 4, "rate": "10Gbps"}}})
    assert found["bisection"]["exact"]
    assert found["bisection"]["bps"] == 80e9
    assert [row["paths_max"] for row in found["paths"]["distances"]] == [1, 2, 4]
    found = topology.survey({"topology": {"dcell": {"n": 4, "k": 1}}})
    assert not found["bisection"]["exact"]
    assert "upper bound" in found["bisection"]["how"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"fat-tree": {"k": 4}},
        {"fat-tree": {"k": 12}},  # hosts as numbers
        {"fat-tree": {"k": 32}},  # a box a tier
        {"bcube": {"n": 4, "k": 1}},
        {"dcell": {"n": 4, "k": 1}},
        {"camcube": {"x": 3, "y": 3, "z": 3}},
        {"single-switch": {"hosts": 5}},
        {"relay": {}},
    ],
)
def test_every_kind_of_picture_is_well_formed(parameters):
    network = topology.network({"topology": parameters})
    text = svg(network, "a <title> & more")
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    words = " ".join(root.itertext())
    assert "a <title> & more" in words
    assert f"{network.hosts:,} hosts" in words
    assert "NaN" not in text
    # Narrower windows and pages shrink it.
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert root.get("style") == "max-width: 100%; height: auto"
    # As many squares as nodes where all are drawn.
    if len(network.nodes) <= 60:
        squares = [
            path
            for path in root.iter("{http://www.w3.org/2000/svg}path")
            if path.get("aria-roledescription") == "square"
        ]
        assert len(squares) == len(network.nodes)


def test_a_torus_is_drawn_as_a_cube_with_stubs_where_cables_go_around():
    network = topology.network({"topology": {"camcube": {"x": 4, "y": 3, "z": 3}}})
    dashed = re.findall(r'stroke-dasharray="3,3"', svg(network, "torus"))
    # A cable around for each line of hosts along each side, with a stub at both ends.
    assert len(dashed) == 2 * (3 * 3 + 4 * 3 + 4 * 3)


def test_the_verb_prints_counts_and_writes_a_picture(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Nothing but a topology is needed.
    (tmp_path / "net.toml").write_text("[topology.fat-tree]\nk = 4\n")
    assert main(["topology", "net.toml"]) == 0
    printed = capsys.readouterr().out
    assert "aggregation-core" in printed
    assert "80.0\N{NO-BREAK SPACE}Gbps" in printed
    # All of it over eight hosts.
    assert re.search("bisection per host +10.0\N{NO-BREAK SPACE}Gbps, for half of the hosts", printed)
    assert (tmp_path / "out/net-topology-1.svg").exists()
    assert main(["topology", "net.toml", "--set", "topology.fat-tree.k=6", "--json", "-o", "six.svg"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["tiers"]["host"]["nodes"] == 54
    assert answer["picture"] == "six.svg"
    assert main(["topology", "net.toml", "-o", "six.svg"]) == 2
    # A name that ends in .png gets what it promises.
    assert main(["topology", "net.toml", "-o", "four.PNG"]) == 0
    assert (tmp_path / "four.PNG").read_bytes().startswith(b"\x89PNG\r\n")
    assert "is already there" in capsys.readouterr().err


def test_the_verb_as_a_command(flowyard, tmp_path):
    (tmp_path / "net.toml").write_text("[topology.fat-tree]\nk = 4\n")
    done = flowyard("topology", "net.toml", "--output", "four.svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert "aggregation-core" in done.stdout
    assert ET.parse(tmp_path / "four.svg").getroot().tag.endswith("svg")
    done = flowyard("topology", "net.toml", "--output", "four.svg")
    assert (done.returncode, done.stdout) == (2, "")
    assert "four.svg: is already there" in done.stderr


def test_mistakes_in_the_topology_are_told(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.toml").write_text("[topology.fat-tree]\nk = 7\n")
    assert main(["topology", "net.toml"]) == 2
    assert "7 is odd" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("k=4", "k: unknown key"),
        ("nonsense.x=4", "nonsense: unknown key"),
        ("transport.tcp.foo=1", "transport.tcp.foo: unknown key"),
        ("topology.fat-tree.spines=4", "topology.fat-tree.spines: unknown key"),
    ],
)
def test_an_override_of_no_field_is_refused(key, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Without traffic and transport, whose absence is no matter of the picture.
    (tmp_path / "net.toml").write_text("[topology.fat-tree]\nk = 4\n")
    assert main(["topology", "net.toml", "--set", key]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "is missing" not in error
    assert not (tmp_path / "out").exists()
    # One of another part that a run would take changes nothing of the network.
    assert main(["topology", "net.toml", "--set", "run.seed=3"]) == 0


def test_new_files_take_the_first_free_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = [str(write_new("a", None, numbered="net", suffix=".svg")) for _ in range(3)]
    assert places == ["out/net-1.svg", "out/net-2.svg", "out/net-3.svg"]
    with pytest.raises(UserError, match="is already there"):
        write_new("b", tmp_path / "out/net-1.svg", numbered="", suffix="")


def explicit(switches, cables):
    """A network of nodes that are named in the scenario, all switches of one tier."""
    hosts = sorted({end for cable in cables for end in cable} - set(switches))
    return topology.network(
        {
            "topology": {
                "explicit": {
                    "rate": "10Gbps",
                    "delay": "1us",
                    "hosts": hosts,
                    "switches": [{"name": name} for name in switches],
                    "cables": [{"ends": list(cable)} for cable in cables],
                }
            }
        }
    )


def drawn(network):
    """The height of each named node, and the points of bent cables by their number."""
    values = picture.chart(network, "a").to_dict(validate=False)["datasets"].values()
    heights = {row["name"]: row["y"] for rows in values for row in rows if "name" in row}
    bent: dict[str, list[tuple[float, float]]] = {}
    for row in (row for rows in values for row in rows if "step" in row):
        bent.setdefault(row["cable"], []).append((row["x"], row["y"]))
    return heights, bent


def test_names_of_a_row_that_would_touch_stand_in_two_lines():
    def row(count, name="host {}"):
        return [{"name": name.format(i), "x": (i + 0.5) / count, "y": 0} for i in range(count)]

    # 1200 pixels: 16 hosts have 75 each, 32 have 37, and "host 31" takes 42.
    assert picture.lines_of_names(row(16)) == [row(16)]
    assert picture.lines_of_names(row(32)) == [row(32)[::2], row(32)[1::2]]
    assert [len(line) for line in picture.lines_of_names(row(32, "rack 1 host {}"))] == [11, 11, 10]
    # Nodes of other rows are not in the way.
    apart = [node | {"y": i} for i, node in enumerate(row(32))]
    assert len(picture.lines_of_names(apart)) == 1


def test_without_tiers_rows_are_by_distance_from_the_hosts():
    cables = [("a", "l1"), ("b", "l2"), ("l1", "s1"), ("l1", "s2"), ("l2", "s1"), ("l2", "s2")]
    network = explicit(["l1", "s1", "s2", "l2"], cables)
    heights, bent = drawn(network)
    assert heights == {"a": 0, "b": 0, "l1": 0.5, "l2": 0.5, "s1": 1, "s2": 1}
    assert not bent
    assert "level 2" in svg(network, "a")
    # Tables keep the tiers of the file.
    assert network.tiers() == ["host", "switch"]
    assert network.distances() == {0: 0, 1: 0, 2: 1, 5: 1, 3: 2, 4: 2}


def test_tiers_of_the_file_stay():
    nodes = {"switches": [{"name": "l1", "tier": "leaf"}, {"name": "s1", "tier": "spine"}]}
    ends = [("a", "l1"), ("b", "l1"), ("l1", "s1")]
    network = topology.network(
        {
            "topology": {
                "explicit": {
                    "rate": "1Gbps",
                    "delay": "1us",
                    "hosts": ["a", "b"],
                    "cables": [{"ends": list(pair)} for pair in ends],
                    **nodes,
                }
            }
        }
    )
    assert "level" not in svg(network, "a")


def test_a_cable_bends_round_a_node_on_its_way():
    cables = [("a", "s1"), ("b", "s2"), ("c", "s3"), ("s1", "s2"), ("s2", "s3"), ("s1", "s3")]
    _, bent = drawn(explicit(["s1", "s2", "s3"], cables))
    # Of the three in one row only that from end to end has a node between.
    ((_, points),) = bent.items()
    assert points[0] == pytest.approx((1 / 6, 1))
    assert points[-1] == pytest.approx((5 / 6, 1))
    middle = points[len(points) // 2]
    assert middle[0] == pytest.approx(0.5)
    assert abs(middle[1] - 1) * picture.HEIGHT > 2 * picture.NEAR


def test_a_fabric_of_regular_tiers_has_no_bent_cable():
    _, bent = drawn(topology.network({"topology": {"fat-tree": {"k": 4}}}))
    assert not bent


def test_the_legend_has_the_rates_of_cables_and_widths_tell_them_apart():
    explicit = {
        "hosts": ["a", "b", "c"],
        "switches": [{"name": "s"}, {"name": "t"}],
        "delay": "1us",
        "rate": "10Gbps",
        "cables": [
            {"ends": ["a", "s"]},
            {"ends": ["b", "s"], "count": 2},
            {"ends": ["c", "t"]},
            {"ends": ["s", "t"], "rate": "40Gbps"},
        ],
    }
    drawn = picture.chart(topology.network({"topology": {"explicit": explicit}}), "net").to_dict()
    width = drawn["layer"][0]["encoding"]["strokeWidth"]
    assert width["scale"]["domain"] == ["10.0\u00a0Gbps", "2 cables of 10.0\u00a0Gbps", "40.0\u00a0Gbps"]
    assert width["legend"]["orient"] == "top"
    one, two, fast = width["scale"]["range"]
    assert one < two < fast
    assert fast - one >= 2


def test_a_picture_without_cables_is_drawn():
    assert picture.svg(topology.network({"topology": {"single-switch": {"hosts": 300}}}), "many").startswith(
        "<svg"
    )
