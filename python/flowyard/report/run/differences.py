"""Differences between scenarios: labels of runs, and the first rows of a comparison.

Where scenarios have different members (NDP here, TCP there) the member is the difference, not all of its fields; those
with the same one are then compared with each other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from flowyard import text
from flowyard.member_names import member_name
from flowyard.report.run.facts import Cell, Fact, inline, without_repeats

# What goes without the name of its field: nothing else has such values.
SPEAKING = ("transport", "congestion", "topology", "balancer")
# Fields that a label has at most.
IN_A_LABEL = 3
# Events of a scenario's faults that are said in a line.
EVENTS = 3


_ORDER = {"transport": 0, "routing": 2, "queue": 2, "agent": 2}


class _Elsewhere:
    """In place of a field that a scenario cannot have, because it has another member there."""


_ELSEWHERE = _Elsewhere()


@dataclass(frozen=True)
class Field:
    """A field in which scenarios differ.

    Attributes:
        path: Where it is, as `--set` takes it.
        name: The end of its path that no other differing field has.
        values: The value in each scenario; None in those that have another member above it.
    """

    path: str
    name: str
    values: list[str | None]

    def said(self, i: int) -> str:
        """The field and its value in the i-th scenario; empty if it has none there."""
        value = self.values[i]
        if value is None:
            return ""
        return value if self.path.rpartition(".")[2] in SPEAKING else f"{self.name} {value}"


def differences(scenarios: Sequence[Mapping[str, Any]]) -> list[Field]:
    """The fields in which scenarios differ, but for names and threads, in the order of the first that has them."""
    plain = [_plain(scenario) for scenario in scenarios]
    # The transport first, and last what follows from it in scenarios that do not name it.
    found = sorted(_leaves(plain, ()), key=lambda leaf: _ORDER.get(leaf[0][0], 1))
    paths = [steps for steps, _ in found]
    fields = [
        Field(".".join(steps), _shortest(steps, paths), [_text(steps, value) for value in values])
        for steps, values in found
    ]
    # Beside NDP, TCP goes by its congestion control: that it is another then says no more.
    return [
        field for i, field in enumerate(fields) if not any(_repeats(field, other) for other in fields[:i])
    ]


def _plain(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario without the fields that change no result."""
    plain = {**without_repeats(dict(scenario)), "name": None}
    if isinstance(run := plain.get("run"), dict):
        plain["run"] = {key: value for key, value in run.items() if key != "threads"}
    return plain


def _repeats(field: Field, other: Field) -> bool:
    both = field.path.startswith(f"{other.path}.") and field.path.rpartition(".")[2] in SPEAKING
    # A name may have that of its transport before it.
    return both and all(
        own is None or (above is not None and own == above.rpartition(" ")[2])
        for own, above in zip(field.values, other.values, strict=True)
    )


def rows(fields: Sequence[Field]) -> list[Fact]:
    """The fields as rows, a cell for each scenario."""
    return [Fact(field.path, "", [Cell(value or text.NONE) for value in field.values]) for field in fields]


def distinguishing(scenarios: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """For each scenario the few fields that tell it from all others; None if there are no such few."""
    left, chosen = differences(scenarios), list[Field]()

    def labels(fields: Sequence[Field]) -> list[str]:
        return [", ".join(filter(None, (field.said(i) for field in fields))) for i in range(len(scenarios))]

    def told_apart(fields: Sequence[Field]) -> int:
        return len(set(labels(fields)) - {""})

    while left and len(chosen) < IN_A_LABEL:
        best = max(left, key=lambda field: told_apart([*chosen, field]))
        chosen.append(best)
        left.remove(best)
        if told_apart(chosen) == len(scenarios):
            return labels(chosen)
    return None


def _leaves(values: Sequence[Any], steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    here = [value for value in values if value is not _ELSEWHERE]
    if all(value == here[0] for value in here):
        return
    tags = [_tag(value) for value in here]
    if any(map(_single, here)) and all(tags):
        yield steps, list(values)
    elif all(isinstance(value, dict) and value for value in here) and (len(set(tags)) == 1 or not all(tags)):
        for key in dict.fromkeys(key for value in here for key in value):
            yield from _leaves(_each(values, partial(_member, key)), (*steps, key))
    elif _alike(here):
        for i, member in enumerate(here[0]):
            name = str(member.get("name", i))
            yield from _leaves(_each(values, itemgetter(i)), (*steps, name))
    else:
        variants = any(isinstance(value, dict) for value in here) and all(tags)
        yield steps, _each(values, lambda value: member_name(value) if variants else value)
        if variants:
            for tag in dict.fromkeys(tags):
                own = [
                    value[tag] if isinstance(value, dict) and _tag(value) == tag else _ELSEWHERE
                    for value in values
                ]
                if any(value is not _ELSEWHERE for value in own):
                    yield from _leaves(own, (*steps, str(tag)))


def _each(values: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    return [value if value is _ELSEWHERE else change(value) for value in values]


def _member(key: str, table: dict[str, Any]) -> Any:
    return table.get(key)


def _tag(value: Any) -> str | None:
    """The member's name, if the value may be one of several members: a word, or a table of one key."""
    if isinstance(value, dict) and len(value) == 1:
        return str(next(iter(value)))
    return value if isinstance(value, str) else None


def _single(value: Any) -> bool:
    """Whether the value is a unit or a member with one number or word, such as {"packets": 100}."""
    return (
        isinstance(value, dict)
        and len(value) == 1
        and isinstance(next(iter(value.values())), str | int | float)
    )


def _alike(lists: Sequence[Any]) -> bool:
    """Whether these are lists of as many tables of the same names."""
    if not all(isinstance(value, list) and value for value in lists):
        return False
    if not all(isinstance(member, dict) for value in lists for member in value):
        return False
    return len({tuple(member.get("name") for member in value) for value in lists}) == 1


def _shortest(steps: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> str:
    for length in range(1, len(steps)):
        if sum(other[-length:] == steps[-length:] for other in others) == 1:
            return " ".join(steps[-length:])
    return " ".join(steps)


def _text(steps: tuple[str, ...], value: Any) -> str | None:
    if value is _ELSEWHERE:
        return None
    if value is None:
        return "none"
    if steps == ("faults",):
        return _faults(value)
    if steps == ("observe",):
        return ", ".join(value)
    if steps == ("traffic",):
        return ", ".join(str(entry.get("name")) for entry in value)
    if _single(value):
        ((tag, given),) = value.items()
        return f"{tag} {given}" if isinstance(given, str) else f"{inline(given)} {tag}"
    return inline(value) or "defaults"


def _faults(faults: Mapping[str, Any]) -> str:
    events = faults.get("events") or []
    said = [f"{inline(event.get('change'))} at {event.get('at')}" for event in events[:EVENTS]]
    return ", ".join(said) + (f" and {len(events) - EVENTS} more" if len(events) > EVENTS else "")
