"""The command line as users meet it: exit codes, messages, folders, Ctrl-C."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from conftest import PATIENCE_S

import flowyard as fy
from flowyard import cli, scenarios, text
from flowyard.analysis import goodput_bps
from flowyard.commands import explain, scenario_fields
from flowyard.errors import EngineError

PACKAGED = ", ".join(scenarios.names())


def folders(path):
    return sorted(
        str(item.relative_to(path))
        for item in path.rglob("*")
        if item.is_dir() and item.name != "__pycache__"
    )


def test_help_names_every_verb(flowyard):
    done = flowyard("--help")
    assert done.returncode == 0
    for verb in ("run", "check", "show", "report", "import", "export", "schema", "explain", "bench"):
        assert f"\n    {verb} " in done.stdout


def test_version(flowyard):
    assert flowyard("--version").stdout == f"flowyard {fy.__version__}\n"


def test_a_run_leaves_a_folder_and_says_so(flowyard, small, tmp_path):
    done = flowyard("run", small)
    assert (done.returncode, done.stderr) == (0, "")
    assert "flows completed" in done.stdout
    assert "4 of 4" in done.stdout
    # As the report writes it.
    result = fy.open_run(tmp_path / "out/small-1")
    bps = goodput_bps(result.flows, result.summary["end_ps"])
    (line,) = (line.split() for line in done.stdout.splitlines() if line.strip().startswith("goodput"))
    assert line[1:3] == f"{text.rate(bps)},".split()
    assert "results in out/small-1" in done.stdout
    assert folders(tmp_path) == ["out", "out/small-1"]
    assert fy.open_run(tmp_path / "out/small-1").status == "complete"


def test_default_folders_count_up(inside, small, tmp_path):
    assert inside("run", small).returncode == 0
    assert "results in out/small-2" in inside("run", small).stdout
    assert folders(tmp_path) == ["out", "out/small-1", "out/small-2"]


def test_json_is_the_summary_and_the_folder(flowyard, small, tmp_path):
    done = flowyard(
        "run", small, "-o", "there", "--json", "--seed", 5, "--audit", "--set", "traffic.few.flows=2"
    )
    answer = json.loads(done.stdout)
    assert answer["folder"] == "there"
    assert answer["seed"] == 5
    assert answer["violations"] == []
    assert answer["counters"]["flows"] == 2
    summary = fy.open_run(tmp_path / "there").summary
    assert answer["digest"] == summary["digest"]
    assert summary["overrides"] == {"traffic.few.flows": "2", "run.seed": "5", "run.audit": "true"}
    assert shlex.split(summary["command"])[:2] == ["flowyard", "run"]
    # The command that is kept is one that a shell takes.
    again = flowyard(*shlex.split(summary["command"])[1:], "-o", "then")
    assert again.returncode == 0
    assert fy.open_run(tmp_path / "then").summary["digest"] == answer["digest"]


def test_a_folder_with_something_in_it_is_left_alone(inside, small, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    done = inside("run", small, "-o", "mine")
    assert done.returncode == 2
    assert done.stderr == "error: mine: is not empty; choose another folder with -o, or remove it\n"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_filled(inside, small, tmp_path):
    (tmp_path / "empty").mkdir()
    assert inside("run", small, "-o", "empty").returncode == 0
    assert (tmp_path / "empty/run.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.toml"], f"nowhere.toml: no such file; packaged scenarios: {PACKAGED}\n"),
        (["run", "web-serch-ndp"], "no such file; did you mean web-search-ndp? packaged scenarios: "),
        (["run", "./web-search-ndp"], "./web-search-ndp: no such file; did you mean web-search-ndp?"),
        (["check", "there/web-search-ndp.toml"], "there/web-search-ndp.toml: no such file"),
        (["run", "."], ".: is a folder; name a scenario file"),
        (["run", "small"], "small: no such file; did you mean small.toml?"),
        (["run", "SMALL.toml"], "SMALL.toml: no such file; did you mean small.toml?"),
        (["run", "smal.toml"], "smal.toml: no such file; did you mean small.toml?"),
        (["run", "../small"], "../small: no such file; packaged scenarios"),
        (["run", "small.toml", "-o", "small.toml"], "small.toml: is a file; choose another folder with -o"),
        (["run", "small.toml", "-o", "small.toml/x"], "small.toml/x: cannot write here"),
        (["run", "small.toml", "--set", "run.sead=3"], "run.sead"),
        (["check", "broken.toml"], "broken.toml"),
        (["explain", "fct"], "no column fct; did you mean fct_ps"),
        (["explain", "FCT"], "no column FCT; did you mean fct_ps"),
        (["explain", "p99"], "no column p99; did you mean slowdown_p99 or fct_p99_ps or lateness_p99_ps or "),
        (["explain", "PFC"], "did you mean queue.lossless (priority flow control), pauses or paused_ps"),
        (["explain", "bisection"], "flowyard topology prints it: the least capacity, one way"),
        (["explain", "slowdown", "fct_p"], "no column fct_p; did you mean fct_ps"),
        (
            ["explain", "jain"],
            "no column jain; flowyard explain, without a name, lists all; docs/metrics.md defines",
        ),
        (["explain", "transport.ndp.inital_window"], "did you mean transport.ndp.initial_window"),
        (["report", "nowhere"], "nowhere: no such folder"),
        (["report", "."], ".: not the folder of a run, run.json is missing"),
    ],
)
def test_mistakes_are_told_without_a_traceback(inside, small, tmp_path, arguments, message):
    (tmp_path / "broken.toml").write_text("[topology\n")
    before = folders(tmp_path)
    done = inside(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert folders(tmp_path) == before


@pytest.mark.parametrize("arguments", [["run"], ["fly"], ["run", "x", "--set", "nonsense"], []])
def test_wrong_usage_exits_with_2(inside, arguments):
    done = inside(*arguments)
    assert done.returncode == 2
    assert "usage: flowyard" in done.stderr


def test_unknown_arguments_show_the_usage_of_their_verb(inside):
    for words in (["run", "x"], ["sweep", "x"], ["paper", "run", "x"]):
        done = inside(*words, "--no-such", "1")
        assert done.returncode == 2
        assert done.stderr.startswith(f"usage: flowyard {' '.join(words[:-1])} [-h]")
        assert "unrecognized arguments: --no-such 1" in done.stderr


def test_options_of_a_run_that_a_sweep_has_not_are_told_apart(inside):
    assert 'write set."KEY" = VALUE into it' in inside("sweep", "s.toml", "--set=a=1").stderr


def test_an_option_that_is_misspelt(inside):
    said = "unrecognized arguments: --sed x.toml; did you mean --seed?"
    assert said in inside("run", "--sed", "3", "x.toml").stderr
    assert inside("run", "x.toml", "--colour").stderr.endswith("unrecognized arguments: --colour\n")


def test_a_verb_that_is_misspelt(inside):
    done = inside("runn", "x.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no verb 'runn'; did you mean run? verbs: run, check, " in done.stderr
    assert "did you mean" not in inside("zzz").stderr
    assert "did you mean --help?" in inside("help").stderr


def test_no_verb_at_all_shows_the_help(flowyard):
    done = flowyard()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == flowyard("--help").stdout


def test_check_shows_all_problems_at_once(inside, small):
    done = inside("check", small, "--set", "run.sead=3", "--set", "topology.single-switch.hosts=1")
    assert done.returncode == 2
    assert "run.sead" in done.stderr
    assert "topology.single-switch.hosts" in done.stderr
    done = inside("check", small, "--set", "run.sead=3", "--json")
    assert done.returncode == 2
    assert [problem["path"] for problem in json.loads(done.stdout)["problems"]] == ["run.sead"]


def test_check_of_a_sound_scenario(inside, small):
    assert "nothing wrong" in inside("check", small).stdout
    said = json.loads(inside("check", small, "--json").stdout)
    assert said.keys() - fy.check(small, whole=True).keys() == {
        "drawn",
        "derived",
        "advice",
        "needs",
        "window",
    }
    assert said == said | fy.check(small, whole=True)


@pytest.mark.parametrize("name", scenarios.names())
def test_packaged_scenarios_go_by_name(inside, tmp_path, name):
    for spelt in (name, f"{name}.toml"):
        done = inside("check", spelt)
        assert (done.returncode, done.stderr) == (0, "")
    # A folder, such as one that a run left under that name, does not stand in the way.
    (tmp_path / name).mkdir()
    assert inside("check", name).returncode == 0
    assert fy.check(name) == fy.check(f"{name}.toml")


def test_a_packaged_scenario_runs_by_name(flowyard, tmp_path):
    done = flowyard("run", "web-search-ndp", "--set", "traffic.queries.flows=2")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("measured: 2 flows, from ")
    assert "results in out/web-search-ndp-1" in done.stdout
    summary = fy.open_run(tmp_path / "out/web-search-ndp-1").summary
    assert summary["scenario"]["name"] == "web-search-ndp"


@pytest.mark.parametrize("name", ["web-search-ndp", "web-search-ndp.toml"])
def test_a_file_of_the_same_name_comes_first(inside, small, tmp_path, name):
    small.rename(tmp_path / name)
    assert "hosts = 4" in inside("check", name).stdout.replace('"', "")


def test_a_stalled_or_limited_run_says_so_and_keeps_its_tables(flowyard, small, tmp_path):
    done = flowyard("run", small, "--set", "run.until=1us")
    assert done.returncode == 4
    assert fy.open_run(tmp_path / "out/small-1").status == "limit"


def test_a_complete_run_that_lost_datagrams_says_so(inside, small):
    lossy = ("--set", "transport=datagram", "--set", 'queue={"drop-tail": {"limit": {"packets": 1}}}')
    done = inside("run", small, *lossy, "--set", 'traffic.few.matrix={"incast": {"senders": 3}}')
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert "flows were not completed: " in said
    assert "transport.datagram retransmits none." in said


def test_schema(flowyard):
    assert json.loads(flowyard("schema").stdout) == fy.schema()


def test_explain(inside):
    everything = inside("explain").stdout
    assert all(column["name"] in everything for columns in fy.explain().values() for column in columns)
    both = json.loads(inside("explain", "id", "--json").stdout)
    assert set(both) == {"flows", "links", "samples"}
    assert "last byte at the receiver" in inside("explain", "fct_ps").stdout
    of_sweeps = json.loads(inside("explain", "slowdown_p99_9_ci95", "--json").stdout)
    assert set(of_sweeps) == {"sweep.means", "sweep.by_size", "sweep.by_entry", "sweep.over_size"}


def test_explain_knows_fields_and_members_of_scenarios(capsys):
    field = fy.schema()["$defs"]["Ndp"]["properties"]["initial_window"]
    for name in ("transport.ndp.initial_window", "traffic.web.transport.ndp.initial_window"):
        assert cli.main(["explain", name]) == 0
        text = capsys.readouterr().out
        assert text.startswith(
            'transport.ndp.initial_window: whole number, at least 1, at most 1000000 or "bdp"; default "bdp"\n'
        )
        assert " ".join(field["description"].split()) in " ".join(text.split())
        assert "docs/reference/transports.md" in text
    for name, paths in {
        "ndp": {"transport.ndp", "queue.ndp"},
        "dctcp": {"transport.tcp.congestion.dctcp", "transport.roce.congestion.dctcp"},
        "traffic.web.flows": {"traffic.NAME.flows"},
        # A name alone.
        "per-flow": {"routing.balancer.per-flow"},
    }.items():
        assert cli.main(["explain", name, "--json"]) == 0
        fields = json.loads(capsys.readouterr().out)["scenario"]
        assert paths <= {field["name"] for field in fields}
        pages = {Path(__file__).parents[2] / field["page"] for field in fields}
        assert all(page.is_file() for page in pages)


def test_a_table_lists_its_fields(capsys):
    assert cli.main(["explain", "arrivals.periodic"]) == 0
    lines = capsys.readouterr().out.splitlines()
    fields = fy.schema()["$defs"]["Periodic"]["properties"]
    assert [line.split()[0] for line in lines if line.startswith("    ")] == list(fields)
    assert (
        '    every (time, such as "10us", at least 1ps, required): Time from the start of a round to that of the next.'
        in lines
    )
    # So does one that may be left out.
    assert cli.main(["explain", "observe.events"]) == 0
    assert "    numbers (list): Only the flows of these numbers" in capsys.readouterr().out
    # The members of a choice stand in its line.
    assert cli.main(["explain", "tcp.congestion"]) == 0
    assert not any(line.startswith("    ") for line in capsys.readouterr().out.splitlines())


def test_each_field_has_its_meaning():
    schema = fy.schema()
    (cable,) = scenario_fields.named(schema, "faults.events.target.cable")
    assert cable["meaning"] == "All cables between two nodes, both ways."
    described = [scenario_fields._described(schema, *found) for found in scenario_fields._walk(schema)]
    assert [field["name"] for field in described if not field["meaning"]] == []


def test_each_part_of_a_scenario_has_its_page():
    schema = fy.schema()
    for part in schema["properties"]:
        (field,) = [field for field in scenario_fields.named(schema, part) if field["name"] == part]
        assert (Path(__file__).parents[2] / field["page"]).is_file(), part


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("cwnd_bytes", {"samples": ["series"]}),
        ("backlog_bytes", {"samples": ["series"]}),
        ("queue_bytes", {"samples": ["series"], "histograms": ["metric"], "events": ["queue_bytes"]}),
        ("network_ps", {"histograms": ["metric"]}),
        # A column of links is called as a series is.
        ("utilisation", {"links": ["utilisation"], "samples": ["series"]}),
    ],
)
def test_explain_knows_what_is_sampled_and_counted(name, tables, capsys):
    assert cli.main(["explain", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {table: [column["name"] for column in columns] for table, columns in found.items()} == tables
    assert all(
        name in (column["name"], *column["meaning"].replace(",", " ").replace(":", " ").split())
        for columns in found.values()
        for column in columns
    )


def test_explain_takes_several_names(capsys):
    assert cli.main(["explain", "fct_ps", "slowdown", "initial_window", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in found["flows"]] == ["fct_ps", "slowdown"]
    assert "transport.ndp.initial_window" in [field["name"] for field in found["scenario"]]
    assert cli.main(["explain", "fct_ps", "pg"]) == 2
    assert cli.main(["explain", "fct_ps", "transport.ndp.initial_window"]) == 0
    said = capsys.readouterr().out
    assert "last byte at the receiver" in said
    assert "transport.ndp.initial_window: whole number" in said


def test_each_word_of_the_field_is_no_name_here():
    tables = fy.explain()
    for word, meant in explain.ELSEWHERE.items():
        assert not explain._named([word], tables)
        assert not scenario_fields.named(fy.schema(), word)
        for name in re.findall(r"[a-z-]+\.[a-z.-]*[a-z]|[a-z]+_[a-z_]+", meant):
            assert scenario_fields.named(fy.schema(), name) or explain._named([name], tables), name


def test_explain_proposes_series_too(capsys):
    assert cli.main(["explain", "cwnd_byte"]) == 2
    assert "did you mean cwnd_bytes" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "taken"), [({}, "1"), ({"POLARS_MAX_THREADS": "3"}, "3")])
def test_tables_do_not_depend_on_the_number_of_processors(given, taken):
    """Sums of fractions do, by the number of polars' threads: the command line takes one unless told otherwise."""
    code = "from flowyard.cli import main; main(['explain', 'fct_ps']); import polars; print(polars.thread_pool_size())"
    others = {name: value for name, value in os.environ.items() if name != "POLARS_MAX_THREADS"}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=others | given, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == taken


