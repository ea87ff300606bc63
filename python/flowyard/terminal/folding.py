"""Long lines folded between words, where a terminal would break within them; elsewhere they stay whole."""

import shutil
import sys
import textwrap
from typing import TextIO

# No line is narrower, however narrow the terminal is.
LEAST = 30


def columns(otherwise: int, stream: TextIO | None = None) -> int:
    """Columns of a terminal; `otherwise` of anything else."""
    stream = stream or sys.stdout
    return max(LEAST, shutil.get_terminal_size().columns) if stream.isatty() else otherwise


def folded(lead: str, words: str, width: int) -> str:
    """Words behind a lead, further lines below the words; no word is broken, however long it is."""
    room = max(LEAST, width - len(lead))
    lines = textwrap.wrap(words, room, break_long_words=False, break_on_hyphens=False)
    return lead + f"\n{' ' * len(lead)}".join(lines or [""])


def say(line: str, stream: TextIO | None = None) -> None:
    """Prints a line: folded in a terminal, with further lines indented; whole elsewhere."""
    stream = stream or sys.stdout
    width = columns(0, stream)
    if width and len(line) > width:
        indent = line[: len(line) - len(line.lstrip())] + "  "
        line = "\n".join(
            textwrap.wrap(
                line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
        )
    print(line, file=stream)


def hint(line: str) -> None:
    """Prints a next step, in a terminal only: no program needs it."""
    if sys.stdout.isatty():
        say(line)
