"""Folders in the making, each with a locked file beside it, which says that its process lives.

What a process leaves that is killed is known by its lock, which is free then; the next process that makes a folder at
the same place removes it. Where the file system has no locks, nothing is removed.
"""

import contextlib
import os
import re
import shutil
from pathlib import Path

from flowyard.errors import UserError

# How often a place may be lost to a process that is just tidying up there.
TRIES = 100


class Owned:
    """A new folder that no other process takes for a dead one's, until it is released.

    Attributes:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        """Makes the lock and the folder.

        Raises:
            BlockingIOError, FileNotFoundError, FileExistsError: Another process was faster to lock or to remove it.
            OSError: Nothing can be written here.
        """
        self.path = path
        self._lock = path.with_suffix(".lock")
        self._keep = False
        self._descriptor = os.open(self._lock, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            _locked(self._descriptor)
            self._lock.stat()
            path.mkdir()
        except OSError:
            os.close(self._descriptor)
            raise

    def keep(self) -> None:
        """Lets the folder stay where it is when it is released."""
        self._keep = True

    def release(self) -> None:
        """Removes the folder, unless it is to be kept or was moved away, then the lock."""
        if not self._keep:
            shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._lock.unlink()
        os.close(self._descriptor)


def claim(parent: Path, prefix: str = "") -> Owned:
    """A new folder in `parent`, under the prefix and a name of its own; what the dead left there is removed.

    Raises:
        OSError: Nothing can be written there.
    """
    for _ in range(TRIES):
        # Another process may just remove the folder around it, or take the lock for a dead one's before it is held.
        with contextlib.suppress(BlockingIOError, FileNotFoundError, FileExistsError):
            parent.mkdir(exist_ok=True)
            clear_dead(parent, prefix)
            return Owned(parent / f"{prefix}{os.urandom(6).hex()}")
    raise UserError(f"{parent}: cannot write here; choose another folder with -o")


def clear_dead(parent: Path, prefix: str = "") -> None:
    """Removes what processes left that were killed: their locks are free."""
    name = re.compile(re.escape(prefix) + r"[0-9a-f]{12}\.lock")
    for lock in parent.iterdir():
        if not name.fullmatch(lock.name):
            continue
        try:
            descriptor = os.open(lock, os.O_RDWR)
        except OSError:
            continue
        try:
            if _locked(descriptor):
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)
        except OSError:
            # Its process lives, or it belongs to somebody else.
            pass
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Takes a lock; false where there are none. Raises BlockingIOError if another process has it."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except (ImportError, OSError):
        return False
    return True
