"""Where the nodes of a small network stand in its picture, so that it looks as in the thesis."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Place = tuple[float, float]
SERVER, SWITCHES = style.COLOURS[6], style.COLOURS


def draw(axes: "Axes", title: str, cables: pl.DataFrame) -> None:
    """Servers as small dots, switches as squares with a colour for each tier, cables as lines.

    Args:
        axes: To draw on.
        title: Above it.
        cables: from, to (names), from_tier, to_tier.
    """
    tier: dict[str, str] = {}
    for start, end, start_tier, end_tier in cables.select("from", "to", "from_tier", "to_tier").iter_rows():
        tier |= {start: start_tier, end: end_tier}
    ends = list(cables.select("from", "to").iter_rows())
    places = _places(tier, ends)
    torus = set(tier.values()) == {"host"}
    for start, end in ends:
        (x, y), (u, v) = places[start], places[end]
        # The cables around a torus would hide the rest: dotted, and bent away.
        around = torus and math.dist((x, y), (u, v)) > 1.5
        axes.annotate(
            "",
            (x, y),
            (u, v),
            arrowprops={
                "arrowstyle": "-",
                "color": "#b0b0b0" if around else "#808080",
                "linewidth": 0.5 if around or len(ends) > 60 else 0.8,
                "linestyle": ":" if around else "-",
                "connectionstyle": f"arc3,rad={0.18 if around else 0}",
                "shrinkA": 0,
                "shrinkB": 0,
            },
            zorder=1,
        )
    for place, name in enumerate(sorted(set(tier.values()), key=_row)):
        nodes = [node for node in tier if tier[node] == name]
        few = len(nodes) <= 40
        host = name == "host"
        axes.scatter(
            [places[node][0] for node in nodes],
            [places[node][1] for node in nodes],
            s=(16 if few else 4) if host else 42,
            marker="o" if host else "s",
            color=SERVER if host else SWITCHES[place - 1],
            label="server" if host else name,
            zorder=2,
        )
    axes.set(title=title)
    axes.margins(0.06, 0.12)
    axes.axis("off")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.2), ncols=4, fontsize=7, handletextpad=0.2)


def _row(tier: str) -> int:
    """Tiers from the servers up; what has no place here is a BCube's level."""
    order = ("host", "switch", "access", "edge", "top-of-rack", "aggregation", "core", "intermediate")
    return order.index(tier) if tier in order else len(order) + int(tier.rpartition(" ")[2])


def _places(tier: Mapping[str, str], ends: Sequence[tuple[str, str]]) -> dict[str, Place]:
    hosts = [node for node in tier if tier[node] == "host"]
    hosts.sort(key=_number)
    if len(hosts) == len(tier):
        return _cube(hosts)
    if any(tier[a] == tier[b] == "host" for a, b in ends):
        return _circle(tier, ends)
    rows: dict[str, list[str]] = {}
    for node in tier:
        rows.setdefault(tier[node], []).append(node)
    places = {}
    for height, name in enumerate(sorted(rows, key=_row)):
        for at, node in enumerate(sorted(rows[name], key=_numbers)):
            places[node] = ((at + 0.5) / len(rows[name]), float(height))
    return places


def _number(node: str) -> int:
    return int(node.rpartition(" ")[2])


def _numbers(node: str) -> list[int]:
    """In the order of pods first."""
    return [int(word) for word in node.split() if word.isdigit()]


def _cube(hosts: Sequence[str]) -> dict[str, Place]:
    """A cube seen from the side."""
    side = round(len(hosts) ** (1 / 3))
    places = {}
    for at, host in enumerate(hosts):
        x, y, z = at // side**2, at // side % side, at % side
        places[host] = (x + 0.42 * y, z + 0.33 * y)
    return places


def _circle(tier: Mapping[str, str], ends: Sequence[tuple[str, str]]) -> dict[str, Place]:
    """Cells around a circle: the switch outside, its servers before it."""
    cells: dict[str, list[str]] = {}
    for a, b in ends:
        if "host" in (tier[a], tier[b]) and tier[a] != tier[b]:
            switch, host = (a, b) if tier[b] == "host" else (b, a)
            cells.setdefault(switch, []).append(host)
    places = {}
    for at, switch in enumerate(sorted(cells, key=_number)):
        middle = math.tau * (0.25 - at / len(cells))
        places[switch] = (1.35 * math.cos(middle), 1.35 * math.sin(middle))
        width = 0.7 * math.tau / len(cells)
        for number, host in enumerate(sorted(cells[switch], key=_number)):
            angle = middle + width * (0.5 - (number + 0.5) / len(cells[switch]))
            places[host] = (math.cos(angle), math.sin(angle))
    return places
