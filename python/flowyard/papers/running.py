"""Making figures: run what is missing, write tables, picture and verdicts, one folder a figure.

DIR/claims.json            a verdict for each claim
DIR/index.html             the gallery
DIR/papers.json            what was asked for, at which scale, by which engine; what each figure took
DIR/FIGURE/NAME.csv        the figure's tables
DIR/FIGURE/figure.svg, figure.png
DIR/FIGURE/NAME/           the runs, a sweep's folder, if it has any
DIR/FIGURE/cost.json       what runs and tables took, over all calls
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowyard import _native, folders, sweeps
from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.forks import pl
from flowyard.papers import gallery, omissions, verdicts
from flowyard.papers.catalogue import Selection
from flowyard.papers.costs import Watch
from flowyard.papers.figure import Figure, Scale, Tables
from flowyard.papers.judge import not_reached
from flowyard.papers.outcomes import FigureOutcome, counted
from flowyard.sweeps.tables import Sweep

MARK = "papers.json"
# Significant digits of fractions in the tables: sums in another order differ from the 15th on.
DIGITS = 12


@dataclass
class Outcome:
    """Outcome of making a selection."""

    entries: list[dict[str, Any]]
    summary: verdicts.Summary
    broke: list[str]
    interrupted: bool


def run(
    selection: Selection,
    scale: Scale,
    folder: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Outcome:
    """Makes all figures of a selection and judges its claims.

    What an earlier call left is used again. Verdicts and gallery are written after each figure, so that there is
    something to look at early. At full scale the predicted and, at the end, the measured costs are printed.

    Args:
        selection: What to make.
        scale: quick or full.
        folder: A new one, or that of an earlier call with the same selection and scale.
        workers: Runs at a time on this machine.
        cluster: Address of a Dask scheduler.
        say: Called with a line on each step.

    Raises:
        UserError: The folder holds something else.
    """
    _claim_folder(folder, selection, scale)
    made: dict[str, FigureOutcome] = {}
    interrupted = False
    less = omissions.by_claim(selection, scale)
    outcome = _write(selection, scale, folder, made, less, interrupted=interrupted)
    figures = [figure for _, figure in selection.figures]
    watch = Watch(figures, scale, folder, say, workers=workers, cluster=cluster)
    for place, figure in enumerate(figures):
        say(f"{figure.id} ({place + 1} of {len(figures)}){watch.left()}: {figure.title}")
        try:
            made[figure.id] = make(figure, scale, folder / figure.id, workers=workers, cluster=cluster)
        except KeyboardInterrupt:
            interrupted = True
        outcome = _write(selection, scale, folder, made, less, interrupted=interrupted)
        if interrupted:
            break
    watch.end(made)
    return outcome


def make(
    figure: Figure,
    scale: Scale,
    folder: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
) -> FigureOutcome:
    """Makes one figure; one that breaks says why, and does not keep others from being made.

    Raises:
        KeyboardInterrupt: Ctrl-C; the runs that were done are kept.
    """
    made = FigureOutcome()
    try:
        tables = compute(figure, scale, folder, made, workers=workers, cluster=cluster)
        written = _read([folder / f"{name}.csv" for name in tables])
        made.judgements = verdicts.judge(figure, written, scale)
        made.tables = list(tables)
        _draw(figure, tables, folder)
    except UserError:
        raise
    except Exception as error:
        import traceback

        traceback.print_exc(file=sys.stderr)
        made.broke = f"{type(error).__name__}: {error}"
        lost = {claim: not_reached(f"the figure broke: {made.broke}") for claim in figure.claims}
        made.judgements = lost | made.judgements
    return made


def compute(
    figure: Figure,
    scale: Scale,
    folder: Path,
    made: FigureOutcome,
    *,
    workers: int | None = None,
    cluster: str | None = None,
) -> Tables:
    """Runs what is missing of a figure and writes its tables.

    Args:
        figure: Which.
        scale: quick or full.
        folder: The figure's own.
        made: Receives the runs and their costs.
        workers: Runs at a time on this machine.
        cluster: Address of a Dask scheduler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with counted(folder, made):
        tables = figure.tables(scale, _sweeps(figure, scale, folder, made, workers, cluster))
        _write_tables(tables, folder)
    return tables


