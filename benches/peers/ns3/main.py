"""Compares Flowyard with ns-3: compiles each NAME.cc here, runs each NAME.py, prints one table.

The table goes to results.md beside this file, its numbers to out/bench/peers.json. With names, only these comparisons
run, and results.md stays as it is. Exit code 1 if a row is further apart than it may be.
"""

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from row import DoesNotHoldError, Row

from flowyard.bench import tell

HERE = Path(__file__).parent
OUTPUT = Path("out/bench")
HEADER = ("case", "measure", "unit", "ns-3", "Flowyard", "difference", "allowed", "why")
FIGURES = range(3, 7)


def main() -> int:
    """Builds, runs, prints, writes; 1 if something does not agree."""
    names = sorted(source.stem for source in HERE.glob("*.cc"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; without: all")
    chosen = parser.parse_args().names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"{', '.join(sorted(unknown))}: no such comparison; there are {', '.join(names)}")

    found: list[Row] = []
    failures: list[str] = []
    for name in chosen:
        tell(f"{name}: ns-3 and Flowyard")
        try:
            found += compare(name)
        except DoesNotHoldError as error:
            failures.append(f"{name}: {error}")
    tell("")
    failures += [f"{row.case}, {row.measure}: {unmet(row)}" for row in found if not row.holds]

    table = render(found)
    print(table)
    if chosen == names:
        (HERE / "results.md").write_text(page(table), encoding="utf-8")
        numbers = {
            "rows": [asdict(row) | {"difference": row.difference} for row in found],
            "problems": failures,
        }
        OUTPUT.mkdir(parents=True, exist_ok=True)
        (OUTPUT / "peers.json").write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if failures else 0


def compare(name: str) -> list[Row]:
    """Builds the ns-3 program of a comparison if its source is newer, and runs both sides."""
    source, program = HERE / f"{name}.cc", OUTPUT / "ns3" / name
    inputs = [source, HERE / "build.sh", *HERE.glob("*.h")]
    built = program.stat().st_mtime if program.exists() else 0.0
    stale = built < max(file.stat().st_mtime for file in inputs)
    if stale and subprocess.run([HERE / "build.sh", source, program]).returncode:
        raise DoesNotHoldError(f"{source} does not compile")
    folder = OUTPUT / "ns3" / "work" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows: list[Row] = importlib.import_module(name).rows(program.absolute(), folder.absolute())
    return rows


def unmet(row: Row) -> str:
    """Deficit of a row that does not hold."""
    if row.within is None:
        return "nothing says why the sides part"
    return f"differs by {row.difference:+.2%}, allowed are {row.within:.2%}"


def render(rows: list[Row]) -> str:
    """The table, in Markdown, its columns aligned but for the last."""
    cells = [HEADER, *map(line, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADER))]
    widths[-1] = 0

    def aligned(row: tuple[str, ...]) -> str:
        texts = [
            text.rjust(width) if column in FIGURES else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(texts)} |"

    rule = [
        "-" * (width - 1) + ":" if column in FIGURES else "-" * max(width, 3)
        for column, width in enumerate(widths)
    ]
    return "\n".join([aligned(HEADER), f"| {' | '.join(rule)} |", *map(aligned, cells[1:])])


def line(row: Row) -> tuple[str, ...]:
    """The cells of a row."""
    allowed = "" if row.within is None else f"{row.within:.1%}"
    figures = (f"{row.ns3:,.6g}", f"{row.flowyard:,.6g}", f"{row.difference:+.2%}", allowed)
    return (row.case, row.measure, row.unit, *figures, row.why)


def page(table: str) -> str:
    """results.md."""
    head = "`make bench-peers` writes this page. [What each case compares](README.md)."
    return f"# Flowyard against ns-3 3.37\n\n{head}\n\n{table}\n"


if __name__ == "__main__":
    os.chdir(HERE.parents[2])
    sys.exit(main())
