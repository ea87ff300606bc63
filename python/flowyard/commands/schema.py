"""`flowyard schema`: the JSON Schema of scenario files."""

import argparse

from flowyard.commands import options

NAME = "schema"
HELP = "print the JSON Schema of scenario files"


def arguments(parser: argparse.ArgumentParser) -> None:
    """None of its own."""
    options.as_json(parser)


def run(_: argparse.Namespace) -> int:
    """Prints it."""
    from flowyard import _native
    from flowyard.terminal.exits import COMPLETE

    print(_native.schema(), end="")
    return COMPLETE
