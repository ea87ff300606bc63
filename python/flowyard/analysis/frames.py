"""Tables that the analysis takes: polars tables, and the tables of a result as they are."""

from typing import Protocol

from flowyard.forks import pl


class Arrow(Protocol):
    """A table of any library that hands over its columns by Arrow, such as `result.flows`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's interface for C."""


def frame(table: Arrow) -> pl.DataFrame:
    """The table as one of polars; nothing is copied."""
    return table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
