"""Sweeps as users meet them: what runs, what is kept, what is refused, and the tables of the results."""

import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time

import polars as pl
import pytest
from conftest import PATIENCE_S, SMALL, open_sweep

import flowyard as fy
from flowyard import cli
from flowyard.errors import UserError
from flowyard.sweeps import Axis, Plan, columns, tables
from flowyard.sweeps.plan import ModelPlan
from flowyard.sweeps.task import ScenarioTask

SIZES = '[[axes]]\nname = "size"\nset.traffic.few.sizes.fixed = ["10KB", "20KB"]\n'
# Runs of about half a second.
LONGER = """\
scenario = "small.toml"
replicas = 6
set.topology.single-switch.hosts = 16
set.traffic.few.flows = 64
set.traffic.few.sizes.fixed = "10MB"
"""


@pytest.fixture
def sweep(small, tmp_path, monkeypatch, capsys):
    """Runs `flowyard sweep` on a file of that text, in tmp_path; returns exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def sweep(text, *options):
        (tmp_path / "plan.toml").write_text('scenario = "small.toml"\n' + text)
        code = cli.main(["sweep", "plan.toml", *map(str, options)])
        return (code, *capsys.readouterr())

    return sweep


def times(folder):
    """When each run's folder and files were last changed."""
    paths = [path for run in (folder / "runs").iterdir() for path in (run, *run.iterdir())]
    return {path: path.stat().st_mtime_ns for path in paths}


def digests(folder):
    """Each run's digest by its key."""
    return {key: summary["digest"] for key, summary in open_sweep(folder).summaries().items()}


def begin(tmp_path, *arguments, **options):
    """A sweep in the background."""
    words = [sys.executable, "-m", "flowyard", "sweep", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True, **options)


# What runs.


def test_a_sweep_leaves_a_folder_and_says_so(sweep, tmp_path):
    assert sweep("replicas = 3\n" + SIZES) == (0, "6 of 6 runs are in out/plan\n", "plan: 6 runs\n")
    folder = tmp_path / "out/plan"
    assert sorted(path.name for path in folder.iterdir()) == ["runs", "sweep.json"]
    opened = open_sweep(folder)
    assert (opened.name, opened.axes, opened.replicas) == ("plan", {"size": ["10KB", "20KB"]}, 3)
    assert opened.complete
    for key in opened.runs["run"]:
        assert fy.open_run(opened.path(key)).status == "complete"


def test_results_are_those_of_flowyard_run(sweep, flowyard, tmp_path):
    sweep("replicas = 2\nset.run.seed = 3\n" + SIZES)
    swept = open_sweep(tmp_path / "out/plan")
    found = digests(tmp_path / "out/plan")
    for key, size, replica, _ in swept.runs.rows():
        words = [f"traffic.few.sizes.fixed={size}", f"run.replica={replica}", "run.seed=3"]
        done = flowyard("run", "small.toml", "--json", *(word for pair in words for word in ("--set", pair)))
        alone = json.loads(done.stdout)
        assert alone["digest"] == found[key]
        own = swept.summaries()[key]
        assert own["scenario"] | {"name": ""} == alone["scenario"] | {"name": ""}
    assert len(set(found.values())) == 4


def test_json_is_what_there_is(sweep):
    code, out, _ = sweep("replicas = 2\n", "-o", "there", "--json")
    assert code == 0
    assert json.loads(out) == {
        "folder": "there",
        "runs": 2,
        "done": 2,
        "damaged": 0,
        "now": {"complete": 2},
        "failed": [],
        "violations": [],
        "unsteady": 0,
        "interrupted": False,
        "advice": [],
    }
    assert json.loads(sweep("replicas = 2\n", "-o", "there", "--json")[1])["now"] == {}


def test_a_second_call_runs_nothing(sweep, tmp_path):
    sweep("replicas = 2\n" + SIZES)
    before = times(tmp_path / "out/plan")
    assert sweep("replicas = 2\n" + SIZES)[2] == "plan: 4 runs, 4 of them done before\n"
    assert times(tmp_path / "out/plan") == before


def test_more_replicas_and_more_values_run_only_what_is_new(sweep, tmp_path):
    folder = tmp_path / "out/plan"
    sweep("replicas = 2\n" + SIZES)
    before = times(folder)
    assert sweep("replicas = 3\n" + SIZES)[2] == "plan: 6 runs, 4 of them done before\n"
    assert before.items() <= times(folder).items()
    before = times(folder)
    more = SIZES.replace('"20KB"', '"20KB", "30KB"')
    assert sweep("replicas = 3\n" + more)[2] == "plan: 9 runs, 6 of them done before\n"
    assert before.items() <= times(folder).items()
    assert open_sweep(folder).runs.height == 9


