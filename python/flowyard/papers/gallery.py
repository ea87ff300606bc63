"""The gallery: one HTML page with every figure, its claims with verdicts and values, and what was assumed."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard import _native
from flowyard.papers import verdicts
from flowyard.papers.figure import Figure, Scale
from flowyard.papers.register import CAUSES, Claim, Register
from flowyard.papers.words import FAIL, NOT_REACHED, marked, named, readings, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flowyard.papers.catalogue import Paper, Selection
    from flowyard.papers.outcomes import FigureOutcome

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """A claim as the page shows it, or one of its readings.

    Attributes:
        claim: What is claimed.
        badge: The verdict with its distinctions: quick, arithmetic, which kind of FAIL.
        mark: The class of the badge.
        measured: The value.
        expected: What would pass.
        reason: Evidence that goes beyond these values, and remarks on the verdict.
        readings: The claim's own first, if there are several.
        failed: Whether it is a FAIL.
        cause: Of a FAIL, if it is known.
        why: The reason of a FAIL in a plain sentence.
        left_out: What quick scale leaves out.
        reading: The name of this reading, of one of several.
    """

    claim: Claim
    badge: str
    mark: str
    measured: str
    expected: str
    reason: str
    readings: "list[Row]"
    failed: bool = False
    cause: str = ""
    why: str = ""
    left_out: str = ""
    reading: str = ""


@dataclass(frozen=True)
class Files:
    """Where a figure's files are, from the page, and what is said of them.

    Attributes:
        picture: The SVG; empty if there is none.
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
    made: "FigureOutcome | None"
    rows: list[Row]
    files: Files

    @property
    def left_out(self) -> str:
        """Omissions of quick scale in the figure; claims that another figure checks, too, may have that one's."""
        return next((row.left_out for row in self.rows if row.left_out), "")


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
    made: "Mapping[str, FigureOutcome]",
    entries: "Sequence[Mapping[str, Any]]",
    summary: verdicts.Summary,
    *,
    files: "Callable[[Paper, Figure], Files] | None" = None,
    top: str = "",
    current: str = "",
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
        current: How many of the figures today's engine made or verified.
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
        current=current,
        causes=CAUSES,
        footer=footer
        or f"Flowyard {_native.__version__}; engine {_native.__engine__} made all figures of this page.",
        style=(HERE / "gallery.css").read_text(encoding="utf-8"),
    )
    return html


def _beside(_: "Paper", figure: Figure) -> Files:
    return Files(f"{figure.id}/figure.svg", figure.id, f"{figure.id}/figure.png")


def _chapters(
    selection: "Selection",
    made: "Mapping[str, FigureOutcome]",
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
        counted = verdicts.summary([by_id[claim] for claim in mine])
        chapters.append(Chapter(paper.register, counted, plates, waiting))
    return chapters


def _row(claim: Claim, entry: "Mapping[str, Any]") -> Row:
    quick = entry["scale"] == Scale.QUICK

    def row(one: "Mapping[str, Any]", of_it: list[Row]) -> Row:
        return Row(
            claim,
            marked(one, quick=quick),
            _mark(claim, one),
            shown(one, "measured"),
            shown(one, "expected"),
            one["reason"] or "",
            of_it,
            one["verdict"] == FAIL,
            one.get("cause", ""),
            one.get("why", ""),
            one.get("left_out", ""),
            named(one) if "reading" in one else "",
        )

    return row(entry, [row(one, []) for one in readings(entry)])


def _mark(claim: Claim, entry: "Mapping[str, Any]") -> str:
    """The class of a badge: pass, arithmetic, predicted, not-reproducible, open, expectation or not-reached."""
    if entry["verdict"] == NOT_REACHED:
        return "not-reached"
    if claim.ours:
        return "expectation"
    kind: str = entry.get("fail", "arithmetic" if claim.arithmetic else "pass")
    return kind.replace(" ", "-")
