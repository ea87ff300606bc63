"""What a reader must know before believing a number: runs that did not end well, and what is missing from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flowyard import text
from flowyard.report import reasons
from flowyard.runs import Run


@dataclass(frozen=True)
class Notice:
    """A banner. Level: "error" (do not trust), "warning" (mind), "note" (know)."""

    level: str
    title: str
    body: str
    run: str | None = None


def notices(runs: Sequence[Run]) -> list[Notice]:
    """All banners, the gravest first."""
    found = [notice for run in runs for notice in _of_run(run)] + _of_all(runs)
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
                f" {unfinished:,} of {run.counters['flows']:,} flows are unfinished: they have no completion time, and "
                "are missing from every mean and percentile below, which therefore look better than the run was."
            )
        title = (
            f"{run.status.capitalize()}: not the whole story"
            if run.status != "complete"
            else "Unfinished flows"
        )
        found.append(Notice("error" if run.status == "stalled" else "warning", title, body, run.label))
    elif reason:
        found.append(Notice("warning", "No flow to show", reason, run.label))
    if run.abandoned and not reason:
        body = (
            f"{run.abandoned:,} of {run.flows.height:,} flows were given up by their senders: they have no completion "
            "time, and are missing from every mean and percentile below."
        )
        found.append(Notice("warning", "Abandoned flows", body, run.label))
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
    early = int((run.flows["start_ps"] < run.warm_up_ps).sum())
    if early and run.measured.height:
        body = (
            f"{early:,} of {run.flows.height:,} flows start before {_warm_up(run)} and are left out of summaries and "
            "distributions. Counters and links cover the whole run."
        )
        found.append(Notice("note", "Warm-up", body, run.label))
    limits = {"samples": "rows_limit", "capture": "packet_limit"}
    for part, at in run.cut_off_ps.items():
        body = (
            f"observe.{part}.{limits[part]} was reached: from {text.duration(at)} on there are none. Flows and links "
            "are complete."
        )
        found.append(Notice("warning", f"{part.capitalize()} cut off", body, run.label))
    if not reason and (missing := reasons.no_slowdown(run)):
        found.append(Notice("note", "No slowdown", missing, run.label))
    return found


def _of_all(runs: Sequence[Run]) -> list[Notice]:
    if len(runs) < 2:
        return []
    found = []
    traffic = {run.summary.get("traffic_digest") for run in runs}
    if len(traffic) > 1:
        body = "The runs did not carry the same flows (their traffic digests differ): compare distributions, not flows."
        found.append(Notice("note", "Different traffic", body))
    ends = sorted(run.end_ps for run in runs)
    if ends[0] * 1.1 < ends[-1]:
        body = (
            f"The runs lasted from {text.duration(ends[0])} to {text.duration(ends[-1])} of simulated time. Link "
            "utilisation, mean queues and goodput are averages over each run's own time, its quiet end included: a run "
            "with a few late flows looks emptier."
        )
        found.append(Notice("note", "Different lengths", body))
    if any(one.summary["flowyard"] != other.summary["flowyard"] for one, other in pairwise(runs)):
        found.append(
            Notice("warning", "Different versions", "The runs were made by different versions of Flowyard.")
        )
    return found


def _warm_up(run: Run) -> str:
    return text.duration(run.warm_up_ps)
