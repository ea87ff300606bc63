"""`flowyard show`: what a run said at its end, said again; the runs of a folder or a sweep, a line each."""

import argparse
from pathlib import Path

from flowyard.commands import options

NAME = "show"
HELP = "print a run's summary again, or list the runs of a folder or a sweep"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder."""
    options.as_json(parser)
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder of a run, one with runs in it, or one of a sweep"
    )


def run(arguments: argparse.Namespace) -> int:
    """Says what is in the folder."""
    from flowyard.report import listing

    return listing.command(arguments)
