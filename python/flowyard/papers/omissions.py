"""Omissions of quick scale for each figure, computed from its plans at both scales."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flowyard.papers.figure import Figure, Scale
from flowyard.sweeps.plan import Plan

if TYPE_CHECKING:
    from flowyard.papers.catalogue import Selection
    from flowyard.sweeps.task import Planned

NOTHING = "nothing"


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
        yield from _otherwise(quick, full)
        before, after = dict(_flat(quick.first())), dict(_flat(full.first()))
        for key, value in after.items():
            # The name of a sweep changes nothing, and where runs stand on the axes is told above.
            if before.get(key) != value and key != "name" and not any(_of(key, axis) for axis in moved):
                yield f"{key} {_said(before.get(key))} for {_said(value)}"


def _otherwise(quick: Plan, full: Plan) -> Iterator[str]:
    """Values of an axis that differ between the scales at the same position."""
    other = {axis.name: axis for axis in quick.axes}
    for axis in full.axes:
        if axis.name not in other:
            continue
        mine = {value: other[axis.name].place(index) for index, value in enumerate(other[axis.name].values)}
        places = [
            (mine[value], axis.place(index)) for index, value in enumerate(axis.values) if value in mine
        ]
        for key in axis.set:
            if count := sum(less[0].get(key) != more[0][key] for less, more in places):
                yield f"another {key} at {count} of {len(places)} values of {axis.name}"
        if count := sum(less[1] != more[1] for less, more in places):
            yield f"another scenario at {count} of {len(places)} values of {axis.name}"


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
