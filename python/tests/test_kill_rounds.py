"""A few rounds of kills, full disks and read-only folders; `kill_rounds.py --minutes 10` goes on with others.

Kills of sweeps on this machine and on a cluster: test_sweeps_kill.py, test_sweeps_dask.py.
"""

import os
import random

import pytest

pytest.importorskip("resource", reason="limits are for POSIX systems")
pytest.importorskip("distributed")

import kill_rounds

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no signals")


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    ground = kill_rounds.Ground(tmp_path_factory.mktemp("kills"), random.Random(7), kills=2)
    ground.prepare()
    return ground


@pytest.mark.parametrize("name", ["paper", "interchange", "full", "read-only"])
def test_a_disturbed_command_loses_nothing_and_leaves_nothing_half(name, ground):
    kill_rounds.play(ground, name)
    assert ground.counts[f"rounds of {name}"] == 1


def test_the_rounds_find_what_is_lost_or_half(ground, tmp_path):
    folder = ground.undisturbed(kill_rounds.SWEEP) / "swept"
    run, other = sorted((folder / "runs").iterdir())[:2]
    table = (run / "flows.parquet").read_bytes()
    (run / "flows.parquet").write_bytes(table[: len(table) // 2])
    with pytest.raises(Exception, match=r"parquet|PAR1|out of"):
        kill_rounds.check_sweep(ground, folder, set())
    (run / "flows.parquet").write_bytes(table)
    kill_rounds.check_sweep(ground, folder, {run.name, other.name})
    with pytest.raises(AssertionError, match="lost"):
        kill_rounds.check_sweep(ground, folder, {"gone"})
