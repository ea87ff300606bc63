"""Reading a file that a user names: the one place that knows what may be wrong with any file.

It may be missing, a folder, a pipe or a device, too large, or no UTF-8 text; and TOML and JSON may be none, nest deeper
than anything of ours, and hold numbers that no field holds. All of that is a UserError that names the file.
"""

import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from flowyard.errors import UserError

# The largest files that are read, in bytes: so many are some millions of listed flows.
SCENARIO_MAX = 256 << 20
# Sweeps and registers of claims, which people write by hand.
PLAN_MAX = 16 << 20
# What flowyard wrote: a scenario with its flows is several times as long there.
KEPT_MAX = 2 << 30
# Tables and lists within each other.
DEEPEST = 64
# What a field of a scenario may need, with sign.
WHOLE_NUMBERS = range(-(2**63), 2**64)

# What is asked for beyond the size that the system says.
_PIECE = 1 << 16

_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
_DIGITS = re.compile(r"[0-9_]{1000,}")
# A number and letters that end a value, such as 100Gbps, 10 us and 50%, and the key if it stands before them.
_BARE_QUANTITY = re.compile(
    r"(?:([\w.\"-]+)\s*=\s*)?(?<![\w.-])([-+]?\d[\w.]*? ?[A-Za-z%]+)(?=\s*(?:[,\]}#]|$))"
)
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")


def text(path: str | PathLike[str], most: int = SCENARIO_MAX, encoding: str = "utf-8") -> str:
    """The text of a regular file of at most so many bytes.

    Raises:
        UserError: There is none that can be read.
    """
    asked = Path(path)
    try:
        about = require_regular(asked)
        content = b""
        if about.st_size <= most:
            content = _bytes(asked, about.st_size, most)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise UserError(f"{asked}: {'no such file' if missing else error.strerror or error}") from None
    except ValueError:
        raise UserError(f"{str(asked)!r}: no file can have that name") from None
    size = max(about.st_size, len(content))
    if size > most:
        raise UserError(f"{asked}: has {size:,} bytes; at most {most:,} ({most >> 20} MiB) are read")
    try:
        return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise UserError(f"{asked}: not UTF-8 text") from None


def _bytes(path: Path, size: int, most: int) -> bytes:
    """The bytes of a file of about that size, no more than one above the most.

    That one shows that there is more: files grow, and those of the kernel say no size. Room is taken for the file as it
    is, not for the largest that is read.
    """
    pieces, left = [], most + 1
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, size + _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


def require_regular(path: Path) -> os.stat_result:
    """Status of a regular file. It is not opened: opening a pipe waits for its other end.

    Raises:
        UserError: It is a folder, a pipe, a device or a socket.
        OSError: It is not there, or cannot be asked about.
    """
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        kind = _KINDS.get(stat.S_IFMT(about.st_mode), "a device")
        raise UserError(f"{path}: is {kind}; name a regular file")
    return about


def is_there(path: Path) -> bool:
    """Whether there is something of that name; a name that is too long, or no name at all, is that of nothing."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def unreachable(path: Path) -> str | None:
    """Why the system does not say what is there, such as a loop of links; None if it does, or if nothing is there."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        return error.strerror or str(error)
    return None


