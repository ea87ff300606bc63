"""What runs and sweeps will take, said before they are run."""

import json
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import open_sweep

import flowyard as fy
from flowyard import cli, run_time, text
from flowyard.errors import UserError
from flowyard.results import Checked
from flowyard.sweeps import Axis, Plan, sharing
from flowyard.sweeps import forecast as sweeps
from flowyard.terminal.exits import INTERRUPTED

HOSTS = Axis("hosts", {"topology.single-switch.hosts": [4, 8]})


def plan(small, **changes):
    return Plan(small, [HOSTS], replicas=3, set={"traffic.few.flows": 4, **changes}, file="plan.toml")


@pytest.fixture
def begun(monkeypatch):
    """Which scenarios were begun for their speed."""
    found = []
    own = run_time.trial

    def trial(checked):
        found.append(checked)
        return own(checked)

    monkeypatch.setattr("flowyard.run_time.trial", trial)
    return found


def test_work_is_what_the_engine_foresees_of_each_run(small, tmp_path):
    found = sweeps.of(plan(small), tmp_path / "out", workers=2)
    foreseen = [
        Checked(small, {"traffic.few.flows": 4, "topology.single-switch.hosts": hosts}).outlook().needs
        for hosts in (4, 8)
    ]
    assert found.packet_hops == 3 * sum(needs["packet_hops"] for needs in foreseen)
    assert found.memory_bytes == 2 * max(needs["memory_bytes"] for needs in foreseen)
    assert (found.runs, found.done, found.points, found.looked, found.workers) == (6, 0, 2, 2, 2)
    assert found.speed
    assert found.seconds == pytest.approx(found.packet_hops / found.speed.hops_per_s / 2)
    # Nothing is left behind.
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_signal_ends_a_check_and_not_the_trial_alone(small, monkeypatch, capsys):
    def run(self, *, progress):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress(None)

    monkeypatch.setattr(Checked, "run", run)
    monkeypatch.setattr(run_time, "SHORT_HOPS", 0)
    assert cli.main(["check", str(small)]) == INTERRUPTED
    assert capsys.readouterr().out == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_runs_that_are_there_say_the_speed_and_the_size(small, tmp_path, begun):
    done = fy.sweep(plan(small), tmp_path / "out")
    more = Plan(small, [HOSTS], replicas=5, set={"traffic.few.flows": 4})
    found = sweeps.of(more, tmp_path / "out", workers=1)
    assert not begun
    assert (found.runs, found.done) == (10, 6)
    counters = [summary["counters"] for summary in done.summaries().values()]
    speed = sum(c["packet_hops"] for c in counters) / sum(c["wall_s"] for c in counters)
    assert found.speed
    assert found.speed.hops_per_s == pytest.approx(speed)
    assert found.speed.source == "6 runs that are done"
    size = sum(path.stat().st_size for path in (tmp_path / "out/runs").rglob("*") if path.is_file())
    assert found.disk_bytes == round(size / 6 * 4)
    whole = sweeps.of(plan(small), tmp_path / "out")
    assert (whole.done, whole.packet_hops) == (6, 0)
    assert whole.lines() == [f"6 runs of 2 points, 6 of them done, in {tmp_path / 'out'}"]


def test_a_damaged_run_is_one_that_is_missing(small, tmp_path):
    done = fy.sweep(plan(small), tmp_path / "out")
    flows = done.path(done.runs["run"][0]) / "flows.parquet"
    flows.write_bytes(flows.read_bytes()[:-10])
    found = sweeps.of(plan(small), tmp_path / "out")
    assert (found.runs, found.done) == (6, 5)
    assert found.packet_hops > 0


def test_points_whose_work_is_a_lower_bound_are_named(small, tmp_path):
    small.write_text(
        "transport = 'tcp'\ntopology.single-switch.hosts = 8001\n[[traffic]]\nname = 'incast'\n"
        "arrivals = 'at-once'\nmatrix.incast.senders = 2\nsizes.fixed = '10KB'\n"
    )
    senders = Axis("senders", {"traffic.incast.matrix.incast.senders": [2, 8000]})
    found = sweeps.of(Plan(small, [senders], file="plan.toml"), tmp_path / "out")
    why = Checked(small, {"traffic.incast.matrix.incast.senders": 8000}).outlook().why_least
    assert why
    # Of trimmed packets the headers arrive: nothing waits for a timer.
    trimmed = {"transport": "ndp", "traffic.incast.matrix.incast.senders": 8000}
    assert Checked(small, trimmed).outlook().why_least is None
    assert found.least == {"senders = 8000": why}
    said = found.lines()
    assert [line.startswith("at least ") for line in said[:4]] == [False, True, True, False]
    assert said[-1] == f"at senders = 8000: {why}"
    assert found.as_json()["least"] == {"senders = 8000": why}


