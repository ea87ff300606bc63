"""Peers' text files: lines with their numbers, and the words on them as exact numbers.

A mistake is a UserError with file, line, value and what is allowed. All arithmetic is on whole
numbers, so that a time or rate in a scenario is the one in the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flowyard.errors import UserError
from flowyard.folders.reading import shown

# What a scenario's u64 holds; also keeps a slip of the pen from becoming a huge number.
LARGEST = 2**64 - 1

_NUMBER = re.compile(r"([0-9]{1,20})(?:\.([0-9]{0,30}))?(?:[eE]([+-]?[0-9]{1,2}))?", re.ASCII)
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.]\S*)?", re.ASCII)

# Powers of ten of a picosecond.
TIME_UNITS = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
_PREFIXES = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}
# Powers of ten of a bit a second.
RATE_UNITS = {prefix + unit: power for prefix, power in _PREFIXES.items() for unit in ("bps", "b/s", "bit/s")}
# Other spellings, as inventories and graphs have them; a capital B would be bytes, and is in none of them.
_SPELLINGS = (
    {"sec": 12, "usec": 6, "msec": 9, "nsec": 3}
    | {
        prefix + unit: power
        for prefix, power in _PREFIXES.items()
        if prefix
        for unit in ("", "b", "bit", "bits/s", "bE", "bit/sec")
    }
    | {"gbps": 9, "mbps": 6, "tbps": 12}
)
_TIMES = {"sec", "usec", "msec", "nsec"}


@dataclass(frozen=True)
class Source:
    """The text of a file and the name by which messages call it."""

    name: str
    text: str

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Numbers and words of all lines that have any; comments, from "#" on, are left out."""
        for number, line in enumerate(self.text.split("\n"), 1):
            words = line.partition("#")[0].split()
            if words:
                yield number, words

    def wrong(self, line: int, what: str) -> UserError:
        """Error at a line; line 0 is the file as a whole."""
        place = f"{self.name}, line {line}" if line else self.name
        return UserError(f"{place}: {what}")

    def whole(self, line: int, name: str, word: str, low: int = 0, high: int = LARGEST) -> int:
        """A whole number within bounds."""
        if word.isdecimal() and len(word) <= 20 and low <= (number := int(word)) <= high:
            return number
        below = f" to {high}" if high < LARGEST else " or more"
        raise self.wrong(line, f"{name} is {shown(word)}; must be a whole number, {low}{below}")

    def scaled(self, line: int, name: str, word: str, power: int) -> tuple[int, bool]:
        """A decimal number times a power of ten, cut to a whole number, and whether it was exact."""
        number = decimal(word, power)
        if number is not None and number[0] <= LARGEST:
            return number
        raise self.wrong(line, f"{name} is {shown(word)}; must be a number, 0 or more, such as 2.5")

    def quantity(self, line: int, name: str, word: str, units: dict[str, int]) -> int:
        """A number with its unit, exactly, in the unit of power 0."""
        try:
            return quantity(word, units)
        except ValueError as error:
            raise self.wrong(line, f"{name} is {shown(word)}; {error}") from None


def decimal(word: str, power: int) -> tuple[int, bool] | None:
    """A decimal number times a power of ten, cut to a whole number, and whether it was exact."""
    # The usual case first: a million starts pass here.
    whole, _, fraction = word.partition(".")
    if not (whole.isdecimal() and len(whole) <= 20 and len(fraction) <= power and fraction.isdecimal()):
        match = _NUMBER.fullmatch(word)
        if not match:
            return None
        whole, fraction = match[1], match[2] or ""
        power += int(match[3] or 0)
    digits = int(whole + fraction)
    shift = power - len(fraction)
    if shift >= 0:
        return digits * 10**shift, True
    cut, rest = divmod(digits, 10**-shift)
    return cut, rest == 0


def quantity(word: str, units: dict[str, int]) -> int:
    """A number with its unit; a ValueError says what is wrong."""
    example = "10us" if units is TIME_UNITS else "10Gbps"
    match = _QUANTITY.fullmatch(plain(word))
    if not match:
        raise ValueError(f'must be a number with a unit, such as "{example}"')
    if match[2] is None:
        raise ValueError(f'has no unit; must be such as "{example}"')
    power = unit_power(match[2], units)
    if power is None:
        raise ValueError(f"has the unit {shown(match[2])}; units are {', '.join(units)}")
    number = decimal(match[1], power)
    if number is None or number[0] > LARGEST:
        raise ValueError(f'must be a number with a unit, such as "{example}"')
    if not number[1]:
        raise ValueError(f"is not a whole number of {'ps' if units is TIME_UNITS else 'bps'}")
    return number[0]


def plain(word: str) -> str:
    """A text with the micro sign and the Greek letter as "u", and with blanks that break lines."""
    return (
        # By number: for their names Python loads a module, which a Ctrl-C at that moment makes a SyntaxError.
        word.replace("\u00b5", "u").replace("\u03bc", "u").replace("\xa0", " ").strip()
    )


def unit_power(unit: str, units: dict[str, int]) -> int | None:
    """The power of ten of a unit, in one of its spellings; None if it is none of them."""
    unit = plain(unit)
    spelt = _SPELLINGS.get(unit) if (unit in _TIMES) == (units is TIME_UNITS) else None
    return units.get(unit, spelt)


def time_text(ps: int) -> str:
    """As a scenario has it, in the largest unit that divides it: 1500000 as "1500ns"."""
    return _in_units(ps, ("ps", "ns", "us", "ms", "s"))


def rate_text(bps: int) -> str:
    """As a scenario has it, such as "10Gbps"."""
    return _in_units(bps, ("bps", "Kbps", "Mbps", "Gbps", "Tbps"))


def _in_units(number: int, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if number % 1000:
            return f"{number}{unit}"
        number //= 1000
    return f"{number}{units[-1]}"
