"""Targets, measurements, and whether each target is met."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """One figure with its limit; `at_least` says on which side of it the figure must be.

    A target that is not reached yet has a `guard` besides: what this version does reach, and keeps to.
    """

    target: int
    what: str
    unit: str
    measured: float
    limit: float
    stretch: float | None = None
    at_least: bool = False
    guard: float | None = None

    @property
    def met(self) -> bool:
        """Whether the target was met."""
        return self.within(self.limit)

    @property
    def kept(self) -> bool:
        """Whether the target was met or, as long as it has not been, nothing has become worse."""
        return self.met or (self.guard is not None and self.within(self.guard))

    def within(self, bound: float) -> bool:
        """Whether the figure is on the right side."""
        return self.measured >= bound if self.at_least else self.measured <= bound

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
            "guard": self.guard,
            "kept": self.kept,
        }

    def cells(self) -> list[str]:
        """Subject, target, stretch, measured, verdict: a row of a table."""
        sign = "at least" if self.at_least else "at most"
        unit = f" {self.unit}" if self.unit else ""
        return [
            self.what,
            f"{sign} {self.limit:g}{unit}",
            "" if self.stretch is None else f"{self.stretch:g}{unit}",
            f"{self.measured:.3g}{unit}" if self.measured < 100 else f"{self.measured:,.0f}{unit}",
            "met" if self.met else f"MISSED, within {self.guard:g}" if self.kept else "MISSED",
        ]
