"""`flowyard show`: the summary of a run again; the runs of a folder or a sweep, one line each."""

import argparse
from pathlib import Path

from flowyard.commands import options

NAME = "show"
HELP = "print a run's summary again, or list the runs of a folder or a sweep"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder."""
    options.as_json(parser)
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder of a run, of several runs, or of a sweep"
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the contents of the folder."""
    if (arguments.folder / "papers.json").is_file():
        from flowyard.papers import verdict_table
        from flowyard.terminal.exits import COMPLETE

        verdict_table.print_again(arguments.folder, as_json=arguments.json)
        return COMPLETE
    from flowyard.report import listing

    return listing.command(arguments)
