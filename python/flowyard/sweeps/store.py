"""The folder of a sweep: sweep.json, which says what belongs to it, and runs/KEY, each whole or not there.

A run's files are written into .partial, flushed to disk, and moved to their place in one step: whatever ends the
process, and whenever, no run is half there. Several processes may work on one folder at a time.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flowyard import folders
from flowyard.errors import UserError
from flowyard.folders import owned, run_files
from flowyard.sweeps.task import Task, label_of

PLAN = "sweep.json"
# Lines of a difference that a message shows.
SHOWN = 5


class CannotWriteError(UserError):
    """The folder takes no more: the disk is full, say. Trying on with other runs is no use."""


class Store:
    """A sweep's folder while runs are added to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"

    def __enter__(self) -> Self:
        if (self.folder / PLAN).exists():
            # Whether it is one of ours, before anything is written.
            run_files.plan(self.folder)
        elif not _only_partial(self.folder):
            folders.refuse_taken(self.folder)
        try:
            self._made = folders.make_folder(self.runs, self.folder)
            self._own = owned.claim(self.folder / ".partial")
        except OSError as error:
            raise self._cannot_write(error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        self._own.release()
        # Only the last of several processes finds it empty.
        with contextlib.suppress(OSError):
            owned.clear_dead(self._own.path.parent)
            self._own.path.parent.rmdir()
        if not (self.folder / PLAN).exists():
            folders.remove_empty(self._made)

    def adopt(self, header: dict[str, Any], tasks: Sequence[Task], *, update: bool) -> None:
        """Makes the folder that of a plan.

        Args:
            header: What sweep.json says besides its runs.
            tasks: All runs of the plan.
            update: Whether the plan may leave out runs that are there.

        Raises:
            UserError: The folder has completed runs of another plan.
        """
        path = self.folder / PLAN
        if path.exists():
            before, keys = run_files.plan(self.folder), {task.key for task in tasks}
            others = [run for run in before["runs"] if run["key"] not in keys and self.has(run["key"])]
            if others and not update:
                raise UserError(self._other_plan(before, header, tasks, others))
        runs = [{"key": task.key, "values": task.values, "replica": task.replica} for task in tasks]
        text = json.dumps({**header, "runs": runs}, indent=1, ensure_ascii=False) + "\n"
        aside = self._own.path / PLAN
        try:
            aside.write_text(text, encoding="utf-8")
            folders.flush(aside)
            aside.replace(path)
            folders.flush(self.folder)
        except OSError as error:
            raise self._cannot_write(error) from None

    def has(self, key: str) -> bool:
        """Whether something is there for a run; it may be damaged."""
        return os.path.lexists(self.runs / key)

    def damage(self, key: str) -> str:
        """Damage of a stored run; empty if it is whole."""
        try:
            run_files.whole(self.runs / key)
        except UserError as error:
            return str(error)
        return ""

    def publish(self, key: str, write: Callable[[Path], object]) -> None:
        """Adds a run, whose files `write` writes into the folder that it is given; takes the place of a damaged one.

        Raises:
            CannotWriteError: Nothing of the run is there.
        """
        made = self._own.path / key
        try:
            made.mkdir()
            write(made)
            folders.flush_all(made)
            if self.has(key) and self.damage(key):
                # It goes with all that this process wrote aside.
                (self.runs / key).rename(self._own.path / f"{key}.damaged")
            if folders.moved(made, self.runs / key):
                folders.flush(self.runs)
        except OSError as error:
            raise self._cannot_write(error) from None
        finally:
            # If another process was first, it wrote the same.
            shutil.rmtree(made, ignore_errors=True)

    def _cannot_write(self, error: OSError) -> CannotWriteError:
        return CannotWriteError(str(folders.cannot_write(self.folder, error)))

    def _other_plan(
        self,
        before: dict[str, Any],
        header: dict[str, Any],
        tasks: Sequence[Task],
        others: list[dict[str, Any]],
    ) -> str:
        advice = "choose another folder with -o, or let this one follow the new plan with --update"
        places = {(_text(task.values), task.replica): task for task in tasks}
        pairs = ((run, places.get((_text(run["values"]), run["replica"]))) for run in others)
        twin = next(((run, task) for run, task in pairs if task and not self.damage(run["key"])), None)
        if before["engine"] != header["engine"]:
            why = f"it was made by engine {before['engine']}, this is {header['engine']}"
        elif twin:
            run, task = twin
            lines = task.changes(run_files.status(self.runs / run["key"]))
            more = f"; and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
            why = "the scenario has changed: " + "; ".join(lines[:SHOWN]) + more
        else:
            why = f"such as {label_of(others[0]['values'], others[0]['replica'], 2)}"
        return f"{self.folder}: {len(others):,} of its completed runs are not in this plan: {why}; {advice}"


def _text(values: dict[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _only_partial(folder: Path) -> bool:
    """Whether nothing is there but what a process left that died before it wrote its plan."""
    return folder.is_dir() and {path.name for path in folder.iterdir()} <= {".partial", "runs"}