def test_a_run_that_is_removed_is_made_again(sweep, tmp_path):
    sweep("replicas = 3\n")
    found = digests(tmp_path / "out/plan")
    gone = tmp_path / "out/plan/runs" / next(iter(found))
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    assert sweep("replicas = 3\n")[2] == "plan: 3 runs, 2 of them done before\n"
    assert digests(tmp_path / "out/plan") == found


def test_places_that_are_the_same_run_share_it(sweep, tmp_path):
    # run.replica is 0, 1 and 1, 2: three runs for four places.
    text = 'replicas = 2\n[[axes]]\nname = "first"\nset.run.replica = [0, 1]\n'
    assert sweep(text)[:2] == (0, "4 of 4 runs are in out/plan\n")
    assert len(list((tmp_path / "out/plan/runs").iterdir())) == 3
    flows = open_sweep(tmp_path / "out/plan").flows.collect()
    assert flows.group_by("first", "replica").len()["len"].to_list() == [4] * 4


def test_a_changed_scenario_is_refused_and_the_field_is_named(sweep, small, tmp_path):
    sweep("replicas = 2\n")
    before = times(tmp_path / "out/plan")
    small.write_text(small.read_text().replace("hosts = 4", "hosts = 6"))
    code, out, err = sweep("replicas = 2\n")
    assert (code, out) == (2, "")
    assert err == (
        "error: out/plan: 2 of its completed runs are not in this plan: the scenario has changed: "
        "topology.single-switch.hosts: 4 -> 6; "
        "choose another folder with -o, or let this one follow the new plan with --update\n"
    )
    assert times(tmp_path / "out/plan") == before


def test_many_changes_are_named_in_part(sweep):
    sweep("")
    code, _, err = sweep(
        'set.run = { seed = 5, until = "1s", stall = "2s", audit = true }\n'
        'set.traffic.few = { flows = 3, sizes.fixed = "1KB" }\n'
        'set.topology.single-switch.rate = "1Gbps"\n'
    )
    assert code == 2
    changes = err.partition("has changed: ")[2].split("; ")
    assert sum(" -> " in change for change in changes) == 5
    assert any(change == "and 2 more" for change in changes)


def test_values_that_are_left_out_are_named(sweep):
    sweep(SIZES)
    code, _, err = sweep(SIZES.replace(', "20KB"', ""))
    assert code == 2
    assert "1 of its completed runs are not in this plan: such as size = 20KB, replica 0; " in err


def test_another_engine_is_refused_and_named(sweep, tmp_path, monkeypatch):
    sweep("replicas = 2\n")
    before = times(tmp_path / "out/plan")
    own = open_sweep(tmp_path / "out/plan").engine
    monkeypatch.setattr("flowyard._native.__engine__", "9.9.9+other")
    code, _, err = sweep("replicas = 2\n")
    assert code == 2
    assert (
        f"2 of its completed runs are not in this plan: it was made by engine {own}, this is 9.9.9+other; "
        in err
    )
    assert times(tmp_path / "out/plan") == before
    # Beside the old ones.
    assert sweep("replicas = 2\n", "--update")[:2] == (0, "2 of 2 runs are in out/plan\n")
    assert before.items() <= times(tmp_path / "out/plan").items()
    assert len(list((tmp_path / "out/plan/runs").iterdir())) == 4


def test_update_goes_on_and_shows_the_new_plan_alone(sweep, tmp_path):
    sweep("replicas = 2\n" + SIZES)
    other = SIZES.replace('"10KB"', '"30KB"')
    assert sweep("replicas = 2\n" + other)[0] == 2
    assert sweep("replicas = 2\n" + other, "--update")[2] == "plan: 4 runs, 2 of them done before\n"
    opened = open_sweep(tmp_path / "out/plan")
    assert sorted(opened.flows.collect()["size"].unique()) == ["20KB", "30KB"]
    assert opened.means["size"].to_list() == ["30KB", "20KB"]
    assert len(list((tmp_path / "out/plan/runs").iterdir())) == 6
    # What was left out is still there for who goes back.
    assert sweep("replicas = 2\n" + SIZES, "--update")[2] == "plan: 4 runs, 4 of them done before\n"


@pytest.mark.parametrize("content", ["[]", "{}", "3", '{"runs": []}', "not JSON", b"\xff\xfe"])
def test_a_folder_of_something_else_is_refused(sweep, tmp_path, content):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "sweep.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = sweep("", "-o", "mine")
    assert (code, out) == (2, "")
    assert re.search(r"error: mine/sweep.json: (not JSON|not UTF-8 text|not as flowyard wrote it)", err)
    assert [path.name for path in folder.iterdir()] == ["sweep.json"]
    with pytest.raises(UserError, match=r"mine/sweep\.json: "):
        open_sweep(folder)


