"""The charts of a page of runs, each with its words, and why it is empty where it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from flowyard.report import charts, reasons
from flowyard.report.charts import histograms, overlays, series
from flowyard.report.charts.tier_charts import tier_chart
from flowyard.run_data import Run

# Letters on dashed lines that a caption has; more would push the charts beside it down.
MOST_DASHED = 120


@dataclass(frozen=True)
class Figure:
    """A chart with its words.

    Attributes:
        key: The id of its element.
        term: The key of terms.TERMS that says what it shows.
        title: What it shows.
        caption: How to read it.
        spec: Vega-Lite data; None if there is nothing to draw.
        missing: Why there is nothing, or which runs are missing from it and why.
        lines: The lines of a chart whose lines are not runs; they have buttons of their own.
        dashed: The dashed lines, where they are too many for the caption: folded, below the chart.
    """

    key: str
    term: str
    title: str
    caption: str
    spec: charts.Spec | None
    missing: list[str]
    lines: list[str] = field(default_factory=list)
    dashed: str = ""

    @property
    def dashes(self) -> list[list[int]]:
        """Strokes and gaps of each of the lines."""
        return [charts.dash(i, len(self.lines)) for i in range(len(self.lines))]


def figures(runs: Sequence[Run], curves: Sequence[charts.Labelled] | None = None) -> list[Figure]:
    """Completion and links: what every run has; curves of completion may be of more flows than the runs'."""
    curves = curves or runs
    no_fct, no_slowdown = why(runs, reasons.no_fct), why(runs, reasons.no_slowdown)
    idle, no_queue = why(runs, reasons.no_link_used), why(runs, reasons.no_queue)
    dots = (
        "Ticks: links that carried packets, sampled if they are many; bar: interquartile range; dot: mean; ring: "
        "largest."
    )
    short, long = _dashed(runs)
    # One size has one point: the table of completion says as much.
    by_size = [] if all(run.one_size for run in runs) else [
        Figure(
            "by-size", "size", "Slowdown by flow size",
            of_deciles(curves),
            charts.slowdown_by_size(curves), no_slowdown,
        ),
    ]  # fmt: skip
    return [
        Figure(
            "fct", "fct", "Flow completion time",
            "Share of all flows that are complete within a time. A curve that ends below 100% has unfinished flows.",
            charts.fct_distribution(curves), no_fct,
        ),
        Figure(
            "slowdown", "slowdown", "Slowdown",
            "Share of all flows that are complete with at most this slowdown; 1 is the ideal.",
            charts.slowdown_distribution(curves), no_slowdown,
        ),
        *by_size,
        Figure(
            "goodput", "flow_goodput", "Goodput of flows",
            "Share of completed flows whose payload over completion time is at most this rate.",
            charts.goodput_distribution(curves), no_fct,
        ),
        Figure("utilisation", "utilisation", "Link utilisation by tier", dots,
               tier_chart(runs, "utilisation", "share", "share of the measured time"), idle),
        Figure("queue-mean", "queue_mean", "Mean queue by tier", dots,
               tier_chart(runs, "queue_mean_bytes", "bytes", "time average of the queue"), no_queue),
        Figure("queue-max", "queue_max", "Largest queue by tier", " ".join((dots, short)).strip(),
               tier_chart(runs, "queue_max_bytes", "bytes", "most bytes at one instant", of_queues=True), no_queue,
               dashed=long),
    ]  # fmt: skip


def of_deciles(curves: Sequence[charts.Labelled]) -> str:
    """The caption of slowdowns by size: whose deciles they are."""
    entries = charts.entries_apart(curves)
    if not entries:
        few = "Deciles of flow size: a point stands at the largest flow of its decile."
        many = " Line and filled: p99, hollow: p50." if charts.has_more_than_colours(curves) else ""
        return few + many
    marks = ", ".join(f"{mark} {entry}" for mark, entry in zip(charts.SHAPES.values(), entries, strict=False))
    return (
        "Deciles of flow size of each traffic entry: a point stands at the largest flow of its decile; deciles of one "
        f"size are one point, and no line joins two entries: {marks}. Filled: p99, hollow: p50."
    )


