"""The plan of a sweep: a base scenario, axes, replicas; from a TOML file or made in Python.

    scenario = "web-search-ndp"            # a file beside this one, a packaged scenario, or a whole table
    replicas = 5                           # run.replica = 0 to 4
    metrics = ["slowdown_p99", "marks"]    # what the report draws, if not what it draws by itself
    prototypes = ["aimd.py"]               # files beside this one with classes that scenarios name

    set."run.seed" = 7                     # for every run

    [[axes]]                               # a list: one field
    name = "load"
    set."traffic.queries.arrivals.poisson.load" = [0.2, 0.4, 0.6]

    [[axes]]                               # zipped: several fields move together
    name = "switch"
    labels = ["NDP", "TCP"]
    set.transport = ["ndp", "tcp"]
    set.queue = ["ndp", { drop-tail = { limit.packets = 100 } }]

Several axes make a grid: every combination, the last axis fastest. An axis may also, or only, take another base
scenario at each place: `scenario = ["web-search-ndp", "web-search-tcp"]`.
"""

import difflib
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, time
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard import _native, results, scenarios
from flowyard.errors import HAND_IN, EngineError, UserError
from flowyard.folders import reading
from flowyard.member_names import member_name
from flowyard.sweeps.source import source_hash
from flowyard.sweeps.tables import COLUMNS, METRICS
from flowyard.sweeps.task import ModelTask, ScenarioTask, Task, key_of, label_of

if TYPE_CHECKING:
    import polars as pl

    from flowyard.model import Model
    from flowyard.prototypes.registry import Registered


# More is a slip of the keyboard rather than a wish.
MOST_RUNS = 1_000_000
# Points whose mistakes a message shows.
SHOWN = 3
# Fields of the scenario in which one chooses by name.
LISTS = ("topology", "transport", "queue", "buffer", "controller", "agent")


class ScenarioGivenError(UserError):
    """A file that was to be a sweep is a scenario; the text names the commands."""


@dataclass(frozen=True)
class Axis:
    """Places at which runs differ.

    Attributes:
        name: The axis's column in all tables.
        set: Values by the key of a field, as in --set; all lists have the same length.
        labels: What the column says at each place; default the values of the first key.
        scenarios: Another base scenario at each place.
    """

    name: str
    set: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    labels: Sequence[str | float] = ()
    scenarios: "Sequence[str | PathLike[str] | Model | Mapping[str, Any]]" = ()

    def __post_init__(self) -> None:
        if not isinstance(self.set, Mapping):
            raise UserError(
                f"axis {self.name}: {self.set!r}; use lists of values by the path of a field, as in "
                '{"traffic.NAME.arrivals.poisson.load": [0.2, 0.4]}'
            )
        lists = {f'set."{key}"': values for key, values in self.set.items()}
        lists |= {"scenario": self.scenarios} if self.scenarios else {}
        if not lists:
            raise UserError(
                f'axis {self.name}: sets nothing; give it set."KEY" = [values], or scenario = [...]'
            )
        lists |= {"labels": self.labels} if self.labels else {}
        if len(lengths := {key: len(values) for key, values in lists.items()}) and (
            len(set(lengths.values())) > 1 or 0 in lengths.values()
        ):
            said = ", ".join(f"{key} has {n}" for key, n in lengths.items())
            raise UserError(
                f"axis {self.name}: {said} values; lists of an axis have equal lengths, at least 1"
            )
        for label in self.labels:
            if not isinstance(label, str | int | float) or (
                isinstance(label, float) and not math.isfinite(label)
            ):
                raise UserError(f"axis {self.name}: labels: {label!r}; use texts and finite numbers")
            if isinstance(label, int) and not -(2**63) <= label < 2**64:
                raise UserError(f"axis {self.name}: labels: {label}: use numbers of 64 bits")
        seen: set[Any] = set()
        for value in self.values:
            # Numbers that are equal, and texts that look like one, would share a row.
            if value in seen or str(value) in seen:
                raise UserError(
                    f"axis {self.name}: {value} appears twice; remove one, or give labels that differ"
                )
            seen |= {value, str(value)}

    @property
    def values(self) -> list[Any]:
        """Values of the axis's column."""
        if self.labels:
            return list(self.labels)
        if self.scenarios:
            return [_scenario_name(scenario, self.name) for scenario in self.scenarios]
        return value_names(next(iter(self.set.values())), self.name)

    def place(self, index: int) -> tuple[dict[str, Any], Any]:
        """The fields to set at a place, and its base scenario or None."""
        changes = {key: values[index] for key, values in self.set.items()}
        return changes, self.scenarios[index] if self.scenarios else None


