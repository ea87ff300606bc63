"""Forecast of a sweep before it runs: runs, packet-hops, time, memory and disk.

The work of each point is what the engine foresees of it. The speed is that of the sweep's runs that are done, or else
that of short trials of some of its points on this machine.
"""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from flowyard import run_time
from flowyard.errors import EngineError, UserError
from flowyard.folders import run_files
from flowyard.results import CANNOT_RUN, Checked, Outlook, Result
from flowyard.run_time import Speed
from flowyard.sweeps import advice, local, sharing
from flowyard.sweeps.advice import Advice
from flowyard.sweeps.plan import Plan
from flowyard.sweeps.sharing import Share
from flowyard.sweeps.store import Store
from flowyard.sweeps.subsample import evenly
from flowyard.sweeps.task import ScenarioTask, Task, label_of
from flowyard.text import counted, digits, room, span

# Points whose work is looked at; of more, so many evenly spread.
MOST_POINTS = 100
# Points that are begun, and runs that are there that are read.
TRIALS = 4
MOST_READ = 50
# Points that are named whose work is a lower bound.
LEAST_SHOWN = 3
# Bytes a row of what a run leaves, compressed: about what packaged scenarios have.
FLOW_BYTES, SAMPLE_BYTES = 50, 10


class Forecast(NamedTuple):
    """Forecast of a sweep.

    Attributes:
        folder: Where the results will be.
        runs: All runs of the plan.
        done: Those that are there.
        points: Combinations of the axes' places.
        looked: Points whose work was looked at.
        packet_hops: Of all runs that are missing.
        seconds: That they take, so many at a time; None if nothing is known of their speed.
        workers: Runs at a time.
        threads: Of each; None: what its scenario says.
        memory_bytes: Of the largest run, times those at a time.
        memory_why: What leaves no memory for more runs at a time; empty if it is not the memory.
        disk_bytes: That they leave; None if nothing is known.
        speed: What was measured; None likewise.
        advice: What is probably not meant, of all points.
        least: Why the work of a point is a lower bound, by its label, of those that were looked at.
    """

    folder: str
    runs: int
    done: int
    points: int
    looked: int
    packet_hops: int
    seconds: float | None
    workers: int
    threads: int | None
    memory_bytes: int
    memory_why: str
    disk_bytes: int | None
    speed: Speed | None
    advice: list[Advice]
    least: dict[str, str]

    def lines(self) -> list[str]:
        """For people."""
        missing = self.runs - self.done
        before = f", {self.done:,} of them done" if self.done else ""
        said = [f"{counted(self.runs, 'run')} of {counted(self.points, 'point')}{before}, in {self.folder}"]
        if not missing:
            return said
        by = f", by {self.looked:,} of the points" if self.looked < self.points else ""
        least = "at least " if self.least else ""
        said.append(f"{least}{self.packet_hops:,} packet-hops{by}")
        at_a_time = Share(self.workers, self.threads).said(self.memory_why)
        if self.speed is None or self.seconds is None:
            said.append(f"time unknown, {at_a_time}")
        else:
            rate = f"{digits(self.speed.hops_per_s / 1e6)} M packet-hops/s a run"
            said.append(
                f"{least or 'about '}{span(max(1.0, self.seconds))}, {at_a_time}, at {rate}, as in {self.speed.source}"
            )
        disk = "" if self.disk_bytes is None else f", about {room(self.disk_bytes)} of disk"
        said.append(f"about {room(self.memory_bytes)} of memory{disk}")
        return [*said, *self._lower_bounds()]

    def _lower_bounds(self) -> list[str]:
        """A line for each reason why the work of points is a lower bound, with these points."""
        lines = []
        for why in dict.fromkeys(self.least.values()):
            points = [label for label, own in self.least.items() if own == why]
            more = f"; and {len(points) - LEAST_SHOWN:,} more" if len(points) > LEAST_SHOWN else ""
            lines.append(f"at {'; '.join(points[:LEAST_SHOWN])}{more}: {why}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        speed = self.speed
        rate = {"packet_hops_per_s": speed.hops_per_s, "speed": speed.source} if speed else {}
        advice = [piece._asdict() for piece in self.advice]
        return {**self._asdict(), "speed": None, "packet_hops_per_s": None, **rate, "advice": advice}


def of(
    plan: Plan,
    folder: Path,
    workers: int | None = None,
    shard: tuple[int, int] = (1, 1),
    threads: int | None = None,
) -> Forecast:
    """Forecast of a plan, or of a shard of it as `sweeps.execute` takes it. Nothing is written.

    Raises:
        UserError: Some point cannot be run, or needs more than run.memory_limit or run.work_limit.
    """
    i, n = shard
    tasks, store = plan.tasks()[i - 1 :: n], Store(folder)
    done = {task.key for task in tasks if store.has(task.key) and not store.damage(task.key)}
    missing = {task.key: task for task in tasks if task.key not in done}
    # Replicas of a point have other draws and about the same work.
    replicas: dict[str, list[str]] = {}
    for key, task in missing.items():
        replicas.setdefault(json.dumps(task.values), []).append(key)
    first = [missing[keys[0]] for keys in replicas.values()]
    looked = evenly(first, MOST_POINTS)
    points = [_checked(task) for task in looked]
    outlooks = [_outlook(point, task) for point, task in zip(points, looked, strict=True)]
    needs = [outlook.needs for outlook in outlooks]
    known = {task.key: outlook for task, outlook in zip(looked, outlooks, strict=True)}
    runs = sum(len(replicas[json.dumps(task.values)]) for task in looked)
    hops = sum(
        need["packet_hops"] * len(replicas[json.dumps(task.values)])
        for need, task in zip(needs, looked, strict=True)
    )
    total = round(hops * len(missing) / runs) if runs else 0
    shared = sharing.share(list(missing.values()), local.processors(), workers, threads)
    largest = max((need["memory_bytes"] for need in needs), default=0)
    shared, why = sharing.within(shared, largest)
    at_a_time = shared.workers
    speed, bytes_a_run = _from_runs(store, sorted(done))
    if speed is None and missing:
        # As the runs will go.
        begun = points if (shared.threads or 1) == 1 else [_checked(task, shared.threads) for task in looked]
        speed, bytes_a_run = _from_trials(begun, needs)
    return Forecast(
        folder=str(folder),
        runs=len(tasks),
        done=sum(task.key in done for task in tasks),
        points=plan.points,
        looked=len(looked) if len(first) > len(looked) else plan.points,
        packet_hops=total,
        seconds=total / speed.hops_per_s / at_a_time if speed else None,
        workers=at_a_time,
        threads=shared.threads,
        memory_bytes=largest * at_a_time,
        memory_why=why,
        disk_bytes=None if bytes_a_run is None else round(bytes_a_run * len(missing)),
        speed=speed,
        advice=advice.of(tasks, known),
        least={
            label_of(task.values, 0, 1): outlook.why_least
            for task, outlook in zip(looked, outlooks, strict=True)
            if outlook.why_least is not None
        },
    )


def _checked(task: Task, threads: int | None = None) -> Checked:
    """The scenario of a task, on so many threads if that is not its own choice; what is built goes with the answer."""
    assert isinstance(task, ScenarioTask)
    assert task.point is not None
    if threads is not None:
        return task.on(threads)
    return task.point.replica(task.replica)


def _outlook(point: Checked, task: Task) -> Outlook:
    try:
        return point.outlook()
    except EngineError as error:
        raise EngineError(f"{task.label}: {error}") from None
    except CANNOT_RUN as error:
        raise UserError(f"{task.label} cannot be run:\n{textwrap.indent(str(error), '  ')}") from None


def _from_runs(store: Store, keys: Sequence[str]) -> tuple[Speed | None, float | None]:
    """Speed and bytes of runs that are done."""
    hops, seconds, size = 0, 0.0, 0
    read = evenly(keys, MOST_READ)
    for key in read:
        counters = run_files.status(store.runs / key)["counters"]
        hops, seconds = hops + counters["packet_hops"], seconds + counters["wall_s"]
        size += sum(path.stat().st_size for path in (store.runs / key).rglob("*") if path.is_file())
    if not hops or not seconds:
        return None, None
    what = "run that is done" if len(read) == 1 else "runs that are done"
    return Speed(hops, seconds, f"{len(read):,} {what}"), size / len(read)


def _from_trials(
    points: Sequence[Checked], needs: Sequence[dict[str, int]]
) -> tuple[Speed | None, float | None]:
    """Speed and bytes of some points that are begun."""
    small = [(point, need) for point, need in zip(points, needs, strict=True) if run_time.may_begin(need)]
    found, sizes = [], []
    for point, need in evenly(small, TRIALS):
        result = run_time.trial(point)
        sizes.append(_bytes(result, need["sample_rows"]))
        if speed := run_time.speed_of(result):
            found.append(speed)
    if not found:
        return None, None
    # As much work of each: a slow point takes most of the time.
    hops = 1_000_000
    seconds = sum(hops / speed.hops_per_s for speed in found)
    what = "point" if len(found) == 1 else "points"
    source = f"short trials of {len(found):,} {what} on this machine"
    return Speed(hops * len(found), seconds, source), sum(sizes) / len(sizes)


def _bytes(result: Result, sample_rows: int) -> float:
    """Disk space of a run, extrapolated from its beginning."""
    summary = len(json.dumps(result.summary, indent=2))
    return summary + (len(result.flows) + len(result.links)) * FLOW_BYTES + sample_rows * SAMPLE_BYTES
