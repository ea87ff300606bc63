"""Results of HPCC's ns-3 code and its descendants (fct.txt).

    0b000001 0b000101 10000 100 20000 2000000000 9164 8256

A line is a flow that has finished: source and destination as addresses in hexadecimal, source and destination
port, bytes, start, completion time and completion time alone in the network, all three in ns. The code gives node
i the address 11.x.y.1, where x.y are the two bytes of i; descendants write i itself. The time ends with the last
acknowledgement at the sender (`qp_finish` of third.cc). Source ports count the flows between two hosts from 10000 on.
"""

import re
from collections import Counter
from typing import TYPE_CHECKING

from flowyard.folders.reading import shown
from flowyard.interchange.finished import Finished
from flowyard.interchange.hpcc_flow import BYTES_MAX
from flowyard.interchange.hpcc_ports import FIRST_SOURCE_PORT, FIRST_TARGET_PORT, address, hosts_of
from flowyard.interchange.text import Source

if TYPE_CHECKING:
    from flowyard.results import Result

# Columns; descendants append some of their own.
WORDS = 8
PS_PER_NS = 1000
NS_MAX = 10**15
_ADDRESS = re.compile(r"0b[0-9a-f]{6}", re.ASCII)
# An address as a decimal number is beyond any node's.
_NODES = 2**16


def is_it(source: Source) -> bool:
    """Whether a text is such a file, by its first line."""
    _, words = next(source.lines(), (0, []))
    if len(words) < WORDS:
        return False
    return all(_ADDRESS.fullmatch(word) for word in words[:2]) or all(
        word.isascii() and word.isdecimal() for word in words[:WORDS]
    )


def read(source: Source) -> list[Finished]:
    """The flows, as listed."""
    flows = []
    for line, words in source.lines():
        if len(words) < WORDS:
            text = shown(" ".join(words))
            raise source.wrong(
                line, f"must be eight words, sip dip sport dport bytes start fct ideal_fct, not {text}"
            )
        src, dst = (_node(source, line, *named) for named in zip(("sip", "dip"), words, strict=False))
        size = source.whole(line, "bytes", words[4], 1, BYTES_MAX)
        start, fct, ideal = (
            PS_PER_NS * source.whole(line, name, word, low, NS_MAX)
            for name, word, low in zip(("start", "fct", "ideal_fct"), words[5:WORDS], (0, 1, 1), strict=True)
        )
        flows.append(Finished(src, dst, size, start + fct, start_ps=start, ideal_fct_ps=ideal))
    return flows


def write(result: "Result") -> str:
    """The flows of a run that have finished, in the order in which they did.

    A flow whose transport does not acknowledge ends with its last byte at the receiver. The time alone in the network
    is `ideal_fct_ps`, which that code computes with a formula of its own.
    """
    hosts = hosts_of(result)
    ports: Counter[tuple[int, int]] = Counter()
    rows = []
    flows = result.flows.to_polars().drop_nulls("start_ps").sort("start_ps", "id")
    columns = ("src", "dst", "size_bytes", "start_ps", "fct_ps", "fct_acked_ps", "ideal_fct_ps")
    for src, dst, size, start, received, acked, ideal in flows.select(columns).iter_rows():
        port = FIRST_SOURCE_PORT + ports[src, dst]
        ports[src, dst] += 1
        fct = acked if acked is not None else received
        if fct is not None:
            ends = " ".join(f"{address(hosts[host]):08x}" for host in (src, dst))
            times = " ".join(str(time // PS_PER_NS) for time in (start, fct, ideal))
            rows.append((start + fct, f"{ends} {port} {FIRST_TARGET_PORT} {size} {times}\n"))
    return "".join(line for _, line in sorted(rows, key=lambda row: row[0]))


def _node(source: Source, line: int, name: str, word: str) -> int:
    if _ADDRESS.fullmatch(word):
        return int(word, 16) >> 8 & 0xFFFF
    if word.isascii() and word.isdecimal() and len(word) <= 10:
        number = int(word)
        if number < _NODES:
            return number
        if number >> 24 == 0x0B:
            return number >> 8 & 0xFFFF
    raise source.wrong(
        line, f"{name} is {shown(word)}; must be an address such as 0b000101, of node 1, or the node's number"
    )
