"""A scenario's plain data as the TOML that people read: tables by part, long lists in lines of ten."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
IN_A_LINE = 10


# By which editors find the schema: see docs/how-to/editors.md.
SCHEMA = "#:schema scenario.schema.json"
# Below it: that file is not there by itself.
FOR_EDITORS = "# The schema is for editors: flowyard schema > scenario.schema.json"


def toml(scenario: Mapping[str, Any], remarks: list[str]) -> str:
    """The file's text; remarks stand above it as comments, above these the schema's name."""
    return f"{SCHEMA}\n{FOR_EDITORS}\n{_lines(remarks, _parts(scenario))}"


def fragment(fields: Mapping[str, Any], remarks: list[str]) -> str:
    """Fields that go into a table of a scenario, with dotted keys."""
    return _lines(remarks, _fields("", fields))


def _lines(remarks: list[str], lines: Iterator[str]) -> str:
    comments = ("".join(c if c.isprintable() else "?" for c in remark) for remark in remarks)
    return "\n".join([*(f"# {comment}" for comment in comments), *lines]).strip() + "\n"


def _parts(scenario: Mapping[str, Any]) -> Iterator[str]:
    tables = {key: value for key, value in scenario.items() if isinstance(value, dict) or _has_tables(value)}
    yield from _fields("", {key: value for key, value in scenario.items() if key not in tables})
    for key, value in tables.items():
        name, items = _header(key, value)
        if isinstance(items, list):
            for item in items:
                yield f"\n[[{name}]]"
                yield from _fields("", item)
        else:
            yield f"\n[{name}]"
            yield from _fields("", items)


def _header(key: str, value: Any) -> tuple[str, Any]:
    """[topology.explicit] for a choice of one, [[faults.events]] for a list of tables, else [key] or [[key]]."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        if isinstance(inner, dict) or _has_tables(inner):
            return f"{_key(key)}.{_key(name)}", inner
    return _key(key), value


def _has_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _fields(prefix: str, table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        path = prefix + _key(key)
        if isinstance(value, dict) and value:
            yield from _fields(f"{path}.", value)
        else:
            yield f"{path} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        if _holds_tables(value):
            return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
        if len(value) <= IN_A_LINE:
            return _plain(value)
        # Ten at once: a million flows have millions of values.
        lines = (_plain(value[i : i + IN_A_LINE])[1:-1] for i in range(0, len(value), IN_A_LINE))
        return "[\n" + "".join(f"  {line},\n" for line in lines) + "]"
    return _plain(value)


def _holds_tables(value: list[Any]) -> bool:
    return any(isinstance(item, dict) or (isinstance(item, list) and _holds_tables(item)) for item in value)


def _plain(value: Any) -> str:
    """Strings that JSON and TOML write alike: all but one character, which JSON does not escape."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _plain(key)
