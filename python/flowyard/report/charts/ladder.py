"""The ladder of a short flow: its packets on their way through hosts and switches, time to the right."""

from collections.abc import Sequence

from flowyard.report.charts import Spec
from flowyard.report.charts.panels import (
    MARGIN,
    Row,
    colours,
    micros,
    panel,
    rounded6,
    stacked,
    time_axis,
    tips,
)
from flowyard.why import Answer, Packet

# Packets that are drawn, the first ones: more would be a grey block.
PACKETS = 160
KINDS = {
    "data": "var(--run-0)",
    "retransmission": "var(--run-4)",
    "header of trimmed data": "var(--run-1)",
    "answer": "var(--run-2)",
    "lost": "var(--error)",
}
ROW_HEIGHT = 58


def ladder_chart(answer: Answer) -> Spec:
    """The ladder of the first packets of a flow."""
    shown = answer.packets[:PACKETS]
    nodes = _nodes(answer, shown)
    places = {node: place for place, node in enumerate(nodes)}
    hops = [row for packet in shown for row in _hops(answer, packet, places)]
    waits = [row for packet in shown for row in _waits(answer, packet, places)]
    drops = [row for packet in shown if packet.dropped for row in [_drop(answer, packet, places)]]
    y = _rows(places)
    x = time_axis(last=True, title="µs since the start of the flow")
    encoding = {"x": x, "x2": {"field": "until"}, "y": y, "color": colours("what", KINDS)}
    told = tips(
        what="", number="packet", link="link", t="first bit at µs", until="last bit at µs", waited="waited µs"
    )
    layers = [
        _layer(
            "hops", {"type": "rule", "strokeWidth": 1.2}, encoding | {"y2": {"field": "to"}, "tooltip": told}
        ),
    ]
    if waits:
        thick = {"type": "rule", "strokeWidth": 4, "opacity": 0.55}
        layers.append(_layer("waits", thick, encoding | {"tooltip": told}))
    if drops:
        layers.append(_drops(x, y))
    height = ROW_HEIGHT * max(len(nodes) - 1, 1) + 30
    datasets = {"hops": hops, "waits": waits, "drops": drops}
    return stacked([panel("ladder", height, layers)], {name: rows for name, rows in datasets.items() if rows})


def _rows(places: dict[str, int]) -> Spec:
    """The vertical axis: a row for each node, by name."""
    words = " : ".join(f"datum.value == {place} ? {_quoted(node)}" for node, place in places.items())
    axis = {
        "title": None,
        "values": list(places.values()),
        "labelExpr": f"{words} : ''",
        "minExtent": MARGIN + 70,
        "maxExtent": MARGIN + 70,
        "labelLimit": MARGIN + 66,
        "domain": False,
        "ticks": False,
    }
    scale = {"domain": [len(places) - 0.7, -0.3], "nice": False, "zero": False}
    return {"field": "from", "type": "quantitative", "axis": axis, "scale": scale}


def _drops(x: Spec, y: Spec) -> Spec:
    """Crosses where packets were lost."""
    mark = {"type": "point", "shape": "cross", "filled": True, "size": 70, "color": "var(--error)"}
    told = tips(reason="lost", number="packet", link="link", t="µs")
    return _layer("drops", mark, {"x": x, "y": y, "tooltip": told})


def _layer(name: str, mark: Spec, encoding: Spec) -> Spec:
    return {"data": {"name": name}, "mark": mark, "encoding": encoding}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _ends(answer: Answer, link: int) -> tuple[str, str]:
    start, _, end = answer.links[link].partition(" -> ")
    return start, end


def _nodes(answer: Answer, packets: Sequence[Packet]) -> list[str]:
    """The nodes on the way from the sender to the receiver, those of several paths one below the other."""
    depth: dict[str, int] = {}
    for packet in packets:
        ways = [_ends(answer, hop.link) for hop in packet.hops]
        for number, (start, end) in enumerate(ways if packet.forward else []):
            depth.setdefault(start, number)
            depth.setdefault(end, number + 1)
    last = max(depth.values(), default=0)
    for packet in packets:
        for number, hop in enumerate([] if packet.forward else packet.hops):
            depth.setdefault(_ends(answer, hop.link)[1], last - number - 1)
            depth.setdefault(_ends(answer, hop.link)[0], last - number)
    return sorted(depth, key=lambda node: depth[node])


def kind(packet: Packet, link: int) -> str:
    """The kind of a packet on a link."""
    if not packet.forward:
        return "answer"
    if packet.trimmed is not None:
        before = [hop.link for hop in packet.hops]
        if packet.trimmed in before and before.index(link) >= before.index(packet.trimmed):
            return "header of trimmed data"
    return "retransmission" if packet.repeats else "data"


def _hops(answer: Answer, packet: Packet, places: dict[str, int]) -> list[Row]:
    """A line for each link that a packet crossed, from its first bit to its last."""
    rows = []
    for hop in packet.hops:
        if hop.started_ps is None:
            continue
        start, end = _ends(answer, hop.link)
        arrived = hop.arrived_ps if hop.arrived_ps is not None else hop.started_ps
        rows.append(
            {
                "t": rounded6(micros(hop.started_ps, answer.start_ps)),
                "until": rounded6(micros(arrived, answer.start_ps)),
                "from": places[start],
                "to": places[end] if hop.arrived_ps is not None else places[start],
                "what": kind(packet, hop.link) if hop.arrived_ps is not None else "lost",
                "number": packet.number,
                "link": answer.links[hop.link],
                "waited": rounded6((hop.started_ps - hop.enqueued_ps) / 1e6),
            }
        )
    return rows


def _waits(answer: Answer, packet: Packet, places: dict[str, int]) -> list[Row]:
    """A bar for each port at which a packet waited."""
    return [
        {
            "t": rounded6(micros(hop.enqueued_ps, answer.start_ps)),
            "until": rounded6(micros(hop.started_ps, answer.start_ps)),
            "from": places[_ends(answer, hop.link)[0]],
            "what": kind(packet, hop.link),
            "number": packet.number,
            "link": answer.links[hop.link],
            "waited": rounded6((hop.started_ps - hop.enqueued_ps) / 1e6),
        }
        for hop in packet.hops
        if hop.started_ps is not None and hop.started_ps > hop.enqueued_ps
    ]


def _drop(answer: Answer, packet: Packet, places: dict[str, int]) -> Row:
    assert packet.dropped is not None
    link, reason = packet.dropped
    last = packet.hops[-1] if packet.hops else None
    at = packet.made_ps if last is None else last.arrived_ps or last.started_ps or last.enqueued_ps
    return {
        "t": rounded6(micros(at, answer.start_ps)),
        "from": places.get(_ends(answer, link)[0], 0),
        "reason": reason,
        "number": packet.number,
        "link": answer.links[link],
    }
