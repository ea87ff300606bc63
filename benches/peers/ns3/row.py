"""Result of a comparison with ns-3 for the table: its rows, or the reason why it does not hold.

A comparison is NAME.cc, the ns-3 program (arguments in, one JSON object on standard output), NAME.toml, the
scenario, and NAME.py, which has

    def rows(program: Path, folder: Path) -> list[Row]

`program` is NAME.cc, compiled; `folder` is an empty folder for whatever the two sides hand to each other. NAME.py finds
its scenario beside itself: `Path(__file__).with_suffix(".toml")`.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One number of both sides."""

    case: str
    measure: str
    unit: str
    ns3: float
    flowyard: float
    # The largest relative difference that passes, fixed before anything was measured. None: the sides need not agree,
    # and `why` explains it.
    within: float | None
    # Where they part, and by which rule; "" where they agree.
    why: str = ""

    @property
    def difference(self) -> float:
        """Flowyard relative to ns-3: 0.01 is 1 % more."""
        if self.ns3 == 0:
            return 0.0 if self.flowyard == 0 else float("inf")
        return self.flowyard / self.ns3 - 1

    @property
    def holds(self) -> bool:
        """Whether the sides are as near as they should be, or their difference is explained."""
        if self.within is None:
            return bool(self.why)
        return abs(self.difference) <= self.within


class DoesNotHoldError(Exception):
    """The two sides did not do the same thing, or one of them did not end: numbers would say nothing."""


def ns3(program: Path, **arguments: object) -> Any:
    """Output of the ns-3 program with these arguments (`--name=value`).

    Raises:
        DoesNotHoldError: it ended with an error.
    """
    command = [str(program), *(f"--{name}={value}" for name, value in arguments.items())]
    ended = subprocess.run(command, stdout=subprocess.PIPE)
    if ended.returncode:
        raise DoesNotHoldError(f"ns-3 ended with code {ended.returncode}: {' '.join(command)}")
    return json.loads(ended.stdout)
