"""The picture of a flow: its packets by number over time, and below its window, rate, RTTs and queues."""

from collections import defaultdict
from collections.abc import Iterable

from flowyard.report.charts import Spec
from flowyard.report.charts.panels import (
    POINTS,
    Row,
    colours,
    legend,
    line,
    micros,
    panel,
    rounded6,
    stacked,
    time_axis,
    tips,
    value_axis,
)
from flowyard.why import Answer, Packet, Port
from flowyard.why.show import losing, waits

# Colours of the parts of a completion time.
PARTS = {
    "start-up": "var(--run-6)",
    "transmission": "var(--run-0)",
    "propagation": "var(--faint)",
    "queue": "var(--run-1)",
    "queue of its own packets": "var(--run-5)",
    "pauses": "var(--run-3)",
    "port of the sender": "var(--run-7)",
    "pacing": "var(--run-4)",
    "timeout": "var(--error)",
    "waiting at the sender": "var(--axis)",
    "waiting at the receiver": "var(--muted)",
    "way of answers": "var(--run-2)",
}
# Steps of data packets: colour and shape.
STEPS = {
    "sent": ("var(--run-0)", "circle"),
    "retransmitted": ("var(--run-4)", "triangle-up"),
    "answered": ("var(--run-2)", "stroke"),
    "marked": ("var(--run-6)", "square"),
    "trimmed": ("var(--run-1)", "diamond"),
    "lost": ("var(--error)", "cross"),
}
# Packets that are drawn one by one; of more, all that were lost, repeated or marked, and some of the others.
PACKETS = 2_500
# Ports whose queues are drawn.
QUEUES = 4
# With fewer numbers of packets an axis would have labels between them.
TICKS = 5
COLOURS = [f"var(--run-{number})" for number in (1, 0, 2, 4)]

TIME = "µs since the start of the flow"


def flow_chart(answer: Answer) -> Spec:
    """The picture of a flow."""
    data = [packet for packet in answer.packets if packet.data and packet.forward]
    shown = chosen(data)
    answers = answered(answer.packets)
    datasets: dict[str, list[Row]] = {
        "parts": part_rows(answer),
        "packets": [row for packet in shown for row in _steps(packet, answer.start_ps)],
        "ways": [_way(packet, answer.start_ps) for packet in shown if packet.hops],
        "rtt": [_round_trip(data_, back, answer.start_ps) for data_, back in _thin(answers)],
        "window": _signal(answer, "window", 1.0),
        "rate": _signal(answer, "rate", 1e9),
        "queues": queue_rows(answer),
    }
    there = {part.name for part in answer.parts}
    most = max((packet.number or 0 for packet in shown), default=0)
    kinds = {row["what"] for row in datasets["packets"]}
    panels = [
        _parts({name: colour for name, colour in PARTS.items() if name in there}),
        _sequence(kinds, most),
    ]
    panels += [_line("window", "window, bytes", ".3~s")] if datasets["window"] else []
    panels += [_line("rate", "rate, Gbit/s", ".3~g")] if datasets["rate"] else []
    panels += [_points(datasets["rtt"])] if datasets["rtt"] else []
    panels += [_queues(datasets["queues"])] if datasets["queues"] else []
    _name_the_last(panels)
    return stacked(panels, {name: rows for name, rows in datasets.items() if rows})


def part_rows(answer: Answer) -> list[Row]:
    """The parts of its time, with links by name."""
    return [
        {
            "t": rounded6(micros(part.from_ps, answer.start_ps)),
            "until": rounded6(micros(part.until_ps, answer.start_ps)),
            "part": part.name,
            "us": rounded6((part.until_ps - part.from_ps) / 1e6),
            "link": "" if part.link is None else answer.links[part.link],
            "of": "" if part.of is None else f"flow {part.of}",
        }
        for part in answer.parts
    ]


