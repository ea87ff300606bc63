"""`flowyard report`: one or more runs side by side, or a sweep, on one HTML page."""

import argparse
import json
from pathlib import Path

from flowyard.commands import options

NAME = "report"
HELP = "show one or more runs, or a sweep, on one HTML page"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folders, and the page."""
    options.as_json(parser)
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="DIR", help="the folder of a run, or one of a sweep"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="default DIR/report.html, with several runs report.html",
    )
    parser.add_argument(
        "--why",
        action="store_true",
        help="of runs, also why slow flows are slow: each run is made again two or three times for that",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes the page."""
    from flowyard import folders, report
    from flowyard.errors import UserError
    from flowyard.results import open_run
    from flowyard.sweeps.tables import is_sweep
    from flowyard.terminal.exits import COMPLETE

    if arguments.output and not arguments.output.is_dir():
        folders.require_suffix(arguments.output, "a report is a page of HTML", ".html", ".htm")
    default = arguments.runs[0] if len(arguments.runs) == 1 else Path()
    output = arguments.output or default / "report.html"
    if any(map(is_sweep, arguments.runs)):
        if arguments.why:
            raise UserError("--why: is of runs; name the folders of one or two of the sweep's runs")
        from flowyard.report.sweep import page

        if len(arguments.runs) > 1:
            raise UserError("a report shows one sweep, or any number of runs; name one sweep only")
        page.write(arguments.runs[0], output)
    else:
        for directory in arguments.runs:
            open_run(directory)  # says which folder is not a run's
        report.write(arguments.runs, output, why=arguments.why)
    print(json.dumps({"report": str(output)}) if arguments.json else f"report in {output}")
    return COMPLETE
