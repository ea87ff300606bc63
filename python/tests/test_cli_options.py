"""Options of the command line that no other file gives, from the words that are typed to what they change."""

import argparse
import json
import tomllib
from pathlib import Path

import pytest

import flowyard as fy
from flowyard import bench
from flowyard.cli import main, parser

STUDY = Path(__file__).parents[2] / "examples" / "incast-buffers"
# Three nodes with one cable each at a switch; one cable has a delay, without a unit.
GRAPH = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d" for="edge" attr.name="delay" attr.type="double"/>
<graph edgedefault="undirected">
<node id="a"/><node id="b"/><node id="c"/><node id="s"/>
<edge source="a" target="s"/><edge source="b" target="s"><data key="d">3</data></edge><edge source="c" target="s"/>
</graph></graphml>
"""
# Two packets in half of the flows, four in the others: packets, a column that means nothing, share.
PACKETS = "1 0 0\n2 1 0.5\n4 1 1\n"


pytestmark = pytest.mark.usefixtures("here")


def imported(words, name):
    """What `flowyard import` writes."""
    assert main(["import", *words, "--output", name]) == 0
    return tomllib.loads(Path(name).read_text())


class TestImport:
    @pytest.mark.parametrize(
        ("chosen", "hosts"),
        [(["a", "b"], ["a", "b"]), (["c", "b"], ["b", "c"]), (["leaves"], ["a", "b", "c"])],
    )
    def test_delays_and_hosts_of_a_graph(self, chosen, hosts):
        Path("net.graphml").write_text(GRAPH)
        words = ["net.graphml", "--rate", "10Gbps", "--delay", "2us", "--delay-unit", "ns"]
        network = imported([*words, *(f"--hosts={name}" for name in chosen)], "net.toml")["topology"][
            "explicit"
        ]
        assert network["hosts"] == hosts
        assert network["delay"] == "2us"
        assert [cable.get("delay") for cable in network["cables"]] == [None, "3ns", None]

    def test_the_same_number_in_another_unit(self):
        Path("net.graphml").write_text(GRAPH)
        words = [
            "net.graphml",
            "--rate",
            "10Gbps",
            "--delay",
            "2us",
            "--hosts",
            "leaves",
            "--delay-unit",
            "ms",
        ]
        cables = imported(words, "net.toml")["topology"]["explicit"]["cables"]
        assert [cable.get("delay") for cable in cables] == [None, "3ms", None]

    @pytest.mark.parametrize(
        # Uniform between the points: 1.5 packets in one half, 3 in the other.
        ("interpolation", "packets"),
        [("step", 3), ("linear", 2.25)],
    )
    @pytest.mark.parametrize("packet", [1000, 1460])
    def test_a_cdf_of_packets(self, capsys, interpolation, packets, packet):
        Path("sizes.txt").write_text(PACKETS)
        words = ["sizes.txt", "--dialect", "ns2", "--packet-bytes", packet, "--interpolation", interpolation]
        assert main(["import", *map(str, words), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["mean_bytes"] == packets * packet

    def test_a_dialect_that_a_file_is_not_in_is_refused(self, capsys):
        Path("sizes.txt").write_text("1000 0\n2000 0.5\n4000 1\n")
        points = imported(["sizes.txt", "--dialect", "fraction"], "sizes.toml")["sizes"]["cdf"]["points"]
        assert points == [[1000, 0], [2000, 50], [4000, 100]]
        assert main(["import", "sizes.txt", "--dialect", "percent", "--output", "no.toml"]) == 2
        assert "the last share is 1; it must be 100" in capsys.readouterr().err
        assert not Path("no.toml").exists()


@pytest.mark.parametrize(("to", "name"), [("htsim-cm", "small.cm"), ("hpcc-topology", "small.topology.txt")])
def test_an_export_without_a_name_goes_by_its_scenario(small, to, name):
    assert main(["export", str(small), "--to", to, "--seed", "3"]) == 0
    assert Path(name).is_file()
    # As everywhere, nothing is written over.
    assert main(["export", str(small), "--to", to]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("small.toml --to csv", "flowyard show DIR --csv flows -o flows.csv, or -o all.xlsx"),
        ("small.toml --to xlsx", "flowyard show DIR --csv flows -o flows.csv, or -o all.xlsx"),
        # A file of that name is there already: what is wrong is the format.
        ("small.toml --to dot -o small.toml", '"dot" is not a format; formats are htsim-cm'),
        ("there --to hpcc-pfc --set run.seed=3", "to which --set and --seed do not apply"),
    ],
)
def test_an_export_that_is_none_names_the_one_that_is(capsys, small, words, said):
    assert main(["run", str(small), "-o", "there"]) == 0
    assert main(["export", *words.split()]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("to", ["graphml", "hpcc-flow"])
def test_the_scenario_of_a_run_goes_by_the_folder_too(small, to):
    assert main(["run", str(small), "-o", "there"]) == 0
    assert main(["export", "there/run.json", "--to", to, "-o", "file"]) == 0
    assert main(["export", "there", "--to", to, "-o", "folder"]) == 0
    assert Path("file").read_bytes() == Path("folder").read_bytes()


def test_an_export_of_more_flows_than_a_run_starts_says_so(capsys, small):
    assert main(["export", str(small), "--to", "hpcc-flow", "-o", "all.txt"]) == 0
    assert "a run starts flows only until" not in capsys.readouterr().out
    measured = ["--set", "traffic.0.arrivals={poisson={load=0.3}}", "--set", "run.measure=auto"]
    assert main(["export", str(small), "--to", "hpcc-flow", "-o", "more.txt", *measured]) == 0
    assert "flowyard show DIR --csv flows -o flows.csv writes those of a run" in capsys.readouterr().out
    assert main(["run", str(small), *measured, "-o", "there"]) == 0
    assert len(fy.open_run("there").flows) < int(Path("more.txt").read_text().split()[0])


class TestPaper:
    def test_workers_and_json(self, capsys):
        assert main(["paper", "run", str(STUDY), "--workers", "1", "--json", "--output", "there"]) == 0
        answer = json.loads(capsys.readouterr().out)
        counts = {
            "claims": 3,
            "passed": 2,
            "open": 1,
            "not_reproducible": 0,
            "predicted": 0,
            "not_reached": 0,
        }
        told = {"folder": "there", "scale": "quick", "interrupted": False, "broke": []}
        assert {name: answer[name] for name in counts | told} == counts | told
        assert len(json.loads(Path("there/claims.json").read_text())) == 3

    @pytest.mark.parametrize("workers", ["0", "-1", "many"])
    def test_workers_that_are_none(self, capsys, workers):
        with pytest.raises(SystemExit) as ended:
            main(["paper", "run", str(STUDY), "--workers", workers])
        assert ended.value.code == 2
        assert "--workers" in capsys.readouterr().err


class TestBench:
    @pytest.mark.parametrize(("words", "rounds"), [(["--rounds", "2"], 2), ([], 5)])
    def test_rounds(self, monkeypatch, words, rounds):
        asked = []

        def measure(names, rounds):
            asked.append((names, rounds))
            return {}, []

        monkeypatch.setattr(bench, "measure", measure)
        assert main(["bench", "start-up", "--json", *words]) == 0
        assert asked == [(["start-up"], rounds)]

    def test_no_round(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["bench", "--rounds", "0"])
        assert ended.value.code == 2
        assert "--rounds: 1 or more" in capsys.readouterr().err


def test_run_into_a_folder_by_the_long_option(small):
    assert main(["run", str(small), "--output", "there"]) == 0
    assert fy.open_run("there").status == "complete"


def refusal(capsys, words):
    """The last line of the message on options that are not there."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("demo d1", "-o DIR is the folder"),
        ("compare ndp dctcp dcqcn", "flowyard run SCENARIO --compare A,B,C"),
        ("run web-search-ndp --transport dctcp", """write --set 'transport={tcp={congestion="dctcp"}}'"""),
        ("run web-search-ndp --transport=homa", "write --set transport=homa; --compare"),
        ("run web-search-ndp --transport nonsense", "write --set transport=NAME; --compare"),
        ("run web-search-ndp --dry-run", "flowyard check SCENARIO estimates its time"),
        ("sweep b.toml --load 0.2,0.4", '[[axes]] with set."traffic.NAME.arrivals.poisson.load" = [0.2, 0.4]'),
        ("sweep b.toml --replicas 3", "write replicas = N into it"),
        ("sweep b.toml --transport ndp,tcp", 'set.transport = ["ndp", "tcp"]'),
        ("show a --xlsx", "write -o FILE.xlsx"),
        ("show a b", "runs on one page: flowyard report DIR DIR"),
        ("show --csv .", "write flowyard show . --csv"),
        ("why a --flow 5", "without an option, as in flowyard why RUN 5"),
        ("why a host3", "'host3' is no number of a flow; use the column id of flows.parquet"),
        ("show fail flows", "a table of it: --csv flows"),
        ("show a --plot", "flowyard report DIR draws the results"),
        ("show a --format csv", "write --csv TABLE"),
        ("why a --slowest 3", "takes the flow with the largest slowdown"),
        ("schema -o s.json", "write flowyard schema > FILE"),
        ("run web-search-ndp --time 3ms", "write --set run.until=3ms"),
        ("run web-search-ndp --load 0.4", "write --set traffic.queries.arrivals.poisson.load=0.4"),
        ("run web-search-ndp --axis load=0.2,0.4", "write --compare load=0.2,0.4, also with --replicas N"),
        ("run web-search-ndp --csv", "flowyard show DIR --csv flows -o flows.csv"),
        ("sweep b.toml --axis load=0.2,0.4", "flowyard run SCENARIO --compare load=0.2,0.4 --replicas N"),
        ("sweep b.toml --resume", "the same command executes the runs that are missing"),
        ("compare a.toml --transports ndp,tcp", "flowyard run a.toml --compare ndp,tcp"),
        ("compare a.toml b --transports=ndp,tcp", "flowyard run a.toml --compare ndp,tcp"),
        ("paper list --failed", "docs/results/README.md"),
        ("validate a.toml", "did you mean check?"),
        ("stats a", "did you mean show?"),
        ("trace a", "did you mean why?"),
        ("init", "flowyard run web-search-ndp runs a packaged one"),
        ("paper run NDP-T1 --quick", "write --scale quick, the default"),
        ("paper run NDP-T1 --full", "write --scale full"),
    ],
)  # fmt: skip
def test_an_option_or_a_word_that_is_not_there_names_the_words_that_work(capsys, words, instead):
    assert instead in refusal(capsys, words.split())


