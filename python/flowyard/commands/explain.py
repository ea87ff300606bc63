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
    if name := arguments.column:
        found = _named(name, tables)
        if not found:
            if fields := _fields_of(name):
                return _show_fields(fields, as_json=arguments.json)
            raise _unknown(name, tables)
        tables = found
    if arguments.json:
        print(json.dumps(tables, indent=2))
        return COMPLETE
    from flowyard.terminal.console import show_columns

    for table, columns in tables.items():
        show_columns(table, columns)
    return COMPLETE


def _named(name: str, tables: Columns) -> Columns:
    """The columns of a name, or with such a value, by table."""
    found = {
        table: [column for column in columns if column["name"] == name or name in _values_of(column)]
        for table, columns in tables.items()
    }
    return {table: columns for table, columns in found.items() if columns}


def _unknown(name: str, tables: Columns) -> UserError:
    """Of a name that is neither a column nor a field: the names that may be meant."""
    if "." in name:
        return _no_field(name)
    import difflib

    every = [column for columns in tables.values() for column in columns]
    names = sorted({column["name"] for column in every}.union(*map(_values_of, every)))
    # A part of a name, such as p99, is closer to it than letters say.
    plain = name.lower()
    near = (
        difflib.get_close_matches(plain, names, n=3)
        or [each for each in names if plain in each.split("_")][:6]
    )
    meant = (
        f"did you mean {' or '.join(near)}"
        if near
        else ("flowyard explain, without a name, lists all; docs/metrics.md defines the metrics of reports")
    )
    return UserError(f"no column {name}; {meant}")


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


def _show_fields(fields: list[dict[str, str]], *, as_json: bool) -> int:
    """Prints fields of scenarios."""
    from flowyard.terminal.exits import COMPLETE

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
