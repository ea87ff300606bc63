"""A network from a list of its cables: an inventory's export (CSV), or an edge list such as `h0 s 10Gbps 1us`.

Of both `cabling.network_of` makes the network: hosts are those that `--hosts` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange import cabling, tables
from flowyard.interchange.columns import CABLES, Column, unique
from flowyard.interchange.columns import named as named_columns
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, Source, decimal, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowyard.interchange.network import Network

# Digits of a loss.
_PLACES = 15
# Rows by which columns without names are told.
_LOOKED_AT = 50


def read(source: Source, columns: Sequence[Column] | None = None, **options: Any) -> Network:
    """The network; without columns they are those of the line of names, or identified by their units.

    Args:
        source: The text.
        columns: What the user says that the columns are.
        options: As for `cabling.network_of`.
    """
    head = tables.head(source)
    if columns is None:
        columns = unique(named_columns(head.words, CABLES), source.name) if head else by_units(source)
        if columns is None:
            raise source.wrong(
                0, "has no line that names its columns; name them with --columns a,b,rate,delay"
            )
        _refuse_flows(source, columns)
    columns = list(columns)
    found, losses = cabling.Cabling(), _Losses(source)
    for row in tables.rows(source, head.line if head else 0):
        tables.check_width(source, row, columns)
        a, b = (_end(source, row, columns, role) for role in ("a", "b"))
        data = {}
        for role in ("rate", "delay"):
            cell = tables.cell(source, row, columns, role) if _has(columns, role, row) else None
            if cell and cell[0]:
                word, column = cell
                data[role] = word + column.unit if column.unit and word[-1:].isdecimal() else word
        found.join(a, b, data)
        cell = tables.cell(source, row, columns, "loss") if _has(columns, "loss", row) else None
        losses.add(row[0], (a, b), *cell if cell else ("", None))
    try:
        network = cabling.network_of(found.by_node(), **options)
    except cabling.LackingError as error:
        raise source.wrong(0, "; ".join([str(error), *tables.unread(columns)])) from None
    except UserError as error:
        raise source.wrong(0, str(error)) from None
    number = {name: node for node, name in enumerate(network.names)}
    for (a, b), share in losses.shares.items():
        if share:
            low, high = sorted((number[a], number[b]))
            network.loss[low, high] = share
    network.notes += [*losses.notes(), *tables.unread(columns)]
    return network


class _Losses:
    """Shares of packets that cables lose, by their ends: one for all cables between two nodes, as a fault has it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shares: dict[tuple[str, str], float] = {}
        self.bare = False

    def add(self, line: int, ends: tuple[str, str], word: str, column: Column | None) -> None:
        """That of a cable; a cell without any is none."""
        share = self._share(line, word, column.unit if column else None) if word else 0.0
        known = self.shares.setdefault((min(ends), max(ends)), share)
        if known != share:
            raise self.source.wrong(
                line, f"loss is {share:g}, but {known:g} for a parallel cable; they must agree"
            )

    def notes(self) -> list[str]:
        """How losses without a unit are read."""
        return ["losses without % read as shares of packets"] if self.bare else []

    def _share(self, line: int, word: str, unit: str | None) -> float:
        percent = word.endswith("%") or unit == "%"
        number = decimal(word.removesuffix("%").strip(), _PLACES)
        share = number[0] / 10 ** (_PLACES + 2 * percent) if number else 2.0
        if share > 1:
            what = "must be a share of packets, 0 to 1, or percent as in 0.1%"
            raise self.source.wrong(line, f"loss is {shown(word)}; {what}")
        self.bare |= share > 0 and not percent
        return share


def _refuse_flows(source: Source, columns: Sequence[Column]) -> None:
    """Raises a UserError for a table of flows that has rates and durations in place of sizes."""
    if lasting := [
        column.name for column in columns if not column.role and "duration" in column.name.lower()
    ]:
        what = f"has no column of sizes, but rates and {shown(lasting[0])}"
        raise source.wrong(0, f"{what}: a table of flows needs size, and one of cables has no durations")


def by_units(source: Source) -> list[Column] | None:
    """The columns of a list without names, where each row has two ends, a rate and perhaps a delay, with units."""
    found: list[str] | None = None
    for _, (_, words) in zip(range(_LOOKED_AT), tables.rows(source), strict=False):
        roles = _roles(words)
        if roles is None or (found is not None and roles != found):
            return None
        found = roles
    return [Column(role, role) for role in found] if found else None


def _roles(words: list[str]) -> list[str] | None:
    """Columns of a row, by the units of its cells."""
    if len(words) not in (3, 4):
        return None
    ends = iter(("a", "b"))
    roles: list[str] = []
    for word in words:
        if _has_unit(word, RATE_UNITS):
            roles.append("rate")
        elif _has_unit(word, TIME_UNITS):
            roles.append("delay")
        else:
            roles.append(next(ends, "more"))
    return roles if len(set(roles)) == len(roles) and {"a", "b", "rate"} <= set(roles) else None


def _has_unit(word: str, units: dict[str, int]) -> bool:
    try:
        quantity(word, units)
    except ValueError:
        return False
    return True


def _has(columns: list[Column], role: str, row: tables.Row) -> bool:
    """Whether a row goes as far as the column of a role: the last cells of an inventory may be empty."""
    return any(column.role == role and place < len(row[1]) for place, column in enumerate(columns))


def _end(source: Source, row: tables.Row, columns: list[Column], role: str) -> str:
    found = tables.cell(source, row, columns, role)
    if not found or not found[0]:
        line, words = row
        raise source.wrong(line, f"has no end {role}, {shown(' '.join(words))}; a cable has two")
    return found[0]
