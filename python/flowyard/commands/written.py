"""The fields that a scenario writes itself: `flowyard check` shows these, and counts the defaults."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.folders import reading


def fields(path: Path, overrides: Mapping[str, object]) -> dict[str, Any]:
    """The fields of a scenario's file and of overrides, as they are written."""
    try:
        document: Any = reading.read_json(path) if path.suffix == ".json" else reading.read_toml(path)
    except UserError:
        # The engine has read it: the parsers differ.
        document = {}
    found: dict[str, Any] = document if isinstance(document, dict) else {}
    for key, value in overrides.items():
        _put(found, key.split("."), _parsed(value))
    return found


def entry(own: Mapping[str, Any], number: int) -> Any:
    """The written fields of a traffic entry."""
    listed = own.get("traffic")
    return listed[number] if isinstance(listed, list) and number < len(listed) else {}


def inside(member: Any) -> Any:
    """The written fields of a member, such as those of {"syn": {...}}."""
    return next(iter(member.values()), {}) if isinstance(member, Mapping) else {}


def without_defaults(resolved: Any, own: Any) -> tuple[Any, int]:
    """A part with the fields that are written, and the number of others; the name of a member stays."""
    if not isinstance(resolved, Mapping):
        return resolved, 0
    if len(resolved) == 1 and not (isinstance(own, Mapping) and own.keys() & resolved.keys()):
        # A member by its name alone, or one that nothing names; its fields are defaults, or lists of a resolved file.
        ((tag, inner),) = resolved.items()
        return (tag, count(inner)) if isinstance(inner, Mapping) else ({tag: inner}, 0)
    shown, left = {}, 0
    for key, value in resolved.items():
        if value is None:
            continue
        if isinstance(own, Mapping) and key in own:
            shown[key], inner = without_defaults(value, own[key])
            left += inner
        else:
            left += max(1, count(value))
    if len(shown) == len(resolved) == 1 and list(shown.values()) == [{}]:
        return next(iter(shown)), left
    return shown, left


def count(value: Any) -> int:
    """The fields of a part that have values."""
    if isinstance(value, Mapping):
        return sum(max(1, count(inner)) for inner in value.values() if inner is not None)
    return 1


def _parsed(value: object) -> Any:
    import json

    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _put(within: Any, steps: list[str], value: Any) -> None:
    """Puts a value at a path; entries of lists go by name or number."""
    for i, step in enumerate(steps):
        if isinstance(within, list):
            within = next(
                (
                    item
                    for n, item in enumerate(within)
                    if step in (str(n), isinstance(item, dict) and item.get("name"))
                ),
                {},
            )
            if i == len(steps) - 1:
                return
            continue
        if not isinstance(within, dict):
            return
        if i == len(steps) - 1:
            within[step] = value
            return
        if not isinstance(within.get(step), dict | list):
            within[step] = {}
        within = within[step]
