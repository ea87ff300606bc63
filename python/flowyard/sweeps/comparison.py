"""A comparison: one scenario side by side at a few values of a field, such as its transport; a sweep in all else.

    values by field -> Compared (its axes) -> Plan -> the runs of a sweep, whose page shows them side by side

A transport takes the place of the scenario's own, if it has one. A queue, balancer, agent or controller of the kind
that the scenario's own transport recommends goes with it: another transport has those that it recommends itself.
Anything else stays for all runs, but where a run could not be with it.
"""

import copy
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard import _native, results
from flowyard.errors import UserError
from flowyard.folders import run_files
from flowyard.member_names import member_name
from flowyard.sweeps.members import Members
from flowyard.sweeps.own_changes import OfMembers, within_values
from flowyard.sweeps.plan import Axis, Plan, free_name, in_python, value_names
from flowyard.sweeps.tables import MOST_SIDE_BY_SIDE
from flowyard.sweeps.task import Task

if TYPE_CHECKING:
    from os import PathLike

    from flowyard.model import Model

# Fields that may be called by one word.
SHORT = {"balancer": "routing.balancer"}
TRANSPORT = "transport"
# Parts of a scenario that serve one transport and may not fit another.
SERVING = ("queue", "routing.balancer", "agent", "controller")

# Shares the memory of switches among ports whose queues can; a transport whose queue cannot is compared without it.
BUFFER = "buffer"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The plan of runs side by side.

    Attributes:
        plan: Its sweep.
        notes: Sentences on parts of the scenario that a run does not have, with the reason.
    """

    plan: Plan
    notes: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Name for people."""
        return self.plan.name

    def header(self) -> dict[str, Any]:
        """Entries of sweep.json besides the runs."""
        return self.plan.header() | {"side_by_side": True}

    def tasks(self) -> list[Task]:
        """All runs, as those of a sweep."""
        return self._tasks

    @cached_property
    def _tasks(self) -> list[Task]:
        return self.plan.tasks()

    def continues(self, folder: Path) -> bool:
        """Whether a folder has runs of this comparison only, so that it can go on there."""
        try:
            before = run_files.plan(folder)
        except UserError:
            return False
        keys = {task.key for task in self.tasks()}
        return bool(before.get("side_by_side")) and {run["key"] for run in before["runs"]} <= keys


def comparison(
    scenario: "str | PathLike[str] | Model | Mapping[str, Any]",
    values: Mapping[str, Sequence[Any]],
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    replicas: int = 1,
    name: str | None = None,
    python: Mapping[str, Any] | None = None,
) -> Comparison:
    """Runs of a scenario at each of some values.

    Args:
        scenario: A TOML or JSON file, the name of a packaged scenario, a Scenario, or plain data.
        values: Values by the field; of several fields every combination.
        set: Fields to change in every run. Those of a member, such as transport.tcp.preset where transports are
            compared, are for the runs that have it.
        replicas: Repetitions with other random streams.
        name: What it is called; default the name of the scenario.
        python: Fields of the Plan that have members in Python, such as {"prototypes": ["aimd.py"]}; values may name
            their classes.

    Raises:
        UserError: There are too few or too many values.
        ScenarioError: The scenario cannot be run, or not with one of the transports; the text names every problem.
    """
    fields = _fields(values)
    named = Members(in_python(**(python or {})))
    changes = dict(set or {})
    labels_of: dict[str, list[Any]] = {}
    for field, own in fields.items():
        if field != TRANSPORT:
            own = [named.of_field(field, value) for value in own]
            labels_of[field] = value_names(own, free_name(field))
            fields[field], changes = within_values(
                changes, field, own, lambda more: named.check(scenario, more, whole=True)
            )
    changes, own_changes = _parted(changes, fields)
    lacks = TRANSPORT in fields and _lacks_transport(named, scenario, changes)
    if lacks:
        changes[TRANSPORT] = _stand_in(named, scenario, changes, fields[TRANSPORT])
    notes: list[str] = []
    axes: list[Axis] = []
    base: str | PathLike[str] | Model | Mapping[str, Any] | None = scenario
    for field, own in fields.items():
        column = free_name(field)
        if field == TRANSPORT:
            base_of_all = named.check(scenario, changes)
            kept = {
                part
                for part in (*SERVING, BUFFER)
                if any(f"{key}.".startswith(f"{part}.") for key in changes)
            }
            own_transport = None if lacks else base_of_all[TRANSPORT]
            places, labels, notes = _transports(
                _Shared(named, base_of_all, own_transport, own_changes, kept, list(fields)), own
            )
            axes.append(Axis(column, scenarios=places, labels=labels))
        else:
            axes.append(Axis(column, {field: own}, labels=labels_of[field]))
    checked = named.checked(scenario, changes)
    # A file's own name is that of the scenario only where this has none.
    called = name or checked.resolved().get("name") or checked.name
    if TRANSPORT in fields:
        # They are in the scenario of each place.
        base, changes = None, {}
    return Comparison(Plan(base, axes, replicas, changes, called, **(python or {})), notes)


