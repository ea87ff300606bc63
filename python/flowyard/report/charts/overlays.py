"""Overlays of charts: times of faults, and thresholds of queues."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from flowyard import text
from flowyard.analysis import quantities, spans_of
from flowyard.report import charts
from flowyard.run_data import Run

# Fields of queues that are lengths, by what charts call them.
LENGTHS = {
    "limit": "limit",
    "data_limit": "buffer limit for data",
    "threshold": "K",
    "min_threshold": "min",
    "max_threshold": "max",
    "kmin": "Kmin",
    "kmax": "Kmax",
    "xoff": "XOFF",
}
# A length further above the data than this is said and not drawn, so that it does not flatten them.
ABOVE = 2.5
# Names of lengths closer together than this share of an upright axis would overlap.
CLOSE = 0.06
# A length below this share of the largest value has its name on the right of its line.
LEFT = 1 / 3
_SIZE = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(quantities.BYTES)})?")

# Layers with their datasets.
Overlay = tuple[list[alt.Chart], dict[str, list[dict[str, Any]]]]


def fault_rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The times of faults, of each run those that overlap as one; one that stays lasts to the end of the run."""
    rows = []
    for run in runs:
        spans: list[list[Any]] = []
        for fault, end in sorted(spans_of(run.faults), key=lambda pair: int(pair[0]["at_ps"])):
            until = min(run.end_ps, run.end_ps if end is None else end)
            at = int(fault["at_ps"])
            if at > run.end_ps:
                continue
            if spans and at <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], until)
                spans[-1][2].append(fault["change"])
            else:
                spans.append([at, until, [fault["change"]]])
        rows += [
            {"run": run.label, "from": at, "until": until, "change": ", ".join(dict.fromkeys(changes))}
            for at, until, changes in spans
        ]
    return rows


def fault_bands(runs: Sequence[Run], x: Callable[[str], alt.X]) -> Overlay:
    """A layer that shades the times of faults; nothing if there were none. `x` is the chart's axis of a field."""
    rows = fault_rows(runs)
    if not rows:
        return [], {}
    tooltip = [
        alt.Tooltip("run:N", format="", formatType="label"),
        alt.Tooltip("change:N", title="fault"),
        charts.tip("from", "duration", "from"),
        charts.tip("until", "duration", "to"),
    ]
    band = (
        charts.chart_of("faults")
        .mark_rect(color="var(--error)", opacity=0.13, stroke="var(--error)", strokeWidth=0.5, aria=False)
        .encode(x=x("from"), x2="until:Q", tooltip=tooltip)
    )
    return [band], {"faults": rows}


def fault_edges(x: Callable[[str], alt.X]) -> list[alt.Chart]:
    """Layers with a line at each end of the times that `fault_bands` shades, for charts whose data cover them."""
    edge = charts.chart_of("faults").mark_rule(color="var(--surface)", strokeWidth=1.5, aria=False)
    return [edge.encode(x=x("from")), edge.encode(x=x("until"))]


# Height of a line of text.
LINE = 14


@dataclass(frozen=True)
class Length:
    """A length at which queues act, in bytes; `runs` are the labels of those whose queue has it."""

    name: str
    words: str
    value: int
    runs: tuple[str, ...]


