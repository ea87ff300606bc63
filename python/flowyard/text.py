"""Numbers as people read them: three digits that count, and a unit that fits. page.js has the same for charts."""

from collections.abc import Callable

NONE = "–"  # noqa: RUF001
_TIMES = ("ps", "ns", "µs", "ms", "s")
_SIZES = ("B", "KB", "MB", "GB", "TB")
_RATES = ("bit/s", "Kbps", "Mbps", "Gbps", "Tbps")
_SCALES = {unit: 1000**power for units in (_TIMES, _SIZES, _RATES) for power, unit in enumerate(units)}
# How far the time between two times may be off as they are shown, as a share of it.
BETWEEN = 0.01


def digits(value: float) -> str:
    """A number with three significant digits, or all digits before the point if there are more."""
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) < 0.0005:
        return f"{value:.0e}".replace("e-0", "e-")
    places = 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.9995 else 3
    return f"{value:.{places}f}"


def duration(ps: float | None) -> str:
    """A time in ps, ns, µs, ms or s."""
    return _scaled(ps, 1000, _TIMES)


def durations(start_ps: float, end_ps: float) -> tuple[str, str]:
    """Two times; with more digits where three do not say what is between them."""
    start, end = duration(start_ps), duration(end_ps)
    if _say_between(start, end, end_ps - start_ps):
        return start, end
    number, _, unit = end.partition("\u00a0")
    shown = len(number.partition(".")[2])
    for places in range(shown + 1, shown + 13):
        start, end = (f"{time / _SCALES[unit]:,.{places}f}\u00a0{unit}" for time in (start_ps, end_ps))
        if _say_between(start, end, end_ps - start_ps):
            break
    return start, end


def _say_between(start: str, end: str, ps: float) -> bool:
    """Whether the time between two that are shown is about the one that is meant."""
    return abs(_time_of(end) - _time_of(start) - ps) <= BETWEEN * ps


def _time_of(shown: str) -> float:
    number, _, unit = shown.partition("\u00a0")
    scale: int = _SCALES[unit]
    return float(number.replace(",", "")) * scale


def size(number: float | None) -> str:
    """A number of bytes in B, KB, MB, GB or TB; 1 KB is 1,000 B."""
    return _scaled(number, 1000, _SIZES)


def rate(bps: float | None) -> str:
    """A rate in bit/s up to Tbps."""
    return _scaled(bps, 1000, _RATES)


def count(number: int | None) -> str:
    """A count with all its digits."""
    return NONE if number is None else f"{number:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number of things: "1 run", "2,000 runs"; a plural that is more than the noun with an s is given."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def mean_count(value: float | None) -> str:
    """A mean of counts: with all its digits if it is whole."""
    return NONE if value is None else f"{value:,.0f}" if value == int(value) else digits(value)


def ratio(value: float | None) -> str:
    """A pure number."""
    return NONE if value is None else digits(value)


def percent(share: float | None, places: int | None = None) -> str:
    """A share of 1 in percent; only all is 100 %, only nothing is 0 %.

    Args:
        share: The share.
        places: Digits behind the point, the same in a whole column; by default as many as the share needs.
    """
    if share is None:
        return NONE
    if places is not None:
        least = 10.0 ** -(places + 2)
        # What would be rounded to nothing or to all.
        if 0 < share < least / 2:
            return f"< {least:.{places}%}"
        return f"> {1 - least:.{places}%}" if 1 - least / 2 <= share < 1 else f"{share:.{places}%}"
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if 0.9999 < share < 1:
        return "> 99.99%"
    if 0 < share < 0.0001:
        return "< 0.01%"
    return f"{share:.2%}" if share > 0.99 or share < 0.1 else f"{share:.1%}"


def interval(
    value: float | None, low: float | None, high: float | None, show: Callable[[float | None], str]
) -> str:
    """The ends of an interval around a value, as [low, high]; both in the value's unit, which is left out."""
    scale = _SCALES.get(unit_of(value, show))
    ends = [show(end) if scale is None or end is None else digits(end / scale) for end in (low, high)]
    return f"[{', '.join(ends)}]"


def unit_of(value: float | None, show: Callable[[float | None], str]) -> str:
    """The unit of a value as it is shown; empty if it has none."""
    return show(value).partition("\u00a0")[2]


def span(seconds: float) -> str:
    """A time that people wait."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes:,} min" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"


def room(size_bytes: float) -> str:
    """Bytes of memory or disk, in MiB or GiB."""
    mebi = size_bytes / 2**20
    return f"{mebi / 1024:.1f} GiB" if mebi >= 1024 else f"{max(1, round(mebi)):,} MiB"


def _scaled(value: float | None, step: int, units: tuple[str, ...]) -> str:
    if value is None:
        return NONE
    power = 0
    # What would be rounded to 1,000 belongs to the next unit.
    while abs(value) >= step - 0.5 and power < len(units) - 1:
        value, power = value / step, power + 1
    # Below the first unit there are no fractions: a picosecond, a byte, a packet.
    text = digits(value) if power or value != int(value) else f"{int(value)}"
    return f"{text} {units[power]}".rstrip().replace(" ", "\u00a0")
