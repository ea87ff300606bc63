"""stdout and stderr when their reader has closed them: a pipe into `head`, a terminal that was closed.

Results are in files, so a run does not end with its reader: text for stderr is then dropped, as it is
if the disk with a log is full. Of stdout the program notices when it prints, and ends quietly.
"""

import errno
import io
import os
import re
import sys
from typing import Any

from flowyard.errors import UserError
from flowyard.terminal.names import printable

# A pipe without a reader, and a terminal that is gone.
_GONE = (errno.EPIPE, errno.EIO)

_COLOURS = re.compile(r"(\x1b\[[\d;]*m)")


class UnreadError(Exception):
    """The reader of stdout has closed it. Not an OSError, so that handlers of file errors ignore it."""


def prepare() -> None:
    r"""Puts streams that know about their readers in the place of stdout and stderr.

    Bytes that are no UTF-8, which names of files may have, are written as \xff. A stream that is not the process's own
    stays: a caller caught it, a test for instance.
    """
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            # It was closed before the program began.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif stream is getattr(sys, f"__{name}__") and isinstance(stream, io.TextIOWrapper):
            watched = _Escaping(
                io.BufferedWriter(_Watched(stream.fileno(), tell=name == "stdout")),
                encoding=stream.encoding,
                errors="backslashreplace",
                line_buffering=stream.line_buffering,
            )
            setattr(sys, name, watched)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


class _Escaping(io.TextIOWrapper):
    """A stream that prints control characters, which the names in foreign files may have, rather than sends them.

    A terminal obeys them: it clears its screen, takes another title. Colours pass there, which Python's help may have.
    """

    def write(self, text: str) -> int:
        parts = _COLOURS.split(text) if self.isatty() else [text]
        # Every other part is a colour.
        super().write("".join(part if i % 2 else printable(part, lines=True) for i, part in enumerate(parts)))
        return len(text)

    @property
    def unescaped(self) -> Any:
        """The same stream for rich, which moves the cursor; callers escape names."""
        return _Unescaped(self)


class _Unescaped:
    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def for_rich(stream: Any) -> Any:
    """The stream to which rich writes."""
    return getattr(stream, "unescaped", stream)


class _Watched(io.FileIO):
    """A file that takes everything, also when its reader has gone or the disk is full; it may tell of that once."""

    def __init__(self, descriptor: int, *, tell: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._tell = tell

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or 0
        except OSError as error:
            if self._tell:
                self._tell = False
                if error.errno in _GONE:
                    raise UnreadError from None
                raise UserError(f"stdout: cannot write here ({error.strerror})") from None
            return len(content)
