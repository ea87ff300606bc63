"""Running a scenario and opening what a run left: both give a Result.

What a run from a file does not need is imported late: a small run is over in less time than that takes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Never, Protocol

from flowyard import _native, memory
from flowyard.display import Displayed
from flowyard.errors import EngineError, UserError, contradictions
from flowyard.folders import reading, run_files
from flowyard.run_summary import Summary, near
from flowyard.table import Table
from flowyard.terminal.progress import Display

if TYPE_CHECKING:
    from flowyard.model import Model
    from flowyard.prototypes import Balancer, CongestionControl, Queue, Transport
    from flowyard.prototypes.registry import Registered

__all__ = ["Result", "check", "explain", "open_run", "run", "schema"]

# The results' files that are tables: those of every run, and those that are there if there is something to tell.
TABLES = ("flows", "links")
OPTIONAL = ("connections", "samples", "histograms", "events")

# What there is to catch around one run of many, so that the others go on: a scenario that is refused, one that needs
# more memory than there is, a fault of the simulator.
CANNOT_RUN = (_native.ScenarioError, UserError, EngineError)


class Progress(Protocol):
    """How far a run is."""

    def __getitem__(self, key: str) -> Any:
        """now_ps, until_ps (or None), flows_done, flows, packet_hops, events, foreseen_packet_hops, foreseen_end_ps."""


class Result(Displayed):
    """The results of one run: tables that any Arrow consumer reads, and a summary.

    Attributes:
        flows: A row for each flow that the scenario asked for.
        links: A row for each directed link.
        summary: What run.json holds: when and how it was started, scenario, version, seed, digest, status, counters.
        samples: Queues, utilisation, windows and rates over time; None unless the scenario's `observe` asks for it.
        histograms: Distributions of queues and latencies; None likewise.
        events: Steps of packets, pauses, timers, windows and rates; None likewise.
        connections: A row for each connection of flows that had several (MPTCP); None if none had.
        captures: The name and the bytes of a pcap file for each cable whose packets were asked for; of a run that
            was opened they are in its folder only.
        prototypes: The members in Python with which the run can be made again: see flowyard.prototypes.
    """

    _view = "of_result"

    def __init__(
        self,
        flows: Table,
        links: Table,
        summary: dict[str, Any],
        *,
        samples: Table | None = None,
        histograms: Table | None = None,
        events: Table | None = None,
        connections: Table | None = None,
        captures: Sequence[tuple[str, bytes]] = (),
        prototypes: Sequence[Registered] = (),
    ) -> None:
        self.flows = flows
        self.links = links
        self.summary: dict[str, Any] = Summary(summary)
        self.samples = samples
        self.histograms = histograms
        self.events = events
        self.connections = connections
        self.captures = captures
        self.prototypes = prototypes

    @property
    def status(self) -> str:
        """How the run ended: complete, interrupted, stalled or limit."""
        return str(self.summary["status"])

    @property
    def violations(self) -> list[str]:
        """Violations that the audit found; empty without an audit, and always if the simulator is right."""
        return list(self.summary.get("violations", []))

    def save(self, directory: str | PathLike[str]) -> Path:
        """Writes run.json and the tables that there are; the folder must be new or empty."""
        from flowyard import folders

        with folders.Staging(Path(directory)) as staging:
            self.write(staging.path)
            return staging.publish()

    def write(self, directory: str | PathLike[str]) -> None:
        """Writes the files into an existing folder; `save` makes one.

        Raises:
            UserError: There is no such folder.
        """
        directory = Path(directory)
        if not directory.is_dir():
            raise UserError(f"{directory}: no such folder, into which files are written; save makes one")
        for name in (*TABLES, *OPTIONAL):
            if (table := getattr(self, name)) is not None:
                table.write(directory / f"{name}.parquet")
        if self.captures:
            (directory / "pcap").mkdir()
        for name, content in self.captures:
            (directory / "pcap" / name).write_bytes(content)
        text = json.dumps(self.summary, indent=2, ensure_ascii=False)
        (directory / "run.json").write_text(text + "\n", encoding="utf-8")

    # Type checkers refuse attributes that are none.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Python and libraries ask for names that begin with "_"; an object that is not yet made has no summary.
            if name.startswith("_") or "summary" not in self.__dict__:
                raise AttributeError(name, name=name, obj=self)
            if name == "report":
                hint = "result.save(DIR), then flowyard report DIR, writes its page"
            elif name in self.flows.columns:
                hint = f"did you mean result.flows.to_polars()[{name!r}]?"
            elif places := near(self.summary, name):
                hint = f"did you mean {' or '.join(f'result.summary{place}' for place in places)}?"
            else:
                hint = (
                    "its tables are flows and links, and its numbers are in summary, by the keys of run.json"
                )
            raise AttributeError(f"a Result has no {name}; {hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<flowyard.Result: {self.status}, {len(self.flows)} flows, {len(self.links)} links>"


class Checked:
    """A scenario that has been read and checked, once for all that is asked of it; its flows are drawn once, too.

    Args:
        scenario: A TOML or JSON file, the name of a packaged scenario, a Scenario, or plain data.
        overrides: Fields to change, by their path: {"run.seed": 2, "transport.ndp.initial_window": 8}.
        prototypes: Members in Python that the scenario may name.

    Raises:
        ScenarioError: The scenario cannot be run; the text names every problem.
        EngineError: The simulator has contradicted itself; so may each method.
    """

    def __init__(
        self,
        scenario: str | PathLike[str] | Model | Mapping[str, Any],
        overrides: Mapping[str, object] | None = None,
        prototypes: Sequence[Registered] = (),
    ) -> None:
        self._overrides = texts(overrides)
        require = memory.require_to_build
        text = source(scenario)
        with contradictions():
            self._native = _native.Checked(*text, self._overrides, list(prototypes), require)
        self._is_admitted = False
        # A scenario without a name goes by that of its file.
        self._name = reading.as_text(Path(scenario).stem) if isinstance(scenario, str | PathLike) else None

    @property
    def name(self) -> str:
        """Name for people."""
        return str(self._name or self.resolved().get("name") or "run")

    def replica(self, number: int, name: str | None = None) -> Checked:
        """The scenario's repetition of that number, from 0 for itself; called `name` if it has none.

        Nothing of it is built or drawn yet, so that many can be kept until they are run.
        """
        replica = object.__new__(Checked)
        with contradictions():
            replica._native, replica._name = self._native.replica(number, name), None
        replica._is_admitted = False
        # Its scenario has them: a plan's runs differ by their places on its axes.
        replica._overrides = []
        return replica

    def resolved(self, *, whole: bool = False) -> dict[str, Any]:
        """The scenario with every default filled in: see `check`."""
        resolved: dict[str, Any] = json.loads(self._native.resolved(whole))
        return resolved

    def _admit(self) -> None:
        """Refuses to draw flows for which there is no memory; what has been drawn is no longer free."""
        if not self._is_admitted:
            memory.require_to_build(self._native.memory_least())
            self._is_admitted = True

    def outlook(self) -> Outlook:
        """Facts about the run before it begins: see `outlook`."""
        self._admit()
        with contradictions():
            return Outlook(**json.loads(self._native.outlook()))

    def fabric(self) -> _native.Fabric:
        """Its network."""
        with contradictions():
            return self._native.fabric()

    def flows(self) -> _native.Table:
        """The flows that are drawn before the run: id, tag, src, dst, size_bytes, start_ps, deadline_ps."""
        self._admit()
        with contradictions():
            return self._native.flows()

    def run(
        self, *, progress: Callable[[Progress], object] | None = None, command: str | None = None
    ) -> Result:
        """Runs it to its end: see `run`. The summary keeps the command line, if there was one.

        Raises:
            UserError: It needs more memory than there is, and the system would kill this process.
            EngineError: The simulator has contradicted itself.
        """
        needs = self.outlook().needs
        memory.require(needs["memory_bytes"])
        asked = {"started": _utc(), "command": command, "overrides": dict(self._overrides)}
        with contradictions():
            outcome = self._native.run(progress and _foreseeing(progress, needs))
            captures = outcome.captures()
        # How it was asked for stands first: it is no part of the results, which are the same at any time.
        summary = asked | json.loads(outcome.summary)
        if self._name is not None:
            summary["scenario"] = {"name": self._name} | summary["scenario"]
        # So that a folder explains itself, whatever version reads it.
        summary["definitions"] = {
            table: {column["name"]: column["meaning"] for column in columns}
            for table, columns in explain().items()
            if getattr(outcome, table) is not None
        }
        return Result(
            Table(outcome.flows),
            Table(outcome.links),
            summary,
            samples=_wrapped(outcome.samples),
            histograms=_wrapped(outcome.histograms),
            events=_wrapped(outcome.events),
            connections=_wrapped(outcome.connections),
            captures=captures,
        )


def _foreseeing(
    progress: Callable[[Progress], object], needs: Mapping[str, int]
) -> Callable[[dict[str, Any]], object]:
    """The progress callback, called with what was foreseen of the run, too."""
    foreseen = {"foreseen_packet_hops": needs["packet_hops"], "foreseen_end_ps": needs["end_ps"]}
    return lambda now: progress(now | foreseen)


def run(
    scenario: str | PathLike[str] | Model | Mapping[str, Any],
    overrides: Mapping[str, object] | None = None,
    *,
    transports: Mapping[str, type[Transport]] | None = None,
    controls: Mapping[str, type[CongestionControl]] | None = None,
    queues: Mapping[str, type[Queue]] | None = None,
    balancers: Mapping[str, type[Balancer]] | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    progress: Callable[[Progress], object] | None = None,
    **others: Never,
) -> Result:
    """Runs a scenario to its end.

    Args:
        scenario: A TOML or JSON file, the name of a packaged scenario, a Scenario, or plain data.
        overrides: Fields to change, by their path: {"run.seed": 2, "transport.ndp.initial_window": 8}.
        transports: Transports in Python by the names that the scenario has for them, in `transport.python.name`: see
            flowyard.prototypes.
        controls: Congestion controls in Python, likewise, by `congestion.python.name`.
        queues: Queues in Python, likewise, by `queue.python.name`.
        balancers: Load balancers in Python, likewise, by `balancer.python.name`.
        set: Fields to change, as `overrides`: `compare` and sweeps call them so.
        progress: Called about five times a second; raising KeyboardInterrupt ends the run early. Without it a run that
            takes longer than a second says how far it is, in a terminal and in a notebook.
        others: None; the error on one, such as seed, names its field.

    Returns:
        The results. After Ctrl-C they are those so far, with status "interrupted".

    Raises:
        ScenarioError: The scenario cannot be run; the text names every problem.
        PrototypeError: A member in Python raised an exception or made no sense; the text names its file and line.
        UserError: There is no such argument; the text names the field of the scenario.
    """
    given: dict[str, object] = dict(others)
    for name, value in given.items():
        field = name if "." in name else f"run.{name}"
        raise UserError(
            f'run has no argument {name}; fields are overrides by their path: {{"{field}": {value!r}}}'
        )
    prototypes = _registered(transports=transports, controls=controls, queues=queues, balancers=balancers)
    checked = Checked(scenario, _both(overrides, set), prototypes)
    if progress is not None:
        return _with(prototypes, checked.run(progress=progress))
    with Display(waiting=True) as display:
        if display.is_seen:
            progress = display.row(checked.name)
        return _with(prototypes, checked.run(progress=progress))


def _both(
    overrides: Mapping[str, object] | None, more: Mapping[str, object] | None
) -> Mapping[str, object] | None:
    """The overrides of both arguments.

    Raises:
        UserError: They are no fields by their path.
    """
    for given in (overrides, more):
        if not isinstance(given, Mapping | None):
            raise UserError(
                f'overrides: {given!r}; use values by the path of a field, as in {{"run.seed": 2}}; the results are '
                "written by result.save(DIR)"
            )
    return overrides if more is None else {**(overrides or {}), **more}


def _with(prototypes: Sequence[Registered], result: Result) -> Result:
    """Results with the members in Python of their run; those of sweeps go to other processes, and have none."""
    result.prototypes = prototypes
    return result


def _registered(**given: Mapping[str, type] | None) -> Sequence[Registered]:
    """Members in Python; most runs have none, and do not import what those need."""
    if not any(given.values()):
        return ()
    from flowyard.prototypes.registry import register

    return register(**given)


def _utc() -> str:
    """The time on this machine's clock, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _wrapped(columns: _native.Table | None) -> Table | None:
    return None if columns is None else Table(columns)


