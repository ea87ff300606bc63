"""Flows of HPCC's ns-3 code and its descendants (flow.txt).

    2
    2 1 3 100 200000000 2
    3 1 3 100 200000000 2.000001

The first line is the number of flows; then `src dst pg dport bytes start_seconds`, by start. HPCC's analysis
tells normal from incast flows by the port, 100 or 200: an entry for each port. `pg`, the priority group, is
ignored. Nodes are numbered as in the topology file. HPCC's reader takes as many flows as the first line announces and
leaves the rest of the file alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.flows import FLOWS_MAX, STEP, Entry, Progress, Traffic, silent
from flowyard.interchange.text import Source

PORTS = {100: "normal", 200: "incast"}
# More ports than that do not tell kinds of flows apart.
PORTS_MAX = 16
PRIORITY_GROUP = 3
GROUPS = 8
SECONDS = 12
BYTES_MAX = 10**12


@dataclass
class Listed(Traffic):
    """The flows of a file in its order.

    Attributes:
        order: Of each flow the number of its entry, and its destination port.
    """

    order: list[tuple[int, int]] = field(default_factory=list)


def read(source: Source, *, host_of: Mapping[int, int] | None = None, progress: Progress = silent) -> Listed:
    """The flows; `host_of` has the host of each node's number, by default the number itself."""
    lines = source.lines()
    line, words = next(lines, (0, []))
    if len(words) != 1:
        raise source.wrong(line, f"must begin with the number of flows, not {shown(' '.join(words))}")
    count = source.whole(line, "the number of flows", words[0], 1, FLOWS_MAX)
    ports: dict[str, int] = {}
    places: dict[int, int] = {}
    groups = 0
    rounded = surplus = 0
    rows: list[tuple[int, int, int, int, int]] = []
    for line, words in lines:
        if len(rows) == count:
            surplus += 1
            continue
        if len(words) != 6:
            text = shown(" ".join(words))
            raise source.wrong(line, f"must be six numbers, src dst pg dport bytes start_seconds, not {text}")
        src = node(source, line, "src", words[0], host_of)
        dst = node(source, line, "dst", words[1], host_of)
        if src == dst:
            raise source.wrong(line, f"node {words[0]} sends to itself; a flow joins two nodes")
        groups += source.whole(line, "pg", words[2], 0, GROUPS - 1) != PRIORITY_GROUP
        port = ports.get(words[3])
        if port is None:
            number = source.whole(line, "dport", words[3], 0, 65535)
            port = ports[words[3]] = places.setdefault(number, len(places))
        size = source.whole(line, "bytes", words[4], 1, BYTES_MAX)
        start, exact = source.scaled(line, "start_seconds", words[5], SECONDS)
        rounded += not exact
        rows.append((port, src, dst, size, start))
        if len(rows) % STEP == 0:
            progress(len(rows), count)
    if len(rows) != count:
        raise source.wrong(0, f"the first line says {count} flows, but there are {len(rows)}")
    notes = []
    if groups:
        notes.append(f"priority group (pg) ignored; {groups} flows have another than {PRIORITY_GROUP}")
    if rounded:
        notes.append(f"{rounded} starts cut to whole picoseconds")
    if surplus:
        what = f"the first line says {count} flows: {surplus} lines after those are not read"
        notes.append(f"{what}, as HPCC's code does not")
    numbers = list(places)
    entries = _entries(rows, numbers, notes)
    order = [(port if len(entries) > 1 else 0, numbers[port]) for port, *_ in rows]
    return Listed(entries, notes=notes, order=order)


def _entries(rows: list[tuple[int, int, int, int, int]], numbers: list[int], notes: list[str]) -> list[Entry]:
    if len(numbers) > PORTS_MAX:
        notes.append(f"{len(numbers)} different dports ignored: one entry holds all flows")
        entries = [Entry("flows")]
        place = [entries[0]] * len(numbers)
    else:
        entries = [Entry(PORTS.get(number, f"dport-{number}")) for number in numbers]
        place = entries
    for port, src, dst, size, start in rows:
        entry = place[port]
        entry.src.append(src)
        entry.dst.append(dst)
        entry.size_bytes.append(size)
        entry.start_ps.append(start)
    return entries


def node(source: Source, line: int, name: str, word: str, host_of: Mapping[int, int] | None) -> int:
    """A node's number in a file of flows, as the number of a host."""
    number = source.whole(line, name, word, 0, 2**32 - 1)
    if host_of is None:
        return number
    host = host_of.get(number)
    if host is None:
        raise source.wrong(
            line, f"{name} is {number}, which is not a host of the topology; it has {len(host_of)} hosts"
        )
    return host


def write(traffic: Traffic, *, progress: Progress = silent) -> tuple[str, list[str]]:
    """The text of a flow.txt, and remarks on it."""
    ports = {name: port for port, name in PORTS.items()}
    # A port that an entry has in its name is that entry's.
    named = {_numbered(entry.name) for entry in traffic.entries} | set(PORTS)
    free = (port for port in range(300, 65536) if port not in named)
    lines = [str(traffic.flows)]
    used: dict[str, int] = {}
    for count, (entry, flow) in enumerate(traffic.by_start(), 1):
        if entry.endless or flow in entry.triggers.starts:
            what = "endless flows" if entry.endless else "flows that wait for others"
            raise UserError(
                f"traffic entry {entry.name} has {what}; a flow.txt has neither (htsim-cm has both)"
            )
        port = used.get(entry.name)
        if port is None:
            port = ports.get(entry.name, _numbered(entry.name))
            if port is None or port in used.values():
                port = next(free)
            used[entry.name] = port
        start = entry.start_ps[flow]
        whole, fraction = divmod(start, 10**SECONDS)
        decimals = f".{fraction:012d}".rstrip("0") if fraction else ""
        sizes = entry.size_bytes[flow]
        lines.append(f"{entry.src[flow]} {entry.dst[flow]} {PRIORITY_GROUP} {port} {sizes} {whole}{decimals}")
        if count % STEP == 0:
            progress(count, traffic.flows)
    notes = [f"dport {port} is the entry {name}" for name, port in used.items()]
    return "\n".join(lines) + "\n", notes


def _numbered(name: str) -> int | None:
    """The port of an entry that was read from one."""
    port = name.removeprefix("dport-")
    return int(port) if port != name and port.isdecimal() and port.isascii() and int(port) < 65536 else None
