"""Schedules as pictures: who had the link when, and who was done in time (a Gantt chart)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flowyard.forks import pl
from flowyard.papers import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from flowyard.slotted import Result

# More rows are no picture.
MOST_FLOWS = 100
LATE, OWN = "#b3261e", "#0072b2"


def picture(results: "Mapping[str, Result]", names: Mapping[int, str] | None = None) -> "Figure":
    """A panel for each result, a row for each flow.

    A bar is the time on the link, paler the smaller the share; a thin line goes from arrival to deadline, and ends
    with a cross if the flow was not done.

    Args:
        results: By title; each with `run.schedule`, of one set.
        names: Of flows, by number; default f0, f1, ...
    """
    rows = {title: pl.DataFrame(result.flows).sort("flow") for title, result in results.items()}
    most = max(len(flows) for flows in rows.values())
    if most > MOST_FLOWS:
        raise ValueError(f"{most} flows; a picture shows at most {MOST_FLOWS}")
    with style.rules():
        figure, panels = style.panels(len(rows), 1, size=(7.5, 0.9 + 0.3 * most))
        for (title, flows), axes in zip(rows.items(), panels, strict=True):
            draw(axes, flows, pl.DataFrame(results[title].schedule), names or {})
            axes.set_title(f"{title}: {flows['done'].sum()} of {len(flows)} in time", loc="left")
        panels[-1].set_xlabel("slot")
    return figure


def draw(axes: "Axes", flows: pl.DataFrame, schedule: pl.DataFrame, names: Mapping[int, str]) -> None:
    """One schedule in a panel."""
    place = {flow: row for row, flow in enumerate(flows["flow"])}
    last = max(int(flows["end_slot"].max() or 0), 1)  # type: ignore[arg-type]
    for flow in flows.iter_rows(named=True):
        row, colour = place[flow["flow"]], OWN if flow["done"] else LATE
        start = flow["arrival_slot"]
        due = start + flow["deadline"] if flow["deadline"] is not None else None
        axes.plot(
            [start, due if due is not None else last], [row, row], color=colour, linewidth=0.8, alpha=0.5
        )
        if due is not None:
            axes.plot(due, row, "|" if flow["done"] else "x", color=colour, markersize=7)
    for part in schedule.iter_rows(named=True):
        row = place[part["flow"]]
        colour = OWN if flows["done"][row] else LATE
        width = part["end_slot"] - part["start_slot"]
        axes.barh(row, width, 0.62, part["start_slot"], color=colour, alpha=0.25 + 0.75 * part["share"])
    labels = [names.get(flow, f"f{flow}") for flow in flows["flow"]]
    axes.set_yticks(list(place.values()), labels)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
