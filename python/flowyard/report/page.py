"""The page: everything that is shown, put into one HTML text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from flowyard.report import charts, facts, javascript, notices, tables, terms
from flowyard.report.runs import Run

HERE = Path(__file__).parent


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
    html: str = _template().render(
        runs=runs,
        title=_title(runs),
        cards=tables.cards(runs),
        notices=notices.notices(runs),
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
        meanings=terms.meanings(runs),
        dashes=[charts.dash(i, len(runs)) for i in range(len(runs))],
        colours=charts.COLOURS,
        style=_text("page.css"),
        script=_text("page.js"),
        bundle=javascript.bundle() if specs else "",
    )
    return html


def _figures(runs: Sequence[Run]) -> list[Figure]:
    no_fct = _reasons(runs, notices.why_no_fct)
    no_slowdown = _reasons(runs, notices.why_no_slowdown)
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


def _template() -> Any:
    # Names in scenarios are anybody's text: everything is escaped but our own style, script and bundle.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text("page.html.jinja"))


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
