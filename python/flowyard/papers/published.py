"""Verdicts at full scale, as docs/results has them. They are in a checkout of the sources; a wheel has none."""

from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.papers import catalogue
from flowyard.papers.words import marked


def verdicts(folder: Path | None = None) -> dict[str, str]:
    """The published verdict of each claim of the packaged papers; none where they are not at hand.

    Args:
        folder: That of the published results; default that of the checkout.
    """
    if folder is None:
        home = catalogue.home()
        if home is None:
            return {}
        folder = home.parents[1] / "docs" / "results"
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*/claims.json")):
        try:
            entries: list[dict[str, Any]] = reading.read_json(path)
            found |= {entry["id"]: marked(entry) for entry in entries}
        except (UserError, KeyError, TypeError):
            # Of something else: what is shown does without.
            continue
    return found
