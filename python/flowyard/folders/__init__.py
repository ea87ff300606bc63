"""Output folders: written aside, then renamed, so that a folder appears complete or not at all."""

import contextlib
import errno
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from flowyard.errors import UserError
from flowyard.folders import owned, reading

# What folders in the making are called.
PREFIX = ".flowyard-"
# What file systems answer that cannot flush; a full or broken disk answers otherwise.
NO_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
# And those without hard links, such as FAT.
NO_LINK = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
# Bytes at the head of a file of ours, among which its mark is.
HEAD = 4096


class Staging:
    """A folder in the making, beside the place where it will appear.

    Opening it fails if the place is taken or not writable: before a long run, not after it. What a killed process
    left there is removed.
    """

    def __init__(self, target: Path | None = None, *, numbered: str = "") -> None:
        """For `target`, or for the first free out/<numbered>-<n>."""
        self._target = target
        self._numbered = numbered
        # Links are followed first: no folder can be moved to where a link is.
        self._place = Path(os.path.realpath(target)) if target else Path("out")
        # Nor to where another file system is mounted, such as a container's volume: that is filled from inside.
        self._mounted = target is not None and self._place.is_mount()
        self._parent = self._place if self._mounted or not target else self._place.parent
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        if self._target:
            if self._mounted:
                owned.clear_dead(self._place, PREFIX)
            refuse_taken(self._target)
            # Moving to where it is would go by its parent's mode alone.
            if self._place.is_dir() and not os.access(self._place, os.W_OK):
                raise cannot_write(self._target, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
        self._made = make_folder(self._parent, self._target or self._place)
        try:
            self._own = owned.claim(self._parent, PREFIX)
        except OSError as error:
            remove_empty(self._made)
            raise cannot_write(self._target or self._place, error) from None
        self.path = self._own.path
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        self._own.release()
        remove_empty(self._made)
        # Inside nothing is done with files but writing these.
        if isinstance(value, OSError):
            raise cannot_write(self._target or self._place, value) from None

    def publish(self) -> Path:
        """Moves the folder to its place and returns that place.

        Raises:
            UserError: It cannot be moved there; the text says where it is.
        """
        try:
            if not self._target:
                return self._numbered_place(self._place, self._numbered)
            if self._mounted:
                self._move_files()
            elif not moved(self.path, self._place):
                raise self._kept("something else was put there in the meantime")
        except OSError as error:
            raise self._kept(f"cannot write here ({error.strerror or error})") from None
        return self._target

    def _numbered_place(self, parent: Path, name: str) -> Path:
        """Moves the folder to the first free <parent>/<name>-<n>."""
        candidates = (parent / f"{name}-{n}" for n in itertools.count(1))
        return next(place for place in candidates if not place.exists() and moved(self.path, place))

    def _move_files(self) -> None:
        """Moves the files into the folder that is there; last run.json, without which it is not that of a run."""
        if any(not found.name.startswith(PREFIX) for found in self._place.iterdir()):
            raise self._kept("something else was put there in the meantime")
        for path in sorted(self.path.iterdir(), key=lambda path: path.name == "run.json"):
            path.rename(self._place / path.name)

    def _kept(self, why: str) -> UserError:
        """Puts the folder beside its place, or leaves it where it was made, and says so."""
        beside = self._target.absolute() if self._target else self._place
        try:
            where = self._numbered_place(self._parent, beside.name)
        except OSError:
            where = self.path
            self._own.keep()
        return UserError(f"{self._target or self._place}: {why}; the results are in {where}")


def create(path: Path, content: str | bytes) -> None:
    """Writes a file that must not exist; all of it or nothing. Raises FileExistsError or another OSError."""
    with _aside(path, content) as made:
        try:
            os.link(made, path)
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
            # The name first, so that what is there stays.
            path.open("xb").close()
            made.replace(path)


@contextlib.contextmanager
def _aside(place: Path, content: str | bytes) -> Iterator[Path]:
    """A file on disk beside its place, in a folder that goes with its process, however that ends: see `owned`."""
    own = owned.claim(place.parent, PREFIX)
    try:
        made = own.path / place.name
        made.write_bytes(content.encode() if isinstance(content, str) else content)
        flush(made)
        yield made
    finally:
        own.release()


def replace(path: Path, content: str | bytes, *, mark: str = "") -> None:
    """Writes a file of ours anew: who reads it meanwhile sees the old one or the new one.

    Args:
        path: The file. A link stays one.
        content: All of it.
        mark: What a file that is there must have at its head; without it, `path` is in a folder of ours.

    Raises:
        UserError: It cannot be written, or is not ours; what was there is still there.
    """
    if mark:
        refuse_foreign(path, mark)
    place = Path(os.path.realpath(path))
    made = make_folder(place.parent, path)
    try:
        with _aside(place, content) as aside:
            aside.replace(place)
    except BaseException as error:
        remove_empty(made)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from None
        raise


def refuse_foreign(path: Path, mark: str) -> None:
    """Raises a UserError if something is there without our mark at its head: before long work, not after it."""
    refuse_dangling(path)
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a file with -o")
    try:
        reading.require_regular(path)
        with path.open("rb") as file:
            head = file.read(HEAD)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(path, error) from None
    if mark.encode() not in head:
        raise there_already(path, ", and not written by this command")


def refuse_existing(path: Path) -> None:
    """Raises a UserError if something is there already: before long work, not after it."""
    if path.exists() or path.is_symlink():
        raise there_already(path)


def there_already(path: Path, more: str = "") -> UserError:
    """Error message for a path that exists."""
    return UserError(f"{path}: is already there{more}; name another file with -o, or remove it")


def require_suffix(path: Path, what: str, *suffixes: str) -> None:
    """Raises a UserError if a file's name promises something else than is written there."""
    if path.suffix.lower() not in suffixes:
        such = "" if path.suffix else f", such as {path}{suffixes[0]}"
        raise UserError(f"{path}: {what}; name a file that ends in {' or '.join(suffixes)}{such}")


def write_new(content: str | bytes, target: Path | None, *, numbered: str, suffix: str) -> Path:
    """Writes a file that is not there yet: `target`, or the first free out/<numbered>-<n><suffix>.

    Raises:
        UserError: There is something already, or nothing can be written there.
    """
    candidates = [target] if target else (Path("out") / f"{numbered}-{n}{suffix}" for n in itertools.count(1))
    for place in candidates:
        made = make_folder(place.absolute().parent, place)
        try:
            create(place, content)
        except FileExistsError:
            continue
        except OSError as error:
            remove_empty(made)
            raise cannot_write(place, error) from None
        return place
    raise there_already(place)


def make_folder(folder: Path, target: Path) -> list[Path]:
    """Makes a folder in which `target` is to be written, or that is it.

    Returns:
        The folders that were not there before, innermost first.

    Raises:
        UserError: It cannot be made.
    """
    missing: list[Path] = []
    if "\0" in str(target):
        raise UserError(f"{str(target)!r}: no file can have that name")
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
    """Error message for a path that cannot be written."""
    above = (parent for parent in target.parents if parent.exists() or parent.is_symlink())
    nearest = next(above, Path())
    reason = error.strerror or str(error) if nearest.is_dir() else f"{nearest} is no folder"
    return UserError(f"{target}: cannot write here ({reason})")


def refuse_taken(target: Path) -> None:
    """Raises a UserError if something is there already, or a link that leads nowhere."""
    refuse_dangling(target)
    if target.is_dir():
        # A process that was killed before its first file was complete has left something.
        owned.clear_dead(target, PREFIX)
        if any(target.iterdir()):
            raise UserError(f"{target}: is not empty; choose another folder with -o, or remove it")
    elif target.exists():
        raise UserError(f"{target}: is a file; choose another folder with -o")


def refuse_dangling(target: Path) -> None:
    """Raises a UserError if this is a link to what is not there."""
    if target.is_symlink() and not target.exists():
        raise UserError(
            f"{target}: is a link to {target.readlink()}, which is not there; make that, or name another place with -o"
        )


def flush(path: Path) -> None:
    """Waits until a file, or the entries of a folder, are on disk; where a file system cannot say so, goes on."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # What was written is there, as all else on such a file system: some of networks refuse it for folders.
        if error.errno not in NO_FLUSH:
            raise
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
