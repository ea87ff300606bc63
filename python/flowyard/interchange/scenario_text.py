"""A scenario's plain data as the TOML that people read: tables by part, long lists in lines of ten."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
IN_A_LINE = 10


def toml(scenario: Mapping[str, Any], remarks: list[str]) -> str:
    """The file's text; remarks stand above it as comments."""
    return "\n".join([*(f"# {remark}" for remark in remarks), *_parts(scenario)]).strip() + "\n"


def _parts(scenario: Mapping[str, Any]) -> Iterator[str]:
    plain = {key: value for key, value in scenario.items() if not isinstance(value, dict | list)}
    yield from _fields("", plain)
    for key, value in scenario.items():
        if key in plain:
            continue
        for name, items in [(key, value)] if isinstance(value, list) else _blocks(key, value):
            if isinstance(items, list):
                for item in items:
                    yield f"\n[[{name}]]"
                    yield from _fields("", item)
            else:
                yield f"\n[{name}]"
                yield from _fields("", items)


def _blocks(key: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """[topology.explicit] for a choice of one, [[faults.events]] for a list of tables, else one [key]."""
    ((name, inner), *others) = value.items() or [("", None)]
    path = f"{_key(key)}.{_key(name)}"
    tables = isinstance(inner, list) and all(isinstance(item, dict) for item in inner)
    if not others and (isinstance(inner, dict) or tables):
        yield path, inner
    else:
        yield _key(key), value


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
        if any(isinstance(item, dict) for item in value):
            return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
        if len(value) <= IN_A_LINE:
            return _plain(value)
        # Ten at once: a million flows have millions of values.
        lines = (_plain(value[i : i + IN_A_LINE])[1:-1] for i in range(0, len(value), IN_A_LINE))
        return "[\n" + "".join(f"  {line},\n" for line in lines) + "]"
    return _plain(value)


def _plain(value: Any) -> str:
    """What JSON and TOML write alike: all but one character, which JSON leaves alone."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _plain(key)
