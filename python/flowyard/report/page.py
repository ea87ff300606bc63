"""The report on runs: everything that is shown, put into one HTML text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flowyard.report import (
    absent,
    charts,
    differing,
    facts,
    figures,
    frame,
    heat,
    hits,
    notices,
    reasons,
    series,
    tables,
    terms,
)
from flowyard.report import timeline as timelines
from flowyard.runs import Run

# Fields in which runs differ that a card and the table of what was run show; all are among the settings.
MOST_CHIPS, MOST_DIFFERENCES = 6, 16


def render(runs: Sequence[Run]) -> str:
    """The report on the runs as HTML."""
    sampled, sampled_choices = figures.over_time(runs)
    counted, counted_choices = figures.distributions(runs)
    shown = [*figures.figures(runs), *figures.deadlines(runs), *sampled, *counted]
    maps = heat.maps(runs)
    words = terms.words(terms.TERMS, deadlines=any(run.has_deadlines for run in runs))
    timeline = timelines.timeline(runs)
    differences = differing.differing([run.summary["scenario"] for run in runs])
    specs = {figure.key: figure.spec for figure in shown if figure.spec}
    specs |= {f"heat-{i}": found.spec for i, found in enumerate(maps) if found}
    if timeline:
        specs["timeline"] = timeline.spec
    return frame.render(
        "page.html.jinja",
        scripts=("tips.js", "sort.js", "charts.js", "heat.js", "timeline.js"),
        styles=("page.css", "parts.css", "print.css"),
        runs=runs,
        columns=len(runs),
        title=_title(runs),
        cards=tables.cards(runs),
        notices=_notices(runs),
        same_traffic=_same([run.summary.get("traffic_digest") for run in runs]),
        headlines=[facts.headline(run) for run in runs],
        endings=[notices.ending(run) for run in runs],
        differences=differing.rows(differences),
        chips=[
            [(field.path, field.said(i)) for field in differences if field.said(i)] for i in range(len(runs))
        ],
        most_chips=MOST_CHIPS,
        most_differences=MOST_DIFFERENCES,
        facts=facts.facts(runs),
        costs=facts.costs(runs),
        settings=facts.settings(runs),
        advice=[(i, piece) for i, run in enumerate(runs) for piece in run.summary.get("advice") or ()],
        summary=tables.summary(runs),
        statistics=tables.STATISTIC_NAMES.values(),
        deadlines=tables.deadlines(runs),
        losses=tables.losses(runs),
        zeros=[tables.zeros(run) for run in runs],
        faults=tables.faults(runs),
        hits=[hits.hits(run) for run in runs],
        fault_lists=[facts.faults(run) for run in runs],
        stops=any(run.pauses for run in runs),
        tiers=tables.tiers(runs),
        worst=[tables.worst(run) for run in runs],
        figures={figure.key: figure for figure in shown},
        heat_maps=maps,
        heat_metrics=heat.metrics(runs),
        idle=[reasons.no_link_used(run) for run in runs],
        timeline=timeline,
        timeline_classes=_classes(),
        timeline_rule=timelines.RULE,
        run_labels=[run.label for run in runs],
        no_flows=figures.why(runs, reasons.no_fct),
        sampled_choices=sampled_choices,
        spans=series.spans(runs),
        counted=counted,
        counted_choices=counted_choices,
        absent=absent.absent(runs),
        specs=specs,
        terms=words,
        meanings=terms.meanings(words, [run.definitions for run in runs]),
        made_from="run.json, flows.parquet and links.parquet",
        dashes=[charts.dash(i, len(runs)) for i in range(len(runs))],
        colours=charts.COLOURS,
    )


def _notices(runs: Sequence[Run]) -> list[notices.Notice]:
    found = notices.notices(runs)
    # Of a single run nobody asks which.
    return found if len(runs) > 1 else [replace(notice, run=None) for notice in found]


def _classes() -> list[str]:
    """The classes of slowdown in the timeline, in words."""
    uppers = [f"{upper:g}" for upper in timelines.CLASSES]
    return [*(f"≤ {upper}" for upper in uppers), f"> {uppers[-1]}"]


def _title(runs: Sequence[Run]) -> str:
    name, *others = {run.summary["scenario"].get("name") for run in runs}
    # Runs of one scenario go by what differs.
    shared = f"{name}: " if name and not others and len(runs) > 1 else ""
    if len(runs) <= 2:
        return shared + " and ".join(run.label for run in runs)
    return f"{shared}{len(runs)} runs side by side"


def _same(values: Sequence[Any]) -> bool:
    return len(values) > 1 and None not in values and len(set(values)) == 1
