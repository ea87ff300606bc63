"""Warnings on a sweep's page: runs that are missing, did not end well, or are few."""

from collections.abc import Iterator, Mapping
from typing import Any

from flowyard.forks import pl
from flowyard.report import loads
from flowyard.report.run.notices import Notice
from flowyard.run_json import not_whole, unstable_of
from flowyard.sweeps import carrying
from flowyard.sweeps.tables import Sweep
from flowyard.sweeps.task import label_of
from flowyard.text import counted

# Points that charts draw.
MOST_POINTS = 5000
# Runs and points that a notice names.
MOST_NAMED = 3
# With fewer flows than this, a run's p99 is next to its maximum.
FEW_FLOWS = 100

Summaries = Mapping[str, Mapping[str, Any]]


def notices(sweep: Sweep, metrics: pl.DataFrame, means: pl.DataFrame, summaries: Summaries) -> list[Notice]:
    """All banners, the gravest first."""
    found = [*_violations(sweep, metrics, summaries), *missing(sweep, metrics, means)]
    found += [
        *_endings(sweep, metrics, summaries),
        *_unsteady(sweep, metrics, summaries),
        *_short(sweep, means),
        *_too_few(sweep, means),
    ]
    found += [*_numbers(metrics, means), *_advice(summaries)]
    return sorted(found, key=lambda notice: ("error", "warning", "note").index(notice.level))


def _violations(sweep: Sweep, metrics: pl.DataFrame, summaries: Summaries) -> Iterator[Notice]:
    keys = [key for key, summary in summaries.items() if summary.get("violations")]
    if keys:
        body = (
            f"The audit found violations of conservation in {counted(len(keys), 'run')}: "
            f"{_named(sweep, metrics.filter(pl.col('run').is_in(keys)))}. "
            f"The first: {summaries[keys[0]]['violations'][0]}. Please report this."
        )
        yield Notice("error", "A bug in the simulator", body)


def _advice(summaries: Summaries) -> Iterator[Notice]:
    """Settings that are allowed and probably not meant, once for each field."""
    pieces: dict[str, list[Mapping[str, str]]] = {}
    for summary in summaries.values():
        for piece in summary.get("advice") or ():
            if loads.is_about_steadiness(piece):
                continue
            pieces.setdefault(piece["path"], []).append(piece)
    for path, said in pieces.items():
        first = said[0]
        body = f"In {counted(len(said), 'run')}, the first: {first['message']}. Write {first['write']}."
        yield Notice("note", f"Advice: {path}", body)


def _unsteady(sweep: Sweep, metrics: pl.DataFrame, summaries: Summaries) -> Iterator[Notice]:
    """Runs that were not in a steady state at their load, with why the first was not, and the advice on it."""
    keys = [key for key, summary in summaries.items() if unstable_of(summary)]
    if not keys:
        return
    first = summaries[keys[0]]
    own = metrics.filter(pl.col("run").is_in(keys))
    remedies = [piece["write"] for piece in first.get("advice") or () if loads.is_about_steadiness(piece)]
    body = (
        f"{len(keys):,} of {counted(metrics.height, 'run')} had not settled: {_named(sweep, own)}. Their numbers "
        f"depend on when they began and ended; their points are hollow in charts and marked {loads.MARK} in tables. "
        f"{'Reason' if len(keys) == 1 else 'Reason of the first'}: "
        f"{'; '.join(map(loads.reason, unstable_of(first)))}. {''.join(f'Write {remedy}.' for remedy in remedies)}"
    )
    yield Notice("warning", "Not in a steady state", body.strip())


def _short(sweep: Sweep, means: pl.DataFrame) -> Iterator[Notice]:
    """Points whose mean load over the replicas is not carried, each with its loads as far as there is room."""
    short = means.filter(~pl.col("carries"))
    if short.is_empty():
        return
    said = [
        f"{label_of({name: row[name] for name in sweep.axes}, 0, 1) if sweep.axes else 'all runs'}: "
        f"{loads.reason(carrying.reason(row))}"
        for row in short.head(MOST_NAMED).iter_rows(named=True)
    ]
    said += [f"and {short.height - MOST_NAMED:,} more"] if short.height > MOST_NAMED else []
    body = (
        f"{short.height:,} of {means.height:,} points; they are hollow in charts and marked {loads.MARK} in tables. "
        f"{'; '.join(said)}. What waits there grows while flows arrive, and completion times depend on the length of "
        "the window."
    )
    yield Notice("warning", "Load not carried", body)


