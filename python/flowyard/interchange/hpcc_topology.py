"""Topologies of HPCC's ns-3 code and its descendants (topology.txt).

    4 1 3
    0
    0 1 100Gbps 0.001ms 0
    0 2 100Gbps 0.001ms 0
    0 3 100Gbps 1000ns 0.000000

First the numbers of nodes, switches and links, then the switches, then `src dst rate delay error`. All other
nodes are hosts, in ascending order. The error rate, a share of packets, becomes a fault: `loss`, from 0 s on.
SimAI's first line has six words: nodes, GPUs a server, NVSwitches, switches, links, kind of GPU.
"""

import re

from flowyard.folders.reading import shown
from flowyard.interchange.network import CABLES_MAX, NODES_MAX, Cable, Network
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, Source, rate_text, time_text

_SHARE = re.compile(r"[0-9]{1,20}(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?", re.ASCII)


def read(source: Source) -> Network:
    """The network of a topology.txt."""
    lines = source.lines()
    line, words = next(lines, (0, []))
    notes = []
    if len(words) == 6:
        nvswitches = source.whole(line, "the number of NVSwitches", words[2], 0, NODES_MAX)
        notes.append(
            f"read as SimAI's: {nvswitches} NVSwitches are switches, GPUs a server and kind are ignored"
        )
        words = [words[0], words[3], words[4]]
    elif len(words) == 3:
        nvswitches = 0
    else:
        text = shown(" ".join(words))
        raise source.wrong(line, f"must begin with three numbers, nodes switches links, not {text}")
    nodes = source.whole(line, "the number of nodes", words[0], 2, NODES_MAX)
    switches = source.whole(line, "the number of switches", words[1], 0, nodes) + nvswitches
    count = source.whole(line, "the number of links", words[2], 1, CABLES_MAX)
    ids: list[int] = []
    if switches:
        line, words = next(lines, (line, []))
        if len(words) != switches:
            raise source.wrong(
                line, f"must be the {switches} numbers of the switches; has {len(words)} words"
            )
        ids = [source.whole(line, "a switch", word, 0, nodes - 1) for word in words]
        if len(set(ids)) != len(ids):
            raise source.wrong(line, "names a switch twice")
    # SimAI lists its NVSwitches first.
    kinds = ["nvswitch"] * nvswitches + ["switch"] * (switches - nvswitches)
    among = set(ids)
    host_of = {node: host for host, node in enumerate(node for node in range(nodes) if node not in among)}
    number = host_of | {node: len(host_of) + place for place, node in enumerate(ids)}
    network = Network(
        [f"host {node}" for node in host_of],
        [(f"switch {node}", kind) for node, kind in zip(ids, kinds, strict=True)],
        [],
        host_of=host_of,
        notes=notes,
    )
    for line, words in lines:
        if len(network.cables) == count:
            raise source.wrong(line, f"is one link more than the {count} of the first line")
        _link(source, line, words, nodes, number, network)
    if len(network.cables) != count:
        raise source.wrong(0, f"the first line says {count} links, but there are {len(network.cables)}")
    return network


def _link(
    source: Source, line: int, words: list[str], nodes: int, number: dict[int, int], network: Network
) -> None:
    if len(words) != 5:
        raise source.wrong(
            line, f"must be five words, src dst rate delay error, not {shown(' '.join(words))}"
        )
    ends = [
        number[source.whole(line, name, word, 0, nodes - 1)]
        for name, word in zip(("src", "dst"), words[:2], strict=True)
    ]
    if ends[0] == ends[1]:
        raise source.wrong(line, f"joins node {words[0]} to itself; a link joins two nodes")
    rate = source.quantity(line, "rate", words[2], RATE_UNITS)
    delay = source.quantity(line, "delay", words[3], TIME_UNITS)
    if not _SHARE.fullmatch(words[4]) or not 0 <= (loss := float(words[4])) <= 1:
        raise source.wrong(line, f"error is {shown(words[4])}; must be a share of packets, 0 to 1")
    pair = (min(ends), max(ends))
    known = network.loss.get(pair, 0.0)
    if loss != known and any((min(cable[:2]), max(cable[:2])) == pair for cable in network.cables):
        raise source.wrong(line, f"error is {words[4]}, but {known} for a parallel link; they must agree")
    if loss:
        network.loss[pair] = loss
    network.cables.append(Cable(ends[0], ends[1], rate, delay))


def write(network: Network) -> str:
    """The text of a topology.txt: hosts have their numbers, switches those behind them."""
    hosts, switches = len(network.hosts), len(network.switches)
    lines = [f"{hosts + switches} {switches} {len(network.cables)}"]
    lines.append(" ".join(str(hosts + i) for i in range(switches)))
    for a, b, rate, delay in network.cables:
        # The unit as ns-3 spells it; a thousand bits a second is "kbps" there.
        spelt = rate_text(rate).replace("Kbps", "kbps").replace("Tbps", "000Gbps")
        loss = network.loss.get((min(a, b), max(a, b)), 0)
        lines.append(f"{a} {b} {spelt} {time_text(delay)} {loss}")
    return "\n".join(lines) + "\n"