def deadlines(runs: Sequence[Run]) -> list[Figure]:
    """Completion against deadlines, if any run has them."""
    if not any(run.has_deadlines for run in runs):
        return []
    return [
        Figure(
            "against-deadline", "against_deadline", "Completion against deadlines",
            "Share of the flows with a deadline that are complete within a multiple of it; at 1 it is the application "
            "throughput.",
            charts.against_deadline_distribution(runs), why(runs, reasons.none_against_deadline),
        )
    ]  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """A choice of charts: name, parameter, values with their names, the charts, a remark."""

    what: str
    parameter: str
    options: list[tuple[str, str]]
    keys: list[str]
    remark: str = ""


def over_time(runs: Sequence[Run]) -> tuple[list[Figure], list[Choice]]:
    """Sampled series: charts, and the choices of a link and of a flow; both empty without samples."""
    missing = why(runs, reasons.no_samples)
    found, choices = [], []
    faulty = "Shaded: faults." if any(run.faults for run in runs) else ""
    groups = (
        ("link", series.links(runs), series.LINK_KINDS),
        ("flow", series.flows(runs), series.FLOW_KINDS),
    )
    for what, chosen, kinds in groups:
        keys = []
        for kind in kinds:
            spec = series.over_time(runs, kind, chosen, what) if chosen.names else None
            if spec:
                key = f"time-{kind.series.replace('_', '-')}"
                short, long = _dashed(runs) if kind.series == "queue_bytes" else ("", "")
                caption = " ".join(filter(None, (kind.caption, short, faulty)))
                found.append(
                    Figure(
                        key,
                        kind.term,
                        kind.title,
                        caption,
                        spec,
                        [_one_line(r) for r in missing],
                        dashed=long,
                    )
                )
                keys.append(key)
        if keys:
            remark = f"{len(chosen.names)} of {chosen.sampled:,} {what}s that were sampled, the worst first"
            choices.append(
                Choice(
                    what, what, [(str(place), name) for place, name in enumerate(chosen.names)], keys, remark
                )
            )
    return found, choices


def distributions(runs: Sequence[Run]) -> tuple[list[Figure], list[Choice]]:
    """Histograms: charts, and with several runs the choice of a class for each. Nothing if there are none."""
    missing = [_one_line(reason) for reason in why(runs, reasons.no_histograms)]
    found, choices = [], []
    for kind in histograms.KINDS:
        key = f"histogram-{kind.metric.replace('_', '-')}"
        parameter = f"class_{kind.metric}"
        spec = histograms.at_least_chart(runs, kind, parameter)
        if not any(run.histograms is not None for run in runs):
            continue
        nothing = why(runs, partial(reasons.no_values, metric=kind.metric))
        names = histograms.classes(runs, kind)
        lines = names if len(runs) == 1 else []
        found.append(Figure(key, kind.term, kind.title, kind.caption, spec, [*missing, *nothing], lines))
        if spec and len(runs) > 1:
            choices.append(
                Choice(f"{kind.title.lower()}: {kind.by}", parameter, [(n, n) for n in names], [key])
            )
    return found, choices


def why(runs: Sequence[Run], reason_of: Callable[[Run], str | None]) -> list[str]:
    """Why some runs have nothing to show, with their names where there are several."""
    found = [(run, reason) for run in runs if (reason := reason_of(run))]
    return [f"{run.label}: {reason}" if len(runs) > 1 else reason for run, reason in found]


def _dashed(runs: Sequence[Run]) -> tuple[str, str]:
    """The sentence on dashed lines: for the caption if it is short, else for below the chart; the other is empty."""
    sentence = overlays.said(runs)
    return (sentence, "") if len(sentence) <= MOST_DASHED else ("", sentence)


def _one_line(reason: str) -> str:
    return reason.partition("\n")[0].replace(" These lines do:", "")
