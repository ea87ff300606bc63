"""`flowyard bench`: the engine's speed and memory on this machine, against the targets.

`cases` says what is timed, `speed`, `memory`, `threads`, `startup`, `slotted`, `paths`, `ports` and `control` measure,
each with its method in its first lines, `checks` compares with what was promised, `page` prints and writes
docs/benchmarks.md.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from flowyard.bench.cases import CASES
from flowyard.bench.checks import Check

PARTS = ("memory", "threads", "start-up", "slotted", "paths", "ports", "control")
NAMES = (*(case.name for case in CASES), *PARTS)


def main(argv: list[str]) -> int:
    """Measures, prints and says by its exit code whether every target or guard was kept (0) or not (1)."""
    parser = options()
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if arguments.rounds < 1:
        parser.error("--rounds: 1 or more")
    wanted = arguments.names or list(NAMES)
    if arguments.write and not set(wanted) >= set(NAMES):
        parser.error("--write: a file has all the figures; name no case")

    from flowyard.bench import page

    if arguments.write:
        page.require_place(arguments.write)  # Measuring takes minutes.
    figures, checks = measure(wanted, arguments.rounds)
    if arguments.write:
        page.write(arguments.write, figures, checks)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        page.show(figures, checks)
    return 0 if all(check.kept for check in checks) else 1


def options() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(
        prog="flowyard bench",
        description="Measures the engine's speed and memory on this machine, against the targets. "
        "Exit code 1 if one is missed; one that is known to be missed has a guard, the worst value accepted "
        "so far, and fails only beyond it.",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="at most so many rounds, of which the best counts"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="also write the tables into their part of a Markdown file"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of them, {', '.join(NAMES)}")
    return parser


def measure(wanted: list[str], rounds: int) -> tuple[dict[str, Any], list[Check]]:
    """The figures as plain data, and what was promised of them."""
    from flowyard.bench import control, machine, memory, paths, ports, slotted, speed, startup, threads

    cases = [case for case in CASES if case.name in wanted]
    figures = speed.measure(cases, rounds, tell) | {"machine": machine.describe()}
    checks = speed.checks(cases, figures)
    if "memory" in wanted:
        figures["memory"] = memory.measure(tell)
        checks += memory.checks(figures["memory"])
    if "threads" in wanted:
        figures["threads"] = threads.measure(rounds, tell)
        checks += threads.checks(figures["threads"])
    if "start-up" in wanted:
        figures["startup_ms"] = startup.measure(tell)
        checks += startup.checks(figures["startup_ms"])
    if "slotted" in wanted:
        figures["slotted"] = slotted.measure(rounds, tell)
        checks += slotted.checks(figures["slotted"])
    if "paths" in wanted:
        figures["paths"] = paths.measure(rounds, tell)
        checks += paths.checks(figures["paths"])
    if "ports" in wanted:
        figures["ports"] = ports.measure(rounds, tell)
        checks += ports.checks(figures["ports"])
    if "control" in wanted:
        figures["control"] = control.measure(rounds, tell)
        checks += control.checks(figures["control"])
    tell("")
    checks.sort(key=lambda check: check.target)
    figures["targets"] = [check.json() for check in checks]
    return figures, checks


def tell(what: str) -> None:
    """Says in the terminal what is being measured."""
    if sys.stderr.isatty():
        print(f"\r{what:<60.60}\r", end="", file=sys.stderr, flush=True)
