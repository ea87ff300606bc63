"""The verbs `flowyard import` and `flowyard export`: files in, a new file and a few lines about it out."""

import argparse
import contextlib
import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard import results
from flowyard._native import ScenarioError
from flowyard.errors import UserError
from flowyard.folders import cannot_write, create, refuse_existing, require_suffix, there_already
from flowyard.interchange import htsim_plan as plans
from flowyard.interchange.exporting import FORMATS, OF_RUNS, export, of_run, require_format, with_traffic
from flowyard.interchange.importing import load, read
from flowyard.interchange.options import Imported, Options
from flowyard.interchange.scenario_text import fragment, toml
from flowyard.interchange.sniffing import refuse_scenario
from flowyard.terminal.console import TextTable, show
from flowyard.terminal.progress import counter

if TYPE_CHECKING:
    from flowyard.interchange.flows import Progress


def import_files(arguments: argparse.Namespace) -> int:
    """`flowyard import`."""
    refuse_no_peer(arguments.files)
    output = arguments.output or Path(f"{arguments.files[0].stem}.toml")
    refuse_taken(output)
    if plans.asked(arguments.files, arguments.format):
        return import_plan(arguments, output)
    require_suffix(output, "a scenario is TOML or JSON", ".toml", ".json")
    options = {
        option.name: getattr(arguments, option.name)
        for option in fields(Options)
        if getattr(arguments, option.name) is not None
    }
    if arguments.hosts == ["leaves"]:
        options["hosts"] = "leaves"
    progress = lambda name: counter(name, "flows read")  # noqa: E731
    imported = read(arguments.files, formats=arguments.format, progress=progress, **options)
    _check(imported, arguments.files)
    write_new(output, _text(imported, output))
    files = ", ".join(f"{name} ({kind})" for name, kind in imported.formats.items())
    _tell(
        arguments.json,
        f"{files} -> {output}",
        {"scenario": str(output)},
        imported.facts,
        _advice(imported, output),
    )
    return 0


def import_plan(arguments: argparse.Namespace, output: Path) -> int:
    """`flowyard import` of an experiment plan: a sweep, and beside it a folder with its scenarios."""
    require_suffix(output, "a sweep is TOML", ".toml")
    folder = output.with_suffix("")
    refuse_existing(folder)
    given = {
        option.name: value
        for option in fields(Options)
        if (value := getattr(arguments, option.name)) is not None
    }
    (file,) = plans.alone(arguments.files, given)
    plan = plans.read(file, counter(file.name, "experiments read"))
    progress = counter(file.name, "experiments checked")
    for count, (name, scenario) in enumerate(plan.scenarios.items(), 1):
        progress(count, len(plan.scenarios))
        _check(Imported(scenario, {}, {}), [Path(f"{file}, {name}")])
    remarks = [f"From {file.name} (htsim-plan).", *(f"Note: {note}." for note in plan.notes)]
    with writing_folder(folder):
        for name, scenario in plan.scenarios.items():
            write_new(
                folder / f"{name}.toml",
                toml(scenario, [f"From {file.name} (htsim-plan): {plan.titles[name]}."]),
            )
        write_new(output, plans.sweep(plan, folder.name, remarks))
    facts = {"experiments": len(plan.scenarios), "flows": sum(map(plans.flows, plan.scenarios.values()))}
    _tell(
        arguments.json,
        f"{file} (htsim-plan) -> {output}, {folder}/",
        {"sweep": str(output)},
        facts,
        plan.notes,
    )
    return 0


@contextlib.contextmanager
def writing_folder(folder: Path) -> Iterator[None]:
    """A new folder, which goes again with its files if they cannot all be written."""
    try:
        folder.mkdir()
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def export_file(arguments: argparse.Namespace, overrides: Mapping[str, object]) -> int:
    """`flowyard export`."""
    require_format(arguments.to)
    _require_kind(arguments.to, overrides)
    suffix = (FORMATS | OF_RUNS).get(arguments.to, "")
    output = arguments.output or Path(Path(arguments.scenario).stem + suffix)
    refuse_taken(output)
    progress: Progress = counter(output.name, "flows written")
    if arguments.to in OF_RUNS:
        written = of_run(arguments.scenario, arguments.to)
    else:
        written = export(
            _scenario_of(arguments.scenario),
            arguments.to,
            overrides,
            entry=arguments.entry,
            progress=progress,
        )
    write_new(output, written.text)
    title = f"{arguments.scenario} -> {output} ({arguments.to})"
    _tell(arguments.json, title, {"file": str(output)}, written.facts, written.notes)
    return 0


def _require_kind(to: str, overrides: Mapping[str, object]) -> None:
    """Raises a UserError for changes of a run that has ended."""
    if to in OF_RUNS and overrides:
        raise UserError(f"{to} is written of a run that has ended, to which --set and --seed do not apply")


def _scenario_of(source: str) -> str:
    """The file of a scenario: that of a run, whose folder is named."""
    own = Path(source) / "run.json"
    return str(own) if own.is_file() else source


def refuse_no_peer(files: Sequence[Path]) -> None:
    """Raises a UserError for a folder, and for a scenario: that it could not be written beside itself says less."""
    for path in files:
        if path.is_dir() or (path.suffix == ".toml" and path.is_file()):
            refuse_scenario(load(path))


def refuse_taken(path: Path) -> None:
    """Raises a UserError if something is there already, or nothing can be: before long work, not after it."""
    if not path.absolute().parent.is_dir():
        raise UserError(f"{path}: cannot write here ({path.parent} is no folder)")
    refuse_existing(path)


def write_new(path: Path, text: str) -> None:
    """Writes a file that must not exist; all of it or nothing."""
    try:
        create(path, text)
    except FileExistsError:
        raise there_already(path) from None
    except OSError as error:
        raise cannot_write(path, error) from None


def _check(imported: Imported, files: Sequence[Path]) -> None:
    """Refuses before anything is written the values that the engine would refuse."""
    if "sizes" in imported.scenario:
        return
    try:
        results.check(with_traffic(imported.scenario))
    except ScenarioError as error:
        names = " and ".join(map(str, files))
        raise UserError(f"what {names} holds cannot be run:\n{textwrap.indent(str(error), '  ')}") from None


def _text(imported: Imported, output: Path) -> str:
    if output.suffix == ".json":
        return json.dumps(imported.scenario) + "\n"
    remarks = [f"From {name} ({kind})." for name, kind in imported.formats.items()]
    # Sizes alone go into an entry of traffic.
    write = fragment if "sizes" in imported.scenario else toml
    return write(imported.scenario, [*remarks, *(f"Note: {note}." for note in imported.notes)])


def _advice(imported: Imported, output: Path) -> list[str]:
    """The notes, and what a scenario that is not complete lacks."""
    if "sizes" in imported.scenario:
        (name,) = imported.formats
        what = f'put these sizes into a [[traffic]] entry; sizes.cdf = {{ file = "{name}" }} reads the file itself'
    elif not imported.complete:
        what = f"{output} has no traffic yet: add [[traffic]] entries"
    else:
        return imported.notes
    return [*imported.notes, what]


def _tell(
    as_json: bool, title: str, place: Mapping[str, str], facts: Mapping[str, Any], notes: Sequence[str]
) -> None:
    if as_json:
        print(json.dumps({**place, **facts, "notes": list(notes)}, indent=2))
        return
    rows = [
        (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        for name, value in facts.items()
    ]
    show(TextTable(title, ("", ""), rows))
    for note in notes:
        print(f"note: {note}")