@dataclass(frozen=True)
class Plan:
    """Runs of a scenario at every combination of the axes' places, each repeated.

    Attributes:
        scenario: The base: a TOML or JSON file, the name of a packaged scenario, a Scenario, or plain data. May be
            None if an axis has scenarios.
        axes: What varies. Without any, the sweep is the replicas of one scenario.
        replicas: Repetitions with other draws, from the scenario's own run.replica on.
        set: Fields to change in every run, as in --set.
        name: What the sweep is called.
        file: Where it was read from, for messages.
        metrics: What its report is to show, of the metrics of Sweep.means; default what the report chooses.
        transports: Transports in Python by the names that the scenarios have for them: see flowyard.prototypes.
        controls: Congestion controls in Python, likewise.
        queues: Queues in Python, likewise.
        balancers: Load balancers in Python, likewise.
        prototypes: Files with such classes, each under its own name.
    """

    scenario: "str | PathLike[str] | Model | Mapping[str, Any] | None" = None
    axes: Sequence[Axis] = ()
    replicas: int = 1
    set: Mapping[str, Any] = field(default_factory=dict)
    name: str = "sweep"
    file: str = ""
    metrics: Sequence[str] = ()
    transports: Mapping[str, type] = field(default_factory=dict)
    controls: Mapping[str, type] = field(default_factory=dict)
    queues: Mapping[str, type] = field(default_factory=dict)
    balancers: Mapping[str, type] = field(default_factory=dict)
    prototypes: Sequence[str | PathLike[str]] = ()

    def __post_init__(self) -> None:
        if isinstance(self.axes, str | Mapping) or not all(isinstance(axis, Axis) for axis in self.axes):
            raise UserError(
                f"axes: {self.axes!r}; use a list, as in "
                '[fy.Axis("load", {"traffic.NAME.arrivals.poisson.load": [0.2, 0.4]})]'
            )
        problems = []
        names = [axis.name for axis in self.axes]
        problems += [
            f"axes: two have the name {name}" for name in sorted({n for n in names if names.count(n) > 1})
        ]
        taken = _taken()
        problems += [
            f"axis {name}: the tables have a column of that name; call it {_another(name, taken | {*names})}"
            for name in names
            if name in taken
        ]
        keys = [key for axis in self.axes for key in axis.set]
        problems += [
            f'set."{key}": of two axes; a field belongs to one'
            for key in sorted({key for key in keys if keys.count(key) > 1})
        ]
        problems += _not_metrics(self.metrics)
        own = sum(1 for axis in self.axes if axis.scenarios)
        if own + (self.scenario is not None) == 0:
            problems.append(
                "scenario: missing; name a file, a packaged scenario, or give an axis scenario = [...]"
            )
        if own > 1 or (own and self.scenario is not None):
            problems.append("scenario: given more than once; once for all runs, or by one axis")
        if type(self.replicas) is not int or self.replicas < 1:
            problems.append(f"replicas: {self.replicas!r}; use a whole number of at least 1")
        elif (runs := self.points * self.replicas) > MOST_RUNS:
            problems.append(f"{runs:,} runs; a sweep has at most {MOST_RUNS:,}")
        if problems:
            raise UserError("\n".join(problems))

    @property
    def points(self) -> int:
        """Combinations of the axes' places."""
        count = 1
        for axis in self.axes:
            count *= len(axis.values)
        return count

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "Plan":
        """Reads a sweep file.

        Raises:
            UserError: It cannot be read; the text names every problem.
        """
        path = Path(path)
        document = reading.read_toml(path)
        try:
            return _parse(document, path)
        except UserError as error:
            if "topology" in document and "axes" not in document:
                raise ScenarioGivenError(
                    f"{path} is a scenario, not a sweep: flowyard run {path}; a sweep is a file with a line "
                    f'scenario = "{path.name}" and an entry [[axes]] for each field that varies, or flowyard run '
                    f"{path} --compare FIELD=A,B,C for a few values"
                ) from None
            raise UserError(f"{path} is no sweep:\n{textwrap.indent(str(error), '  ')}") from None

    def header(self) -> dict[str, Any]:
        """Entries of sweep.json besides the runs."""
        header = _header(self.name, {axis.name: axis.values for axis in self.axes}, self.replicas)
        return header | ({"metrics": list(self.metrics)} if self.metrics else {})

    def tasks(self) -> list[Task]:
        """All runs: replica by replica, so that the first replica of everything is there early.

        Raises:
            UserError: Some point cannot be run; the text names the first few with their problems.
        """
        points, wrong = [], []
        handed = self._handed()
        for values, scenario, changes in self._points():
            try:
                checked = results.Checked(scenario, changes, handed)
                # Without the network that the check built: of all points together it would be much.
                points.append((values, checked.resolved(), checked.replica(0, self.name)))
            except EngineError as error:
                raise EngineError(f"{label_of(values, 0, 1)}: {error}") from None
            except results.CANNOT_RUN as error:
                # The engine's hint is for a run.
                problem = re.sub(r"hand it in: .*", lambda _: HAND_IN, str(error))
                wrong.append((label_of(values, 0, 1), problem))
        if wrong:
            raise UserError(
                f"{self.file or self.name}: {len(wrong):,} of {self.points:,} points cannot be run:\n"
                + _problems(wrong, self.points)
            )
        sources = _sources(handed)
        return [
            self._task(values, resolved, point, replica, handed, sources)
            for replica in range(self.replicas)
            for values, resolved, point in points
        ]

    def first(self) -> dict[str, Any]:
        """The scenario of the first point, with every default filled in.

        Raises:
            ScenarioError: It cannot be run.
        """
        _, scenario, changes = next(self._points())
        return results.Checked(scenario, changes, self._handed()).resolved()

    def _handed(self) -> "tuple[Registered, ...]":
        """The members in Python; most plans have none, and import nothing for it."""
        return in_python(self.transports, self.controls, self.queues, self.balancers, self.prototypes)

    def _points(self) -> Iterator[tuple[dict[str, Any], Any, dict[str, Any]]]:
        """The values, base scenario and changes of each combination."""
        names = [axis.values for axis in self.axes]
        for indices in product(*(range(len(values)) for values in names)):
            scenario, changes, values = self.scenario, dict(self.set), {}
            for axis, own_names, index in zip(self.axes, names, indices, strict=True):
                values[axis.name] = own_names[index]
                own, base = axis.place(index)
                changes |= own
                scenario = base if base is not None else scenario
            yield values, scenario, changes

    def _task(
        self,
        values: dict[str, Any],
        resolved: dict[str, Any],
        point: results.Checked,
        replica: int,
        handed: "tuple[Registered, ...]",
        sources: list[dict[str, str]],
    ) -> ScenarioTask:
        run = resolved["run"]
        scenario = {"name": self.name} | resolved | {"run": run | {"replica": run["replica"] + replica}}
        # A name changes nothing, and threads change no result.
        computed = scenario | {
            "run": {key: value for key, value in scenario["run"].items() if key != "threads"}
        }
        what = {name: value for name, value in computed.items() if name != "name"}
        key = key_of(what | ({"prototypes": sources} if sources else {}))
        label = label_of(values, replica, self.replicas)
        return ScenarioTask(key, label, values, replica, json.dumps(scenario), point, handed)


