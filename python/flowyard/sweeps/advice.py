"""Advice on the scenarios of a sweep before they run: settings probably not meant, once for each field.

report/sweep/notices.py says the same of the runs that are done.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flowyard import results
from flowyard.sweeps.subsample import evenly
from flowyard.sweeps.task import ScenarioTask, Task, label_of

# Points that are looked at; of more, so many evenly spread.
MOST_POINTS = 100

# Points that a piece of advice names.
_NAMED = 4


class Advice(NamedTuple):
    """A piece of advice on a field.

    Attributes:
        path: The field.
        message: What there is to say of the first of the points, with its numbers.
        write: The line to write there.
        points: Points that it concerns, of those that were looked at.
        looked: These.
        planned: All points.
        which: The first of these that it concerns, such as ("load = 0.8",).
        write_last: The line to write at the last of them, if that is another one.
    """

    path: str
    message: str
    write: str
    points: int
    looked: int
    planned: int
    which: tuple[str, ...]
    write_last: str | None

    def line(self) -> str:
        """For people."""
        if self.planned == 1:
            return results.advised(self._asdict())
        looked = " that were looked at" if self.looked < self.planned else ""
        count = "all" if self.points == self.looked else f"{self.points:,} of"
        more = self.points - len(self.which)
        which = "; ".join(self.which) + (f"; and {more:,} more" if more else "")
        first = "; numbers are those of the first" if self.points > 1 else ""
        where = f"at {count} {self.looked:,} points{looked} ({which}{first})"
        line = results.advised({**self._asdict(), "message": f"{where}: {self.message}"})
        return line + (f" at the first, and at the last {self.write_last}" if self.write_last else "")


def of(tasks: Sequence[Task], known: Mapping[str, results.Outlook] | None = None) -> list[Advice]:
    """The advice on each point of some tasks, whose replicas have the same.

    Args:
        tasks: Runs. Those of models have no scenario, and no advice.
        known: What there is to know of some of them already, by key.
    """
    points: dict[str, ScenarioTask] = {}
    for task in tasks:
        if isinstance(task, ScenarioTask) and task.point is not None:
            points.setdefault(json.dumps(task.values), task)
    looked = evenly(list(points.values()), MOST_POINTS)
    found: dict[str, list[tuple[ScenarioTask, Mapping[str, str]]]] = {}
    for task in looked:
        for piece in _advice(task, known or {}):
            found.setdefault(piece["path"], []).append((task, piece))
    return [
        Advice(
            **said[0][1],
            points=len({task.key for task, _ in said}),
            looked=len(looked),
            planned=len(points),
            write_last=said[-1][1]["write"] if said[-1][1]["write"] != said[0][1]["write"] else None,
            which=tuple({label_of(task.values, 0, 1): None for task, _ in said})[:_NAMED],
        )
        for said in found.values()
    ]


def _advice(task: ScenarioTask, known: Mapping[str, results.Outlook]) -> Sequence[Mapping[str, str]]:
    if task.key in known:
        return known[task.key].advice
    assert task.point is not None
    try:
        return task.point.replica(task.replica).outlook().advice
    except results.CANNOT_RUN:
        # Its run says why.
        return ()
