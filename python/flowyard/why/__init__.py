"""Why a flow took as long as it did: its run again with the flow's events, and its time divided by cause."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Any

from flowyard.display import Displayed
from flowyard.errors import UserError
from flowyard.results import Result, open_run
from flowyard.text import counted
from flowyard.why import again
from flowyard.why.faults import with_faults
from flowyard.why.losses import Loss, LostTo, losses, times_out, transport_of
from flowyard.why.packets import Packet, packets
from flowyard.why.path import Chain, Part, by_flow, timers, totals
from flowyard.why.pcapng import pcapng
from flowyard.why.ports import Port, ports

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Answer",
    "Loss",
    "LostTo",
    "Packet",
    "Part",
    "Port",
    "capture",
    "divided",
    "link_of",
    "port_of",
    "row_of",
    "slowest",
    "why",
]

# Events of ports are read from so long before the start of a flow: a packet may be on the wire then.
BEFORE_PS = 20_000_000
# Links of whose ports all packets are asked for: where the flow waited longest, and as many where it lost packets.
PORTS_MAX = 12


@dataclass(frozen=True)
class Answer(Displayed):
    """The completion time of a flow, divided by cause.

    Attributes:
        flow: Its number in flows.parquet.
        ends: The names of its source and its destination.
        size_bytes: Its size.
        start_ps: When it started.
        fct_ps: Its completion time; the parts add up to it.
        ideal_fct_ps: The least that its packets take in an empty network.
        parts: The parts in the order of time.
        packets: All packets of the flow, in the order in which they were made.
        losses: Its packets that were dropped or trimmed, and how its sender noticed.
        signals: Changes of its window in bytes and of its rate in bit/s: "window" or "rate", time, subflow and value.
        links: "from -> to" of the links, by number.
        tiers: Tier of the links, by number.
        ports: Histories of the ports at which it waited, by link, if the packets of all flows there are known.
    """

    flow: int
    ends: tuple[str, str]
    size_bytes: int
    start_ps: int
    fct_ps: int
    ideal_fct_ps: int
    parts: Sequence[Part]
    packets: Sequence[Packet]
    losses: Sequence[Loss]
    signals: Sequence[tuple[str, int, int, float]]
    links: Sequence[str]
    tiers: Sequence[str]
    ports: Mapping[int, Port]

    _view = "of_answer"

    @property
    def totals(self) -> dict[str, int]:
        """The time of each part by name, in ps."""
        return totals(self.parts)

    @property
    def lost(self) -> list[Packet]:
        """The packets that were dropped."""
        return [packet for packet in self.packets if packet.dropped]


def why(run: Result | str | PathLike[str], flow: int, *, whose: bool = False) -> Answer:
    """Divides the completion time of a flow by cause.

    The scenario of the run is run again with the events of the flow; the digest proves that it is the same run.

    Args:
        run: A complete run, one that was opened, or its folder.
        flow: The flow's number in flows.parquet.
        whose: Whether to say for whose packets it waited at ports, however many events that takes: for a large run it
            is run once more. A run with few events always says so.

    Raises:
        UserError: There is no such flow, it is not complete, its run was made by another version or by members in
            Python, or several flows share its connection.
    """
    if isinstance(run, str | PathLike):
        run = open_run(run)
    again.require_it_can(run)
    row = row_of(run, flow)
    transport = transport_of(run.summary["scenario"], row["tag"])
    faults = run.summary.get("faults") or ()
    since, until = max(0, row["start_ps"] - BEFORE_PS), row["start_ps"] + row["fct_ps"]
    few = again.rows_between(run, since, until) <= again.ROWS_BESIDE
    if few:
        made = again.of_all(run, since, until)
        if not _is_cut(made):
            events = again.rows_of(_events(made))
            own = [event for event in events if event["flow"] == flow]
            links = made.links.to_polars()
            return divided(row, own, links, transport=transport, faults=faults, beside=events)
    made = again.of_flows(run, [flow])
    links, own = made.links.to_polars(), again.rows_of(_events(made))
    answer = divided(row, own, links, transport=transport, faults=faults)
    if not whose or not (waits := _waits(answer)):
        return answer
    made = again.of_ports(run, [answer.links[link] for link in waits], since, until)
    if _is_cut(made):
        raise UserError(
            f"flow {flow}: more than {again.ROWS_MAX:,} events of packets at its ports; ask without --whose"
        )
    beside = _events(made).iter_rows(named=True)
    return divided(row, own, links, transport=transport, faults=faults, beside=beside)


def divided(
    row: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]],
    links: "pl.DataFrame",
    *,
    transport: str = "",
    faults: Sequence[dict[str, Any]] = (),
    beside: Iterable[Mapping[str, Any]] = (),
) -> Answer:
    """Divides the completion time of a flow by cause.

    Args:
        row: Its row of flows.parquet.
        events: Its rows of events.parquet, of all kinds and links, from its start to its end.
        links: All rows of links.parquet.
        transport: The name of its transport, which says how a loss is noticed.
        faults: What run.json says under `faults`, which says by which fault a packet was lost.
        beside: Rows of all flows at the ports on its way, which say for whose packets it waited.
    """
    flow, made = row["id"], packets(events)
    if not made:
        raise UserError(f"flow {flow}: has no events of its own; several flows share its connection")
    rates = dict(zip(links["id"], links["rate_bps"], strict=True))
    due = timers(events)
    timed = times_out(made, due, transport, row["timeouts"])
    parts = Chain(made, due, rates, row["start_ps"], timed).parts(row["start_ps"] + row["fct_ps"])[::-1]
    nodes = list(links.select("from", "to").iter_rows())
    lost = with_faults(losses(made, due, transport, timed), faults, nodes)
    at = {part.link for part in parts if part.waits} | {hop.link for packet in made for hop in packet.hops}
    at |= {loss.link for loss in lost}
    known = ports((event for event in beside if event["link"] in at), rates) if beside else {}
    return Answer(
        flow=flow,
        ends=_ends(row, made, nodes),
        size_bytes=row["size_bytes"],
        start_ps=row["start_ps"],
        fct_ps=row["fct_ps"],
        ideal_fct_ps=row["ideal_fct_ps"],
        parts=by_flow(parts, flow, known),
        packets=made,
        losses=lost,
        signals=[
            (event["kind"], event["time_ps"], event["subflow"], event["value"])
            for event in events
            if event["kind"] in ("window", "rate")
        ],
        links=[f"{a} -> {b}" for a, b in nodes],
        tiers=[str(tier) for tier in links["tier"]],
        ports=known,
    )


def port_of(run: Result, link: str, from_ps: int, until_ps: int) -> Port:
    """The history of a port, with the packets of all flows there.

    Args:
        run: A complete run, or one that was opened.
        link: "from -> to" of the link that it feeds, or its id.
        from_ps: Start of the span.
        until_ps: Its end.

    Raises:
        UserError: There is no such link, or more than ROWS_MAX events are there in that span.
    """
    number, link = link_of(run, link)
    links = run.links.to_polars()
    share = links["packets"][number] / max(sum(links["packets"]), 1)
    expected = int(again.rows_between(run, from_ps, until_ps) * share)
    if expected > again.ROWS_MAX:
        raise _too_many(link, expected)
    made = again.of_ports(run, [link], max(0, from_ps - BEFORE_PS), until_ps)
    if _is_cut(made):
        raise _too_many(link, again.ROWS_MAX)
    rates = dict(zip(links["id"], links["rate_bps"], strict=True))
    return ports(_events(made).iter_rows(named=True), rates).get(number) or Port(number)


def link_of(run: Result, said: str) -> tuple[int, str]:
    """The id and the name of a link by its name, in which blanks make no difference, or by its id.

    Raises:
        UserError: There is no such link.
    """
    names = [f"{a} -> {b}" for a, b in run.links.to_polars().select("from", "to").iter_rows()]
    if said in names:
        return names.index(said), said
    if said.isascii() and said.isdigit() and len(said) < 10 and int(said) < len(names):
        return int(said), names[int(said)]
    found = [number for number, name in enumerate(names) if name.replace(" ", "") == said.replace(" ", "")]
    if len(found) == 1:
        return found[0], names[found[0]]
    near = get_close_matches(said, names, 1, 0.0)
    raise UserError(f"{said[:80]!r}: no such link; the nearest name is {near[0]!r}" if near else "no links")


def _too_many(link: str, events: int) -> UserError:
    return UserError(
        f"{link}: about {events:,} events or more, and at most {again.ROWS_MAX:,} are drawn; choose a shorter span "
        "with --from and --until"
    )


def capture(run: Result, flow: int) -> bytes:
    """The packets of a flow as pcapng, with its drops, trims and marks as comments: see `flowyard.why.pcapng`.

    Args:
        run: A run, or one that was opened.
        flow: The flow's number in flows.parquet; it may be incomplete.

    Raises:
        UserError: There is no such flow, or its run cannot be made again.
    """
    flows = run.flows.to_polars()
    found = flows.filter(flows["id"] == flow)
    if found.is_empty():
        raise UserError(f"flow {flow}: the run has {counted(flows.height, 'flow')}, numbered from 0")
    made = again.of_flows(run, [flow])
    links = made.links.to_polars()
    named = [(f"{a} -> {b}", rate) for a, b, rate in links.select("from", "to", "rate_bps").iter_rows()]
    return pcapng(again.rows_of(_events(made)), named, {flow: (found["src"][0], found["dst"][0])})


def slowest(run: Result) -> int:
    """The measured flow with the largest slowdown.

    Raises:
        UserError: No flow is complete.
    """
    flows = run.flows.to_polars()
    flows = flows.filter(flows["measured"] & flows["slowdown"].is_not_null())
    if flows.is_empty():
        raise UserError("no flow is complete, and only a completion time can be divided")
    return int(flows.sort("slowdown", "id", descending=[True, False])["id"][0])


def row_of(run: Result, flow: int) -> dict[str, Any]:
    """The row of a complete flow.

    Raises:
        UserError: There is no such flow, or it is not complete.
    """
    flows = run.flows.to_polars()
    found = flows.filter(flows["id"] == flow)
    if found.is_empty():
        raise UserError(f"flow {flow}: the run has {counted(flows.height, 'flow')}, numbered from 0")
    row = found.row(0, named=True)
    if row["fct_ps"] is None:
        background = any(
            entry.get("background") and entry.get("name") == row["tag"]
            for entry in run.summary["scenario"]["traffic"]
        )
        reason = "is background and not complete" if background else "is not complete"
        raise UserError(f"flow {flow}: {reason}, and only a completion time can be divided")
    return row


def _ends(
    row: Mapping[str, Any], made: Sequence[Packet], nodes: Sequence[tuple[str, str]]
) -> tuple[str, str]:
    """The names of a flow's hosts: its row has numbers, and the way of its first data that arrived has names."""
    way = next((packet.hops for packet in made if packet.data and packet.end), None)
    if way is None:
        return f"host {row['src']}", f"host {row['dst']}"
    return nodes[way[0].link][0], nodes[way[-1].link][1]


def _events(made: Result) -> "pl.DataFrame":
    assert made.events is not None
    return made.events.to_polars()


def _is_cut(made: Result) -> bool:
    """Whether there were more events than rows."""
    observed: Mapping[str, Any] = made.summary.get("observed") or {}
    return (observed.get("events") or {}).get("cut_off_ps") is not None


def _waits(answer: Answer) -> list[int]:
    """Links at whose ports the flow waited, longest first, and behind these the ones at which it lost packets."""
    sums: dict[int, int] = {}
    for part in answer.parts:
        if part.waits and part.link is not None:
            sums[part.link] = sums.get(part.link, 0) + part.until_ps - part.from_ps
    longest = sorted(sums, key=lambda link: -sums[link])[:PORTS_MAX]
    return list(dict.fromkeys([*longest, *(loss.link for loss in answer.losses)]))[: 2 * PORTS_MAX]
