"""`flowyard compare`: a run beside another simulator's results, flow by flow."""

import argparse
from pathlib import Path

from flowyard.commands import options

NAME = "compare"
HELP = "compare another simulator's completion times with those of a run, flow by flow"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The run, the peer's file, and the page."""
    options.as_json(parser)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="the output of htsim, or the fct.txt of HPCC's ns-3 code"
    )
    parser.add_argument("--shift", metavar="TIME", help="time added to the file's times, such as --shift=-2s")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a page of HTML; default RUN/compare.html"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compares the two."""
    from flowyard.peers import command

    return command.run(arguments)
