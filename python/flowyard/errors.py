"""Mistakes that a user can mend, and faults of the simulator: said in one line or a few, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

# Characters of a line and of a message: the names and values in them are the users', and may be of any length.
LINE_MAX, TEXT_MAX = 3000, 15_000

# What to do where a sweep names a member in Python that it was not given.
HAND_IN = (
    'hand it in: prototypes = ["FILE.py"] in the file of the sweep, flowyard sweep --prototype FILE.py, or '
    'controls={"NAME": ...} and the like for Plan'
)


# Where faults of the simulator are reported.
ISSUES = "https://github.com/flowyard/flowyard/issues"


class UserError(Exception):
    """Something in the command or its files is wrong; the text says what, and what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(bounded(text))


class EngineError(Exception):
    """The simulator has contradicted itself, which no input should bring about; the text says where, and what to do."""


@contextmanager
def contradictions() -> Iterator[None]:
    """Makes an EngineError of a panic of the engine, which is no Exception and would end a program with a traceback."""
    try:
        yield
    except BaseException as error:
        # The module that PyO3 gives its PanicException, which nothing can import.
        if type(error).__module__ != "pyo3_runtime":
            raise
        from flowyard._native import take_panic

        said = bounded(" ".join((take_panic() or str(error)).split()))
        raise EngineError(
            f"the simulator contradicted itself: {said}; this is a fault of flowyard, whatever the scenario: please "
            f"report it with the scenario and the output of `flowyard --version` at {ISSUES}"
        ) from None


def bounded(text: str) -> str:
    """A text cut to a readable length."""
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
