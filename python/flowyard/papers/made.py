"""What became of a figure, and what it took."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flowyard import _native, folders
from flowyard.papers.judge import Judgement

COST = "cost.json"


@dataclass
class Made:
    """What became of a figure.

    Attributes:
        judgements: By claim.
        seconds: That its runs and tables took, over all calls of this engine in the folder.
        cpu_s: Processor time of these calls; at least that of the simulations.
        simulated_s: Processor time of its simulations, whenever and wherever they ran.
        runs: How many runs its sweeps have.
        endings: How many of them did not end as "complete", by status.
        tables: Their names.
        violations: What audits found in its runs: the simulator is wrong.
        broke: Why there is no picture or no tables, if so.
    """

    judgements: dict[str, Judgement] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_s: float = 0.0
    simulated_s: float = 0.0
    runs: int = 0
    endings: dict[str, int] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    broke: str = ""


@contextmanager
def counted(folder: Path, made: Made) -> Iterator[None]:
    """Adds what is done inside to what earlier calls in a figure's folder took, also if it is interrupted.

    Simulations that ran elsewhere (on a cluster) or in a call that was killed count by their own processor time.
    """
    path = folder / COST
    before = _read(path)
    wall, cpu = time.monotonic(), time.process_time()
    try:
        yield
    finally:
        made.seconds = before["seconds"] + time.monotonic() - wall
        spent = before["cpu_s"] + time.process_time() - cpu
        cost = {"engine": _native.__engine__, "seconds": round(made.seconds, 2), "cpu_s": round(spent, 2)}
        made.cpu_s = max(spent, made.simulated_s)
        folders.replace(path, json.dumps(cost) + "\n")


def _read(path: Path) -> dict[str, float]:
    """What earlier calls took; nothing if another engine made them, since its runs are not used."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["engine"] == _native.__engine__:
            return {name: float(found[name]) for name in ("seconds", "cpu_s")}
    except (OSError, ValueError, KeyError, TypeError):
        # Not there, or cut short: then it is not known, and counting begins anew.
        pass
    return {"seconds": 0.0, "cpu_s": 0.0}
