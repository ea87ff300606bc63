"""The machine that figures come from, as far as the system tells."""

import os
import platform
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    """Processor, caches, memory, system."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "caches": caches(),
        "memory_bytes": memory(),
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    """The processor's name."""
    for line in lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def caches() -> str:
    """Sizes of the caches of the first core, from the first level on."""
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ("".join(lines(folder / name)) for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)


def memory() -> int | None:
    """Bytes of memory."""
    for line in lines(Path("/proc/meminfo")):
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def lines(path: Path) -> list[str]:
    """The lines of a file, or none if the system does not have it."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
