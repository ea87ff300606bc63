"""The columns of tables of flows and of cables: the names that they go by, and the units in these.

One list of names for each kind of table. A name may end with a unit, as `start_us`, `size (KB)` and `Speed (Mbps)`
do. What has another name is not read, and said to be so.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, Source, decimal, plain, quantity, unit_power

FLOWS, CABLES = "flows", "cables"

# Powers of ten of a byte.
SIZE_UNITS = {"b": 0, "byte": 0, "bytes": 0, "kb": 3, "mb": 6, "gb": 9, "tb": 12}
# Powers of two of a byte.
BINARY_UNITS = {"kib": 10, "mib": 20, "gib": 30, "tib": 40, "ki": 10, "mi": 20, "gi": 30, "ti": 40}
# Units that are names of columns by themselves, as bytes is.
ALONE = {
    "size": ("kb", "mb", "gb", "kib", "mib", "gib"),
    "rate": ("kbps", "mbps", "gbps", "tbps"),
    "delay": ("ps", "ns", "us", "ms"),
}
# Names of columns of sizes in bits, which are not read.
_BITS = re.compile(r"[kmgt]i?b|[kmgt]?(bit|bits)")
_SIZE = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]*)", re.ASCII)
# So many digits behind the point may be exact in a size with a binary unit.
_PLACES = 12
_LONG_TIMES = {
    "seconds": "s", "secs": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns", "picoseconds": "ps",
}  # fmt: skip


def _ends(words: str, more: str) -> tuple[str, ...]:
    """Names of an end: the words alone, and those of a device, its place in front or behind."""
    of = ("", "_id", "_host", "_node", "_device", "_name", "_ip")
    return tuple(dict.fromkeys([word + end for word in words.split() for end in of] + more.split()))


def _sides(side: str, number: str, more: str) -> tuple[str, ...]:
    """Names of a cable's end in inventories: side A, termination B, node1."""
    what = ("device", "node", "host", "end", "endpoint", "side", "switch")
    lettered = [f"{name}_{side}" for name in what] + [f"{side}_{name}" for name in what]
    numbered = [f"{name}{gap}{number}" for name in what for gap in ("", "_")]
    return (side, f"side_{side}_device", f"termination_{side}_device", *lettered, *numbered, *more.split())


