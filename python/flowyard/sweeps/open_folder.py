"""Opening the results in a folder: of a run or of a sweep."""

from os import PathLike
from pathlib import Path

from flowyard.results import Result, open_run
from flowyard.sweeps.tables import Sweep, is_sweep

__all__ = ["open"]


def open(directory: str | PathLike[str]) -> Result | Sweep:  # noqa: A001
    """The results in a folder that a run or a sweep left.

    Raises:
        UserError: They are not whole; the text names what is damaged, and in a sweep what to do.
    """
    if not is_sweep(directory):
        return open_run(directory)
    sweep = Sweep(Path(directory))
    sweep.require_whole()
    return sweep
