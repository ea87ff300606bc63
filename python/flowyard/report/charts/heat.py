"""The heat map of links: a strip of cells for each tier, a cell for each link, coloured by one of four numbers.

In a strip, the links of one switch stand in a row or a column: of the switch that sends, or of the one that receives
where each sender has only one link, as hosts have. A tier with more links than its share of MOST_CELLS has a cell
for each of those switches, and with still more switches a cell for several; such a cell has the colour of its worst
link.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from flowyard import text
from flowyard.forks import pl
from flowyard.report import charts
from flowyard.run_data import Run

# Cells of all heat maps of a page together.
MOST_CELLS = 7200
# Cells side by side.
MOST_ACROSS = 128
# Steps of the colour scale; page.css has var(--heat-1) to var(--heat-7), and --heat-0 for nothing at all.
STEPS = 7
# Heights in pixels: of a tier's name, of all its rows together, of the least and the largest row.
HEAD, STRIP, LEAST, LARGEST = 24, 96, 4, 18

NUMBERS = ("utilisation", "queue_mean_bytes", "queue_max_bytes", "drops", "trims", "marks", "paused_ps")


@dataclass(frozen=True)
class Metric:
    """A number that colours stand for; `term` is a key of terms.TERMS, `most` the end of the scale in words."""

    key: str
    name: str
    term: str
    most: str


@dataclass(frozen=True)
class Map:
    """The heat map of a run.

    Attributes:
        spec: Vega-Lite data; its parameter `metric` is the key of a Metric, its parameter `pick` a cell's number.
        cell_of: The number of each link's cell.
        merged: What the cells of tiers stand for that have too many links to draw; empty if all are drawn.
    """

    spec: charts.Spec
    cell_of: dict[int, int]
    merged: list[str]


def metrics(runs: Sequence[Run]) -> list[Metric]:
    """The numbers to choose from, with one scale for all runs, from 0 to the largest."""
    tops = _tops(runs)
    stops = any(run.pauses for run in runs)
    return [
        Metric("utilisation", "utilisation", "utilisation", text.percent(tops["utilisation"])),
        Metric("queue_mean_bytes", "mean queue", "queue_mean", text.size(tops["queue_mean_bytes"])),
        Metric("queue_max_bytes", "largest queue", "queue_max", text.size(tops["queue_max_bytes"])),
        Metric("trouble", "drops + trims + marks", "trouble", text.count(round(tops["trouble"]))),
        *([Metric("paused_ps", "time paused", "paused", text.duration(tops["paused_ps"]))] if stops else []),
    ]


def maps(runs: Sequence[Run]) -> list[Map | None]:
    """The heat map of each run; None if no link carried a packet."""
    tops = _tops(runs)
    room = max(1, MOST_CELLS // sum(max(1, run.links["tier"].n_unique()) for run in runs))
    return [_map(run, tops, room) if run.links["packets"].sum() else None for run in runs]


def _tops(runs: Sequence[Run]) -> dict[str, float]:
    links = pl.concat(
        [_with_trouble(run.links).select(*NUMBERS, "trouble") for run in runs], how="vertical_relaxed"
    )
    return {name: float(value or 0) for name, value in links.max().row(0, named=True).items()}


def _with_trouble(links: pl.DataFrame) -> pl.DataFrame:
    return links.with_columns(trouble=pl.sum_horizontal("drops", "trims", "marks"))


def _map(run: Run, tops: dict[str, float], room: int) -> Map:
    links = _with_trouble(run.links).sort("id")
    cells: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    cell_of: dict[int, int] = {}
    merged: list[str] = []
    y = 0.0
    for (tier,), table in links.group_by("tier", maintain_order=True):
        by, switches = _groups(table)
        parts = list(_cells(switches, room))
        if parts[0].links.height > 1 or len(parts) < table.height:
            per = math.ceil(len(switches) / len(parts))
            merged.append(f"{tier}: a cell is {f'{per} {by} switches' if per > 1 else f'a {by} switch'}")
        columns, rows = _shape(parts, len(switches))
        height = min(LARGEST, max(LEAST, STRIP / rows))
        heads.append({"y": y + HEAD - 6, "tier": f"{tier}: {text.counted(table.height, 'link')}"})
        for part in parts:
            column, row = part.place(columns, rows, len(switches))
            number = len(cells)
            cells.append(
                {
                    "k": number,
                    "x": charts.rounded(column / columns),
                    "x2": charts.rounded((column + 1) / columns),
                    "y": charts.rounded(y + HEAD + row * height),
                    "y2": charts.rounded(y + HEAD + (row + 1) * height),
                    **part.numbers(),
                }
            )
            cell_of |= dict.fromkeys(part.links["id"].to_list(), number)
        y += HEAD + rows * height
    return Map(_spec(cells, heads, math.ceil(y) + 2, tops), cell_of, merged)


@dataclass(frozen=True)
class _Cell:
    """Links that share a cell; `switch` and `member` count the switch and the link within it, or are the cell's own."""

    links: pl.DataFrame
    switch: int
    member: int
    alone: bool

    def place(self, columns: int, rows: int, switches: int) -> tuple[int, int]:
        """Column and row: the longer side lies across."""
        if not self.alone or switches == 1:
            index = self.member if switches == 1 and self.alone else self.switch
            return index % columns, index // columns
        return (
            (self.switch, self.member)
            if columns == switches and rows != switches
            else (self.member, self.switch)
        )

    def numbers(self) -> dict[str, Any]:
        """Values of a cell: the largest of its links in each number."""
        order = ("trouble", "queue_max_bytes", "utilisation")
        count = self.links.height
        worst = (self.links.sort(*order, descending=True) if count > 1 else self.links).row(0, named=True)
        most = self.links.max().row(0, named=True) if count > 1 else worst
        name = f"{worst['from']} → {worst['to']}"
        shown = {key: charts.rounded(most[key]) for key in (*NUMBERS, "trouble")}
        return {"link": name if count == 1 else f"worst of {count:,}: {name}", **shown}


