"""Warnings on a page of runs: runs that did not end well, and data that they lack."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flowyard import text
from flowyard.report import cut_off, loads, reasons
from flowyard.run_data import Run
from flowyard.run_json import not_whole

# Groups of runs with the same flows that are named.
MOST_GROUPS = 6


@dataclass(frozen=True)
class Notice:
    """A banner. Level: "error" (do not trust), "warning" (mind), "note" (know)."""

    level: str
    title: str
    body: str
    run: str | None = None


def notices(runs: Sequence[Run]) -> list[Notice]:
    """All banners, the gravest first."""
    return by_gravity([notice for run in runs for notice in _of_run(run)] + _of_windows(runs) + _of_all(runs))


def by_gravity(found: Sequence[Notice]) -> list[Notice]:
    """Banners, the gravest first."""
    return sorted(found, key=lambda notice: ("error", "warning", "note").index(notice.level))


def ending(run: Run) -> str:
    """How the run ended, in a sentence."""
    at = text.duration(run.end_ps)
    settings = run.scenario["run"]
    circle = run.summary.get("deadlock", ())
    return {
        "complete": f"The run ended by itself at {at}.",
        "limit": {
            "memory": f"The run reached its limit, run.memory_limit = {settings.get('memory_limit', '?')}, at {at} of "
            "simulated time.",
            "work": f"The run reached its limit, run.work_limit = {settings.get('work_limit', '?')} packet-hops, at "
            f"{at} of simulated time.",
            "flows": f"Sources that draw flows during the run had drawn as many as one run may have, at {at}.",
        }.get(
            run.limit,
            f"The run reached its limit, run.until = {settings.get('until', at)}, while flows were open.",
        ),
        "stalled": f"Ports waited for each other, paused or without credit, in a circle at {at}: {', '.join(circle)}."
        if circle
        else f"Nothing moved any more at {at}: no event was left, or no payload arrived for run.stall = "
        f"{settings.get('stall', '?')} and for twice the longest retransmission timeout although flows were open. "
        + " ".join(f"{wait}." for wait in reasons.waits(run)),
        "interrupted": f"It was interrupted at {at} of simulated time; results up to then are shown.",
    }.get(run.status, f"It ended at {at} with status {run.status}.")


def _of_run(run: Run) -> list[Notice]:
    found = []
    unfinished = int(run.counters["unfinished_flows"])
    reason = reasons.no_fct(run)
    if run.status != "complete" or unfinished:
        body = ending(run)
        if reason:
            body = f"{body} {reason} Whatever is below is of packets and links alone."
        elif unfinished:
            why = reasons.not_completed(run)
            body += (f" {why}" if why else "") + (
                f" {unfinished:,} of {run.measured.height:,} flows are unfinished: they have no completion time, and "
                "are missing from every mean and percentile below, which therefore look better than the run was."
            )
        title = not_whole(run.status) if run.status != "complete" else "Unfinished flows"
        found.append(Notice("error" if run.status == "stalled" else "warning", title, body, run.label))
    elif reason:
        found.append(Notice("warning", "No flow to show", reason, run.label))
    if run.abandoned and not reason:
        body = (
            f"{run.abandoned:,} of {run.measured.height:,} flows were given up by their senders: they have no "
            "completion time, and are missing from every mean and percentile below."
        )
        found.append(Notice("warning", "Abandoned flows", body, run.label))
    if run.unstable:
        why = "; ".join(map(loads.reason, run.unstable))
        body = f"{why[:1].upper()}{why[1:]}. Numbers below depend on when the run began and ended."
        found.append(Notice("warning", "Not in a steady state", body, run.label))
    violations = run.summary.get("violations") or []
    if violations:
        shown = "; ".join(str(violation) for violation in violations[:3])
        body = f"The audit found {len(violations):,} violations of conservation. {shown}. Please report this."
        found.append(Notice("error", "A bug in the simulator", body, run.label))
    below = int((run.measured["slowdown"] < 1).sum())
    if below:
        body = (
            f"{below:,} of {run.measured.height:,} flows were faster than their ideal completion time, which should be "
            "impossible: please report this."
        )
        found.append(Notice("error", "Slowdown below 1", body, run.label))
    for part, body in cut_off.sentences(run.summary):
        found.append(Notice("warning", f"{part.capitalize()} cut off", body, run.label))
    if not reason and (missing := reasons.no_slowdown(run)):
        found.append(Notice("note", "No slowdown", missing, run.label))
    return found


def _of_windows(runs: Sequence[Run]) -> list[Notice]:
    """A note on what results are of, where that is less than a run."""
    windows = {run.window_ps for run in runs}
    if not any(run.has_window and run.measured.height for run in runs):
        return []
    ends = text.durations(*runs[0].window_ps)
    where = f"from {' to '.join(ends)}" if len(windows) == 1 else "in each run's measuring window"
    body = f"Results are of flows that start {where}, and of links in that time"
    return [Notice("note", "Measuring window", f"{body}{': see Load' if runs[0].loads else ''}.")]


def _of_lengths(runs: Sequence[Run]) -> list[Notice]:
    """A note where averages over time are of different times."""
    lengths = sorted(run.window_length_ps for run in runs)
    if lengths[0] * 1.1 >= lengths[-1]:
        return []
    span = f"from {text.duration(lengths[0])} to {text.duration(lengths[-1])}"
    averages = "Link utilisation, mean queues and goodput are averages over each run's own"
    whole = "its quiet end included: a run with a few late flows looks emptier."
    if not any(run.has_window for run in runs):
        body = f"The runs lasted {span} of simulated time. {averages} time, {whole}"
    elif all(run.has_window for run in runs):
        body = f"Measuring windows last {span}. {averages} window; those over a shorter one vary more."
    else:
        body = f"What is measured lasts {span}. {averages} window, or over a whole run, {whole}"
    return [Notice("note", "Different lengths", body)]


def _of_all(runs: Sequence[Run]) -> list[Notice]:
    if len(runs) < 2:
        return []
    found = []
    traffic = [(run.label, run.summary.get("traffic_digest")) for run in runs]
    if len({digest for _, digest in traffic}) > 1:
        found.append(Notice("note", "Different traffic", f"{other_flows(traffic)}."))
    found += _of_lengths(runs)
    if any(one.summary["flowyard"] != other.summary["flowyard"] for one, other in pairwise(runs)):
        found.append(
            Notice("warning", "Different versions", "The runs were made by different versions of Flowyard.")
        )
    return found


def other_flows(runs: Sequence[tuple[str, object]]) -> str:
    """Which of some runs carried the same flows, where not all of them did, by their labels and traffic digests."""
    groups: dict[object, list[str]] = {}
    for label, digest in runs:
        groups.setdefault(digest, []).append(label)
    together = [" with ".join(labels) for labels in groups.values() if len(labels) > 1]
    if not together:
        return "The runs did not carry the same flows (their traffic digests differ): compare distributions, not flows"
    more = f"; and {len(together) - MOST_GROUPS} more groups" if len(together) > MOST_GROUPS else ""
    return (
        f"Runs that carried the same flows: {'; '.join(together[:MOST_GROUPS])}{more}. Between these groups flows "
        "differ (traffic_digest): compare only distributions"
    )
