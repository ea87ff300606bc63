"""`flowyard run`: a scenario to its end, its results in a folder, and what came of it on half a screen."""

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from flowyard.commands import options

NAME = "run"
HELP = "run a scenario and write its results into a folder"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The scenario, and where its results go."""
    options.as_json(parser)
    options.scenario(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="a new folder; default out/<scenario>-<n>"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs it; after Ctrl-C what there is by then is kept."""
    from flowyard import folders, forecast, results, scenarios
    from flowyard.terminal.exits import FAILED, OF_STATUS
    from flowyard.terminal.interrupt import Deferred
    from flowyard.terminal.progress import Display

    path = scenarios.find(arguments.scenario)
    # A mistake in the scenario shows before anything is written, and so does the size of what is to be observed.
    checked = results.Checked(path, options.overrides(arguments), options.prototypes(arguments))
    needs = checked.outlook().needs
    if checked.resolved().get("observe"):
        print(forecast.to_observe(needs), file=sys.stderr)
    # Ctrl-C ends the run, not the program: what there is by then is kept.
    with Deferred() as deferred, folders.Staging(arguments.output, numbered=path.stem) as staging:
        with Display() as display, _importing("polars"):
            watched = deferred.watch(display.row(path.stem, needs["packet_hops"]))
            result = checked.run(progress=watched, command=arguments.command)
        result.write(staging.path)
        folder = staging.publish()

    if arguments.json:
        import json

        print(json.dumps({"folder": str(folder), **result.summary}, indent=2))
    else:
        from flowyard.report.summary import tell

        tell(result, folder)
    for violation in result.violations:
        print(f"audit: {violation}", file=sys.stderr)
    return FAILED if result.violations else OF_STATUS[result.status]


@contextmanager
def _importing(module: str) -> Iterator[None]:
    """Imports a module meanwhile, and waits for it: a program that ends before its threads lets them fail.

    To import what writes the tables takes longer than a short run, and a simulation leaves the interpreter free for it.
    """
    thread = threading.Thread(target=import_module, args=(module,), name="import")
    thread.start()
    try:
        yield
    finally:
        thread.join()