@dataclass(frozen=True)
class ModelPlan:
    """Calls of a function at every combination of values, each repeated: a sweep of a model, not of scenarios.

    Attributes:
        function: Takes each axis and `replica` by keyword, returns a table; of a module's top level. It must give
            the same table each time, so it takes its random numbers from the replica. Its module, and what that
            imports of its package, is part of a run's key.
        axes: Values by the name of the parameter.
        replicas: Repetitions.
        name: What the sweep is called.
    """

    function: "Callable[..., pl.DataFrame]"
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    replicas: int = 1
    name: str = "model"

    def header(self) -> dict[str, Any]:
        """Entries of sweep.json besides the runs."""
        return _header(self.name, {name: list(values) for name, values in self.axes.items()}, self.replicas)

    def tasks(self) -> list[Task]:
        """All calls, replica by replica."""
        source = source_hash(self.function)
        points = [dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())]
        tasks: list[Task] = []
        for replica in range(self.replicas):
            for values in points:
                what = {"function": self.function.__qualname__, "source": source, "values": values}
                label = label_of(values, replica, self.replicas)
                tasks.append(
                    ModelTask(key_of(what | {"replica": replica}), label, values, replica, self.function)
                )
        return tasks


def in_python(
    transports: Mapping[str, type] | None = None,
    controls: Mapping[str, type] | None = None,
    queues: Mapping[str, type] | None = None,
    balancers: Mapping[str, type] | None = None,
    prototypes: Sequence[str | PathLike[str]] = (),
) -> "tuple[Registered, ...]":
    """Members in Python, of the Plan's fields of these names."""
    given = {"transports": transports, "controls": controls, "queues": queues, "balancers": balancers}
    if not any(given.values()) and not prototypes:
        return ()
    from flowyard.prototypes import files, registry

    return (*registry.register(**given), *files.read([str(file) for file in prototypes]))


