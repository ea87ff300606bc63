"""The tables of the section on load: what was offered and carried, by traffic entry and by tier, and the window."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowyard import text
from flowyard.report.loads import KINDS, RULES
from flowyard.report.run.facts import Cell as Words
from flowyard.report.run.facts import Fact
from flowyard.report.run.tables import Cell, Group, Row
from flowyard.run_data import Run

ALL = "all entries"
TO_HOSTS = "all links to hosts"


def by_entry(runs: Sequence[Run]) -> list[Group]:
    """Loads by traffic entry, then of all if there are several; none of entries that have no load.

    Cells: offered, realised and carried load, the last with its 95 % interval.
    """
    found: dict[str, list[Row]] = {}
    for i, run in enumerate(runs):
        own = [entry for entry in run.summary["traffic"] if entry.get("offered_load") is not None]
        for entry in own:
            found.setdefault(str(entry["name"]), []).append(Row(i, _loads(entry)))
        if run.loads and len(own) > 1:
            found.setdefault(ALL, []).append(Row(i, _loads(run.loads)))
    everything = found.pop(ALL, None)
    groups = [Group(name, rows) for name, rows in found.items()]
    return [*groups, Group(ALL, everything)] if everything else groups


def by_tier(runs: Sequence[Run]) -> list[Group]:
    """Payload and packets on the wire by tier of links; first those to hosts, where they are of several tiers.

    Cells: links, payload, wire; shares of the rate of the links.
    """
    found: dict[str, list[Row]] = {}
    for i, run in enumerate(runs):
        if run.loads is None:
            continue
        tiers = run.loads["tiers"]
        to_hosts = [tier for tier in tiers if tier["tier"].endswith("-host")]
        if len(to_hosts) > 1:
            links = sum(tier["links"] for tier in to_hosts)
            shares = (run.loads["hosts_payload"], run.loads["hosts_wire"])
            found.setdefault(TO_HOSTS, []).append(Row(i, _shares(links, *shares)))
        for tier in tiers:
            cells = _shares(tier["links"], tier["payload"], tier["wire"])
            found.setdefault(str(tier["tier"]), []).append(Row(i, cells))
    return [Group(name, rows) for name, rows in found.items()]


def window(runs: Sequence[Run]) -> list[Fact]:
    """The measuring window of each run, and what is known of the flows that are measured in it."""

    def row(name: str, title: str, cell: Callable[[Run, Mapping[str, Any]], Words]) -> Fact:
        cells = [cell(run, run.loads) if run.loads else Words(text.NONE) for run in runs]
        return Fact(name, title, cells, compared=False)

    rows = [
        row("Measuring window", "Results are of flows that start in it, and of links meanwhile.", _window),
        row(
            "Warm-up by the rule",
            "Time that an empty network needs for a steady state at the offered load. The window begins earlier where "
            "that would cost too much.",
            lambda _, own: Words(text.duration(own["wanted_ps"])),
        ),
        row(
            "Arrivals after it",
            "New flows continue to arrive until all measured flows have ended, so that these meet the full load.",
            _drain,
        ),
        row("Links to hosts", "Shares of their rate, over the measuring window.", _to_hosts),
        row("Measured flows", "Those that start in the window, without background.", _flows),
        row(
            "Mean slowdown by half",
            "Of the measured flows that start in the first and in the second half of the window, with 95 % intervals.",
            _halves,
        ),
    ]
    return [fact for fact in rows if any(cell.main != text.NONE for cell in fact.cells)]


def late(runs: Sequence[Run]) -> list[str]:
    """Sentences on measured flows that had not ended with their run, or with its arrivals, where there are any."""
    found = []
    for run in runs:
        own = run.loads or {}
        name, flows = f"{run.label}: " if len(runs) > 1 else "", text.count(own.get("flows", 0))
        if count := own.get("unfinished"):
            found.append(
                f"{name}{text.count(count)} of {flows} measured flows were unfinished when the run ended."
            )
        if count := own.get("after_arrivals"):
            found.append(
                f"{name}{text.count(count)} of {flows} measured flows ended after the last arrival: they shared the "
                "network with less traffic than the load names."
            )
    return found


def _loads(entry: Mapping[str, Any]) -> list[Cell]:
    values = [entry.get(f"{kind}_load") for kind in KINDS]
    cells = [Cell(text.ratio(value), value=value) for value in values]
    half, carried = entry.get("carried_ci95"), values[-1]
    if carried is None or half is None:
        return cells
    within = text.interval(carried, max(0.0, carried - half), carried + half, text.ratio)
    return [*cells[:-1], Cell(text.ratio(carried), value=carried, interval=within)]


def _shares(links: int, payload: float | None, wire: float) -> list[Cell]:
    unknown = "Flows do not take shortest paths, or are drawn during the run." if payload is None else ""
    return [
        Cell(text.count(links), value=links),
        Cell(text.percent(payload), title=unknown, value=payload),
        Cell(text.percent(wire), value=wire),
    ]


def _window(run: Run, own: Mapping[str, Any]) -> Words:
    start, end = text.durations(*run.window_ps)
    words = "the whole run" if not run.has_window else f"{start} to {end}"
    rule = RULES.get(own["rule"], own["rule"])
    return Words(words, own["why_all"] or ("" if words == rule else rule))


def _to_hosts(_: Run, own: Mapping[str, Any]) -> Words:
    return Words(
        f"{text.percent(own['hosts_payload'])} payload, {text.percent(own['hosts_wire'])} on the wire"
    )


def _drain(_: Run, own: Mapping[str, Any]) -> Words:
    return Words(f"for at most {text.duration(own['drain_ps'])}" if own["drain_ps"] else text.NONE)


def _flows(_: Run, own: Mapping[str, Any]) -> Words:
    return Words(text.count(own["flows"]))


def _halves(_: Run, own: Mapping[str, Any]) -> Words:
    halves = own["halves"]
    if halves is None:
        return Words(text.NONE)
    means = [(halves[half], halves[f"{half}_ci95"]) for half in ("first", "second")]
    return Words(", then ".join(f"{text.digits(mean)} \u00b1 {text.digits(ci95)}" for mean, ci95 in means))
