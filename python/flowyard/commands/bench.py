"""`flowyard bench`: the engine's speed and memory on this machine, against the targets."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from flowyard.commands import options

NAME = "bench"
HELP = "measure the engine's speed on this machine"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options: benchmarks, repetitions, and the page for the results."""
    parser.description = (
        "Measures the engine's speed and memory on this machine, against the targets. "
        "Exit code 1 if one is missed; one that is known to be missed has a guard, the worst value accepted "
        "so far, and fails only beyond it."
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        metavar="N",
        help="maximum number of rounds, of which the best counts",
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="also write the tables into their part of a Markdown file"
    )
    option = parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of them, %(names)s")
    options.naming(option, _names)
    # Mistakes in what belongs together are said as those in a single option are.
    parser.set_defaults(refuse=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints, and fails if a target or a guard was missed."""
    from flowyard import bench
    from flowyard.bench import page
    from flowyard.terminal.exits import COMPLETE, FAILED

    unknown = [name for name in arguments.names if name not in bench.NAMES]
    if unknown:
        arguments.refuse(f"there is no {', '.join(unknown)}; there are {', '.join(bench.NAMES)}")
    if arguments.rounds < 1:
        arguments.refuse("--rounds: 1 or more")
    wanted = arguments.names or list(bench.NAMES)
    if arguments.write and not set(wanted) >= set(bench.NAMES):
        arguments.refuse("--write: a file has all the figures; name no case")

    if arguments.write:
        page.require_place(arguments.write)  # Measuring takes minutes.
    figures, checks = bench.measure(wanted, arguments.rounds)
    if arguments.write:
        page.write(arguments.write, figures, checks)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        page.show(figures, checks)
    return COMPLETE if all(check.kept for check in checks) else FAILED


def _names() -> Iterable[str]:
    from flowyard import bench

    return bench.NAMES