def chosen(data: list[Packet]) -> list[Packet]:
    """The packets that are drawn: those of note, and evenly some of the others."""
    if len(data) <= PACKETS:
        return data
    notes = [packet for packet in data if _is_of_note(packet)]
    if len(notes) > PACKETS:
        notes = notes[:: -(-len(notes) // PACKETS)]
    others = [packet for packet in data if not _is_of_note(packet)]
    rest = others[:: -(-len(others) // max(PACKETS - len(notes), 1))] if others else []
    return sorted([*notes, *rest], key=lambda packet: packet.made_row)


def _is_of_note(packet: Packet) -> bool:
    lost = packet.dropped is not None or packet.trimmed is not None
    return lost or packet.repeats or packet.marked_ps is not None


def answered(packets: Iterable[Packet]) -> list[tuple[Packet, Packet]]:
    """Data packets, each with the answer that was made at its arrival and came back."""
    back: dict[int, list[Packet]] = defaultdict(list)
    packets = list(packets)
    for packet in packets:
        if not packet.forward and packet.end:
            back[packet.made_ps].append(packet)
    return [
        (packet, back[packet.end[0]].pop(0))
        for packet in packets
        if packet.data and packet.forward and packet.end and back.get(packet.end[0])
    ]


def _thin(pairs: list[tuple[Packet, Packet]]) -> list[tuple[Packet, Packet]]:
    return pairs[:: -(-len(pairs) // POINTS)] if pairs else []


def _steps(packet: Packet, start_ps: int) -> list[Row]:
    """The points of a packet: when it was sent, and its fate."""
    kind = "retransmitted" if packet.repeats else "sent"
    found = [(kind, packet.made_ps)]
    if packet.marked_ps is not None:
        found.append(("marked", packet.marked_ps))
    if packet.dropped:
        found.append(("lost", _last(packet)))
    elif packet.trimmed is not None:
        at = next((hop.enqueued_ps for hop in packet.hops if hop.link == packet.trimmed), packet.made_ps)
        found.append(("trimmed", at))
    return [{"t": rounded6(micros(at, start_ps)), "what": what, **_names(packet)} for what, at in found]


def _last(packet: Packet) -> int:
    """About when a packet was dropped: at its last event."""
    last = packet.hops[-1] if packet.hops else None
    return packet.made_ps if last is None else last.arrived_ps or last.started_ps or last.enqueued_ps


def _names(packet: Packet) -> Row:
    return {"number": packet.number, "subflow": packet.subflow, "bytes": packet.payload_bytes}


def _way(packet: Packet, start_ps: int) -> Row:
    """The line of a packet from when it was made until it arrived, or was lost."""
    end = packet.end[0] if packet.end else _last(packet)
    return {
        "t": rounded6(micros(packet.made_ps, start_ps)),
        "until": rounded6(micros(end, start_ps)),
        "number": packet.number,
    }


def _round_trip(packet: Packet, back: Packet, start_ps: int) -> Row:
    assert back.end is not None
    end = back.end[0]
    return {
        "t": rounded6(micros(end, start_ps)),
        "rtt": rounded6((end - packet.made_ps) / 1e6),
        "number": packet.number,
    }


def _signal(answer: Answer, kind: str, unit: float) -> list[Row]:
    """Changes of the window or the rate, a line for each subflow."""
    by_subflow: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for name, time, subflow, value in answer.signals:
        if name == kind:
            by_subflow[subflow].append((micros(time, answer.start_ps), value / unit))
    end = answer.fct_ps / 1e6
    rows: list[Row] = []
    for subflow, points in by_subflow.items():
        rows += line([*points, (max(end, points[-1][0]), points[-1][1])], subflow=f"subflow {subflow}")
    return rows


def queue_rows(answer: Answer) -> list[Row]:
    """Queues of the ports at which it waited longest, and of that at which it lost most packets."""
    links = [link for link, _ in waits(answer) if link in answer.ports]
    worst = [link for link in losing(answer) if link in answer.ports][:1]
    links = list(dict.fromkeys([*links[: QUEUES - 1], *worst, *links]))[:QUEUES]
    rows: list[Row] = []
    for link in links:
        points = queue(answer.ports[link])
        rows += line(
            ((micros(time, answer.start_ps), value) for time, value in points if time >= answer.start_ps),
            link=answer.links[link],
        )
    return rows


def queue(port: Port) -> list[tuple[int, int]]:
    """The bytes in a port's queue after each change."""
    total, points = 0, []
    for change in sorted(port.changes, key=lambda change: change.time_ps):
        total += change.bytes
        points.append((change.time_ps, total))
    return points


def _x(*, last: bool = False) -> Spec:
    return time_axis(last=last, title=TIME)


def _name_the_last(panels: list[Spec]) -> None:
    """Writes the words of the axis of time below the last panel."""
    for layer in panels[-1]["layer"]:
        layer["encoding"]["x"] = _x(last=True)


def _parts(named: dict[str, str]) -> Spec:
    encoding = {
        "x": _x(),
        "x2": {"field": "until"},
        "color": colours("part", named),
        "tooltip": tips(part="part", us="µs", link="link", of="packets of"),
    }
    return panel("parts", 22, [{"data": {"name": "parts"}, "mark": {"type": "bar"}, "encoding": encoding}])


def _sequence(kinds: set[str], most: int) -> Spec:
    """Packets by number up to `most`: a line from when each was sent until it arrived, points for its steps."""
    y = value_axis("number", "packet", labels=",d", values=range(most + 1) if most < TICKS else ())
    ways = {
        "data": {"name": "ways"},
        "mark": {"type": "rule", "color": "var(--axis)", "strokeWidth": 0.7},
        "encoding": {"x": _x(), "x2": {"field": "until"}, "y": y},
    }
    named = {name: colour for name, (colour, _) in STEPS.items() if name in kinds}
    shapes = {"domain": list(named), "range": [STEPS[name][1] for name in named]}
    points = {
        "data": {"name": "packets"},
        "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.95},
        "encoding": {
            "x": _x(),
            "y": y,
            "color": colours("what", named),
            "shape": {"field": "what", "type": "nominal", "scale": shapes, "legend": legend(named)},
            "tooltip": tips(what="", t="µs", number="packet", subflow="subflow", bytes="payload bytes"),
        },
    }
    answers = {
        "data": {"name": "rtt"},
        "mark": {
            "type": "tick",
            "color": STEPS["answered"][0],
            "orient": "vertical",
            "size": 6,
            "thickness": 1.2,
        },
        "encoding": {
            "x": _x(),
            "y": y,
            "tooltip": tips(t="answer came at µs", number="packet", rtt="RTT µs"),
        },
    }
    return panel("sequence", 260, [ways, points, answers])


def _line(name: str, title: str, labels: str) -> Spec:
    encoding = {
        "x": _x(),
        "y": value_axis("v", title, labels=labels),
        "detail": {"field": "subflow"},
        "tooltip": tips(v=title, t="µs", subflow=""),
    }
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6, "color": "var(--run-0)"}
    return panel(name, 90, [{"data": {"name": name}, "mark": mark, "encoding": encoding}])


def _points(rows: list[Row]) -> Spec:
    most = max(row["rtt"] for row in rows)
    encoding = {
        "x": _x(),
        # With room for the points that are the highest.
        "y": value_axis("rtt", "RTT, µs", labels=".3~g", domain=(0, most * 1.08)),
        "tooltip": tips(rtt="RTT µs", t="µs", number="packet"),
    }
    mark = {"type": "point", "filled": True, "size": 14, "color": STEPS["answered"][0]}
    return panel("rtt", 90, [{"data": {"name": "rtt"}, "mark": mark, "encoding": encoding}])


def _queues(rows: list[Row]) -> Spec:
    links = dict.fromkeys(row["link"] for row in rows)
    encoding = {
        "x": _x(),
        "y": value_axis("v", "queue, bytes"),
        "color": colours("link", dict(zip(links, COLOURS, strict=False)), columns=4),
        "tooltip": tips(link="", v="bytes", t="µs"),
    }
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.4}
    return panel("queues", 110, [{"data": {"name": "queues"}, "mark": mark, "encoding": encoding}])
