"""`flowyard run`: a scenario to its end, its results in a folder, and what came of it on half a screen.

With --replicas it is a sweep of one point: the scenario, several times with other random streams. With --compare it is
a sweep over a few values of a field, whose runs stand side by side in one table and on one page.
"""

import argparse
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from flowyard.commands import options

if TYPE_CHECKING:
    from flowyard.results import Result

NAME = "run"
HELP = "run a scenario and write its results into a folder"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The scenario, and where its results go."""
    options.as_json(parser)
    options.scenario(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="a new folder, with --replicas or --compare also one to continue; default out/<scenario>-<n>",
    )
    options.comparison(
        parser,
        "run it with several transports and the same flows, such as --compare ndp,dctcp,dcqcn, or at several "
        "values of a field: --compare queue=drop-tail,ecn; also classes of --prototype by their names; print one table "
        "and write one report; may be repeated, for every combination",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="also write DIR/report.html, as `flowyard report DIR` does; --compare always writes one",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="with --replicas or --compare: change a folder of another plan to this one; its runs stay on disk",
    )
    parser.add_argument(
        "--replicas",
        type=options.positive,
        default=1,
        metavar="N",
        help="run it N times with other random streams, from its run.replica on, as a sweep into the folder; the "
        "summary has means with 95 %% intervals; default 1, a single run",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs it; after Ctrl-C what there is by then is kept."""
    from flowyard import folders, memory, results, run_time, scenarios
    from flowyard.terminal import folding
    from flowyard.terminal.exits import FAILED, OF_STATUS
    from flowyard.terminal.interrupt import Deferred
    from flowyard.terminal.progress import Display

    path = scenarios.find(arguments.scenario)
    if arguments.compare:
        return _compare(arguments, path)
    if arguments.replicas > 1:
        if arguments.report:
            from flowyard.errors import UserError

            raise UserError("--report: with --replicas use `flowyard report DIR` after the last replica")
        return _replicas(arguments, path)
    if arguments.update:
        from flowyard.errors import UserError

        raise UserError("--update: is of many runs in one folder; with --compare or --replicas")
    # A mistake in the scenario shows before anything is written, and so does the size of what is to be observed.
    checked = results.Checked(path, options.overrides(arguments), options.prototypes(arguments))
    needs, _, _, _, window = checked.outlook()
    memory.require(needs["memory_bytes"])
    if window["rule"] != "all":
        folding.say(f"measured: {run_time.measuring(window, needs['end_ps'])}", sys.stderr)
    if checked.resolved().get("observe"):
        print(run_time.to_observe(needs), file=sys.stderr)
    # Ctrl-C ends the run, not the program: what there is by then is kept.
    with Deferred() as deferred, folders.Staging(arguments.output, numbered=path.stem) as staging:
        with Display() as display:
            watched = deferred.watch(display.row(path.stem))
            result = checked.run(progress=watched, command=arguments.command)
        result.write(staging.path)
        folder = staging.publish()

    _tell(result, folder, arguments)
    for violation in result.violations:
        print(f"audit: {violation}", file=sys.stderr)
    return FAILED if result.violations else OF_STATUS[result.status]


def _tell(result: "Result", folder: Path, arguments: argparse.Namespace) -> None:
    """Prints the results of a run, and writes its report if that is asked for."""
    from flowyard.terminal import folding

    page = folder / "report.html"
    if arguments.report:
        from flowyard import report

        report.write([folder], page)
    if arguments.json:
        import json

        print(json.dumps({"folder": str(folder), **result.summary}, indent=2))
        return
    from flowyard.report.run.summary import tell

    tell(result, folder)
    folding.hint(f"report in {page}" if arguments.report else f"flowyard report {folder} draws them")


def _replicas(arguments: argparse.Namespace, path: Path) -> int:
    """Runs missing replicas into the folder of a sweep without axes, and prints means over those that are done."""
    from flowyard import results, sweeps
    from flowyard.report.sweep import replicas
    from flowyard.sweeps.command import complain, exit_code
    from flowyard.terminal import folding

    overrides = options.overrides(arguments)
    # The message on a mistake is that of a run: a sweep's names points.
    results.Checked(path, overrides, options.prototypes(arguments))
    plan = sweeps.Plan(
        path, replicas=arguments.replicas, set=overrides, name=path.stem, prototypes=arguments.prototype
    )
    folder = arguments.output or _free(path.stem)
    tally = sweeps.execute(
        plan, folder, update=arguments.update, announce=lambda line: folding.say(line, sys.stderr)
    )
    sweep = sweeps.Sweep(folder)
    # Before means: an earlier run may be damaged.
    code = exit_code(tally, sweep)
    replicas.tell(sweep, tally, as_json=arguments.json)
    if not arguments.json:
        folding.hint(f"flowyard report {folder} draws them")
    complain(tally)
    return code


def _compare(arguments: argparse.Namespace, path: Path) -> int:
    """Runs missing runs of a comparison, prints them side by side and writes their report."""
    from flowyard import sweeps
    from flowyard.report.sweep import page, side_by_side
    from flowyard.sweeps.command import compared, complain, exit_code
    from flowyard.terminal import folding

    plan = compared(arguments, path, options.overrides(arguments), arguments.replicas)
    folder = arguments.output or _free(path.stem, plan.continues)
    for note in plan.notes:
        folding.say(note, sys.stderr)
    tally = sweeps.execute(
        plan, folder, update=arguments.update, announce=lambda line: folding.say(line, sys.stderr)
    )
    sweep = sweeps.Sweep(folder)
    code = exit_code(tally, sweep)
    report = None
    if sweep.statuses and not tally.interrupted:
        report = folder / "report.html"
        page.write(folder, report)
    side_by_side.tell(sweep, tally, report, as_json=arguments.json)
    complain(tally)
    return code


def _free(name: str, continues: Callable[[Path], bool] = lambda _: False) -> Path:
    """The first out/<name>-<n> that is not there, or that can be continued."""
    places = (Path("out") / f"{name}-{n}" for n in itertools.count(1))
    return next(place for place in places if not place.exists() or continues(place))
