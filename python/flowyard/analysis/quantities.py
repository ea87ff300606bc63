"""Quantities as scenarios and run.json write them; units as crates/sim/src/units.rs reads them."""

TIME = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
BYTES = {"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
RATE = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}


def picoseconds(time: str) -> int:
    """A time such as "1500ns" in ps."""
    digits = time.rstrip("smnup")
    return int(digits) * TIME[time[len(digits) :]]
