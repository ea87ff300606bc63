"""Flows from a table with named columns (see `tables`), or whose columns the user names: `--columns`.

Nothing is guessed: a start says its unit in its cell or its column, or `--start-unit` does. Sizes are bytes, unless
they say otherwise; packets need `--packet-bytes`.
"""

import re
from dataclasses import dataclass, field

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange import tables
from flowyard.interchange.columns import Column, size_bytes
from flowyard.interchange.flows import ENTRIES_MAX, FLOWS_MAX, STEP, Entry, Progress, Traffic, silent
from flowyard.interchange.hosts import Hosts
from flowyard.interchange.hpcc_flow import BYTES_MAX
from flowyard.interchange.text import TIME_UNITS, Source, decimal, unit_power

# The day of a timestamp, by ISO 8601.
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass
class Reading:
    """How a table is read.

    Attributes:
        columns: Its columns, in their order.
        start_unit: Unit of starts that have none.
        packet_bytes: Payload of a packet, if sizes are in packets.
        hosts: The names and numbers that cells may have for hosts.
        skip: The line with the names of the columns.
        count: How many flows the first line announces, if it does.
    """

    columns: list[Column]
    start_unit: str | None = None
    packet_bytes: int | None = None
    hosts: Hosts = field(default_factory=Hosts)
    skip: int = 0
    count: int | None = None


def read(source: Source, reading: Reading, *, progress: Progress = silent) -> Traffic:
    """The flows of a table."""
    _check(source, reading)
    entry = Entry("flows")
    deadlines: list[int | None] = []
    has_deadlines = any(column.role == "deadline" for column in reading.columns)
    total = reading.count or source.text.count("\n")
    rounded = surplus = 0
    rows = tables.rows(source, reading.skip)
    if reading.count is not None:
        next(rows, None)
    for row in rows:
        if len(entry) == reading.count:
            surplus += 1
            continue
        if len(entry) == FLOWS_MAX:
            raise source.wrong(row[0], f"is one flow more than the {FLOWS_MAX} that a scenario can have")
        tables.check_width(source, row, reading.columns)
        src, dst = (_host(source, row, role, reading) for role in ("src", "dst"))
        if src == dst:
            raise source.wrong(row[0], "src and dst are the same host; a flow joins two")
        start, exact = _start(source, row, reading)
        rounded += not exact
        entry.src.append(src)
        entry.dst.append(dst)
        entry.size_bytes.append(_size(source, row, reading))
        entry.start_ps.append(start)
        if has_deadlines:
            deadlines.append(_deadline(source, row, reading.columns))
        if len(entry) % STEP == 0:
            progress(len(entry), total)
    if not entry:
        raise source.wrong(0, "has no flow")
    if reading.count is not None and len(entry) < reading.count:
        raise source.wrong(0, f"the first line says {reading.count} flows, but there are {len(entry)}")
    notes = _notes(reading, rounded, surplus)
    return Traffic(_by_deadline(entry, deadlines, notes), reading.hosts.count, notes)


def _by_deadline(entry: Entry, deadlines: list[int | None], notes: list[str]) -> list[Entry]:
    """The entries of flows with these deadlines, which may be none at all; adds a note on how they are read."""
    if not any(deadlines):
        return [entry]
    different = len(set(deadlines))
    if different > ENTRIES_MAX:
        most = f"a scenario has one for each of at most {ENTRIES_MAX:,} entries"
        notes.append(f"deadlines not read: there are {different:,} different ones, and {most}")
        return [entry]
    notes.append(
        "deadlines read as times from the start of each flow; an entry has the flows of one deadline"
    )
    return entry.by_deadline(deadlines)


def _check(source: Source, reading: Reading) -> None:
    """Refuses options that the columns leave nothing to say."""
    roles = {column.role: column for column in reading.columns}
    if reading.start_unit and "start" not in roles:
        raise UserError(f"--start-unit {reading.start_unit}: {source.name} has no column of starts")
    if reading.start_unit and roles["start"].unit:
        name = shown(roles["start"].name)
        raise UserError(f"--start-unit {reading.start_unit}: the column {name} of {source.name} has its unit")
    if reading.packet_bytes is not None and "packets" not in roles:
        raise UserError(f"--packet-bytes {reading.packet_bytes}: {source.name} has no column of packets")
    if reading.packet_bytes is None and "packets" in roles:
        name = shown(roles["packets"].name)
        raise source.wrong(
            0, f"counts packets in {name}; say how many bytes of payload one has (--packet-bytes)"
        )