def test_a_folder_that_is_not_a_sweep_s_and_a_file_are_left_alone(sweep, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    said = "error: mine: is not empty; choose another folder with -o, or remove it\n"
    assert sweep("", "-o", "mine") == (2, "", said)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    said = "error: small.toml: is a file; choose another folder with -o\n"
    assert sweep("", "-o", "small.toml") == (2, "", said)
    code, _, err = sweep("", "-o", "small.toml/x")
    assert (code, err) == (2, "error: small.toml/x: cannot write here (small.toml is no folder)\n")
    assert json.loads(sweep("", "-o", "mine", "--json")[1])["error"].startswith("mine: is not empty")


def test_shards_at_the_same_time_share_the_work(sweep, tmp_path):
    text = "replicas = 20\n" + SIZES
    (tmp_path / "plan.toml").write_text('scenario = "small.toml"\n' + text)
    for n in (1, 2, 3):
        folder = tmp_path / f"shards-{n}"
        words = ["plan.toml", "-o", folder, "--json"]
        shards = [begin(tmp_path, *words, "--shard", f"{i}/{n}") for i in range(1, n + 1)]
        answers = [shard.communicate(timeout=PATIENCE_S) for shard in shards]
        assert [shard.returncode for shard in shards] == [0] * n, answers
        # Each makes its own part: if two made the same run, these would be more than there are.
        made = [json.loads(out)["now"]["complete"] for out, _ in answers]
        assert sum(made) == 40
        assert max(made) - min(made) <= 1
        opened = open_sweep(folder)
        assert opened.complete
        assert sorted(path.name for path in (folder / "runs").iterdir()) == sorted(opened.runs["run"])
        assert sorted(path.name for path in folder.iterdir()) == ["runs", "sweep.json"]
        before = times(folder)
        assert sweep(text, "-o", folder)[2] == "plan: 40 runs, 40 of them done before\n"
        assert times(folder) == before


def test_a_part_beyond_all_of_them_says_what_n_is(sweep, capsys):
    with pytest.raises(SystemExit):
        sweep("replicas = 3\n", "--shard", "7/2")
    said = capsys.readouterr().err
    assert "'7/2' is not I/N with I from 1 to N, such as 1/4; N is the number of all parts" in said
    assert "SLURM_ARRAY_TASK_COUNT is their number, so write N as a number" in said


def test_a_shard_says_so_and_more_shards_than_runs_are_no_harm(sweep, tmp_path):
    code, out, err = sweep("replicas = 3\n", "--shard", "2/2")
    assert (code, out, err) == (0, "1 of 3 runs are in out/plan\n", "plan: 1 run (shard 2 of 2)\n")
    assert sweep("replicas = 3\n", "--shard", "5/5")[0] == 0
    assert not open_sweep(tmp_path / "out/plan").complete
    assert sweep("replicas = 3\n")[2] == "plan: 3 runs, 1 of them done before\n"


def test_parts_may_be_counted_from_0_or_from_1(sweep, tmp_path):
    text = "replicas = 5\n"
    made = [sweep(text, "--shard", f"{i}/3", "-o", f"from-0-{i}") for i in range(3)]
    assert [code for code, _, _ in made] == [0] * 3
    parts = [set(digests(tmp_path / f"from-0-{i}")) for i in range(3)]
    assert sweep(text, "--shard", "3/3", "-o", "last")[0] == 0
    assert parts[0] == set(digests(tmp_path / "last"))
    assert len(set.union(*parts)) == sum(map(len, parts)) == 5


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("four", "four"),
        ("two words", "two words"),
        ("a/b", "plan"),
        ("..", "plan"),
        ("a\\nb", "plan"),
        ("", "plan"),
    ],
)
def test_the_folder_is_called_as_the_sweep_is(sweep, tmp_path, name, folder):
    code, out, _ = sweep(f'name = "{name}"\n')
    assert (code, out) == (0, f"1 of 1 runs are in out/{folder}\n")
    assert open_sweep(tmp_path / "out" / folder).name == name.replace("\\n", "\n")


# What goes wrong.


def test_a_run_that_fails_does_not_stop_the_others_and_is_tried_again(sweep, tmp_path, monkeypatch):
    own = ScenarioTask.run

    def fail(task, progress=None, threads=None):
        if (task.values["size"], task.replica) == ("20KB", 1):
            raise RuntimeError("no luck")
        return own(task, progress)

    monkeypatch.setattr(ScenarioTask, "run", fail)
    code, out, err = sweep("replicas = 3\n" + SIZES)
    assert (code, out) == (1, "5 of 6 runs are in out/plan\n")
    assert err == "plan: 6 runs\nfailed: size = 20KB, replica 1: no luck\n"
    assert not (tmp_path / "out/plan/.partial").exists()
    with pytest.raises(UserError, match="size = 20KB, replica 1: no luck"):
        fy.sweep(tmp_path / "plan.toml", tmp_path / "out/plan")
    monkeypatch.setattr(ScenarioTask, "run", own)
    before = times(tmp_path / "out/plan")
    assert sweep("replicas = 3\n" + SIZES)[2] == "plan: 6 runs, 5 of them done before\n"
    assert before.items() <= times(tmp_path / "out/plan").items()
    assert open_sweep(tmp_path / "out/plan").complete


