"""Makes published figures again at full scale and says which tables are not the same.

python tools/results_check.py                  the cheapest, as long as their processor time adds up to ten minutes
python tools/results_check.py --seconds 60     less, or more
python tools/results_check.py --figure NDP-F6  that one; may be given several times
python tools/results_check.py --all            all of them: hours
python tools/results_check.py --record ...     also notes in docs/results that these were the same with this engine

One line per figure: same, differs (with file, row, column and both values) or not run (with its cost). The exit code
is 1 if a figure differs. Nothing in docs/results is written without --record.
"""

import argparse
import csv
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# As the command line has it, and before polars is imported: sums of fractions depend on how many threads share them.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import publish_results
from flowyard import _native
from flowyard.papers import costs, running
from flowyard.papers.catalogue import Paper
from flowyard.papers.figure import Figure, Scale
from flowyard.papers.outcomes import FigureOutcome
from flowyard.sweeps.local import processors
from flowyard.terminal.exits import BAD_INPUT, COMPLETE, FAILED, INTERRUPTED

# Differences of a figure that are shown.
SHOWN = 5
# Sums of numbers of usual size are rounded by less.
NOTHING = 1e-13
WHOLE = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Published:
    """A published figure and what results.json says of it."""

    paper: Paper
    figure: Figure
    about: dict[str, Any]

    @property
    def cost(self) -> float | None:
        """Processor time in seconds, if it is recorded."""
        cost: float | None = self.about["cpu_s"]
        return cost

    @property
    def folder(self) -> Path:
        """Its tables."""
        return publish_results.RESULTS / self.paper.id / self.figure.id


def main(words: Sequence[str]) -> int:
    """Checks what the options choose; returns the exit code."""
    options = parser().parse_args(words)
    everything = published()
    chosen, left = choose(everything, options)
    current = sum(one.about["verified"] == _native.__engine__ for one in everything)
    print(
        f"engine {_native.__engine__}: {current} of {len(everything)} published figures were verified with it before"
    )
    differing = 0
    try:
        left_s = costs.progress([one.cost for one in chosen], options.workers or processors())
        for place, (one, told) in enumerate(zip(chosen, left_s, strict=True)):
            print(f"{one.figure.id} ({place + 1} of {len(chosen)}), {told}", file=sys.stderr, flush=True)
            made, problems = again(one, options.workers)
            differing += bool(problems)
            for line in said(one, made, problems):
                print(line, flush=True)
            if options.record and not problems:
                record(one, made)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        if options.record:
            publish_results.main([])
    for one in left:
        why = "its cost is not recorded" if one.cost is None else f"takes {one.cost:,.0f} s of processor time"
        print(f"{one.figure.id:<16} not run  {why}")
    print(f"{len(chosen) - differing} same, {differing} differ, {len(left)} not run")
    return FAILED if differing else COMPLETE


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="results_check",
        description="Makes published figures again and says which tables are not the same.",
    )
    which = made.add_mutually_exclusive_group()
    which.add_argument(
        "--seconds",
        type=float,
        default=publish_results.CHEAP_S,
        metavar="S",
        help=f"the cheapest figures whose processor times add up to S seconds (default {publish_results.CHEAP_S:.0f})",
    )
    which.add_argument(
        "--figure", action="append", metavar="ID", help="this figure; may be given several times"
    )
    which.add_argument("--all", action="store_true", help="all figures, which takes hours")
    made.add_argument("--workers", type=int, metavar="N", help="runs at a time; default one per processor")
    made.add_argument(
        "--record",
        action="store_true",
        help="note in docs/results which were the same with this engine, at what cost",
    )
    return made


def published() -> list[Published]:
    """All published figures, cheapest first; those of unknown cost last."""
    found = []
    for paper, _, about in publish_results.published():
        found += [
            Published(paper, figure, about["figures"][figure.id])
            for figure in paper.figures
            if figure.id in about["figures"]
        ]
    return sorted(found, key=lambda one: math.inf if one.cost is None else one.cost)


def unknown(everything: Sequence[Published], names: Sequence[str]) -> str | None:
    """The refusal of the first name that is no published figure."""
    known = sorted(one.figure.id for one in everything)
    missing = next((name for name in names if name not in known), None)
    return missing and f"error: {missing}: no published figure; there are {', '.join(known)}"


