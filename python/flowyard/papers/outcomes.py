"""Outcome of a figure that was made, and the time that it took."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from flowyard import _native, folders
from flowyard.papers.judge import Judgement

COST = "cost.json"


@dataclass
class FigureOutcome:
    """Outcome of making a figure.

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


class Spent(NamedTuple):
    """Costs of earlier calls of this engine in a figure's folder.

    Attributes:
        seconds: Wall-clock time.
        cpu_s: Processor time of these calls.
        simulated_s: That of the simulations whose results are there.
        finished: Whether the last of them made all tables.
    """

    seconds: float = 0.0
    cpu_s: float = 0.0
    simulated_s: float = 0.0
    finished: bool = False

    @property
    def all_s(self) -> float:
        """Processor time, at least that of the simulations, which may have run elsewhere."""
        return max(self.cpu_s, self.simulated_s)


@contextmanager
def counted(folder: Path, made: FigureOutcome) -> Iterator[None]:
    """Adds what is done inside to what earlier calls in a figure's folder took, also if it is interrupted.

    Simulations that ran elsewhere (on a cluster) or in a call that was killed count by their own processor time.
    """
    path = folder / COST
    before = spent(folder)
    wall, cpu = time.monotonic(), time.process_time()
    finished = False
    try:
        yield
        finished = True
    finally:
        made.seconds = before.seconds + time.monotonic() - wall
        own = before.cpu_s + time.process_time() - cpu
        cost = {
            "engine": _native.__engine__,
            "seconds": round(made.seconds, 2),
            "cpu_s": round(own, 2),
            "simulated_s": round(made.simulated_s, 2),
            "finished": finished,
        }
        made.cpu_s = max(own, made.simulated_s)
        folders.replace(path, json.dumps(cost) + "\n")


def spent(folder: Path) -> Spent:
    """Costs of earlier calls in a figure's folder; zero if another engine made them: its runs are not used."""
    try:
        found = json.loads((folder / COST).read_text(encoding="utf-8"))
        if found["engine"] == _native.__engine__:
            seconds, cpu_s, simulated_s = (
                float(found.get(name, 0)) for name in ("seconds", "cpu_s", "simulated_s")
            )
            return Spent(seconds, cpu_s, simulated_s, found.get("finished") is True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Not there, or cut short: then it is not known, and counting begins anew.
        pass
    return Spent()