def _sweeps(
    figure: Figure, scale: Scale, folder: Path, made: FigureOutcome, workers: int | None, cluster: str | None
) -> dict[str, Sweep]:
    results = {}
    for name, plan in (figure.plans(scale) if figure.plans else {}).items():
        # What another version of the figure or of the engine left stays, but is not used.
        tally = sweeps.execute(plan, folder / name, workers=workers, cluster=cluster, update=True)
        if tally.interrupted:
            raise KeyboardInterrupt
        if tally.failed:
            raise RuntimeError("; ".join(tally.failed[:3]))
        sweep = Sweep(folder / name)
        made.runs += len(sweep.runs)
        for summary in sweep.summaries().values():
            made.violations += summary.get("violations", [])
            made.simulated_s += summary.get("counters", {}).get("cpu_s", 0.0)
            status = summary["status"]
            if status != "complete":
                made.endings[status] = made.endings.get(status, 0) + 1
        results[name] = sweep
    return results


def _write_tables(tables: Tables, folder: Path) -> None:
    for path in folder.glob("*.csv"):
        # Of an earlier version of the figure.
        if path.stem not in tables:
            path.unlink()
    for name, table in tables.items():
        folders.replace(folder / f"{name}.csv", as_csv(table))


def as_csv(table: pl.DataFrame) -> str:
    """A table as its file has it: fractions with DIGITS significant digits, the rest as it is."""
    fractions = [column for column in table.iter_columns() if column.dtype.is_float()]
    rounded = [
        pl.Series(
            column.name, [x if x is None else float(f"{x:.{DIGITS}g}") for x in column], dtype=pl.Float64
        )
        for column in fractions
    ]
    return table.with_columns(rounded).write_csv()


def _draw(figure: Figure, tables: Tables, folder: Path) -> None:
    if figure.draw:
        from flowyard.papers import style

        with style.rules():
            picture = figure.draw(tables)
        style.save(picture, folder)


def read_tables(figure: Figure, folder: Path) -> dict[str, pl.DataFrame]:
    """A figure's tables from its CSV files: what its claims are judged by, once more."""
    found = sorted(folder.glob("*.csv"))
    if not found:
        raise UserError(f"{folder}: no tables of {figure.id}")
    return _read(found)


def _read(paths: Sequence[Path]) -> dict[str, pl.DataFrame]:
    return {path.stem: pl.read_csv(path, infer_schema_length=None) for path in paths}


def _claim_folder(folder: Path, selection: Selection, scale: Scale) -> None:
    """Takes a new folder, or goes on with one of the same kind."""
    path = folder / MARK
    if not path.exists():
        folders.refuse_taken(folder)
        return
    try:
        before = reading.read_json(path)
    except UserError as error:
        raise UserError(f"{error}; choose another folder with -o") from None
    if not isinstance(before, dict) or not {"of", "scale", "engine"} <= before.keys():
        raise UserError(f"{path}: not written by flowyard paper; choose another folder with -o")
    if (before.get("of"), before.get("scale")) != (selection.name, scale):
        raise UserError(
            f"{folder}: holds {before.get('of')} at {before.get('scale')} scale, not {selection.name} at {scale}; "
            "choose another folder with -o"
        )


def _write(
    selection: Selection,
    scale: Scale,
    folder: Path,
    made: dict[str, FigureOutcome],
    less: dict[str, str],
    *,
    interrupted: bool,
) -> Outcome:
    """Writes claims.json, papers.json and index.html as they stand."""
    found = {claim: judgement for one in made.values() for claim, judgement in one.judgements.items()}
    for _, figure in selection.figures:
        if figure.id not in made:
            why = "interrupted before its figure was made" if interrupted else "its figure is not made yet"
            found |= {claim: not_reached(why) for claim in figure.claims}
    registers = [paper.register for paper in selection.papers]
    entries = verdicts.entries(selection.claims, found, registers, scale, less)
    summary = verdicts.summary(entries)
    about = {
        "flowyard": _native.__version__,
        "engine": _native.__engine__,
        "of": selection.name,
        "scale": str(scale),
        "summary": str(summary),
        "says": {claim.id: claim.says for claim in selection.claims},
        "figures": {
            name: {
                "seconds": round(one.seconds, 2),
                "runs": one.runs,
                "cpu_s": round(one.cpu_s, 2),
                "endings": one.endings,
                "broke": one.broke,
            }
            for name, one in made.items()
        },
    }
    folders.replace(folder / MARK, _json(about))
    folders.replace(folder / "claims.json", _json(entries))
    folders.replace(folder / "index.html", gallery.page(selection, scale, made, entries, summary))
    broke = [f"{name}: {why}" for name, one in made.items() for why in (one.broke, *one.violations) if why]
    return Outcome(entries, summary, broke, interrupted)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