def choose(
    everything: Sequence[Published], options: argparse.Namespace
) -> tuple[list[Published], list[Published]]:
    """Which figures are made again, and which are to be named because they are not."""
    if options.figure:
        if refusal := unknown(everything, options.figure):
            print(refusal, file=sys.stderr)
            sys.exit(BAD_INPUT)
        return [one for one in everything if one.figure.id in options.figure], []
    if options.all:
        return list(everything), []
    cheap = publish_results.cheapest({one.figure.id: one.cost for one in everything}, options.seconds)
    chosen = [one for one in everything if one.figure.id in cheap]
    return chosen, [one for one in everything if one.figure.id not in cheap]


def again(one: Published, workers: int | None) -> tuple[FigureOutcome, list[str]]:
    """Makes a figure's tables afresh and says in what they differ from the published ones."""
    made = FigureOutcome()
    with tempfile.TemporaryDirectory(prefix="flowyard-") as name:
        folder = Path(name) / one.figure.id
        try:
            running.compute(one.figure, Scale.FULL, folder, made, workers=workers)
        except Exception as error:
            return made, [f"broke: {type(error).__name__}: {error}"]
        return made, [*made.violations, *differences(one.folder, folder, one.figure.measured)]


def differences(published: Path, made: Path, measured: Sequence[str] = ()) -> list[str]:
    """In what the tables of two folders differ, a line each, but for columns that no two runs have the same."""
    before, now = ({path.name for path in folder.glob("*.csv")} for folder in (published, made))
    found = [f"{name}: not made any more" for name in sorted(before - now)]
    found += [f"{name}: not published" for name in sorted(now - before)]
    for name in sorted(before & now):
        rows = (read_rows(published / name), read_rows(made / name))
        found += [f"{name}: {line}" for line in _differing(*rows, measured)]
    return found


def _differing(before: list[list[str]], now: list[list[str]], measured: Sequence[str]) -> list[str]:
    """In what two tables differ. Row 1 is the one below the head."""
    if before[0] != now[0]:
        return [f"columns {', '.join(before[0])} published, {', '.join(now[0])} now"]
    if len(before) != len(now):
        return [f"{len(before) - 1} rows published, {len(now) - 1} now"]
    return [
        f"row {row} column {column}: {old or 'nothing'} published, {new or 'nothing'} now"
        for row, cells in enumerate(zip(before, now, strict=True))
        for column, old, new in zip(before[0], *cells, strict=True)
        if column not in measured and not same(old, new)
    ]


def read_rows(path: Path) -> list[list[str]]:
    """The cells of a table, its head first."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def same(old: str, new: str) -> bool:
    """Whether two cells are the same: texts and whole numbers to the letter, fractions to the digits written.

    One unit of the last digit is let through: it is rounded, and sums in another order differ far behind it. So are
    numbers within NOTHING of 0, such as the interval of equal values: rounding is all that they consist of.
    """
    if old == new:
        return True
    if WHOLE.fullmatch(old) and WHOLE.fullmatch(new):
        return False
    try:
        a, b = float(old), float(new)
    except ValueError:
        return False
    larger = max(abs(a), abs(b))
    if larger < NOTHING:
        return True
    if not larger < math.inf:
        return a == b
    unit = 10.0 ** (math.floor(math.log10(larger)) + 1 - running.DIGITS)
    return abs(a - b) < 1.5 * unit


def said(one: Published, made: FigureOutcome, problems: Sequence[str]) -> list[str]:
    """The lines about a figure that was made again."""
    name = f"{one.figure.id:<16}"
    if not problems:
        return [
            f"{name} same     {made.cpu_s:,.1f} s of processor time, made by engine {one.about['engine']}"
        ]
    more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    return [f"{name} differs  {problems[0]}", *(f"{'':<25} {line}" for line in [*problems[1:SHOWN], *more])]


def record(one: Published, made: FigureOutcome) -> None:
    """Notes that a figure was the same with this engine, and what it took."""
    path = publish_results.RESULTS / one.paper.id / "results.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["figures"][one.figure.id] |= {
        "verified": _native.__engine__,
        "seconds": round(made.seconds, 2),
        "cpu_s": round(made.cpu_s, 2),
    }
    path.write_text(publish_results.as_json(about), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
