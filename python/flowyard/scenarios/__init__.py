"""Scenarios that ship with the package: `flowyard run NAME` finds them when no file has that name."""

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from flowyard.errors import UserError
from flowyard.folders import reading

_HERE = Path(__file__).parent
# Letters of a text that a message shows.
SHOWN = 40


def names() -> list[str]:
    """The names of all packaged scenarios."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def find(scenario: str | PathLike[str]) -> Path:
    """The file of that path, or else the packaged scenario of that name, with or without its ".toml"."""
    asked = os.fspath(scenario)
    if not asked:
        raise UserError("the scenario's name is empty; name a file or a packaged scenario")
    if asked == "-":
        raise UserError("-: standard input is not read; write the scenario into a file, and name it")
    path = Path(asked)
    there = reading.is_there(path)
    if there and not path.is_dir():
        return path
    name = path.name.removesuffix(".toml")
    # A bare name only: "./a" and "a/b" are paths of files that do not exist.
    if asked == path.name and name in names():
        return _HERE / f"{name}.toml"
    if there:
        for name, of in (("run.json", "run"), ("sweep.json", "sweep")):
            if (path / name).exists():
                raise UserError(f"{asked}: is the folder of a {of}: flowyard show {asked}")
        raise UserError(f"{asked}: is a folder; name a scenario file")
    if reason := reading.unreachable(path):
        raise UserError(f"{asked}: {reason}")
    if "\n" in asked:
        first = asked.strip().partition("\n")[0][:SHOWN]
        raise UserError(
            f"{first} ...: the scenario is a text of several lines, and no file; write it into a file, or give "
            "tomllib.loads(text)"
        )
    near = _beside(path) or _nearest(name, names())
    meant = f"did you mean {near}? " if near else ""
    raise UserError(f"{asked}: no such file; {meant}packaged scenarios: {', '.join(names())}")


def _nearest(name: str, known: Sequence[str], cutoff: float = 0.6) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def _beside(path: Path) -> str | None:
    """The scenario file whose name is nearly that of a path: without its ending, or with letters of another size."""
    try:
        files = sorted(file for file in path.parent.iterdir() if file.suffix.lower() in (".toml", ".json"))
    except OSError:
        return None
    name = path.name.lower()
    same = (file for file in files if name in (file.name.lower(), file.stem.lower()))
    if found := next(same, None):
        return str(found)
    near = _nearest(name, [file.name.lower() for file in files], cutoff=0.85)
    return next((str(file) for file in files if file.name.lower() == near), None)
