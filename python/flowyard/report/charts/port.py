"""The picture of a port: its queue over time by flow, with drops, trims, marks and pauses."""

from collections import defaultdict
from collections.abc import Sequence

from flowyard.report.charts import Spec, rounded
from flowyard.report.charts.panels import (
    POINTS,
    Row,
    colours,
    micros,
    panel,
    rounded6,
    stacked,
    time_axis,
    tips,
    value_axis,
)
from flowyard.why import Port
from flowyard.why.ports import Change

# Flows with a colour of their own: those with most bytes over time.
FLOWS = 7
OTHERS = "other flows"
MARKS = {"dropped": "var(--error)", "trimmed": "var(--run-1)", "marked": "var(--run-6)"}
# Drops, trims and marks that are drawn.
MOST_MARKS = 3_000


def port_chart(port: Port, from_ps: int, until_ps: int) -> Spec:
    """The picture of a port in a span of time."""
    series = _by_flow(port.changes)
    areas = {flow: _area(changes, from_ps, until_ps) for flow, changes in series.items()}
    largest = sorted(areas, key=lambda flow: (-areas[flow], flow))[:FLOWS]
    named = {f"flow {flow}": f"var(--run-{number})" for number, flow in enumerate(largest)}
    more = {OTHERS: "var(--axis)"} if len(series) > len(largest) else {}
    rows = _queue_rows(port.changes, set(largest), from_ps, until_ps)
    marks = [mark for mark in port.marks if from_ps <= mark.time_ps <= until_ps]
    step = -(-len(marks) // MOST_MARKS) or 1
    datasets: dict[str, list[Row]] = {
        "queue": rows,
        "marks": [
            {
                "t": rounded6(micros(mark.time_ps, from_ps)),
                "what": mark.kind,
                "flow": f"flow {mark.flow}",
                "reason": mark.detail,
            }
            for mark in marks[::step]
        ],
        "pauses": [
            {"t": rounded6(micros(start, from_ps)), "until": rounded6(micros(end, from_ps))}
            for start, end in port.pauses
            if end > from_ps and start < until_ps
        ],
    }
    title = _since(from_ps)
    panels = [_queue(named | more, title if not datasets["marks"] else None, paused=bool(datasets["pauses"]))]
    panels += [_marks(title)] if datasets["marks"] else []
    return stacked(panels, {name: rows for name, rows in datasets.items() if rows})


def _by_flow(changes: Sequence[Change]) -> dict[int, list[Change]]:
    """The changes of each flow."""
    found: dict[int, list[Change]] = defaultdict(list)
    for change in changes:
        found[-1 if change.flow is None else change.flow].append(change)
    return found


def _area(changes: Sequence[Change], from_ps: int, until_ps: int) -> int:
    """The bytes of a flow in the queue, over time."""
    return sum(change.bytes * (until_ps - max(change.time_ps, from_ps)) for change in changes)


def _queue_rows(changes: Sequence[Change], named: set[int], from_ps: int, until_ps: int) -> list[Row]:
    """The bytes of each flow in the queue: after each change, or, of many changes, their mean in each of many spans."""
    ordered = sorted(changes, key=lambda change: change.time_ps)
    held = {f"flow {flow}": 0 for flow in sorted(named)} | {OTHERS: 0}
    if len(ordered) > POINTS:
        return _means(ordered, named, from_ps, until_ps)
    # One row for each flow and instant: areas are stacks of all rows of an instant.
    states: dict[int, dict[str, int]] = {}
    for change in ordered:
        held[_name(change, named)] += change.bytes
        if change.time_ps <= until_ps:
            states[max(change.time_ps, from_ps)] = dict(held)
    return [
        {"t": rounded6(micros(time, from_ps)), "flow": flow, "v": value}
        for time, state in states.items()
        for flow, value in state.items()
    ]


def _name(change: Change, named: set[int]) -> str:
    return f"flow {change.flow}" if change.flow in named else OTHERS


def _means(ordered: Sequence[Change], named: set[int], from_ps: int, until_ps: int) -> list[Row]:
    """The mean of each flow's bytes in each of POINTS spans."""
    span = max((until_ps - from_ps) // POINTS, 1)
    names = [*(f"flow {flow}" for flow in sorted(named)), OTHERS]
    held, sums = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    rows: list[Row] = []
    at, end = from_ps, from_ps + span

    def advance(to: int) -> None:
        nonlocal at, end
        while at < to:
            step = min(to, end) - at
            for name, value in held.items():
                sums[name] += value * step
            at += step
            if at == end:
                time = rounded6(micros(end - span, from_ps))
                rows.extend(
                    {"t": time, "flow": name, "v": rounded(total / span)} for name, total in sums.items()
                )
                sums.update(dict.fromkeys(names, 0))
                end += span

    for change in ordered:
        advance(min(change.time_ps, until_ps))
        held[_name(change, named)] += change.bytes
    advance(until_ps)
    return rows


def _since(from_ps: int) -> str:
    """Title of the axis of time, which begins with 0 at the start of the span."""
    if not from_ps:
        return "µs"
    whole_ms, rest = divmod(from_ps, 10**9)
    return (
        f"µs since {f'{from_ps / 1e6:,.6f}'.rstrip('0').rstrip('.')} µs"
        if rest
        else f"µs since {whole_ms:,} ms"
    )


def _queue(named: dict[str, str], title: str | None, *, paused: bool) -> Spec:
    """The bytes of each flow over time, and pauses; the axis of time has words if it has a title."""
    x = time_axis(last=title is not None, title=title or "")
    area = {
        "data": {"name": "queue"},
        "mark": {"type": "area", "interpolate": "step-after", "line": False},
        "encoding": {
            "x": x,
            "y": {**value_axis("v", "queue, bytes"), "stack": "zero"},
            "color": colours("flow", named),
            "order": {"field": "flow", "sort": "descending"},
            "tooltip": tips(flow="", v="bytes", t="µs"),
        },
    }
    pauses = {
        "data": {"name": "pauses"},
        "mark": {"type": "rect", "color": "var(--run-3)", "opacity": 0.18},
        "encoding": {"x": x, "x2": {"field": "until"}, "tooltip": tips(t="paused from µs", until="until µs")},
    }
    return panel("queue", 300, [area, pauses] if paused else [area])


def _marks(title: str) -> Spec:
    encoding = {
        "x": time_axis(last=True, title=title),
        "y": {
            "field": "what",
            "type": "nominal",
            "axis": {"title": None, "minExtent": 58, "maxExtent": 58, "domain": False, "ticks": False},
        },
        "color": {
            "field": "what",
            "type": "nominal",
            "legend": None,
            "scale": {"domain": list(MARKS), "range": list(MARKS.values())},
        },
        "tooltip": tips(what="", flow="", reason="reason", t="µs"),
    }
    mark = {"type": "tick", "thickness": 1.2, "size": 14}
    return panel("marks", 60, [{"data": {"name": "marks"}, "mark": mark, "encoding": encoding}])
