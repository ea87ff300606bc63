"""Runs side by side: `flowyard run --compare`, `fy.compare`, and the page that both and sweeps over names have."""

import itertools
import json
import re
import statistics
from html import unescape
from pathlib import Path
from typing import Any

import pages
import polars as pl
import pytest

import flowyard as fy
from flowyard import cli, member_names, results, text
from flowyard.analysis import by_size
from flowyard.commands import options
from flowyard.errors import UserError
from flowyard.folders import run_files
from flowyard.member_names import NAMESAKES
from flowyard.report import javascript
from flowyard.report.metrics import ALL_METRICS
from flowyard.report.run import fairness
from flowyard.report.run.labelled import FLOW_COLUMNS
from flowyard.report.sweep import page, side_by_side
from flowyard.run_data import Run
from flowyard.sweeps.comparison import comparison
from flowyard.sweeps.outcomes import Outcomes
from flowyard.sweeps.plan import free_name
from flowyard.terminal import console

SCENARIO = {
    "topology": {"single-switch": {"hosts": 4}},
    "transport": {"ndp": {"initial_window": 7}},
    "traffic": [
        {
            "name": "few",
            "arrivals": {"poisson": {"load": 0.5}},
            "matrix": "uniform",
            "sizes": {"fixed": "10KB"},
            "flows": 50,
        }
    ],
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Making the real bundle takes seconds."""
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "few.json").write_text(json.dumps(SCENARIO))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scenarios(*args, **kwargs):
    """The scenarios of a comparison by their labels, and its notes."""
    made: Any = comparison(*args, **kwargs)
    return {task.label.partition(" = ")[2]: json.loads(task.scenario) for task in made.tasks()}, made.notes


def test_a_scenario_without_a_transport_has_those_of_the_comparison(here):
    del (own := json.loads((here / "few.json").read_text()))["transport"]
    made, _ = scenarios(own, {"transport": ["dctcp", "homa"]})
    assert {label: list(each["transport"]) for label, each in made.items()} == {
        "dctcp": ["tcp"],
        "homa": ["homa"],
    }
    # Any other mistake is said, and only that.
    own["traffic"][0]["flows"] = 0
    with pytest.raises(fy.ScenarioError) as refused:
        scenarios(own, {"transport": ["dctcp", "homa"]})
    assert [problem["path"] for problem in refused.value.problems] == ["traffic.few.flows"]


def test_transports_at_several_loads_carried_the_same_flows_at_each(here, capsys):
    command = [
        "run",
        "few.json",
        "--compare",
        "ndp,dctcp",
        "--compare",
        "traffic.few.arrivals.poisson.load=0.2,0.4",
    ]
    assert cli.main([*command, "-o", "four"]) == 0
    digests = [
        fy.open_run(f"four/runs/{run['key']}").summary["traffic_digest"]
        for run in run_files.plan(Path("four"))["runs"]
    ]
    assert digests[0] == digests[2] != digests[1] == digests[3]
    said = (
        "uns that carried the same flows: ndp, load 0.2 with dctcp, load 0.2; ndp, load 0.4 with dctcp, load 0.4. "
        "Between these groups flows differ (traffic_digest): compare only distributions"
    )
    assert said in capsys.readouterr().out
    assert said in unescape((here / "four/report.html").read_text())


def test_no_two_of_other_seeds_carried_the_same_flows(here, capsys):
    assert cli.main(["run", "few.json", "--compare", "run.seed=1,2", "-o", "two"]) == 0
    assert "the runs did not carry the same flows (their traffic digests differ)" in capsys.readouterr().out


def flows_of(folder):
    """The number of flows that each run of a comparison was to measure."""
    runs = [fy.open_run(f"{folder}/runs/{run['key']}") for run in run_files.plan(Path(folder))["runs"]]
    return [run.summary["scenario"]["traffic"][0]["flows"] for run in runs]


def test_another_comparison_takes_a_folder_if_it_is_asked_to(here, capsys):
    command = ["run", "few.json", "--compare", "ndp,tcp", "-o", "both"]
    assert cli.main(command) == 0
    other = [*command, "--set", "traffic.few.flows=20"]
    assert cli.main(other) == 2
    assert "with --update" in capsys.readouterr().err
    assert cli.main([*other, "--update"]) == 0
    assert flows_of("both") == [20, 20]
    fy.compare("few.json", ["ndp", "tcp"], "both", update=True)
    assert flows_of("both") == [50, 50]
    # A single run has a folder of its own.
    assert cli.main(["run", "few.json", "--update"]) == 2
    assert "with --compare or --replicas" in capsys.readouterr().err


def test_a_single_run_is_in_the_singular(here, capsys):
    plan = comparison("few.json", {"transport": ["ndp", "tcp"]}).plan
    fy.sweep(plan, "both", shard=(1, 2))
    side_by_side.tell(fy.Sweep("both"), Outcomes(), None, as_json=False)
    assert "few: 1 run\n" in capsys.readouterr().out


def test_a_comparison_is_checked(here, capsys):
    bare = {name: part for name, part in SCENARIO.items() if name != "transport"}
    (here / "bare.json").write_text(json.dumps(bare))
    assert cli.main(["check", "bare.json", "--compare", "ndp,dctcp", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["points"], found["looked"]) == (2, 2, 2)
    assert cli.main(["check", "bare.json", "--compare", "ndp,dctcp"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("bare.json: nothing wrong\n  2 runs of 2 points, in out/bare-1\n")
    assert not (here / "out").exists()
    with pytest.raises(SystemExit):
        cli.main(["check", "bare.json", "--compare", "ndp"])
    assert "use two values or more" in capsys.readouterr().err
    assert cli.main(["check", "bare.json", "--compare", "ndp,dctpc"]) != 0
    assert "did you mean dctcp" in capsys.readouterr().err


def test_a_queue_among_transports_is_named_as_one(here):
    (here / "q.py").write_text(
        "from flowyard.prototypes import Queue\n\nclass RandDrop(Queue):\n    def enqueue(self, port, packet):\n"
        "        pass\n\n    def dequeue(self, port):\n        return None\n"
    )
    with pytest.raises(UserError) as refused:
        comparison("few.json", {"transport": ["ndp", "RandDrop"]}, python={"prototypes": ["q.py"]})
    assert "'RandDrop' is a queue of yours, no transport; name the field: --compare queue=A,RandDrop" in str(
        refused.value
    )


def at(scenario, key):
    """The value at the path of a key; None if there is none."""
    for step in key.split("."):
        if isinstance(scenario, list):
            scenario = next(entry for entry in scenario if entry["name"] == step)
        else:
            scenario = scenario.get(step) if isinstance(scenario, dict) else None
    return scenario


def kind(value):
    return None if value is None else next(iter(value))


class TestValues:
    def test_names_alone_are_transports(self):
        assert options.compared("ndp,dctcp") == ("transport", ["ndp", "dctcp"])
        tcp = {"tcp": {"preset": "datacentre", "mss": "1KB"}}
        assert options.compared(f"ndp,{json.dumps(tcp)}") == ("transport", ["ndp", tcp])

    def test_a_field_has_values_of_its_type(self):
        assert options.compared("queue=ecn,drop-tail") == ("queue", ["ecn", "drop-tail"])
        assert options.compared("run.audit=true,false") == ("run.audit", [True, False])
        assert options.compared("load=0.5,1") == ("load", [0.5, 1])
        assert options.compared('a={"b":[1,2]},"x,y"') == ("a", [{"b": [1, 2]}, "x,y"])

    @pytest.mark.parametrize("values", ["ndp", "queue=ecn", "ndp,", "queue=,ecn", 'ndp,{"tcp"'])
    def test_one_value_is_no_comparison(self, here, capsys, values):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["run", "few.json", "--compare", values])
        assert stopped.value.code == 2
        assert "--compare" in capsys.readouterr().err

    def test_too_many_are_for_a_sweep(self):
        with pytest.raises(UserError, match="25 combinations; a page shows at most 24"):
            comparison(SCENARIO, {"run.seed": range(25)})


class TestTransports:
    def test_the_own_one_keeps_its_settings_and_others_have_defaults(self):
        found, notes = scenarios(SCENARIO, {"transport": ["ndp", "dctcp", "dcqcn"]})
        assert found["ndp"]["transport"]["ndp"]["initial_window"] == 7
        assert kind(found["dctcp"]["transport"]["tcp"]["congestion"]) == "dctcp"
        assert kind(found["dcqcn"]["transport"]) == "dcqcn"
        # No queue is named: each has what it recommends, and that needs no word.
        assert [found[name].get("queue") for name in found] == [None] * 3
        assert not notes

    def test_controls_of_one_transport_share_its_fields(self):
        own = {
            **SCENARIO,
            "transport": {"tcp": {"preset": "datacentre", "mss": "1KB", "congestion": "cubic"}},
        }
        found, _ = scenarios(own, {"transport": ["cubic", "newreno", "dctcp", "tcp", "ndp"]})
        for name in ("cubic", "newreno", "dctcp", "tcp"):
            tcp = found[name]["transport"]["tcp"]
            assert (tcp["mss"], tcp["preset"]) == ("1KB", "datacentre")
        # TCP is the default control, not another word for the scenario's.
        assert [
            kind(fy.check(found[name], whole=True)["transport"]["tcp"]["congestion"])
            for name in ("cubic", "dctcp", "tcp")
        ] == [
            "cubic",
            "dctcp",
            "newreno",
        ]

    def test_a_control_of_the_own_transport_comes_before_other_names(self):
        own = {**SCENARIO, "transport": {"roce": {"payload": "2KB"}}}
        found, notes = scenarios(own, {"transport": ["dcqcn", "dctcp"]})
        for name, each in found.items():
            assert kind(each["transport"]["roce"]["congestion"]) == name.rpartition(" ")[2]
            assert each["transport"]["roce"]["payload"] == "2KB"
        # The name alone is TCP's.
        assert list(found) == ["dcqcn", "roce dctcp"]
        assert notes == [
            "roce dctcp: dctcp is a control of roce, the transport of the scenario; TCP's is "
            '{"tcp": {"congestion": "dctcp"}}'
        ]

    @pytest.mark.parametrize("names", list(itertools.permutations(["hpcc", "dctcp", "dcqcn"])))
    def test_without_a_transport_of_the_scenario_a_name_means_the_same_in_any_order(self, names):
        own = {key: value for key, value in SCENARIO.items() if key != "transport"}
        found, notes = scenarios(own, {"transport": list(names)})
        assert {name: kind(each["transport"]) for name, each in found.items()} == {
            "hpcc": "roce",
            "dctcp": "tcp",
            "dcqcn": "dcqcn",
        }
        assert not notes
        # A queue of the scenario stays for those that it serves, whichever is first.
        found, _ = scenarios({**own, "queue": "ecn"}, {"transport": list(names)})
        assert {name: kind(each.get("queue")) for name, each in found.items()} == {
            "hpcc": None,
            "dctcp": "ecn",
            "dcqcn": None,
        }

    def test_namesakes_among_the_controls_of_transports_are_told_apart(self):
        controls = member_names.controls(results.schema()["$defs"])
        both = {(tag, name) for tag in controls for name in controls[tag]}
        assert {(tag, name) for tag, name in both if tag != "tcp" and name in controls["tcp"]} == NAMESAKES
        own = {key: value for key, value in SCENARIO.items() if key != "transport"}
        found, _ = scenarios(own, {"transport": ["dctcp", {"roce": {"congestion": "dctcp"}}]})
        assert {name: kind(each["transport"]) for name, each in found.items()} == {
            "dctcp": "tcp",
            "roce dctcp": "roce",
        }

    def test_fields_of_a_transport_and_of_a_queue_are_for_runs_that_have_it(self):
        changes = {"transport.tcp.mss": "1KB", "queue.ecn.limit.packets": 33, "traffic.few.flows": 9}
        found, _ = scenarios(SCENARIO, {"transport": ["ndp", "dctcp", "tcp"]}, set=changes)
        assert found["dctcp"]["transport"]["tcp"]["mss"] == found["tcp"]["transport"]["tcp"]["mss"] == "1KB"
        assert found["dctcp"]["queue"]["ecn"]["limit"] == {"packets": 33}
        assert found["ndp"].get("queue") is found["tcp"].get("queue") is None
        assert {each["traffic"][0]["flows"] for each in found.values()} == {9}

    @pytest.mark.parametrize("own", [None, "tcp", {"tcp": {"congestion": "swift"}}])
    def test_fields_of_a_control_are_for_runs_that_have_it(self, own):
        scenario = {**SCENARIO, "transport": own} if own else SCENARIO
        changes = {"transport.tcp.congestion.dctcp.g": 0.1, "transport.tcp.mss": "1KB"}
        found, _ = scenarios(scenario, {"transport": ["swift", "dctcp", "ndp"]}, set=changes)
        assert found["dctcp"]["transport"]["tcp"]["congestion"]["dctcp"]["g"] == 0.1
        assert kind(fy.check(found["swift"], whole=True)["transport"]["tcp"]["congestion"]) == "swift"
        assert [found[name]["transport"]["tcp"]["mss"] for name in ("swift", "dctcp")] == ["1KB", "1KB"]
        assert kind(found["ndp"]["transport"]) == "ndp"
        # Each control is of a transport of its own.
        rate = {"transport.roce.congestion.hpcc.min_rate": "50Mbps"}
        found, _ = scenarios({**SCENARIO, "transport": "roce"}, {"transport": ["dcqcn", "hpcc"]}, set=rate)
        assert found["hpcc"]["transport"]["roce"]["congestion"]["hpcc"]["min_rate"] == "50Mbps"
        assert fy.check(found["dcqcn"], whole=True)["transport"]["roce"]["congestion"]["dcqcn"][
            "min_rate"
        ] == ("100Mbps")

    def test_fields_of_a_control_of_no_run_are_refused_with_those_that_there_are(self):
        with pytest.raises(UserError) as refused:
            comparison(
                SCENARIO, {"transport": ["swift", "dctcp"]}, set={"transport.tcp.congestion.cubic.beta": 0.5}
            )
        assert str(refused.value) == (
            "compare: transport.tcp.congestion.cubic.beta is set, and no run has transport.tcp.congestion.cubic; "
            "there are transport.tcp.congestion.dctcp, transport.tcp.congestion.swift"
        )
        # A field that no control has is the engine's to refuse.
        with pytest.raises(fy.ScenarioError, match=r"transport\.tcp\.congestion\.dctcp\.gg: unknown key"):
            comparison(
                SCENARIO, {"transport": ["swift", "dctcp"]}, set={"transport.tcp.congestion.dctcp.gg": 1}
            )

    @pytest.mark.parametrize(
        ("field", "values", "key", "setting"),
        [
            ("queue", ["ecn", "drop-tail"], "queue.ecn.limit.packets", 33),
            ("queue", ["drop-tail", {"ecn": {"threshold": {"packets": 9}}}], "queue.ecn.limit.packets", 33),
            ("transport.tcp.congestion", ["swift", "dctcp"], "transport.tcp.congestion.dctcp.g", 0.1),
            (
                "traffic.few.transport",
                ["swift", "dctcp", "tcp"],
                "traffic.few.transport.tcp.congestion.dctcp.g",
                0.1,
            ),
        ],
    )
    def test_fields_of_a_value_are_for_the_runs_with_that_value(self, field, values, key, setting):
        scenario = {**SCENARIO, "transport": "tcp"}
        # On the command line values are text.
        for given in (setting, str(setting)):
            found, _ = scenarios(scenario, {field: values}, set={key: given})
            have = [label for label, each in found.items() if at(fy.check(each, whole=True), key) == setting]
            assert have == [label for label in found if label in ("ecn", "dctcp")]
            assert len(found) == len(values)

    def test_fields_of_no_value_are_refused(self):
        with pytest.raises(UserError, match=r"no run has queue\.red; there are queue\.drop-tail, queue\.ecn"):
            comparison(
                {**SCENARIO, "transport": "tcp"},
                {"queue": ["ecn", "drop-tail"]},
                set={"queue.red.limit.packets": 5},
            )

    @pytest.mark.parametrize("key", ["transport.pfabric.mss", "queue.red.limit.packets"])
    def test_fields_of_no_run_are_refused(self, key):
        with pytest.raises(UserError, match=rf"{re.escape(key)} is set, and no run has"):
            comparison(SCENARIO, {"transport": ["ndp", "tcp"]}, set={key: 5})

    def test_a_value_that_is_there_twice_is_refused(self):
        with pytest.raises(UserError, match="compare transport: ndp appears twice; remove one"):
            comparison(SCENARIO, {"transport": ["ndp", "tcp", "ndp"]})

    def test_a_name_that_is_none_is_refused_with_the_nearest(self):
        with pytest.raises(UserError, match="'dctpc' is no transport; did you mean dctcp"):
            comparison(SCENARIO, {"transport": ["ndp", "dctpc"]})

    def test_an_entry_keeps_its_own_and_can_be_compared(self):
        own = {"name": "bulk", "transport": "tcp", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}}
        entries = [*SCENARIO["traffic"], {**own, "sizes": {"fixed": "1KB"}}]
        scenario = {**SCENARIO, "traffic": entries, "queue": "infinite", "transport": "datagram"}
        found, _ = scenarios(scenario, {"transport": ["datagram", "newreno"]})
        assert [kind(each["traffic"][1]["transport"]) for each in found.values()] == ["tcp", "tcp"]
        found, _ = scenarios(scenario, {"traffic.bulk.transport": ["datagram", "swift"]})
        assert kind(found["swift"]["traffic"][1]["transport"]["tcp"]["congestion"]) == "swift"
        assert {kind(each["transport"]) for each in found.values()} == {"datagram"}
        # An entry that names the scenario's transport has it like one that names none, and it is replaced.
        named = [{**own, "transport": "datagram", "sizes": {"fixed": "1KB"}}]
        found, _ = scenarios({**scenario, "traffic": named}, {"transport": ["datagram", "newreno"]})
        assert kind(found["newreno"]["transport"]) == "tcp"
        assert "transport" not in found["newreno"]["traffic"][0]
        with pytest.raises(UserError, match=r"name the entry: traffic\.bulk\.transport"):
            comparison({**scenario, "traffic": entries[1:]}, {"transport": ["datagram", "tcp"]})


class TestQueues:
    def test_that_of_the_own_transport_goes_with_it(self):
        own = {**SCENARIO, "queue": {"ndp": {"data_limit": {"packets": 5}}}}
        found, notes = scenarios(own, {"transport": ["ndp", "tcp", "pfabric"]})
        assert found["ndp"]["queue"]["ndp"]["data_limit"] == {"packets": 5}
        assert found["tcp"].get("queue") is found["pfabric"].get("queue") is None
        assert notes == [
            "tcp: queue drop-tail, its own, in place of ndp of ndp",
            "pfabric: queue pfabric, its own, in place of ndp of ndp",
        ]

    def test_another_kind_stays_where_it_serves(self):
        own = {**SCENARIO, "transport": "tcp", "queue": {"codel": {"limit": {"packets": 50}}}}
        found, notes = scenarios(own, {"transport": ["tcp", "cubic", "ndp"]})
        assert kind(found["tcp"]["queue"]) == kind(found["cubic"]["queue"]) == "codel"
        assert found["ndp"].get("queue") is None
        (note,) = notes
        assert note.startswith('ndp: queue of its own, not that of the scenario: "codel" has no trimming')

    def test_one_of_the_command_line_is_never_replaced(self):
        with pytest.raises(fy.ScenarioError, match='"drop-tail" has no trimming, which transport'):
            comparison(SCENARIO, {"transport": ["tcp", "ndp"]}, set={"queue": "drop-tail"})

    def test_one_that_is_compared_is_that_of_the_point(self):
        own = {**SCENARIO, "transport": "tcp", "queue": "drop-tail"}
        found, notes = scenarios(
            own, {"transport": ["newreno", "dctcp"], "queue": ["ecn", {"red": {"ecn": True}}]}
        )
        assert [kind(each["queue"]) for each in found.values()] == ["ecn", "red"] * 2
        assert not notes

    def test_a_buffer_is_left_out_where_the_queue_cannot_share_memory(self):
        own = {**SCENARIO, "transport": "tcp", "buffer": {"dynamic": {"size": "4MB"}}}
        found, notes = scenarios(own, {"transport": ["dctcp", "ndp"]})
        assert (kind(found["dctcp"]["buffer"]), found["ndp"].get("buffer")) == ("dynamic", None)
        (note,) = notes
        assert note.startswith('ndp: without the buffer of the scenario: "dynamic" lets ports')
        with pytest.raises(
            fy.ScenarioError, match=r"leave buffer out: no queue that does serves transport\.ndp"
        ):
            comparison(
                {**SCENARIO, "transport": "tcp"}, {"transport": ["dctcp", "ndp"]}, set={"buffer": "dynamic"}
            )

    def test_an_agent_goes_with_its_transport(self):
        own = {**SCENARIO, "transport": "rcp", "agent": "rcp", "routing": {"balancer": {"nix": {}}}}
        found, notes = scenarios(own, {"transport": ["rcp", "tcp"]})
        assert (kind(found["rcp"]["agent"]), found["tcp"].get("agent")) == ("rcp", None)
        assert len(notes) >= 1


class TestCommand:
    def test_one_table_and_one_page_with_the_same_flows(self, here, capsys):
        assert cli.main(["run", "few.json", "-o", "there", "--compare", "ndp,tcp"]) == 0
        out, announced = capsys.readouterr()
        assert announced.startswith("few: 2 runs\n")
        assert "all runs carried the same flows" in out
        done = fy.Sweep(here / "there")
        assert done.axes == {"protocol": ["ndp", "tcp"]}
        digests = {
            done.path(key): run_files.summary(done.path(key))["traffic_digest"] for key in done.runs["run"]
        }
        assert len(digests) == 2
        assert len(set(digests.values())) == 1
        medians = [
            statistics.median(pl.read_parquet(folder / "flows.parquet").filter("measured")["slowdown"])
            for folder in digests
        ]
        (line,) = (line for line in out.splitlines() if line.split()[:2] == ["slowdown", "p50"])
        assert [float(word) for word in line.split()[2:]] == pytest.approx(medians, rel=0.005)
        html = (here / "there" / "report.html").read_text()
        specs = json.loads(re.search(r'id="specs">(.*?)</script>', html)[1])
        for key in ("fct", "slowdown"):
            assert {row["run"] for row in specs[key]["datasets"]["rows"]} == {"ndp", "tcp"}

    def test_the_same_command_goes_on_and_another_one_has_a_new_folder(self, here, capsys):
        words = ["run", "few.json", "--compare", "ndp,tcp"]
        assert cli.main(words) == 0
        assert cli.main([*words[:-1], "ndp,tcp,dctcp"]) == 0
        assert "few: 3 runs, 2 of them done before" in capsys.readouterr().err
        assert cli.main([*words, "--seed", "5"]) == 0
        assert cli.main(words) == 0
        assert sorted(path.name for path in (here / "out").iterdir()) == ["few-1", "few-2", "few-3"]

    def test_json_has_each_point(self, here, capsys):
        assert cli.main(["run", "few.json", "--compare", "ndp,tcp", "--replicas", "2", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["same_traffic"], [point["label"] for point in answer["points"]]) == (
            True,
            ["ndp", "tcp"],
        )
        assert [len(point["runs"]) for point in answer["points"]] == [2, 2]

    def test_changes_may_be_what_makes_a_scenario_whole(self, tmp_path):
        entry = {key: value for key, value in SCENARIO["traffic"][0].items() if key != "matrix"}
        part = {**SCENARIO, "name": "part", "traffic": [entry]}
        done = fy.compare(part, ["ndp", "tcp"], tmp_path / "s", set={"traffic.few.matrix": "permutation"})
        assert (done.name, done.complete) == ("part", True)

    def test_different_flows_are_said(self, here, capsys):
        assert cli.main(["run", "few.json", "--compare", "run.seed=1,2"]) == 0
        assert "their traffic digests differ" in capsys.readouterr().out

    def test_a_run_that_does_not_end_decides_the_exit_code(self, here):
        assert cli.main(["run", "few.json", "--compare", "ndp,tcp", "--set", "run.until=1us"]) == 4

    def test_an_interrupted_one_keeps_runs_and_goes_on(self, here, monkeypatch, capsys):
        from flowyard.sweeps import local

        real = local.execute

        def stopped(missing, store, tally, *rest):
            real(missing[:1], store, tally, *rest)
            tally.interrupted = True

        monkeypatch.setattr(local, "execute", stopped)
        assert cli.main(["run", "few.json", "--compare", "ndp,tcp"]) == 130
        out, errors = capsys.readouterr()
        assert "1 of 2 runs are in" in out
        assert "the same command goes on" in errors
        assert not (here / "out/few-1/report.html").exists()
        monkeypatch.undo()
        monkeypatch.chdir(here)
        monkeypatch.setattr(javascript, "bundle", lambda: "")
        assert cli.main(["run", "few.json", "--compare", "ndp,tcp"]) == 0
        assert "few: 2 runs, 1 of them done before" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("mean", "shown"), [(2.0, "2"), (26.0, "26"), (2.5, "2.50"), (1234.5, "1,234"), (None, text.NONE)]
    )
    def test_counts_have_a_point_only_as_means(self, mean, shown):
        assert ALL_METRICS["drops"].mean({"drops": mean, "drops_ci95": None}) == shown

    def test_intervals_stand_below_their_values_where_runs_have_some(self, here, capsys):
        many = {"traffic.few.flows": 400}
        done = fy.compare("few.json", ["ndp", "tcp"], "many", set=many)
        rows = side_by_side.side_by_side_table(done).rows
        names = [row[0] for row in rows]
        below = rows[names.index("FCT p50") + 1]
        measured = [Run.read(done.path(key), FLOW_COLUMNS.split()).measured for key in done.runs["run"]]
        ends = [by_size(flows, intervals=True).row(-1, named=True) for flows in measured]
        shown = [
            text.interval(own["fct_p50_ps"], own["fct_p50_low_ps"], own["fct_p50_high_ps"], text.duration)
            for own in ends
        ]
        assert list(below) == [side_by_side.INTERVAL, *shown]
        words = ["run", "few.json", "--compare", "ndp,tcp", "-o", "many", "--set", "traffic.few.flows=400"]
        assert cli.main(words) == 0
        assert "95% intervals are of the run" in capsys.readouterr().out
        # Of few flows there are none; means over replicas have theirs beside them.
        cases: dict[str, dict[str, Any]] = {
            "few": {"set": {"traffic.few.flows": 30}},
            "mean": {"replicas": 2, "set": many},
        }
        for name, more in cases.items():
            table = side_by_side.side_by_side_table(fy.compare("few.json", ["ndp", "tcp"], name, **more))
            assert side_by_side.INTERVAL not in [row[0] for row in table.rows]

    def test_losses_to_faults_have_a_row_where_there_are_faults(self, here):
        loses = {"at": "0s", "target": {"cable": ["host 0", "switch"]}, "change": {"loss": 0.2}}
        for name, events in {"none": [], "some": [loses]}.items():
            done = fy.compare("few.json", ["ndp", "tcp"], name, set={"faults.events": events})
            rows = {row[0]: row[1:] for row in side_by_side.side_by_side_table(done).rows}
            assert ("lost to faults" in rows) == bool(events)
        assert [int(count) for count in rows["lost to faults"]] == done.means["lost"].to_list()
        assert min(done.means["lost"]) > 0

    def test_the_smallest_is_bold_if_its_interval_lies_below_the_others(self, here, capsys, monkeypatch):
        many = {"traffic.few.flows": 400, "traffic.few.arrivals.poisson.load": 0.1}
        done = fy.compare("few.json", ["ndp", "tcp"], "there", set=many)
        table = side_by_side.side_by_side_table(done)
        names = [row[0] for row in table.rows]
        p50 = done.means["slowdown_p50"].to_list()
        # NDP has no handshake, and at a low load little else counts.
        assert (names.index("slowdown p50"), 1 + p50.index(min(p50))) in table.bold
        assert not any(names[row] in ("goodput", "drops", "queue") for row, _ in table.bold)
        said = "bold: the smallest, if all flows completed and its interval lies below those of the others"
        changes = [word for key, value in many.items() for word in ("--set", f"{key}={value}")]
        command = ["run", "few.json", "--compare", "ndp,tcp", *changes, "-o", "there"]
        assert cli.main(command) == 0
        assert said not in capsys.readouterr().out
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert cli.main(command) == 0
        assert said in " ".join(capsys.readouterr().out.split())
        cut = fy.compare("few.json", ["ndp", "tcp"], "cut", set={**many, "run.until": "100us"})
        assert not side_by_side.side_by_side_table(cut).bold
        # Of few flows any difference may be chance, and so may one within wide intervals.
        few = fy.compare("few.json", ["ndp", "tcp"], "few", set={"traffic.few.flows": 30})
        near = fy.compare("few.json", {"transport.ndp.initial_window": [7, 8]}, "near", set=many)
        assert not side_by_side.side_by_side_table(few).bold
        assert not side_by_side.side_by_side_table(near).bold

    def test_the_header_has_the_name_of_the_scenario_as_runs_have(self, here, capsys):
        (here / "called.json").write_text(json.dumps(SCENARIO | {"name": "rack 7"}))
        assert cli.main(["run", "called.json", "--compare", "ndp,tcp", "-o", "called"]) == 0
        assert "rack 7: 2 runs side by side" in capsys.readouterr().out
        assert fy.Sweep("called").name == "rack 7"

    def test_the_load_that_was_drawn_stands_beside_the_offered_one(self, here):
        done = fy.compare("few.json", ["ndp", "tcp"], "loads")
        rows = {row[0]: row[1:] for row in side_by_side.side_by_side_table(done).rows}
        names = list(rows)
        assert (
            names.index("realised load") == names.index("offered load") + 1 == names.index("carried load") - 1
        )
        drawn = [summary["measured"]["realised_load"] for summary in done.summaries().values()]
        assert rows["realised load"] == [text.ratio(load) for load in drawn]

    def test_deadlines_that_were_met_stand_beside_the_flows_that_completed(self, here, capsys):
        # Under PDQ flows that cannot be in time give up.
        due = {**SCENARIO["traffic"][0], "deadline": "60us"}
        own = {**SCENARIO, "transport": "pdq", "traffic": [due], "name": "due"}
        (here / "due.json").write_text(json.dumps(own))
        assert cli.main(["run", "due.json", "--compare", "pdq,dctcp", "-o", "due"]) == 0
        done = fy.Sweep("due")
        rows = {row[0]: row[1:] for row in side_by_side.side_by_side_table(done).rows}
        shares = done.means["application_throughput"].to_list()
        assert rows["deadlines met"] == [text.percent(share) for share in shares]
        assert list(rows)[2:4] == ["flows completed", "deadlines met"]
        assert rows["flows completed"][0] != "100%" == rows["flows completed"][1]
        assert "deadlines met" in capsys.readouterr().out
        assert cli.main(["run", "due.json", "--compare", "pdq,dctcp", "-o", "due", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert [point["means"]["application_throughput"] for point in answer["points"]] == shares
        # Without deadlines there is no such row.
        plain = side_by_side.side_by_side_table(fy.compare("few.json", ["ndp", "tcp"], "plain"))
        assert "deadlines met" not in [row[0] for row in plain.rows]

    def test_runs_that_were_not_in_a_steady_state_are_named(self, here, capsys):
        done = fy.compare("few.json", ["ndp", "tcp"], "named")
        key = done.runs["run"][1]
        path = done.path(key) / "run.json"
        for run in done.runs["run"]:
            own = done.path(run) / "run.json"
            summary = json.loads(own.read_text())
            summary["measured"]["unstable"] = ["why"] if own == path else []
            own.write_text(json.dumps(summary))
        assert cli.main(["run", "few.json", "--compare", "ndp,tcp", "-o", "named"]) == 0
        assert "1 run was not in a steady state (tcp); " in capsys.readouterr().out
        many = Outcomes().states(5, "see", ["a", "b", "c", "d", "e"])
        assert many == ["5 runs were not in a steady state (a; b; c; and 2 more); see"]
        three = Outcomes().states(3, "see", ["a", "b", "c"])
        assert three == ["3 runs were not in a steady state (a; b; c); see"]

    def test_bold_is_written_where_there_are_styles(self, capsys, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        console.show(console.TextTable("t", ("", "a", "b"), [("x", "17", "23")], bold={(0, 1)}))
        out = capsys.readouterr().out
        assert re.search(r"\x1b\[1m *17", out)
        assert not re.search(r"\x1b\[1m *23", out)


class TestPage:
    def visible(self, html):
        body = re.sub(r"<script.*?</script>", "", html.partition("<body")[2], flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())

    def test_a_sweep_over_names_has_it_with_the_names_of_its_labels(self, tmp_path):
        axis = fy.Axis("system", {"transport": ["ndp", "tcp"]}, labels=["Ours", "Theirs"])
        done = fy.sweep(fy.Plan(SCENARIO, [axis], replicas=3, name="both"), tmp_path / "s")
        html = page.render(done)
        specs = json.loads(re.search(r'id="specs">(.*?)</script>', html)[1])
        assert {row["run"] for row in specs["fct"]["datasets"]["rows"]} == {"Ours", "Theirs"}
        assert "both: Ours and Theirs" in html
        # A table has means over replicas, and curves have the flows of all of them.
        mean = done.by_size.filter(system="Ours", size_group="all")["slowdown_mean"].item()
        assert f"{mean:.2f}" in self.visible(html)
        flows = done.flows.filter(pl.col("system") == "Ours", "measured").collect()
        longest = flows["fct_ps"].max()
        drawn = [row for row in specs["fct"]["datasets"]["rows"] if row["run"] == "Ours"]
        assert max(row["value"] for row in drawn) == pytest.approx(longest, rel=1e-4)
        assert "means over up to 3 replicas" in self.visible(html)

    def test_numbers_have_lines_unless_the_plan_asks_for_it(self, tmp_path):
        window = {"transport.ndp.initial_window": [2, 8]}
        swept = fy.sweep(fy.Plan(SCENARIO, [fy.Axis("window", window)]), tmp_path / "swept")
        compared = fy.compare(SCENARIO, window, tmp_path / "compared")
        assert [side_by_side.is_shown_so(each) for each in (swept, compared)] == [False, True]
        assert [point.label for point in side_by_side.points_of(compared)] == [
            "initial_window 2",
            "initial_window 8",
        ]

    def test_names_of_loads_and_chosen_metrics_have_charts_over_the_axis(self, tmp_path):
        load = fy.Axis("named", {"traffic.few.arrivals.poisson.load": [0.3, 0.6]}, labels=["low", "high"])
        system = fy.Axis("system", {"transport": ["ndp", "tcp"]})
        loads = fy.sweep(fy.Plan(SCENARIO, [load]), tmp_path / "loads")
        chosen = fy.sweep(fy.Plan(SCENARIO, [system], metrics=["fct_p50_ps"]), tmp_path / "chosen")
        assert not side_by_side.is_shown_so(loads)
        assert not side_by_side.is_shown_so(chosen)

    def test_runs_that_are_missing_are_said(self, tmp_path):
        done = fy.sweep(
            comparison(SCENARIO, {"transport": ["ndp", "tcp", "dctcp"]}), tmp_path / "s", shard=(1, 2)
        )
        assert len(side_by_side.points_of(done)) == 2
        assert "1 of 3 runs are not done" in self.visible(page.render(done))


class TestFairness:
    def unequal(self, *transports, **more):
        resolved = [
            dict(fy.check({**SCENARIO, "transport": transport, **more}, whole=True))
            for transport in transports
        ]
        return {fact.name: [cell.main for cell in fact.cells] for fact in fairness.unequal(resolved)}

    def test_defaults_differ_in_all(self):
        found = self.unequal("ndp", {"tcp": {"congestion": "dctcp", "preset": "datacentre"}}, "dcqcn")
        assert found["payload"] == ["1,436 B", "1,460 B", "1,000 B"]
        assert found["header"] == ["64 B", "40 B", "62 B"]
        assert found["buffer"] == ["8 full-packets", "200 packets", "derived"]
        assert found["minimum RTO"][1:] == ["5ms", "67.1\u00a0ms"]
        assert found["paths"] == ["per-packet", "per-flow", "per-flow"]
        assert found["acknowledgements"][1].startswith("every 2 packets, or after 500us")
        assert found["handshake"][1] == "one round trip before data"
        assert found["initial window"][1:] == ["10 packets", "no limit: line rate"]

    def test_one_field_is_one_difference(self):
        assert self.unequal("ndp", "ndp") == {}
        assert self.unequal("tcp", {"tcp": {"handshake": False}}).keys() == {"handshake"}
        assert self.unequal("tcp", {"tcp": {"rto_min": "1ms"}}) == {"minimum RTO": ["200ms", "1ms"]}
        # Settings of a session within a transport count, too.
        mptcp = [{"mptcp": {"subflows": 1}}, {"mptcp": {"subflows": 1, "tcp": {"initial_window": 4}}}]
        assert self.unequal(*mptcp) == {"initial window": ["10 packets", "4 packets"]}


def test_the_page_on_it_is_followed(tmp_path):
    own = pages.ROOT / "docs" / "how-to" / "compare-transports.md"
    pages.follow(own, tmp_path, pages.environment(tmp_path / "bin"))
    kinds = [word for block in pages.blocks(own) for word in block.words]
    assert (kinds.count("run"), kinds.count("output")) == (3, 2)


@pytest.mark.parametrize(
    ("field", "column"),
    [
        ("traffic.all.arrivals.poisson.load", "load"),
        ("transport", "protocol"),
        ("traffic.all.flows", "flow_count"),
        ("queue.drop-tail.limit.packets", "limit.packets"),
        ("packets", "swept_packets"),
    ],
)
def test_an_axis_has_the_name_of_its_field_by_more_of_its_path_where_tables_have_a_column_of_that_name(
    field, column
):
    assert free_name(field) == column
