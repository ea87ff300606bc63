"""Tables on stdout: ruled in a terminal, aligned text elsewhere."""

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

# Columns of a line where there is no terminal to ask.
WIDTH = 160


class TextTable(NamedTuple):
    """A small table for people; the first columns (`left`) are aligned left, the others right.

    With `words_last` the last column has words, which are aligned left and folded if they are long.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    words_last: bool = False


def show(table: TextTable) -> None:
    """Prints the table."""
    if not _styled() and (lines := _plain(table)):
        print(*lines, sep="\n")
        return
    from rich import box
    from rich.table import Table

    # A title of the table's own would be folded to its width.
    _print(table.title)
    ruled = Table(box=box.SIMPLE_HEAD, show_header=any(table.header))
    for i, name in enumerate(table.header):
        if table.words_last and i == len(table.header) - 1:
            ruled.add_column(name, overflow="fold")
        else:
            ruled.add_column(name, justify="right" if i >= table.left else "left", no_wrap=True)
    for row in table.rows:
        ruled.add_row(*row)
    _print(ruled)


def show_columns(title: str, columns: Sequence[dict[str, str]]) -> None:
    """Prints what the columns of one of the results' tables mean."""
    from rich import box
    from rich.table import Table

    # Those of a sweep are made when they are asked for.
    _print(title if title.startswith("sweep.") else f"{title}.parquet")
    ruled = Table(box=box.SIMPLE_HEAD)
    for name in ("column", "type", "unit"):
        ruled.add_column(name, no_wrap=True)
    ruled.add_column("meaning", overflow="fold")
    for column in columns:
        ruled.add_row(column["name"], column["kind"], column["unit"], column["meaning"])
    _print(ruled)


def _styled() -> bool:
    """Whether rich takes stdout for a terminal, or is told to."""
    return sys.stdout.isatty() or any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))


def _plain(table: TextTable) -> list[str]:
    """The lines that rich would print where there are no colours; none if a line must be folded or letters may be wide.

    To import rich takes longer than most of what a short command does.
    """
    cells = [table.header, *table.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if max(sum(widths) + 3 * len(widths) + 1, len(table.title)) > WIDTH:
        return []
    if not all(text.isascii() and text.isprintable() for row in (*cells, [table.title]) for text in row):
        return []
    last_left = len(widths) - 1 if table.words_last else -1

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if i < table.left or i == last_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"  {'   '.join(padded)}  "

    empty = line([""] * len(widths))
    head = [line(table.header), f" {'─' * (len(empty) - 2)} "] if any(table.header) else []
    return [table.title, empty, *head, *map(line, table.rows), empty]


def _print(renderable: object) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        # Rich takes 80 columns for what is not a terminal, and would cut what does not fit.
        console = Console(highlight=False, markup=False, emoji=False, width=WIDTH)
    console.print(renderable)
