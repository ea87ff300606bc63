"""Sweeps and replicas of members in Python: results of single runs, runs made again for another source, Dask."""

import json
import pickle
import re
from typing import Any

import pytest
from conftest import open_sweep
from dask_cluster import a_cluster
from test_prototypes import small

import flowyard as fy
from flowyard import cli
from flowyard.errors import UserError
from flowyard.prototypes import CongestionControl, files, travel
from flowyard.prototypes.examples import fixed_window
from flowyard.prototypes.examples.aimd import Aimd
from flowyard.prototypes.examples.drop_tail import DropTail
from flowyard.prototypes.examples.fixed_window import FixedWindow
from flowyard.prototypes.examples.per_flow import PerFlow
from flowyard.prototypes.registry import Registered

FIXED_WINDOW = fixed_window.__file__
OWN = """\
from flowyard.prototypes import CongestionControl


class Half(CongestionControl):
    def on_loss(self, window, loss):
        window.ssthresh = window.cwnd = max(window.flight // 2, 2 * window.mss)
"""
PLAN = """\
scenario = "one.json"
prototypes = ["own.py"]
replicas = 2

[[axes]]
name = "size"
set.traffic.a.sizes.fixed = ["100KB", "300KB"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A scenario, a sweep of it, and the file of its control."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.json").write_text(json.dumps(small(congestion={"python": {"name": "Half"}})))
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def digests(folder):
    """The digest and the source of each run, by its place."""
    sweep = open_sweep(folder)
    summaries = sweep.summaries()
    rows = sweep.runs.rows(named=True)
    found = {(row["size"], row["replica"]): summaries[row["run"]] for row in rows}
    return {place: (run["digest"], run["prototypes"][0]["sha256"]) for place, run in found.items()}


def test_a_sweep_has_the_results_of_single_runs(here):
    assert cli.main(["sweep", "plan.toml", "-o", "swept"]) == 0
    found = digests(here / "swept")
    assert len(found) == 4
    (own,) = files.read(["own.py"])
    for (size, replica), (digest, sha256) in found.items():
        changes = {"traffic.a.sizes.fixed": size, "run.replica": replica}
        alone = fy.run("one.json", changes, controls={"Half": own.cls}).summary
        assert (digest, sha256) == (alone["digest"], alone["prototypes"][0]["sha256"])


def test_a_changed_source_makes_its_runs_again(here, capsys):
    assert cli.main(["sweep", "plan.toml", "-o", "swept"]) == 0
    before = digests(here / "swept")
    assert cli.main(["sweep", "plan.toml", "-o", "swept"]) == 0
    assert "4 runs, 4 of them done before" in capsys.readouterr().err
    (here / "own.py").write_text(OWN.replace("// 2", "// 4"))
    assert cli.main(["sweep", "plan.toml", "-o", "swept"]) == 2
    assert "the scenario has changed: the source of Half;" in capsys.readouterr().err
    assert cli.main(["sweep", "plan.toml", "-o", "swept", "--update"]) == 0
    after = digests(here / "swept")
    assert all(after[place] != before[place] for place in before)


def test_replicas_and_forecasts_know_prototypes(here, capsys):
    options = ["--prototype", "own.py"]
    assert cli.main(["run", "one.json", "--replicas", "2", "-o", "there", *options]) == 0
    assert len(open_sweep(here / "there").runs) == 2
    assert cli.main(["sweep", "plan.toml", "--dry-run"]) == 0
    (here / "plan.toml").write_text(PLAN.replace('prototypes = ["own.py"]\n', ""))
    assert cli.main(["check", "plan.toml", *options]) == 0
    capsys.readouterr()
    assert cli.main(["sweep", "plan.toml", "-o", "swept"]) == 2
    assert 'hand it in: prototypes = ["FILE.py"] in the file of the sweep' in capsys.readouterr().err


class TestComparisons:
    """Classes stand beside built-in members, by their names alone."""

    def digests(self, folder):
        """The digest of each run by its label, of a comparison of one field."""
        sweep = open_sweep(folder)
        ((axis, _),) = sweep.axes.items()
        summaries = sweep.summaries()
        return {
            row[axis]: summaries[row["run"]]["digest"]
            for row in sweep.runs.iter_rows(named=True)
            if not row["replica"]
        }

    def test_a_control_and_a_transport_go_by_the_names_of_their_classes(self, here, capsys):
        words = ["run", "one.json", "--compare", "reno,Half,FixedWindow,ndp", "-o", "there"]
        files_of = ["--prototype", "own.py", "--prototype", FIXED_WINDOW]
        assert cli.main([*words, *files_of]) == 0
        assert (here / "there/report.html").stat().st_size > 10_000
        out, _ = capsys.readouterr()
        assert re.search(r"reno +Half +FixedWindow +ndp", out)
        found = self.digests(here / "there")
        (half,) = files.read(["own.py"])
        alone = {
            "reno": fy.run(small(congestion="reno")),
            "Half": fy.run("one.json", controls={"Half": half.cls}),
            "FixedWindow": fy.run(
                small() | {"transport": {"python": {"name": "FixedWindow"}}},
                transports={"FixedWindow": FixedWindow},
            ),
        }
        for name, run in alone.items():
            assert found[name] == run.summary["digest"]
        assert len(set(found.values())) == 4
        # The transport's own fields are those of the scenario, which other controls share.
        summaries = open_sweep(here / "there").summaries().values()
        tcp = [
            run["scenario"]["transport"]["tcp"] for run in summaries if "tcp" in run["scenario"]["transport"]
        ]
        assert [fields["rto_min"] for fields in tcp] == ["1ms", "1ms"]

    def test_queues_and_balancers_too_with_replicas_and_twins_agree(self, tmp_path):
        alike = {"queue": ["drop-tail", "mine"], "balancer": ["per-flow", "other"]}
        classes: Any = {"queues": {"mine": DropTail}, "balancers": {"other": PerFlow}}
        folder = tmp_path / "there"
        limit = {"queue.drop-tail.limit.packets": 100}
        done = fy.compare(small(), {"queue": alike["queue"]}, folder, replicas=2, **classes)
        assert len(done.runs) == 4
        assert fy.run(small(), limit).summary["digest"] == self.digests(folder)["mine"]
        done = fy.compare(small(), {"balancer": alike["balancer"]}, tmp_path / "paths", **classes)
        assert len(set(self.digests(tmp_path / "paths").values())) == 1

    def test_an_own_control_of_a_scenario_needs_its_file_only(self, here):
        options = ["--compare", "traffic.a.sizes.fixed=10KB,30KB", "--prototype", "own.py", "-o", "there"]
        assert cli.main(["run", "one.json", *options]) == 0

    def test_a_name_without_its_file_says_where_it_goes(self, here, capsys):
        (here / "two.json").write_text(json.dumps(small()))
        assert cli.main(["run", "two.json", "--compare", "reno,Half"]) == 2
        error = capsys.readouterr().err
        assert "'Half' is no transport" in error
        assert "the file of a class in Python follows --prototype" in error
        assert cli.main(["run", "two.json", "--compare", "reno,Hafl", "--prototype", "own.py"]) == 2
        assert "did you mean Half?" in capsys.readouterr().err


def test_classes_are_handed_to_a_plan(tmp_path):
    plan = fy.Plan(small(congestion={"python": {"name": "mine"}}), replicas=2, controls={"mine": Aimd})
    sweep = fy.sweep(plan, tmp_path / "swept")
    built_in = fy.run(small(congestion="reno")).summary["digest"]
    assert built_in in {run["digest"] for run in sweep.summaries().values()}


def test_a_class_comes_back_as_it_was_sent(here):
    (own,) = files.read(["own.py"])
    (here / "own.py").unlink()
    for handed in (own, Registered("control", "mine", Aimd)):
        back = pickle.loads(pickle.dumps(handed))
        assert (back.kind, back.name, back.cls) == (handed.kind, handed.name, handed.cls)
        assert travel.digest(back.cls) == json.loads(handed.described())["sha256"] or handed is own


def test_another_source_or_none_is_refused(here):
    sent = list(travel.packed(Registered("control", "mine", Aimd)))
    sent[4] = "0" * 64
    with pytest.raises(UserError, match=r"aimd.Aimd has another source here"):
        travel.unpacked(*sent)
    with pytest.raises(UserError, match=r"nowhere.Aimd is not here: No module named 'nowhere'"):
        travel.unpacked("control", "mine", "nowhere", "Aimd", "", None, None)

    class Inner(CongestionControl):
        """A class within a function."""

    with pytest.raises(UserError, match="which other processes cannot import"):
        pickle.dumps(Registered("control", "mine", Inner))


def test_workers_of_a_cluster_run_the_text_of_a_file(here):
    assert cli.main(["sweep", "plan.toml", "-o", "local"]) == 0
    with a_cluster(here / "dask") as cluster:
        address = cluster.scheduler()
        cluster.worker()
        assert cli.main(["sweep", "plan.toml", "-o", "swept", "--dask", address]) == 0
    assert digests(here / "swept") == digests(here / "local")
