"""Settings in which transports differ by default, and which decide a comparison as much as the transports do.

docs/how-to/compare-transports.md explains each. They are found by the names of fields, which are the same in most
members; what a transport does without a field for it stands here. Tests run a flow of every transport alone, and
compare what it does with what is said of it.
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from flowyard import results, text
from flowyard.analysis import quantities
from flowyard.forks import pl
from flowyard.report.run.facts import Cell, Fact, inline, variant

Settings = Mapping[str, Any]
Rates = Set[int]

# Transports whose flows ask first, for a rate, a window or a credit, and have no field that says so.
ASK_FIRST = ("expresspass", "daq", "rcp", "numfabric", "d3", "pdq", "racs")
ROUND_TRIP = "one round trip before data"
# Controls of TCP under which receivers acknowledge each segment, whatever `delayed_ack` is.
EACH_SEGMENT = ("swift",)
# Transports whose receivers acknowledge a flow when it is complete.
OF_FLOWS = ("homa", "sird", "phost", "dcpim", "expresspass")
EACH_PACKET = "each packet"


@dataclass(frozen=True)
class Used:
    """The transport, queue and routing that flows of a traffic entry use.

    Attributes:
        tag: The transport, such as "tcp".
        transport: Its fields by their names, those of its parts, too.
        queue: The fields of the queue.
        routing: The routing of the entry.
        rates: Of the links of hosts.
    """

    tag: str
    transport: Settings
    queue: Settings
    routing: Settings
    rates: Rates


Said = Callable[[Used], str]


def unequal(scenarios: Sequence[Settings], rates: Sequence[Rates] = ()) -> list[Fact]:
    """The settings in which scenarios differ, a cell for each.

    Args:
        scenarios: As run.json has them, with derived values.
        rates: Of the links of the hosts of each, by `rates_of`; without them values that follow are said in words.
    """
    return [fact for fact in _all(scenarios, rates) if fact.differs]


def equal(scenarios: Sequence[Settings], rates: Sequence[Rates] = ()) -> list[str]:
    """The names of those in which they do not."""
    return [fact.name for fact in _all(scenarios, rates) if not fact.differs]


def said(scenario: Settings, rates: Rates = frozenset()) -> dict[str, str]:
    """The text on each setting of a scenario."""
    every = _used(scenario, rates)
    # Once where all traffic entries have the same.
    return {
        name: " / ".join(dict.fromkeys(words(used) for used in every))
        for name, (_, words) in SETTINGS.items()
    }


def rates_of(links: pl.DataFrame) -> Rates:
    """The rates of the links of hosts, in bit/s; of the columns tier and rate_bps."""
    return frozenset(links.filter(pl.col("tier").cast(pl.String).str.starts_with("host-"))["rate_bps"])


def _all(scenarios: Sequence[Settings], rates: Sequence[Rates]) -> list[Fact]:
    every = [said(*pair) for pair in zip(scenarios, rates or [frozenset()] * len(scenarios), strict=True)]
    return [Fact(name, title, [Cell(own[name]) for own in every]) for name, (title, _) in SETTINGS.items()]


def _used(scenario: Settings, rates: Rates) -> list[Used]:
    """The members that the flows of each traffic entry use."""
    queue = _fields(scenario.get("queue") or {})
    found = []
    for entry in scenario["traffic"] or [{}]:
        transport = entry.get("transport") or scenario["transport"]
        routing = entry.get("routing") or scenario.get("routing") or {}
        found.append(Used(results.variant(transport), _fields(transport), queue, routing, rates))
    return found


def _fields(member: Any) -> dict[str, Any]:
    """All fields of a member by their names, those of its parts, too; an outer one hides an inner one."""
    found: dict[str, Any] = {}

    def add(table: Mapping[str, Any]) -> None:
        for key, value in table.items():
            if value is not None:
                found.setdefault(key, value)
        for value in table.values():
            if isinstance(value, Mapping):
                add(value)

    if isinstance(member, Mapping):
        for fields in member.values():
            add(fields if isinstance(fields, Mapping) else {})
    return found


def _time(value: Any) -> str:
    """A time as a scenario writes it, in another unit where it has more than four digits before the point."""
    try:
        time = quantities.picoseconds(value) if isinstance(value, str) else None
    except (ValueError, KeyError):
        time = None
    written = inline(value)
    return text.duration(time) if time is not None and re.match(r"\d{5}", written) else written


def _bytes(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    for unit in sorted(quantities.BYTES, key=len, reverse=True):
        if isinstance(value, str) and value.endswith(unit):
            try:
                return round(float(value.removesuffix(unit)) * quantities.BYTES[unit])
            except ValueError:
                return None
    return None


def _packet(used: Used) -> tuple[int | None, int | None]:
    """Bytes of a full packet: its payload, and all else that it takes on the wire; None where lengths are drawn."""
    transport = used.transport

    def field(name: str) -> int:
        return _bytes(transport.get(name)) or 0

    header = field("header_bytes")
    match used.tag:
        case "homa":
            header = field("network_header") + field("unscheduled_header")
            return field("mtu") - header, header + field("frame_overhead")
        case "ndp" | "uet":
            whole = used.tag == "uet" or transport.get("mtu_includes_header")
            return field("mtu") - (header if whole else 0), header
        case "datagram" | "central":
            lengths = transport.get("lengths")
            length = _bytes(lengths["fixed"]) if isinstance(lengths, Mapping) and "fixed" in lengths else None
            if used.tag == "datagram":
                return length and length - header, header
            return length and min(length, field("mtu")), field("link_bytes")
    payload = next(
        (size for name in ("mss", "payload") if (size := _bytes(transport.get(name))) is not None), None
    )
    return payload, header + field("link_bytes") + field("congestion_header")


def _payload(used: Used) -> str:
    payload, _ = _packet(used)
    return text.NONE if payload is None else f"{payload:,} B"


def _header(used: Used) -> str:
    _, header = _packet(used)
    return text.NONE if header is None else f"{header:,} B"


def _timeout(used: Used) -> str:
    transport = used.transport
    if used.tag == "phost":
        return f"{transport['resend']:g} packet times"
    if used.tag == "homa" and not transport.get("acknowledge", True):
        return text.NONE
    names = ("rto_min", "rto", "rto_low", "resend_interval", "timeout", "request_interval")
    return _time(next((transport[name] for name in names if name in transport), None)) or text.NONE


def _initial(used: Used) -> str:
    """The data before the first answer: a window, bytes without credit, or all that the rate allows."""
    transport, window = used.transport, used.transport.get("initial_window")
    match used.tag:
        case "homa":
            return _size(transport.get("unscheduled", transport.get("rtt_bytes")))
        case "sird":
            return f"{_size(transport.get('unscheduled'))}, of longer messages none"
        case "phost":
            longer = ", of longer flows none" if transport.get("free_for") == "short" else ""
            return f"{transport.get('free_tokens')} packets{longer}"
        case "dcpim":
            return f"{transport.get('short')} packets, of longer flows none"
        case "expresspass":
            return "none: credit for each packet"
        case "uet":
            # Receivers that pace senders by credit leave the window unread.
            paced = results.variant(transport["control"]) in ("rccc", "eqds")
            given = transport.get("max_window") if paced else window or transport.get("max_window")
            return _size(given) if given else _product(used, "network_rtt", 1.5)
        case "roce" if "bdp_cap" in transport:
            return _size(transport["bdp_cap"])
        case "roce" if _has_window(transport):
            return _product(used, "base_rtt", 1)
        case "roce" | "dcqcn" | "datagram":
            return "no limit: line rate"
        case "rcp" | "d3" | "pdq" | "racs":
            return "no limit: rate of the switches"
        case "numfabric":
            return _product(used, "base_rtt", 1, "slack")
        case "central":
            return "as the controller decides"
        case "python":
            return "as its class sends"
    each = " a subflow" if used.tag in ("mptcp", "parallel-tcp") and transport.get("subflows") != 1 else ""
    return f"{window} packets{each}" if type(window) is int else _size(window)


def _has_window(transport: Settings) -> bool:
    """Whether a rate control also limits the bytes in flight."""
    control = results.variant(transport["congestion"])
    return control == "powertcp" or transport.get("window", "none") != "none"


def _product(used: Used, field: str, times: float, wait: str = "") -> str:
    """A bandwidth-delay product of the link of a host and a round trip that a field has, and a time of another."""
    words = "bandwidth-delay product" if times == 1 else f"{times:g} bandwidth-delay products"
    if wait:
        words += f" and {wait}"
    names = [field, wait] if wait else [field]
    trips = [trip for name in names if isinstance(trip := used.transport.get(name), str)]
    if len(used.rates) != 1 or len(trips) < len(names):
        return words
    try:
        return text.size(times * min(used.rates) * sum(map(quantities.picoseconds, trips)) / 8e12)
    except (ValueError, KeyError):
        return words


def _size(value: Any) -> str:
    """A size of a scenario, in the units of tables."""
    size = _bytes(value)
    return inline(value) or text.NONE if size is None else text.size(size)


def _handshake(used: Used) -> str:
    transport = used.transport
    # Short flows need no credit.
    free, tokens = transport.get("unscheduled"), transport.get("free_tokens")
    if transport.get("handshake") or used.tag in ASK_FIRST or 0 in (_bytes(free), tokens):
        return ROUND_TRIP
    match used.tag:
        case "sird":
            return f"none up to {_size(free)}, else {ROUND_TRIP}"
        case "phost" if transport.get("free_for") == "short":
            return f"none up to {tokens} packets, else {ROUND_TRIP}"
        case "numfabric":
            return "bandwidth-delay product and slack"
        case "central":
            return "as the controller decides"
        case "python":
            return "as its class sends"
    return "none: data at once"


def _acknowledged(used: Used) -> str:
    transport = used.transport
    if "ack_every" in transport:
        every = transport["ack_every"]
        return EACH_PACKET if every == 1 else f"every {every} packets" if every else "the last packet"
    if used.tag in OF_FLOWS:
        return "the whole flow" if transport.get("acknowledge", True) else "none"
    match used.tag:
        case "uet" if (_bytes(transport.get("ack_bytes")) or 0) > 1:
            return f"every {inline(transport['ack_bytes'])}"
        case "datagram" | "central":
            return "none"
        case "python":
            return "as its class sends"
    return _delayed(transport)


def _delayed(transport: Settings) -> str:
    """Of TCP, whose receivers delay acknowledgements unless the control needs each round trip; others delay none."""
    every = transport.get("delayed_ack")
    congestion = transport.get("congestion")
    control = results.variant(congestion) if congestion else ""
    if every in (None, 1) or control in EACH_SEGMENT or transport.get("acknowledges_each_segment"):
        return EACH_PACKET
    first = f", of the first {quick} each" if (quick := transport.get("quick_acks")) else ""
    return f"every {every} packets, or after {_time(transport.get('delayed_ack_timeout', text.NONE))}{first}"


def _least_rate(used: Used) -> str:
    transport = used.transport
    if used.tag == "uet":
        # A share, by which receivers slow down, if they do so at all.
        if transport.get("oversubscription_control") is not True:
            return text.NONE
        over = transport.get("oversubscription")
        share = transport["min_rate"] / (over if isinstance(over, int | float) else 1)
        return f"credit at {text.percent(min(max(share, 0.01), 1))} of the port's rate"
    if "min_rate" in transport:
        return _rate(transport["min_rate"])
    if used.tag == "roce":
        return text.rate(min(used.rates) / 1000) if len(used.rates) == 1 else "1/1000 of the port's rate"
    return text.NONE


def _rate(value: Any) -> str:
    """A rate of a scenario, in the units of tables: equal rates are one text."""
    for unit in sorted(quantities.RATE, key=len, reverse=True):
        if isinstance(value, str) and value.endswith(unit):
            try:
                return text.rate(float(value.removesuffix(unit)) * quantities.RATE[unit])
            except ValueError:
                break
    return inline(value)


def _buffer(used: Used) -> str:
    # What flow control holds back is at least what a port may queue.
    queue = used.queue
    names = ("limit", "data_limit", "xoff", "short_buffer")
    found = next((queue[name] for name in names if name in queue), "no limit")
    if not isinstance(found, Mapping):
        return inline(found)
    return ", ".join(
        f"{inline(number)} {unit}" if unit != "bytes" else inline(number) for unit, number in found.items()
    )


def _paths(used: Used) -> str:
    transport, routing = used.transport, used.routing
    subflows = f", {transport['subflows']} subflows" if transport.get("subflows") else ""
    return variant(routing.get("balancer")).main + subflows


# By name: the meaning, and what is said of a transport, a queue and a balancer.
SETTINGS: dict[str, tuple[str, Said]] = {
    "handshake": ("A lone short flow with a handshake takes twice as long as one without.", _handshake),
    "paths": ("Choice of a path: by flow collides, by packet reorders.", _paths),
    "payload": ("Bytes of flows in a full packet.", _payload),
    "header": (
        "Bytes that a full packet takes on the wire besides its payload: they lower goodput.",
        _header,
    ),
    "initial window": (
        "What a flow sends before the first answer: short flows end within it.",
        _initial,
    ),
    "buffer": ("Room of a port: it is the longest queueing delay, and decides losses.", _buffer),
    "minimum RTO": (
        "Shortest retransmission timeout: a loss that nothing else repairs costs it.",
        _timeout,
    ),
    "minimum rate": (
        "Rate at which a control leaves the flows of a crowd: those that last longer climb from there.",
        _least_rate,
    ),
    "acknowledgements": ("Delayed ones slow the growth of windows.", _acknowledged),
}