def _sources(handed: "Sequence[Registered]") -> list[dict[str, str]]:
    """The part of a run's key that members in Python have: their names, and the digests of their sources."""
    if not handed:
        return []
    from flowyard.prototypes import travel

    def source(cls: type) -> str:
        # With what the module imports of its package; a notebook's class is of no module.
        return travel.digest(cls) if cls.__module__ == "__main__" else source_hash(cls)

    return [
        {"kind": own.kind, "name": own.name, "class": own.cls.__qualname__, "source": source(own.cls)}
        for own in handed
    ]


def _not_metrics(names: Sequence[str]) -> list[str]:
    """Errors in a choice of metrics."""
    if not isinstance(names, list | tuple):
        return [f'metrics: {names!r}; use a list, such as ["slowdown_p99"]']
    problems = [f"metrics: {name} stands there twice" for name in {*map(str, names)} if names.count(name) > 1]
    for name in names:
        if name not in METRICS:
            near = difflib.get_close_matches(str(name), METRICS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(METRICS)}"
            problems.append(f"metrics: {name!r} is none; {hint}")
    return problems


# What people mean by the name of a column.
MEANT = {"transport": "protocol", "flows": "flow_count", "size_bytes": "size", "tag": "entry", "run": "case"}


def free_name(field: str) -> str:
    """The name of the axis of a field: the end of its path, longer where that is the name of a column."""
    taken = _taken()
    parts = field.split(".")
    if parts[-1] not in taken:
        return parts[-1]
    if parts[-1] in MEANT:
        return _another(parts[-1], taken)
    longer = (".".join(parts[place:]) for place in range(len(parts) - 2, -1, -1))
    return next((name for name in longer if name not in taken), None) or _another(parts[-1], taken)


def _taken() -> set[str]:
    """Names of the columns of tables."""
    defined = results.explain()
    return COLUMNS | {column["name"] for table in results.TABLES for column in defined[table]}


def _another(name: str, taken: Set[str]) -> str:
    """A free name for an axis that is called like a column."""
    candidates = (*([MEANT[name]] if name in MEANT else []), f"swept_{name}", f"axis_{name}")
    return next((free for free in candidates if free not in taken), f"{name}_")


def _header(name: str, axes: dict[str, list[Any]], replicas: int) -> dict[str, Any]:
    return {
        "flowyard": _native.__version__,
        "engine": _native.__engine__,
        "name": name,
        "axes": [{"name": axis, "values": values} for axis, values in axes.items()],
        "replicas": replicas,
    }