def _host(source: Source, row: tables.Row, role: str, reading: Reading) -> int:
    found = tables.cell(source, row, reading.columns, role)
    return reading.hosts.number(source, row[0], role, found[0] if found else "")


def _start(source: Source, row: tables.Row, reading: Reading) -> tuple[int, bool]:
    found = tables.cell(source, row, reading.columns, "start")
    if found is None:
        return 0, True
    word, column = found
    number = decimal(word, 0)
    if number is None:
        if _DATE.match(word):
            what = "a date; starts are times since the start of the run, as 5us: subtract the first one"
            raise source.wrong(row[0], f"start is {shown(word)}, {what}")
        if reading.start_unit or column.unit:
            return source.scaled(row[0], "start", word, 0)
        return source.quantity(row[0], "start", word, TIME_UNITS), True
    unit = column.unit or reading.start_unit
    if unit is None:
        if number == (0, True):
            return 0, True
        raise source.wrong(
            row[0],
            f"start is {shown(word)}, without a unit: name the unit (--start-unit), such as --start-unit us",
        )
    power = unit_power(unit, TIME_UNITS)
    if power is None:
        raise UserError(f"--start-unit is {shown(unit)}; units are {', '.join(TIME_UNITS)}")
    return source.scaled(row[0], "start", word, power)


def _deadline(source: Source, row: tables.Row, columns: list[Column]) -> int | None:
    """When a flow is due, from its start on; None for an empty cell and for 0."""
    filled = zip(columns, row[1], strict=False)
    word, unit = next(
        ((word, column.unit) for column, word in filled if column.role == "deadline"), ("", None)
    )
    if not word:
        return None
    number = decimal(word, 0)
    if number is None:
        return source.quantity(row[0], "deadline", word, TIME_UNITS)
    if number == (0, True):
        return None
    power = unit_power(unit, TIME_UNITS) if unit else None
    if power is None:
        raise source.wrong(
            row[0], f"deadline is {shown(word)}, without a unit; name it, as in deadline_us or 50us"
        )
    return source.scaled(row[0], "deadline", word, power)[0] or None


def _size(source: Source, row: tables.Row, reading: Reading) -> int:
    found = tables.cell(source, row, reading.columns, "packets")
    if found is not None:
        packets = source.whole(row[0], "packets", found[0], 1, BYTES_MAX)
        return _within(source, row, packets * (reading.packet_bytes or 1), found[0])
    word, column = tables.cell(source, row, reading.columns, "size") or ("", Column("size", "size"))
    try:
        size = size_bytes(word, column.unit)
    except ValueError:
        example = "a whole number of bytes, 1 or more, such as 3000 or 3KB"
        raise source.wrong(row[0], f"size is {shown(word)}; must be {example}") from None
    return _within(source, row, size, word)


def _within(source: Source, row: tables.Row, size: int, word: str) -> int:
    if not 1 <= size <= BYTES_MAX:
        raise source.wrong(row[0], f"size is {shown(word)}; must be 1 to {BYTES_MAX} bytes")
    return size


def _notes(reading: Reading, rounded: int, surplus: int) -> list[str]:
    roles = {column.role: column for column in reading.columns}
    notes = [*tables.unread(reading.columns), *reading.hosts.notes()]
    if "start" not in roles:
        notes.append("there is no column of starts: all flows start at 0 s")
    elif reading.start_unit or roles["start"].unit:
        notes.append(f"starts read as {reading.start_unit or roles['start'].unit}")
    if "size" in roles and not roles["size"].unit:
        notes.append("sizes without a unit read as bytes")
    if rounded:
        notes.append(f"{rounded} starts cut to whole picoseconds")
    if surplus:
        notes.append(f"the first line says {reading.count} flows: {surplus} lines after those are not read")
    return notes
