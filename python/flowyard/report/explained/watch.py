"""The page that plays a span of a run: packets on links, queues, drops and trims, without a server."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.report import frame
from flowyard.results import Result
from flowyard.text import counted, duration
from flowyard.why import again
from flowyard.why.packets import NAME as PACKET
from flowyard.why.packets import Packet, packets

if TYPE_CHECKING:
    import polars as pl

NODES_MAX, EVENTS_MAX = 300, 200_000
# Rows that are recorded from before the span, to know the packets on their way at its start.
ROWS_BEFORE = 1_000_000
# Events that are not of a packet's steps, by kind.
NOTES = ("dropped", "trimmed", "marked")


def watch_page(run: Result, name: str, from_ps: int, until_ps: int) -> str:
    """The page as HTML.

    Args:
        run: A complete run, or one that was opened.
        name: Its name.
        from_ps: Start of the span.
        until_ps: Its end.

    Raises:
        UserError: There are too many nodes or events, or the run cannot be made again.
    """
    links = run.links.to_polars()
    nodes = _nodes(links)
    if len(nodes) > NODES_MAX:
        raise UserError(
            f"the network has {len(nodes):,} nodes, and at most {NODES_MAX} can be watched; flowyard why -o draws "
            "flows and ports of a network of any size"
        )
    _require_few(again.rows_between(run, from_ps, until_ps), from_ps, until_ps)
    made = again.of_all(run, from_ps, until_ps, EVENTS_MAX)
    assert made.events is not None
    if (made.summary["observed"]["events"] or {}).get("cut_off_ps") is not None:
        _require_few(EVENTS_MAX + 1, from_ps, until_ps)
    of_span = made.events.to_polars()
    if of_span.is_empty():
        raise UserError("no event is in that span; choose another one with --from and --until")
    before, known = _before(run, of_span, from_ps)
    events = again.rows_of(before) + again.rows_of(of_span)
    return _render(name, world(events, links, from_ps, until_ps), from_ps, until_ps, len(of_span), known)


def _before(run: Result, of_span: "pl.DataFrame", from_ps: int) -> tuple["pl.DataFrame", bool]:
    """The events before a span of the packets on their way at its start, and whether none of these is missing.

    The events of the span have the time at which each packet was made: the run is recorded from the first one on.

    Args:
        run: The run.
        of_span: The events of the span.
        from_ps: Its start.
    """
    from flowyard.forks import pl

    none = of_span.clear()
    first = of_span["made_ps"].min()
    if not isinstance(first, int) or first >= from_ps:
        return none, True
    if again.rows_between(run, first, from_ps) > ROWS_BEFORE:
        return none, False
    made = again.of_all(run, first, from_ps, ROWS_BEFORE)
    assert made.events is not None
    if (made.summary["observed"]["events"] or {}).get("cut_off_ps") is not None:
        return none, False
    table = made.events.to_polars().filter(pl.col("time_ps") < from_ps)
    key = ["flow", *PACKET]
    joined = pl.col("kind").eq("enqueued").sum() > pl.col("kind").is_in(["arrived", "dropped"]).sum()
    waiting = (
        table.filter(pl.col("made_ps").is_not_null())
        .group_by(key)
        .agg(joined.alias("on"))
        .filter("on")
        .select(key)
    )
    alive = pl.concat([waiting, of_span.select(key)]).unique()
    own = table.join(alive, on=key, how="semi", nulls_equal=True, maintain_order="left")
    pauses = table.filter(kind="paused")
    return pl.concat([pauses, own]), True


def _require_few(events: int, from_ps: int, until_ps: int) -> None:
    """Refuses more events than a page can hold, before there is memory taken for them."""
    if events > EVENTS_MAX:
        span = (until_ps - from_ps) * EVENTS_MAX // events
        raise UserError(
            f"about {events:,} events or more from {duration(from_ps)} until {duration(until_ps)}, and at most "
            f"{EVENTS_MAX:,} can be watched; choose a span of about {duration(span)} with --from and --until"
        )


def _nodes(links: "pl.DataFrame") -> dict[str, tuple[bool, int]]:
    """Whether each node is a host, and its distance from the hosts."""
    hosts = {
        start for start, tier in links.select("from", "tier").iter_rows() if str(tier).startswith("host")
    }
    ends: dict[str, list[str]] = defaultdict(list)
    for start, end in links.select("from", "to").iter_rows():
        ends[start].append(end)
    level = dict.fromkeys((node for node in ends if node in hosts), 0)
    edge = list(level)
    while edge:
        edge = [
            end
            for node in edge
            for end in ends[node]
            if end not in level and not level.update({end: level[node] + 1})
        ]
    return {node: (node in hosts, level.get(node, 1)) for node in {*ends, *(str(end) for end in links["to"])}}


def world(
    events: Sequence[Mapping[str, Any]], links: "pl.DataFrame", from_ps: int, until_ps: int
) -> dict[str, Any]:
    """All that the page plays: nodes, links, packets with their hops, notes and pauses; times in ps from the start.

    Args:
        events: All events of the span, in their order, behind those from before of packets then on their way, whose
            times are negative, and which are neither notes nor counted.
        links: All rows of links.parquet.
        from_ps: Start of the span.
        until_ps: Its end.
    """
    nodes = _nodes(links)
    rows: dict[int, list[str]] = defaultdict(list)
    for name in dict.fromkeys([*links["from"], *links["to"]]):
        rows[nodes[name][1]].append(str(name))
    placed = [
        {"name": name, "host": nodes[name][0], "row": row, "place": (place + 0.5) / len(names)}
        for row, names in sorted(rows.items())
        for place, name in enumerate(sorted(names, key=_natural))
    ]
    number = {node["name"]: place for place, node in enumerate(placed)}
    by_flow: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:
        if event["made_ps"] is not None:
            by_flow[event["flow"]].append(event)
    packs = [
        (flow, packet)
        for flow, rows_ in sorted(by_flow.items())
        for packet in packets(rows_)
        if _is_seen(packet, from_ps)
    ]
    of_span = [event for event in events if event["time_ps"] >= from_ps]
    kinds: dict[str, list[int]] = defaultdict(list)
    for event in of_span:
        kinds[event["kind"]].append(event["time_ps"] - from_ps)
    return {
        "span": until_ps - from_ps,
        "from": from_ps,
        "nodes": placed,
        "rows": max(rows, default=0) + 1,
        "links": [
            [number[start], number[end], rate]
            for start, end, rate in links.select("from", "to", "rate_bps").iter_rows()
        ],
        "packets": [_packet(flow, packet, from_ps) for flow, packet in packs],
        "notes": [
            [event["time_ps"] - from_ps, event["kind"], event["link"], event["flow"], event["detail"] or ""]
            for event in of_span
            if event["kind"] in NOTES
        ],
        "pauses": [
            [event["time_ps"] - from_ps, event["link"], bool(event["value"])]
            for event in events
            if event["kind"] == "paused"
        ],
        "times": {kind: times for kind, times in kinds.items() if kind in SHOWN},
    }


def _is_seen(packet: Packet, from_ps: int) -> bool:
    """Whether a packet is in the network at the start of the span or later."""
    last = packet.hops[-1] if packet.hops else None
    if last is None:
        return packet.made_ps >= from_ps
    if packet.dropped_ps is not None:
        return packet.dropped_ps >= from_ps
    return last.arrived_ps is None or last.arrived_ps >= from_ps


def _natural(name: str) -> list[tuple[int, str]]:
    """Names in the order of their numbers: host 9 before host 10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


