"""Tables on stdout: ruled in a terminal, aligned text elsewhere."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Literal, NamedTuple

from flowyard.terminal.names import printable
from flowyard.terminal.streams import for_rich

if TYPE_CHECKING:
    from rich.console import Console

# Columns of a line where there is no terminal to ask.
WIDTH = 160
# Letters of a word that stay in one line where cells are folded.
LONGEST_WORD = 16


class TextTable(NamedTuple):
    """A small table for people; the first columns (`left`) are aligned left, the others right.

    With `words_last` the last column has words, which are aligned left and folded if they are long. Cells in `bold`,
    given by row and column, are bold where there are styles.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    words_last: bool = False
    bold: Set[tuple[int, int]] = frozenset()

    def column(self, i: int) -> list[str]:
        """The head and the cells of a column."""
        return [self.header[i], *(row[i] for row in self.rows)]

    def has_words(self, i: int) -> bool:
        """Whether a column is the last one, and of words."""
        return self.words_last and i == len(self.header) - 1

    def is_left(self, i: int) -> bool:
        """Whether a column is aligned left."""
        return i < self.left or self.has_words(i)


def show(table: TextTable) -> None:
    """Prints the table."""
    # As scenarios have it, and the summary of a run, which is in ASCII.
    rows = [[printable(cell).replace("\u00a0µs", "\u00a0us") for cell in row] for row in table.rows]
    header = [printable(name) for name in table.header]
    table = table._replace(title=printable(table.title), header=header, rows=rows)
    if not styled() and (lines := _plain(table)):
        print(*lines, sep="\n")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # A title of the table's own would be folded to its width.
    _print(table.title)
    for block in _blocks(table, _console().width):
        ruled = Table(box=box.SIMPLE_HEAD, show_header=any(table.header))
        for i, width in block.items():
            justify: Literal["left", "right"] = "left" if table.is_left(i) else "right"
            ruled.add_column(table.header[i], justify=justify, width=width, overflow="fold")
        for number, row in enumerate(table.rows):
            ruled.add_row(*(Text(row[i], "bold" if (number, i) in table.bold else "") for i in block))
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


def styled() -> bool:
    """Whether rich takes stdout for a terminal, or is set to."""
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

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if table.is_left(i) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"  {'   '.join(padded)}  "

    empty = line([""] * len(widths))
    head = [line(table.header), f" {'─' * (len(empty) - 2)} "] if any(table.header) else []
    return [table.title, empty, *head, *map(line, table.rows), empty]


def _blocks(table: TextTable, room: int) -> Iterator[dict[int, int]]:
    """Columns that fit beside each other, with their widths: all of them if the terminal is wide enough.

    Rich alone would shrink columns to nothing where they do not fit. Each further block has the left columns again,
    which say whose row it is.
    """
    columns = range(len(table.header))
    if _fits(table, columns, 1, room):
        yield _widths(table, columns, room)
        return
    left = list(columns[: min(table.left, len(columns) - 1)])
    block = left.copy()
    for i in columns[len(left) :]:
        if block != left and not _fits(table, [*block, i], 0, room):
            yield _widths(table, block, room)
            block = left.copy()
        block.append(i)
    yield _widths(table, block, room)


def _widths(table: TextTable, block: Sequence[int], room: int) -> dict[int, int]:
    """The width of each column: of its longest cell if there is room; else the widest columns lose first."""
    natural = {i: max(map(_letters, table.column(i))) for i in block}
    folded = next((folded for folded in range(2) if _fits(table, block, folded, room)), 2)
    least = {i: _least(table, i, folded) for i in block}
    for most in range(max(natural.values()), 0, -1):
        widths = {i: min(natural[i], max(least[i], most)) for i in block}
        if _line(widths.values()) <= room:
            return widths
    return least


def _fits(table: TextTable, block: Iterable[int], folded: int, room: int) -> bool:
    return _line(_least(table, i, folded) for i in block) <= room


def _least(table: TextTable, i: int, folded: int) -> int:
    """The least width of a column.

    Args:
        table: The table.
        i: The column.
        folded: Which cells may be folded: 0 heads and words, 1 also those of the left columns, 2 all.
    """
    head, *cells = table.column(i)
    words = head.split(" ")
    if folded < 2 - (i < table.left) and not table.has_words(i):
        return max(map(_letters, [*words, *cells]))
    words += [word for cell in cells for word in cell.split(" ")]
    return min(max(map(_letters, words)), LONGEST_WORD)


def _line(widths: Iterable[int]) -> int:
    """Letters of a line that has columns of these widths."""
    return sum(width + 3 for width in widths) + 1


def _letters(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _print(renderable: object) -> None:
    _console().print(renderable)


def _console() -> "Console":
    from rich.console import Console

    file = for_rich(sys.stdout)
    console = Console(file=file, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        # Rich takes 80 columns for what is not a terminal.
        console = Console(file=file, highlight=False, markup=False, emoji=False, width=WIDTH)
    return console
