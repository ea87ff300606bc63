"""Connection matrices of htsim (.cm), as `ConnectionMatrix::load` of Broadcom/csg-htsim reads them.

    Nodes 16
    Connections 2
    Triggers 1
    0->13 id 1 start 0 size 2000000 send_done_trigger 1
    13->0 id 2 trigger 1 size 64000
    trigger id 1 oneshot

That reader takes `start` as picoseconds, while its `save`, and older readers, have microseconds; no file
says which, so the unit is asked for as soon as a start is not 0. A size of 0, or none, is a flow without end.

htsim_uec of ultraethernet/uet-htsim has messages: lines with `msg`, a number after it or none, and the same `id`
share a connection. Its -conn_reuse takes starts as microseconds.
"""

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange import htsim_connections
from flowyard.interchange.flows import FLOWS_MAX, STEP, Entry, Progress, Traffic, Triggers, silent
from flowyard.interchange.htsim_connections import ENDLESS, Connection
from flowyard.interchange.network import NODES_MAX, Network
from flowyard.interchange.text import Source

HEADER = ("Nodes", "Connections", "Triggers", "Failures")
START_UNITS = {"ps": 0, "us": 6}
EVENTS = {"send_done_trigger": "acked", "recv_done_trigger": "received"}
KINDS = {"oneshot": "once", "multishot": "each"}
# It reads sizes into an int.
SIZE_MAX = 2**31 - 1


@dataclass
class Failure:
    """A line `failure switch_type AGG switch_id N link_id M`."""

    line: int
    switch: int
    link: int


@dataclass
class Matrix(Traffic):
    """The flows of a .cm file, and the links that it says have failed.

    Attributes:
        failures: The links.
        lines: For each entry the lines of its flows.
        ids: The lines of each id; several are messages on one connection.
    """

    failures: list[Failure] = field(default_factory=list)
    lines: list[list[int]] = field(default_factory=list)
    ids: dict[int, list[int]] = field(default_factory=dict)


def read(
    source: Source, *, start_unit: str | None = None, kept: bool | None = True, progress: Progress = silent
) -> Matrix:
    """The flows of a .cm file.

    Args:
        source: The file.
        start_unit: Unit of its starts, "ps" or "us".
        kept: Whether the transport keeps connections, which messages share; None if the options do not name it.
        progress: Called with the number of flows read.
    """
    if start_unit is not None and start_unit not in START_UNITS:
        raise UserError(
            f"--start-unit is {shown(start_unit)}; starts of a .cm file are in {' or '.join(START_UNITS)}"
        )
    return _Reader(source, start_unit, kept, progress).matrix()


