"""`flowyard demo`: one workload under two transports, and the report on both."""

import argparse
from pathlib import Path

NAME = "demo"
HELP = "run the demo, web search under NDP and under TCP, and write out/demo/report.html"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Where its runs and its report go."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="a new folder; default out/demo, which each call replaces",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs it."""
    from flowyard import demo

    return demo.main(arguments.output)
