"""`flowyard demo`: one workload under two transports, and the report on both."""

import argparse

NAME = "demo"
HELP = "run the demo, web search under NDP and under TCP, and write out/demo/report.html"


def arguments(parser: argparse.ArgumentParser) -> None:
    """It has none."""


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001
    """Runs it."""
    from flowyard import demo

    return demo.main()
