"""`flowyard cite`: how to cite Flowyard."""

import argparse

from flowyard.commands import options

NAME = "cite"
HELP = "print how to cite Flowyard: BibTeX, or CITATION.cff"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The format."""
    options.as_json(parser)
    parser.add_argument("--cff", action="store_true", help="as a CITATION.cff instead of BibTeX")


def run(arguments: argparse.Namespace) -> int:
    """Prints it."""
    import json

    from flowyard import citation
    from flowyard.terminal.exits import COMPLETE

    text = citation.cff() if arguments.cff else citation.bibtex()
    print(json.dumps({"citation": text}) if arguments.json else text, end="\n" if arguments.json else "")
    return COMPLETE
