"""Reading what a run left in its folder, which may have been cut short, edited, or be another thing altogether."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowyard import reading
from flowyard.errors import UserError

# What run.json holds whatever the version that wrote it.
_RUN: Mapping[str, Any] = {
    "flowyard": str,
    "status": str,
    "digest": str,
    "seed": int,
    "end_ps": int,
    "scenario": {"topology": dict, "transport": dict, "routing": dict, "traffic": list, "run": dict},
    "traffic": list,
    "counters": dict.fromkeys(("events", "packet_hops", "packets", "flows", "unfinished_flows"), int),
}
_WORDS = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}


def summary(folder: Path) -> dict[str, Any]:
    """What run.json says of a simulation.

    Raises:
        UserError: It cannot be read, or lacks what every run.json has.
    """
    return _read(folder / "run.json", _RUN)


def status(folder: Path) -> dict[str, Any]:
    """What run.json says of a run of any kind, of which only its status is sure.

    Raises:
        UserError: It cannot be read, or has no status.
    """
    return _read(folder / "run.json", {"status": str})


def _read(path: Path, needed: Mapping[str, Any]) -> dict[str, Any]:
    content = reading.read_json(path)
    wrong = _wrong(content, needed, "")
    if wrong:
        raise UserError(f"{path}: not as flowyard wrote it: {'; '.join(wrong)}")
    kept: dict[str, Any] = content
    return kept


def _wrong(found: Any, needed: Any, where: str) -> list[str]:
    """In what a value differs from the types that are needed."""
    if not isinstance(needed, Mapping):
        return [] if type(found) is needed else [f"{where} is not {_WORDS[needed]}"]
    if not isinstance(found, dict):
        return [f"{where or 'it'} is not a table"]
    problems = []
    for key, kind in needed.items():
        path = f"{where}.{key}" if where else key
        problems += _wrong(found[key], kind, path) if key in found else [f"{path} is missing"]
    return problems