def lengths(runs: Sequence[Run]) -> list[Length]:
    """Limits and thresholds of the runs' queues, as far as they are numbers."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for run in runs:
        queue = run.scenario.get("queue")
        if not isinstance(queue, dict):
            continue
        (fields,) = queue.values()
        full = _full_packet(run.scenario["transport"])
        for field, name in LENGTHS.items():
            given = fields.get(field) if isinstance(fields, dict) else None
            value = _bytes(given, full)
            if value:
                words = f"{name} {text.size(value)}"
                if isinstance(given, dict) and "bytes" not in given:
                    words += f" ({_count(given)} full packets)"
                found.setdefault((name, words, value), []).append(run.label)
    return [Length(name, words, value, tuple(labels)) for (name, words, value), labels in found.items()]


def said(runs: Sequence[Run]) -> str:
    """The lengths in a sentence; empty if there are none."""
    parts = []
    for length in lengths(runs):
        whose = "" if len(length.runs) == len(runs) else f" in {', '.join(length.runs)}"
        parts.append(f"{length.words}{whose}")
    return f"Dashed: {'; '.join(parts)}; drawn if in range." if parts else ""


def length_rules(
    runs: Sequence[Run], most: float, axis: Callable[[str], alt.X] | Callable[[str], alt.Y]
) -> Overlay:
    """Layers with a line at each length, then with the names, for above the data; nothing where data are far below.

    On an upright axis lengths that lie close together have one name, that of all, above the highest of them.

    Args:
        runs: The runs.
        most: The largest value of the chart.
        axis: The chart's axis of a field that is a length.
    """
    rows: list[dict[str, Any]] = [
        {
            "value": length.value,
            "name": length.name,
            "words": length.words,
            "runs": ", ".join(length.runs),
            "tint": (tint := _tint(runs, length)),
            "ink": tint,
            "line": line,
        }
        for line, length in enumerate(length for length in lengths(runs) if length.value <= ABOVE * most)
    ]
    if not rows:
        return [], {}
    at = axis("value")
    upright = isinstance(at, alt.Y)
    if upright:
        _name_together(rows, CLOSE * max(most, *(row["value"] for row in rows)))
    chart = charts.chart_of("lengths")
    base = (chart.encode(y=at) if isinstance(at, alt.Y) else chart.encode(x=at)).encode(
        color=alt.Color("tint:N", scale=None),
        tooltip=[
            alt.Tooltip("words:N", title="queue"),
            alt.Tooltip("runs:N", format="", formatType="label"),
        ],
    )
    rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.2, aria=False)
    end = {"x": alt.value("width")} if upright else {"y": alt.value(0)}
    if upright:
        name = base.mark_text(align="right", baseline="bottom", dx=-4, dy=-2)
    else:
        # Beside its line on the side where there is room: on the left stand the names of the rows.
        left = f"datum.value < {LEFT * most}"
        name = base.mark_text(
            align=alt.expr(f"{left} ? 'left' : 'right'"),
            baseline="top",
            dx=alt.expr(f"{left} ? 4 : -4"),
            # Each name in a line of its own: two lengths may lie close together.
            dy=alt.expr(f"2 + {LINE} * datum.line"),
        )
    name = name.encode(text="name:N", color=alt.Color("ink:N", scale=None), **end)
    # The colour of the page around each name keeps it legible on lines and data.
    around = name.encode(stroke=alt.value("var(--surface)"), strokeWidth=alt.value(3))
    return [rule, around, name], {"lengths": rows}


def _name_together(rows: Sequence[dict[str, Any]], close: float) -> None:
    """Gives the highest of lengths that lie closer together than their names are high the names of all."""
    below: dict[str, Any] | None = None
    for row in sorted(rows, key=lambda row: int(row["value"])):
        if below is not None and row["value"] - below["value"] < close:
            names = [*below["name"].split(", "), row["name"]]
            below["name"], row["name"] = "", ", ".join(dict.fromkeys(names))
            row["ink"] = row["ink"] if row["ink"] == below["ink"] else "var(--muted)"
        below = row


def _tint(runs: Sequence[Run], length: Length) -> str:
    """The colour of the only run that has a length; that of text if several have it."""
    if len(length.runs) > 1 or len(runs) == 1:
        return "var(--muted)"
    labels = [run.label for run in runs]
    return f"var(--run-{labels.index(length.runs[0]) % charts.COLOURS})"


def _count(limit: dict[str, Any]) -> str:
    (number,) = limit.values()
    return f"{number:,}" if isinstance(number, int) else str(number)


def _bytes(given: Any, full_packet: int | None) -> int | None:
    """A length in bytes: one of packets is that of so many full ones; None of what is no number."""
    if isinstance(given, dict) and len(given) == 1:
        ((unit, number),) = given.items()
        if unit != "bytes":
            return number * full_packet if full_packet and isinstance(number, int) else None
        given = number
    if isinstance(given, str) and (size := _SIZE.fullmatch(given)):
        return round(float(size[1]) * quantities.BYTES[size[2] or "B"])
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _full_packet(transport: Any) -> int | None:
    """Bytes of a full data packet on the wire, by the fields that say it."""
    if not isinstance(transport, dict):
        return None
    (fields,) = transport.values()
    if not isinstance(fields, dict):
        return None
    header = {name: _bytes(fields.get(name), None) or 0 for name in ("header_bytes", "link_bytes")}
    if payload := _bytes(fields.get("mss", fields.get("payload")), None):
        return payload + sum(header.values())
    if packet := _bytes(fields.get("mtu"), None):
        return (
            packet
            + header["link_bytes"]
            + (0 if fields.get("mtu_includes_header", True) else header["header_bytes"])
        )
    return None