class Resolved(Displayed, dict[str, Any]):
    """A scenario with every default filled in: a dict, which a notebook shows with the advice on it.

    Attributes:
        checked: What it was made of.
    """

    _view = "of_resolved"

    def __init__(self, checked: Checked, *, whole: bool) -> None:
        super().__init__(checked.resolved(whole=whole))
        self.checked = checked

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is plain data: what the engine built cannot be copied.
        return dict, (dict(self),)


def check(
    scenario: str | PathLike[str] | Model | Mapping[str, Any],
    overrides: Mapping[str, object] | None = None,
    *,
    transports: Mapping[str, type[Transport]] | None = None,
    controls: Mapping[str, type[CongestionControl]] | None = None,
    queues: Mapping[str, type[Queue]] | None = None,
    balancers: Mapping[str, type[Balancer]] | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    whole: bool = False,
) -> dict[str, Any]:
    """The scenario with every default filled in.

    Args:
        scenario: As in `run`.
        overrides: As in `run`.
        transports: As in `run`.
        controls: As in `run`.
        queues: As in `run`.
        balancers: As in `run`.
        set: As in `run`.
        whole: As run.json will have it: the queue and the balancers, too, that come with the transport if the
            scenario names none, and with each traffic entry its own transport and balancer.

    Raises:
        ScenarioError: The scenario cannot be run; the text names every problem.
    """
    prototypes = _registered(transports=transports, controls=controls, queues=queues, balancers=balancers)
    return Resolved(Checked(scenario, _both(overrides, set), prototypes), whole=whole)


