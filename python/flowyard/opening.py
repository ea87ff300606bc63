"""Opening what a command left in a folder."""

from os import PathLike
from pathlib import Path

from flowyard.results import Result, open_run
from flowyard.sweeps.results import Sweep, is_sweep

__all__ = ["open"]


def open(directory: str | PathLike[str]) -> Result | Sweep:  # noqa: A001
    """The results in a folder that a run or a sweep left."""
    return Sweep(Path(directory)) if is_sweep(directory) else open_run(directory)