def _fields(values: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The values by the whole path of their field, if a page can show all combinations."""
    for field, given in values.items():
        if isinstance(given, str):
            raise UserError(f"compare {field}: {given!r} is one value; use a list, as in [{given!r}, ...]")
    fields = {SHORT.get(field, field): list(own) for field, own in values.items()}
    for field, own in fields.items():
        if len(own) < 2:
            raise UserError(f"compare {field}: {len(own)} value; give at least two, as in {field}=A,B")
        if twice := [value for i, value in enumerate(own) if value in own[:i]]:
            raise UserError(f"compare {field}: {twice[0]} appears twice; remove one")
    runs = 1
    for own in fields.values():
        runs *= len(own)
    if runs > MOST_SIDE_BY_SIDE:
        raise UserError(
            f"compare: {runs} combinations; a page shows at most {MOST_SIDE_BY_SIDE} side by side: use a sweep"
        )
    return fields


def _parted(
    changes: Mapping[str, Any], fields: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, Any], OfMembers]:
    """Changes for all runs, and where transports are compared those of a transport or a queue."""
    own = {
        key: value
        for key, value in changes.items()
        if TRANSPORT in fields and key.startswith((f"{TRANSPORT}.", "queue.")) and key.count(".") > 1
    }
    return {key: value for key, value in changes.items() if key not in own}, OfMembers(own)


def _lacks_transport(
    named: Members,
    scenario: "str | PathLike[str] | Model | Mapping[str, Any]",
    changes: Mapping[str, Any],
) -> bool:
    """Whether a scenario leaves its transport to the comparison; other mistakes are those of its runs."""
    try:
        named.checked(scenario, changes)
    except _native.ScenarioError as error:
        return any(
            problem["path"] == TRANSPORT and problem["message"].startswith("is missing")
            for problem in error.problems
        )
    return False


def _stand_in(
    named: Members,
    scenario: "str | PathLike[str] | Model | Mapping[str, Any]",
    changes: Mapping[str, Any],
    values: Sequence[Any],
) -> Any:
    """A transport with which a scenario that has none can be read: the first of the values that fits it, if any."""
    found = [named.transport(value) for value in values]
    for transport in (*found, "datagram"):
        try:
            named.check(scenario, {**changes, TRANSPORT: transport})
        except _native.ScenarioError:
            continue
        return transport
    return found[0]


@dataclass(frozen=True, eq=False)
class _Shared:
    """The parts that all transports of a comparison have in common.

    Attributes:
        named: The members that values may name.
        base: The scenario, with the changes for all runs.
        own: Its own transport; None if it leaves that to the comparison.
        own_changes: Changes for the runs of a transport or a queue.
        kept: The parts, of SERVING, and the buffer, that changes set.
        compared: All fields that are compared.
    """

    named: Members
    base: Mapping[str, Any]
    own: Mapping[str, Any] | None
    own_changes: OfMembers
    kept: Set[str]
    compared: Sequence[str]


def _transports(shared: _Shared, values: Sequence[Any]) -> tuple[list[dict[str, Any]], list[Any], list[str]]:
    """The scenario with each transport, with its label, and sentences on what it lacks of the scenario."""
    named, base = shared.named, shared.base
    chosen = [_chosen(named, value, shared.own) for value in values]
    labels, notes = _labels(values, chosen)
    if all(entry.get(TRANSPORT) not in (None, shared.own) for entry in base["traffic"]):
        name = base["traffic"][0].get("name", "NAME") if base["traffic"] else "NAME"
        raise UserError(
            "compare: each traffic entry has a transport of its own, which is not replaced; name the entry: "
            f"traffic.{name}.transport"
        )
    places = []
    for label, value in zip(labels, chosen, strict=True):
        place, said = _with(shared, value)
        places.append(place)
        notes += [f"{label}: {words}" for words in said]
    there = {_member_of(named, place, part) for place in places for part in (TRANSPORT, "queue")}
    shared.own_changes.require_used(there)
    return places, labels, notes


def _labels(values: Sequence[Any], chosen: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[str]]:
    """A label for each transport, and a sentence on each name that is not what it stands for alone."""
    named, notes = list[Any](), list[str]()
    for value, transport in zip(values, chosen, strict=True):
        said = member_name(transport)
        if isinstance(value, str) and said and said != value and said.endswith(f" {value}"):
            tag = said.removesuffix(f" {value}")
            other = json.dumps({"tcp": {"congestion": value}})
            notes.append(
                f"{said}: {value} is a control of {tag}, the transport of the scenario; TCP's is {other}"
            )
            named.append(said)
        else:
            named.append(value if isinstance(value, Mapping) else str(value))
    return value_names(named, TRANSPORT), notes


def _member_of(named: Members, scenario: Mapping[str, Any], part: str) -> str:
    """The member that a scenario has, also if it names none, as "queue.ecn"."""
    return f"{part}.{_kind(named.check(scenario, whole=True)[part])}"


def _chosen(named: Members, value: Any, own: Mapping[str, Any] | None) -> dict[str, Any]:
    """A transport by its name: the scenario's own settings where it is of its kind, defaults otherwise."""
    own_tag, own_fields = next(iter(own.items())) if own else ("", {})
    member = named.transport(value, own_tag)
    if not isinstance(value, str):
        return {member: {}} if isinstance(member, str) else dict(member)
    if own and member_name(member) == member_name(own):
        return dict(own)
    tag, fields = (member, {}) if isinstance(member, str) else next(iter(member.items()))
    if tag != own_tag:
        return {tag: fields}
    shared = {key: field for key, field in own_fields.items() if key != "congestion"}
    return {tag: shared | fields}


def _with(shared: _Shared, transport: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The scenario with another transport, and sentences on its parts that do not serve that one.

    Raises:
        ScenarioError: It cannot be run even without these; the text is that of the scenario with them.
    """
    named, base, own = shared.named, shared.base, shared.own
    made = copy.deepcopy(dict(base))
    made[TRANSPORT] = transport
    for entry in made["traffic"]:
        if own and entry.get(TRANSPORT) == own:
            del entry[TRANSPORT]
    member = f"{TRANSPORT}.{results.variant(transport)}"
    changes = shared.own_changes.of(member, _bare(made), named.check)
    notes = _bring(shared, made, changes)
    first: _native.ScenarioError | None = None
    while True:
        try:
            place = dict(named.check(made, changes))
            queue = _member_of(named, place, "queue")
            if of_queue := shared.own_changes.of(queue, place, named.check):
                place = dict(named.check(place, of_queue))
            return place, notes
        except _native.ScenarioError as error:
            first = first or error
            refused = {
                problem["path"]: problem["message"]
                for problem in error.problems
                if problem["path"] in (*SERVING, BUFFER)
                and problem["path"] not in shared.kept
                and _get(made, problem["path"])
            }
            if not refused:
                raise first from None
            for part, why in refused.items():
                _take(made, part)
                said = (
                    "without the buffer of the scenario"
                    if part == BUFFER
                    else f"{part} of its own, not that of the scenario"
                )
                notes.append(f"{said}: {why}")


def _bring(shared: _Shared, made: dict[str, Any], changes: Mapping[str, Any]) -> list[str]:
    """Takes out of a scenario the parts in whose place its transport has its own, and says which."""
    own, brought = shared.own, dict[str, str]()
    for part in SERVING:
        if part in shared.compared:
            _take(made, part)
        elif part not in shared.kept and own and made[TRANSPORT] != own:
            kind = _own_kind(shared.named, shared.base, part)
            found = _kind(_recommended(shared.named, made, changes, part)) if kind else None
            if kind and found and found != kind:
                _take(made, part)
                brought[f"{part} {found}"] = kind
    if not brought:
        return []
    kinds = f"{' and '.join(brought.values())} of {member_name(own)}"
    return [f"{' and '.join(brought)}, its own, in place of {kinds}"]


def _own_kind(named: Members, base: Mapping[str, Any], part: str) -> str | None:
    """The kind of a part that the scenario names, if its own transport recommends that kind; else None."""
    kind = _kind(_get(base, part))
    return kind if kind and kind == _kind(_recommended(named, base, {}, part)) else None


def _recommended(named: Members, scenario: Mapping[str, Any], changes: Mapping[str, Any], part: str) -> Any:
    """The part that a scenario has if it names none; None where it must name one."""
    try:
        return _get(named.check(_bare(scenario), changes, whole=True), part)
    except _native.ScenarioError:
        return None


def _bare(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario without the parts that serve a transport."""
    bare = copy.deepcopy(dict(scenario))
    for part in SERVING:
        _take(bare, part)
    return bare


def _kind(value: Any) -> str | None:
    return None if not value else results.variant(value)


def _get(scenario: Mapping[str, Any], part: str) -> Any:
    head, _, rest = part.partition(".")
    found = scenario.get(head)
    return (found or {}).get(rest) if rest else found


def _take(scenario: dict[str, Any], part: str) -> None:
    """Takes a part out of a scenario."""
    head, _, rest = part.partition(".")
    if rest:
        scenario[head] = {key: value for key, value in (scenario.get(head) or {}).items() if key != rest}
    else:
        scenario.pop(head, None)
