"""Queue lengths as HPCC's ns-3 code lists them (qlen.txt).

    time: 2000100000
    17 1 9800 120 30
    17 2 10000

A block holds all samples until its time in ns: for each port of a switch its number of the node, its number on the node
from 1, and how many samples were from 0 up to 1000 bytes, from 1000 up to 2000 bytes and so on. Counts go on from block
to block.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowyard.errors import UserError
from flowyard.interchange.hpcc_ports import ports_of
from flowyard.interchange.text import Source

if TYPE_CHECKING:
    from flowyard.results import Result

PS_PER_NS = 1000
BIN_BYTES = 1000
_NS_MAX = 10**15
_MOST = 2**32


@dataclass(frozen=True)
class Block:
    """The samples until a time.

    Attributes:
        time_ps: The time.
        counts: By (node, port), the number of samples in each bin of BIN_BYTES.
    """

    time_ps: int
    counts: dict[tuple[int, int], list[int]]


def read(source: Source) -> list[Block]:
    """The blocks of a file, as listed."""
    blocks: list[Block] = []
    for line, words in source.lines():
        if words[0] == "time:":
            time = source.whole(line, "time", words[1] if len(words) > 1 else "", 0, _NS_MAX)
            blocks.append(Block(time * PS_PER_NS, {}))
            continue
        if not blocks:
            raise source.wrong(line, 'must begin with "time:" and a time in ns')
        if len(words) < 3:
            raise source.wrong(line, "must be a node, a port, and counts of samples")
        node, port = (
            source.whole(line, name, word, 0, _MOST)
            for name, word in zip(("node", "port"), words, strict=False)
        )
        counts = [source.whole(line, "a count", word, 0, 2**63) for word in words[2:]]
        blocks[-1].counts[node, port] = counts
    return blocks


def write(result: "Result") -> str:
    """The file of a run that has sampled its queues: one block, at the last sample.

    The content of a port here has the packet on the wire, which that code leaves out.
    """
    if result.samples is None:
        raise UserError('the run has no samples; run it with --set \'observe.samples={"every": "100ns"}\'')
    samples = result.samples.to_polars().filter(series="queue_bytes")
    if samples.is_empty():
        raise UserError(
            "the run has not sampled queues of links; leave observe.samples.links out, or name some"
        )
    ports = ports_of(result)
    found: dict[tuple[int, int], Counter[int]] = {}
    for link, value in samples.select("id", "value").iter_rows():
        node, is_switch, port = ports[link]
        if is_switch:
            found.setdefault((node, port), Counter())[int(value) // BIN_BYTES] += 1
    lines = [f"time: {int(samples['time_ps'].max()) // PS_PER_NS}"]  # type: ignore[arg-type]
    for (node, port), bins in sorted(found.items()):
        counts = (bins[place] for place in range(max(bins) + 1))
        lines.append(f"{node} {port} {' '.join(map(str, counts))}")
    return "\n".join(lines) + "\n"
