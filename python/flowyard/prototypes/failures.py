"""Errors of a prototype, each in one message with file and line."""

import difflib
import os
import traceback
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

from flowyard import _native
from flowyard.errors import UserError


class PrototypeError(UserError):
    """A prototype raised an exception, or did what makes no sense; the text names file, line, class and verb.

    What it raised is the cause (`__cause__`).
    """


def where(path: str | None) -> str:
    """A file as messages and records name it: by its way from here if that is shorter."""
    if path is None or path.startswith("<"):
        return path or "<unknown>"
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return path
    return relative if not relative.startswith("..") else path


def failure(cls: type, verb: str, now_ps: int, error: BaseException) -> BaseException:
    """The error to raise for one that came out of a verb; Ctrl-C stays what it is.

    SystemExit is an error: it would end the command with the status of a success, and without results.
    """
    if not isinstance(error, Exception | SystemExit) or isinstance(error, PrototypeError):
        return error
    file, line = _place(cls, verb, error)
    # What the engine found wrong with an answer has no frame: its text says all.
    what = str(error) if error.__traceback__ is None else _said(error)
    at = f", {now_ps / 1e6:,.3f} us into the run" if now_ps else ""
    text = f"{where(file)}, line {line}, in {cls.__name__}.{verb}: {what.strip()}{at}"
    told = PrototypeError(text)
    told.__cause__ = error
    return told


def _said(error: BaseException) -> str:
    """An exception as Python prints it; of an attribute that an object of the engine has not, those that it has."""
    if (
        not isinstance(error, AttributeError)
        or type(error.obj).__module__ != _native.__name__
        or not error.name
    ):
        return "".join(traceback.format_exception_only(error))
    there = [name for name in dir(error.obj) if not name.startswith("_")]
    # The engine's own structs have the name without the unit.
    near = [name for name in there if name.startswith(f"{error.name}_")]
    near += difflib.get_close_matches(error.name, there, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"AttributeError: {error}; {hint}there are {', '.join(there)}"


def place_of(function: FunctionType) -> str:
    """File and line of a function, at the head of a message."""
    code = function.__code__
    return f"{where(code.co_filename)}, line {code.co_firstlineno}: "


def loading(path: Path, error: BaseException) -> PrototypeError:
    """The error for one that came up while a file was read as a module."""
    if isinstance(error, SyntaxError):
        line = error.lineno
        what = f"SyntaxError: {error.msg}"
    else:
        line = _last_line(error, str(path))
        what = "".join(traceback.format_exception_only(error)).strip()
    told = PrototypeError(f"{path}, line {line}: {what}")
    told.__cause__ = error
    return told


def _place(cls: type, verb: str, error: BaseException) -> tuple[str | None, int | None]:
    """The innermost line of the class's file that was being run; else where the verb is defined."""
    code = _code(cls, verb)
    if code is None:
        return _file(cls), None
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if _in(frame, code.co_filename):
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno


def _last_line(error: BaseException, path: str) -> int | None:
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if _in(frame, path)]
    return lines[-1] if lines else None


def _in(frame: FrameType, path: str) -> bool:
    return frame.f_code.co_filename == path


def _code(cls: type, verb: str) -> Any:
    """The code of a verb; of a class without it, that of the first method that it has."""
    methods = [getattr(cls, verb, None), *vars(cls).values()]
    return next((code for method in methods if (code := getattr(method, "__code__", None))), None)


def _file(cls: type) -> str | None:
    import sys

    return getattr(sys.modules.get(cls.__module__), "__file__", None)
