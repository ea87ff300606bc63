"""How a sweep shares out the cores of this machine: runs side by side, and threads within a run.

Side by side runs scale without loss, so that as many as there are cores go at a time. Only where fewer are left, and
they are large, do cores that would be idle serve one run together. Results are the same either way.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from flowyard import memory
from flowyard.results import CANNOT_RUN, Checked
from flowyard.sweeps.subsample import evenly
from flowyard.sweeps.task import ScenarioTask, Task

# Packet-hops below which a run is over before a second thread has paid for its start.
LARGE_HOPS = 3_000_000
# Runs whose work is looked at.
LOOKED = 4

_THREADS = re.compile(r'"threads": (\d+)')


class Share(NamedTuple):
    """How many runs go at a time, and on how many threads each; None: on those that its scenario says."""

    workers: int
    threads: int | None = None

    def said(self, why: str = "") -> str:
        """For people; `why` is that of `within`."""
        runs = f"{self.workers:,} {'run' if self.workers == 1 else 'runs'} at a time"
        each = f", each on {self.threads} threads" if self.threads and self.threads > 1 else ""
        return f"{runs}{each}{f', for their memory: {why}' if why else ''}"


def share(tasks: Sequence[Task], cores: int, workers: int | None = None, threads: int | None = None) -> Share:
    """How the cores are shared out among tasks.

    Args:
        tasks: Those that are to be run.
        cores: That there are.
        workers: Runs at a time, if that is asked for.
        threads: Most threads of a run, if that is asked for; with `workers` each run's, as asked.

    Returns:
        Runs times threads are at most the cores, unless both are asked for, or one alone is more.
    """
    runs = max(1, len(tasks))
    if any(isinstance(task, ScenarioTask) and task.prototypes for task in tasks):
        # Python runs one thread at a time.
        return Share(1)
    if threads is None:
        return Share(min(workers or max(1, cores // _most_of_scenarios(tasks)), runs))
    if workers is not None:
        return Share(min(workers, runs), threads)
    each = max(1, min(threads, cores // min(runs, cores)))
    if each > 1 and not _large(tasks):
        each = 1
    return Share(min(runs, max(1, cores // each)), each)


def within(shared: Share, need: int) -> tuple[Share, str]:
    """As many runs at a time as there is memory for, of which the largest needs so many bytes; at least one.

    That one is refused, if there is too little for it.

    Returns:
        How they are shared out, and what leaves no memory for more of them; empty if it is not the memory.
    """
    there = memory.left()
    if there is None or shared.workers == 1 or need * shared.workers <= there.size:
        return shared, ""
    return shared._replace(workers=max(1, there.size // need)), there.why


def need_of(tasks: Sequence[Task]) -> int:
    """Bytes of memory that the largest of some runs needs, evenly spread."""
    needs = [0]
    for task in evenly(tasks, LOOKED):
        if isinstance(task, ScenarioTask) and task.point:
            # Its own run says why, if it cannot be run.
            with contextlib.suppress(*CANNOT_RUN):
                needs.append(task.point.replica(task.replica).outlook().needs["memory_bytes"])
    return max(needs)


def _most_of_scenarios(tasks: Sequence[Task]) -> int:
    """The most threads that a scenario asks for by itself."""
    asked = (_THREADS.search(task.scenario) for task in tasks if isinstance(task, ScenarioTask))
    return max((int(found[1]) for found in asked if found), default=1)


def _large(tasks: Sequence[Task]) -> bool:
    """Whether one of some runs, evenly spread, is large."""
    points = [task.point for task in evenly(tasks, LOOKED) if isinstance(task, ScenarioTask) and task.point]
    return any(_hops(point) >= LARGE_HOPS for point in points)


def _hops(point: Checked) -> int:
    try:
        return point.outlook().needs["packet_hops"]
    except CANNOT_RUN:
        # Its own run says why.
        return 0
