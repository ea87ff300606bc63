"""The sections of a page of runs, each with what it shows; none where no run has anything for it.

Why a section is missing, or a part of one, is said at the end: `absent.py` has the reasons by section.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowyard.analysis.completion import MOST_ENTRIES
from flowyard.report import reasons
from flowyard.report.charts import Labelled, heat, series
from flowyard.report.charts import timeline as timelines
from flowyard.report.run import (
    absent,
    differences,
    facts,
    fairness,
    fault_impact,
    figures,
    load_tables,
    tables,
)
from flowyard.report.run.figures import Figure
from flowyard.report.run.slow import Explained
from flowyard.report.run.slow import section as why_slow
from flowyard.report.section import Section
from flowyard.run_data import Run

# Pieces of advice that are not folded.
MOST_ADVICE = 4
# Fields in which runs differ that the table of what was run shows; all are among the settings.
MOST_DIFFERENCES = 16
# Charts of links; the others that every run has are distributions over its flows.
OF_LINKS = ("utilisation", "queue-mean", "queue-max")


@dataclass(frozen=True)
class Advised:
    """Advice that is the same for some runs and fields: their numbers and paths."""

    runs: list[int]
    paths: list[str]
    message: str
    write: str


def sections(
    runs: Sequence[Run],
    curves: Sequence[Labelled] | None = None,
    summary: Sequence[tables.Group] | None = None,
    slow: Sequence[Explained] = (),
) -> list[Section]:
    """The sections that there are, in their order.

    Args:
        runs: The runs.
        curves: Sources of curves of completion, such as all flows of replicas; default the runs.
        summary: Their completion by size; default that of the runs.
        slow: The runs with their slow flows explained, if that was asked for.
    """
    every = figures.figures(runs, curves)
    made = [
        _completion(runs, summary or tables.summary(runs)),
        _distributions([figure for figure in every if figure.key not in OF_LINKS]),
        why_slow(slow),
        _fairness(runs),
        _advice(runs),
        _load(runs),
        _deadlines(runs),
        _time(runs),
        _histograms(runs),
        _network(runs, [figure for figure in every if figure.key in OF_LINKS]),
        _flows(runs),
        _losses(runs),
        _faults(runs),
        _what(runs),
        _absent(runs, explained=bool(slow)),
    ]
    return [section for section in made if section]


def _section(key: str, words: str, shown: Sequence[Figure] = (), **data: Any) -> Section:
    """A section with figures."""
    named = {"figures": {figure.key: figure for figure in shown}} if shown else {}
    specs = {figure.key: figure.spec for figure in shown if figure.spec}
    return Section(key, ((key, words),), {**data, **named}, specs)


def _completion(runs: Sequence[Run], summary: Sequence[tables.Group]) -> Section:
    digests = [run.summary.get("traffic_digest") for run in runs]
    same = len(digests) > 1 and None not in digests and len(set(digests)) == 1
    most = max(run.measured["tag"].n_unique() for run in runs)
    more = most if most > MOST_ENTRIES else 0
    return _section(
        "completion",
        "Completion",
        summary=summary,
        interval_ends=tables.interval_ends(summary),
        same_traffic=same,
        more_entries=more,
    )


def _fairness(runs: Sequence[Run]) -> Section | None:
    if len(runs) == 1:
        return None
    scenarios = [run.scenario for run in runs]
    rates = [fairness.rates_of(run.links) for run in runs]
    found, same = fairness.unequal(scenarios, rates), fairness.equal(scenarios, rates)
    return _section("fairness", "Fairness", unequal=found, equal=same) if found else None


def _advice(runs: Sequence[Run]) -> Section | None:
    found: dict[tuple[str, str], Advised] = {}
    for i, run in enumerate(runs):
        for piece in run.summary.get("advice") or ():
            said = piece["message"], piece["write"]
            same = found.setdefault(said, Advised([], [], *said))
            same.runs.extend([i] if i not in same.runs else [])
            same.paths.extend([piece["path"]] if piece["path"] not in same.paths else [])
    advice = list(found.values())
    return _section("advice", "Advice", advice=advice, most_advice=MOST_ADVICE) if advice else None


def _load(runs: Sequence[Run]) -> Section | None:
    if not any(run.loads for run in runs):
        return None
    return _section(
        "load",
        "Load",
        loads=load_tables.by_entry(runs),
        shares=load_tables.by_tier(runs),
        window=load_tables.window(runs),
        told=load_tables.late(runs),
    )


def _deadlines(runs: Sequence[Run]) -> Section | None:
    found = tables.deadlines(runs)
    return _section("deadlines", "Deadlines", figures.deadlines(runs), deadlines=found) if found else None


def _distributions(shown: Sequence[Figure]) -> Section:
    return _section("distributions", "Distributions", shown)


def _time(runs: Sequence[Run]) -> Section | None:
    shown, choices = figures.over_time(runs)
    if not choices:
        return None
    return _section("time", "Over time", shown, sampled_choices=choices, spans=series.spans(runs))


def _histograms(runs: Sequence[Run]) -> Section | None:
    shown, choices = figures.distributions(runs)
    return (
        _section("histograms", "Histograms", shown, counted=shown, counted_choices=choices) if shown else None
    )


def _network(runs: Sequence[Run], shown: Sequence[Figure]) -> Section:
    maps = heat.maps(runs)
    specs = {figure.key: figure.spec for figure in shown if figure.spec}
    return Section(
        "network",
        (("network", "Network"),),
        {
            "figures": {figure.key: figure for figure in shown},
            "stops": any(run.pauses for run in runs),
            "tiers": tables.tiers(runs),
            "worst": [tables.worst(run) for run in runs],
            "has_faults": any(run.faults for run in runs),
            "heat_maps": maps,
            "heat_metrics": heat.metrics(runs),
            "idle": [reasons.no_link_used(run) for run in runs],
        },
        specs | {f"heat-{i}": found.spec for i, found in enumerate(maps) if found},
    )


def _flows(runs: Sequence[Run]) -> Section:
    timeline = timelines.timeline(runs)
    uppers = [f"{upper:g}" for upper in timelines.CLASSES]
    return Section(
        "flows",
        (("flows", "Flows"),),
        {
            "timeline": timeline,
            "timeline_classes": [*(f"≤ {upper}" for upper in uppers), f"> {uppers[-1]}"],
            "run_labels": [run.label for run in runs],
            "no_flows": figures.why(runs, reasons.no_fct),
            "has_faults": any(run.faults for run in runs),
        },
        {"timeline": timeline.spec} if timeline else {},
    )


def _losses(runs: Sequence[Run]) -> Section:
    return _section(
        "losses", "Losses and repairs", losses=tables.losses(runs), zeros=[tables.zeros(run) for run in runs]
    )


def _faults(runs: Sequence[Run]) -> Section | None:
    found = [facts.faults(run) for run in runs]
    if not any(found):
        return None
    hit = [fault_impact.impacts(run) for run in runs]
    return _section("faults", "Faults", faults=tables.faults(runs), hits=hit, fault_lists=found)


def _what(runs: Sequence[Run]) -> Section:
    return Section(
        "what",
        (("what", "Configuration"), ("cost", "Cost")),
        {
            "differences": differences.rows(
                differences.differences([run.summary["scenario"] for run in runs])
            ),
            "most_differences": MOST_DIFFERENCES,
            "facts": facts.facts(runs),
            "settings": facts.settings(runs),
            "costs": facts.costs(runs),
        },
    )


def _absent(runs: Sequence[Run], *, explained: bool) -> Section | None:
    found = absent.absent(runs, explained=explained)
    return _section("absent", "Not shown", absent=found) if found else None
