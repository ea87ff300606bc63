"""The report on runs: a card for each, then sections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flowyard.analysis.completion import Key, by_key
from flowyard.report import charts, frame, terms
from flowyard.report.run import differences, facts, notices, outcome, story, tables
from flowyard.report.run.notices import by_gravity
from flowyard.report.run.sections import sections
from flowyard.report.run.slow import Explained
from flowyard.run_data import Run


@dataclass(frozen=True)
class Replicated:
    """Results of several replicas of each run together, in place of those of the one that is shown.

    Attributes:
        curves: Their flows, by the runs' labels.
        groups: Their completion, each by group with the ends of intervals.
        cards: The heads of the runs.
        replicas: The most of a run.
    """

    curves: Sequence[charts.Labelled]
    groups: Sequence[Mapping[Key, Mapping[str, Any]]]
    cards: Sequence[tables.Card]
    replicas: int


# Fields in which runs differ that a card shows; all are among the settings.
MOST_CHIPS = 6


def render(
    runs: Sequence[Run],
    *,
    title: str = "",
    places: Sequence[str] = (),
    more: Sequence[notices.Notice] = (),
    over: Replicated | None = None,
    slow: Sequence[Explained] = (),
) -> str:
    """The report on the runs as HTML.

    Args:
        runs: They, in their order.
        title: Its title; default the names of the runs.
        places: Folders of the runs, as seen from the page.
        more: Further banners.
        over: Results of the runs' replicas, if they have several.
        slow: The runs with their slow flows explained.
    """
    groups = over.groups if over else [by_key(run.measured, intervals=True) for run in runs]
    words = terms.words(terms.TERMS, deadlines=any(run.has_deadlines for run in runs))
    varied = differences.differences([run.summary["scenario"] for run in runs])
    return frame.render(
        "run/page.html.jinja",
        sections=sections(runs, over.curves if over else None, tables.grouped(groups), slow),
        scripts=("tips.js", "sort.js", "charts/charts.js", "charts/heat.js", "charts/timeline.js"),
        styles=("page.css", "parts.css", "print.css"),
        title=title or _title(runs),
        notices=by_gravity([*more, *_notices(runs)]),
        places=places,
        replicas=over.replicas if over else 1,
        # Of other flows, as at another load, one run is not better than another.
        result=outcome.of_runs([run.label for run in runs], groups) if _same_flows(runs) else "",
        story=story.of_runs(runs),
        columns=len(runs),
        runs=runs,
        windowed=any(run.has_window for run in runs),
        cards=over.cards if over else tables.cards(runs),
        headlines=[facts.headline(run) for run in runs],
        chips=[[(field.path, field.said(i)) for field in varied if field.said(i)] for i in range(len(runs))],
        most_chips=MOST_CHIPS,
        statistics=tables.STATISTIC_NAMES.values(),
        terms=words,
        meanings=terms.meanings(words, [run.definitions for run in runs]),
        made_from="run.json, flows.parquet and links.parquet",
        dashes=[charts.dash(i, len(runs)) for i in range(len(runs))],
        colours=charts.COLOURS,
    )


def _same_flows(runs: Sequence[Run]) -> bool:
    """Whether all runs carried the same flows."""
    return len({run.summary.get("traffic_digest") for run in runs}) == 1


def _notices(runs: Sequence[Run]) -> list[notices.Notice]:
    found = notices.notices(runs)
    # Of a single run nobody asks which.
    return found if len(runs) > 1 else [replace(notice, run=None) for notice in found]


def _title(runs: Sequence[Run]) -> str:
    name, *others = {run.summary["scenario"].get("name") for run in runs}
    # Runs of one scenario go by what differs.
    shared = f"{name}: " if name and not others and len(runs) > 1 else ""
    if len(runs) <= 2:
        return shared + " and ".join(run.label for run in runs)
    return f"{shared}{len(runs)} runs side by side"
