"""`flowyard show`: the runs of a folder or a sweep, a line each."""

import argparse
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flowyard import results, text
from flowyard.analysis import overall
from flowyard.errors import UserError
from flowyard.folders import run_files
from flowyard.member_names import member_name
from flowyard.report import loads
from flowyard.report.run.differences import differences
from flowyard.report.sweep.points import marked, points_table
from flowyard.report.sweep.replicas import replicas_table
from flowyard.run_data import Run
from flowyard.sweeps import carrying
from flowyard.sweeps.tables import FLOW_COLUMNS, Sweep, is_sweep
from flowyard.terminal import folding
from flowyard.terminal.console import TextTable, show
from flowyard.terminal.exits import COMPLETE
from flowyard.text import counted

# Numbers of a run that --json has.
NUMBERS = ("flows", "completed", "fct_p99_ps", "slowdown_p99", "offered_load", "carried_load")
# Fields in which a run differs that its line has; --json has all.
MOST_FIELDS = 4


def command(arguments: argparse.Namespace) -> int:
    """Says what is in a folder."""
    folder: Path = arguments.folder
    if not folder.is_dir():
        # Says what it is instead.
        results.open_run(folder)
    sweep = Sweep(folder) if is_sweep(folder) else None
    listed = of_sweep(sweep) if sweep else of_folder(folder)
    _list(folder, listed, as_json=arguments.json)
    if sweep and not arguments.json:
        _points(sweep)
    return COMPLETE


def _points(sweep: Sweep) -> None:
    """Prints the means of a sweep's points or replicas; a line where a damaged run leaves none."""
    try:
        if sweep.axes:
            table, notes = points_table(sweep), marked(sweep)
        elif len(sweep.statuses) > 1:
            table, notes = replicas_table(sweep), []
        else:
            return
    except UserError as error:
        print(f"no means over the runs: {error}")
        return
    show(table)
    for note in notes:
        print(f"{loads.MARK} {note}")
    for line in carrying.too_few(sweep.means, list(sweep.axes)):
        folding.say(line)


@dataclass
class Listed:
    """A run in a list; without a status there is nothing to say but why, which is in `remark`."""

    name: str
    folder: Path
    transport: str = ""
    status: str = ""
    flows: int | None = None
    completed: int | None = None
    fct_p99_ps: float | None = None
    slowdown_p99: float | None = None
    offered_load: float | None = None
    carried_load: float | None = None
    unstable: list[str] = field(default_factory=list)
    differs: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    remark: str = ""


def of_sweep(sweep: Sweep) -> list[Listed]:
    """The runs of a sweep's plan, in its order; what differs are their places on the axes."""
    listed = []
    for row in sweep.runs.iter_rows(named=True):
        key = row["run"]
        run = Listed(key, sweep.path(key))
        if row["done"]:
            _look(run)
        else:
            run.remark = f"damaged: {sweep.damaged[key]}" if key in sweep.damaged else "not run yet"
        places = {axis: row[axis] for axis in sweep.axes}
        if sweep.replicas > 1:
            places["replica"] = row["replica"]
        run.differs = {axis: str(value) for axis, value in places.items()}
        run.said = [f"{axis} {value}" for axis, value in run.differs.items()]
        listed.append(run)
    return listed


def of_folder(folder: Path) -> list[Listed]:
    """The runs, sweeps and folders of runs in a folder, by name; runs of one scenario have their differences.

    Raises:
        UserError: There are none.
    """
    listed, scenarios = [], {}
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if is_sweep(path):
            listed.append(_sweep(path))
        elif (path / "run.json").exists():
            run = Listed(path.name, path)
            listed.append(run)
            if scenario := _look(run):
                scenarios[path.name] = (run, scenario)
        elif count := _runs_in(path):
            listed.append(
                Listed(path.name, path, remark=f"a folder of {counted(count, 'run')}; flowyard show {path}")
            )
    if not listed:
        raise UserError(
            f"{folder}: neither a run nor a sweep, and none are in it; name a folder that flowyard wrote"
        )
    _differences(scenarios.values())
    return listed


