"""Makes some runs of the dear published figures again, and says which of their rows are not the same.

python tools/spot_check.py                     each figure that `make results-check` leaves out: a minute of runs each
python tools/spot_check.py --seconds 600       about so much processor time for each, by the cost that is recorded
python tools/spot_check.py --figure SYN-F6     that one; may be given several times
python tools/spot_check.py --seed 7            other runs

A run's row in runs.csv depends on nothing but the run: if the drawn ones are the same to the last digit, a change of
the engine has probably not moved the others. That is less than making the figure again, and takes hours less.
Figures whose tables have no row for each run are named and left out. The exit code is 1 if a row differs.
"""

import argparse
import dataclasses
import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# As the command line has it, and before polars is imported: sums of fractions depend on how many threads share them.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import publish_results
import results_check
from flowyard.papers import running
from flowyard.papers.figure import Scale
from flowyard.papers.outcomes import FigureOutcome
from flowyard.sweeps.task import Planned, Task
from flowyard.terminal.exits import BAD_INPUT, COMPLETE, FAILED, INTERRUPTED
from results_check import Published

RUNS = "runs.csv"


@dataclass(frozen=True)
class Sample:
    """Some of a plan's runs."""

    plan: Planned
    chosen: Sequence[Task]

    @property
    def name(self) -> str:
        """That of the plan."""
        return self.plan.name

    def tasks(self) -> Sequence[Task]:
        """Those that were drawn, in the plan's order."""
        return self.chosen

    def header(self) -> dict[str, Any]:
        """That of the plan."""
        return self.plan.header()


def main(words: Sequence[str]) -> int:
    """Checks what the options choose; returns the exit code."""
    options = parser().parse_args(words)
    everything = results_check.published()
    if refusal := results_check.unknown(everything, options.figure or ()):
        print(refusal, file=sys.stderr)
        return BAD_INPUT
    cheap = publish_results.cheapest({one.figure.id: one.cost for one in everything}, publish_results.CHEAP_S)
    chosen = [
        one
        for one in everything
        if (one.figure.id in options.figure if options.figure else one.figure.id not in cheap)
    ]
    differing = 0
    try:
        for one in chosen:
            differing += check(one, options)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return FAILED if differing else COMPLETE


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="spot_check",
        description="Makes some runs of the dear published figures again and says which rows are not the same.",
    )
    made.add_argument(
        "--figure", action="append", metavar="ID", help="this figure; may be given several times"
    )
    made.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="processor time for each figure (default 60)"
    )
    made.add_argument("--seed", type=int, default=1, metavar="N", help="which runs are drawn (default 1)")
    made.add_argument("--workers", type=int, metavar="N", help="runs at a time; default one per processor")
    return made


def check(one: Published, options: argparse.Namespace) -> bool:
    """Makes some runs of a figure again, prints a line or more, and returns whether a row differs."""
    name = f"{one.figure.id:<16}"
    path = one.folder / RUNS
    if not path.exists() or one.figure.plans is None:
        print(f"{name} left out: its tables have no row for each run", flush=True)
        return False
    drawn = sample(one, options.seconds, random.Random(options.seed))
    runs = sum(len(some.tasks()) for some in drawn.values())
    made = FigureOutcome()
    with tempfile.TemporaryDirectory(prefix="flowyard-") as temporary:
        folder = Path(temporary) / one.figure.id
        figure = dataclasses.replace(one.figure, plans=lambda _: drawn)
        try:
            running.compute(figure, Scale.FULL, folder, made, workers=options.workers)
        except Exception as error:
            print(f"{name} broke: {type(error).__name__}: {error}", flush=True)
            return True
        problems = strangers(results_check.read_rows(path), results_check.read_rows(folder / RUNS))
    of = one.about["runs"]
    if problems:
        print(f"{name} differs  {runs} of {of} runs, {len(problems)} rows not published, such as", flush=True)
        print(*(f"{'':<25} {line}" for line in problems[: results_check.SHOWN]), sep="\n", flush=True)
        return True
    print(f"{name} same     {runs} of {of} runs, {made.cpu_s:,.1f} s of processor time", flush=True)
    return False


def sample(one: Published, seconds: float, stream: random.Random) -> Mapping[str, Sample]:
    """Runs of each plan of a figure that take about so many seconds in all; at least one of each."""
    assert one.figure.plans is not None
    plans = one.figure.plans(Scale.FULL)
    each = (one.cost or seconds) / max(one.about["runs"], 1)
    share = seconds / each / sum(len(plan.tasks()) for plan in plans.values())
    drawn = {}
    for name, plan in plans.items():
        tasks = plan.tasks()
        count = min(max(round(share * len(tasks)), 1), len(tasks))
        places = sorted(stream.sample(range(len(tasks)), count))
        drawn[name] = Sample(plan, [tasks[place] for place in places])
    return drawn


def strangers(published: list[list[str]], made: list[list[str]]) -> list[str]:
    """The rows of a table that a published one does not have, as text."""
    if published[0] != made[0]:
        return [f"columns {', '.join(published[0])} published, {', '.join(made[0])} now"]
    return [
        ", ".join(f"{column} {cell}" for column, cell in zip(made[0], row, strict=True) if cell)
        for row in made[1:]
        if not any(all(map(results_check.same, old, row)) for old in published[1:])
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