class Outlook(NamedTuple):
    """Facts about a run before it begins.

    Attributes:
        needs: About what it will need: memory_bytes (of the simulation), packet_hops, end_ps, sample_rows, port_looks.
        why_least: Why it will need more than that (retransmissions, a load that the network does not carry); None if
            nothing is known that these leave out.
        derived: The values of fields that the scenario leaves to the network ("bdp", "derived"), by their paths.
        advice: What is allowed and probably not meant: dicts of path, message (with its numbers) and write (the line to
            write instead).
        window: What will be measured: rule, why_all, from_ps, until_ps, drain_ps, wanted_ps, flows; times in ps.
    """

    needs: dict[str, int]
    why_least: str | None
    derived: dict[str, Any]
    advice: list[dict[str, str]]
    window: dict[str, Any]

    @property
    def is_least(self) -> bool:
        """Whether it will need more than `needs`."""
        return self.why_least is not None


def outlook(
    scenario: str | PathLike[str] | Model | Mapping[str, Any], overrides: Mapping[str, object] | None = None
) -> Outlook:
    """Facts about a run before it begins.

    Raises:
        ScenarioError: The scenario cannot be run, or needs more than run.memory_limit or run.work_limit.
    """
    return Checked(scenario, overrides).outlook()


def advised(advice: Mapping[str, str]) -> str:
    """A piece of advice in a line."""
    # Of a field that does nothing: "nothing: leave threshold out".
    write = advice["write"].removeprefix("nothing: ")
    verb = "write " if write == advice["write"] else ""
    return f"advice: {advice['path']}: {advice['message']}; {verb}{write}"