def test_a_reader_that_closes_early_gets_no_traceback(tmp_path):
    command = f"{sys.executable} -m flowyard schema | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""


# The program, stopped by Ctrl-C when packets have moved.
STOPPED = """\
import os, signal, sys
from flowyard import cli, results
run = results.Checked.run
def stopped(checked, progress, command):
    def tell(now):
        if now["packet_hops"]:
            os.kill(os.getpid(), signal.SIGINT)
        progress(now)
    return run(checked, progress=tell, command=command)
results.Checked.run = stopped
sys.exit(cli.main())
"""


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
def test_ctrl_c_keeps_what_there_is(long, tmp_path):
    words = [sys.executable, "-c", STOPPED, "run", str(long), "-o", "stopped"]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 130
    assert "interrupted" in done.stdout
    assert "Traceback" not in done.stderr
    assert folders(tmp_path) == ["stopped"]
    result = fy.open_run(tmp_path / "stopped")
    assert result.status == "interrupted"
    assert len(pl.DataFrame(result.flows).filter(~pl.col("completed"))) > 0
    assert result.summary["counters"]["packet_hops"] > 0


def test_check_shows_the_beginning_of_long_lists():
    from flowyard.commands.check import inline

    assert inline({"at": [1, 2]}) == "{ at = [1, 2] }"
    assert inline(list(range(1_000_000))) == "[0, 1, 2, 3, 4, 5, 6, 7, ... 1,000,000 in all]"


