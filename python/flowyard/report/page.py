"""The report on runs: everything that is shown, put into one HTML text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flowyard.report import charts, facts, frame, notices, reasons, tables, terms
from flowyard.report.runs import Run


@dataclass(frozen=True)
class Figure:
    """A chart with its words.

    Attributes:
        key: The id of its element.
        title: What it shows.
        caption: How to read it.
        spec: Vega-Lite data; None if there is nothing to draw.
        empty: Why there is nothing, or what is missing.
    """

    key: str
    title: str
    caption: str
    spec: charts.Spec | None
    empty: list[str]


def render(runs: Sequence[Run]) -> str:
    """The report on the runs as HTML."""
    figures = {figure.key: figure for figure in _figures(runs)}
    specs = {key: figure.spec for key, figure in figures.items() if figure.spec}
    return frame.render(
        "page.html.jinja",
        runs=runs,
        columns=len(runs),
        title=_title(runs),
        cards=tables.cards(runs),
        notices=_notices(runs),
        same_traffic=_same([run.summary.get("traffic_digest") for run in runs]),
        headlines=[facts.headline(run) for run in runs],
        endings=[notices.ending(run) for run in runs],
        facts=facts.facts(runs),
        costs=facts.costs(runs),
        settings=facts.settings(runs),
        summary=tables.summary(runs),
        statistics=tables.STATISTIC_NAMES.values(),
        losses=tables.losses(runs),
        faults=tables.faults(runs),
        fault_lists=[facts.faults(run) for run in runs],
        tiers=tables.tiers(runs),
        worst=[tables.worst(run) for run in runs],
        figures=figures,
        specs=specs,
        terms=terms.TERMS,
        meanings=terms.meanings(terms.TERMS, [run.definitions for run in runs]),
        made_from="run.json, flows.parquet and links.parquet",
        dashes=[charts.dash(i, len(runs)) for i in range(len(runs))],
        colours=charts.COLOURS,
    )


def _notices(runs: Sequence[Run]) -> list[notices.Notice]:
    found = notices.notices(runs)
    # Of a single run nobody asks which.
    return found if len(runs) > 1 else [replace(notice, run=None) for notice in found]


def _figures(runs: Sequence[Run]) -> list[Figure]:
    no_fct = _reasons(runs, reasons.no_fct)
    no_slowdown = _reasons(runs, reasons.no_slowdown)
    idle = ["No link carried a packet."]
    no_queue = ["No port ever held a packet."]
    dots = "Thin lines are links (an even choice of many), the bar is their middle half, the dot their mean."
    return [
        Figure(
            "fct", "Flow completion time",
            "Share of all flows that are complete within a time. A curve that ends below 100% has unfinished flows.",
            charts.fct_distribution(runs), no_fct,
        ),
        Figure(
            "slowdown", "Slowdown",
            "Share of all flows that are complete with at most this slowdown; 1 is a flow alone in the network.",
            charts.slowdown_distribution(runs), no_slowdown,
        ),
        Figure(
            "by-size", "Slowdown by flow size",
            "Each run's flows, cut by size into tenths of equal number; a point stands at the largest of its tenth.",
            charts.slowdown_by_size(runs), no_slowdown,
        ),
        Figure(
            "goodput", "Goodput of flows",
            "Share of completed flows whose payload over completion time is at most this rate.",
            charts.goodput_distribution(runs), no_fct,
        ),
        Figure("utilisation", "Link utilisation by tier", dots,
               charts.spread(runs, "utilisation", "share", "utilisation over the whole run"), idle),
        Figure("queue-mean", "Mean queue by tier", dots,
               charts.spread(runs, "queue_mean_bytes", "bytes", "time average of the queue"), no_queue),
        Figure("queue-max", "Largest queue by tier", dots,
               charts.spread(runs, "queue_max_bytes", "bytes", "most bytes at one instant"), no_queue),
    ]  # fmt: skip


def _reasons(runs: Sequence[Run], why: Callable[[Run], str | None]) -> list[str]:
    """Why some runs have nothing to show, with their names where there are several."""
    found = [(run, reason) for run in runs if (reason := why(run))]
    return [f"{run.label}: {reason}" if len(runs) > 1 else reason for run, reason in found]


def _title(runs: Sequence[Run]) -> str:
    if len(runs) <= 2:
        return " and ".join(run.label for run in runs)
    return f"{len(runs)} runs side by side"


def _same(values: Sequence[Any]) -> bool:
    return len(values) > 1 and None not in values and len(set(values)) == 1
