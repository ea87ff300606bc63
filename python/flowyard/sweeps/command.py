"""The verbs of the command line that concern sweeps."""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from flowyard import sweeps
from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.run_json import unstable_of
from flowyard.sweeps import carrying
from flowyard.sweeps.comparison import Comparison, comparison
from flowyard.sweeps.outcomes import Outcomes
from flowyard.sweeps.tables import Sweep
from flowyard.terminal import folding
from flowyard.terminal.exits import COMPLETE, FAILED, INTERRUPTED, OF_STATUS

# Failures that are said one by one.
SHOWN = 5


def run(arguments: argparse.Namespace) -> int:
    """`flowyard sweep`: runs what is missing, and says what there is."""
    plan = _read(arguments.plan, arguments)
    folder = arguments.output or Path("out") / folder_name(plan.name, arguments.plan)
    if arguments.dask and arguments.threads:
        raise UserError("--threads: those of a Dask cluster are its own; write run.threads into the scenario")
    if arguments.dry_run:
        return _forecast(plan, folder, arguments)
    tally = sweeps.execute(
        plan,
        folder,
        workers=arguments.workers,
        threads=arguments.threads,
        cluster=arguments.dask,
        shard=arguments.shard,
        update=arguments.update,
        announce=lambda text: folding.say(text, sys.stderr),
    )
    sweep = Sweep(folder)
    # Before anything is said: a run that an earlier call left may be damaged.
    code = exit_code(tally, sweep)
    done, planned = int(sweep.runs["done"].sum()), len(sweep.runs)
    summaries = sweep.summaries()
    unsteady = sum(bool(unstable_of(summary)) for summary in summaries.values())
    if arguments.json:
        answer = {
            "folder": str(folder),
            "runs": planned,
            "done": done,
            "damaged": tally.damaged,
            "now": tally.statuses,
            "failed": tally.failed,
            "violations": tally.violations,
            "unsteady": unsteady,
            "interrupted": tally.interrupted,
            "advice": [piece._asdict() for piece in tally.advice],
        }
        print(json.dumps(answer, indent=2))
    else:
        where = f"flowyard show {folder} says which"
        short = carrying.line(sweep.runs, list(sweep.axes), summaries, where)
        for line in [*tally.states(unsteady, where), *short]:
            print(line)
        print(f"{done:,} of {planned:,} runs are in {folder}")
        if done:
            folding.hint(f"flowyard report {folder} draws them")
    complain(tally)
    return code


def _read(path: Path, arguments: argparse.Namespace) -> sweeps.Plan:
    """The plan of a file, with the prototypes of the command line beside its own."""
    plan = sweeps.Plan.read(path)
    return replace(plan, prototypes=[*plan.prototypes, *arguments.prototype])


def is_plan(path: Path) -> bool:
    """Whether a file that is no scenario was meant as a sweep."""
    if path.suffix != ".toml":
        return False
    try:
        document = reading.read_toml(path)
    except UserError:
        # What the engine says of the same file shows the line.
        return False
    return "topology" not in document and bool(document.keys() & {"axes", "scenario", "replicas"})


def check(arguments: argparse.Namespace, path: Path, overrides: Mapping[str, object]) -> int:
    """`flowyard check` of a sweep: what `flowyard sweep --dry-run` says."""
    plan = _read(path, arguments)
    if overrides:
        raise UserError(f'{path} is a sweep, to which --set does not apply; write set."KEY" = VALUE into it')
    arguments.workers, arguments.dask, arguments.shard = None, None, (1, 1)
    return _forecast(plan, Path("out") / folder_name(plan.name, path), arguments)


def compared(
    arguments: argparse.Namespace, path: Path, overrides: Mapping[str, object], replicas: int = 1
) -> Comparison:
    """The comparison that --compare asks for."""
    fields = dict(arguments.compare)
    if len(fields) < len(arguments.compare):
        raise UserError("--compare: a field is given twice; give all its values at once")
    python = {"prototypes": arguments.prototype} if arguments.prototype else {}
    return comparison(path, fields, set=overrides, replicas=replicas, python=python)


def check_comparison(arguments: argparse.Namespace, path: Path, overrides: Mapping[str, object]) -> int:
    """`flowyard check` of a scenario at the values of --compare."""
    found = compared(arguments, path, overrides)
    for note in found.notes:
        folding.say(note, sys.stderr)
    arguments.workers, arguments.threads, arguments.dask, arguments.shard = None, None, None, (1, 1)
    plan = replace(found.plan, file=str(path))
    return _forecast(plan, Path("out") / f"{path.stem}-1", arguments)


def _forecast(plan: sweeps.Plan, folder: Path, arguments: argparse.Namespace) -> int:
    from flowyard.sweeps import forecast

    if arguments.dask:
        raise UserError("--dry-run asks no cluster; in place of --dask give --workers N, its runs at a time")
    found = forecast.of(plan, folder, arguments.workers, arguments.shard, arguments.threads)
    if arguments.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        print(f"{plan.file}: nothing wrong", *found.lines(), sep="\n  ")
        for piece in found.advice:
            print(piece.line())
    return COMPLETE


def folder_name(name: str, file: Path) -> str:
    """The folder of a sweep by its name; by its file's where a name is no name of a folder."""
    good = name.isprintable() and not set(name) & set("/\\") and name.strip(". ") == name != ""
    return name if good else file.stem


def complain(tally: Outcomes) -> None:
    """Prints failed runs and findings of the audit, a screen of each."""
    for kind, lines in (("failed", tally.failed), ("audit", tally.violations)):
        for line in lines[:SHOWN]:
            print(f"{kind}: {line}", file=sys.stderr)
        if len(lines) > SHOWN:
            print(f"{kind}: and {len(lines) - SHOWN:,} more", file=sys.stderr)
    if tally.interrupted:
        print("interrupted; the same command goes on with what is missing", file=sys.stderr)


def exit_code(tally: Outcomes, sweep: Sweep) -> int:
    """That of a sweep's command, by all runs in its folder."""
    if tally.interrupted:
        return INTERRUPTED
    if tally.failed or tally.violations:
        return FAILED
    # What an earlier call left counts too.
    statuses = set(sweep.statuses.values())
    return max((OF_STATUS[status] for status in statuses), default=COMPLETE)
