"""Omissions of quick scale for each figure, computed from its plans at both scales."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from flowyard.papers.figure import Figure, Scale
from flowyard.sweeps.plan import Plan

if TYPE_CHECKING:
    from flowyard.papers.catalogue import Selection
    from flowyard.sweeps.task import Planned

NOTHING = "nothing"
# Fields of one block of a scenario, such as traffic, that are named one by one.
MOST_FIELDS = 4


def by_claim(selection: "Selection", scale: Scale) -> dict[str, str]:
    """Omissions of a scale, by the claims that a selection's figures check; empty at full scale."""
    if scale is Scale.FULL:
        return {}
    return {
        claim: text
        for _, figure in selection.figures
        for text in (omissions_of(figure),)
        for claim in figure.claims
    }


def omissions_of(figure: Figure) -> str:
    """Reductions of a figure at quick scale, such as "2 of 10 replicas; slots 200,000 for 1,000,000"."""
    said: dict[str, list[str]] = {}
    if figure.plans:
        quick, full = figure.plans(Scale.QUICK), figure.plans(Scale.FULL)
        for name, plan in full.items():
            text = "; ".join(_less(quick[name], plan)) if name in quick else "not run"
            if text:
                said.setdefault(text, []).append(name)
    # Plans that leave out the same are told once.
    parts = [
        text if len(full) == len(names) else f"{', '.join(names)}: {text}" for text, names in said.items()
    ]
    return "; ".join([*parts, *([figure.quick] if figure.quick else [])]) or NOTHING


def _less(quick: "Planned", full: "Planned") -> Iterator[str]:
    """In what one plan differs from the other."""
    small, large = quick.header(), full.header()
    if small["replicas"] != large["replicas"]:
        yield f"{small['replicas']} of {large['replicas']} replicas"
    places = {axis["name"]: axis["values"] for axis in small["axes"]}
    for axis in large["axes"]:
        name, all_values = axis["name"], axis["values"]
        values = places.get(name, [])
        if len(values) == len(all_values) == 1:
            if values != all_values:
                yield f"{name} {_said(values[0])} for {_said(all_values[0])}"
        elif values != all_values:
            yield f"{name} at {len(values)} of {len(all_values)} values"
    if isinstance(quick, Plan) and isinstance(full, Plan):
        moved = {key for plan in (quick, full) for axis in plan.axes for key in axis.set}
        known, said = _otherwise(quick, full, moved)
        yield from said
        for key, (before, after) in _different(quick.first(), full.first()).items():
            # The values of the axes are listed above.
            if key not in known and not any(_of(key, axis) for axis in moved):
                yield f"{key} {_said(before)} for {_said(after)}"


def _otherwise(quick: Plan, full: Plan, moved: Set[str]) -> tuple[set[str], list[str]]:
    """Fields that differ between the scales at the same values of an axis, and what is said of them.

    Args:
        quick: The smaller plan.
        full: The larger plan.
        moved: The fields that axes set: scenarios of other axes hold those of its first place, which no run keeps.
    """
    other = {axis.name: axis for axis in quick.axes}
    known: set[str] = set()
    said: list[str] = []
    for axis in full.axes:
        if axis.name not in other:
            continue
        mine = {value: other[axis.name].place(index) for index, value in enumerate(other[axis.name].values)}
        places = [
            (mine[value], axis.place(index)) for index, value in enumerate(axis.values) if value in mine
        ]
        found: dict[str, list[tuple[Any, Any]]] = {}
        for (less, small), (more, large) in places:
            kept = _different(small, large).items()
            fields = {key: values for key, values in kept if not any(_of(key, axis) for axis in moved)}
            for key, values in (fields | _different(less, more)).items():
                found.setdefault(key, []).append(values)
        known |= found.keys()
        said += _of_axis(axis.name, len(places), found)
    return known, said


def _of_axis(axis: str, places: int, found: Mapping[str, Sequence[tuple[Any, Any]]]) -> Iterator[str]:
    """Fields that differ at places of an axis: each with its two values, many of one block as their number."""
    blocks = Counter(key.partition(".")[0] for key in found)
    for block, fields in blocks.items():
        if fields > MOST_FIELDS:
            yield f"{block} differs in {fields} fields over the values of {axis}"
    for key, pairs in found.items():
        if blocks[key.partition(".")[0]] > MOST_FIELDS:
            continue
        before, after = pairs[0]
        change = f"{_said(before)} for {_said(after)}"
        if len(pairs) == places and all(pair == pairs[0] for pair in pairs):
            yield f"{key} {change}"
        else:
            which = "all" if len(pairs) == places else f"{len(pairs)} of"
            yield f"{key} differs at {which} {places} values of {axis}, such as {change}"


def _different(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    """The fields in which two scenarios, or parts of them, differ, with both values.

    The name of a scenario changes nothing.
    """
    small, large = (
        dict(_flat(part)) if isinstance(part, Mapping) else {"scenario": part} if part else {}
        for part in (before, after)
    )
    return {
        key: (small.get(key), large.get(key))
        for key in [*large, *(key for key in small if key not in large)]
        if key != "name" and small.get(key) != large.get(key)
    }


def _of(key: str, whole: str) -> bool:
    return key == whole or key.startswith(f"{whole}.")


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a scenario by the key that --set knows it by; lists of tables by their names or places."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value and all(isinstance(inner, Mapping) for inner in value):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{path}.{inner.get('name', place)}")
    else:
        yield path, value


def _said(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"a list of {len(value)}" if isinstance(value, list) else str(value)
