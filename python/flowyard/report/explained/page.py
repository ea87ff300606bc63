"""The page of a flow, and that of a port: pictures on one axis of time, and tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flowyard.report import charts, frame
from flowyard.report.charts.flow import flow_chart
from flowyard.report.charts.ladder import PACKETS, ladder_chart
from flowyard.report.charts.port import port_chart
from flowyard.text import counted, percent, size
from flowyard.why import Answer, Port
from flowyard.why.faults import by_link
from flowyard.why.path import MEANINGS
from flowyard.why.show import LOST_AT, losing, waits, whose

US = 1e6
# Ports that the page of a flow shows: those where it waited longest, and at most so many more at which it lost packets.
PORTS, LOSING = 3, 2
# A cell without a value.
NONE = "-"
# Rows of a table.
ROWS = 200


@dataclass(frozen=True)
class Figure:
    """A chart with its words; `key` is the id of its section."""

    key: str
    title: str
    caption: str
    spec: charts.Spec


@dataclass(frozen=True)
class Cell:
    """A cell, with the value by which it sorts; None if that is its text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Grid:
    """A table: the first column of its rows is a name."""

    key: str
    title: str
    aside: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


def flow_page(answer: Answer, name: str, tag: str) -> str:
    """The page of a flow as HTML.

    Args:
        answer: Its completion time, divided.
        name: The name of its run.
        tag: The traffic entry of the flow.
    """
    figures = [
        Figure("flow", "Packets over time", "and window, rate, RTT and queues below", flow_chart(answer)),
        Figure("ladder", "Ladder", _first(len(answer.packets)), ladder_chart(answer)),
    ]
    end = answer.start_ps + answer.fct_ps
    longest = [link for link, _ in waits(answer)[:PORTS]]
    others = [link for link in losing(answer) if link not in longest][:LOSING]
    for number, link in enumerate([*longest, *others]):
        # The sender's own port has its packets alone, as a rule.
        if link in answer.ports and not answer.tiers[link].startswith("host-"):
            spec = port_chart(answer.ports[link], answer.start_ps, end)
            title = f"Queue at {answer.links[link]}"
            figures.append(Figure(f"port-{number}", title, "by flow, while the flow was active", spec))
    slowdown = answer.fct_ps / answer.ideal_fct_ps
    story = (
        f"From {answer.ends[0]} to {answer.ends[1]}, {size(answer.size_bytes)}, of {tag}. "
        f"It took {answer.fct_ps / US:,.3f} µs, {slowdown:,.2f} times the ideal of "
        f"{answer.ideal_fct_ps / US:,.3f} µs."
    )
    return _render(f"Flow {answer.flow} of {name}", story, figures, _tables(answer))


def port_page(port: Port, link: str, name: str, from_ps: int, until_ps: int) -> str:
    """The page of a port as HTML.

    Args:
        port: Its history.
        link: "from -> to" of the link that it feeds.
        name: The name of its run.
        from_ps: Start of the span that is shown.
        until_ps: Its end.
    """
    spec = port_chart(port, from_ps, until_ps)
    figures = [Figure("port", "Queue by flow", "with drops, trims, marks and pauses", spec)]
    story = (
        f"The port that feeds {link}, from {from_ps / US:,.3f} µs to {until_ps / US:,.3f} µs of the run: "
        f"{counted(len(port.sent), 'packet')} sent, {_number(port, 'dropped')} dropped, "
        f"{_number(port, 'trimmed')} trimmed, {_number(port, 'marked')} marked, {counted(len(port.pauses), 'pause')}."
    )
    return _render(f"Port {link} of {name}", story, figures, [_of_port(port)])


def _number(port: Port, kind: str) -> str:
    return f"{sum(mark.kind == kind for mark in port.marks):,}"


def _first(packets: int) -> str:
    return f"the first {PACKETS} of {packets:,} packets" if packets > PACKETS else "of all packets"


