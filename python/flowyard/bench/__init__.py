"""`flowyard bench`: the engine's speed and memory on this machine, against the targets.

`cases` says what is timed, `speed`, `memory`, `threads`, `cores`, `startup`, `slotted`, `paths`, `ports`, `control`,
`prototypes` and `members` measure, each with its method in its first lines, `checks` compares with what was promised,
`page` prints and writes docs/benchmarks.md.
"""

import sys
from typing import Any

from flowyard.bench.cases import CASES
from flowyard.bench.checks import Check

PARTS = (
    "memory",
    "threads",
    "cores",
    "start-up",
    "slotted",
    "paths",
    "ports",
    "control",
    "prototypes",
    "members",
)
NAMES = (*(case.name for case in CASES), *PARTS)


def measure(wanted: list[str], rounds: int) -> tuple[dict[str, Any], list[Check]]:
    """The figures as plain data, and what was promised of them."""
    from flowyard.bench import (
        control,
        cores,
        machine,
        members,
        memory,
        paths,
        ports,
        prototypes,
        slotted,
        speed,
        startup,
        threads,
    )

    cases = [case for case in CASES if case.name in wanted]
    figures = speed.measure(cases, rounds, tell) | {"machine": machine.describe()}
    checks = speed.checks(cases, figures)
    if "memory" in wanted:
        figures["memory"] = memory.measure(tell)
        checks += memory.checks(figures["memory"])
    if "threads" in wanted:
        figures["threads"] = threads.measure(rounds, tell)
        checks += threads.checks(figures["threads"])
    if "cores" in wanted:
        figures["cores"] = cores.measure(tell)
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
    if "prototypes" in wanted:
        figures["prototypes"] = prototypes.measure(rounds, tell)
        checks += prototypes.checks(figures["prototypes"])
    if "members" in wanted:
        figures["members"] = members.measure(rounds, tell)
        checks += members.checks(figures["members"])
    tell("")
    checks.sort(key=lambda check: check.target)
    figures["targets"] = [check.json() for check in checks]
    return figures, checks


def tell(what: str) -> None:
    """Says in the terminal what is being measured."""
    if sys.stderr.isatty():
        print(f"\r{what:<60.60}\r", end="", file=sys.stderr, flush=True)
