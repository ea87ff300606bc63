"""Topologies of HPCC's ns-3 code and its descendants (topology.txt).

    4 1 3
    0
    0 1 100Gbps 0.001ms 0
    0 2 100Gbps 0.001ms 0
    0 3 100Gbps 1000ns 0.000000

First the numbers of nodes, switches and links, then the switches, then `src dst rate delay error`. All other
nodes are hosts, in ascending order. The error rate, a share of packets, becomes a fault: `loss`, from 0 s on.
Its readers take as many words as the first line announces and leave the rest of the file alone. Descendants have
first lines of their own: see `_head`. ns-3 takes a rate without a unit as bits per second.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.network import CABLES_MAX, NODES_MAX, Cable, Network
from flowyard.interchange.text import (
    RATE_UNITS,
    TIME_UNITS,
    Source,
    decimal,
    rate_text,
    time_text,
    unit_power,
)

_SHARE = re.compile(r"[0-9]{1,20}(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?", re.ASCII)
# The least rate without a unit that is taken as ns-3 takes it; less could be Gbit/s, which ns-3 would not take so.
BARE_RATE_MIN = 10**6

_Lines = Iterator[tuple[int, list[str]]]


@dataclass
class _Head:
    """Contents of the first line."""

    nodes: int
    switches: int
    links: int
    nvswitches: int = 0
    tors: int | None = None
    note: str | None = None


@dataclass
class _Units:
    """The units of numbers without one, and how many rates were taken as bits per second."""

    rate: str | None
    delay: str | None
    bare: int = 0


def read(source: Source, *, rate_unit: str | None = None, delay_unit: str | None = None) -> Network:
    """The network of a topology.txt; the units are those of rates and delays that have none."""
    for name, unit, known in (("rate", rate_unit, RATE_UNITS), ("delay", delay_unit, TIME_UNITS)):
        if unit is not None and unit_power(unit, known) is None:
            raise UserError(f"--{name}-unit is {shown(unit)}; units are {', '.join(known)}")
    lines = source.lines()
    head = _head(source, *next(lines, (0, [])))
    ids = _switches(source, lines, head)
    among = set(ids)
    host_of = {
        node: host for host, node in enumerate(node for node in range(head.nodes) if node not in among)
    }
    number = host_of | {node: len(host_of) + place for place, node in enumerate(ids)}
    network = Network(
        [f"host {node}" for node in host_of],
        [(f"switch {node}", kind) for node, kind in zip(ids, _tiers(head), strict=True)],
        [],
        host_of=host_of,
        notes=[head.note] if head.note else [],
    )
    units = _Units(rate_unit, delay_unit)
    surplus = 0
    for line, words in lines:
        if len(network.cables) == head.links:
            surplus += 1
            continue
        _link(source, line, words, units, number, network)
    if len(network.cables) != head.links:
        count = len(network.cables)
        raise source.wrong(0, f"the first line says {head.links} links, but there are {count}")
    if units.bare:
        network.notes.append(f"{units.bare} rates without a unit are bits per second, as ns-3 reads them")
    if surplus:
        what = f"the first line says {head.links} links: {surplus} lines after those are not read"
        network.notes.append(f"{what}, as HPCC's code does not")
    return network


def _head(source: Source, line: int, words: list[str]) -> _Head:
    """The first line of HPCC (three words), of PowerTCP and Reverie (four, or six with capacities), of SimAI (six)."""
    named: dict[str, str] = {}
    note = None
    if len(words) == 3:
        named = dict(zip(("nodes", "switches", "links"), words, strict=True))
    elif len(words) == 4 or (len(words) == 6 and decimal(words[5], 0) is not None):
        named = dict(zip(("nodes", "switches", "tors", "links"), words, strict=False))
        note = "first line read as that of PowerTCP and Reverie, nodes switches tors links"
        note += "; the two capacities behind them are not used: links have rates" if len(words) == 6 else ""
    elif len(words) == 6:
        named = dict(zip(("nodes", "gpus", "nvswitches", "switches", "links"), words, strict=False))
    else:
        text = shown(" ".join(words))
        raise source.wrong(line, f"must begin with three numbers, nodes switches links, not {text}")
    nodes = source.whole(line, "the number of nodes", named["nodes"], 2, NODES_MAX)
    switches = source.whole(line, "the number of switches", named["switches"], 0, nodes)
    nvswitches = source.whole(line, "the number of NVSwitches", named.get("nvswitches", "0"), 0, NODES_MAX)
    if "nvswitches" in named:
        note = f"read as SimAI's: {nvswitches} NVSwitches are switches, GPUs a server and kind are ignored"
    tors = source.whole(line, "the number of ToRs", named["tors"], 0, switches) if "tors" in named else None
    links = source.whole(line, "the number of links", named["links"], 1, CABLES_MAX)
    return _Head(nodes, switches + nvswitches, links, nvswitches, tors, note)


def _tiers(head: _Head) -> list[str]:
    """The tiers of the switches: SimAI lists its NVSwitches first, forks with ToRs these."""
    if head.tors:
        return ["leaf"] * head.tors + ["spine"] * (head.switches - head.tors)
    return ["nvswitch"] * head.nvswitches + ["switch"] * (head.switches - head.nvswitches)


def _switches(source: Source, lines: _Lines, head: _Head) -> list[int]:
    """The numbers of the switches, on one line or several."""
    ids: list[int] = []
    while len(ids) < head.switches:
        line, words = next(lines, (0, []))
        if not words or len(ids) + len(words) > head.switches:
            has = f"{len(ids) + len(words)} words" if words else f"{len(ids)} of them"
            raise source.wrong(line, f"must be the {head.switches} numbers of the switches; has {has}")
        ids += [source.whole(line, "a switch", word, 0, head.nodes - 1) for word in words]
        if len(set(ids)) != len(ids):
            raise source.wrong(line, "names a switch twice")
    return ids


def _link(
    source: Source, line: int, words: list[str], units: _Units, number: dict[int, int], network: Network
) -> None:
    if len(words) != 5:
        raise source.wrong(
            line, f"must be five words, src dst rate delay error, not {shown(' '.join(words))}"
        )
    ends = [
        number[source.whole(line, name, word, 0, len(number) - 1)]
        for name, word in zip(("src", "dst"), words[:2], strict=True)
    ]
    if ends[0] == ends[1]:
        raise source.wrong(line, f"joins node {words[0]} to itself; a link joins two nodes")
    rate = source.quantity(line, "rate", _with_unit(words[2], units), RATE_UNITS)
    delay = words[3] + units.delay if units.delay and decimal(words[3], 0) is not None else words[3]
    delay_ps = source.quantity(line, "delay", delay, TIME_UNITS)
    if not _SHARE.fullmatch(words[4]) or not 0 <= (loss := float(words[4])) <= 1:
        raise source.wrong(line, f"error is {shown(words[4])}; must be a share of packets, 0 to 1")
    pair = (min(ends), max(ends))
    known = network.loss.get(pair, 0.0)
    if loss != known and any((min(cable[:2]), max(cable[:2])) == pair for cable in network.cables):
        raise source.wrong(line, f"error is {words[4]}, but {known} for a parallel link; they must agree")
    if loss:
        network.loss[pair] = loss
    network.cables.append(Cable(ends[0], ends[1], rate, delay_ps))


def _with_unit(word: str, units: _Units) -> str:
    """A rate with its unit: the one that is said, or bits per second where it can be nothing else."""
    number = decimal(word, 0)
    if number is None:
        return word
    if units.rate is None and number[0] >= BARE_RATE_MIN:
        units.bare += 1
        return f"{word}bps"
    return word + (units.rate or "")


def write(network: Network) -> str:
    """The text of a topology.txt: hosts have their numbers, switches those behind them."""
    hosts, switches = len(network.hosts), len(network.switches)
    lines = [f"{hosts + switches} {switches} {len(network.cables)}"]
    lines.append(" ".join(str(hosts + i) for i in range(switches)))
    for a, b, rate, delay in network.cables:
        # The unit as ns-3 spells it; a thousand bits per second is "kbps" there.
        spelt = rate_text(rate).replace("Kbps", "kbps").replace("Tbps", "000Gbps")
        loss = network.loss.get((min(a, b), max(a, b)), 0)
        lines.append(f"{a} {b} {spelt} {time_text(delay)} {loss}")
    return "\n".join(lines) + "\n"