def as_text(path: str | PathLike[str]) -> str:
    """A path as text, which it need not be: bytes that are not UTF-8 are written in hexadecimal."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


# A text whose first line that is no comment is "key: value", "key:" or a mark of YAML.
_YAML = re.compile(r"(?:[ \t\r]*(?:#.*)?\n)*(?:---\s*\n|- |[\w.-]+:(?:[ \t]|\r?\n))")
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def read_toml(path: str | PathLike[str], most: int = PLAN_MAX) -> dict[str, Any]:
    """Contents of a TOML file.

    Raises:
        UserError: It cannot be read, or holds what none of ours does.
    """
    return parse_toml(text(path, most), str(path))


def read_json(path: str | PathLike[str], most: int = KEPT_MAX) -> Any:
    """Contents of a JSON file.

    Raises:
        UserError: It cannot be read, or holds what none of ours does.
    """
    return parse_json(text(path, most), str(path))


def parse_toml(content: str, name: str) -> dict[str, Any]:
    """Contents of a TOML text; messages use the name."""
    # Late, for a run needs none of it.
    import tomllib

    found: dict[str, Any] = _parse(tomllib.loads, tomllib.TOMLDecodeError, content, name, "TOML")
    return found


def parse_json(content: str, name: str) -> Any:
    """Contents of a JSON text; messages use the name."""
    found = _parse(json.loads, json.JSONDecodeError, content, name, "JSON")
    if _HALF_A_PAIR.search(content):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UserError(
                f"{name}: not JSON (a text has half a pair of surrogates, which is no letter)"
            ) from None
    return found


def _parse(
    parse: Callable[[str], Any], wrong: type[ValueError], content: str, name: str, language: str
) -> Any:
    try:
        found = parse(content)
    except RecursionError:
        raise UserError(f"{name}: {_too_deep('')}") from None
    except wrong as error:
        if language == "TOML" and _YAML.match(content):
            raise UserError(f"{name}: this looks like YAML; write it in TOML, such as replicas = 5") from None
        raise UserError(f"{name}: not {language}: {error}{_unquoted(content, str(error))}") from None
    except ValueError as error:
        # Python refuses to read what has more than 4,300 digits.
        digits = _DIGITS.search(content)
        if digits is None:
            raise UserError(f"{name}: not {language}: {error}") from None
        line = content.count("\n", 0, digits.start()) + 1
        raise UserError(f"{name}: line {line}: {_too_large(digits[0])}") from None
    if isinstance(found, dict | list) and (
        problem := next(_problems(found, finite=language == "JSON"), None)
    ):
        raise UserError(f"{name}: {problem}")
    return found


def _unquoted(content: str, error: str) -> str:
    """A hint for a quantity without quotes, for which TOML's parser reports an unexpected end of line."""
    if (place := _PLACE.search(error)) is None:
        return ""
    line, column = content.split("\n")[int(place[1]) - 1], int(place[2]) - 1
    for found in _BARE_QUANTITY.finditer(line):
        if found.start(2) <= column <= found.end():
            key = f"{found[1]} = " if found[1] else ""
            return f'; write quantities in quotes: {key}"{found[2]}"'
    return ""


def _problems(document: Any, *, finite: bool) -> Iterator[str]:
    """Values that no document of ours has, in any of its tables and lists."""
    level = [("", document)]
    for _ in range(DEEPEST):
        below = []
        for path, value in level:
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(item, dict | list):
                    below.append((f"{path}{key}.", item))
                elif isinstance(item, int) and item not in WHOLE_NUMBERS:
                    # Python writes out no more than 4,300 digits, but reads any number of hexadecimal ones.
                    yield f"{path}{key}: " + _too_large(
                        hex(item) if item.bit_length() > 10_000 else str(item)
                    )
                elif finite and isinstance(item, float) and not math.isfinite(item):
                    yield f"{path}{key}: {item}; use a finite number"
        level = below
    if level:
        yield _too_deep(level[0][0])


def _too_deep(path: str) -> str:
    where = f"{path[:40]}...: " if path else ""
    return f"{where}tables and lists are nested too deep; at most {DEEPEST} levels are allowed"


def _too_large(number: str) -> str:
    shown = f"{number[:20]}..." if len(number) > 20 else number
    return f"{shown} is a number of more than 64 bits; use {WHOLE_NUMBERS[0]} to {WHOLE_NUMBERS[-1]}"


def shown(word: object) -> str:
    """A value in a message: quoted, and cut if it is long."""
    text = str(word)
    if len(text) > 40:
        text = text[:37] + "..."
    return '"' + text.encode("unicode_escape").decode().replace('"', "'") + '"'
