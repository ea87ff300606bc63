"""Output folders: written aside, then renamed, so that a folder appears complete or not at all."""

import contextlib
import errno
import itertools
import os
import shutil
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

from flowyard.errors import UserError


class Staging:
    """A folder in the making, beside the place where it will appear.

    Opening it fails if the place is taken or not writable: before a long run, not after it.
    """

    def __init__(self, target: Path | None = None, *, numbered: str = "") -> None:
        """For `target`, or for the first free out/<numbered>-<n>."""
        self._target = target
        self._numbered = numbered
        self._parent = target.absolute().parent if target else Path("out")
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        if self._target:
            refuse_taken(self._target)
        place = self._target or self._parent
        self._made = make_folder(self._parent, place)
        try:
            self.path = self._parent / f".flowyard-{uuid.uuid4().hex[:12]}"
            self.path.mkdir()
        except OSError as error:
            remove_empty(self._made)
            raise cannot_write(place, error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        remove_empty(self._made)
        # Inside nothing is done with files but writing these.
        if isinstance(value, OSError) and not isinstance(value, BrokenPipeError):
            raise cannot_write(self._target or self._parent, value) from None

    def publish(self) -> Path:
        """Moves the folder to its place and returns that place."""
        if self._target:
            refuse_taken(self._target)
            if not moved(self.path, self._target):
                raise UserError(f"{self._target}: taken by another run in the meantime")
            return self._target
        candidates = (self._parent / f"{self._numbered}-{n}" for n in itertools.count(1))
        return next(place for place in candidates if not place.exists() and moved(self.path, place))


def create(path: Path, text: str) -> None:
    """Writes a file that must not exist; all of it or nothing. Raises FileExistsError or another OSError."""
    with path.open("x", encoding="utf-8", newline="\n") as file:
        try:
            file.write(text)
            file.flush()
        except BaseException:
            path.unlink()
            raise


def replace(path: Path, content: str | bytes) -> None:
    """Writes a file of ours anew: who reads it meanwhile sees the old one or the new one.

    Raises:
        UserError: It cannot be written; the old one is still there.
    """
    made = make_folder(path.absolute().parent, path)
    # Under a name of its own: two processes may be at it.
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)
        aside.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        remove_empty(made)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from None
        raise


def write_new(text: str, target: Path | None, *, numbered: str, suffix: str) -> Path:
    """Writes a file that is not there yet: `target`, or the first free out/<numbered>-<n><suffix>.

    Raises:
        UserError: There is something already, or nothing can be written there.
    """
    candidates = [target] if target else (Path("out") / f"{numbered}-{n}{suffix}" for n in itertools.count(1))
    for place in candidates:
        made = make_folder(place.absolute().parent, place)
        try:
            create(place, text)
        except FileExistsError:
            continue
        except OSError as error:
            remove_empty(made)
            raise cannot_write(place, error) from None
        return place
    raise UserError(f"{target}: exists already; choose another file with -o, or remove it")


def make_folder(folder: Path, target: Path) -> list[Path]:
    """Makes a folder in which `target` is to be written, or that is it.

    Returns:
        The folders that were not there before, innermost first.

    Raises:
        UserError: It cannot be made.
    """
    missing: list[Path] = []
    try:
        missing = [above for above in (folder, *folder.parents) if not above.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remove_empty(missing)
        raise cannot_write(target, error) from None
    return missing


def remove_empty(made: list[Path]) -> None:
    """Removes folders, innermost first, as far as nothing is in them."""
    for folder in made:
        with contextlib.suppress(OSError):
            folder.rmdir()


def cannot_write(target: Path, error: OSError) -> UserError:
    """What to say if something cannot be written."""
    above = (parent for parent in target.parents if parent.exists() or parent.is_symlink())
    nearest = next(above, Path())
    reason = error.strerror or str(error) if nearest.is_dir() else f"{nearest} is no folder"
    return UserError(f"{target}: cannot write here ({reason})")


def refuse_taken(target: Path) -> None:
    """Raises a UserError if something is there already."""
    if target.is_dir():
        if any(target.iterdir()):
            raise UserError(f"{target}: is not empty; choose another folder with -o, or remove it")
    elif target.exists() or target.is_symlink():
        raise UserError(f"{target}: is a file; choose another folder with -o")


def flush(path: Path) -> None:
    """Waits until a file, or the entries of a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_all(folder: Path) -> None:
    """Waits until a folder with its files is on disk."""
    for file in folder.rglob("*"):
        flush(file)
    flush(folder)


def moved(source: Path, target: Path) -> bool:
    """Moves a folder; not if a non-empty folder has taken the place."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    return True