def _look(run: Listed) -> Mapping[str, Any] | None:
    """Fills in what a run's files say, and returns its scenario; None if it has none that can be read."""
    try:
        status = run_files.status(run.folder)
        run.status = status["status"]
        if "scenario" not in status:
            run.remark = "no simulation: its tables are a model's"
            return None
        read = Run.read(run.folder, FLOW_COLUMNS)
    except UserError as error:
        run.status, run.remark = "", f"damaged: {error}"
        return None
    scenario: dict[str, Any] = status["scenario"]
    used = [entry.get("transport") or scenario["transport"] for entry in scenario["traffic"]]
    run.transport = ", ".join(dict.fromkeys(str(member_name(each)) for each in used))
    total = overall(read.measured).row(0, named=True)
    run.flows, run.completed = total["flows"], total["completed"]
    run.fct_p99_ps, run.slowdown_p99 = total["fct_p99_ps"], total["slowdown_p99"]
    found = read.loads or {}
    run.offered_load, run.carried_load = found.get("offered_load"), found.get("carried_load")
    run.unstable = read.unstable
    return scenario


def _runs_in(folder: Path) -> int:
    try:
        return sum((path / "run.json").exists() for path in folder.iterdir()) if folder.is_dir() else 0
    except OSError:
        return 0


def _sweep(folder: Path) -> Listed:
    found = Listed(folder.name, folder)
    try:
        sweep = Sweep(folder)
    except UserError as error:
        found.remark = f"damaged: {error}"
    else:
        done = int(sweep.runs["done"].sum())
        found.remark = f"a sweep: {done:,} of {len(sweep.runs):,} runs; flowyard show {folder}"
    return found


def _differences(runs: Iterable[tuple[Listed, Mapping[str, Any]]]) -> None:
    """Notes in what the runs of each scenario differ."""
    by_name: dict[Any, list[tuple[Listed, Mapping[str, Any]]]] = {}
    for run, scenario in runs:
        by_name.setdefault(scenario.get("name"), []).append((run, scenario))
    for group in by_name.values():
        fields = differences([scenario for _, scenario in group])
        for i, (run, _) in enumerate(group):
            own = [each for each in fields if each.values[i] is not None]
            run.differs = {each.path: str(each.values[i]) for each in own}
            run.said = [each.said(i) for each in own]


def _list(folder: Path, runs: list[Listed], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "name": run.name,
                "folder": str(run.folder),
                "status": run.status or None,
                "transport": run.transport or None,
                **{name: getattr(run, name) for name in NUMBERS},
                "unstable": run.unstable,
                "differs": run.differs,
                "remark": run.remark or None,
            }
            for run in runs
        ]
        print(json.dumps({"folder": str(folder), "runs": rows}, indent=2))
        return
    # Where no flows arrive at a load, there is none to show.
    loaded = any(run.carried_load is not None for run in runs)
    header = ("run", "transport", "status", "flows", *(("load: offered, carried",) if loaded else ()))
    header = (*header, "FCT p99", "slowdown p99", "what differs")
    lines = [
        (
            run.name,
            run.transport or text.NONE,
            run.status or text.NONE,
            text.NONE if run.flows is None else f"{run.completed:,} of {run.flows:,}",
            *((_loads(run),) if loaded else ()),
            text.duration(run.fct_p99_ps),
            text.ratio(run.slowdown_p99),
            _said(run),
        )
        for run in runs
    ]
    show(TextTable(os.fspath(folder), header, lines, left=3, words_last=True))
    if any(run.unstable for run in runs):
        first = next(run for run in runs if run.unstable)
        print(f"{loads.MARK} {loads.UNSTABLE}; of the first: {loads.reason(first.unstable[0])}")


def _loads(run: Listed) -> str:
    if run.carried_load is None:
        return text.NONE
    mark = f" {loads.MARK}" if run.unstable else ""
    return f"{text.ratio(run.offered_load)}, {text.ratio(run.carried_load)}{mark}"


def _said(run: Listed) -> str:
    more = len(run.said) - MOST_FIELDS
    words = ", ".join(run.said[:MOST_FIELDS]) + (f" and {more} more" if more > 0 else "")
    return "; ".join(filter(None, (words, run.remark)))