def controlled(scenario: Mapping[str, Any]) -> str | None:
    """The controller of a scenario by its name, "controller syn"; None if it has none."""
    return next((f"controller {name}" for name in scenario.get("controller") or ()), None)


def variant(choice: Any) -> str:
    """The variant that was chosen: of "poisson" or {"poisson": {...}}."""
    return choice if isinstance(choice, str) else next(iter(choice))


def open_run(directory: str | PathLike[str], prototypes: Sequence[Registered] = ()) -> Result:
    """The results in the folder of a run.

    Args:
        directory: The folder.
        prototypes: The members in Python of its scenario, with which it can be made again.
    """
    directory = Path(directory)
    run_files.require_run(directory, TABLES)
    flows, links = (read_table(directory / f"{table}.parquet") for table in TABLES)
    files = {table: directory / f"{table}.parquet" for table in OPTIONAL}
    optional = {table: read_table(file) if file.exists() else None for table, file in files.items()}
    return Result(
        flows,
        links,
        run_files.summary(directory),
        samples=optional["samples"],
        histograms=optional["histograms"],
        events=optional["events"],
        connections=optional["connections"],
        prototypes=prototypes,
    )


def read_table(path: Path) -> Table:
    """A table that a run left; its columns are read when they are used.

    Raises:
        UserError: It is cut short, or no file.
    """
    try:
        run_files.require_both_ends(path)
        return Table.read(path)
    except OSError as error:
        raise UserError(f"{path}: not a table that can be read ({error.strerror or error})") from None


def schema() -> dict[str, Any]:
    """The JSON Schema of scenarios."""
    schema: dict[str, Any] = json.loads(_native.schema())
    return schema


def explain(name: str | None = None) -> dict[str, list[dict[str, str]]]:
    """The columns of each table: name, unit, kind and meaning.

    Args:
        name: Only the columns of this name; default all.

    Raises:
        UserError: No table has such a column.
    """
    tables = _native.explain()
    if name is None:
        return tables
    found = {
        table: [column for column in columns if column["name"] == name] for table, columns in tables.items()
    }
    if not any(found.values()):
        import difflib

        names = {column["name"] for columns in tables.values() for column in columns}
        near = difflib.get_close_matches(name, sorted(names), n=3)
        meant = f"did you mean {' or '.join(near)}" if near else f"there are {', '.join(sorted(names))}"
        raise UserError(f"no column {name}; {meant}; fields of scenarios: flowyard explain NAME")
    return {table: columns for table, columns in found.items() if columns}


def source(scenario: str | PathLike[str] | Model | Mapping[str, Any]) -> tuple[str, str, Path]:
    """A scenario as text, its format, and the folder from which the files that it names are seen."""
    if isinstance(scenario, Mapping):
        return json.dumps(scenario), "json", Path()
    if not isinstance(scenario, str | PathLike):
        from flowyard.model import Model

        if isinstance(scenario, Model):
            return scenario.to_json(), "json", Path()
    from flowyard import scenarios

    path = scenarios.find(scenario)
    return reading.text(path), "json" if path.suffix == ".json" else "toml", path.parent


def texts(overrides: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Overrides as the command line would have them."""
    items = (overrides or {}).items()
    return [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in items]
