"""stdout and stderr when nobody reads them any more: a pipe into `head`, a terminal that was closed.

Results are in files, so a run does not end because nobody watches it: what is said on stderr is then dropped, as it is
if the disk with a log is full. Of stdout the program notices when it prints, and ends quietly.
"""

import errno
import io
import os
import sys
from typing import Any

from flowyard.errors import UserError

# A pipe without a reader, and a terminal that is gone.
_GONE = (errno.EPIPE, errno.EIO)


class UnreadError(Exception):
    """Nobody reads stdout any more. No OSError, which others take for one of a file."""


def prepare() -> None:
    r"""Puts streams that know about their readers in the place of stdout and stderr.

    Bytes that are no UTF-8, which names of files may have, are written as \xff. A stream that is not the process's own
    stays: somebody caught it, a test for instance.
    """
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            # It was closed before the program began.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif stream is getattr(sys, f"__{name}__") and isinstance(stream, io.TextIOWrapper):
            watched = io.TextIOWrapper(
                io.BufferedWriter(_Watched(stream.fileno(), tell=name == "stdout")),
                encoding=stream.encoding,
                errors="backslashreplace",
                line_buffering=stream.line_buffering,
            )
            setattr(sys, name, watched)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


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