def _render(title: str, story: str, figures: Sequence[Figure], tables: Iterable[Grid]) -> str:
    shown = [table for table in tables if table.rows]
    return frame.render(
        "explained/page.html.jinja",
        scripts=("tips.js", "sort.js", "charts/charts.js"),
        styles=("page.css", "parts.css", "print.css"),
        specs={figure.key: figure.spec for figure in figures},
        title=title,
        story=story,
        notices=[],
        columns=1,
        menu=[
            *((figure.key, figure.title) for figure in figures),
            *((table.key, table.title) for table in shown),
        ],
        figures=figures,
        tables=shown,
        terms={name: {"name": name} for name in MEANINGS},
        meanings=MEANINGS,
        made_from="a run made again with the events of its packets",
    )


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", number)


def _us(time_ps: int) -> Cell:
    return Cell(f"{time_ps / US:,.3f}", time_ps)


def _tables(answer: Answer) -> list[Grid]:
    parts = [
        [name, _us(time), Cell(percent(time / answer.fct_ps, 1), time)]
        for name, time in answer.totals.items()
    ]
    ports = [[answer.links[link], Cell(answer.tiers[link]), _us(time)] for link, time in waits(answer)]
    others = [
        [f"flow {flow}", _us(time), Cell(percent(time / answer.fct_ps, 1), time)]
        for flow, time in whose(answer)
    ]
    lost_at = [
        [answer.links[one.link], _count(one.data), _count(one.control), Cell(one.cause)]
        for one in by_link(answer.losses)
    ]
    lost = [
        [
            "data" if loss.packet.data else "control",
            Cell(NONE if loss.packet.number is None else f"{loss.packet.number:,}", loss.packet.number),
            Cell(answer.links[loss.link]),
            Cell(loss.reason),
            Cell(loss.noticed),
            _us(loss.packet.made_ps),
            Cell(NONE) if loss.took_ps is None else _us(loss.took_ps),
        ]
        for loss in answer.losses
    ]
    head = ("kind", "packet", "link", "reason", "noticed by", "made at, µs", "µs until repeated")
    return [
        Grid("parts", "Parts of its time", "they add up to it", ("part", "µs", "share"), parts),
        _listed("waits", "Ports where it waited", ("link", "tier", "µs"), ports),
        _listed("whose", "Flows for whose packets it waited", ("flow", "µs", "share"), others),
        _listed("lost-at", LOST_AT, ("link", "data", "control", "reason"), lost_at),
        _listed("losses", "Packets dropped or trimmed", head, lost),
    ]


def _listed(key: str, title: str, head: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> Grid:
    """A table of the first rows, which says of how many they are."""
    aside = f"the first {ROWS} of {len(rows):,}" if len(rows) > ROWS else ""
    return Grid(key, title, aside, head, rows[:ROWS])


def _place(flow: int | None) -> int:
    """Flows in the order of their numbers, before them packets of no flow."""
    return -1 if flow is None else flow


def _of_port(port: Port) -> Grid:
    """The flows that the port sent: packets, time on the wire, drops, trims and marks."""
    flows = sorted({sent.flow for sent in port.sent} | {mark.flow for mark in port.marks}, key=_place)
    busy: dict[int | None, int] = dict.fromkeys(flows, 0)
    packets: dict[int | None, int] = dict.fromkeys(flows, 0)
    for sent in port.sent:
        busy[sent.flow] += sent.until_ps - sent.from_ps
        packets[sent.flow] += 1
    marks = {
        kind: {flow: sum(mark.kind == kind and mark.flow == flow for mark in port.marks) for flow in flows}
        for kind in ("dropped", "trimmed", "marked")
    }
    rows = [
        [
            f"flow {flow}",
            Cell(f"{packets[flow]:,}", packets[flow]),
            _us(busy[flow]),
            *(Cell(f"{counts[flow]:,}", counts[flow]) for counts in marks.values()),
        ]
        for flow in sorted(flows, key=lambda flow: -busy[flow])[:ROWS]
    ]
    aside = f"the {ROWS} with most time" if len(flows) > ROWS else ""
    return Grid("flows", "Flows at the port", aside, ("flow", "packets", "on the wire, µs", *marks), rows)
