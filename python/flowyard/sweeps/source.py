"""The source that results of a function or class depend on: its module and what that imports of the same package."""

import ast
import functools
import hashlib
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The packages of one wheel: the papers' results depend on the theory and the models of the simulator's.
OURS = {"flowyard", "flowyard_papers"}


def source_hash(function: Callable[..., Any] | type) -> str:
    """Hash of the module of a function or class, and of all modules of its package that this one imports.

    Directly or not. Other packages do not count, nor does what is imported by a name that is computed. Our two count as
    one.
    """
    sources: dict[str, bytes] = {}
    todo = {function.__module__: Path(inspect.getfile(function))}
    while todo:
        module, path = todo.popitem()
        sources[module] = path.read_bytes()
        package = module if path.stem == "__init__" else module.rpartition(".")[0]
        for name in _imports(package or module, sources[module]) - sources.keys():
            if found := _file(name):
                todo[name] = found
    return hashlib.sha256(b"".join(sources[module] for module in sorted(sources))).hexdigest()


@functools.cache
def _imports(package: str, source: bytes) -> set[str]:
    """Imports of a module from its own package: names of modules, and names that may be modules."""
    top = package.partition(".")[0]
    tops = OURS if top in OURS else {top}
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(where, aliases, level):
                base = importlib.util.resolve_name("." * level + (where or ""), package)
                names = [base, *(f"{base}.{alias.name}" for alias in aliases)]
            case _:
                continue
        found.update(name for name in names if name.partition(".")[0] in tops)
    return found


def _file(module: str) -> Path | None:
    """The file of a module, if there is one of that name and it is written in Python."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(found.origin) if found and found.origin and found.origin.endswith(".py") else None