def test_of_many_points_some_are_looked_at(small, tmp_path, monkeypatch, begun):
    monkeypatch.setattr(sweeps, "MOST_POINTS", 5)
    seeds = Plan(small, [Axis("seed", {"run.seed": list(range(41))})], replicas=2)
    found = sweeps.of(seeds, tmp_path / "out")
    assert (found.points, found.looked, len(begun)) == (41, 5, sweeps.TRIALS)
    # All points have the same work.
    assert found.packet_hops == 82 * Checked(small).outlook().needs["packet_hops"]
    assert "by 5 of the points" in found.lines()[1]


def test_a_shard_is_its_part(small, tmp_path):
    parts = [sweeps.of(plan(small), tmp_path / "out", shard=(i, 4)).runs for i in range(1, 5)]
    assert parts == [2, 2, 1, 1]


def test_a_point_that_needs_too_much_is_named(small, tmp_path):
    with pytest.raises(UserError, match=r"(?s)hosts = 4, replica 0 cannot be run:.*run.memory_limit"):
        sweeps.of(plan(small, **{"run.memory_limit": "1MiB", "traffic.few.flows": 10**6}), tmp_path / "out")


def test_a_trial_ends_early_and_a_short_run_ends_itself(small, long):
    result = run_time.trial(Checked(long))
    assert result.status == "interrupted"
    found = run_time.speed_of(result)
    assert found
    assert run_time.TRIAL_S <= found.seconds < 60
    assert found.hops_per_s == result.summary["counters"]["packet_hops"] / found.seconds > 0
    assert run_time.trial(Checked(small)).status == "complete"


def test_long_times_are_written_out(inside, small):
    late = ["--set", 'traffic.few.arrivals={times={at=["0s","2s"]}}', "--set", "traffic.few.flows=2"]
    assert " ms simulated" in inside("check", small).stdout
    assert "2,000 ms simulated" in inside("check", small, *late).stdout