class _Reader:
    def __init__(self, source: Source, start_unit: str | None, kept: bool | None, progress: Progress) -> None:
        self.source = source
        self.start_unit = start_unit
        self.kept = kept
        self.progress = progress
        self.header: dict[str, int] = {}
        self.connections: list[Connection] = []
        # The first connection of each id, and the lines of all.
        self.first: dict[int, Connection] = {}
        self.ids: dict[int, list[int]] = {}
        self.kinds: dict[int, str | dict[str, int]] = {}
        self.failures: list[Failure] = []
        self.ignored = {"prio": 0, "addon": 0}
        self.rounded = 0

    def matrix(self) -> Matrix:
        for line, words in self.source.lines():
            first = words[0]
            if "->" in first:
                self.connection(line, words)
            elif first == "trigger":
                self.trigger(line, words)
            elif first == "failure":
                self.failure(line, words)
            elif first in HEADER:
                self.head(line, words)
            else:
                allowed = ", ".join(HEADER) + ', "src->dst ...", "trigger ..." and "failure ..."'
                raise self.source.wrong(
                    line, f"{shown(first)} does not begin a line of a .cm file; lines are {allowed}"
                )
        self.counts()
        self.reached()
        found = htsim_connections.entries(self.source, self.connections, self.kinds, kept=bool(self.kept))
        entries, lines = [entry for entry, _ in found], [lines for _, lines in found]
        return Matrix(entries, self.header["Nodes"], self.notes(entries), self.failures, lines, self.ids)

    def head(self, line: int, words: list[str]) -> None:
        name = words[0]
        if name in self.header:
            raise self.source.wrong(line, f"{name} is given a second time")
        if len(words) != 2:
            raise self.source.wrong(line, f"{name} needs one number, such as {name} 16")
        high = NODES_MAX if name == "Nodes" else FLOWS_MAX
        self.header[name] = self.source.whole(line, name, words[1], 2 if name == "Nodes" else 0, high)

    def connection(self, line: int, words: list[str]) -> None:
        if "Nodes" not in self.header:
            raise self.source.wrong(line, "a connection comes before Nodes; the header stands first")
        src, _, dst = words[0].partition("->")
        last = self.header["Nodes"] - 1
        connection = Connection(
            line,
            self.source.whole(line, "the source", src, 0, last),
            self.source.whole(line, "the destination", dst, 0, last),
        )
        if connection.src == connection.dst:
            raise self.source.wrong(line, f"{shown(words[0])} joins a node to itself; a flow joins two")
        seen: set[str] = set()
        for key, value in self.parts(line, words[1:]):
            if key in seen:
                raise self.source.wrong(line, f"{key} is given a second time")
            seen.add(key)
            self.attribute(connection, key, value)
        self.identify(connection)
        if ("start" in seen) == ("trigger" in seen):
            which = "both start and trigger" if "start" in seen else "neither start nor trigger"
            raise self.source.wrong(line, f"the connection has {which}; must have one of them")
        self.connections.append(connection)
        if len(self.connections) % STEP == 0:
            self.progress(len(self.connections), self.header.get("Connections", 0))

    def parts(self, line: int, words: list[str]) -> Iterator[tuple[str, str]]:
        """The keys of a connection with their values; addon has none, and msg may do without."""
        rest = deque(words)
        while rest:
            key = rest.popleft()
            if key == "addon" or (key == "msg" and not (rest and rest[0].isdecimal())):
                yield key, ""
            elif rest:
                yield key, rest.popleft()
            else:
                raise self.source.wrong(line, f"{shown(key)} has no value")

    def attribute(self, connection: Connection, key: str, value: str) -> None:
        source, line = self.source, connection.line
        if key == "size":
            connection.size = source.whole(line, "size", value, 0, SIZE_MAX)
        elif key == "start":
            power = START_UNITS[self.start_unit or "ps"]
            connection.start_ps, exact = source.scaled(line, "start", value, power)
            self.rounded += not exact
            if self.start_unit is None and (connection.start_ps or not exact):
                raise source.wrong(
                    line,
                    f"start is {value} without a unit; .cm files do not state one: add --start-unit ps (as htsim's"
                    " reader) or --start-unit us (as htsim's writer and older readers, and htsim_uec -conn_reuse)",
                )
        elif key == "id":
            connection.id = source.whole(line, "id", value, 1)
        elif key == "trigger":
            connection.trigger = source.whole(line, "trigger", value, 1)
        elif key in EVENTS:
            connection.fires.append((EVENTS[key], source.whole(line, key, value, 1)))
        elif key == "msg":
            # Its number has no use in htsim either: messages go by their starts, then as listed.
            connection.message = True
            if value:
                source.whole(line, "msg", value, 1)
        elif key == "prio":
            source.whole(line, "prio", value)
            self.ignored["prio"] += 1
        elif key == "addon":
            self.ignored["addon"] += 1
        else:
            allowed = "id, msg, start, size, trigger, send_done_trigger, recv_done_trigger, prio, addon"
            raise source.wrong(line, f"{shown(key)} is not a part of a connection; parts are {allowed}")

    def identify(self, connection: Connection) -> None:
        """Which connection a line is on: only messages may have an id that was there already."""
        source, line, number = self.source, connection.line, connection.id
        if connection.message:
            self.message(connection)
        if not number:
            return
        first = self.first.setdefault(number, connection)
        self.ids.setdefault(number, []).append(line)
        if first is connection:
            return
        if not connection.message:
            what = f"id {number} is also that of line {first.line}"
            raise source.wrong(line, f"{what}; ids are unique, but for messages (msg) on one connection")
        if (first.src, first.dst) != (connection.src, connection.dst):
            what = f"the connection {number} of line {first.line} is {first.src}->{first.dst}"
            raise source.wrong(line, f"{what}, and a message on it goes the same way")
        if not first.message:
            # htsim lets the line that opens a connection do without msg.
            first.message = True
            self.message(first)

    def message(self, connection: Connection) -> None:
        source, line = self.source, connection.line
        if self.kept is None:
            raise source.wrong(
                line,
                "msg is a message on a connection that stays open: --transport tcp, mptcp, parallel-tcp or uet keeps"
                " it so; with another, such as --transport ndp, each message is a flow of its own",
            )
        if not connection.id:
            raise source.wrong(
                line, 'a message needs the id of its connection, as in "0->1 id 1 msg start 0 size 9"'
            )
        if not connection.size:
            raise source.wrong(line, "a message needs a size of a byte or more")

    def trigger(self, line: int, words: list[str]) -> None:
        source = self.source
        kinds = [word for word in words[1:] if word in (*KINDS, "barrier")]
        rest = [word for word in words[1:] if word not in kinds]
        numbers = dict(zip(rest[::2], rest[1::2], strict=False))
        if len(kinds) != 1 or len(rest) % 2 or not {"id"} <= set(numbers) <= {"id", "count"}:
            raise source.wrong(
                line, 'must be such as "trigger id 1 oneshot", "multishot" or "barrier count 3"'
            )
        number = source.whole(line, "id", numbers["id"], 1)
        if number in self.kinds:
            raise source.wrong(line, f"trigger {number} is given a second time")
        if kinds[0] != "barrier":
            self.kinds[number] = KINDS[kinds[0]]
        elif "count" in numbers:
            self.kinds[number] = {"barrier": source.whole(line, "count", numbers["count"], 1, FLOWS_MAX)}
        else:
            raise source.wrong(line, 'a barrier needs its count, as in "trigger id 1 barrier count 3"')

    def failure(self, line: int, words: list[str]) -> None:
        source = self.source
        parts = dict(zip(words[1::2], words[2::2], strict=False))
        if len(words) != 7 or set(parts) != {"switch_type", "switch_id", "link_id"}:
            raise source.wrong(line, 'must be such as "failure switch_type AGG switch_id 0 link_id 1"')
        if parts["switch_type"] != "AGG":
            kind = shown(parts["switch_type"])
            raise source.wrong(
                line, f"switch_type is {kind}; must be AGG: htsim fails links from AGG to CORE only"
            )
        switch = source.whole(line, "switch_id", parts["switch_id"], 0, NODES_MAX)
        self.failures.append(
            Failure(line, switch, source.whole(line, "link_id", parts["link_id"], 0, NODES_MAX))
        )

    def counts(self) -> None:
        """The header's counts must be those of the file; triggers that are used must be there."""
        for name in ("Nodes", "Connections"):
            if name not in self.header:
                raise self.source.wrong(0, f'has no line "{name} ..."')
        found = dict(
            zip(HEADER[1:], (len(self.connections), len(self.kinds), len(self.failures)), strict=True)
        )
        for name, number in found.items():
            said = self.header.get(name, 0)
            if number != said:
                raise self.source.wrong(0, f"the header says {name} {said}, but the file has {number}")
        fired = {number for connection in self.connections for _, number in connection.fires}
        for connection in self.connections:
            waits = connection.trigger
            for number in (waits, *(number for _, number in connection.fires)):
                if number and number not in self.kinds:
                    raise self.source.wrong(
                        connection.line, f'trigger {number} has no line "trigger id {number} ..."'
                    )
            if waits and waits not in fired:
                what = f"waits for trigger {waits}, which no connection fires"
                raise self.source.wrong(
                    connection.line, f"{what}; one needs send_done_trigger or recv_done_trigger"
                )
        if not self.connections:
            raise self.source.wrong(0, "has no connection")

    def reached(self) -> None:
        """Refuses flows that nothing starts: each has to follow from those that start by themselves."""
        flows = self.connections
        triggers = Triggers(
            self.kinds,
            {place: flow.trigger for place, flow in enumerate(flows) if flow.trigger},
            [(place, event, number) for place, flow in enumerate(flows) for event, number in flow.fires],
        )
        stuck, fired = triggers.stuck(len(flows))
        if stuck:
            raise self.source.wrong(flows[stuck[0]].line, triggers.why_stuck(stuck[0], fired))

    def notes(self, entries: list[Entry]) -> list[str]:
        notes = [
            f"{count} x {key} ignored: flows have no such field"
            for key, count in self.ignored.items()
            if count
        ]
        if self.start_unit:
            notes.append(f"start read as {self.start_unit}")
        if self.rounded:
            notes.append(f"{self.rounded} starts cut to whole picoseconds, as htsim does")
        messages = sum(connection.message for connection in self.connections)
        if messages:
            which = (
                "share the connection of their id"
                if self.kept
                else "are flows of their own, each on a new connection"
            )
            notes.append(f"{messages} messages (msg) {which}")
        endless = sum(len(entry) for entry in entries if entry.endless)
        if endless:
            notes.append(f'{endless} flows without end (size 0 or none) are the background entry "{ENDLESS}"')
        return notes


