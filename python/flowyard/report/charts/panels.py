"""Panels one above the other on one axis of time that zooms, for the charts of a flow and a port.

Widths are those of a picture in a paper; a page sets them to its own before it draws (charts.js).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowyard.report.charts import CONFIG, Spec, rounded

WIDTH = 900
# Room for the numbers of a vertical axis: the same in all panels, so that their times stand one above the other.
MARGIN = 58
# Points of a line that is drawn; of more the largest of each of so many spans.
POINTS = 1_500
US = 1e6
# Of a legend, in pixels: a letter of a wide font, the mark before a name, the space behind it, and by how much a letter
# may be wider than that of the font by which columns are placed.
LETTER, SWATCH, SPACE, WIDER = 7.0, 24, 10, 1.4

Row = dict[str, Any]


def micros(time_ps: int, start_ps: int) -> float:
    """A time in us from the start of what is shown."""
    return (time_ps - start_ps) / US


def time_axis(field: str = "t", *, last: bool, title: str) -> Spec:
    """The axis of time; its words stand below the last panel only."""
    axis = {
        "title": title if last else None,
        "labels": last,
        "ticks": last,
        "grid": True,
        "tickCount": 8,
        "labelSeparation": 6,
    }
    return {"field": field, "type": "quantitative", "axis": axis, "scale": {"nice": False, "zero": False}}


def value_axis(
    field: str,
    title: str,
    *,
    labels: str = ".3~s",
    domain: Sequence[float] | None = None,
    values: Sequence[float] = (),
) -> Spec:
    """A vertical axis of fixed width; `values` are those that have labels, if any are given."""
    axis: dict[str, Any] = {
        "title": title,
        "format": labels,
        "minExtent": MARGIN,
        "maxExtent": MARGIN,
        "titleX": -MARGIN,
        "tickCount": 4,
        "domain": False,
        "ticks": False,
    }
    if values:
        axis["values"] = list(values)
    scale = {"nice": True} if domain is None else {"domain": list(domain), "nice": False}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def legend(names: Iterable[str], columns: int = 6) -> Spec:
    """A legend above its panel; a narrower page has fewer columns of the same width (charts.js).

    A picture is drawn with the fonts of its reader, which may be wider than those by which its columns are placed:
    there are as many as have room for the longest name in a wide font, and the space between them grows with it.
    """
    longest = max(map(len, names), default=0)
    room = max(1, int(WIDTH // (longest * LETTER + SWATCH)))
    return {
        "orient": "top",
        "title": None,
        "labelLimit": 260,
        "columns": min(columns, room),
        "columnPadding": round(SPACE + longest * WIDER),
    }


def colours(field: str, chosen: Mapping[str, str], *, columns: int = 6) -> Spec:
    """A nominal colour with a legend above the panel, of names in the order of their colours."""
    scale = {"domain": list(chosen), "range": list(chosen.values())}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend(chosen, columns)}


def tips(**fields: str) -> list[Spec]:
    """Lines of a tooltip: the title of each field."""
    return [{"field": name, "title": title, "format": ""} for name, title in fields.items()]


def panel(name: str, height: int, layers: Sequence[Spec]) -> Spec:
    """A panel, which takes part in zooming by its name."""
    first, *others = ({**layer} for layer in layers)
    # The selection is bound to the scales of a view: that of the first layer.
    return {"width": WIDTH, "height": height, "layer": [{"name": name, **first}, *others]}


def stacked(panels: Sequence[Spec], datasets: Mapping[str, list[Row]]) -> Spec:
    """Panels as one chart with a common axis of time."""
    names = [each["layer"][0]["name"] for each in panels]
    zoom = {
        "name": "zoom",
        "select": {"type": "interval", "encodings": ["x"]},
        "bind": "scales",
        "views": names,
    }
    return {
        "vconcat": list(panels),
        "spacing": 14,
        "resolve": {
            "scale": {"x": "shared", "color": "independent", "shape": "independent"},
            "legend": {"color": "independent", "shape": "independent"},
        },
        "params": [zoom],
        "config": {**CONFIG, "legend": {"labelColor": "var(--ink)", "titleColor": "var(--muted)"}},
        "datasets": dict(datasets),
    }


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most about POINTS of a line: of each span the largest value."""
    if len(points) <= POINTS:
        return list(points)
    first, last = points[0][0], points[-1][0]
    span = (last - first) / POINTS or 1.0
    best: dict[int, tuple[float, float]] = {}
    for time, value in points:
        place = int((time - first) / span)
        if place not in best or value > best[place][1]:
            best[place] = (time, value)
    return list(best.values())


def line(points: Iterable[tuple[float, float]], **more: Any) -> list[Row]:
    """The rows of a line."""
    return [{"t": rounded6(time), "v": rounded(value), **more} for time, value in thinned(list(points))]


def rounded6(time: float) -> float:
    """A time in us to the picosecond."""
    return round(time, 6)