THREADS = """
topology.fat-tree.k = 4
transport = "ndp"
[[traffic]]
name = "few"
arrivals = "at-once"
matrix = "permutation"
sizes.fixed = "100KB"
"""


def test_a_run_on_two_threads_says_so_and_has_the_same_results(flowyard, tmp_path):
    scenario = tmp_path / "pods.toml"
    scenario.write_text(THREADS)
    runs = {n: flowyard("run", scenario, "-o", tmp_path / str(n), "--threads", n) for n in (1, 2)}
    assert [run.returncode for run in runs.values()] == [0, 0]
    one, two = (json.loads((tmp_path / str(n) / "run.json").read_text()) for n in runs)
    assert one["digest"] == two["digest"]
    assert "partition" not in one
    assert two["partition"]["parts"]["threads"] == 2
    assert "2: 2 parts" in runs[2].stdout
    flows = [(tmp_path / str(n) / "flows.parquet") for n in runs]
    assert pl.read_parquet(flows[0]).equals(pl.read_parquet(flows[1]))


def test_a_run_that_stays_whole_says_why(inside, tmp_path, small):
    run = inside("run", small, "-o", tmp_path / "out", "--threads", 2)
    assert run.returncode == 0
    assert "1: its network has no two parts" in run.stdout


@pytest.mark.parametrize("threads", ["0", "65", "two"])
def test_a_number_of_threads_has_bounds(inside, small, threads):
    run = inside("run", small, "--threads", threads)
    assert run.returncode == 2
    assert "threads" in run.stderr


def test_a_panic_of_the_engine_is_one_line_and_leaves_nothing(small, tmp_path, monkeypatch, capsys):
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def run(self, **_):
        raise panic("time went\nbackwards")

    monkeypatch.setattr("flowyard.results.Checked.run", run)
    assert cli.main(["run", str(small), "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(
        "error: the simulator contradicted itself: time went backwards; this is a fault of flowyard"
    )
    assert "please report it with the scenario" in said
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_panic_is_an_exception_of_the_interface(small, monkeypatch):
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    class Native:
        def run(self, _):
            raise panic("time went backwards")

    checked = fy.results.Checked(small)
    monkeypatch.setattr(checked, "outlook", lambda: fy.results.Outlook({"memory_bytes": 1}, None, {}, [], {}))
    monkeypatch.setattr(checked, "_native", Native())
    with pytest.raises(
        EngineError, match="contradicted itself: time went backwards; this is a fault of flowyard"
    ):
        checked.run()
