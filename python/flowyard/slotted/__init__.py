"""The slotted link: flows with deadlines on one link that sends one packet per slot (`flowyard slotted`).

from flowyard import slotted

result = slotted.run("example.toml", {"discipline": "pdq"})     # or a dict
result.flows                                                    # any Arrow consumer

The model of the PEQ thesis; what a file says, and the ten disciplines, are in docs/slotted.md. A discipline of your
own is a function: see `run`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from flowyard import _native, results
from flowyard.errors import UserError
from flowyard.folders import reading, run_files
from flowyard.results import texts
from flowyard.table import Table

__all__ = ["Checked", "Discipline", "Result", "check", "explain", "open", "run", "schema"]

# (slot, [(id, size, packets left, slots left or None), ...] in order of arrival) -> who is served: the id of a flow,
# None, or shares of the slot's packet by id.
Discipline = Callable[[int, Sequence[tuple[int, int, float, int | None]]], int | Mapping[int, float] | None]

TABLES = ("flows", "schedule")


class Result:
    """Results of a run on the slotted link.

    Attributes:
        flows: One row per flow.
        schedule: Who was served when; empty unless `run.schedule` asks for it.
        summary: The configuration as run, and slots, sent, wasted, present_mean, decisions, operations, status.
    """

    def __init__(self, flows: Table, schedule: Table, summary: dict[str, Any]) -> None:
        self.flows = flows
        self.schedule = schedule
        self.summary = summary

    @property
    def status(self) -> str:
        """How the run ended: complete or interrupted."""
        return str(self.summary["status"])

    def write(self, directory: Path) -> None:
        """Writes run.json, flows.parquet and schedule.parquet into an existing folder."""
        for name in TABLES:
            getattr(self, name).write(directory / f"{name}.parquet")
        text = json.dumps(self.summary, indent=2, ensure_ascii=False)
        (directory / "run.json").write_text(text + "\n", encoding="utf-8")


class Checked:
    """A configuration that has been read and checked, once for all that is asked of it.

    Args:
        config: A TOML or JSON file, or plain data.
        overrides: Fields to change, by their path: {"discipline": "pdq", "run.slots": 10000}.

    Raises:
        ScenarioError: It cannot be run; the text names every problem.
    """

    def __init__(
        self, config: str | PathLike[str] | Mapping[str, Any], overrides: Mapping[str, object] | None = None
    ) -> None:
        self._native = _native.Slotted(*_source(config), texts(overrides))

    def resolved(self) -> dict[str, Any]:
        """The configuration with every default filled in."""
        resolved: dict[str, Any] = json.loads(self._native.resolved())
        return resolved

    def run(
        self,
        *,
        discipline: Discipline | None = None,
        schedule: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Result:
        """Runs it: see `run`. `schedule` keeps who was served when, whether or not `run.schedule` asks for it."""
        flows, served, summary = self._native.run(discipline, schedule, progress)
        about = {"flowyard": _native.__version__, "engine": _native.__engine__}
        return Result(
            Table(flows), Table(served), about | json.loads(summary) | {"definitions": _definitions()}
        )


def run(
    config: str | PathLike[str] | Mapping[str, Any],
    overrides: Mapping[str, object] | None = None,
    *,
    discipline: Discipline | None = None,
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Runs flows on the slotted link.

    Args:
        config: A TOML or JSON file, or plain data.
        overrides: Fields to change, by their path: {"discipline": "pdq", "run.slots": 10000}.
        discipline: One of your own, in place of the configuration's: a function that is asked in each slot in
            which something may change. It is some hundred times slower than those in Rust.
        progress: Called with the number of slots done, now and then; raising KeyboardInterrupt ends the run early.

    Raises:
        ScenarioError: The configuration cannot be run; the text names every problem.
        ValueError, TypeError: The discipline's answer makes no sense.
    """
    return Checked(config, overrides).run(discipline=discipline, progress=progress)


def check(
    config: str | PathLike[str] | Mapping[str, Any], overrides: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The configuration with every default filled in.

    Raises:
        ScenarioError: It cannot be run; the text names every problem.
    """
    return Checked(config, overrides).resolved()


def open(directory: str | PathLike[str]) -> Result:  # noqa: A001
    """The results in a folder that `flowyard slotted` left."""
    folder = Path(directory)
    for name in ("run.json", *(f"{table}.parquet" for table in TABLES)):
        if not (folder / name).exists():
            raise UserError(f"{folder}: not the folder of a slotted run, {name} is missing")
    flows, schedule = (results.read_table(folder / f"{table}.parquet") for table in TABLES)
    return Result(flows, schedule, run_files.status(folder))


def schema() -> dict[str, Any]:
    """The JSON Schema of configurations."""
    schema: dict[str, Any] = json.loads(_native.slotted_schema())
    return schema


def explain() -> dict[str, list[dict[str, str]]]:
    """The columns of both tables: name, unit, kind and meaning."""
    return _native.explain_slotted()


def _definitions() -> dict[str, dict[str, str]]:
    return {
        table: {column["name"]: column["meaning"] for column in columns}
        for table, columns in explain().items()
    }


def _source(config: str | PathLike[str] | Mapping[str, Any]) -> tuple[str, str]:
    """A configuration as text, and its format."""
    if isinstance(config, Mapping):
        return json.dumps(config), "json"
    path = Path(config)
    return reading.text(path), "json" if path.suffix == ".json" else "toml"