def test_the_speed_of_a_trial_is_that_of_the_simulation(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(run_time, "time", SimpleNamespace(monotonic=lambda: now[0]))
    no_table: Any = None

    class Slow:
        """A run whose flows are drawn for a minute, and whose tables take another."""

        def outlook(self):
            now[0] += 60

        def run(self, *, progress):
            # The network is set up for half a minute, in which a few packets go.
            now[0] += 30
            for i in range(1, 4):
                now[0] += 0.25
                try:
                    progress({"packet_hops": 1000 * i})
                except KeyboardInterrupt:
                    break
            now[0] += 60
            counters = {"packet_hops": 3001, "wall_s": 150.75}
            return fy.Result(no_table, no_table, {"counters": counters, "status": "interrupted"})

    slow: Any = Slow()
    found = run_time.speed_of(run_time.trial(slow))
    assert found
    # From the first news on.
    assert (found.hops, found.seconds) == (2000, 0.5)


def test_an_end_before_that_of_the_window_is_named():
    needs, _, _, _, window = Checked("web-search-ndp", {"run.until": "1ms"}).outlook()
    said = run_time.measuring(window, needs["end_ps"]).replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith(
        "the run ends at 1.00 ms (run.until), before its window of 2,000 flows from 500 µs to 53"
    )
    needs, _, _, _, window = Checked("web-search-ndp").outlook()
    assert "arrivals continue until the last of them" in run_time.measuring(window, needs["end_ps"])


def test_a_speed_says_on_how_many_threads_and_of_which_time_it_is():
    """A trial that was given up saw the beginning of its run alone, which has short queues."""
    no_table: Any = None

    def source(status, **more):
        counters = {"packet_hops": 10**6, "wall_s": 0.4}
        found = run_time.speed_of(
            fy.Result(no_table, no_table, {"counters": counters, "status": status} | more)
        )
        assert found
        return found.source

    began = "from an empty network on; long queues slow a run down"
    assert source("interrupted") == f"its first 0.4 s here on 1 thread, {began}"
    parts = {"parts": {"threads": 4}}
    assert source("interrupted", partition=parts) == f"its first 0.4 s here on 4 threads, {began}"
    assert source("complete", partition={"whole": "one switch"}) == "its first 0.4 s here on 1 thread"


def test_a_time_that_is_not_known_has_its_reason():
    small = {"packet_hops": 10**9, "memory_bytes": 10**6}
    assert run_time.said(small, None) == "time unknown: no packet was sent in its first moments here"
    large = small | {"memory_bytes": 2**31}
    assert (
        run_time.said(large, None)
        == "time unknown: not begun for an estimate, since it needs 2.0 GiB of memory"
    )


@pytest.mark.parametrize(("senders", "is_least"), [(8000, True), (2, False)])
def test_an_incast_that_overruns_its_port_takes_at_least_what_is_foreseen(small, capsys, senders, is_least):
    small.write_text(
        f"transport = 'tcp'\ntopology.single-switch.hosts = {senders + 1}\n[[traffic]]\nname = 'incast'\n"
        f"arrivals = 'at-once'\nmatrix.incast.senders = {senders}\nsizes.fixed = '10KB'\n"
    )
    assert Checked(small).outlook().is_least is is_least
    assert cli.main(["check", str(small)]) == 0
    said = capsys.readouterr().out
    assert ("at least" in said) is is_least
    assert ("retransmissions and timeouts" in said) is is_least
    assert ("a second at most" in said) is not is_least


def test_check_says_how_long_a_run_takes(inside, small, long):
    assert "packet-hops for" in inside("check", small).stdout
    assert "a second at most" in inside("check", small).stdout
    said = inside("check", long).stdout
    assert " M packet-hops/s, as in its first " in said
    assert all(len(line) <= cli.COLUMNS for line in said.splitlines()[1:])
    needs = json.loads(inside("check", long, "--json").stdout)["needs"]
    assert needs["seconds"] == pytest.approx(needs["packet_hops"] / needs["packet_hops_per_s"])
    assert json.loads(inside("check", small, "--json").stdout)["needs"]["seconds"] is None


PLAN = "scenario = 'small.toml'\nreplicas = 4\nname = 'mine'\n"


@pytest.mark.parametrize("words", [["check"], ["sweep", "--dry-run"]])
def test_a_sweep_may_be_asked_before_it_is_run(inside, small, words):
    plan = small.with_name("plan.toml")
    plan.write_text(PLAN)
    asked = inside(*words, plan)
    assert (asked.returncode, asked.stderr) == (0, "")
    lines = asked.stdout.splitlines()
    assert lines[:2] == [f"{plan}: nothing wrong", "  4 runs of 1 point, in out/mine"]
    assert "of memory, about 1 MiB of disk" in lines[-1]
    answer = json.loads(inside(*words, plan, "--json").stdout)
    assert (answer["runs"], answer["speed"]) == (4, "short trials of 1 point on this machine")
    assert not (small.parent / "out").exists()
    plan.write_text(PLAN + "set.run.sead = 3\n")
    assert inside(*words, plan).returncode == 2


def test_what_a_dry_run_cannot_say_is_refused(inside, small):
    plan = small.with_name("plan.toml")
    plan.write_text(PLAN)
    assert "asks no cluster" in inside("sweep", plan, "--dry-run", "--dask", "tcp://x:1").stderr
    assert "--set does not apply" in inside("check", plan, "--set", "run.seed=3").stderr


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"),
        (59.6, "60 s"),
        (100, "2 min"),
        (7140, "119 min"),
        (7200, "2 h 0 min"),
        (3.6e6, "1,000 h 0 min"),
    ],
)
def test_times_that_people_wait(seconds, said):
    assert text.span(seconds) == said


