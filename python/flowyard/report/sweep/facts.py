"""Facts of a sweep: its axes, and the scenarios of all points merged into one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flowyard import text
from flowyard.report.run import facts
from flowyard.report.sweep.axis_types import value_label
from flowyard.sweeps.tables import Sweep

# Values that are listed.
MOST_VALUES = 12


def facts_of(sweep: Sweep, common: Mapping[str, Any]) -> list[facts.Fact]:
    """The axes, the runs, and the main parts of what all scenarios have in common."""
    done, points = int(sweep.runs["done"].sum()), len(sweep.runs) // max(sweep.replicas, 1)

    def row(name: str, title: str, cell: facts.Cell) -> facts.Fact:
        return facts.Fact(name, title, [cell])

    rows = [
        row(
            f"Axis: {name}", "Values that the runs differ by.",
            facts.Cell(listed(values)),
        )
        for name, values in sweep.axes.items()
    ]  # fmt: skip
    rows += [
        row(
            "Runs", "Done of planned. A point is one combination of the axes' values.",
            facts.Cell(
                f"{done:,} of {len(sweep.runs):,}",
                f"{points:,} points with {text.counted(sweep.replicas, 'replica')} each"
                if points > 1
                else "all of one scenario",
            ),
        ),
        row("Topology", "The network.", facts.variant(common["topology"])),
        row("Transport", "Transport protocol of the hosts.", facts.variant(common["transport"])),
        row("Queue", "Queue discipline of the ports.", facts.variant(common.get("queue"))),
        row(
            "Load balancing", "The choice among a packet's equal-cost next hops.",
            facts.variant(common["routing"].get("balancer") if isinstance(common["routing"], dict) else None),
        ),
        *(row(*words, facts.variant(common[part])) for part, words in facts.RARE.items() if common.get(part)),
        *(
            row("Traffic", "Flows: their senders, receivers, sizes and start times.", cell)
            for cell in _traffic(common["traffic"])
        ),
        row("Seed", "Seed of every random stream, with the replica.", facts.Cell(_member(common["run"], "seed"))),
        row("Engine", "Version of Flowyard, and a hash of the engine's code.", facts.Cell(sweep.engine)),
    ]  # fmt: skip
    return rows


def merged(values: Sequence[Any]) -> Any:
    """Several scenarios as one: where they differ, the text of a field lists what it is in each."""
    distinct = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    if len(distinct) == 1:
        return distinct[0]
    if all(isinstance(value, dict) for value in distinct):
        keys = list(dict.fromkeys(key for value in distinct for key in value))
        # A table of one member is one of several variants; different ones have nothing in common.
        if all(len(value) == 1 for value in distinct) and len(keys) > 1:
            return _list([str(next(iter(value))) for value in distinct])
        return {key: merged([value.get(key) for value in distinct]) for key in keys}
    if all(isinstance(value, list) for value in distinct) and len({len(value) for value in distinct}) == 1:
        return [merged(members) for members in zip(*distinct, strict=True)]
    return _list([facts.inline(value) or "none" for value in distinct])


def listed(values: Sequence[Any]) -> str:
    """Values of an axis in a line, the first few of many."""
    return _list([value_label(value) for value in values], ", ")


def _list(values: Sequence[str], joint: str = " / ") -> str:
    names = list(dict.fromkeys(values))
    more = f" … {len(names):,} in all" if len(names) > MOST_VALUES else ""
    return joint.join(names[:MOST_VALUES]) + more


def _traffic(entries: Any) -> list[facts.Cell]:
    if not isinstance(entries, list):
        # Numbers of entries differ.
        return [facts.Cell("differs", str(entries))]
    cells = []
    for entry in entries:
        if not isinstance(entry, dict):
            cells.append(facts.Cell(str(entry)))
            continue
        settings = [
            f"{key} {facts.inline(value)}"
            for key, value in entry.items()
            if key != "name" and value not in (None, False)
        ]
        cells.append(facts.Cell(_member(entry, "name"), "; ".join(settings)))
    return cells


def _member(table: Mapping[str, Any], key: str) -> str:
    return facts.inline(table.get(key)) or text.NONE