def test_many_failures_are_told_in_part(sweep, monkeypatch):
    def fail(task, progress=None, threads=None):
        raise ZeroDivisionError

    monkeypatch.setattr(ScenarioTask, "run", fail)
    code, out, err = sweep("replicas = 9\n")
    assert (code, out) == (1, "0 of 9 runs are in out/plan\n")
    lines = err.splitlines()
    assert len(lines) == 7
    assert lines[1].endswith(": ZeroDivisionError")
    assert lines[-1] == "failed: and 4 more"


def test_violations_of_an_audit_are_told(sweep, monkeypatch):
    own = ScenarioTask.run

    def violate(task, progress=None, threads=None):
        result = own(task, progress)
        result.summary["violations"] = ["a packet got lost"]
        return result

    monkeypatch.setattr(ScenarioTask, "run", violate)
    code, _, err = sweep("replicas = 2\n")
    assert code == 1
    assert "audit: replica 1: a packet got lost\n" in err


def test_a_run_that_is_not_complete_says_so_each_time(sweep):
    short = 'replicas = 2\n[[axes]]\nname = "until"\nset.run.until = ["1us", "1s"]\n'
    code, out, _ = sweep(short)
    assert (code, out) == (4, "2 runs ended with status limit\n4 of 4 runs are in out/plan\n")
    code, out, err = sweep(short)
    assert (code, err) == (4, "plan: 4 runs, 4 of them done before\n")