class TestSharing:
    """Runs side by side and threads within a run."""

    @pytest.mark.parametrize(
        ("runs", "workers", "threads", "expected"),
        [
            # Side by side, one a processor.
            (20, None, None, (8, None)),
            (3, None, None, (3, None)),
            (20, 2, None, (2, None)),
            # Few large runs share the processors, many do not.
            (1, None, 4, (1, 4)),
            (1, None, 64, (1, 8)),
            (3, None, 4, (3, 2)),
            (20, None, 4, (8, 1)),
            # Both as asked, even beyond the processors.
            (20, 4, 4, (4, 4)),
            (1, 4, 2, (1, 2)),
        ],
    )
    def test_runs_and_threads(self, small, monkeypatch, runs, workers, threads, expected):
        monkeypatch.setattr(sharing, "LARGE_HOPS", 0)
        tasks = Plan(small, replicas=runs).tasks()
        assert sharing.share(tasks, 8, workers, threads) == expected

    def test_small_runs_have_one_thread(self, small):
        assert sharing.share(Plan(small).tasks(), 8, None, 4) == (1, 1)

    def test_scenarios_that_ask_for_threads_leave_room_for_them(self, small):
        tasks = Plan(small, [Axis("threads", {"run.threads": [1, 3]})], replicas=9).tasks()
        assert sharing.share(tasks, 8) == (2, None)

    def test_the_estimate_names_both_and_results_are_the_same(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(sharing, "LARGE_HOPS", 0)
        monkeypatch.setattr("flowyard.sweeps.local.processors", lambda: 4)
        plan = tmp_path / "plan.toml"
        plan.write_text(
            "replicas = 2\n[scenario]\ntopology.fat-tree.k = 4\ntransport.ndp = {}\n[[scenario.traffic]]\n"
            'name = "all"\narrivals = "at-once"\nmatrix = "permutation"\nsizes.fixed = "30KB"\n'
        )
        asked = ["sweep", str(plan), "-o", str(tmp_path / "two"), "--threads", "2"]
        assert cli.main([*asked, "--dry-run"]) == 0
        assert "2 runs at a time, each on 2 threads, at " in capsys.readouterr().out
        assert cli.main(asked) == 0
        assert "2 runs at a time, each on 2 threads\n" in capsys.readouterr().err
        two, one = open_sweep(tmp_path / "two"), fy.sweep(plan, tmp_path / "one")
        # In the same places, since threads are no part of a key.
        assert two.runs["run"].to_list() == one.runs["run"].to_list()
        for key, summary in one.summaries().items():
            assert summary["digest"] == two.summaries()[key]["digest"]
            assert two.summaries()[key]["partition"]["parts"]["threads"] == 2

    def test_a_cluster_has_threads_of_its_own(self, small, tmp_path):
        with pytest.raises(UserError, match="threads: those of a Dask cluster"):
            fy.sweep(Plan(small), tmp_path / "out", dask="tcp://nowhere:1", threads=2)


@pytest.mark.parametrize(
    ("scenario", "observed"),
    [
        # Many flows of which few are open at a time, in a window; and all flows together.
        ("web-search-tcp", {"links": [], "every": "100us"}),
        ("requests-and-replies", {"links": [], "every": "1us"}),
    ],
)
def test_the_rows_of_samples_are_about_those_that_are_written(scenario, observed):
    changes = {f"observe.samples.{key}": value for key, value in observed.items()}
    changes |= {"traffic.queries.flows": 100} if scenario.startswith("web") else {}
    checked = Checked(scenario, changes)
    samples = checked.run().samples
    assert samples is not None
    expected, written = checked.outlook().needs["sample_rows"], len(samples)
    assert written / 3 < expected < 3 * written


def test_a_flow_alone_has_the_rows_of_its_time():
    """1 MB on 10 Gbps takes 800 us; a flow is taken to last three times that: 24 looks and one, of two series."""
    entry = {"name": "a", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": "1MB"}}
    late = entry | {"name": "b", "arrivals": {"at-once": {"at": "5ms", "jitter": "0s"}}}
    scenario = {
        "topology": {"single-switch": {"hosts": 2, "rate": "10Gbps"}},
        "transport": "ndp",
        "traffic": [entry | {"arrivals": {"at-once": {"jitter": "0s"}}}, late],
        "observe": {"samples": {"every": "100us", "links": [], "flows": ["a"]}},
    }
    assert Checked(scenario).outlook().needs["sample_rows"] == 2 * 25
