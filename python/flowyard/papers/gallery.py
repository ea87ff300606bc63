"""The gallery: one HTML page with every figure, its claims with verdicts and values, and what was assumed."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard import _native
from flowyard.papers import verdicts
from flowyard.papers.figure import Figure, Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS, worded
from flowyard.papers.register import Claim, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flowyard.papers.catalogue import Paper, Selection
    from flowyard.papers.made import Made

HERE = Path(__file__).parent
MARKS = {PASS: "pass", FAIL: "fail", NOT_REACHED: "open"}


@dataclass(frozen=True)
class Row:
    """A claim as the page shows it."""

    claim: Claim
    verdict: str
    measured: str
    expected: str
    reason: str
    readings: "list[Row]"
    quick: bool = False
    left_out: str = ""
    reading: str = ""

    @property
    def mark(self) -> str:
        """The class of its badge: pass, arithmetic, fail, predicted or open."""
        if self.verdict == PASS and self.claim.arithmetic:
            return "arithmetic"
        return "predicted" if self.verdict == FAIL and self.claim.contradicted_by else MARKS[self.verdict]

    @property
    def badge(self) -> str:
        """The verdict with what it has to be told from: quick, arithmetic."""
        return marked(self.verdict, quick=self.quick, arithmetic=self.claim.arithmetic)


@dataclass(frozen=True)
class Files:
    """Where a figure's files are, from the page, and what is said of them.

    Attributes:
        picture: The SVG.
        folder: That of the tables.
        png: The same picture in pixels, if there is one.
        note: Such as which engine made them.
    """

    picture: str
    folder: str
    png: str = ""
    note: str = ""


@dataclass(frozen=True)
class Plate:
    """A figure as the page shows it."""

    figure: Figure
    made: "Made | None"
    rows: list[Row]
    files: Files


@dataclass(frozen=True)
class Chapter:
    """A paper as the page shows it: its figures, and the claims that no figure checks."""

    register: Register
    summary: verdicts.Summary
    plates: list[Plate]
    waiting: list[Row]


def page(
    selection: "Selection",
    scale: Scale,
    made: "Mapping[str, Made]",
    entries: "Sequence[Mapping[str, Any]]",
    summary: verdicts.Summary,
    *,
    files: "Callable[[Paper, Figure], Files] | None" = None,
    top: str = "",
    footer: str = "",
) -> str:
    """The page as HTML; it refers to the pictures and tables in the folders beside it.

    Args:
        selection: What it shows.
        scale: At which that was made.
        made: What became of each figure.
        entries: What claims.json says.
        summary: Of these.
        files: Where a figure's files are; by default in a folder of its name.
        top: A picture above all, its path.
        footer: The last line; by default the engine that is running.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((HERE / "gallery.html.jinja").read_text(encoding="utf-8"))
    html: str = template.render(
        name=selection.name,
        scale=str(scale),
        chapters=_chapters(selection, made, entries, files or _beside),
        summary=summary,
        top=top,
        footer=footer
        or f"Flowyard {_native.__version__}; engine {_native.__engine__} made all figures of this page.",
        style=(HERE / "gallery.css").read_text(encoding="utf-8"),
    )
    return html


def _beside(_: "Paper", figure: Figure) -> Files:
    return Files(f"{figure.id}/figure.svg", figure.id, f"{figure.id}/figure.png")


def _chapters(
    selection: "Selection",
    made: "Mapping[str, Made]",
    entries: "Sequence[Mapping[str, Any]]",
    files: "Callable[[Paper, Figure], Files]",
) -> list[Chapter]:
    by_id = {entry["id"]: entry for entry in entries}
    chapters = []
    for paper in selection.papers:
        mine = {
            claim.id: _row(claim, by_id[claim.id])
            for claim in selection.claims
            if claim.id in paper.register.claims
        }
        figures = [figure for owner, figure in selection.figures if owner is paper]
        plates = [
            Plate(
                figure,
                made.get(figure.id),
                [mine[claim] for claim in figure.claims if claim in mine],
                files(paper, figure),
            )
            for figure in figures
        ]
        checked = {claim for figure in figures for claim in figure.claims}
        waiting = [row for claim, row in mine.items() if claim not in checked]
        counted = verdicts.summary([by_id[claim] for claim in mine], paper.register.claims)
        chapters.append(Chapter(paper.register, counted, plates, waiting))
    return chapters


def _row(claim: Claim, entry: "Mapping[str, Any]") -> Row:
    quick = entry["scale"] == Scale.QUICK

    def row(one: "Mapping[str, Any]", readings: list[Row], left_out: str) -> Row:
        measured, expected = (worded(one[name], one.get("unit")) for name in ("measured", "expected"))
        of = one.get("reading", "")
        return Row(
            claim, one["verdict"], measured, expected, one["reason"] or "", readings, quick, left_out, of
        )

    return row(entry, [row(one, [], "") for one in entry.get("readings", [])], entry.get("left_out", ""))


def marked(verdict: str, *, quick: bool = False, arithmetic: bool = False) -> str:
    """A verdict as it is shown: a PASS of arithmetic and what was judged at quick scale say so."""
    if verdict == PASS and arithmetic:
        verdict += ", arithmetic"
    return f"{verdict}, quick" if quick and verdict != NOT_REACHED else verdict
