"""Names of others in a terminal, which may have what it obeys: the one place that escapes them."""

import re

# All that a terminal does not print, but obeys: C0, DEL and C1.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(name: str, *, lines: bool = False) -> str:
    r"""A foreign name or text for a terminal, which obeys no part of it: ESC as \x1b, a newline as \n.

    Args:
        name: What is to be printed.
        lines: Whether newlines and tabs stay.
    """
    pattern = _CONTROL_BUT_LINES if lines else _CONTROL
    return pattern.sub(lambda found: found[0].encode("unicode_escape").decode(), name)
