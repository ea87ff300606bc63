"""Quantities as run.json writes them."""

_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def picoseconds(time: str) -> int:
    """A time such as "1500ns" in ps."""
    digits = time.rstrip("smnup")
    return int(digits) * _UNITS[time[len(digits) :]]