def _parse(document: dict[str, Any], path: Path) -> Plan:
    """The plan of a document. Collects all mistakes, so that one look mends them."""
    known = ("name", "scenario", "replicas", "set", "axes", "metrics", "prototypes")
    problems = _unknown(document, known, "")
    problems += _dates(document, "")
    listed = document.get("axes", [])
    if not isinstance(listed, list) or not all(isinstance(axis, dict) for axis in listed):
        problems.append("axes: not a list of tables; begin each axis with [[axes]]")
        listed = []
    axes = []
    for i, table in enumerate(listed):
        axis, wrong = _axis(table, i, path)
        problems += wrong
        axes += [axis] if axis else []
    constants = document.get("set", {})
    if not isinstance(constants, dict):
        problems.append('set: not a table of keys; write set."run.seed" = 7')
        constants = {}
    name = document.get("name", reading.as_text(path.stem))
    if not isinstance(name, str):
        problems.append(f"name: {name!r}; use a text")
    scenario = None
    try:
        if "scenario" in document:
            scenario = _base(document["scenario"], path)
    except UserError as error:
        problems.append(f"scenario: {error}")
    if problems and scenario is None and not any(axis.scenarios for axis in axes):
        # Something in its place, to see what else is wrong.
        scenario = {}
    try:
        plan = Plan(
            scenario,
            axes,
            document.get("replicas", 1),
            _flat(constants),
            name,
            str(path),
            document.get("metrics", ()),
            prototypes=_files(document.get("prototypes", []), path),
        )
    except UserError as error:
        problems.append(str(error))
    if problems:
        raise UserError("\n".join(problems))
    return plan


def _files(listed: Any, path: Path) -> list[Path]:
    """Files of classes in Python, seen from the sweep's file."""
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise UserError(f'prototypes: {listed!r}; use a list of files, such as ["aimd.py"]')
    return [path.parent / name for name in listed]


def _axis(table: dict[str, Any], number: int, path: Path) -> tuple[Axis | None, list[str]]:
    """An axis, or what is wrong with it."""
    name = table.get("name")
    good = isinstance(name, str) and name.isprintable() and name.strip()
    where = f"axes.{name if good else number}."
    wrong = _unknown(table.keys() - {"values"}, ("name", "set", "labels", "scenario"), where)
    if not good:
        found = f"{name!r}" if "name" in table else "missing"
        wrong.append(f'{where}name: {found}; it becomes a column, such as "load"')
    if "values" in table:
        field, values = '"traffic.NAME.arrivals.poisson.load"', [0.2, 0.4]
        if name in LISTS and isinstance(table["values"], list):
            field, values = name, table["values"]
        wrong.append(
            f"{where}values: an axis has its values with their field: set.{field} = {json.dumps(values, default=str)}"
        )
    changes, problems = _lists(table.get("set", {}), where)
    wrong += problems
    labels, listed, bases = table.get("labels", []), table.get("scenario", []), []
    for key, value in (("labels", labels), ("scenario", listed)):
        if not isinstance(value, list):
            wrong.append(f"{where}{key}: {value!r} is not a list with an item for each place")
    for item in listed if isinstance(listed, list) else []:
        try:
            bases.append(_base(item, path))
        except UserError as error:
            wrong.append(f"{where}scenario: {error}")
    if wrong:
        return None, wrong
    try:
        return Axis(str(name), changes, labels, bases), []
    except UserError as error:
        return None, [str(error)]


def _dates(value: Any, where: str) -> list[str]:
    """Dates and times of day, which TOML has and scenarios do not."""
    if isinstance(value, date | time):
        return [f'{where}: {value} is a date or a time of day; use a text, as in "1ms", or a number']
    if isinstance(value, list):
        return [line for item in value for line in _dates(item, where)]
    if isinstance(value, dict):
        pairs = value.items()
        return [line for key, item in pairs for line in _dates(item, f"{where}.{key}" if where else key)]
    return []


def _unknown(keys: Iterable[str], known: Sequence[str], where: str) -> list[str]:
    problems = []
    for key in set(keys) - set(known):
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        problems.append(f"{where}{key}: unknown; {hint}")
    return sorted(problems)


