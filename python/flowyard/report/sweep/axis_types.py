"""Type of an axis's values (numbers, quantities with a unit, or names), and the scale that follows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowyard.analysis import quantities

# From this ratio of the largest to the smallest on, an axis is logarithmic.
LOGARITHMIC = 30
# Quantities are chosen by their order of magnitude rather than in equal steps.
LOGARITHMIC_QUANTITIES = 10

# To ps, bytes and bit/s, by how the page's script writes these.
UNITS = {"duration": quantities.TIME, "bytes": quantities.BYTES, "rate": quantities.RATE}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")


@dataclass(frozen=True)
class AxisType:
    """The values of an axis.

    Attributes:
        labels: What people call each.
        numbers: Where each stands; None for names.
        format_type: How the page's script writes a number of the axis: label as it is, or with a unit.
    """

    labels: list[str]
    numbers: list[float] | None = None
    format_type: str = "label"

    @property
    def ordered(self) -> bool:
        """Whether there is a way from one value to the next: numbers have it, names have not."""
        return self.numbers is not None or all(label[:1].isdigit() for label in self.labels)

    @property
    def logarithmic(self) -> bool:
        """Whether they spread too far for equal steps."""
        if self.numbers is None or min(self.numbers) <= 0:
            return False
        limit = LOGARITHMIC if self.format_type == "label" else LOGARITHMIC_QUANTITIES
        return max(self.numbers) / min(self.numbers) > limit


def axis_type(values: Sequence[Any]) -> AxisType:
    """The type of an axis with these values."""
    labels = [value_label(value) for value in values]
    if is_numeric(values):
        return AxisType(labels, list(values))
    for format_type, units in UNITS.items():
        found = [_quantity(value, units) for value in values]
        numbers = [number for number in found if number is not None]
        # Two ways to write the same would fall on one place.
        if len(set(numbers)) == len(values):
            return AxisType(labels, numbers, format_type)
    return AxisType(labels)


def is_numeric(values: Sequence[Any]) -> bool:
    """Whether all values are numbers."""
    return all(type(value) in (int, float) for value in values)


def value_label(value: Any) -> str:
    """A value of an axis as text: the same for 1 and 1.0, which a column of numbers does not tell apart."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _quantity(value: Any, units: dict[str, int]) -> float | None:
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in units:
        return None
    number = float(match[1]) * units[match[2]]
    return int(number) if number.is_integer() else number
