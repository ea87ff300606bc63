"""Tables with a line of column names: CSV, semicolons, tabs or blanks between the cells; a "#" may stand before it.

    src,dst,size,start_us        Side A Device,Side B Device,Speed
    0,1,3000,12.5                srv-1,leaf-1,25G

Rows are cells with the numbers of their lines; `flow_table` and `cable_table` make flows and cables of them.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from flowyard.folders.reading import shown
from flowyard.interchange import columns as naming
from flowyard.interchange.columns import Column
from flowyard.interchange.text import Source

Row = tuple[int, list[str]]
# Of a count.
DIGITS_MAX = 20


@dataclass(frozen=True)
class Head:
    """The line of names.

    Attributes:
        kind: Whether these are flows or cables.
        words: The names.
        line: Its number.
    """

    kind: str
    words: list[str]
    line: int


def head(source: Source) -> Head | None:
    """The line of names, if the text begins with one: as it is, or as the last comment before the rows."""
    separator = _separator(source)
    commented: Head | None = None
    for number, line in enumerate(source.text.split("\n"), 1):
        text = line.strip().lstrip("\ufeff")
        if not text:
            continue
        words = _cells(text.lstrip("# "), separator)
        kind = naming.kind_of(words)
        found = Head(kind, words, number) if kind else None
        if not text.startswith("#"):
            # A count alone may stand between a comment and the rows.
            return found or commented
        commented = found
    return None


def rows(source: Source, skip: int = 0) -> Iterator[Row]:
    """Line numbers and cells of all rows; that line and comments are left out."""
    separator = _separator(source)
    if separator is None:
        yield from ((line, words) for line, words in source.lines() if line != skip)
        return
    lines = source.text.split("\n")
    reader = csv.reader(
        (line.partition("#")[0] if line.lstrip().startswith("#") else line for line in lines),
        delimiter=separator,
        skipinitialspace=True,
    )
    try:
        for cells in reader:
            words = [cell.strip() for cell in cells]
            while words and not words[-1]:
                words.pop()
            if words and reader.line_num != skip:
                yield reader.line_num, words
    except csv.Error as error:
        raise source.wrong(reader.line_num, f"is no line of a table: {error}") from None


def counted(source: Source) -> int | None:
    """The number of rows that the first line announces, as files of HPCC's family have it."""
    if _separator(source) is not None:
        return None
    first = next(source.lines(), None)
    word = first[1][0] if first and len(first[1]) == 1 else ""
    return int(word) if word.isdecimal() and len(word) <= DIGITS_MAX else None


def cell(source: Source, row: Row, columns: list[Column], role: str) -> tuple[str, Column] | None:
    """Cell of a row in the column of a role; None if there is no such column."""
    for place, column in enumerate(columns):
        if column.role == role:
            line, words = row
            if place >= len(words):
                names = ", ".join(column.name for column in columns)
                raise source.wrong(
                    line,
                    f"has no value in its column {shown(column.name)}: has {len(words)} columns that are not empty; "
                    f"there are {len(columns)}: {names}",
                )
            return words[place], column
    return None


def check_width(source: Source, row: Row, columns: list[Column]) -> None:
    """Refuses a row with more cells than there are columns: one of them would be taken for another."""
    line, words = row
    if len(words) > len(columns):
        names = ", ".join(column.name for column in columns)
        raise source.wrong(line, f"has {len(words)} columns, {shown(' '.join(words))}; there are {names}")


def unread(columns: list[Column]) -> list[str]:
    """A note on the columns that are not read."""
    names = [column.name for column in columns if not column.role]
    return [f"columns not read: {', '.join(names)}"] if names else []


def is_separated(source: Source) -> bool:
    """Whether there are signs between the cells, and not only blanks."""
    return _separator(source) is not None


def _separator(source: Source) -> str | None:
    """Separator of the cells, by the first line; None for blanks."""
    for line in source.text.split("\n"):
        text = line.strip().lstrip("\ufeff# ")
        if text:
            # A comment may have any sign in its prose.
            if line.lstrip("\ufeff").startswith("#") and naming.kind_of(_guess(text)) is None:
                continue
            return next((sign for sign in "\t;," if sign in text), None)
    return None


def _guess(text: str) -> list[str]:
    return _cells(text, next((sign for sign in "\t;," if sign in text), None))


def _cells(text: str, separator: str | None) -> list[str]:
    if separator is None:
        return text.split()
    try:
        return [word.strip() for word in next(csv.reader([text], delimiter=separator), [])]
    except csv.Error:
        return []