# Kinds of events that the page counts.
SHOWN = ("made", "started", "arrived", "dropped", "trimmed", "marked")


def _packet(flow: int, packet: Packet, from_ps: int) -> list[Any]:
    """Flow, kind, number, when it was made, whether it repeats another one, its fate, and its hops."""
    fate = f"dropped: {packet.dropped[1]}" if packet.dropped else ""
    kind = 0 if packet.data and packet.forward else 1
    hops = [
        [hop.link, hop.wire_bytes, *_times(hop.enqueued_ps, hop.started_ps, hop.arrived_ps, from_ps)]
        for hop in packet.hops
    ]
    trimmed = -1 if packet.trimmed is None else packet.trimmed
    return [flow, kind, packet.number, packet.made_ps - from_ps, int(packet.repeats), fate, trimmed, hops]


def _times(enqueued: int, started: int | None, arrived: int | None, from_ps: int) -> list[int | None]:
    return [None if time is None else time - from_ps for time in (enqueued, started, arrived)]


def _render(
    name: str, content: Mapping[str, Any], from_ps: int, until_ps: int, events: int, known: bool
) -> str:
    start = f"{from_ps / 1e6:,.3f} µs"
    story = (
        f"From {from_ps / 1e6:,.3f} µs to {until_ps / 1e6:,.3f} µs of the run, {counted(events, 'event')}. Packets "
        "move along links while they are on the wire; a bar beside a node is the queue of a port. "
    )
    if not known:
        story += f"Packets that were made before {start} are not drawn: queues at the start of the span are longer. "
    story += f"Counts are from {start} on." if from_ps else ""
    meanings = {
        "made": "packets that transports of hosts sent in the span",
        "started": "packets whose first bit was sent on a link, counted at each link",
        "arrived": "packets whose last bit came out of a link, counted at each link",
        "dropped": "packets that ports dropped or faults lost",
        "trimmed": "packets whose payload a port cut off",
        "marked": "packets that a port marked",
        "waiting": "packets in queues now",
        "on wires": "packets on links now",
    }
    return frame.render(
        "explained/watch.html.jinja",
        scripts=("explained/world.js", "explained/watch.js"),
        styles=("page.css", "parts.css", "explained/watch.css"),
        title=f"Watch {name}",
        story=story.strip(),
        notices=[],
        columns=1,
        world=content,
        counted=[*SHOWN, "waiting", "on wires"],
        flows=sorted({packet[0] for packet in content["packets"]}),
        terms={key: {"name": key} for key in meanings},
        meanings=meanings,
        made_from="a run made again with the events of a span",
    )
