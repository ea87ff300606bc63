"""Compares Flowyard's TCP preset "linux" with Linux itself, case by case; prints one table.

Without --kernel the figures of the kernel are those of cases.py, measured on a quiet machine; with it, and where it
can run (root on Linux), each case is run on the kernel of this machine, five times, and the table has median and range.
Flowyard's figures are medians of five seeds. With names only the cases whose name contains one of them run. Exit code 1
if a row is further apart than it may be.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

import flowyard_side
import kernel_side
from cases import CASES, Case, Outcome, Wire

TIMES = 5
HEADER = """| case | TCP | quantity | kernel | range | Flowyard | difference | allowed |
|---|---|---|--:|---|--:|--:|--:|"""


def main() -> int:
    """Runs and prints; 1 if a row is too far apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--kernel", action="store_true", help="measure the kernel of this machine")
    chosen = parser.parse_args()
    reason = kernel_side.missing() if chosen.kernel else ""
    if reason:
        print(f"The kernel is not measured: {reason}. Its figures are those of cases.py.", file=sys.stderr)
    measured = chosen.kernel and not reason
    cases = [case for case in CASES if not chosen.names or any(name in case.name for name in chosen.names)]
    ours: dict[tuple[Wire, str], list[Outcome]] = {}
    theirs: dict[tuple[Wire, str], list[Outcome]] = {}
    apart = 0
    print(HEADER)
    for case in cases:
        key = (case.wire, case.flavour)
        if key not in ours:
            ours[key] = [flowyard_side.run(*key, seed) for seed in range(1, TIMES + 1)]
            theirs[key] = [kernel_side.run(*key) for _ in range(TIMES)] if measured else []
        text, holds = row(case, ours[key], theirs[key])
        print(text, flush=True)
        apart += not holds
    return 1 if apart else 0


def row(case: Case, ours: list[Outcome], theirs: list[Outcome]) -> tuple[str, bool]:
    """A line of the table, and whether the sides are as near as they should be."""
    found = sorted(case.figure(case.wire, outcome) for outcome in theirs)
    kernel = statistics.median(found) if found else case.kernel
    own = statistics.median(case.figure(case.wire, outcome) for outcome in ours)
    difference = own / kernel - 1 if kernel else 0.0
    span = f"{found[0]:.4g} to {found[-1]:.4g}" if found else ""
    cells = [
        case.name,
        case.flavour,
        f"{case.measure} {case.unit}".strip(),
        f"{kernel:.4g}",
        span,
        f"{own:.4g}",
        f"{difference:+.1%}",
        f"{case.within:.0%}",
    ]
    return f"| {' | '.join(cells)} |", abs(difference) <= case.within


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[3])
    sys.exit(main())
