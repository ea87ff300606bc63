"""What was promised, what was measured, and whether it was kept."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """One figure with its limit; `at_least` says on which side of it the figure must be."""

    target: int
    what: str
    unit: str
    measured: float
    limit: float
    stretch: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the limit was kept."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def json(self) -> dict[str, Any]:
        """The check as plain data."""
        return {
            "target": self.target,
            "what": self.what,
            "unit": self.unit,
            "limit": self.limit,
            "stretch": self.stretch,
            "measured": round(self.measured, 4),
            "met": self.met,
        }

    def cells(self) -> list[str]:
        """What, target, stretch, measured, verdict: a row of a table."""
        sign = "at least" if self.at_least else "at most"
        unit = f" {self.unit}" if self.unit else ""
        return [
            self.what,
            f"{sign} {self.limit:g}{unit}",
            "" if self.stretch is None else f"{self.stretch:g}{unit}",
            f"{self.measured:.3g}{unit}" if self.measured < 100 else f"{self.measured:,.0f}{unit}",
            "met" if self.met else "MISSED",
        ]