def _too_few(sweep: Sweep, means: pl.DataFrame) -> Iterator[Notice]:
    """Points that carry much less than their load by the mean over replicas too few to tell."""
    for line in carrying.too_few(means, list(sweep.axes)):
        yield Notice("note", "Too few replicas", f"{line[:1].upper()}{line[1:]}.")


def missing(sweep: Sweep, metrics: pl.DataFrame, means: pl.DataFrame) -> Iterator[Notice]:
    """A warning if runs of the plan are not done."""
    planned, points = len(sweep.runs), len(sweep.runs) // sweep.replicas
    if metrics.height < planned:
        without = points - means.height
        body = (
            f"{planned - metrics.height:,} of {planned:,} runs are not done; the sweep's own command goes on with "
            "them. "
        ) + (
            f"{without:,} of {points:,} points have no run at all and are missing below."
            if without
            else "Means rest on the replicas that are there."
        )
        yield Notice("warning", "Runs are missing", body)


def _endings(sweep: Sweep, metrics: pl.DataFrame, summaries: Summaries) -> Iterator[Notice]:
    for status in metrics["status"].unique(maintain_order=True):
        if status != "complete":
            ended = metrics.filter(pl.col("status") == status)
            body = (
                f"{counted(ended.height, 'run')} of {metrics.height:,} ended with this status, not with the last flow: "
                f"{_named(sweep, ended)}."
            )
            level = "error" if status == "stalled" else "warning"
            yield Notice(level, not_whole(status), body)
    partial = metrics.filter(pl.col("completed_fraction") < 1)["run"]
    counters = [summaries[run]["counters"] for run in partial]
    # A sender that gives up is a result; a flow that is open is an experiment cut short.
    unfinished = sum(own["unfinished_flows"] > 0 for own in counters)
    abandoned = [flows for own in counters if (flows := own.get("abandoned_flows", 0))]
    left_out = (
        "They have no completion time and are left out of FCT and slowdown, which therefore look better than the runs "
        "were: read them with the completed share."
    )
    if unfinished:
        body = (
            f"In {counted(unfinished, 'run')} of {metrics.height:,} some flows are not complete. {left_out}"
        )
        yield Notice("warning", "Unfinished flows", body)
    if abandoned:
        gave_up = counted(sum(abandoned), "flow")
        body = (
            f"In {counted(len(abandoned), 'run')} of {metrics.height:,} senders gave up {gave_up}. {left_out}"
        )
        yield Notice("warning", "Abandoned flows", body)


def _numbers(metrics: pl.DataFrame, means: pl.DataFrame) -> Iterator[Notice]:
    if means["replicas"].max() == 1:
        body = "A single run per point: there is no confidence interval. Raise replicas to have one."
        yield Notice("note", "One replica", body)
    if means["replicas"].max() == 2:
        body = (
            "The 95 % interval of two replicas is so wide that charts do not draw it; the table of points has it. "
            "Raise replicas to three or more."
        )
        yield Notice("note", "Two replicas", body)
    completed = (metrics["flows"] * metrics["completed_fraction"]).drop_nulls()
    few = int((completed < FEW_FLOWS).sum())
    if few:
        body = f"In {counted(few, 'run')} fewer than {FEW_FLOWS} flows are complete: p99 is then close to the maximum."
        yield Notice("note", "Few flows", body)
    if means.height > MOST_POINTS:
        body = f"Charts show the first {MOST_POINTS:,} of {means.height:,} points; fy.open(folder).means has all."
        yield Notice("note", "Many points", body)


def _named(sweep: Sweep, ended: pl.DataFrame) -> str:
    """The first few of some runs."""
    names = [
        f"{label_of({name: row[name] for name in sweep.axes}, row['replica'], sweep.replicas)} (runs/{row['run']})"
        for row in ended.head(MOST_NAMED).iter_rows(named=True)
    ]
    more = [f"and {ended.height - MOST_NAMED:,} more"] if ended.height > MOST_NAMED else []
    return "; ".join(names + more)
