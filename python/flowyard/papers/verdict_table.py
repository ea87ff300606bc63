"""The verdicts of a paper's figures in a terminal."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.folders import reading as files
from flowyard.papers import published
from flowyard.papers.figure import Scale
from flowyard.papers.omissions import NOTHING
from flowyard.papers.running import MARK
from flowyard.papers.words import FAIL, OPEN, marked, named, readings, shown
from flowyard.terminal.console import TextTable, show

# Of more claims than these only the failures are listed, and of more failures the reasons stand in the gallery.
MOST = 20


def print_again(folder: Path, *, as_json: bool = False) -> None:
    """Prints the verdicts of an earlier `flowyard paper run`; as JSON its claims.json and papers.json.

    Raises:
        UserError: The folder's files are damaged.
    """
    mark, entries = (files.read_json(folder / name) for name in (MARK, "claims.json"))
    if as_json:
        print(json.dumps({"folder": str(folder), **mark, "claims": entries}, indent=2, ensure_ascii=False))
        return
    try:
        print_verdicts(entries, mark["summary"], Scale(mark["scale"]), folder, mark.get("says", {}))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder}: damaged: its verdicts cannot be read: {error!r}") from error


def print_verdicts(
    entries: Sequence[Mapping[str, Any]],
    summary: str,
    scale: Scale,
    folder: Path,
    says: Mapping[str, str],
) -> None:
    """Each claim's verdict, or of many claims the failures; why these fail; verdicts by reading; and the summary.

    Args:
        entries: As claims.json has them.
        summary: The line of counts.
        scale: At which they were judged.
        folder: Where the gallery is.
        says: What the paper says, by claim; folders of earlier versions lack it.
    """
    entries = sorted(entries, key=_by_id)
    at_quick = " at quick scale" if scale == Scale.QUICK else ""
    failed = [entry for entry in entries if entry["verdict"] == FAIL]
    few = len(entries) <= MOST
    if listed := entries if few else failed:
        rows = [[e["id"], marked(e), shown(e, "measured"), shown(e, "expected")] for e in listed]
        title = f"{'Claims' if few else 'Claims that fail'}{at_quick}"
        show(TextTable(title, ("claim", "verdict", "measured", "expected"), rows, left=3, words_last=True))
    if failed:
        known = published.verdicts()
        # If not all have room, those that nothing explains yet come first.
        for entry in sorted(failed, key=lambda one: one.get("fail") != OPEN)[:MOST]:
            print(_why(entry, says.get(entry["id"]), known.get(entry["id"])))
        if len(failed) > MOST:
            print(f"... and {len(failed) - MOST:,} more failures, whose reasons the gallery has")
    read = [entry for entry in entries if entry.get("readings")]
    if read:
        rows = [
            [entry["id"] if not place else "", named(one), marked(one), shown(one, "measured")]
            for entry in read
            for place, one in enumerate(readings(entry))
        ]
        title = f"Verdicts by reading of the paper{at_quick}; the first reading counts"
        show(TextTable(title, ("claim", "reading", "verdict", "measured"), rows, left=4))
    if at_quick and (less := sum(entry.get("left_out", NOTHING) != NOTHING for entry in entries)):
        print(
            f"quick scale has fewer points, seeds or flows than the paper for {less:,} of {len(entries):,} claims; "
            "claims.json lists them as left_out"
        )
    print(summary)
    print(f"gallery in {folder / 'index.html'}")


def _by_id(entry: Mapping[str, Any]) -> list[str | int]:
    """Claims by their letters, and T5.45 behind T5.5."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", entry["id"])]


def _why(entry: Mapping[str, Any], says: str | None, known: str | None) -> str:
    """Line for a claim that fails: its text, cause and reason, and the published verdict at full scale.

    The plain reason of the register comes before the evidence of the judge, which the gallery has in any case.
    """
    parts = [f"{says.rstrip('.')}."] if says else []
    cause = f" (cause: {entry['cause']})" if "cause" in entry else ""
    reason = entry.get("why") or entry["reason"]
    parts += [f"{marked(entry)}{cause}{f': {reason}' if reason else '.'}"]
    parts += [f"Published at full scale: {known}."] if known else []
    return f"{entry['id']}: {' '.join(parts)}"
