"""Prototypes from files: `--prototype FILE` of the command line."""

import hashlib
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.prototypes import failures
from flowyard.prototypes.registry import KINDS, Registered, of_classes

# The names of modules that are made of files, and of their attribute that has the text.
_PREFIX, _TEXT = "flowyard_prototype_", "_flowyard_text"


def read(files: Sequence[str]) -> list[Registered]:
    """All classes that files define and that derive from one of the bases, each under its own name.

    Raises:
        UserError: A file cannot be read or run, has no such class, or two have one of the same name.
    """
    handed: list[Registered] = []
    for file in files:
        found = _classes(Path(file))
        for own in found:
            if other := next(
                (known for known in handed if (known.kind, known.name) == (own.kind, own.name)), None
            ):
                raise UserError(f"{file}: {own.name} is a class of {_file(other.cls)}, too; rename one")
        handed += found
    return handed


def module(source: str, file: str) -> ModuleType:
    """The module of a file with that text.

    Raises:
        UserError: It is no file of Python, or an error ends it.
    """
    path = Path(file)
    own = hashlib.sha256(str(path.resolve()).encode() + source.encode())
    name = f"{_PREFIX}{own.hexdigest()[:20]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None:
        raise UserError(f"{path}: not a Python file; its name must end in .py")
    made = module_from_spec(spec)
    # Dataclasses and inspect look their module up by name.
    sys.modules[name] = made
    try:
        exec(compile(source, str(path), "exec"), vars(made))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise failures.loading(path, error) from error
    vars(made)[_TEXT] = source
    return made


def text_of(cls: type) -> str | None:
    """The text of the file of which `read` has made a class; None if its module is of Python's own import."""
    return getattr(sys.modules.get(cls.__module__), _TEXT, None)


def _classes(path: Path) -> list[Registered]:
    made = module(reading.text(path), str(path))
    own = [
        value
        for value in vars(made).values()
        if isinstance(value, type)
        and value.__module__ == made.__name__
        and not value.__name__.startswith("_")
    ]
    handed = of_classes(own)
    if not handed:
        bases = ", ".join(kind.base.__name__ for kind in KINDS.values())
        raise UserError(f"{path}: no class in it derives from those of flowyard.prototypes: {bases}")
    return handed


def _file(cls: type) -> str:
    return failures.where(getattr(sys.modules[cls.__module__], "__file__", None))
