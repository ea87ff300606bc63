"""polars, for all of the package, which raises an error where it would hang: in a forked process.

polars computes on threads that start with its first work. A fork copies memory without threads: in a process that is
forked afterwards, each call of polars waits for threads that are not there. One that is forked before polars has
worked starts its own.
"""

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["pl", "require_threads"]

# Linux: bit of a process that was forked and has not called exec since, in field 9 of /proc/PID/stat.
FORKED_ONLY = 0x40
# What the threads of polars are called: those that compute, those that read files.
_THREADS = re.compile(r"polars-\d|async-executor-")

_state = {"working": False, "lost": False}


def require_threads() -> None:
    """Raises a UserError in a process in which polars would hang."""
    if _state["lost"]:
        raise UserError(
            "this process was forked after polars, which holds tables of results, had started its threads, and they do "
            'not exist here; start processes by spawn: multiprocessing.get_context("spawn"), or '
            'ProcessPoolExecutor(mp_context=get_context("spawn"))'
        )


class _Guarded(ModuleType):
    """The module polars; whatever is taken from it, is taken by `require_threads`."""

    def __getattr__(self, name: str) -> Any:
        require_threads()
        return getattr(import_module("polars"), name)


if not TYPE_CHECKING:
    pl = _Guarded("polars")


def _work(process: int | str) -> bool:
    """Whether polars' threads run in a process; where the system does not say, whether they may in this one."""
    threads = Path(f"/proc/{process}/task")
    if not threads.exists():
        return process == "self" and "polars" in sys.modules
    return any(_THREADS.match(_name(thread)) for thread in threads.iterdir())


def _name(thread: Path) -> str:
    """The name of a thread; empty if it has just ended."""
    try:
        return (thread / "comm").read_text()
    except OSError:
        return ""


def _lost_before() -> bool:
    """Whether this process was forked from one in which polars works, before this module was there to see it."""
    if "polars" not in sys.modules or _work("self"):
        return False
    process = os.getpid()
    try:
        while True:
            # Behind the command, which may have spaces and parentheses, field 3 is first.
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            if not int(fields[6]) & FORKED_ONLY:
                return False
            process = int(fields[1])
            if _work(process):
                return True
    except OSError:
        return False


def _before() -> None:
    _state["working"] = "polars" in sys.modules and _work("self")


def _after() -> None:
    _state["lost"] |= _state["working"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_after)
    _state["lost"] = _lost_before()
