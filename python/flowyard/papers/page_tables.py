"""Claims as tables of Markdown: those of a figure, and all that fail. The page of results is made of them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flowyard.papers.figure import Figure
from flowyard.papers.register import CAUSES, Claim, Register
from flowyard.papers.words import FAIL, OPEN, PASS, marked, named, readings, shown


def figure_heading(figure: Figure) -> str:
    """The heading of a figure, without its marks."""
    return f"{figure.id}: {figure.title}"


def anchor(heading: str) -> str:
    """The anchor that forges and the site give to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def claims(register: Register, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """A row for each claim, with its evidence and its readings folded.

    Args:
        register: Of the paper.
        entries: Of claims.json, those of one figure.
    """
    if not entries:
        return []
    rows = ["| claim | verdict | statement | measured | expected |", "|---|---|---|---|---|"]
    for entry in entries:
        cells = (
            entry["id"],
            _verdict(entry),
            _statement(register.claims[entry["id"]], register.id, entry),
            shown(entry, "measured"),
            shown(entry, "expected"),
        )
        rows.append(_row(cells))
    return [*rows, ""]


def failures(found: Sequence[tuple[Mapping[str, Any], str]]) -> list[str]:
    """A row for each claim that fails, with its cause and the reason in a plain sentence; what the causes mean.

    Args:
        found: Entries of claims.json, each with the heading of its figure.
    """
    failed = [(entry, heading) for entry, heading in found if entry["verdict"] == FAIL]
    rows = ["| claim | verdict | cause | reason |", "|---|---|---|---|"]
    for entry, heading in failed:
        link = f"[{entry['id']}](#{anchor(heading)})"
        rows.append(_row((link, marked(entry), entry.get("cause", ""), entry.get("why", ""))))
    causes = [entry.get("cause") for entry, _ in failed]
    said = [
        f"- **{cause}** ({causes.count(cause)}): {meaning}."
        for cause, meaning in CAUSES.items()
        if cause in causes
    ]
    return [*rows, "", "Causes, with the number of claims:", "", *said]


def _verdict(entry: Mapping[str, Any]) -> str:
    """The verdict and the cause of a FAIL. Open ones stand out."""
    said = f"**{marked(entry)}**" if entry.get("fail") == OPEN else marked(entry)
    return f"{said}; cause: {entry['cause']}" if "cause" in entry else said


def _statement(claim: Claim, paper: str, entry: Mapping[str, Any]) -> str:
    """The claim, the plain reason of a FAIL, and folded the evidence and the readings."""
    parts = ["(An expectation of ours.)"] * claim.ours + [claim.says]
    if why := entry.get("why"):
        parts.append(f"**{why}**")
    if entry["reason"]:
        parts.append(_folded("evidence", entry["reason"]) if why else f"*{entry['reason']}*")
    if entry["verdict"] == PASS and re.search(rf"\b{paper}-X", claim.tolerance):
        parts.append(f"*Held to: {claim.tolerance}.*")
    if several := readings(entry):
        lines = "".join(f"<br>{_reading(one, entry)}" for one in several)
        parts.append(_folded(f"{len(several)} readings; the first counts", lines.removeprefix("<br>")))
    return " ".join(parts)


def _reading(one: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    expected = shown(one, "expected")
    unlike = f", expected {expected}" if expected != shown(entry, "expected") else ""
    return f"{named(one)}: {marked(one)}; {shown(one, 'measured')}{unlike}"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>{text}</details>"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