# Any file of more than a few KB is too much, as on a full disk.
FULL = """\
import resource, sys
from flowyard.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no resource limits")
@pytest.mark.parametrize("limit", [0, 1000, 6000])
def test_a_full_disk_is_told_once_and_leaves_no_half_run(small, tmp_path, limit):
    text = 'scenario = "small.toml"\nreplicas = 30\n'
    (tmp_path / "plan.toml").write_text(text)
    words = [sys.executable, "-c", FULL, str(limit), "sweep", "plan.toml", "-o", "full"]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"error: full: cannot write here \(.*File too large.*\)", last)
    assert "Traceback" not in done.stderr
    folder = tmp_path / "full"
    assert list(folder.glob("runs/*")) == []
    assert not (folder / ".partial").exists()
    assert cli.main(["sweep", str(tmp_path / "plan.toml"), "-o", str(folder)]) == 0
    assert open_sweep(folder).complete


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(small, tmp_path):
    (tmp_path / "plan.toml").write_text(LONGER)
    process = begin(tmp_path, "plan.toml", "-o", "there", "--workers", "1")
    while not list(tmp_path.glob("there/runs/*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    kept = times(tmp_path / "there")
    done = len(open_sweep(tmp_path / "there").summaries())
    assert process.returncode == 130
    assert err.endswith("\ninterrupted; the same command goes on with what is missing\n")
    assert "Traceback" not in err
    assert 1 <= done < 6
    assert out == f"{done} of 6 runs are in there\n"
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["runs", "sweep.json"]
    statuses = {summary["status"] for summary in open_sweep(tmp_path / "there").summaries().values()}
    assert statuses == {"complete"}
    again = begin(tmp_path, "plan.toml", "-o", "there")
    out, err = again.communicate(timeout=PATIENCE_S)
    assert (again.returncode, out) == (0, "6 of 6 runs are in there\n")
    assert err.startswith(f"plan: 6 runs, {done} of them done before\n")
    assert kept.items() <= times(tmp_path / "there").items()


def test_lines_with_the_time_left_where_there_is_no_terminal(sweep, monkeypatch):
    monkeypatch.setattr("flowyard.terminal.progress.PLAIN_EVERY", 0.0)
    monkeypatch.setattr("flowyard.terminal.progress.Overall.LIVE_EVERY", 0.0)
    _, _, err = sweep("replicas = 5\n", "--workers", "1")
    lines = [line for line in err.splitlines() if line.endswith(" left")]
    assert lines
    left = r"(\d+ s|less than a second) left|time left unknown"
    assert all(re.fullmatch(rf"plan: \d of 5 runs, ({left})", line) for line in lines)
    assert err.splitlines()[-1] == "plan: 5 of 5 runs"


# The tables of the results.


@pytest.fixture
def typed(small, tmp_path):
    """A sweep with an axis of each type."""
    axes = [
        Axis("n", {"traffic.few.flows": [1, 2]}),
        Axis("share", {"run.seed": [1, 2]}, labels=[1, 0.5]),
        Axis("audit", {"run.audit": [True, False]}),
        Axis("size", {"traffic.few.sizes.fixed": ["1KB", "2KB"]}),
        Axis("mixed", {"run.measure": ["auto", "all"]}, labels=[1, "x"]),
        Axis("large", {"run.replica": [0, 2**40]}, labels=[2**63, 1]),
    ]
    return fy.sweep(Plan(small, axes, name="typed"), tmp_path / "typed")


@pytest.mark.parametrize(
    ("labels", "kind", "first"),
    [
        ([2**63, "x"], pl.String, "9223372036854775808"),
        ([2**63, -1], pl.Float64, 2.0**63),
        ([2**63, 0.5], pl.Float64, 2.0**63),
        ([2**64 - 1, 0], pl.UInt64, 2**64 - 1),
    ],
)
def test_labels_may_be_integers_that_no_column_of_integers_holds(small, tmp_path, labels, kind, first):
    axis = Axis("large", {"run.seed": [1, 2]}, labels=labels)
    runs = fy.sweep(Plan(small, [axis], name="large"), tmp_path / "large").runs
    assert runs.schema["large"] == kind
    assert runs["large"][0] == first


def test_labels_have_64_bits():
    for label in (2**64, -(2**63) - 1):
        with pytest.raises(UserError, match="use numbers of 64 bits"):
            Axis("large", {"run.seed": [1, 2]}, labels=[label, 1])


def test_axes_are_columns_with_their_types(typed):
    expected = {
        "n": pl.Int64,
        "share": pl.Float64,
        "audit": pl.Boolean,
        "size": pl.String,
        "mixed": pl.String,
        "large": pl.UInt64,
    }
    for table in (typed.flows.collect(), typed.links.collect(), typed.metrics, typed.means, typed.runs):
        assert {name: table.schema[name] for name in expected} == expected
    assert typed.runs.height == 64
    points = typed.flows.collect().unique(["run"]).select(list(expected)).rows()
    assert len(set(points)) == 64
    assert {point[4] for point in points} == {"1", "x"}
    assert {point[5] for point in points} == {2**63, 1}
    # Each row stands where it was made: size_bytes and the number of flows say the same as the axes.
    flows = typed.flows.collect()
    assert flows.select((pl.col("size_bytes") == pl.col("size").str.head(1).cast(int) * 1000).all()).item()
    assert flows.group_by("run", "n").len().select((pl.col("n") == pl.col("len")).all()).item()


def test_tables_are_lazy_and_those_of_all_runs(sweep, tmp_path):
    sweep("replicas = 3\n" + SIZES)
    opened = open_sweep(tmp_path / "out/plan")
    assert isinstance(opened.flows, pl.LazyFrame)
    assert isinstance(opened.links, pl.LazyFrame)
    for name in ("flows", "links"):
        table = getattr(opened, name).collect()
        assert table.columns[:3] == ["run", "size", "replica"]
        for key, size, replica, _ in opened.runs.rows():
            own = pl.DataFrame(getattr(fy.open_run(opened.path(key)), name))
            part = table.filter(pl.col("run") == key)
            assert part.select("size", "replica").unique().rows() == [(size, replica)]
            assert part.drop("run", "size", "replica").cast(pl.String).equals(own.cast(pl.String))
    few = opened.flows.filter(pl.col("size") == "10KB").select(pl.len()).collect().item()
    assert few == 3 * 4
    with pytest.raises(UserError, match="its runs have no table packets"):
        opened.scan("packets")


def test_runs_with_other_tags_tiers_and_networks_are_one_table(small, tmp_path):
    other = tmp_path / "other.toml"
    text = small.read_text().replace('name = "few"', 'name = "other"')
    other.write_text(text.replace("[topology.single-switch]\nhosts = 4", "[topology.fat-tree]\nk = 4"))
    opened = fy.sweep(Plan(axes=[Axis("which", scenarios=[small, other])], replicas=2), tmp_path / "out")
    flows = opened.flows.collect()
    assert set(flows.select("which", "tag").cast(pl.String).rows()) == {("small", "few"), ("other", "other")}
    grouped = flows.group_by("tag").len()
    assert sorted(grouped.cast({"tag": pl.String}).rows()) == [("few", 8), ("other", 8)]
    links = opened.links.collect()
    hosts = links.group_by("which").agg(pl.len()).sort("which")
    # Both directions: 4 cables of one switch; 16 at hosts and 32 between switches in a fat-tree of k = 4.
    assert hosts.rows() == [("other", 2 * 2 * 48), ("small", 2 * 2 * 4)]


def test_before_a_run_is_done_there_are_no_tables(sweep, tmp_path, monkeypatch):
    def fail(task, progress=None, threads=None):
        raise ZeroDivisionError

    monkeypatch.setattr(ScenarioTask, "run", fail)
    sweep("")
    opened = open_sweep(tmp_path / "out/plan")
    assert (opened.complete, opened.metrics.height, opened.means.height) == (False, 0, 0)
    with pytest.raises(UserError, match="no run is done yet"):
        opened.flows  # noqa: B018


@pytest.mark.parametrize(("replicas", "t"), [(2, 12.706), (3, 4.303), (5, 2.776)])
def test_means_are_those_of_the_replicas_with_student_s_t(sweep, small, tmp_path, replicas, t):
    # Random arrivals and places, so that replicas differ.
    text = small.read_text().replace('"at-once"', "{ poisson = { load = 0.5 } }")
    small.write_text(text.replace("permutation", "uniform").replace("flows = 4", "flows = 20"))
    sweep(f'replicas = {replicas}\nset.run.measure = "all"\n' + SIZES)
    opened = open_sweep(tmp_path / "out/plan")
    means = opened.means
    assert means["size"].to_list() == ["10KB", "20KB"]
    assert means["replicas"].to_list() == [replicas] * 2
    for size, mean, interval, goodput in means.select(
        "size", "fct_mean_ps", "fct_mean_ps_ci95", "goodput_bps"
    ).rows():
        runs = opened.runs.filter(pl.col("size") == size)["run"]
        tables = [pl.DataFrame(fy.open_run(opened.path(key)).flows) for key in runs]
        values = [sum(table["fct_ps"]) / len(table) for table in tables]
        centre = sum(values) / replicas
        spread = math.sqrt(sum((value - centre) ** 2 for value in values) / (replicas - 1))
        assert spread > 0
        assert mean == pytest.approx(centre)
        assert interval == pytest.approx(t * spread / math.sqrt(replicas), rel=2e-4)
        # Bytes of all flows by the time of the run, in bits per second.
        ends = [fy.open_run(opened.path(key)).summary["end_ps"] for key in runs]
        bits = 8 * 20 * int(size[:2]) * 1000
        assert goodput == pytest.approx(sum(bits / end * 1e12 for end in ends) / replicas)


LOADS = """\
replicas = 2
set.traffic.few = { matrix = "uniform", flows = 400 }
[[axes]]
name = "load"
set.traffic.few.arrivals = [{ poisson = { load = 0.4 } }, { poisson = { load = 1.5 } }]
labels = [0.4, 1.5]
"""


def test_loads_are_those_of_the_measuring_window(sweep, tmp_path):
    sweep(LOADS)
    opened = open_sweep(tmp_path / "out/plan")
    metrics = opened.metrics
    assert metrics["offered_load"].to_list() == metrics["load"].to_list()
    for row in metrics.iter_rows(named=True):
        summary = opened.summaries()[row["run"]]
        window, (entry,) = summary["measured"], summary["traffic"]
        assert window["rule"] == "chosen"
        assert row["flows"] == window["flows"] == 400
        assert row["carried_load"] == window["carried_load"] == entry["carried_load"]
        assert row["hosts_wire"] > row["carried_load"]
        assert row["stable"] == (not window["unstable"])
        # All flows are of the entry, and its load is of all hosts: 4 links of 10 Gbit/s.
        assert row["goodput_bps"] == pytest.approx(row["carried_load"] * 40e9)
    assert not metrics.filter(load=1.5)["stable"].any()
    means = opened.means
    assert means.columns[:3] == ["load", "replicas", "stable"]
    assert means["stable"].to_list() == [bool(metrics.filter(load=0.4)["stable"].all()), False]
    for load in (0.4, 1.5):
        values = metrics.filter(load=load)["carried_load"].to_list()
        (row,) = means.filter(load=load).to_dicts()
        assert row["carried_load"] == pytest.approx(statistics.fmean(values))
        assert row["carried_load_ci95"] == pytest.approx(
            12.706 * statistics.stdev(values) / math.sqrt(2), rel=2e-4
        )


def test_a_point_is_stable_if_all_its_runs_are(sweep, tmp_path):
    """Both replicas at a load of 0.1 are; then one of them is said not to be."""
    sweep(LOADS.replace("load = 0.4", "load = 0.1").replace("labels = [0.4", "labels = [0.1"))
    opened = open_sweep(tmp_path / "out/plan")
    first = opened.runs["run"][0]
    for run in opened.runs.filter(load=0.1)["run"]:
        own = opened.path(run) / "run.json"
        summary = json.loads(own.read_text())
        summary["measured"]["unstable"] = ["why"] if run == first else []
        own.write_text(json.dumps(summary))
    again = open_sweep(tmp_path / "out/plan")
    assert again.metrics.filter(load=0.1)["stable"].to_list() == [False, True]
    assert again.means.filter(load=0.1)["stable"].to_list() == [False]


def test_without_a_load_there_is_none(sweep, tmp_path):
    sweep("")
    (row,) = open_sweep(tmp_path / "out/plan").metrics.to_dicts()
    assert (row["offered_load"], row["carried_load"], row["stable"]) == (None, None, None)
    assert 0 < row["hosts_wire"] <= 1


def test_runs_that_were_not_in_a_steady_state_are_told(sweep, tmp_path):
    code, out, _ = sweep(LOADS, "--json")
    told = json.loads(out)["unsteady"]
    assert code == 0
    assert told == int((~open_sweep(tmp_path / "out/plan").metrics["stable"]).sum()) >= 2
    assert f"{told} runs were not in a steady state; flowyard show out/plan says which\n" in sweep(LOADS)[1]


def test_one_replica_has_no_interval(sweep, tmp_path):
    sweep(SIZES)
    means = open_sweep(tmp_path / "out/plan").means
    assert means["replicas"].to_list() == [1, 1]
    assert means["fct_p50_ps"].null_count() == 0
    for metric in tables.METRICS:
        assert means[f"{metric}_ci95"].to_list() == [None, None]


def test_without_axes_there_is_one_point(sweep, tmp_path):
    sweep("replicas = 3\n")
    means = open_sweep(tmp_path / "out/plan").means
    assert means.columns[0] == "replicas"
    assert means.select("replicas", "completed_fraction", "completed_fraction_ci95").rows() == [(3, 1.0, 0.0)]


def test_what_no_run_has_is_null(sweep, tmp_path):
    sweep("replicas = 2\nset.run.until = '1ns'\n")
    row = open_sweep(tmp_path / "out/plan").means.row(0, named=True)
    assert (row["completed_fraction"], row["fct_p50_ps"], row["fct_p50_ps_ci95"]) == (0.0, None, None)


MIXED = """\
scenario = "small.toml"
replicas = 3
set.traffic = [
    { name = "short", arrivals.poisson.load = 0.3, matrix = "uniform", sizes.fixed = "20KB", flows = 30 },
    { name = "mixed", arrivals.poisson.load = 0.3, matrix = "uniform", sizes = "web-search", flows = 30 },
]
[[axes]]
name = "hosts"
set.topology.single-switch.hosts = [8, 4]
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A sweep with flows of many sizes and of two entries."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "small.toml").write_text(SMALL)
    (folder / "plan.toml").write_text(MIXED)
    return fy.sweep(folder / "plan.toml", folder / "out")


