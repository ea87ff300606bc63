"""`flowyard explain`: the meaning of the columns of results."""

import argparse
import json
import re

from flowyard.commands import options
from flowyard.errors import UserError

NAME = "explain"
HELP = "print the meaning of the columns of results"

Columns = dict[str, list[dict[str, str]]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """A column."""
    options.as_json(parser)
    parser.add_argument("column", nargs="?", metavar="COLUMN", help="default: all of them")


def run(arguments: argparse.Namespace) -> int:
    """Prints the columns of that name, or all, by table."""
    from flowyard import _native, results
    from flowyard.sweeps import columns as of_sweeps
    from flowyard.terminal.exits import COMPLETE

    slotted = {f"slotted/{table}": columns for table, columns in _native.explain_slotted().items()}
    tables = results.explain() | slotted | of_sweeps.explain()
    if arguments.column:
        tables = _named(arguments.column, tables)
    if arguments.json:
        print(json.dumps(tables, indent=2))
        return COMPLETE
    from flowyard.terminal.console import show_columns

    for table, columns in tables.items():
        show_columns(table, columns)
    return COMPLETE


def _named(name: str, tables: Columns) -> Columns:
    """The columns of a name, or with such a value, by table.

    Raises:
        UserError: There are none.
    """
    found = {
        table: [column for column in columns if column["name"] == name or name in _values_of(column)]
        for table, columns in tables.items()
    }
    found = {table: columns for table, columns in found.items() if columns}
    if found:
        return found
    import difflib

    every = [column for columns in tables.values() for column in columns]
    names = sorted({column["name"] for column in every}.union(*map(_values_of, every)))
    # A part of a name, such as p99, is closer to it than letters say.
    near = (
        difflib.get_close_matches(name, names, n=3) or [each for each in names if name in each.split("_")][:6]
    )
    raise UserError(
        f"no column {name}; {'did you mean ' + ' or '.join(near) if near else 'there are ' + ', '.join(names)}"
    )


def _values_of(column: dict[str, str]) -> set[str]:
    """Names of series and metrics, from the meaning of the column that contains these names."""
    if column["name"] not in ("series", "metric"):
        return set()
    return {
        word for word in re.findall(r"[a-z_]+", column["meaning"]) if "_" in word or word == "utilisation"
    }
