"""`flowyard sweep`: a scenario over the values of some fields, with replicas; executes missing runs."""

import argparse
from pathlib import Path

from flowyard.commands import options

NAME = "sweep"
HELP = "run a scenario at several values of some fields, with replicas"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The plan, the folder of its runs, and their distribution."""
    options.as_json(parser)
    parser.add_argument("plan", metavar="SWEEP.toml", type=Path, help="base scenario, axes, replicas")
    options.many_runs(parser, "out/<name>")
    options.prototype(parser)
    parser.add_argument(
        "--threads",
        type=options.positive,
        metavar="N",
        help="at most N threads for each run, where large runs are fewer than the processors; the results are the "
        "same",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        default=(1, 1),
        metavar="I/N",
        help="only the I-th of N parts, 0 being the N-th: for job arrays on a shared folder, counted from 0 or from 1",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="run nothing, and print the number of runs, their time and their disk space",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="change a folder of another plan to this one; its runs stay on disk",
    )


def run(arguments: argparse.Namespace) -> int:
    """Executes missing runs, and prints the state of the sweep."""
    from flowyard.sweeps import command

    return command.run(arguments)


def _shard(text: str) -> tuple[int, int]:
    i, _, n = text.partition("/")
    if not ((i + n).isascii() and i.isdigit() and n.isdigit() and int(n) >= 1 and int(i) <= int(n)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not I/N with I from 1 to N, such as 1/4; N is the number of all parts, the same for each. "
            "Of an array of which only some tasks are submitted, SLURM_ARRAY_TASK_COUNT is their number, so write N as "
            "a number"
        )
    # Arrays of jobs count from 0 as often as from 1: either way each of N tasks has a part of its own.
    return int(i) or int(n), int(n)
