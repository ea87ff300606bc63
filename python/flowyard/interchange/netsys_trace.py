"""Flow traces of NetSys/simulator: `id size_bytes src dst start_us`, a flow a line.

0 10000 3 7 0
1 1460 2 5 12.5
"""

from collections.abc import Mapping

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.flows import FLOWS_MAX, STEP, Entry, Progress, Traffic, silent
from flowyard.interchange.hpcc_flow import BYTES_MAX, node
from flowyard.interchange.text import Source

MICROSECONDS = 6


def read(source: Source, *, host_of: Mapping[int, int] | None = None, progress: Progress = silent) -> Traffic:
    """The flows of a trace; ids are not kept, the flows are numbered by start."""
    entry = Entry("flows")
    total = source.text.count("\n")
    rounded = 0
    for line, words in source.lines():
        if len(words) != 5:
            text = shown(" ".join(words))
            raise source.wrong(line, f"must be five numbers, id size_bytes src dst start_us, not {text}")
        if len(entry) == FLOWS_MAX:
            raise source.wrong(line, f"is one flow more than the {FLOWS_MAX} that a scenario can have")
        source.whole(line, "id", words[0])
        size = source.whole(line, "size_bytes", words[1], 1, BYTES_MAX)
        src = node(source, line, "src", words[2], host_of)
        dst = node(source, line, "dst", words[3], host_of)
        if src == dst:
            raise source.wrong(line, f"node {words[2]} sends to itself; a flow joins two nodes")
        start, exact = source.scaled(line, "start_us", words[4], MICROSECONDS)
        rounded += not exact
        entry.src.append(src)
        entry.dst.append(dst)
        entry.size_bytes.append(size)
        entry.start_ps.append(start)
        if len(entry) % STEP == 0:
            progress(len(entry), total)
    if not entry:
        raise source.wrong(0, "has no flow")
    notes = ["starts read as microseconds"]
    if rounded:
        notes.append(f"{rounded} starts cut to whole picoseconds")
    return Traffic([entry], notes=notes)


def write(traffic: Traffic, *, progress: Progress = silent) -> tuple[str, list[str]]:
    """The text of a trace, and remarks on it."""
    lines = []
    for count, (entry, flow) in enumerate(traffic.by_start()):
        if entry.endless or flow in entry.triggers.starts:
            what = "endless flows" if entry.endless else "flows that wait for others"
            raise UserError(f"traffic entry {entry.name} has {what}; a trace has neither (htsim-cm has both)")
        whole, fraction = divmod(entry.start_ps[flow], 10**MICROSECONDS)
        decimals = f".{fraction:06d}".rstrip("0") if fraction else ""
        lines.append(
            f"{count} {entry.size_bytes[flow]} {entry.src[flow]} {entry.dst[flow]} {whole}{decimals}"
        )
        if count % STEP == 0:
            progress(count, traffic.flows)
    return "\n".join(lines) + "\n", []
