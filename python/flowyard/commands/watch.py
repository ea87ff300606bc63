"""`flowyard watch`: one HTML page that plays a span of a run: packets on links, queues, drops and trims."""

import argparse
import json
from pathlib import Path

from flowyard.commands import options

NAME = "watch"
HELP = "make a page that plays a span of a run: packets on links, queues, drops"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder of a run, the span and the page."""
    options.as_json(parser)
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--from", dest="since", metavar="TIME", help="from then on; default 0s")
    parser.add_argument("--until", metavar="TIME", help="until then; default the end of the run")
    options.prototype(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="a new page; default out/<folder>-watch-<n>.html",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the scenario of the folder again with the events of the span, and writes the page."""
    from flowyard import folders, results
    from flowyard.report.explained.command import name_of
    from flowyard.report.explained.watch import watch_page
    from flowyard.terminal.exits import COMPLETE
    from flowyard.why.span import span

    if arguments.output:
        folders.require_suffix(arguments.output, "it is a page of HTML", ".html", ".htm")
        folders.refuse_existing(arguments.output)
    result = results.open_run(arguments.folder, options.prototypes(arguments))
    name = name_of(result, arguments.folder)
    from_ps, until_ps = span(arguments.since, arguments.until, result.summary["end_ps"])
    page = watch_page(result, name, from_ps, until_ps)
    path = folders.write_new(
        page, arguments.output, numbered=f"{arguments.folder.resolve().name}-watch", suffix=".html"
    )
    print(json.dumps({"page": str(path)}) if arguments.json else f"page in {path}")
    return COMPLETE
