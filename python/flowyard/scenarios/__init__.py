"""Scenarios that ship with the package: `flowyard run NAME` finds them when no file has that name."""

import difflib
from os import PathLike
from pathlib import Path

from flowyard.errors import UserError

_HERE = Path(__file__).parent


def names() -> list[str]:
    """The names of all packaged scenarios."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def find(scenario: str | PathLike[str]) -> Path:
    """The file of that path, or else the packaged scenario of that name."""
    path = Path(scenario)
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a scenario file")
    if path.exists():
        return path
    packaged = _HERE / f"{path}.toml"
    # A bare name only: "a/b" is a path that does not exist.
    if path.name == str(path) and packaged.exists():
        return packaged
    near = difflib.get_close_matches(path.stem, names(), n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; packaged scenarios: {', '.join(names())}"
    raise UserError(f"{path}: no such file{hint}")
