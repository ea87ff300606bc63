"""Flows between formats: columns by traffic entry, as `[[traffic]]` has them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowyard.interchange.text import time_text

# Most flows of a scenario, and most entries.
FLOWS_MAX, ENTRIES_MAX = 10_000_000, 1000


@dataclass
class Triggers:
    """Triggers: flows that start when others have ended.

    Attributes:
        kinds: What each trigger does: "once", "each" or {"barrier": count}, by its number.
        starts: The trigger that starts a flow, by the flow's place in its entry.
        fires: (flow's place in its entry, "acked" or "received", trigger).
    """

    kinds: dict[int, str | dict[str, int]] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    fires: list[tuple[int, str, int]] = field(default_factory=list)

    def stuck(self, flows: int) -> tuple[list[int], dict[int, int]]:
        """Of so many flows those that no order of events starts, and how often the others fire each trigger."""
        firing: dict[int, list[int]] = {}
        for flow, _, trigger in self.fires:
            firing.setdefault(flow, []).append(trigger)
        waiting: dict[int, list[int]] = {}
        for flow, trigger in sorted(self.starts.items()):
            waiting.setdefault(trigger, []).append(flow)
        fired = dict.fromkeys(self.kinds, 0)
        # Grows as flows follow from it.
        started = [flow for flow in range(flows) if flow not in self.starts]
        for flow in started:
            for trigger in firing.get(flow, ()):
                fired[trigger] += 1
                kind, queue = self.kinds[trigger], waiting.get(trigger, [])
                if isinstance(kind, dict) and fired[trigger] < kind["barrier"]:
                    continue
                count = 1 if kind == "each" else len(queue)
                started += queue[:count]
                del queue[:count]
        return sorted(flow for queue in waiting.values() for flow in queue), fired

    def why_stuck(self, flow: int, fired: dict[int, int]) -> str:
        """Why nothing starts a flow."""
        trigger = self.starts[flow]
        kind, count = self.kinds[trigger], fired[trigger]
        what = f"waits for trigger {trigger}, which never starts it: the flows that can start fire it {count} times"
        if isinstance(kind, dict):
            return f"{what}, and its barrier needs {kind['barrier']}"
        if kind == "each" and count:
            return f"{what}, each time for one flow, and more wait"
        return f"{what}, as those that fire it wait for each other"


@dataclass
class Entry:
    """Flows that belong together; a list has a value for each.

    Attributes:
        name: The entry's name in the scenario.
        src: The hosts that send, by number.
        dst: The hosts that receive.
        size_bytes: The payloads; not used if `endless`.
        start_ps: The starts; not used for a flow that waits for a trigger.
        endless: Whether the flows go on until the rest has ended; they are background then.
        triggers: What starts flows when others have ended.
        deadline_ps: When each flow is due, from its start on; None if it never is.
        kept: Whether flows between two hosts are messages on one connection.
    """

    name: str
    src: list[int] = field(default_factory=list)
    dst: list[int] = field(default_factory=list)
    size_bytes: list[int] = field(default_factory=list)
    start_ps: list[int] = field(default_factory=list)
    endless: bool = False
    triggers: Triggers = field(default_factory=Triggers)
    kept: bool = False
    deadline_ps: int | None = None

    def __len__(self) -> int:
        return len(self.src)

    def numbers(self) -> list[int]:
        """The number that each flow has in the scenario's entry: by start, or as listed if flows wait for others."""
        places = list(range(len(self)))
        if self.triggers.starts or self.triggers.fires:
            return places
        numbers = list(places)
        for number, place in enumerate(sorted(places, key=self.start_ps.__getitem__)):
            numbers[place] = number
        return numbers

    def traffic(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """As an entry of a scenario's `traffic`.

        Args:
            names: The names of hosts, by number, where they have some of their own.
        """
        entry: dict[str, Any] = {"name": self.name}
        if self.kept:
            entry["connection"] = "kept"
        entry["arrivals"] = self._arrivals()
        ends = (map(names.__getitem__, side) if names else side for side in (self.src, self.dst))
        entry["matrix"] = {"pairs": [list(pair) for pair in zip(*ends, strict=True)]}
        if self.endless:
            entry |= {"sizes": "endless", "background": True}
        else:
            entry["sizes"] = {"list": self.size_bytes}
        if self.deadline_ps is not None:
            entry["deadline"] = time_text(self.deadline_ps)
        return entry

    def by_deadline(self, deadlines: Sequence[int | None]) -> "list[Entry]":
        """An entry for each deadline of a flow: a scenario's entry has one."""
        found: dict[int | None, Entry] = {}
        for flow, deadline in enumerate(deadlines):
            name = self.name if deadline is None else f"{self.name}-due-{time_text(deadline)}"
            own = found.setdefault(deadline, Entry(name, deadline_ps=deadline))
            for ours, all_of_them in (
                (own.src, self.src),
                (own.dst, self.dst),
                (own.size_bytes, self.size_bytes),
                (own.start_ps, self.start_ps),
            ):
                ours.append(all_of_them[flow])
        return list(found.values())

    def _arrivals(self) -> dict[str, Any]:
        triggers = self.triggers
        if not (triggers.starts or triggers.fires):
            return {"times": {"at": [time_text(ps) for ps in self.start_ps], "jitter": "0s"}}
        starts: list[Any] = [time_text(ps) for ps in self.start_ps]
        for flow, trigger in triggers.starts.items():
            starts[flow] = {"trigger": trigger}
        return {
            "triggers": {
                "starts": starts,
                "fires": [
                    {"flow": flow, "event": event, "trigger": trigger}
                    for flow, event, trigger in triggers.fires
                ],
                "list": [{"id": number, "kind": kind} for number, kind in triggers.kinds.items()],
                # Peers let a trigger act at once; across hosts a picosecond is the least there is.
                "notify": "1ps",
            }
        }


@dataclass
class Traffic:
    """All flows of a file.

    Attributes:
        entries: The entries, each with a name of its own.
        hosts: How many hosts the file says there are, if it does.
        notes: What was assumed or left out.
    """

    entries: list[Entry]
    hosts: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def flows(self) -> int:
        """Number of flows."""
        return sum(len(entry) for entry in self.entries)

    @property
    def total_bytes(self) -> int:
        """Payload of all flows that end."""
        return sum(sum(entry.size_bytes) for entry in self.entries if not entry.endless)

    def by_start(self) -> Iterator[tuple[Entry, int]]:
        """(entry, place in it) of all flows: by start, then as listed, those that wait for triggers last."""
        rows = [
            (place in entry.triggers.starts, entry.start_ps[place], number, place)
            for number, entry in enumerate(self.entries)
            for place in range(len(entry))
        ]
        rows.sort()
        return ((self.entries[number], place) for _, _, number, place in rows)


# Tells how many of all lines or flows are done.
Progress = Callable[[int, int], object]


def silent(_done: int, _total: int) -> None:
    """No progress shown."""


# Lines or flows from one word about progress to the next.
STEP = 1 << 14
