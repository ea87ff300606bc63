"""`flowyard show --csv` and `-o`: the tables of a run, or the means of a sweep, as CSV or as a workbook.

Columns, units and rows are those of the Parquet files: times are picoseconds, and cells without a value are empty.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flowyard import analysis, folders, results
from flowyard.errors import UserError
from flowyard.folders import run_files
from flowyard.folders.reading import shown
from flowyard.run_data import Run
from flowyard.run_json import host_names
from flowyard.sweeps.tables import SIZE_COLUMNS, Sweep, is_sweep
from flowyard.terminal.exits import COMPLETE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from flowyard.table import Table

# Of a sweep: the means of its points, and the numbers of each run.
OF_SWEEP = ("means", "metrics")
# Completion by group of flows, which is made from the flows of a run, or of all runs of a sweep.
OF_FLOWS = ("by_size", "by_entry", "over_size")
CSV, WORKBOOK = ".csv", ".xlsx"
# Rows of a sheet below its header.
ROWS_MAX = 1_048_575


def command(arguments: argparse.Namespace) -> int:
    """Prints a table as CSV, or writes the file that `-o` names."""
    target: Path | None = arguments.output
    wanted: str | None = arguments.csv or None
    if target is not None:
        folders.require_suffix(target, "tables are written as CSV or as a workbook", CSV, WORKBOOK)
        folders.refuse_existing(target)
        if arguments.csv is not None and target.suffix.lower() == WORKBOOK:
            raise UserError(
                f"{target}: a workbook has all tables; leave --csv out, or name a file that ends in .csv"
            )
    folder: Path = arguments.folder
    tables = {wanted: by_group(folder, wanted)} if wanted in OF_FLOWS else of(folder)
    if target is not None and target.suffix.lower() == WORKBOOK:
        tables |= {group: by_group(folder, group) for group in OF_FLOWS}
        written = folders.write_new(workbook(tables), target, numbered="", suffix=WORKBOOK)
        print(f"{', '.join(tables)} -> {written}")
        return COMPLETE
    name = wanted or next(iter(tables))
    if name not in tables:
        raise UserError(f"--csv {shown(name)}: {folder} has {_choice(folder, tables)}")
    text = as_csv(tables[name])
    if target is None:
        sys.stdout.write(text)
        return COMPLETE
    print(f"{name} -> {folders.write_new(text, target, numbered='', suffix=CSV)}")
    return COMPLETE


def _choice(folder: Path, tables: dict[str, Any]) -> str:
    """The tables of a folder, for a message."""
    if not is_sweep(folder):
        return ", ".join((*tables, *OF_FLOWS))
    of_runs = f"flowyard.Sweep({str(folder)!r}).flows"
    return f"{', '.join((*OF_SWEEP, *OF_FLOWS))}; in Python {of_runs} are the flows of all runs"


def of(folder: Path) -> dict[str, Any]:
    """The tables in the folder of a run or of a sweep, by name.

    Raises:
        UserError: It is neither.
    """
    if folder.is_dir() and is_sweep(folder):
        sweep = Sweep(folder)
        return {name: getattr(sweep, name) for name in OF_SWEEP}
    run = results.open_run(folder)
    named = {name: getattr(run, name) for name in (*results.TABLES, *results.OPTIONAL)}
    named["flows"] = _with_names(named["flows"], run.summary["scenario"])
    return {name: table for name, table in named.items() if table is not None}


def _with_names(flows: Table, scenario: Mapping[str, Any]) -> Any:
    """The flows, with the names of their hosts in two more columns where these have names of their own."""
    names = host_names(scenario)
    if names is None:
        return flows
    from flowyard.forks import pl

    known, frame = pl.Series(names, dtype=pl.String), flows.to_polars()
    return frame.with_columns(**{f"{end}_name": known.gather(frame[end]) for end in ("src", "dst")})


def by_group(folder: Path, name: str) -> pl.DataFrame:
    """One of OF_FLOWS: means of each point of a sweep, or of a run its values with the ends of their intervals.

    Raises:
        UserError: The folder is neither.
    """
    if folder.is_dir() and is_sweep(folder):
        found: pl.DataFrame = getattr(Sweep(folder), name)
        return found
    run_files.require_run(folder, results.TABLES)
    table: pl.DataFrame = getattr(analysis, name)(Run.read(folder, SIZE_COLUMNS).measured, intervals=True)
    return table.rename({"group": "size_group"}, strict=False).drop("completed")


def as_csv(table: Any) -> str:
    """A table as CSV: a line of names, commas, quotes only where they are needed."""
    return _frame(table).write_csv()


def workbook(tables: dict[str, Any]) -> bytes:
    """A workbook with a sheet for each table.

    Raises:
        UserError: There is no xlsxwriter, or a table has more rows than a sheet.
    """
    try:
        xlsxwriter = import_module("xlsxwriter")
    except ImportError:
        raise UserError(
            "a workbook needs a package that is not here: pip install xlsxwriter, or flowyard[excel]"
        ) from None
    for name, table in tables.items():
        if len(table) > ROWS_MAX:
            raise UserError(
                f"{name} has {len(table):,} rows, and a sheet {ROWS_MAX:,}: write it as CSV, with --csv {name}"
            )
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        for name, table in tables.items():
            frame = _frame(table)
            # Plain cells: no thousands' separators, no decimals cut.
            numbers = [kind for kind in frame.dtypes if kind.is_numeric()]
            formats: Any = {kind: "0" if kind.is_integer() else "General" for kind in numbers}
            frame.write_excel(book, name, autofilter=False, dtype_formats=formats)
    return file.getvalue()


def _frame(table: Any) -> pl.DataFrame:
    """As a polars table whose cells are numbers, texts and truth values."""
    from flowyard.forks import pl

    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    joined = [pl.col(name).cast(pl.List(pl.String)).list.join(" ").alias(name) for name in nested]
    return frame.with_columns(joined) if joined else frame