def _lists(table: Any, where: str) -> tuple[dict[str, list[Any]], list[str]]:
    """The lists of an axis by their key, and what is wrong."""
    if not isinstance(table, dict):
        return {}, [f'{where}set: not a table of keys; write set."run.seed" = [1, 2]']
    flat = _flat(table)
    wrong = [
        f"{where}set.{key}: {value!r} is not a list of values"
        for key, value in flat.items()
        if not isinstance(value, list)
    ]
    return flat, wrong


def _flat(table: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Keys with or without quotes are the same: tables are ways to a field, lists and the rest are values."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        whole = f"{path}.{key}" if path else key
        flat |= _flat(value, whole) if isinstance(value, dict) and value else {whole: value}
    return flat


def _base(scenario: Any, path: Path) -> "str | Path | dict[str, Any]":
    """A base scenario: a table, a file seen from the sweep file, or a packaged scenario."""
    if isinstance(scenario, dict):
        return scenario
    if not isinstance(scenario, str):
        raise UserError(f"{scenario!r}; use the name of a file or of a packaged scenario, or a table")
    beside = path.parent / scenario
    return scenarios.find(beside if reading.is_there(beside) and beside.is_file() else scenario)


def _scenario_name(scenario: Any, axis: str) -> str:
    if isinstance(scenario, str | PathLike):
        return reading.as_text(Path(scenario).stem)
    name = scenario.get("name") if isinstance(scenario, Mapping) else scenario.name
    if not name:
        raise UserError(f"axis {axis}: its scenarios have no names; give it labels")
    return str(name)


def _problems(wrong: Sequence[tuple[str, str]], points: int) -> str:
    """The problems of points, given by label and text: each is said once, with the points that have it."""
    having: dict[str, list[str]] = {}
    for label, problems in wrong:
        for line in dict.fromkeys(problems.splitlines()):
            having.setdefault(line, []).append(label)
    together: dict[tuple[str, ...], list[str]] = {}
    for line, labels in having.items():
        together.setdefault(tuple(labels), []).append(line)
    said = []
    for alike, lines in list(together.items())[:SHOWN]:
        others = f", and {len(alike) - 1:,} more" if len(alike) > 1 else ""
        whose = "every point" if 1 < points == len(alike) else alike[0] + others
        said.append("\n".join([whose, *(f"  {line}" for line in lines)]))
    left = {label for alike in list(together)[SHOWN:] for label in alike}
    left -= {label for alike in list(together)[:SHOWN] for label in alike}
    return "\n".join([*said, *([f"and {len(left):,} more"] if left else [])])


def value_names(values: Sequence[Any], axis: str) -> list[Any]:
    """Labels of an axis's values: each variant's name, and its fields where several share one."""
    names = [_value_name(value, axis) for value in values]
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(str(name), []).append(i)
    for name, alike in places.items():
        if len(alike) < 2 or not all(isinstance(names[i], str) for i in alike):
            continue
        fields = [_leaves(values[i], name) for i in alike]
        keys = {key for of in fields for key in of}
        varying = {key for key in keys if any(of.get(key) != fields[0].get(key) for of in fields)}
        for i, of in zip(alike, fields, strict=True):
            own = [f"{key} {value}" for key, value in of.items() if key in varying]
            names[i] = ", ".join([name, *own])
    return names


def _value_name(value: Any, axis: str) -> Any:
    if isinstance(value, Mapping) and len(value) == 1:
        return member_name(value)
    if isinstance(value, str | int | float):
        return value
    raise UserError(f"axis {axis}: its values are no plain numbers or texts; give it labels")


def _leaves(value: Any, name: str) -> dict[str, Any]:
    """The fields of a variant by their keys, without what its name says; none of a variant without fields."""
    if not isinstance(value, Mapping):
        return {}
    ((_, fields),) = value.items()
    flat = _flat(fields) if isinstance(fields, Mapping) else {"": fields}
    said = f"congestion.{name}."
    return {key.removeprefix(said): item for key, item in flat.items() if (key, item) != ("congestion", name)}
