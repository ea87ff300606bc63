"""Requirements of a table for a verdict at full scale: replicas at each point, flows in each run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowyard.forks import pl

# How many replicas the means of a point are of: flowyard.analysis.intervals.replica_means.
COUNTED = "replicas"


@dataclass(frozen=True)
class Needs:
    """Requirements of a table.

    Attributes:
        replicas: Different values of `column` at each point. In a table of means without that column, what its column
            "replicas" has at least.
        by: The columns that tell points apart; without any the table is one point.
        column: The column that tells replicas apart.
        least: The smallest value that a column may have in any row, such as {"flows": 20_000}.
        rows: The fewest rows of the whole table.
        where: Only rows with these values count, such as {"mode": "B"}.
        reading: The only reading of a claim that needs this (judge.by_reading); if lacking, that one is NOT-REACHED.
    """

    replicas: int = 0
    by: Sequence[str] = ()
    column: str = "replica"
    least: Mapping[str, float] = field(default_factory=dict)
    rows: int = 0
    where: Mapping[str, Any] = field(default_factory=dict)
    reading: str = ""

    def lacking(self, table: pl.DataFrame) -> str:
        """Shortfall of the table; empty if it suffices."""
        if self.where:
            table = table.filter(**self.where)
        if table.is_empty():
            return f"no rows where {self.where}"
        if len(table) < self.rows:
            return f"{len(table):,} of {self.rows:,} rows"
        if self.replicas and (said := self._replicas(table)):
            return said
        for column, least in self.least.items():
            found = table[column].min()
            if not isinstance(found, int | float) or found < least:
                return f"{column} {found!r}, not {least:,}"
        return ""

    def _replicas(self, table: pl.DataFrame) -> str:
        if self.column not in table.columns:
            points = table.select(*self.by, count=COUNTED)
        else:
            keys = [pl.col(name) for name in self.by] or [pl.lit(0).alias("_all")]
            points = table.group_by(keys, maintain_order=True).agg(count=pl.col(self.column).n_unique())
        short = points.filter(pl.col("count") < self.replicas)
        if short.is_empty():
            return ""
        first = short.row(0, named=True)
        where = ", ".join(f"{name} = {first[name]}" for name in self.by)
        more = f", and too few at {len(short) - 1} more of {len(points)} points" if len(short) > 1 else ""
        return f"{first['count']} of {self.replicas} replicas{f' at {where}' if where else ''}{more}"