def test_a_scenario_behind_an_unknown_option_is_not_its_value(capsys, small):
    words = ["run", "--flows", "7", str(small)]
    assert refusal(capsys, words).endswith("write --set traffic.few.flows=7")


def test_several_entries_of_traffic_leave_the_name_open(capsys, small):
    small.write_text(small.read_text() + '[[traffic]]\nname = "other"\n')
    assert "traffic.NAME.flows=7" in refusal(capsys, ["run", str(small), "--flows", "7"])


def test_the_transport_of_a_hint_is_one_that_runs(capsys, small):
    assert "congestion" in refusal(capsys, ["run", str(small), "--transport", "dctcp"])
    assert main(["run", str(small), "--set", 'transport={tcp={congestion="dctcp"}}', "-o", "there"]) == 0


def test_a_demo_in_a_folder_of_its_own_leaves_what_is_there(capsys):
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("years of work")
    assert main(["demo", "-o", "mine"]) == 2
    assert "mine: is not empty; choose another folder with -o" in capsys.readouterr().err


def verbs(of, *path):
    """Each parser below the top, with the words that lead to it."""
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield (*path, name), below
                yield from verbs(below, *path, name)


@pytest.mark.parametrize("words", [words for words, _ in verbs(parser())], ids=" ".join)
def test_help_below_the_top_level(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: flowyard {' '.join(words)} ")
    # Every option is named, and has more to it than its name.
    for action in dict(verbs(parser()))[words]._actions:
        assert all(option in printed for option in action.option_strings)
        assert action.help or isinstance(action, argparse._SubParsersAction)


def test_help_of_a_verb_as_a_command(flowyard):
    done = flowyard("paper", "run", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for option in ("--scale", "--output", "--workers", "--dask", "--json"):
        assert option in done.stdout
