"""`flowyard export`: a scenario's network or flows for another simulator, or the pauses of a run."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from flowyard.commands import options

NAME = "export"
HELP = "write a scenario's network or flows for another simulator"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The scenario, the format and the file."""
    options.as_json(parser)
    options.scenario(parser, runs=False)
    # Flows are drawn from it.
    options.seed(parser)
    option = parser.add_argument("--to", required=True, metavar="FORMAT", help="%(names)s")
    options.naming(option, _formats)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="a new file; default SCENARIO with the suffix of the format, such as .cm",
    )
    parser.add_argument("--entry", metavar="NAME", help="for a CDF, the traffic entry with the flow sizes")


def run(arguments: argparse.Namespace) -> int:
    """Writes the file."""
    from flowyard.interchange import command

    return command.export_file(arguments, options.overrides(arguments))


def _formats() -> Iterable[str]:
    from flowyard.interchange import exporting

    return [*exporting.FORMATS, *exporting.OF_RUNS]