def failed(matrix: Matrix, network: Network, source: Source) -> list[dict[str, object]]:
    """The failures as events of a scenario's `faults`: the `link_id`-th cable up of an aggregation switch.

    htsim computes the core switch by a formula that fits its wiring only where both say the same
    (`FatTreeTopology::add_failed_link`); elsewhere it aborts.
    """
    hosts, names = len(network.hosts), network.names
    aggregation = [hosts + i for i, (_, tier) in enumerate(network.switches) if tier == "aggregation"]
    tiers = {hosts + i: tier for i, (_, tier) in enumerate(network.switches)}
    ports = network.ports()
    events: list[dict[str, object]] = []
    for failure in matrix.failures:
        if failure.switch >= len(aggregation):
            count = len(aggregation)
            raise source.wrong(
                failure.line, f"switch_id is {failure.switch}; there are {count} AGG switches below a CORE"
            )
        switch = aggregation[failure.switch]
        up = [other for other in ports[switch] if tiers.get(other) == "core"]
        if failure.link >= len(up):
            raise source.wrong(
                failure.line, f"link_id is {failure.link}; the switch has {len(up)} links up, from 0"
            )
        if len(set(up)) < len(up):
            raise source.wrong(
                failure.line, "fails one link of a bundle; a fault takes all cables between two switches"
            )
        cable = [names[switch], names[up[failure.link]]]
        events.append({"at": "0s", "target": {"cable": cable}, "change": "down"})
    return events