def percentile(values, share):
    """Type 7, by the standard library."""
    return statistics.quantiles(values, n=1000, method="inclusive")[round(share * 1000) - 1]


@pytest.mark.parametrize("tag", [None, "short", "mixed"])
@pytest.mark.parametrize(
    ("group", "low", "high"),
    [
        ("up to 100 KB", 0, 100_000),
        ("100 KB to 10 MB", 100_000, 10**7),
        ("above 10 MB", 10**7, 2**63),
        ("all", 0, 2**63),
    ],
)
def test_completion_by_size_is_the_mean_over_replicas_of_each_one_s_flows(mixed, tag, group, low, high):
    table = mixed.by_size if tag is None else mixed.by_entry.filter(tag=tag)
    for hosts in (8, 4):
        runs = []
        for key in mixed.runs.filter(hosts=hosts)["run"]:
            flows = fy.open_run(mixed.path(key)).flows
            rows = pl.DataFrame(flows).with_columns(pl.col("tag").cast(pl.String)).to_dicts()
            rows = [row for row in rows if row["measured"]]
            own = [row for row in rows if low < row["size_bytes"] <= high and tag in (None, row["tag"])]
            if own:
                runs.append(own)
        found = table.filter(hosts=hosts, size_group=group).to_dicts()
        if not runs:
            assert found == []
            continue
        (row,) = found
        assert row["replicas"] == len(runs)
        assert row["flows"] == pytest.approx(statistics.fmean(map(len, runs)))
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)):
            for metric, column in ((f"fct_{name}_ps", "fct_ps"), (f"slowdown_{name}", "slowdown")):
                values = [
                    percentile([flow[column] for flow in own], share) if len(own) > 1 else own[0][column]
                    for own in runs
                ]
                assert row[metric] == pytest.approx(statistics.fmean(values))
                if len(values) == 3:
                    half = 4.303 * statistics.stdev(values) / math.sqrt(3)
                    assert row[f"{metric}_ci95"] == pytest.approx(half, rel=2e-4)


