"""The verdicts of a paper's figures in a terminal."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.papers import gallery
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL
from flowyard.papers.running import MARK
from flowyard.terminal.console import TextTable, show

# Characters of a value in a table.
WIDTH = 60
# Of more claims than these only the failures are listed.
MOST = 20


def tell_again(folder: Path, *, as_json: bool = False) -> None:
    """What `flowyard paper run` said at its end; as JSON its claims.json and papers.json.

    Raises:
        UserError: The folder's files are damaged.
    """
    mark, entries = (reading.read_json(folder / name) for name in (MARK, "claims.json"))
    if as_json:
        print(json.dumps({"folder": str(folder), **mark, "claims": entries}, indent=2, ensure_ascii=False))
        return
    try:
        tell(entries, mark["summary"], Scale(mark["scale"]), folder)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder}: damaged: its verdicts cannot be read: {error!r}") from error


def tell(entries: Sequence[Mapping[str, Any]], summary: str, scale: Scale, folder: Path) -> None:
    """Each claim's verdict, or of many claims the failures; verdicts by reading; and the summary.

    Args:
        entries: As claims.json has them.
        summary: The line of counts.
        scale: At which they were judged.
        folder: Where the gallery is.
    """
    at_quick = " at quick scale" if scale == Scale.QUICK else ""
    failed = [entry for entry in entries if entry["verdict"] == FAIL]
    few = len(entries) <= MOST
    if shown := entries if few else failed:
        rows = [[e["id"], e["verdict"], _short(e["measured"]), _short(e["expected"])] for e in shown]
        title = f"{'Claims' if few else 'Claims that fail'}{at_quick}"
        show(TextTable(title, ("claim", "verdict", "measured", "expected"), rows, left=4))
    read = [entry for entry in entries if entry.get("readings")]
    if read:
        rows = [
            [entry["id"] if not place else "", one["reading"], one["verdict"], _short(one["measured"])]
            for entry in read
            for place, one in enumerate(entry["readings"])
        ]
        title = f"Verdicts by reading{at_quick}; the first is the claim's own"
        show(TextTable(title, ("claim", "reading", "verdict", "measured"), rows, left=4))
    if at_quick:
        print(
            "quick scale has fewer points, seeds or flows; claims.json says of each verdict what is left out"
        )
    print(summary)
    print(f"gallery in {folder / 'index.html'}")


def _short(value: Any) -> str:
    """A value that leaves room for the others in a line; claims.json has it whole."""
    return textwrap.shorten(gallery.said(value), WIDTH, placeholder=" ...")
