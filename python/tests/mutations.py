"""Changes to files that people, disks and networks make: for the fuzzing of every verb (fuzz_verbs.py).

Each takes bytes and a source of chance and gives other bytes. Most know nothing of formats; those at the end put a
value of another kind into TOML or JSON.
"""

import json
import random
import re
from collections.abc import Callable
from typing import Any

NUMBERS = [
    "0", "-1", "1", "2", "1.5", "-0.0", "1e400", "1e-400", "nan", "inf", "4294967295", "4294967296",
    "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "9" * 5000,
    "0x" + "f" * 5000, "1" + "0" * 300, "1_0", "0o7", "٣",
]  # fmt: skip
VALUES = [
    *NUMBERS, "true", '""', '"x"', "'x'", '"\\u0000"', '"\\ud800"', "[]", "[[]]", "{}", "[{}]", "{ a = 1 }",
    '{"a": 1}', "null", "2026-11-21", "07:32:00", '"10us"', '"1KB"', '"-1s"', '"99999999999s"', '"../.."', '"/"',
    '"small.toml"', '["a", 1]', "[" * 70 + "]" * 70, "[" * 3000, '"' + "x" * 3000 + '"', "é🦀", "\x00",
]  # fmt: skip
PLAIN: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, 2**64, 10**400, 0.5, -1.5, 1e300, "", "x", "weird", "\x00", "é🦀", "\ud800",
    "../..", [], [[]], {}, [{}], [1, "a"], {"a": 1}, ["x"] * 40, "1" * 400,
]  # fmt: skip


def changed(content: bytes, chance: random.Random) -> bytes:
    """The content after one to three changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice(CHANGES)(content, chance)
    return content


def _flip(content: bytes, chance: random.Random) -> bytes:
    at = bytearray(content or b" ")
    for _ in range(chance.randint(1, 8)):
        at[chance.randrange(len(at))] ^= 1 << chance.randrange(8)
    return bytes(at)


def _span(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(content))
    return start, min(len(content), start + chance.choice((1, 4, 30, 300, len(content))))


def _delete(content: bytes, chance: random.Random) -> bytes:
    start, end = _span(content, chance)
    return content[:start] + content[end:]


def _duplicate(content: bytes, chance: random.Random) -> bytes:
    start, end = _span(content, chance)
    return content[:end] + content[start:end] * chance.choice((1, 1, 2, 50)) + content[end:]


def _insert(content: bytes, chance: random.Random) -> bytes:
    what: bytes = chance.choice(
        [b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"#", b'"', b"[" * 100_000,
         b"9" * 5000, b"a." * 3000]
    )  # fmt: skip
    at = chance.randint(0, len(content))
    return content[:at] + what + content[at:]


def _lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.choice(("delete", "double", "swap", "shuffle", "truncate"))
    if kind == "delete":
        del lines[at]
    elif kind == "double":
        lines.insert(at, lines[at])
    elif kind == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == "shuffle":
        chance.shuffle(lines)
    else:
        del lines[at:]
    return b"\n".join(lines)


def _replaced(pattern: bytes, values: list[str]) -> Callable[[bytes, random.Random], bytes]:
    def replace(content: bytes, chance: random.Random) -> bytes:
        found = list(re.finditer(pattern, content))
        if not found:
            return _insert(content, chance)
        where = chance.choice(found)
        return content[: where.start()] + chance.choice(values).encode() + content[where.end() :]

    return replace


def _retyped(content: bytes, chance: random.Random) -> bytes:
    """JSON with a value of another kind somewhere, or without a key, or with one more."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _replaced(rb"(?<=[=:,\[])[^,=:\n\]]+", VALUES)(content, chance)
    place, value = None, document
    while isinstance(value, dict | list) and value and chance.random() < 0.85:
        place, step = value, chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = value[step]
    if place is None:
        return json.dumps(chance.choice(PLAIN)).encode()
    kind = chance.choice(("put", "put", "put", "put", "delete", "add"))
    if kind == "delete":
        del place[step]
    elif kind == "add" and isinstance(place, list):
        place.append(chance.choice(PLAIN))
    else:
        place[step] = chance.choice(PLAIN)
    return json.dumps(document).encode()


# First lines of HPCC's relatives, with capacities and without, and a count alone.
HEADS = [
    b"4 1 3",
    b"4 1 1 3",
    b"4 1 1 3 100000000000 400000000000",
    b"6 4 1 1 8 H100",
    b"2",
    b"Nodes 4 Connections 2",
]
PROSE = [
    b"\nsrc dst rate delay error_rate\n...\n",
    b"\nFirst line: number of flows\n",
    b"\n{host 0: 10.0.0.1}\n",
]


def shaped(content: bytes, chance: random.Random) -> bytes:
    """The same in a shape that other machines and forks give it."""
    kind = chance.choice(("windows", "tabs", "blanks", "prose", "head", "count"))
    if kind == "windows":
        return content.replace(b"\n", b"\r\n")
    if kind == "tabs":
        return content.replace(b" ", b"\t")
    if kind == "blanks":
        return content.replace(b" ", b"   ").replace(b"\n", b" \n\n")
    if kind == "prose":
        return content + chance.choice(PROSE)
    first, _, rest = content.partition(b"\n")
    if kind == "head":
        return chance.choice(HEADS) + b"\n" + rest
    # One more or one less than there is.
    off = chance.choice((-1, 1))
    return (
        re.sub(rb"[0-9]{1,18}", lambda found: b"%d" % max(0, int(found[0]) + off), first, count=1)
        + b"\n"
        + rest
    )


CHANGES = (
    _flip,
    _delete,
    _duplicate,
    _insert,
    _lines,
    _lines,
    shaped,
    shaped,
    _replaced(rb"-?[0-9][0-9.]*", NUMBERS),
    _replaced(rb"-?[0-9][0-9.]*", NUMBERS),
    _retyped,
    _retyped,
    _retyped,
)