# The names of each role; the first is the one that messages have.
NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    FLOWS: {
        "src": _ends("src source sender from", "srcid srchost srcnode"),
        "dst": _ends("dst dest destination receiver to target", "dstid dsthost dstnode"),
        "size": ("size", "bytes", "flow_size", "flowsize", "message_size", "msg_size", "volume", "payload"),
        "packets": ("packets", "pkts", "num_packets", "packet_count", "n_packets"),
        "start": ("start", "start_time", "starttime", "arrival", "arrival_time", "begin", "time", "timestamp", "t"),
        "deadline": ("deadline", "due"),
    },
    CABLES: {
        "a": _sides("a", "1", "source src from local_device local_host u"),
        "b": _sides("b", "2", "target dst to remote_device remote_host v destination dest"),
        "rate": ("rate", "speed", "bandwidth", "capacity", "bw", "data_rate", "datarate", "link_speed", "linkspeed"),
        "delay": ("delay", "latency", "lat", "propagation_delay", "link_delay"),
        "loss": ("loss", "loss_rate", "packet_loss", "error_rate", "drop_rate"),
    },
}  # fmt: skip
# What --columns may call a column that is not read.
IGNORED = (
    "id", "pg", "priority", "prio", "port", "sport", "dport", "protocol", "tag", "type", "end", "stop", "error",
    "label", "ignored",
)  # fmt: skip
# What stands in an example of --columns for a column whose name is not known.
PLACEHOLDER = "NAME"
# What a table of its kind must have.
NEEDED = {FLOWS: (("src",), ("dst",), ("size", "packets")), CABLES: (("a",), ("b",))}


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: As the file or the user has it.
        role: What it holds; "" if it is not read.
        unit: The unit that its name has.
    """

    name: str
    role: str
    unit: str | None = None


def named(words: Sequence[str], kind: str) -> list[Column]:
    """The columns that a line of names says, for a table of flows or of cables."""
    return [_column(word, kind) for word in words]


def kind_of(words: Sequence[str]) -> str | None:
    """Which table a line of names heads; None if it names none."""
    if any(_is_number(word) for word in words):
        return None
    for kind, needed in NEEDED.items():
        roles = {column.role for column in named(words, kind)}
        if all(roles & set(some) for some in needed) and not (kind == CABLES and sizes_unread(words)):
            return kind
    return FLOWS if sizes_unread(words) else None


def sizes_unread(words: Sequence[str]) -> list[str]:
    """Columns that may be of sizes, where src and dst but no size is known: flows, no cables.

    They begin as the name of one does, are bits, or are all but src, dst and a start, which a cable has not.
    """
    columns = named(words, FLOWS)
    roles = {column.role for column in columns}
    if not {"src", "dst"} <= roles or roles & {"size", "packets"}:
        return []
    begins = tuple(f"{name}_" for role in ("size", "packets") for name in NAMES[FLOWS][role])
    plain = {column.name: _plain_name(column.name) for column in columns}
    found = [name for name, word in plain.items() if word.startswith(begins) or _BITS.fullmatch(word)]
    cable = {column.role for column in named(words, CABLES)} & {"rate", "delay"}
    if found or "start" not in roles or cable:
        return found
    return [column.name for column in columns if not column.role]


def starts_unread(words: Sequence[str]) -> list[str]:
    """Columns that begin as the name of one of starts does, where no start is known: their unit is none of a time."""
    if any(column.role == "start" for column in named(words, FLOWS)):
        return []
    begins = tuple(f"{name}_" for name in NAMES[FLOWS]["start"] if len(name) > 1)
    return [word for word in words if _plain_name(word).startswith(begins)]


def require_units(source: Source, words: Sequence[str], line: int) -> None:
    """Raises a UserError if a table of flows has its sizes or its starts in a unit that is not known.

    Args:
        source: The file.
        words: Its names of columns.
        line: The line of these.
    """
    lacking = (
        ("sizes", sizes_unread(words), (*SIZE_UNITS, *BINARY_UNITS), "size_kb"),
        ("starts", starts_unread(words), tuple(TIME_UNITS), "start_us"),
    )
    for what, unread, units, such_as in lacking:
        if unread:
            raise source.wrong(
                line,
                f"has no column of {what}, but {' and '.join(map(shown, unread))}; units of {what} are "
                f"{', '.join(units)}, as in {such_as}; name the columns in order, a known one for each {PLACEHOLDER}: "
                f"{own_example(words, unread)}",
            )


def heads(words: Sequence[str]) -> bool:
    """Whether a row is one of names: none of its cells begins as a number does."""
    return not any(not word or word[:1] in "+-." or _is_number(word) for word in words)


def unknown(words: Sequence[str]) -> list[str]:
    """The names that mean nothing, neither in a table of flows nor in one of cables."""
    columns = zip(words, named(words, FLOWS), named(words, CABLES), strict=True)
    return [word for word, flow, cable in columns if not flow.role and not cable.role]


def own_example(words: Sequence[str], unread: Sequence[str]) -> str:
    """The option that names the columns of a file in their order, for messages.

    Args:
        words: The file's own names, which stay where they are known.
        unread: Those that the user has to replace; a placeholder is in their place, and "ignored" for others that are
            not known.
    """
    strange = unknown(words)
    names = [PLACEHOLDER if word in unread else "ignored" if word in strange else word for word in words]
    return f"--columns {shlex.quote(','.join(names))}"


def example(count: int) -> str:
    """The option that names so many columns, for messages."""
    given = (["src", "dst", "size", "start_us"], ["a", "b", "rate", "delay_us"])
    flows, cables = (",".join((names + ["ignored"] * count)[:count]) for names in given)
    said = f"--columns {cables} (cables)"
    return f"--columns {flows} (flows) or {said}" if count > 2 else said


def size_bytes(word: str, unit: str | None = None) -> int:
    """The bytes that a cell says, exactly; a bare number has the unit of its column, or is bytes.

    Raises:
        ValueError: It is no size, or no whole number of bytes.
    """
    match = _SIZE.fullmatch(plain(word).lower())
    if not match:
        raise ValueError("is no size")
    number, name = match[1], match[2] or unit or "b"
    if name not in BINARY_UNITS:
        return quantity(number + name, SIZE_UNITS)
    scaled = decimal(number, _PLACES)
    size: int
    size, rest = divmod((scaled[0] if scaled else 0) << BINARY_UNITS[name], 10**_PLACES)
    if scaled is None or not scaled[1] or rest:
        raise ValueError("is no whole number of bytes")
    return size


def asked(text: str) -> tuple[str, list[Column]]:
    """The kind of table and the columns that --columns says; or what is wrong with it."""
    words = [word.strip() for word in text.split(",")]
    kind = kind_of(words)
    if kind is None:
        raise UserError(f"--columns {text}: does not name the columns of a table; {allowed()}")
    columns = named(words, kind)
    for column in columns:
        if not column.role and kind == CABLES and _column(column.name, FLOWS).role:
            raise UserError(
                f"--columns {text}: {shown(column.name)} is of flows, which need a size, too, "
                "as in src,dst,size,start_us"
            )
        if not column.role and _plain_name(column.name) not in IGNORED:
            raise UserError(f"--columns {text}: {shown(column.name)} is no name of a column; {allowed()}")
    return kind, unique(columns, f"--columns {text}")


def unique(columns: list[Column], where: str) -> list[Column]:
    """The columns; refused if two of them say the same."""
    seen: dict[str, str] = {}
    for column in columns:
        if column.role and column.role in seen:
            both = f"{shown(seen[column.role])} and {shown(column.name)}"
            raise UserError(f"{where}: {both} are both the {column.role}; name the columns with --columns")
        seen[column.role] = column.name
    if {"size", "packets"} <= set(seen):
        raise UserError(f"{where}: has both size and packets; name one of them ignored with --columns")
    return columns


def allowed() -> str:
    """Which names there are, in a sentence."""
    flows, cables = (", ".join(NAMES[kind]) for kind in (FLOWS, CABLES))
    return (
        f"flows have {flows}, cables {cables}, with units as in start_us and rate_gbps, "
        "and ignored for a column that is not read"
    )


def _column(word: str, kind: str) -> Column:
    name = _plain_name(word)
    for role, names in NAMES[kind].items():
        if name in names:
            # A column called bytes says its unit, and so does one with a percent sign.
            unit = "bytes" if name == "bytes" else "%" if role == "loss" and "%" in word else None
            return Column(word, role, unit)
        # Of kB there was a word k and a word B.
        if (alone := name.replace("_", "")) in ALONE.get(role, ()) and (known := _unit(role, alone, word)):
            return Column(word, role, known)
        stem, _, unit = name.rpartition("_")
        if stem in names and (known := _unit(role, unit, word)):
            return Column(word, role, known)
    return Column(word, "")


def _unit(role: str, unit: str, word: str) -> str | None:
    """The unit at the end of a column's name, if it is one of what the column holds."""
    if role in ("start", "delay", "deadline"):
        unit = _LONG_TIMES.get(unit, unit)
        return unit if unit_power(unit, TIME_UNITS) is not None else None
    if role == "size":
        # Kb and Mb, with a capital prefix and a small b, are bits, which sizes are not in.
        known = unit in SIZE_UNITS or unit in BINARY_UNITS
        return unit if known and not re.search(r"[KMGT]i?b\W*$", word) else None
    if role == "rate":
        # Names have lost their capitals, but for a B of bytes.
        spelt = unit[:1].upper() + unit[1:] if unit[:1] in "kmgt" else unit
        is_bytes = re.search(r"B(ps|/s)?\W*$", word) is not None
        return spelt if unit_power(spelt, RATE_UNITS) is not None and not is_bytes else None
    if role == "loss":
        return "%" if unit in ("percent", "pct") else None
    return None


def _plain_name(word: str) -> str:
    """A name in small letters, its parts joined by "_"."""
    # The two letters of KiB stay together.
    apart = (
        re.sub(r"([a-z0-9])(?<![KMGT]i)([A-Z])", r"\1_\2", plain(word)) if word[:1].islower() else plain(word)
    )
    return re.sub(r"[^a-z0-9]+", "_", apart.lower().replace("/s", "ps")).strip("_")


def _is_number(word: str) -> bool:
    return word[:1].isdecimal()
