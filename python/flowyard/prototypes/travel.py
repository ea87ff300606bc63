"""Prototypes on their way to another process: by reference, with the digest of their source.

A class of a module goes by the names of both, and is imported there; one from a file of `--prototype` goes with the
text of the file, so that no other machine needs it.
"""

import copyreg
import hashlib
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.prototypes import files
from flowyard.prototypes.registry import Registered


def digest(cls: type) -> str:
    """SHA-256 of the file of a class, as run.json has it; of a notebook's class of its own text.

    Raises:
        UserError: Its source cannot be read, so that results of another version would look the same.
    """
    try:
        source = files.text_of(cls)
        if source is None:
            in_file = cls.__module__ != "__main__" or hasattr(sys.modules["__main__"], "__file__")
            source = reading.text(Path(inspect.getfile(cls))) if in_file else inspect.getsource(cls)
    except (OSError, TypeError) as error:
        raise UserError(
            f"{cls.__name__}: its source cannot be read ({error}); put the class into a file of its own"
        ) from None
    return hashlib.sha256(source.encode()).hexdigest()


def packed(handed: Registered) -> tuple[Any, ...]:
    """The arguments of `unpacked` in another process.

    Raises:
        UserError: It can refer to it by no name: the class is of a notebook, or within a function.
    """
    cls, text = handed.cls, files.text_of(handed.cls)
    if text is None and (cls.__module__ == "__main__" or "<locals>" in cls.__qualname__):
        raise UserError(
            f"{cls.__qualname__} is a class of {cls.__module__}, which other processes cannot import: put it into a "
            "file, as for --prototype, or a module of theirs"
        )
    file = getattr(sys.modules[cls.__module__], "__file__", None)
    return handed.kind, handed.name, cls.__module__, cls.__qualname__, digest(cls), file, text


def unpacked(
    kind: str, name: str, module: str, qualname: str, sent: str, file: str | None, text: str | None
) -> Registered:
    """The class in this process.

    Raises:
        UserError: It is not here, or another version of it is.
    """
    try:
        if text is not None and file is not None:
            found: Any = files.module(text, file)
        else:
            found = importlib.import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UserError(f"{module}.{qualname} is not here: {error}") from None
    if text is None and (here := digest(found)) != sent:
        raise UserError(
            f"{module}.{qualname} has another source here, {here[:12]}, than it had there, {sent[:12]}"
        )
    return Registered(kind, name, found)


copyreg.pickle(Registered, lambda handed: (unpacked, packed(handed)))
