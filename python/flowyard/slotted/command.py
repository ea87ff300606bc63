"""`flowyard slotted FILE`: flows on the slotted link under one discipline or several, as a table and a picture."""

import argparse
import json
from pathlib import Path
from typing import Any

from flowyard import folders, slotted, text
from flowyard._native import ScenarioError
from flowyard.errors import UserError
from flowyard.forks import pl
from flowyard.slotted.gantt import MOST_FLOWS, picture
from flowyard.slotted.measures import measure
from flowyard.terminal.console import TextTable, show
from flowyard.terminal.exits import COMPLETE, INTERRUPTED
from flowyard.terminal.interrupt import Deferred
from flowyard.terminal.progress import Display

# Rows of single flows that are printed.
SHOWN = 20


def run(arguments: argparse.Namespace) -> int:
    """Runs, prints, and keeps tables and, for small sets, a picture in a folder."""
    overrides = dict(arguments.set)
    disciplines = arguments.discipline or [None]
    # A mistake shows before anything is written.
    chosen = [overrides | ({"discipline": name} if name else {}) for name in disciplines]
    try:
        checked = [slotted.Checked(arguments.scenario, own) for own in chosen]
    except ScenarioError as error:
        if any(line.startswith("topology: unknown key") for line in str(error).splitlines()):
            packets = f"is a packet scenario: flowyard run {arguments.scenario}"
            raise UserError(f"{arguments.scenario} {packets}") from None
        raise
    resolved = [one.resolved() for one in checked]
    small = _is_small(resolved[0])
    numbered = Path(arguments.scenario).stem
    # After Ctrl-C, too, all that there is is kept.
    with Deferred() as deferred, folders.Staging(arguments.output, numbered=numbered) as staging:
        results: dict[str, slotted.Result] = {}
        with Display() as display:
            for one, config in zip(checked, resolved, strict=True):
                name = next(iter(config["discipline"]))
                show_progress = deferred.watch(_progress(display.line(name), config["run"].get("slots")))
                results[name] = one.run(schedule=small, progress=show_progress)
                if deferred.raised:
                    break
        for name, result in results.items():
            (staging.path / name).mkdir()
            result.write(staging.path / name)
        if small:
            picture(results).savefig(staging.path / "schedule.svg", metadata={"Date": None})
        folder = staging.publish()

    if arguments.json:
        print(
            json.dumps(
                {"folder": str(folder), "disciplines": {n: _answer(r) for n, r in results.items()}}, indent=2
            )
        )
    else:
        if small:
            show(_flows_table(results))
        show(_summary_table(results))
        print(f"results in {folder}" + (", the picture is schedule.svg" if small else ""))
    return INTERRUPTED if any(result.status == "interrupted" for result in results.values()) else COMPLETE


def _is_small(config: dict[str, Any]) -> bool:
    """Whether a person can look at every flow."""
    (kind, settings), *_ = config["generation"].items()
    if kind == "list":
        return len(settings) <= MOST_FLOWS
    return kind == "sets" and settings["sets"] == 1 and int(settings["flows"]) <= MOST_FLOWS


def _progress(show_line: Any, slots: int | None) -> Any:
    def advance(done: int) -> None:
        show_line(done / slots if slots else 0.0, f"{done:,} slots" + (f" of {slots:,}" if slots else ""))

    return advance


def _answer(result: slotted.Result) -> dict[str, Any]:
    measured = measure(pl.DataFrame(result.flows)).row(0, named=True)
    return {name: value for name, value in result.summary.items() if name != "definitions"} | measured


def _flows_table(results: dict[str, slotted.Result]) -> TextTable:
    """One row per flow: when it was done under each discipline."""
    tables = {name: pl.DataFrame(result.flows).sort("flow") for name, result in results.items()}
    first = next(iter(tables.values()))
    rows = []
    for i, flow in enumerate(first.head(SHOWN).iter_rows(named=True)):
        ends = [
            str(table["end_slot"][i]) if table["done"][i] else f"({table['end_slot'][i]})"
            for table in tables.values()
        ]
        due = "-" if flow["deadline"] is None else str(flow["arrival_slot"] + flow["deadline"])
        rows.append([f"f{flow['flow']}", str(flow["arrival_slot"]), str(flow["size"]), due, *ends])
    more = f"; the first {SHOWN} of {len(first)} flows" if len(first) > SHOWN else ""
    title = f"Number of slots after which each flow left; in brackets: incomplete flows{more}"
    return TextTable(title, ("flow", "arrival", "size", "due", *tables), rows)


def _summary_table(results: dict[str, slotted.Result]) -> TextTable:
    rows = []
    for name, result in results.items():
        one = _answer(result)
        mean = one["fct_mean_slots"]
        share = one["application_throughput"]
        rows.append(
            [
                name,
                f"{one['flows']:,}",
                f"{one['done']:,}",
                "-" if share is None else text.percent(share, 2),
                "-" if mean is None else f"{mean:.1f}",
                f"{one['slots']:,}",
                text.percent(one["sent"] / max(one["slots"], 1), 1),
                text.percent(one["wasted"] / one["sent"], 1) if one["sent"] else "-",
            ]
        )
    header = (
        "discipline",
        "flows",
        "in time",
        "share",
        "FCT mean (slots)",
        "slots",
        "link busy",
        "wasted",
    )
    return TextTable("Flows that have left", header, rows)
