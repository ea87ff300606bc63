"""`flowyard compare`: a run beside another simulator's results, flow by flow."""

import argparse
from pathlib import Path

from flowyard.commands import options
from flowyard.errors import UserError

NAME = "compare"
HELP = "compare another simulator's completion times with those of a run, flow by flow (transports: run --compare)"


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
    """Compares the two.

    Raises:
        UserError: There is no such run, perhaps because two transports were to be compared.
    """
    from flowyard.peers import command

    if not arguments.run.exists() and not arguments.file.exists():
        names = f"{arguments.run},{arguments.file}"
        raise UserError(
            f"{arguments.run}: no such folder; compare takes a run and the output of another simulator. Transports on "
            f"the same flows: flowyard run SCENARIO --compare {names}"
        )

    return command.run(arguments)
