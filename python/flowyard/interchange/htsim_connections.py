"""Connections of a .cm file -> entries of a scenario's traffic.

Flows and flows without end become an entry each. Messages on one connection go into entries with `connection = "kept"`,
in which a pair of hosts has one connection, and triggers act within an entry. So connections that triggers join stay
together, and several connections of one pair go to different entries.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from flowyard.interchange.flows import Entry
from flowyard.interchange.text import Source

# Names of the entries that a file becomes.
FINITE, ENDLESS, MESSAGES = "flows", "background", "messages"


@dataclass
class Connection:
    """A line `src->dst ...`.

    Attributes:
        line: Where it stands.
        src: The host that sends.
        dst: The host that receives.
        id: Its number; lines with the same one are messages on one connection.
        message: Whether it is one.
        size: Bytes; 0 for a flow without end.
        start_ps: When it starts, unless it waits for a trigger.
        trigger: What starts it.
        fires: ("acked" or "received", trigger).
    """

    line: int
    src: int
    dst: int
    id: int = 0
    message: bool = False
    size: int = 0
    start_ps: int = 0
    trigger: int = 0
    fires: list[tuple[str, int]] = field(default_factory=list)

    def triggers(self) -> Iterator[int]:
        """All that it waits for or fires."""
        if self.trigger:
            yield self.trigger
        yield from (number for _, number in self.fires)

    @property
    def key(self) -> tuple[int, int]:
        """Which connection of the file it is on: that of its id, or one of its own."""
        return (self.id, 0) if self.message else (0, self.line)


def entries(
    source: Source, connections: Sequence[Connection], kinds: dict[int, str | dict[str, int]], *, kept: bool
) -> list[tuple[Entry, list[int]]]:
    """The entries, each with the lines of its flows.

    Args:
        source: The file.
        connections: Its lines.
        kinds: Its triggers.
        kept: Whether messages share a connection; else each is a flow of its own.
    """
    endless = [connection for connection in connections if not connection.size]
    for connection in endless:
        if any(connection.triggers()):
            what = "the flow has no end (size 0), so it can neither fire triggers nor wait for one"
            raise source.wrong(connection.line, f"{what}; give it a size")
    finite = [connection for connection in connections if connection.size]
    messages: list[list[Connection]] = []
    if kept and any(connection.message for connection in finite):
        finite, messages = _parted(source, finite)
    found = [(Entry(FINITE), finite)]
    for number, group in enumerate(messages, 1):
        found.append((Entry(MESSAGES if number == 1 else f"{MESSAGES}-{number}", kept=True), group))
    found.append((Entry(ENDLESS, endless=True), endless))
    for entry, group in found:
        _fill(entry, group, kinds)
    return [(entry, [connection.line for connection in group]) for entry, group in found if group]


def _fill(entry: Entry, connections: Iterable[Connection], kinds: dict[int, str | dict[str, int]]) -> None:
    used: set[int] = set()
    for connection in connections:
        if connection.trigger:
            entry.triggers.starts[len(entry)] = connection.trigger
        entry.triggers.fires += [(len(entry), event, number) for event, number in connection.fires]
        used.update(connection.triggers())
        entry.src.append(connection.src)
        entry.dst.append(connection.dst)
        entry.start_ps.append(connection.start_ps)
        if connection.size:
            entry.size_bytes.append(connection.size)
    entry.triggers.kinds = {number: kind for number, kind in kinds.items() if number in used}


def _parted(
    source: Source, connections: Sequence[Connection]
) -> tuple[list[Connection], list[list[Connection]]]:
    """The flows that have nothing to do with messages, and those of each entry with kept connections."""
    alone: list[Connection] = []
    levels: list[list[Connection]] = []
    taken: dict[tuple[int, int], int] = {}
    for group in _joined(connections):
        if not any(connection.message for connection in group):
            alone += group
            continue
        pairs = _pairs(source, group)
        # The first entry in which no other connection has one of these pairs.
        level = max(taken.get(pair, 0) for pair in pairs)
        taken.update(dict.fromkeys(pairs, level + 1))
        levels += [[] for _ in range(level + 1 - len(levels))]
        levels[level] += group
    for group in (alone, *levels):
        group.sort(key=lambda connection: connection.line)
    return alone, levels


def _joined(connections: Sequence[Connection]) -> list[list[Connection]]:
    """Groups of lines that one connection or a trigger joins, in the order of the file."""
    above: dict[tuple[int, ...], tuple[int, ...]] = {}

    def root(key: tuple[int, ...]) -> tuple[int, ...]:
        while (higher := above.setdefault(key, key)) != key:
            above[key] = above[higher]
            key = higher
        return key

    for connection in connections:
        for number in connection.triggers():
            above[root((number,))] = root(connection.key)
    groups: dict[tuple[int, ...], list[Connection]] = {}
    for connection in connections:
        groups.setdefault(root(connection.key), []).append(connection)
    return list(groups.values())


def _pairs(source: Source, group: Sequence[Connection]) -> set[tuple[int, int]]:
    """The pairs of hosts of lines that stay together; refused if one has two connections."""
    first: dict[tuple[int, int], Connection] = {}
    for connection in group:
        other = first.setdefault((connection.src, connection.dst), connection)
        if other.key != connection.key:
            raise source.wrong(
                connection.line,
                f"is another connection from {connection.src} to {connection.dst} than that of line {other.line}, and"
                " triggers join them: here a pair of hosts has one connection among flows that wait for each other."
                " Give both lines the same id and msg, or read messages as flows of their own (--transport ndp)",
            )
    return set(first)
