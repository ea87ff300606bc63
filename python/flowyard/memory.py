"""How much memory this process may still take: what the system, its control groups and its own limits leave.

Where a process takes more than its group may have, the system kills it without a word; where it takes more than its
limit of address space, the engine cannot go on. Both are known before a run, as is about what the run needs.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from flowyard.errors import UserError
from flowyard.text import room

# Where Linux says it.
ROOT = Path("/")
# A group without a limit has one of about 2**63 by version 1.
NO_LIMIT = 2**60
# Networks and flows of fewer bytes are built before anything is refused: what is left is known no better than that.
SMALL = 16 << 20
# Address space that V8 reserves, and hardly uses: 64 GiB, of which it gives back half, and what is around them.
DRAWING = 72 << 30
# Address space that Polars takes where it writes tables, with its threads: measured, 950 MiB on two processors. Without
# it the process aborts.
TABLES = 1 << 30


class Left(NamedTuple):
    """Memory that there is for a run.

    Attributes:
        size: Bytes.
        why: What leaves no more.
    """

    size: int
    why: str


def left() -> Left | None:
    """The least that anything leaves for a run that writes its tables; None where the system says nothing."""
    found = [*_free(), *_groups(), *_own_limits(tables=True)]
    return min(found, default=None)


def require(need: int) -> None:
    """Refuses a run that needs more bytes than there are.

    Raises:
        UserError: The text has both, and which field limits a run.
    """
    _refuse(need, "run", left())


def require_to_build(need: int) -> None:
    """Refuses to build a network, or to draw flows, that takes more bytes than there are: nothing is written for that.

    Raises:
        UserError: As of `require`.
    """
    if need > SMALL:
        found = [*_free(), *_groups(), *_own_limits(tables=False)]
        _refuse(need, "scenario", min(found, default=None))


def _refuse(need: int, what: str, there: Left | None) -> None:
    if there and need > there.size:
        rest = f"{room(there.size)} are" if there.size else "nothing is"
        raise UserError(
            f"the {what} needs about {room(need)} of memory, and {rest} left here: {there.why}; use fewer flows, a "
            "smaller network or fewer samples, or give it more memory (run.memory_limit can only lower this)"
        )


def require_room_to_draw(what: str) -> None:
    """Refuses to start the engine of pictures where it would end the process: without its address space V8 aborts.

    Raises:
        UserError: There is a limit that is too low.
    """
    low = [there for there in _own_limits(tables=False) if there.why.endswith("-v)") and there.size < DRAWING]
    if low:
        raise UserError(
            f"no {what}: its engine reserves {room(DRAWING)} of address space, and {low[0].why}; raise that limit, or "
            "make it where there is none"
        )


def _free() -> list[Left]:
    for line in _lines("proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return [Left(int(line.split()[1]) << 10, "so much is free on this machine")]
    return []


def _groups() -> list[Left]:
    """Memory left by the control groups of this process and their parents, of both versions."""
    found = []
    for line in _lines("proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        at = ROOT / ("sys/fs/cgroup/memory" if controllers else "sys/fs/cgroup")
        most, used, idle = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            if controllers
            else ("memory.max", "memory.current", "inactive_file")
        )
        own = at / path.strip().lstrip("/")
        # In a container its own group may be the root of what is mounted, whatever its path says.
        for group in dict.fromkeys([own, *(place for place in own.parents if place.is_relative_to(at)), at]):
            limit, usage = _number(group / most), _number(group / used)
            if limit is None or limit >= NO_LIMIT:
                continue
            # Pages of files are given back before a process is killed.
            pages = [line.split()[1] for line in _lines_of(group / "memory.stat") if line.split()[0] == idle]
            taken = max(0, (usage or 0) - int(pages[0] if pages else 0))
            found.append(Left(max(0, limit - taken), f"its control group may have {room(limit)}"))
    return found


def _own_limits(*, tables: bool) -> list[Left]:
    """Memory left by this process's limits (ulimit -v and -d), besides its tables if asked."""
    if sys.platform == "win32":
        return []
    import resource

    taken = {
        line.split(":")[0]: line.split()[1] for line in _lines("proc/self/status") if line.startswith("Vm")
    }
    found = []
    for number, name, used in ((resource.RLIMIT_AS, "v", "VmSize"), (resource.RLIMIT_DATA, "d", "VmData")):
        limit = resource.getrlimit(number)[0]
        if limit != resource.RLIM_INFINITY and used in taken:
            reserved = TABLES if tables and name == "v" and "polars" not in sys.modules else 0
            there = max(0, limit - (int(taken[used]) << 10) - reserved)
            why = f"this process may have {room(limit)} (ulimit -{name})"
            found.append(
                Left(there, f"{why}, of which writing tables takes {room(TABLES)}" if reserved else why)
            )
    return found


def _number(path: Path) -> int | None:
    """A number alone in a file; None if there is none, or "max"."""
    text = "".join(_lines_of(path)).strip()
    return int(text) if text.isdigit() else None


def _lines(path: str) -> list[str]:
    return _lines_of(ROOT / path)


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
