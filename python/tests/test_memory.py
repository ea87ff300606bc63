"""Runs that need more memory than a machine, a container or a limit leaves: refused before the system ends them."""

import subprocess
import sys

import pytest

import flowyard as fy
from flowyard import cli, memory, sweeps
from flowyard.errors import UserError
from flowyard.memory import Left
from flowyard.sweeps import Plan, forecast, sharing
from flowyard.sweeps.sharing import Share

MIB = 2**20


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A file system that says what a test writes into it."""
    monkeypatch.setattr(memory, "ROOT", tmp_path / "root")
    monkeypatch.setattr(memory, "_own_limits", lambda **_: [])

    def write(**files):
        for name, text in files.items():
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    write(**{"proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable: 1048576 kB\n"})
    return write


def test_without_groups_it_is_what_is_free(system):
    assert memory.left() == Left(1024 * MIB, "so much is free on this machine")


def test_a_group_of_version_2_and_one_around_it(system):
    group = "sys/fs/cgroup/a/b"
    system(
        **{
            "proc/self/cgroup": "0::/a/b\n",
            f"{group}/memory.max": "max\n",
            "sys/fs/cgroup/a/memory.max": f"{250 * MIB}\n",
            "sys/fs/cgroup/a/memory.current": f"{100 * MIB}\n",
            "sys/fs/cgroup/a/memory.stat": f"anon 5\ninactive_file {30 * MIB}\n",
        }
    )
    assert memory.left() == Left(180 * MIB, "its control group may have 250 MiB")


def test_a_group_of_version_1(system):
    group = "sys/fs/cgroup/memory/slurm/job_7"
    system(
        **{
            "proc/self/cgroup": "4:cpuset:/slurm/job_7\n3:memory:/slurm/job_7\n0::/\n",
            f"{group}/memory.limit_in_bytes": f"{300 * MIB}\n",
            f"{group}/memory.usage_in_bytes": f"{100 * MIB}\n",
            f"{group}/memory.stat": "total_inactive_file 0\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        }
    )
    assert memory.left() == Left(200 * MIB, "its control group may have 300 MiB")


def test_in_a_container_the_path_of_the_group_is_that_outside(system):
    system(
        **{
            "proc/self/cgroup": "0::/docker/0123\n",
            "sys/fs/cgroup/memory.max": f"{64 * MIB}\n",
            "sys/fs/cgroup/memory.current": "0\n",
        }
    )
    assert memory.left() == Left(64 * MIB, "its control group may have 64 MiB")


def test_where_the_system_says_nothing_nothing_is_refused(system, tmp_path):
    (tmp_path / "root/proc/meminfo").unlink()
    assert memory.left() is None
    memory.require(2**60)


def test_a_run_that_does_not_fit_is_refused_and_leaves_nothing(small, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "left", lambda: Left(1000, "its control group may have 1 MiB"))
    with pytest.raises(UserError, match=r"needs about 1 MiB of memory, and 1 MiB are left here: its control"):
        fy.run(small)
    before = sorted(tmp_path.iterdir())
    assert cli.main(["run", str(small), "-o", str(tmp_path / "new")]) == 2
    assert cli.main(["check", str(small)]) == 0
    assert sorted(tmp_path.iterdir()) == before


# Of the first two Polars could not be imported, of the third it could not write: the process would abort.
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the limit holds")
@pytest.mark.parametrize("more_mib", [200, 400, 800, 1600])
def test_a_limit_of_address_space_is_one(small, tmp_path, more_mib):
    flows = "--set=traffic.few.flows=3000000"
    matrix = "--set=traffic.few.matrix=all-to-all"
    done = under_a_limit(tmp_path, more_mib, "run", small, "-o", "new", flows, matrix)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "ulimit -v" in done.stderr
    assert "run.memory_limit" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the limit holds")
@pytest.mark.parametrize(
    ("verb", "more_mib", "fields"),
    [
        # Flows that are not drawn, and a network that is not built.
        ("check", 200, ["traffic.few.flows=3000000", "traffic.few.matrix=all-to-all"]),
        ("check", 40, ["topology.single-switch.hosts=65536"]),
        ("topology", 40, ["topology.single-switch.hosts=65536"]),
    ],
)
def test_nothing_large_is_built_where_it_does_not_fit(small, tmp_path, verb, more_mib, fields):
    done = under_a_limit(tmp_path, more_mib, verb, small, *(f"--set={field}" for field in fields))
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "the scenario needs about " in done.stderr
    assert "(ulimit -v);" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the limit holds")
def test_a_network_is_counted_where_there_is_no_room_for_its_picture(small, tmp_path):
    done = under_a_limit(tmp_path, 200, "topology", small)
    assert done.returncode == 0, done.stderr
    assert "switch" in done.stdout
    assert done.stderr.startswith("no picture: its engine reserves ")
    assert done.stderr.count("\n") == 1


def under_a_limit(folder, more_mib, *words):
    """What a command comes to that may take so much more address space than an empty process has."""
    code = (
        "import resource, sys\n"
        "from flowyard import cli\n"
        "sizes = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        f"limit = (int(sizes['VmSize'].split()[0]) << 10) + ({more_mib} << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        f"sys.exit(cli.main({[str(word) for word in words]!r}))\n"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


def test_where_nothing_is_left_the_message_says_so(monkeypatch):
    monkeypatch.setattr(memory, "left", lambda: Left(0, "this process may have 300 MiB (ulimit -v)"))
    with pytest.raises(
        UserError, match=r"needs about 5 MiB of memory, and nothing is left here: this process may"
    ):
        memory.require(5 * MIB)


def test_tables_take_address_space(system, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.undo()
    monkeypatch.setattr(
        resource, "getrlimit", lambda number: (1 << 40 if number == resource.RLIMIT_AS else -1, -1)
    )
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    (with_tables,) = memory._own_limits(tables=True)
    (without,) = memory._own_limits(tables=False)
    assert without.size - with_tables.size == pytest.approx(1 << 30, abs=1 << 28)
    assert (
        with_tables.why
        == "this process may have 1024.0 GiB (ulimit -v), of which writing tables takes 1.0 GiB"
    )


class TestSweeps:
    def test_so_many_runs_at_a_time_as_fit(self, small, monkeypatch, tmp_path):
        need = sharing.need_of(Plan(small).tasks())
        assert need > 0
        monkeypatch.setattr(memory, "left", lambda: Left(2 * need + 1, "so much is free"))
        monkeypatch.setattr("flowyard.sweeps.local.processors", lambda: 8)
        assert sharing.within(Share(8), need) == (Share(2), "so much is free")
        assert sharing.within(Share(2), need) == (Share(2), "")
        assert sharing.within(Share(4), 3 * need) == (Share(1), "so much is free")
        plan = Plan(small, replicas=8, file="plan.toml")
        found = forecast.of(plan, tmp_path / "out")
        assert (found.workers, found.memory_bytes) == (2, 2 * need)
        assert any("2 runs at a time, for their memory: so much is free" in line for line in found.lines())
        said: list[str] = []
        sweeps.execute(plan, tmp_path / "out", announce=said.append)
        assert "2 runs at a time, for their memory: so much is free" in said
