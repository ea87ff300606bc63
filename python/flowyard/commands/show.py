"""`flowyard show`: the summary of a run again; the runs of a folder or a sweep, one line each; tables as CSV."""

import argparse
from pathlib import Path

from flowyard.commands import options

NAME = "show"
HELP = "print a run's summary again, list the runs of a folder or a sweep, or write tables as CSV"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder."""
    options.as_json(parser)
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder of a run, of several runs, or of a sweep"
    )
    parser.add_argument(
        "--csv",
        nargs="?",
        const="",
        type=_table,
        metavar="TABLE",
        help="print a table as CSV: flows (the default), links, or another that the run has; by_size, by_entry or "
        "over_size, completion by group of flows; of a sweep means (the default), metrics, and the same groups",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write into a new file: a table into FILE.csv, all tables into the workbook FILE.xlsx, which needs "
        "xlsxwriter: pip install flowyard[excel]",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the contents of the folder."""
    if arguments.csv is not None or arguments.output is not None:
        from flowyard.report import spreadsheet

        return spreadsheet.command(arguments)
    if (arguments.folder / "papers.json").is_file():
        from flowyard.papers import verdict_table
        from flowyard.terminal.exits import COMPLETE

        verdict_table.print_again(arguments.folder, as_json=arguments.json)
        return COMPLETE
    if (arguments.folder / "run.json").exists():
        return _one(arguments)
    from flowyard.report import listing

    return listing.command(arguments)


def _table(text: str) -> str:
    """The name of a table, for which a folder behind --csv is easily taken."""
    if text and Path(text).is_dir():
        raise argparse.ArgumentTypeError(
            f"{text!r} is a folder, in the place of a table's name; write flowyard show {text} --csv"
        )
    return text


def _one(arguments: argparse.Namespace) -> int:
    """The summary of one run, without the imports that lists need."""
    from flowyard import results
    from flowyard.terminal.exits import COMPLETE

    result = results.open_run(arguments.folder)
    if arguments.json:
        import json

        print(json.dumps({"folder": str(arguments.folder), **result.summary}, indent=2))
    else:
        from flowyard.report.run.summary import tell

        tell(result, arguments.folder)
    return COMPLETE
