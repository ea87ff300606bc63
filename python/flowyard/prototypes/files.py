"""Prototypes from files: `--prototype FILE` of the command line."""

import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.prototypes import failures
from flowyard.prototypes.registry import KINDS, Registered, of_classes


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


def _classes(path: Path) -> list[Registered]:
    source = reading.text(path)
    name = f"flowyard_prototype_{abs(hash(str(path.resolve()))):x}"
    spec = spec_from_file_location(name, path)
    if spec is None:
        raise UserError(f"{path}: not a Python file; its name must end in .py")
    module = module_from_spec(spec)
    # Dataclasses and inspect look their module up by name.
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise failures.loading(path, error) from error
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name and not value.__name__.startswith("_")
    ]
    handed = of_classes(own)
    if not handed:
        bases = ", ".join(kind.base.__name__ for kind in KINDS.values())
        raise UserError(f"{path}: no class in it derives from those of flowyard.prototypes: {bases}")
    return handed


def _file(cls: type) -> str:
    return failures.where(getattr(sys.modules[cls.__module__], "__file__", None))
