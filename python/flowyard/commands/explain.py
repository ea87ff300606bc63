"""`flowyard explain`: the meaning of the columns of results, and of fields of scenarios."""

import argparse
import json
import re
import textwrap
from collections.abc import Sequence

from flowyard.commands import options
from flowyard.errors import UserError

NAME = "explain"
HELP = "print the meaning of the columns of results, or of a field of scenarios"
# So many fields of a name are printed, and so many names proposed.
FIELDS_MAX, NEAR_MAX = 12, 6
# Characters of the line of a field in its table.
LINE_MAX = 200
# Words of the field that are no name here, and where to find what they mean.
ELSEWHERE = {
    "bisection": "flowyard topology prints it: the least capacity, one way, between two halves of the hosts",
    "ecmp": "did you mean routing.balancer.per-flow",
    "pfc": "did you mean queue.lossless (priority flow control), pauses or paused_ps",
}

Columns = dict[str, list[dict[str, str]]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """A column or a field."""
    options.as_json(parser)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="columns, or fields or members of scenarios, such as transport.ndp.initial_window; default all columns",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the columns of each name, or all, by table; or its fields if there is no such column."""
    from flowyard import _native, results
    from flowyard.sweeps import columns as of_sweeps
    from flowyard.terminal.exits import COMPLETE

    slotted = {f"slotted/{table}": columns for table, columns in _native.explain_slotted().items()}
    tables = results.explain() | slotted | of_sweeps.explain()
    fields: dict[str, list[dict[str, str]]] = {}
    if arguments.names:
        fields = {name: _fields_of(name) for name in arguments.names if not _named([name], tables)}
        if unknown := [name for name, found in fields.items() if not found]:
            raise _unknown(unknown[0], tables)
        tables = _named(arguments.names, tables)
    if arguments.json:
        listed = [field for found in fields.values() for field in found]
        print(json.dumps(tables | ({"scenario": listed} if listed else {}), indent=2, ensure_ascii=False))
        return COMPLETE
    from flowyard.terminal.console import show_columns

    for table, columns in tables.items():
        show_columns(table, columns)
    for found in fields.values():
        _show_fields(found)
    return COMPLETE


def _named(names: Sequence[str], tables: Columns) -> Columns:
    """The columns of these names, or with such values, by table."""
    found = {
        table: [
            column
            for column in columns
            if column["name"] in names or not _values_of(column).isdisjoint(names)
        ]
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
    plain = name.lower()
    # A part of a name, such as p99, is closer to it than letters say; closest in a name of few parts.
    having = sorted((each for each in names if plain in each.split("_")), key=lambda each: each.count("_"))
    near = having[:NEAR_MAX] or difflib.get_close_matches(plain, names, n=3)
    if plain in ELSEWHERE:
        meant = ELSEWHERE[plain]
    elif near:
        meant = f"did you mean {' or '.join(near)}"
    else:
        meant = "flowyard explain, without a name, lists all; docs/metrics.md defines the metrics of reports"
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


def _show_fields(fields: list[dict[str, str]]) -> None:
    """Prints fields of scenarios."""
    for field in fields[:FIELDS_MAX]:
        default = f"; default {field['default']}" if field["default"] else ""
        print(f"{field['name']}: {field['kind']}{default}")
        print(textwrap.fill(field["meaning"], 100, initial_indent="  ", subsequent_indent="  "))
        print(f"  {field['page']}")
        if len(fields) == 1:
            _show_table(field["name"])
    if len(fields) > FIELDS_MAX:
        print(f"and {len(fields) - FIELDS_MAX} more fields of that name; give more of the path")


def _show_table(name: str) -> None:
    """Prints the fields of a table, a line each, with the first sentence of their meaning."""
    from flowyard import results
    from flowyard.commands import scenario_fields

    for field in scenario_fields.below(results.schema(), name):
        own = field["name"].rpartition(".")[2]
        default = field["default"] if field["default"] == "required" else f"default {field['default']}"
        taken = ", ".join([field["kind"]] + [default] * bool(field["default"]))
        meaning = re.split(r"(?<=\.) ", field["meaning"], maxsplit=1)[0]
        print("    " + textwrap.shorten(f"{own} ({taken}): {meaning}", LINE_MAX, placeholder=" ..."))


def _values_of(column: dict[str, str]) -> set[str]:
    """Names of series and metrics, from the meaning of the column that contains these names."""
    if column["name"] not in ("series", "metric"):
        return set()
    return {
        word for word in re.findall(r"[a-z_]+", column["meaning"]) if "_" in word or word == "utilisation"
    }