def _groups(table: pl.DataFrame) -> tuple[str, list[pl.DataFrame]]:
    """The links of a tier by switch, and which end that is."""
    by = "receiving" if table["from"].n_unique() == table.height > table["to"].n_unique() else "sending"
    end = "to" if by == "receiving" else "from"
    return by, [part for _, part in table.group_by(end, maintain_order=True)]


def _cells(switches: list[pl.DataFrame], room: int) -> Iterator[_Cell]:
    if sum(switch.height for switch in switches) <= room:
        for number, switch in enumerate(switches):
            for member in range(switch.height):
                yield _Cell(switch[member], number, member, alone=True)
        return
    per = math.ceil(len(switches) / room)
    for number, first in enumerate(range(0, len(switches), per)):
        yield _Cell(pl.concat(switches[first : first + per]), number, 0, alone=False)


def _shape(parts: list[_Cell], switches: int) -> tuple[int, int]:
    """Columns and rows."""
    members = 1 + max(part.member for part in parts)
    if not parts[0].alone or switches == 1:
        columns = min(len(parts), MOST_ACROSS)
        return columns, math.ceil(len(parts) / columns)
    return max(switches, members), min(switches, members)


def _spec(
    cells: list[dict[str, Any]], heads: list[dict[str, Any]], height: int, tops: dict[str, float]
) -> charts.Spec:
    step = f"min({STEPS}, 1 + floor({STEPS} * datum[metric] / tops[metric]))"
    shade = f"'var(--heat-' + (datum[metric] > 0 ? {step} : 0) + ')'"

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False))

    kinds = {
        "utilisation": "share",
        "queue_mean_bytes": "bytes",
        "queue_max_bytes": "bytes",
        "paused_ps": "duration",
    }
    names = {
        "queue_mean_bytes": "mean queue",
        "queue_max_bytes": "largest queue",
        "paused_ps": "time paused",
    }
    told = [name for name in NUMBERS if name != "paused_ps" or tops[name]]
    tooltip = [
        alt.Tooltip("link:N", format="", formatType="label"),
        *(charts.tip(name, kinds.get(name, "count"), names.get(name, name)) for name in told),
    ]
    cell = (
        charts.chart_of("cells")
        .transform_calculate(shade=shade)
        .mark_rect(aria=False)
        .encode(
            x=x("x"),
            x2="x2:Q",
            y=y("y"),
            y2="y2:Q",
            color=alt.Color("shade:N", scale=None),
            stroke=alt.condition("datum.k === pick", alt.value("var(--ink)"), alt.value("var(--surface)")),
            strokeWidth=alt.condition("datum.k === pick", alt.value(2.5), alt.value(0.5)),
            tooltip=tooltip,
        )
    )
    head = (
        charts.chart_of("heads")
        .mark_text(align="left", fontSize=11.5, color="var(--muted)")
        .encode(x=alt.value(0), y=y("y"), text="tier:N")
    )
    params = {"metric": "utilisation", "tops": tops, "pick": None}
    return charts.spec_of([cell, head], height, params, cells=cells, heads=heads)
