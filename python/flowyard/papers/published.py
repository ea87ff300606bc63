"""Verdicts and costs at full scale, as docs/results has them: in a checkout of the sources, a wheel has none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.papers import catalogue
from flowyard.papers.words import marked


class Cost(NamedTuple):
    """The cost of a published figure.

    Attributes:
        cpu_s: Processor time; None: not recorded.
        runs: Their number.
    """

    cpu_s: float | None
    runs: int


def entries(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The published entry of claims.json of each claim of the packaged papers; none where they are not at hand.

    Args:
        folder: That of the published results; default that of the checkout.
    """
    found: dict[str, dict[str, Any]] = {}
    for content in _files("claims.json", folder):
        try:
            # Its verdict in words, so that an entry of something else is left out.
            found |= {entry["id"]: entry for entry in content if marked(entry)}
        except (KeyError, TypeError, AttributeError):
            # Of something else: what is shown does without.
            continue
    return found


def verdicts(folder: Path | None = None) -> dict[str, str]:
    """The published verdict of each claim, as `entries` has it.

    Args:
        folder: That of the published results; default that of the checkout.
    """
    return {name: marked(entry) for name, entry in entries(folder).items()}


def costs(folder: Path | None = None) -> dict[str, Cost]:
    """The recorded cost of each published figure; none where they are not at hand.

    Args:
        folder: That of the published results; default that of the checkout.
    """
    found: dict[str, Cost] = {}
    for about in _files("results.json", folder):
        try:
            found |= {name: Cost(one["cpu_s"], one["runs"]) for name, one in about["figures"].items()}
        except (KeyError, TypeError, AttributeError):
            continue
    return found


def _files(name: str, folder: Path | None) -> Iterator[Any]:
    """The contents of the files of that name, one per paper."""
    if folder is None:
        home = catalogue.home()
        if home is None:
            return
        folder = home.parents[1] / "docs" / "results"
    for path in sorted(folder.glob(f"*/{name}")):
        try:
            yield reading.read_json(path)
        except UserError:
            continue
