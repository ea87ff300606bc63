"""`flowyard explain`: the meaning of the columns of results, and of fields of scenarios."""

import argparse
import json
import re
import textwrap

from flowyard.commands import options
from flowyard.errors import UserError

NAME = "explain"
HELP = "print the meaning of the columns of results, or of a field of scenarios"
# So many fields of a name are printed.
FIELDS_MAX = 12

Columns = dict[str, list[dict[str, str]]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """A column or a field."""
    options.as_json(parser)
    parser.add_argument(
        "column",
        nargs="?",
        metavar="NAME",
        help="a column, or a field or member of scenarios, such as transport.ndp.initial_window; default all columns",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the columns of that name, or all, by table; or the fields of that name if there is no such column."""
    from flowyard import _native, results
    from flowyard.sweeps import columns as of_sweeps
    from flowyard.terminal.exits import COMPLETE

    slotted = {f"slotted/{table}": columns for table, columns in _native.explain_slotted().items()}
    tables = results.explain() | slotted | of_sweeps.explain()
    if arguments.column:
        tables = _named(arguments.column, tables)
        if not tables:
            return _fields(arguments.column, as_json=arguments.json)
    if arguments.json:
        print(json.dumps(tables, indent=2))
        return COMPLETE
    from flowyard.terminal.console import show_columns

    for table, columns in tables.items():
        show_columns(table, columns)
    return COMPLETE


def _named(name: str, tables: Columns) -> Columns:
    """The columns of a name, or with such a value, by table; none if it is the name of a field.

    Raises:
        UserError: It is neither.
    """
    found = {
        table: [column for column in columns if column["name"] == name or name in _values_of(column)]
        for table, columns in tables.items()
    }
    found = {table: columns for table, columns in found.items() if columns}
    if found or _fields_of(name):
        return found
    if "." in name:
        raise _no_field(name)
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


def _no_field(name: str) -> UserError:
    from flowyard import results
    from flowyard.commands import scenario_fields

    near = scenario_fields.near(results.schema(), name)
    meant = f"did you mean {' or '.join(near)}" if near else "docs/reference has a page for each part of them"
    return UserError(f"no field {name} of scenarios; {meant}")


def _fields_of(name: str) -> list[dict[str, str]]:
    from flowyard import results
    from flowyard.commands import scenario_fields

    return scenario_fields.named(results.schema(), name)


def _fields(name: str, *, as_json: bool) -> int:
    """Prints the fields of scenarios of that name."""
    from flowyard.terminal.exits import COMPLETE

    fields = _fields_of(name)
    if as_json:
        print(json.dumps({"scenario": fields}, indent=2, ensure_ascii=False))
        return COMPLETE
    for field in fields[:FIELDS_MAX]:
        default = f"; default {field['default']}" if field["default"] else ""
        print(f"{field['name']}: {field['kind']}{default}")
        print(textwrap.fill(field["meaning"], 100, initial_indent="  ", subsequent_indent="  "))
        print(f"  {field['page']}")
    if len(fields) > FIELDS_MAX:
        print(f"and {len(fields) - FIELDS_MAX} more fields of that name; give more of the path")
    return COMPLETE


def _values_of(column: dict[str, str]) -> set[str]:
    """Names of series and metrics, from the meaning of the column that contains these names."""
    if column["name"] not in ("series", "metric"):
        return set()
    return {
        word for word in re.findall(r"[a-z_]+", column["meaning"]) if "_" in word or word == "utilisation"
    }