def write(traffic: Traffic, hosts: int, *, progress: Progress = silent) -> tuple[str, list[str]]:
    """The text of a .cm file, and remarks on it.

    Starts are in picoseconds, which htsim reads into a float; with messages in microseconds, of which htsim_uec
    -conn_reuse keeps the whole ones.
    """
    lines: list[str] = []
    messages = any(entry.kept for entry in traffic.entries)
    ids: dict[tuple[int, ...], int] = {}
    numbers: dict[tuple[int, int], int] = {}
    rounded = 0
    kinds: list[tuple[tuple[int, int], str | dict[str, int]]] = [
        ((number, trigger), kind)
        for number, entry in enumerate(traffic.entries)
        for trigger, kind in entry.triggers.kinds.items()
    ]
    # Triggers of several entries may have the same number.
    for key, _ in kinds:
        numbers[key] = len(numbers) + 1
    place = {id(entry): number for number, entry in enumerate(traffic.entries)}
    fires: dict[tuple[int, int], list[str]] = {}
    words = {event: key for key, event in EVENTS.items()}
    for number, entry in enumerate(traffic.entries):
        for flow, event, trigger in entry.triggers.fires:
            fires.setdefault((number, flow), []).append(f" {words[event]} {numbers[number, trigger]}")
    for count, (entry, flow) in enumerate(traffic.by_start(), 1):
        number = place[id(entry)]
        size = 0 if entry.endless else entry.size_bytes[flow]
        if size > SIZE_MAX:
            what = f"a flow of {size} bytes; htsim reads at most {SIZE_MAX} (2 GiB - 1)"
            raise UserError(f"traffic entry {entry.name} has {what}")
        waits = entry.triggers.starts.get(flow)
        if waits is None:
            start = entry.start_ps[flow]
            off = start % 10**6 if messages else struct.unpack("f", struct.pack("f", start))[0] - start
            rounded += off != 0
            begin = f"start {_us(start) if messages else start}"
        else:
            begin = f"trigger {numbers[number, waits]}"
        done = "".join(fires.get((number, flow), ()))
        src, dst = entry.src[flow], entry.dst[flow]
        connection = ids.setdefault((number, src, dst) if entry.kept else (number, flow), len(ids) + 1)
        begin = f"msg {begin}" if entry.kept else begin
        lines.append(f"{src}->{dst} id {connection} {begin} size {size}{done}")
        if count % STEP == 0:
            progress(count, traffic.flows)
    opposite = {kind: key for key, kind in KINDS.items()}
    for key, kind in kinds:
        text = opposite[kind] if isinstance(kind, str) else f"barrier count {kind['barrier']}"
        lines.append(f"trigger id {numbers[key]} {text}")
    header = [f"Nodes {hosts}", f"Connections {traffic.flows}"]
    if kinds:
        header.append(f"Triggers {len(kinds)}")
    return "\n".join(header + lines) + "\n", _written(messages, rounded, traffic.flows)


def _us(ps: int) -> str:
    """Picoseconds as microseconds, exactly."""
    whole, rest = divmod(ps, 10**6)
    return f"{whole}.{rest:06d}".rstrip("0") if rest else str(whole)


def _written(messages: bool, rounded: int, flows: int) -> list[str]:
    """The notes on a file with so many starts that htsim does not read exactly."""
    if messages:
        what = "kept connections are written as messages (msg), for htsim_uec -conn_reuse"
        notes = [f"{what}; its starts are in microseconds: import again with --start-unit us"]
        if rounded:
            notes.append(f"htsim_uec cuts starts to whole microseconds: {rounded} of {flows} will be earlier")
        return notes
    notes = ["starts are in picoseconds, as htsim reads them: import again with --start-unit ps"]
    if rounded:
        notes.append(
            f"htsim reads starts as 32-bit floats: {rounded} of {flows} will be off in the 8th digit"
        )
    return notes