def test_points_and_groups_stand_in_their_order(mixed):
    groups = ["up to 100 KB", "100 KB to 10 MB", "above 10 MB", "all"]
    places = mixed.by_size.select("hosts", "size_group").rows()
    assert places == sorted(places, key=lambda place: (place[0] != 8, groups.index(place[1])))
    assert {hosts for hosts, _ in places} == {8, 4}
    assert {group for _, group in places} == set(groups)
    ends = mixed.over_size.select("hosts", "size_up_to_bytes").rows()
    assert ends == sorted(ends, key=lambda place: (place[0] != 8, place[1]))
    # All flows together are those of the metrics.
    shared = [
        "hosts",
        "replicas",
        "slowdown_p99_9",
        "slowdown_p99_9_ci95",
        "fct_p95_ps",
        "completed_fraction",
    ]
    assert mixed.by_size.filter(size_group="all").select(shared).equals(mixed.means.select(shared))


def test_shares_of_packets_are_of_those_that_flows_sent(mixed):
    for row in mixed.metrics.iter_rows(named=True):
        sent = sum(pl.DataFrame(fy.open_run(mixed.path(row["run"])).flows)["packets_sent"])
        assert row["packets_sent"] == sent > 0
        for name in tables.OF_PACKETS:
            assert row[f"{name}_per_packet"] == row[name] / sent
    assert mixed.metrics["trims"].sum() > 0


