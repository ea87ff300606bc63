"""`flowyard slotted`: flows on the slotted link under one discipline or several, as a table and a picture."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from flowyard.commands import options

NAME = "slotted"
HELP = "schedule flows with deadlines on one slotted link, and show the schedule"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The file, disciplines in place of its own, and where the results go."""
    options.as_json(parser)
    options.scenario(parser, slotted=True, runs=False)
    option = parser.add_argument(
        "--discipline",
        action="append",
        metavar="NAME",
        help="replaces the discipline of the file; may be repeated, to compare: %(names)s",
    )
    options.naming(option, _disciplines)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="a new folder; default out/<file>-<n>"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the disciplines one after the other."""
    from flowyard.slotted import command

    return command.run(arguments)


def _disciplines() -> Iterable[str]:
    from flowyard import slotted
    from flowyard.member_names import members

    return members(slotted.schema()["$defs"]["DisciplineConfig"])
