"""The tasks of a sweep: runs, each with a key."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from flowyard import _native, results

if TYPE_CHECKING:
    import polars as pl

    from flowyard.prototypes.registry import Registered

KEY_DIGITS = 20


class Output(Protocol):
    """Output of a task."""

    @property
    def status(self) -> str:
        """complete, stalled, limit or interrupted."""

    def write(self, directory: Path) -> None:
        """Writes its files into an existing folder; run.json is one of them."""


class Task(Protocol):
    """One run. Two tasks with the same key compute the same."""

    @property
    def key(self) -> str:
        """Hash of all that the result depends on; the name of the run's folder."""

    @property
    def label(self) -> str:
        """The run for people, such as "load = 0.6, replica 2"."""

    @property
    def values(self) -> dict[str, Any]:
        """Where it stands on each axis."""

    @property
    def replica(self) -> int:
        """Which repetition, from 0."""

    def run(self, progress: Callable[[Any], object] | None = None, threads: int | None = None) -> Output:
        """Computes, on so many threads if it can.

        On Ctrl-C or a KeyboardInterrupt of `progress` it may return an interrupted output.
        """

    def changes(self, summary: dict[str, Any]) -> list[str]:
        """In what a run that another plan had in this place differs, by its run.json."""


@runtime_checkable
class Planned(Protocol):
    """A plan: names its tasks."""

    @property
    def name(self) -> str:
        """Name for people."""

    def tasks(self) -> Sequence[Task]:
        """All runs, in an order that more replicas do not change."""

    def header(self) -> dict[str, Any]:
        """Entries of sweep.json besides the runs: name, engine, axes, replicas."""


def key_of(what: Mapping[str, Any]) -> str:
    """The key of what is to be computed, by the engine that is here."""
    text = json.dumps({"engine": _native.__engine__, **what}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def label_of(values: Mapping[str, Any], replica: int, replicas: int) -> str:
    """A run for people."""
    parts = [f"{name} = {value}" for name, value in values.items()]
    if replicas > 1 or not parts:
        parts.append(f"replica {replica}")
    return ", ".join(parts)


@dataclass(frozen=True)
class ScenarioTask:
    """A simulation; for what all tasks have see Task.

    Attributes:
        scenario: JSON with every default filled in.
        point: Its first replica, as the plan has read and checked it; None in another process, which reads `scenario`.
        prototypes: Members in Python that the scenario may name.
    """

    key: str
    label: str
    values: dict[str, Any]
    replica: int
    scenario: str
    point: results.Checked | None = field(default=None, repr=False, compare=False)
    prototypes: "Sequence[Registered]" = field(default=(), repr=False, compare=False)

    def run(
        self, progress: Callable[[Any], object] | None = None, threads: int | None = None
    ) -> results.Result:
        """Simulates."""
        if threads is not None and threads > 1:
            return self.on(threads).run(progress=progress)
        if self.point is None or self.prototypes:
            # Runs with prototypes at the same time share nothing: the engine keeps their failures and costs.
            own = results.Checked(json.loads(self.scenario), prototypes=self.prototypes)
            return own.run(progress=progress)
        # What is built and drawn goes with the run: the task outlives it.
        return self.point.replica(self.replica).run(progress=progress)

    def on(self, threads: int) -> results.Checked:
        """Its scenario, to be run on so many threads."""
        return results.Checked(json.loads(self.scenario), {"run.threads": threads}, self.prototypes)

    def __getstate__(self) -> dict[str, Any]:
        """State for another process."""
        return self.__dict__ | {"point": None}

    def changes(self, summary: dict[str, Any]) -> list[str]:
        """The fields of the scenario that differ."""
        found = differences(summary.get("scenario", {}), json.loads(self.scenario))
        # What a plan leaves open, run.json says as it was chosen.
        own = [line for line in found if not line.endswith("-> null")]
        known = {(one["kind"], one["name"]): one["sha256"] for one in summary.get("prototypes", ())}
        about = [json.loads(handed.described()) for handed in self.prototypes]
        sources = [
            f"the source of {one['name']}"
            for one in about
            if known.get((one["kind"], one["name"])) not in (None, one["sha256"])
        ]
        return own or sources or found


@dataclass(frozen=True)
class TableOutput:
    """A table that a model computed: written as table.parquet."""

    table: "pl.DataFrame"
    values: dict[str, Any]
    status: str = "complete"

    def write(self, directory: Path) -> None:
        """Writes table.parquet and run.json."""
        self.table.write_parquet(directory / "table.parquet")
        summary = {"flowyard": _native.__version__, "engine": _native.__engine__, "status": self.status}
        text = json.dumps({**summary, "point": self.values}, indent=2, ensure_ascii=False)
        (directory / "run.json").write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class ModelTask:
    """A call of a function that returns a table, with the point's values and the replica as keywords."""

    key: str
    label: str
    values: dict[str, Any]
    replica: int
    function: Callable[..., "pl.DataFrame"]

    def run(self, progress: Callable[[Any], object] | None = None, threads: int | None = None) -> TableOutput:
        """Calls the function, which has one thread; `progress` receives nothing from within it."""
        del progress, threads
        return TableOutput(self.function(**self.values, replica=self.replica), self.values)

    def changes(self, summary: dict[str, Any]) -> list[str]:
        """The values that differ; a change in the function's source has none."""
        return differences(summary.get("point", {}), self.values) or [f"{self.function.__module__} differs"]


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """The leaves in which two pieces of plain data differ, as "path: old -> new"."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [*old, *(key for key in new if key not in old)]
        found = (differences(old.get(key), new.get(key), f"{path}.{key}" if path else key) for key in keys)
        return [line for lines in found for line in lines if line.partition(":")[0] != "name"]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{path}.{i}")]
    return [] if old == new else [f"{path}: {_short(old)} -> {_short(new)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
