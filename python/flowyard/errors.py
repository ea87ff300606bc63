"""Mistakes that a user can mend: said in one line or a few, without a traceback."""

# Characters of a line and of a message: the names and values in them are the users', and may be of any length.
LINE_MAX, TEXT_MAX = 3000, 15_000

# What to do where a sweep names a member in Python.
NO_PROTOTYPES = "sweeps do not run prototypes: loop over fy.run"


class UserError(Exception):
    """Something in the command or its files is wrong; the text says what, and what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(bounded(text))


def bounded(text: str) -> str:
    """A text without what nobody would read to the end."""
    if len(text) <= LINE_MAX:
        return text
    lines = [line if len(line) <= LINE_MAX else f"{line[:LINE_MAX]}..." for line in text.split("\n")]
    shown: list[str] = []
    length = 0
    for line in lines:
        length += len(line)
        if length > TEXT_MAX:
            shown.append(f"and {len(lines) - len(shown):,} more lines")
            break
        shown.append(line)
    return "\n".join(shown)
