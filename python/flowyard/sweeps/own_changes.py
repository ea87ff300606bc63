"""Changes of a comparison that are not for all of its runs: fields of a member are for the runs that have it."""

import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from flowyard import _native
from flowyard.errors import UserError

Changes = Mapping[str, Any]
# Steps of a key such as transport.tcp.congestion.dctcp.g behind which a member may have a member of its own.
FIRST_OF_MEMBER = 3


def within_values(
    changes: Changes,
    field: str,
    values: Sequence[Any],
    resolved: Callable[[Changes], Mapping[str, Any]],
) -> tuple[list[Any], dict[str, Any]]:
    """Values of a field that is compared, with the changes below it that they have the members for; all other changes.

    Args:
        changes: Values by the key of a field.
        field: The field, such as queue.
        values: Its values: members, by name or with settings.
        resolved: Gives the scenario with changes all of its defaults.

    Raises:
        UserError: No value has the members that a change is for.
    """
    below = {key: value for key, value in changes.items() if key.startswith(f"{field}.")}
    others = {key: value for key, value in changes.items() if key not in below}
    found = list(values)
    for key, setting in below.items():
        path, typed = key.removeprefix(f"{field}."), _typed(setting)
        instead = [
            _other_of_value(key, field, value, lambda own: resolved({**others, field: own}))
            for value in found
        ]
        if None not in instead:
            raise _of_no_run(key, {other for other in instead if other})
        found = [
            value if other else _put({} if isinstance(value, str) else value, path, typed)
            for value, other in zip(found, instead, strict=True)
        ]
    return found, others


def _other_of_value(
    key: str, field: str, value: Any, resolved: Callable[[Any], Mapping[str, Any]]
) -> str | None:
    """The member that a value of a field has in place of one that a key below the field names."""
    steps = key.split(".")
    if steps[field.count(".") + 1] != _tag(value):
        return f"{field}.{_tag(value)}"
    try:
        return _other_member(resolved(value), steps[:-1])
    except _native.ScenarioError:
        # The check of the run reports the errors of the scenario.
        return None


def _typed(setting: Any) -> Any:
    """A value of --set, which is text, as --compare reads values: text that is JSON is what it says."""
    try:
        return json.loads(setting) if isinstance(setting, str) else setting
    except ValueError:
        return setting


def _of_no_run(key: str, instead: Set[str]) -> UserError:
    """The refusal of a change for whose members no run has any, with those that runs have in their places."""
    depth = max(other.count(".") for other in instead) + 1
    there = sorted(other for other in instead if other.count(".") == depth - 1)
    missing = ".".join(key.split(".")[:depth])
    return UserError(f"compare: {key} is set, and no run has {missing}; there are {', '.join(there)}")


def _tag(value: Any) -> str:
    return str(next(iter(value))) if isinstance(value, Mapping) and value else str(value)


def _put(fields: Any, path: str, value: Any) -> dict[str, Any]:
    """Fields with one more, at a path."""
    step, _, rest = path.partition(".")
    own = dict(fields) if isinstance(fields, Mapping) else {}
    return own | {step: _put(own.get(step), rest, value) if rest else value}


class OfMembers:
    """Changes of fields of transports and queues, each for the runs that have the members that its key names.

    Args:
        changes: Values by the key of a field, of keys such as transport.tcp.mss.
    """

    def __init__(self, changes: Changes) -> None:
        self._changes: dict[str, dict[str, Any]] = {}
        for key, value in changes.items():
            part, tag, _ = key.split(".", 2)
            self._changes.setdefault(f"{part}.{tag}", {})[key] = value
        # By key, the members that runs have in the place of one that the key names.
        self._instead: dict[str, set[str]] = {}
        self._used: set[str] = set()

    def of(
        self, member: str, scenario: Mapping[str, Any], resolved: Callable[..., Mapping[str, Any]]
    ) -> Changes:
        """The changes of a transport or queue that a scenario with it has the members for.

        Args:
            member: Such as "transport.tcp".
            scenario: The scenario.
            resolved: Gives a scenario with changes all of its defaults.
        """
        every = self._changes.get(member, {})
        found = {key: value for key, value in every.items() if key.count(".") < FIRST_OF_MEMBER}
        for key, value in every.items():
            if key in found:
                continue
            try:
                whole = resolved(scenario, found, whole=True)
            except _native.ScenarioError:
                # The check with all changes reports the errors of the scenario.
                return every
            if instead := _other_member(whole, key.split(".")[:-1]):
                self._instead.setdefault(key, set()).add(instead)
            else:
                found[key] = value
        self._used |= found.keys()
        return found

    def require_used(self, there: Set[str]) -> None:
        """Refuses changes for which no run has the members.

        Args:
            there: The transports and queues of all runs.

        Raises:
            UserError: There is one; the text names it, and the members that runs have.
        """
        for member, changes in self._changes.items():
            for key in changes:
                if member not in there:
                    raise _of_no_run(key, there)
                if key not in self._used and key in self._instead:
                    raise _of_no_run(key, self._instead[key])


def _other_member(scenario: Mapping[str, Any], steps: Sequence[str]) -> str | None:
    """The member that a scenario has in place of one on a path; None if it has those of the path."""
    value: Any = scenario
    for depth, step in enumerate(steps):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list):
            # Traffic entries go by their names.
            value = next((entry for entry in value if entry.get("name") == step), None)
        elif isinstance(value, str) or (isinstance(value, Mapping) and len(value) == 1):
            return ".".join([*steps[:depth], _tag(value)])
        else:
            # A field that is not given, or that there is not: the engine says so.
            return None
    return None
