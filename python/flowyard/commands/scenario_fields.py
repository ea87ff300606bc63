"""Fields and members of scenarios by their names, from the schema: for `flowyard explain`.

A name is the end of a path, such as initial_window, ndp or transport.ndp.initial_window. Of a definition that stands at
several places, as a transport also stands in entries of traffic, only the place with the fewest steps counts.
"""

import difflib
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

# The step of an item of a list, in whose place a name has that of an entry, as traffic.web.
ITEM = "NAME"

# The pages of docs/reference that are not called as the part of a scenario that they describe.
PAGES = {
    "name": "scenario",
    "topology": "topologies",
    "routing": "balancers",
    "transport": "transports",
    "queue": "queues",
}
_KINDS = {
    "time-span": 'time, such as "10us"',
    "bytes": 'size, such as "64KB"',
    "rate": 'rate, such as "10Gbps"',
    "host": "number or name of a host",
    "string": "text",
    "boolean": "true or false",
    "integer": "whole number",
    "array": "list",
    "object": "table",
}
_BOUNDS = {
    "minimum": "at least",
    "x-minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "x-maximum": "at most",
    "exclusiveMaximum": "less than",
}


def named(schema: Schema, name: str) -> list[dict[str, str]]:
    """The fields and members whose paths end with a name.

    Args:
        schema: That of scenarios.
        name: Steps with dots between them. Leading steps are left out until something fits, but for two.

    Returns:
        Of each its path, what it takes, its default, its meaning, and the page with it.
    """
    steps = name.split(".")
    every = list(_walk(schema))
    while True:
        found = [(path, field) for path, field in every if _ends(path, steps)]
        if found or len(steps) <= 2:
            return [_described(schema, path, field) for path, field in found]
        del steps[0]


def near(schema: Schema, name: str) -> list[str]:
    """Paths that are nearly the name."""
    return difflib.get_close_matches(name, [".".join(path) for path, _ in _walk(schema)], n=3, cutoff=0.8)


def below(schema: Schema, name: str) -> list[dict[str, str]]:
    """The fields of the table at a whole path, as `named` has them; none of a choice, whose members it lists itself."""
    found = next((field for path, field in _walk(schema) if ".".join(path) == name), {})
    # One that may be left out is a table or null.
    some = [part for part in found.get("anyOf", ()) if part.get("type") != "null"]
    table = _definition(schema, some[0] if len(some) == 1 else found)
    fields = table.get("properties", {})
    required = table.get("required", ())
    described = [_described(schema, (*name.split("."), field), part) for field, part in fields.items()]
    return [
        {**field, "default": "required" if own in required else field["default"]}
        for own, field in zip(fields, described, strict=True)
    ]


def _ends(path: Sequence[str], steps: Sequence[str]) -> bool:
    return (
        len(path) >= len(steps)
        and all(own in (ITEM, step) for own, step in zip(path[-len(steps) :], steps, strict=True))
        and path[-1] != ITEM
    )


def _walk(schema: Schema) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """All paths, those of few steps first, each with what the schema has there."""
    waiting = deque[tuple[tuple[str, ...], Schema]]([((), schema)])
    seen = set[str]()
    while waiting:
        path, part = waiting.popleft()
        if target := part.get("$ref"):
            if target not in seen:
                seen.add(target)
                waiting.append((path, _definition(schema, part)))
            continue
        for name, below in part.get("properties", {}).items():
            yield (*path, name), _with_meaning(part, below)
            waiting.append(((*path, name), below))
        within = [*part.get("oneOf", ()), *part.get("anyOf", ())]
        waiting.extend((path, below) for below in within)
        if isinstance(items := part.get("items"), Mapping):
            waiting.append(((*path, ITEM), items))
        for word in (below.get("const") for below in part.get("oneOf", ())):
            if isinstance(word, str):
                yield (*path, word), next(below for below in part["oneOf"] if below.get("const") == word)


def _with_meaning(choice: Schema, only: Schema) -> Schema:
    """The only field of a choice, which has the choice's meaning if it has none of its own."""
    if len(choice.get("properties", ())) > 1 or {"description", "$ref"} & set(only):
        return only
    return {**only, "description": choice.get("description", "")}


def _described(schema: Schema, path: tuple[str, ...], field: Schema) -> dict[str, str]:
    default = field.get("default")
    meaning = field.get("description") or _definition(schema, field).get("description", "")
    return {
        "name": ".".join(path),
        "kind": _kind(schema, field),
        # Those of a table stand at its fields.
        "default": "" if isinstance(default, Mapping | None) else json.dumps(default, ensure_ascii=False),
        "meaning": " ".join(meaning.split()),
        "page": f"docs/reference/{PAGES.get(path[0], path[0])}.md",
    }


def _definition(schema: Schema, part: Schema) -> Schema:
    """The definition that a reference names; the part itself if it is no reference."""
    target = part.get("$ref")
    found: Schema = schema["$defs"][target.rpartition("/")[2]] if target else part
    return found


def _kind(schema: Schema, field: Schema) -> str:
    """The values of a field, in words, with its bounds."""
    field = _definition(schema, field)
    if choices := field.get("anyOf"):
        return " or ".join(_kind(schema, choice) for choice in choices if choice.get("type") != "null")
    if choices := field.get("oneOf"):
        tags = [
            tag for choice in choices for tag in [*choice.get("properties", ()), choice.get("const")] if tag
        ]
        return "one of " + ", ".join(dict.fromkeys(tags))
    if "const" in field:
        return json.dumps(field["const"])
    kinds = field.get("type", "")
    kind = next((kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"), "")
    words = [_KINDS.get(field.get("format", ""), _KINDS.get(kind, kind))]
    return ", ".join(words + [f"{said} {field[bound]}" for bound, said in _BOUNDS.items() if bound in field])
