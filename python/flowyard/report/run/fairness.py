"""Settings in which transports differ by default, and which decide a comparison as much as the transports do.

docs/how-to/compare-transports.md explains each. They are found by the names of fields, which are the same in all
members: a new member that follows them needs no line here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowyard import text
from flowyard.analysis import quantities
from flowyard.report.run.facts import Cell, Fact, inline, variant

Settings = Mapping[str, Any]


def unequal(scenarios: Sequence[Settings]) -> list[Fact]:
    """The settings in which scenarios differ, a cell for each; scenarios as run.json has them, with derived values."""
    return [fact for fact in _all(scenarios) if fact.differs]


def equal(scenarios: Sequence[Settings]) -> list[str]:
    """The names of those in which they do not."""
    return [fact.name for fact in _all(scenarios) if not fact.differs]


def _all(scenarios: Sequence[Settings]) -> list[Fact]:
    return [
        Fact(name, title, [Cell(_of_entries(scenario, said)) for scenario in scenarios])
        for name, (title, said) in SETTINGS.items()
    ]


def _of_entries(scenario: Settings, said: Callable[[Settings, Settings, Settings], str]) -> str:
    """The text on the transport of each traffic entry, once."""
    queue = scenario.get("queue") or {}
    found = []
    for entry in scenario["traffic"] or [{}]:
        transport = entry.get("transport") or scenario["transport"]
        routing = entry.get("routing") or scenario.get("routing") or {}
        found.append(said(_fields(transport), _fields(queue), routing))
    return " / ".join(dict.fromkeys(found))


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


def _payload(transport: Settings, queue: Settings, routing: Settings) -> str:
    """Of a full packet: a field of its own, or what the MTU leaves beside the header."""
    del queue, routing
    header = _bytes(transport.get("header_bytes")) or 0
    for name, inside in (
        ("mss", 0),
        ("payload", 0),
        ("mtu", header if transport.get("mtu_includes_header") else 0),
    ):
        if (size := _bytes(transport.get(name))) is not None:
            return f"{size - inside:,} B"
    return text.NONE


def _first(*names: str) -> Callable[[Settings, Settings, Settings], str]:
    """The first of some fields that a transport has."""

    def said(transport: Settings, queue: Settings, routing: Settings) -> str:
        del queue, routing
        found = next((transport[name] for name in names if name in transport), None)
        return f"{found} packets" if type(found) is int else _time(found) or text.NONE

    return said


def _handshake(transport: Settings, queue: Settings, routing: Settings) -> str:
    del queue, routing
    return "one round trip before data" if transport.get("handshake") else "none: data at once"


def _delayed(transport: Settings, queue: Settings, routing: Settings) -> str:
    del queue, routing
    every = transport.get("delayed_ack")
    if every in (None, 1):
        return "each packet"
    return f"every {every} packets, or after {_time(transport.get('delayed_ack_timeout', text.NONE))}"


def _least_rate(transport: Settings, queue: Settings, routing: Settings) -> str:
    del queue, routing
    if "min_rate" in transport:
        return inline(transport["min_rate"])
    congestion = transport.get("congestion")
    controls = congestion.values() if isinstance(congestion, Mapping) else ()
    derived = any(isinstance(control, Mapping) and "min_rate" in control for control in controls)
    return "rate of the port / 1000" if derived else text.NONE


def _buffer(transport: Settings, queue: Settings, routing: Settings) -> str:
    del transport, routing
    # What flow control holds back is at least what a port may queue.
    names = ("limit", "data_limit", "xoff", "short_buffer")
    found = next((queue[name] for name in names if name in queue), "no limit")
    if not isinstance(found, Mapping):
        return inline(found)
    return ", ".join(
        f"{inline(number)} {unit}" if unit != "bytes" else inline(number) for unit, number in found.items()
    )


def _paths(transport: Settings, queue: Settings, routing: Settings) -> str:
    del queue
    subflows = f", {transport['subflows']} subflows" if transport.get("subflows") else ""
    return variant(routing.get("balancer")).main + subflows


# By name: the meaning, and what is said of a transport, a queue and a balancer.
SETTINGS: dict[str, tuple[str, Callable[[Settings, Settings, Settings], str]]] = {
    "handshake": ("A lone short flow with a handshake takes twice as long as one without.", _handshake),
    "paths": ("Choice of a path: by flow collides, by packet reorders.", _paths),
    "payload": ("Payload of a full packet.", _payload),
    "header": (
        "Bytes on the wire besides the payload of a packet: they lower goodput.",
        _first("header_bytes"),
    ),
    "initial window": (
        "Packets or bytes before the first answer: short flows end within it.",
        _first("initial_window"),
    ),
    "buffer": ("Room of a port: it is the longest queueing delay, and decides losses.", _buffer),
    "minimum RTO": (
        "Shortest retransmission timeout: a loss that nothing else repairs costs it.",
        _first("rto_min", "rto", "timeout"),
    ),
    "minimum rate": (
        "Rate at which a control leaves the flows of a crowd: those that last longer climb from there.",
        _least_rate,
    ),
    "acknowledgements": ("Delayed ones slow the growth of windows.", _delayed),
}