def test_shares_of_packets_are_of_those_of_background_too(tmp_path):
    scenario = {
        "topology": {"single-switch": {"hosts": 8}},
        "transport": "ndp",
        "traffic": [
            {
                "name": name,
                "arrivals": "at-once",
                "matrix": {"incast": {"senders": 6}},
                "sizes": {"fixed": "50KB"},
                "flows": 6,
                "background": name == "other",
            }
            for name in ("own", "other")
        ],
    }
    found = fy.sweep(fy.Plan(scenario), tmp_path / "out")
    (row,) = found.metrics.iter_rows(named=True)
    flows = fy.open_run(found.path(row["run"])).flows.to_polars()
    measured = flows.filter("measured")["packets_sent"].sum()
    assert 0 < measured < row["packets_sent"] == flows["packets_sent"].sum()
    assert row["trims_per_packet"] == row["trims"] / flows["packets_sent"].sum() > 0


def test_places_that_share_a_run_have_its_groups_each(sweep, tmp_path):
    sweep("[[axes]]\nname = 'a'\nlabels = ['one', 'two']\nset.run.seed = [3, 3]\n")
    found = open_sweep(tmp_path / "out/plan").by_size
    assert found.select("a", "size_group", "flows").rows() == [
        (place, group, 4.0) for place in ("one", "two") for group in ("up to 100 KB", "all")
    ]


def test_tables_by_group_need_a_run(sweep, tmp_path, monkeypatch):
    monkeypatch.setattr(ScenarioTask, "run", lambda *_, **__: 1 / 0)
    sweep("")
    for table in ("by_size", "by_entry", "over_size"):
        with pytest.raises(UserError, match="no run is done yet"):
            getattr(open_sweep(tmp_path / "out/plan"), table)


def test_a_plan_may_choose_its_metrics(sweep, tmp_path):
    sweep("metrics = ['marks', 'slowdown_p99_9']\n")
    assert open_sweep(tmp_path / "out/plan").chosen == ("marks", "slowdown_p99_9")
    sweep("", "-o", "open")
    assert open_sweep(tmp_path / "open").chosen == ()


def test_every_column_of_a_sweep_is_explained(mixed):
    explained = columns.explain()
    for name, table in {
        "sweep.metrics": mixed.metrics,
        "sweep.means": mixed.means,
        "sweep.by_size": mixed.by_size,
        "sweep.by_entry": mixed.by_entry,
        "sweep.over_size": mixed.over_size,
    }.items():
        own = {"run", "hosts", "replica", "replicas", "status", "flows", "flows_ci95"}
        assert {column["name"] for column in explained[name]} - own == set(table.columns) - own
        assert set(table.columns) <= tables.COLUMNS | {"hosts"}


# A sweep of a function.


def cubes(size, power, replica):
    return pl.DataFrame({"value": [size**power + replica] * 2})


def test_a_model_is_swept_as_scenarios_are(tmp_path):
    plan = ModelPlan(cubes, {"size": [2, 3], "power": [1, 3]}, replicas=2, name="cubes")
    opened = fy.sweep(plan, tmp_path / "cubes")
    table = opened.scan("table").collect()
    assert table.height == 16
    assert table.select(
        (pl.col("value") == pl.col("size") ** pl.col("power") + pl.col("replica")).all()
    ).item()
    before = times(tmp_path / "cubes")
    fy.sweep(plan, tmp_path / "cubes")
    assert times(tmp_path / "cubes") == before
    with pytest.raises(UserError, match="6 of its completed runs are not in this plan: such as size = 3"):
        fy.sweep(ModelPlan(cubes, {"size": [2], "power": [1, 3]}, replicas=1), tmp_path / "cubes")
