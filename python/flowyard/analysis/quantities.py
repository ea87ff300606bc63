"""Quantities as scenarios and run.json write them; units as crates/sim/src/units.rs reads them."""

TIME = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
BYTES = {"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
RATE = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}


def picoseconds(time: str) -> int:
    """A time such as "1500ns" or "0.1ms" in ps.

    Raises:
        ValueError: It is no time, or no whole number of ps.
        KeyError: Its unit is none.
    """
    digits = time.rstrip("smnup")
    unit = TIME[time[len(digits) :]]
    whole, _, fraction = digits.strip().partition(".")
    if not fraction:
        return int(whole) * unit
    # Exactly: a fraction of binary digits would round.
    scale: int = 10 ** len(fraction)
    parts, rest = divmod(int(whole + fraction) * unit, scale)
    if rest or not fraction.isdecimal():
        raise ValueError(f"{time[:40]!r} is no whole number of ps")
    return parts
