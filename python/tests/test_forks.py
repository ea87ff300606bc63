"""Processes that are forked, by pools and by hand: what uses polars there works, or is refused at once."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

# Seconds after which a child that hangs is killed, by its own alarm.
PATIENCE = 60
HEAD = f"""
import os, signal, sys, warnings
warnings.simplefilter("ignore")

def child(do):
    # "ok", or what it raised, or that it did not end.
    sys.stdout.flush()
    if (pid := os.fork()) == 0:
        signal.alarm({PATIENCE})
        try:
            do()
            print("ok")
        except BaseException as error:
            print(type(error).__name__, error)
        sys.stdout.flush()
        os._exit(0)
    if status := os.waitpid(pid, 0)[1]:
        print("killed by signal", status)
"""
# What uses polars, each in a child of its own.
CALLS = {
    "open": "len(fy.open('run').flows)",
    "open a sweep": "fy.open('sweep').means",
    "means": "sweep.means",
    "by size": "sweep.by_size",
    "flows": "sweep.flows",
    "sweep": "fy.sweep(fy.Plan('small.toml', replicas=2), 'other')",
    "to_polars": "result.flows.to_polars()",
    "view of a table": "result.flows._repr_html_()",
    "view of a sweep": "sweep._repr_html_()",
    "analysis": "analysis.measured(frame)",
    "links": "analysis.worst_links(links)",
}


def run(folder, text):
    """The lines that a program prints."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + text], cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_after_polars_has_worked_every_use_of_it_is_refused_and_runs_go_on(small):
    calls = "\n".join(f"child(lambda: {call})" for call in CALLS.values())
    lines = run(
        small.parent,
        f"""
import flowyard as fy
from flowyard import analysis
result = fy.run('small.toml')
result.save('run')
sweep = fy.sweep(fy.Plan('small.toml', replicas=2), 'sweep')
frame, links = result.flows.to_polars(), result.links.to_polars()
frame.filter(frame['size_bytes'] > 0)
child(lambda: fy.run('small.toml'))
child(lambda: (result.save('new'), result._repr_html_()))
{calls}
""",
    )
    # Neither a run nor its files and summary need polars.
    assert lines[:2] == ["ok", "ok"]
    for name, line in zip(CALLS, lines[2:], strict=True):
        assert line.startswith("UserError this process was forked after polars"), (name, line)
        assert 'get_context("spawn")' in line


def test_before_polars_has_worked_children_work(small):
    lines = run(
        small.parent,
        """
import flowyard as fy, polars
result = fy.run('small.toml')
child(lambda: (result.save('run'), fy.open('run').flows.to_polars().filter(True)))
child(lambda: fy.sweep(fy.Plan('small.toml', replicas=2), 'sweep').means)
""",
    )
    assert lines == ["ok", "ok"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the system says it")
def test_flowyard_may_be_imported_after_the_fork(small):
    lines = run(
        small.parent,
        """
import polars
def use():
    import flowyard as fy
    fy.run('small.toml').flows.to_polars()
polars.DataFrame({'a': [1, 2]}).filter(polars.col('a') > 1)
child(use)
""",
    )
    assert "forked after polars" in lines[0]


def test_a_spawned_pool_works(small):
    (small.parent / "pool.py").write_text(
        """
import multiprocessing, sys
import flowyard as fy
import polars

def one(seed):
    fy.run("small.toml", {"run.seed": seed}).save(f"seed-{seed}")
    return len(fy.open(f"seed-{seed}").flows.to_polars().filter(polars.col("size_bytes") > 0))

if __name__ == "__main__":
    one(0)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(one, [1, 2]))
"""
    )
    done = subprocess.run(
        [sys.executable, "pool.py"], cwd=small.parent, capture_output=True, text=True, timeout=600
    )
    assert done.stdout == "[4, 4]\n", done.stderr
